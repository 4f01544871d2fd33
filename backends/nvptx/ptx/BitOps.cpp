//===-- backends/nvptx/ptx/BitOps.cpp - Bits, moves, selection ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Machine.h"

#include <algorithm>
#include <bit>

namespace h3::ptx {
namespace {

uint64_t negated(const Op &op, OpFlag flag) { return op.is(flag) ? 1 : 0; }

// Predicates and bit patterns; a register narrower than its slot is masked where bits appear.
void logicAnd(Thread &t, const Op &op) { t.write(op.d, t.r[op.a] & t.r[op.b]); }
void logicOr(Thread &t, const Op &op) { t.write(op.d, t.r[op.a] | t.r[op.b]); }
void logicXor(Thread &t, const Op &op) { t.write(op.d, t.r[op.a] ^ t.r[op.b]); }
void logicNot(Thread &t, const Op &op) { t.write(op.d, ~t.r[op.a] & maskOf(bitWidth(op.type))); }

template <Opcode Which> void predicateLogic(Thread &t, const Op &op) {
  uint64_t a = t.r[op.a] ^ negated(op, FlagNegateA), b = t.r[op.b] ^ negated(op, FlagNegateB);
  t.write(op.d, Which == Opcode::And   ? a & b
                : Which == Opcode::Or  ? a | b
                : Which == Opcode::Xor ? a ^ b
                                       : a ^ 1);
}

void conditionalNot(Thread &t, const Op &op) { t.write(op.d, t.r[op.a] == 0); }

void shiftLeft(Thread &t, const Op &op) {
  uint64_t count = t.r[op.b], bits = bitWidth(op.type);
  t.write(op.d, count >= bits ? 0 : (t.r[op.a] << count) & maskOf(static_cast<unsigned>(bits)));
}

void shiftRight(Thread &t, const Op &op) {
  uint64_t count = t.r[op.b];
  unsigned bits = bitWidth(op.type);
  if (!isSignedType(op.type)) {
    t.write(op.d, count >= bits ? 0 : t.r[op.a] >> count);
    return;
  }
  int64_t value = signExtend(t.r[op.a], bits);
  t.write(op.d, static_cast<uint64_t>(value >> std::min<uint64_t>(count, 63)) & maskOf(bits));
}

/// shf: the pair b:a shifted; op.kind 1: right, op.kind2 1: the count wraps.
void funnelShift(Thread &t, const Op &op) {
  uint64_t pair = t.r[op.b] << 32 | t.r[op.a];
  uint64_t count = op.kind2 != 0 ? t.r[op.c] & 31 : std::min<uint64_t>(t.r[op.c], 32);
  t.write(op.d, op.kind != 0 ? (pair >> count) & 0xFFFFFFFF : (pair << count) >> 32);
}

void lop3(Thread &t, const Op &op) {
  uint64_t a = t.r[op.a], b = t.r[op.b], c = t.r[op.c], table = t.further(op, 0), result = 0;
  for (unsigned row = 0; row < 8; ++row)
    if ((table >> row & 1) != 0)
      result |= ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
  t.write(op.d, result & 0xFFFFFFFF);
}

/// bfe: the field of `length` bits at `position`, padded with its sign or zeros.
void extractField(Thread &t, const Op &op) {
  unsigned bits = bitWidth(op.type);
  uint64_t value = t.r[op.a], position = t.r[op.b] & 0xFF, length = t.r[op.c] & 0xFF;
  uint64_t sign = 0;
  if (isSignedType(op.type) && length != 0)
    sign = value >> std::min<uint64_t>(position + length - 1, bits - 1) & 1;
  uint64_t have = position >= bits ? 0 : std::min<uint64_t>(length, bits - position);
  uint64_t field = have == 0 ? 0 : (value >> position) & maskOf(static_cast<unsigned>(have));
  uint64_t padding = sign != 0 ? ~maskOf(static_cast<unsigned>(have)) : 0;
  t.write(op.d, (field | padding) & maskOf(bits));
}

/// bfi: `length` bits of a put into b at `position`.
void insertField(Thread &t, const Op &op) {
  unsigned bits = bitWidth(op.type);
  uint64_t position = t.r[op.c] & 0xFF, length = t.further(op, 0) & 0xFF;
  uint64_t mask = 0;
  if (position < bits)
    mask =
        (maskOf(static_cast<unsigned>(std::min<uint64_t>(length, 64))) << position) & maskOf(bits);
  t.write(op.d, (t.r[op.b] & ~mask) | (mask != 0 ? (t.r[op.a] << position) & mask : 0));
}

void findBit(Thread &t, const Op &op) {
  unsigned bits = bitWidth(op.type);
  uint64_t value = t.r[op.a];
  if (isSignedType(op.type) && (value >> (bits - 1) & 1) != 0)
    value = ~value & maskOf(bits);
  uint64_t place = 63 - static_cast<uint64_t>(std::countl_zero(value));
  if (value == 0)
    t.write(op.d, 0xFFFFFFFF);
  else
    t.write(op.d, op.kind != 0 ? bits - 1 - place : place);
}

void reverse(Thread &t, const Op &op) {
  uint64_t result = 0;
  for (unsigned i = 0, bits = bitWidth(op.type); i < bits; ++i)
    result |= (t.r[op.a] >> i & 1) << (bits - 1 - i);
  t.write(op.d, result);
}

void leadingZeros(Thread &t, const Op &op) {
  t.write(op.d, static_cast<uint64_t>(std::countl_zero(t.r[op.a])) - (64 - bitWidth(op.type)));
}

void countOnes(Thread &t, const Op &op) {
  t.write(op.d, static_cast<uint64_t>(std::popcount(t.r[op.a])));
}

/// prmt: four selectors, each a byte of b:a; bit 3 spreads the byte's sign. The modes derive the
/// selectors from the low two bits of c.
void permute(Thread &t, const Op &op) {
  uint64_t bytes = t.r[op.b] << 32 | t.r[op.a], control = t.r[op.c], result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    auto n = static_cast<unsigned>(control & 3);
    unsigned selector = 0;
    switch (static_cast<Modifier>(op.kind)) {
    case Modifier::F4e:
      selector = n + i;
      break;
    case Modifier::B4e:
      selector = (n - i) & 7;
      break;
    case Modifier::Rc8:
      selector = n;
      break;
    case Modifier::Ecl:
      selector = std::max(n, i);
      break;
    case Modifier::Ecr:
      selector = std::min(n, i);
      break;
    case Modifier::Rc16:
      selector = (n & 1) * 2 + (i & 1);
      break;
    default:
      selector = static_cast<unsigned>(control >> (4 * i)) & 15;
      break;
    }
    uint64_t byte = bytes >> (8 * (selector & 7)) & 0xFF;
    if ((selector & 8) != 0)
      byte = (byte & 0x80) != 0 ? 0xFF : 0;
    result |= byte << (8 * i);
  }
  t.write(op.d, result);
}

void move(Thread &t, const Op &op) { t.write(op.d, t.r[op.a]); }

void movePredicate(Thread &t, const Op &op) { t.write(op.d, t.r[op.a] & 1); }

/// mov.b32 %r, {%rs1, %rs2}: the first element is the lowest.
void pack(Thread &t, const Op &op) {
  uint64_t value = 0;
  unsigned bits = 8u * op.bytes;
  for (unsigned i = 0; i < op.count; ++i)
    value |= (t.further(op, i) & maskOf(bits)) << (i * bits);
  t.write(op.d, value);
}

void unpack(Thread &t, const Op &op) {
  unsigned bits = 8u * op.bytes;
  for (unsigned i = 0; i < op.count; ++i)
    t.write(t.extra[op.extra + i], t.r[op.a] >> (i * bits) & maskOf(bits));
}

void select(Thread &t, const Op &op) {
  t.write(op.d, (t.r[op.c] & 1) != 0 ? t.r[op.a] : t.r[op.b]);
}

/// slct: a if c >= 0. A float c is compared with zero: -0 counts, NaN does not.
void selectBySign(Thread &t, const Op &op) {
  uint64_t c = t.r[op.c];
  bool first = signExtend(c, 32) >= 0;
  if (op.type2 == Modifier::F32) {
    uint64_t magnitude = c & 0x7FFFFFFF;
    bool isZero = magnitude == 0 || (op.is(FlagFtz) && magnitude < 0x00800000);
    first = magnitude <= 0x7F800000 && (isZero || (c >> 31) == 0);
  }
  t.write(op.d, first ? t.r[op.a] : t.r[op.b]);
}

Handler selectMove(const Instruction &instruction, std::string &problem) {
  bool destination = instruction.operands[0].kind == Operand::Kind::Vector;
  bool source = instruction.operands[1].kind == Operand::Kind::Vector;
  if (destination && source)
    problem = "a vector is moved to a vector";
  if (instruction.type() == Modifier::Pred)
    return movePredicate;
  return destination ? unpack : source ? pack : move;
}

Handler selectHandler(const Instruction &instruction, Op &op, std::string &problem) {
  bool isPredicate = op.type == Modifier::Pred;
  switch (instruction.opcode) {
  case Opcode::And:
    return isPredicate ? predicateLogic<Opcode::And> : logicAnd;
  case Opcode::Or:
    return isPredicate ? predicateLogic<Opcode::Or> : logicOr;
  case Opcode::Xor:
    return isPredicate ? predicateLogic<Opcode::Xor> : logicXor;
  case Opcode::Not:
    return isPredicate ? predicateLogic<Opcode::Not> : logicNot;
  case Opcode::Cnot:
    return conditionalNot;
  case Opcode::Shl:
    return shiftLeft;
  case Opcode::Shr:
    return shiftRight;
  case Opcode::Shf:
    op.kind = instruction.has(Modifier::R);
    op.kind2 = instruction.has(Modifier::Wrap);
    return funnelShift;
  case Opcode::Lop3:
    return lop3;
  case Opcode::Bfe:
    return extractField;
  case Opcode::Bfi:
    return insertField;
  case Opcode::Bfind:
    op.kind = instruction.has(Modifier::Shiftamt);
    return findBit;
  case Opcode::Brev:
    return reverse;
  case Opcode::Clz:
    return leadingZeros;
  case Opcode::Popc:
    return countOnes;
  case Opcode::Prmt:
    op.kind = static_cast<uint8_t>(instruction.modifiers.back());
    return permute;
  case Opcode::Mov:
    return selectMove(instruction, problem);
  case Opcode::Selp:
    return select;
  case Opcode::Slct:
    return selectBySign;
  default:
    return nullptr;
  }
}

} // namespace

bool selectBits(const Instruction &instruction, Op &op, std::string &problem) {
  op.handler = selectHandler(instruction, op, problem);
  return op.handler != nullptr;
}

} // namespace h3::ptx
