//===-- backends/nvptx/prove/TermDomain.cpp - A spec's values as terms ----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/TermDomain.h"

namespace h3::prove {

TermId TermDomain::load(unsigned tensor, int64_t offset) {
  ScalarType type = program.tensors[tensor].type;
  if (indices.isUsed && !isFloat(type))
    return terms.constant(bitWidth(type), Bits(indices.at(offset)));
  TermId bits = terms.input(tensor, offset, bitWidth(type));
  return isFloat(type) ? terms.canonical(type, bits) : bits;
}

void TermDomain::store(unsigned tensor, int64_t offset, TermId value) {
  ScalarType type = program.tensors[tensor].type;
  outputs[tensor][static_cast<size_t>(offset)] =
      isFloat(type) ? terms.canonical(type, value) : value;
}

std::optional<int64_t> TermDomain::integer(ScalarType type, TermId value) {
  if (!terms.isConstant(value))
    return std::nullopt;
  uint64_t bits = terms[value].imm;
  return type == ScalarType::I32 ? int64_t(int32_t(uint32_t(bits))) : int64_t(bits);
}

TermId TermDomain::convert(const interpreter::Conversion &conversion, TermId a) {
  auto [from, to, rounding, saturate] = conversion;
  if (isFloat(from))
    return terms.convert(from, to, a, rounding, saturate);
  if (isFloat(to))
    return terms.fromInteger(from, to, a, rounding);
  unsigned width = bitWidth(to);
  return width <= terms.width(a) ? terms.extract(a, 0, width) : terms.signExtend(a, width);
}

TermId TermDomain::operation(const interpreter::Operation &operation, const TermId *x) {
  const ScalarType type = operation.type, of = operation.operand;
  const Rounding rounding = operation.rounding;
  const bool onFloats = isFloat(of);
  auto compare = [&](uint8_t orderings) {
    if (onFloats)
      return terms.fcompare(of, orderings, x[0], x[1]);
    TermId equal = terms.compare(TermOp::Equal, x[0], x[1]);
    TermOp below = of == ScalarType::Bool ? TermOp::Below : TermOp::Less;
    switch (orderings) {
    case Equal:
      return equal;
    case Less:
      return terms.compare(below, x[0], x[1]);
    case Greater:
      return terms.compare(below, x[1], x[0]);
    case Less | Equal:
      return terms.bitNot(terms.compare(below, x[1], x[0]));
    case Greater | Equal:
      return terms.bitNot(terms.compare(below, x[0], x[1]));
    default:
      return terms.bitNot(equal);
    }
  };
  auto extreme = [&](TermOp op, bool isMax) {
    if (onFloats)
      return terms.fextreme(op, type, x[0], x[1]);
    TermId isLess = terms.compare(TermOp::Less, x[0], x[1]);
    return isMax ? terms.select(isLess, x[1], x[0]) : terms.select(isLess, x[0], x[1]);
  };
  switch (operation.op) {
  case Builtin::Add:
    return onFloats ? terms.fadd(type, x[0], x[1], rounding) : terms.add(x[0], x[1]);
  case Builtin::Sub:
    return onFloats ? terms.fsub(type, x[0], x[1], rounding) : terms.add(x[0], terms.negate(x[1]));
  case Builtin::Mul:
    return onFloats ? terms.fmul(type, x[0], x[1], rounding) : terms.mul(x[0], x[1]);
  case Builtin::Div:
    return terms.fdiv(type, x[0], x[1], rounding);
  case Builtin::Fma:
    return terms.ffma(type, x[0], x[1], x[2], rounding);
  case Builtin::Sqrt:
    return terms.fsqrt(type, x[0], rounding);
  case Builtin::Neg:
    return onFloats ? terms.fneg(type, x[0]) : terms.negate(x[0]);
  case Builtin::Abs:
    return onFloats
               ? terms.fabs(type, x[0])
               : terms.select(terms.compare(TermOp::Less, x[0], terms.constant(bitWidth(type), 0)),
                              terms.negate(x[0]), x[0]);
  case Builtin::Copysign:
    return terms.canonical(type, terms.fcopysign(type, x[0], terms.canonical(type, x[1])));
  case Builtin::Max:
    return extreme(TermOp::FMax, true);
  case Builtin::Min:
    return extreme(TermOp::FMin, false);
  case Builtin::MaxNum:
    return extreme(TermOp::FMaxNum, true);
  case Builtin::MinNum:
    return extreme(TermOp::FMinNum, false);
  case Builtin::Shl:
    return terms.shift(TermOp::ShiftLeft, x[0], x[1]);
  case Builtin::Shr:
    return terms.shift(TermOp::ShiftRightSigned, x[0], x[1]);
  case Builtin::FromBits:
    return terms.canonical(type, terms.extract(x[0], 0, bitWidth(type)));
  case Builtin::ToBits:
    return terms.zeroExtend(terms.canonical(of, x[0]), bitWidth(type));
  case Builtin::RsqrtApprox:
    return terms.approximate(TermOp::RsqrtApprox, x[0]);
  case Builtin::Ex2ApproxFtz:
    return terms.approximate(TermOp::Ex2ApproxFtz, x[0]);
  case Builtin::RcpApproxFtz:
    return terms.approximate(TermOp::RcpApproxFtz, x[0]);
  case Builtin::SqrtApprox:
    return terms.approximate(TermOp::SqrtApprox, x[0]);
  case Builtin::Less:
    return compare(Less);
  case Builtin::LessEqual:
    return compare(Less | Equal);
  case Builtin::Greater:
    return compare(Greater);
  case Builtin::GreaterEqual:
    return compare(Greater | Equal);
  case Builtin::Equal:
    return compare(Equal);
  case Builtin::NotEqual:
    return compare(Less | Greater | Unordered);
  case Builtin::And:
    return terms.bitAnd(x[0], x[1]);
  case Builtin::Or:
    return terms.bitOr(x[0], x[1]);
  case Builtin::Not:
    return terms.bitNot(x[0]);
  case Builtin::FloorDiv:
  case Builtin::FloorMod:
    problem = "a division of integers that are data";
    return terms.constant(bitWidth(type), 0);
  }
  __builtin_unreachable();
}

} // namespace h3::prove
