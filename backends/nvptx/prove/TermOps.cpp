//===-- backends/nvptx/prove/TermOps.cpp - Instructions on data -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/TermMachine.h"

#include <algorithm>
#include <optional>

namespace h3::prove {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Slot;

namespace {

std::optional<ScalarType> formatOf(Modifier type) {
  switch (type) {
  case Modifier::F16:
  case Modifier::F16x2:
    return ScalarType::F16;
  case Modifier::Bf16:
  case Modifier::Bf16x2:
    return ScalarType::BF16;
  case Modifier::F32:
    return ScalarType::F32;
  case Modifier::F64:
    return ScalarType::F64;
  case Modifier::E4m3x2:
    return ScalarType::E4M3;
  case Modifier::E5m2x2:
    return ScalarType::E5M2;
  default:
    return std::nullopt;
  }
}

bool isPacked(Modifier type) { return type == Modifier::F16x2 || type == Modifier::Bf16x2; }

} // namespace

bool TermMachine::apply(Thread &thread, const Op &op, const Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::Mov:
  case Opcode::Cvta:
    return applyMove(thread, op, instruction);
  case Opcode::Cvt:
    return applyConvert(thread, op, instruction);
  case Opcode::Setp:
    return applyCompare(thread, op);
  case Opcode::Selp: {
    unsigned width = bitWidth(op.type);
    TermId condition = value(thread, op.c, 1);
    define(thread, op.d,
           terms.select(condition, value(thread, op.a, width), value(thread, op.b, width)));
    return true;
  }
  default:
    break;
  }
  if (op.type != Modifier::Pred && formatOf(op.type))
    return applyFloat(thread, op, instruction);
  return applyBits(thread, op, instruction) || applyInteger(thread, op, instruction);
}

// ---- Floats.

/// A result as the instruction leaves it: its NaN is known only where that is recorded.
TermId TermMachine::asWritten(const Op &op, ScalarType type, TermId a) {
  if (op.is(ptx::FlagSat)) {
    unsigned width = bitWidth(type);
    uint64_t one = scalar::convert(ScalarType::I32, type, 1);
    a = terms.fextreme(TermOp::FMaxNum, type, a, terms.constant(width, 0));
    a = terms.fextreme(TermOp::FMinNum, type, a, terms.constant(width, one));
  }
  if (op.is(ptx::FlagRelu))
    a = terms.fextreme(TermOp::FMax, type, a, terms.constant(bitWidth(type), 0));
  return canonical[op.instruction] ? terms.canonical(type, a) : terms.anyNaN(type, a);
}

TermId TermMachine::floatOperation(const Instruction &instruction, const Op &op, ScalarType type,
                                   TermId a, TermId b, TermId c) {
  switch (instruction.opcode) {
  case Opcode::Add:
    return terms.fadd(type, a, b, op.rounding);
  case Opcode::Sub:
    return terms.fsub(type, a, b, op.rounding);
  case Opcode::Mul:
    return terms.fmul(type, a, b, op.rounding);
  case Opcode::Mad:
  case Opcode::Fma:
    return terms.ffma(type, a, b, c, op.rounding);
  case Opcode::Div:
    return terms.fdiv(type, a, b, op.rounding);
  case Opcode::Rcp: {
    uint64_t one = scalar::convert(ScalarType::I32, type, 1);
    return terms.fdiv(type, terms.constant(bitWidth(type), one), a, op.rounding);
  }
  case Opcode::Sqrt:
    return terms.fsqrt(type, a, op.rounding);
  case Opcode::Neg:
    return terms.fneg(type, a);
  case Opcode::Abs:
    return terms.fabs(type, a);
  case Opcode::Copysign: // copysign d, sign, magnitude
    return terms.fcopysign(type, b, a);
  case Opcode::Max:
  case Opcode::Min: {
    if ((op.kind & ~1) != 0) // .xorsign, .abs, three operands
      return 0;
    bool isMax = instruction.opcode == Opcode::Max, nanWins = op.kind == 1;
    return terms.fextreme(isMax ? (nanWins ? TermOp::FMax : TermOp::FMaxNum)
                                : (nanWins ? TermOp::FMin : TermOp::FMinNum),
                          type, a, b);
  }
  default:
    return 0;
  }
}

bool TermMachine::applyFloat(Thread &thread, const Op &op, const Instruction &instruction) {
  ScalarType type = *formatOf(op.type);
  unsigned width = bitWidth(type);
  if (instruction.has(Modifier::Approx)) {
    TermOp function = TermOp::None;
    bool flushes = op.is(ptx::FlagFtz);
    if (instruction.opcode == Opcode::Rsqrt && !flushes)
      function = TermOp::RsqrtApprox;
    else if (instruction.opcode == Opcode::Sqrt && !flushes)
      function = TermOp::SqrtApprox;
    else if (instruction.opcode == Opcode::Ex2 && flushes)
      function = TermOp::Ex2ApproxFtz;
    else if (instruction.opcode == Opcode::Rcp && flushes)
      function = TermOp::RcpApproxFtz;
    if (function == TermOp::None || type != ScalarType::F32)
      return false;
    define(thread, op.d, asWritten(op, type, terms.approximate(function, value(thread, op.a, 32))));
    return true;
  }
  if (op.is(ptx::FlagFtz))
    return false; // a spec has no such operation
  if (isPacked(op.type)) {
    TermId packed = 0;
    for (unsigned shift : {0u, 16u}) {
      auto half = [&](Slot slot) {
        return slot == ptx::slotTrue ? 0 : terms.extract(value(thread, slot, 32), shift, 16);
      };
      TermId part = floatOperation(instruction, op, type, half(op.a), half(op.b), half(op.c));
      if (!part)
        return false;
      part = asWritten(op, type, part);
      packed = packed ? terms.concat(part, packed) : part;
    }
    define(thread, op.d, packed);
    return true;
  }
  // add.rn.f32.f16 and its kin widen the narrow operands.
  bool isMixed = instruction.hasType(1) && instruction.opcode != Opcode::Cvt;
  auto operand = [&](Slot slot, bool isNarrow) -> TermId {
    if (slot == ptx::slotTrue)
      return 0;
    if (!isMixed || !isNarrow)
      return value(thread, slot, width);
    ScalarType from = *formatOf(op.type2);
    return terms.convert(from, type, value(thread, slot, bitWidth(from)));
  };
  bool isFma = instruction.opcode == Opcode::Fma;
  TermId result = floatOperation(instruction, op, type, operand(op.a, true), operand(op.b, isFma),
                                 operand(op.c, false));
  if (!result)
    return false;
  define(thread, op.d, asWritten(op, type, result));
  return true;
}

// ---- Conversions.

TermId TermMachine::convertFloat(const Op &op, ScalarType from, ScalarType to, TermId a) {
  TermId result = terms.convert(from, to, a, op.rounding, op.is(ptx::FlagSatfinite));
  return hasFloatArithmetic(to) ? asWritten(op, to, result) : result;
}

bool TermMachine::applyConvert(Thread &thread, const Op &op, const Instruction &instruction) {
  if (op.is(ptx::FlagFtz))
    return false;
  for (Modifier modifier : {Modifier::Rni, Modifier::Rzi, Modifier::Rmi, Modifier::Rpi})
    if (instruction.has(modifier))
      return false;
  std::optional<ScalarType> to = formatOf(op.type), from = formatOf(op.type2);
  if (!to && !from) {
    if (op.is(ptx::FlagSat))
      return false;
    unsigned fromWidth = bitWidth(op.type2), toWidth = bitWidth(op.type);
    TermId a = value(thread, op.a, fromWidth);
    if (toWidth > fromWidth)
      a = ptx::isSignedType(op.type2) ? terms.signExtend(a, toWidth) : terms.zeroExtend(a, toWidth);
    a = terms.extract(a, 0, toWidth);
    if (ptx::isSignedType(op.type) && op.registerBits > toWidth)
      a = terms.signExtend(a, op.registerBits);
    define(thread, op.d, a);
    return true;
  }
  if (!to)
    return false;
  if (!from) {
    ScalarType integer = bitWidth(op.type2) == 64 ? ScalarType::I64 : ScalarType::I32;
    TermId a = value(thread, op.a, bitWidth(op.type2));
    if (!ptx::isSignedType(op.type2) || bitWidth(op.type2) < 32) {
      if (bitWidth(op.type2) == 64)
        return false;
      integer = ScalarType::I64;
      a = ptx::isSignedType(op.type2) ? terms.signExtend(a, 64) : terms.zeroExtend(a, 64);
    }
    define(thread, op.d, asWritten(op, *to, terms.fromInteger(integer, *to, a, op.rounding)));
    return true;
  }
  bool toPair = isPacked(op.type) || op.type == Modifier::E4m3x2 || op.type == Modifier::E5m2x2;
  if (toPair) {
    bool fromPair = op.type2 != Modifier::F32;
    unsigned width = bitWidth(*from);
    TermId low = fromPair ? terms.extract(value(thread, op.a, 2 * width), 0, width)
                          : value(thread, op.b, width);
    TermId high = fromPair ? terms.extract(value(thread, op.a, 2 * width), width, width)
                           : value(thread, op.a, width);
    high = convertFloat(op, *from, *to, high);
    define(thread, op.d, terms.concat(high, convertFloat(op, *from, *to, low)));
    return true;
  }
  if (*to == *from) // a move, or one that makes a NaN quiet
    return false;
  define(thread, op.d, convertFloat(op, *from, *to, value(thread, op.a, bitWidth(*from))));
  return true;
}

// ---- Comparisons.

bool TermMachine::applyCompare(Thread &thread, const Op &op) {
  if (op.is(ptx::FlagFtz))
    return false;
  std::optional<ScalarType> format = formatOf(op.type2);
  bool packed = isPacked(op.type2);
  TermId first = 0, second = 0;
  if (format && packed) {
    TermId a = value(thread, op.a, 32), b = value(thread, op.b, 32);
    first = terms.fcompare(*format, op.kind, terms.extract(a, 0, 16), terms.extract(b, 0, 16));
    second = terms.fcompare(*format, op.kind, terms.extract(a, 16, 16), terms.extract(b, 16, 16));
  } else if (format) {
    unsigned width = bitWidth(*format);
    first =
        terms.fcompare(*format, op.kind, value(thread, op.a, width), value(thread, op.b, width));
    second = terms.bitNot(first);
  } else {
    unsigned width = bitWidth(op.type2);
    TermId a = value(thread, op.a, width), b = value(thread, op.b, width);
    TermOp less = ptx::isSignedType(op.type2) ? TermOp::Less : TermOp::Below;
    switch (op.kind & (Less | Equal | Greater)) {
    case Equal:
      first = terms.compare(TermOp::Equal, a, b);
      break;
    case Less:
      first = terms.compare(less, a, b);
      break;
    case Greater:
      first = terms.compare(less, b, a);
      break;
    case Less | Equal:
      first = terms.bitNot(terms.compare(less, b, a));
      break;
    case Greater | Equal:
      first = terms.bitNot(terms.compare(less, a, b));
      break;
    default:
      first = terms.bitNot(terms.compare(TermOp::Equal, a, b));
      break;
    }
    second = terms.bitNot(first);
  }
  if (op.kind2 != 0) {
    TermId c = predicate(thread, op.c, op.is(ptx::FlagNegateC));
    auto join = [&](TermId a) {
      return op.kind2 == 1   ? terms.bitAnd(a, c)
             : op.kind2 == 2 ? terms.bitOr(a, c)
                             : terms.bitXor(a, c);
    };
    first = join(first);
    second = join(second);
  }
  define(thread, op.d, first);
  define(thread, op.d2, second);
  return true;
}

// ---- Bits and integers.

bool TermMachine::applyMove(Thread &thread, const Op &op, const Instruction &instruction) {
  if (instruction.opcode == Opcode::Cvta)
    return false;
  unsigned bits = 8u * op.bytes;
  if (instruction.operands[1].kind == ptx::Operand::Kind::Vector) {
    TermId packed = 0;
    for (unsigned i = 0; i < op.count; ++i) {
      TermId part = value(thread, thread.extra[op.extra + i], bits);
      packed = packed ? terms.concat(part, packed) : part;
    }
    define(thread, op.d, packed);
    return true;
  }
  if (instruction.operands[0].kind == ptx::Operand::Kind::Vector) {
    TermId whole = value(thread, op.a, bits * op.count);
    for (unsigned i = 0; i < op.count; ++i)
      define(thread, thread.extra[op.extra + i], terms.extract(whole, i * bits, bits));
    return true;
  }
  define(thread, op.d, value(thread, op.a, bitWidth(op.type)));
  return true;
}

TermId TermMachine::permute(TermId a, TermId b, uint64_t control) {
  TermId result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    auto selector = static_cast<unsigned>(control >> (4 * i)) & 15;
    TermId from = (selector & 4) != 0 ? b : a;
    TermId byte = terms.extract(from, 8 * (selector & 3), 8);
    if ((selector & 8) != 0)
      byte = terms.signExtend(terms.extract(byte, 7, 1), 8);
    result = result ? terms.concat(byte, result) : byte;
  }
  return result;
}

bool TermMachine::applyBits(Thread &thread, const Op &op, const Instruction &instruction) {
  unsigned width = bitWidth(op.type);
  auto a = [&] { return value(thread, op.a, width); };
  auto b = [&] { return value(thread, op.b, width); };
  auto known = [&](Slot slot) { return tag(thread, slot) == 0; };
  bool isPredicate = op.type == Modifier::Pred;
  auto logic = [&](TermOp which) {
    TermId x = isPredicate ? predicate(thread, op.a, op.is(ptx::FlagNegateA)) : a();
    TermId y = isPredicate ? predicate(thread, op.b, op.is(ptx::FlagNegateB)) : b();
    define(thread, op.d,
           which == TermOp::And  ? terms.bitAnd(x, y)
           : which == TermOp::Or ? terms.bitOr(x, y)
                                 : terms.bitXor(x, y));
    return true;
  };
  switch (instruction.opcode) {
  case Opcode::And:
    return logic(TermOp::And);
  case Opcode::Or:
    return logic(TermOp::Or);
  case Opcode::Xor:
    return logic(TermOp::Xor);
  case Opcode::Not:
    define(thread, op.d,
           terms.bitNot(isPredicate ? predicate(thread, op.a, op.is(ptx::FlagNegateA)) : a()));
    return true;
  case Opcode::Shl:
    define(thread, op.d, terms.shift(TermOp::ShiftLeft, a(), value(thread, op.b, 32)));
    return true;
  case Opcode::Shr:
    define(thread, op.d,
           terms.shift(ptx::isSignedType(op.type) ? TermOp::ShiftRightSigned : TermOp::ShiftRight,
                       a(), value(thread, op.b, 32)));
    return true;
  case Opcode::Prmt:
    if (!known(op.c) || instruction.modifiers.back() != Modifier::B32)
      return false;
    define(thread, op.d, permute(value(thread, op.a, 32), value(thread, op.b, 32), thread.r[op.c]));
    return true;
  case Opcode::Bfe: {
    if (!known(op.b) || !known(op.c))
      return false;
    uint64_t from = thread.r[op.b] & 0xFF, length = thread.r[op.c] & 0xFF;
    if (length == 0 || from + length > width)
      return false;
    TermId field = terms.extract(a(), static_cast<unsigned>(from), static_cast<unsigned>(length));
    define(thread, op.d,
           ptx::isSignedType(op.type) ? terms.signExtend(field, width)
                                      : terms.zeroExtend(field, width));
    return true;
  }
  case Opcode::Bfi: {
    if (!known(op.c) || !known(thread.extra[op.extra]))
      return false;
    auto from = static_cast<unsigned>(thread.r[op.c] & 0xFF);
    auto length = static_cast<unsigned>(thread.r[thread.extra[op.extra]] & 0xFF);
    if (length == 0 || from + length > width)
      return false;
    TermId result = terms.extract(a(), 0, length);
    if (from != 0)
      result = terms.concat(result, terms.extract(b(), 0, from));
    if (from + length < width)
      result = terms.concat(terms.extract(b(), from + length, width - from - length), result);
    define(thread, op.d, result);
    return true;
  }
  case Opcode::Lop3: {
    TermId x = a(), y = b(), z = value(thread, op.c, width), result = 0;
    if (!known(thread.extra[op.extra]))
      return false;
    uint64_t table = thread.further(op, 0);
    for (unsigned row = 0; row < 8; ++row)
      if ((table >> row & 1) != 0) {
        TermId part = terms.bitAnd((row & 4) != 0 ? x : terms.bitNot(x),
                                   (row & 2) != 0 ? y : terms.bitNot(y));
        part = terms.bitAnd(part, (row & 1) != 0 ? z : terms.bitNot(z));
        result = result ? terms.bitOr(result, part) : part;
      }
    define(thread, op.d, result ? result : terms.constant(width, 0));
    return true;
  }
  case Opcode::Shf: {
    if (!known(op.c))
      return false;
    auto count = static_cast<unsigned>(op.kind2 != 0 ? thread.r[op.c] & 31
                                                     : std::min<uint64_t>(thread.r[op.c], 32));
    TermId pair = terms.concat(value(thread, op.b, 32), value(thread, op.a, 32));
    define(thread, op.d, terms.extract(pair, op.kind != 0 ? count : 32 - count, 32));
    return true;
  }
  default:
    return false;
  }
}

bool TermMachine::applyInteger(Thread &thread, const Op &op, const Instruction &instruction) {
  if (instruction.has(Modifier::Cc) || instruction.has(Modifier::Sat) ||
      instruction.has(Modifier::Hi) || op.type == Modifier::U16x2 || op.type == Modifier::S16x2)
    return false;
  unsigned width = bitWidth(op.type);
  bool isSigned = ptx::isSignedType(op.type);
  TermId a = value(thread, op.a, width), b = value(thread, op.b, width);
  switch (instruction.opcode) {
  case Opcode::Add:
    define(thread, op.d, terms.add(a, b));
    return true;
  case Opcode::Sub:
    define(thread, op.d, terms.add(a, terms.negate(b)));
    return true;
  case Opcode::Neg:
    define(thread, op.d, terms.negate(a));
    return true;
  case Opcode::Mul:
  case Opcode::Mad: {
    unsigned wide = instruction.has(Modifier::Wide) ? 2 * width : width;
    if (wide != width) {
      a = isSigned ? terms.signExtend(a, wide) : terms.zeroExtend(a, wide);
      b = isSigned ? terms.signExtend(b, wide) : terms.zeroExtend(b, wide);
    }
    TermId product = terms.mul(a, b);
    define(thread, op.d,
           instruction.opcode == Opcode::Mad ? terms.add(product, value(thread, op.c, wide))
                                             : product);
    return true;
  }
  case Opcode::Min:
  case Opcode::Max: {
    TermId isLess = terms.compare(isSigned ? TermOp::Less : TermOp::Below, a, b);
    bool isMin = instruction.opcode == Opcode::Min;
    define(thread, op.d, isMin ? terms.select(isLess, a, b) : terms.select(isLess, b, a));
    return true;
  }
  default:
    return false;
  }
}

} // namespace h3::prove
