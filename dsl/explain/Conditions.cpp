//===-- dsl/explain/Conditions.cpp - Conditions as text -------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/explain/Explanation.h"
#include "dsl/program/Names.h"
#include "dsl/scalar/Format.h"

#include <fmt/format.h>

namespace h3 {

namespace {

/// How strongly an expression holds together: or, and, not, comparison, sum, product, the rest.
unsigned precedence(const Expr &expr) {
  if (expr.kind == Expr::Kind::SizeValue)
    return expr.size->kind == Size::Kind::Add || expr.size->kind == Size::Kind::Sub ? 5 : 6;
  if (expr.kind != Expr::Kind::Builtin)
    return 7;
  switch (expr.op) {
  case Builtin::Or:
    return 1;
  case Builtin::And:
    return 2;
  case Builtin::Not:
    return 3;
  case Builtin::Less:
  case Builtin::LessEqual:
  case Builtin::Greater:
  case Builtin::GreaterEqual:
  case Builtin::Equal:
  case Builtin::NotEqual:
    return 4;
  case Builtin::Add:
  case Builtin::Sub:
    return expr.rounding == Rounding::NearestEven ? 5 : 7;
  case Builtin::Mul:
  case Builtin::Div:
  case Builtin::FloorDiv:
  case Builtin::FloorMod:
    return expr.rounding == Rounding::NearestEven ? 6 : 7;
  default:
    return 7;
  }
}

std::string text(const Expr &expr, const Program &program, unsigned least) {
  unsigned own = precedence(expr);
  std::string out;
  if (expr.kind == Expr::Kind::SizeValue)
    out = toString(*expr.size, program);
  else if (expr.kind == Expr::Kind::Literal)
    out = scalar::format(expr.type.scalar, expr.bits);
  else if (expr.kind == Expr::Kind::Parameter)
    out = program.parameters[expr.id].name;
  else if (expr.kind == Expr::Kind::Index)
    out = program.indexVariables[expr.id].name;
  else if (own == 3)
    out = "not " + text(*expr.operands[0], program, 3);
  else if (expr.kind == Expr::Kind::Builtin && own < 7 && expr.operands.size() == 2)
    out = fmt::format("{} {} {}", text(*expr.operands[0], program, own), spelling(expr.op),
                      text(*expr.operands[1], program, own + 1));
  else
    out = sourceText(expr.range);
  return own < least ? "(" + out + ")" : out;
}

} // namespace

std::string conditionText(const Expr &condition, const Program &program) {
  return text(condition, program, 0);
}

std::string typeArgumentsText(const Program &program) {
  std::string text;
  for (const auto &[parameter, type] : program.typeArguments)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", parameter, name(type));
  return text;
}

bool isExactConversion(ScalarType from, ScalarType to) {
  struct Format {
    int precision, minExponent, maxExponent; ///< of the leading bit; the least subnormal is 2^min
  };
  auto format = [](ScalarType type) -> Format {
    switch (type) {
    case ScalarType::F16:
      return {11, -24, 15};
    case ScalarType::BF16:
      return {8, -133, 127};
    case ScalarType::F32:
      return {24, -149, 127};
    case ScalarType::F64:
      return {53, -1074, 1023};
    case ScalarType::E4M3:
      return {4, -9, 8};
    case ScalarType::E5M2:
      return {3, -16, 15};
    case ScalarType::I32:
      return {31, 0, 31};
    case ScalarType::I64:
      return {63, 0, 63};
    case ScalarType::Bool:
      return {1, 0, 0};
    }
    __builtin_unreachable();
  };
  if (isInteger(to) || to == ScalarType::Bool)
    return true;
  Format a = format(from), b = format(to);
  return a.precision <= b.precision && a.minExponent >= b.minExponent &&
         a.maxExponent <= b.maxExponent;
}

} // namespace h3
