//===-- dsl/interpreter/Operations.cpp - Builtins on bits -----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/interpreter/Operations.h"

namespace h3::interpreter {

unsigned operandCount(Builtin op) {
  switch (op) {
  case Builtin::Fma:
    return 3;
  case Builtin::Sqrt:
  case Builtin::Neg:
  case Builtin::Abs:
  case Builtin::FromBits:
  case Builtin::ToBits:
  case Builtin::RsqrtApprox:
  case Builtin::Ex2ApproxFtz:
  case Builtin::RcpApproxFtz:
  case Builtin::SqrtApprox:
  case Builtin::Not:
    return 1;
  default:
    return 2;
  }
}

Bits apply(const Operation &operation, const Bits *x) {
  using scalar::Approximation;
  using scalar::Ordering;
  const ScalarType type = operation.type;
  const Rounding rounding = operation.rounding;
  auto compare = [&] { return scalar::compare(operation.operand, x[0], x[1]); };
  switch (operation.op) {
  case Builtin::Add:
    return scalar::add(type, x[0], x[1], rounding);
  case Builtin::Sub:
    return scalar::sub(type, x[0], x[1], rounding);
  case Builtin::Mul:
    return scalar::mul(type, x[0], x[1], rounding);
  case Builtin::Div:
    return scalar::div(type, x[0], x[1], rounding);
  case Builtin::Fma:
    return scalar::fma(type, x[0], x[1], x[2], rounding);
  case Builtin::Sqrt:
    return scalar::sqrt(type, x[0], rounding);
  case Builtin::FloorDiv:
    return Bits(scalar::floorDiv(int64_t(x[0]), int64_t(x[1])));
  case Builtin::FloorMod:
    return Bits(scalar::floorMod(int64_t(x[0]), int64_t(x[1])));
  case Builtin::Neg:
    return scalar::neg(type, x[0]);
  case Builtin::Abs:
    return scalar::abs(type, x[0]);
  case Builtin::Copysign:
    return scalar::copysign(type, x[0], x[1]);
  case Builtin::Max:
    return scalar::maximum(type, x[0], x[1]);
  case Builtin::Min:
    return scalar::minimum(type, x[0], x[1]);
  case Builtin::MaxNum:
    return scalar::maximumNumber(type, x[0], x[1]);
  case Builtin::MinNum:
    return scalar::minimumNumber(type, x[0], x[1]);
  case Builtin::Shl:
    return scalar::shl(type, x[0], x[1]);
  case Builtin::Shr:
    return scalar::shr(type, x[0], x[1]);
  case Builtin::FromBits:
    return scalar::fromBitPattern(type, x[0]);
  case Builtin::ToBits:
    return scalar::toBitPattern(operation.operand, x[0]);
  case Builtin::RsqrtApprox:
    return scalar::approximate(Approximation::RsqrtApprox, x[0]);
  case Builtin::Ex2ApproxFtz:
    return scalar::approximate(Approximation::Ex2ApproxFtz, x[0]);
  case Builtin::RcpApproxFtz:
    return scalar::approximate(Approximation::RcpApproxFtz, x[0]);
  case Builtin::SqrtApprox:
    return scalar::approximate(Approximation::SqrtApprox, x[0]);
  case Builtin::Less:
    return compare() == Ordering::Less;
  case Builtin::LessEqual: {
    Ordering ordering = compare();
    return ordering == Ordering::Less || ordering == Ordering::Equal;
  }
  case Builtin::Greater:
    return compare() == Ordering::Greater;
  case Builtin::GreaterEqual: {
    Ordering ordering = compare();
    return ordering == Ordering::Greater || ordering == Ordering::Equal;
  }
  case Builtin::Equal:
    return compare() == Ordering::Equal;
  case Builtin::NotEqual:
    return compare() != Ordering::Equal;
  case Builtin::And:
    return x[0] & x[1];
  case Builtin::Or:
    return x[0] | x[1];
  case Builtin::Not:
    return x[0] ^ 1;
  }
  __builtin_unreachable();
}

Bits apply(const Conversion &conversion, Bits operand) {
  return scalar::convert(conversion.from, conversion.to, operand, conversion.rounding,
                         conversion.saturate);
}

Bits nothing(ScalarType type) { return isFloat(type) ? scalar::canonicalNaN(type) : 0; }

} // namespace h3::interpreter
