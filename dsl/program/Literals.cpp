//===-- dsl/program/Literals.cpp - Literals and their types ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Analyzer.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>

namespace h3 {

bool Analyzer::isUntyped(const ast::Expr &expr) {
  using Kind = ast::Expr::Kind;
  switch (expr.kind) {
  case Kind::Decimal:
  case Kind::Integer:
  case Kind::Hex:
  case Kind::Infinity:
  case Kind::NotANumber:
    return true;
  case Kind::Unary:
    return expr.text == "-" && isUntyped(*expr.operands[0]);
  case Kind::Binary: {
    // The left side of a chain is decided once.
    auto [at, isNew] = untypedCache.try_emplace(&expr, false);
    if (!isNew)
      return at->second;
    bool arithmetic = expr.text.size() == 1 &&
                      std::string_view("+-*/%").find(expr.text[0]) != std::string_view::npos;
    bool untyped = arithmetic && isUntyped(*expr.operands[1]) && isUntyped(*expr.operands[0]);
    return untypedCache[&expr] = untyped;
  }
  case Kind::If:
    return isUntyped(*expr.operands[1]) && isUntyped(*expr.operands[2]);
  case Kind::Row:
    return isUntyped(*expr.operands[0]);
  case Kind::Call: {
    std::optional<BuiltinFunction> builtin = builtinNamed(expr.operands[0]->text);
    if (!builtin || (builtin->group != BuiltinFunction::Group::Float &&
                     builtin->group != BuiltinFunction::Group::Number &&
                     builtin->group != BuiltinFunction::Group::Shift))
      return false;
    for (size_t i = 1; i < expr.operands.size(); ++i)
      if (!isUntyped(*expr.operands[i]))
        return false;
    return true;
  }
  default:
    return false;
  }
}

namespace {

/// What a literal becomes in a type, or why it cannot.
struct LiteralBits {
  Bits bits = 0;
  std::string message, hint;
};

LiteralBits decimalBits(const std::string &text, ScalarType type, const std::string &inFloat) {
  if (!isFloat(type))
    return {0, fmt::format("`{}` is a float, and {} is needed here", text, name(type)),
            isInteger(type) ? "an integer is written without `.` and exponent" : ""};
  std::optional<scalar::Decimal> decimal = scalar::parseDecimal(type, text);
  if (!decimal)
    return {0, fmt::format("`{}` is not a decimal", text), ""};
  if (decimal->exact)
    return {decimal->bits, "", ""};
  bool overflow = scalar::isInfinity(type, decimal->bits) || scalar::isNaN(type, decimal->bits);
  if (overflow)
    return {0, fmt::format("`{}` is too large for {}", text, name(type)),
            type == ScalarType::E4M3 ? "" : "infinity is written `inf`"};
  if (type == ScalarType::F32 && !decimal->sameThroughF64)
    return {
        0, fmt::format("`{}` rounds to one f32 directly and to another through f64", text),
        fmt::format("write the one that is meant by its bits: `f32.bits(0x{:08X})` is the direct "
                    "one",
                    decimal->bits)};
  if (type != ScalarType::F32 && type != ScalarType::F64) {
    std::string hint = inFloat;
    if (hint.empty())
      hint = fmt::format(
          "compute in f32 and round once at the end, or write a number that {} has; "
          "the nearest is {}",
          name(type), std::bit_cast<double>(scalar::convert(type, ScalarType::F64, decimal->bits)));
    return {0, fmt::format("`{}` is not exact in {}", text, name(type)), hint};
  }
  return {decimal->bits, "", ""};
}

LiteralBits integerBits(const std::string &text, ScalarType type, bool negated) {
  if (!isInteger(type))
    return {0, fmt::format("`{}` is an integer, and {} is needed here", text, name(type)),
            isFloat(type) ? fmt::format("write `{}.0`", text) : "compare it, as in `x != 0`"};
  uint64_t value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  uint64_t most = type == ScalarType::I32 ? INT32_MAX : INT64_MAX;
  if (failure != std::errc() || end != text.data() + text.size() || value > most + negated)
    return {0, fmt::format("`{}{}` does not fit {}", negated ? "-" : "", text, name(type)), ""};
  Bits mask = type == ScalarType::I32 ? 0xFFFFFFFFu : ~Bits(0);
  return {(negated ? 0 - value : value) & mask, "", ""};
}

LiteralBits hexBits(const std::string &text, ScalarType type) {
  if (!isInteger(type)) {
    std::string hint;
    if (hasFloatArithmetic(type))
      hint = fmt::format("the {} with these bits is `{}.bits({})`", name(type), name(type), text);
    return {
        0,
        fmt::format("`{}` is a bit pattern of i32 or i64, and {} is needed here", text, name(type)),
        hint};
  }
  uint64_t value = 0;
  auto [end, failure] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  if (failure != std::errc() || end != text.data() + text.size() ||
      (type == ScalarType::I32 && value > 0xFFFFFFFFu))
    return {0, fmt::format("`{}` has more bits than {}", text, name(type)), ""};
  return {value, "", ""};
}

} // namespace

const Expr *Analyzer::literal(const ast::Expr &expr, const Type *expected, bool negated) {
  using Kind = ast::Expr::Kind;
  std::string text = expr.kind == Kind::Infinity     ? "inf"
                     : expr.kind == Kind::NotANumber ? "nan"
                                                     : expr.text;
  if (!expected) {
    error(expr.range, fmt::format("the type of `{}` is not known here", text),
          "use it beside a value that has a type, or name the type with `let x: f32 = ...`");
    return nullptr;
  }
  if (!expected->isScalar()) {
    error(expr.range,
          fmt::format("{} is needed here, found the number `{}`", toText(*expected), text),
          expected->isRow() ? "write a row of it, as in `[i: n] ...`" : "");
    return nullptr;
  }
  ScalarType type = expected->scalar;
  LiteralBits made;
  switch (expr.kind) {
  case Kind::Decimal:
    made = decimalBits(text, type, inexactHint);
    break;
  case Kind::Integer:
    made = integerBits(text, type, negated);
    break;
  case Kind::Hex:
    made = hexBits(text, type);
    if (negated && made.message.empty())
      made.bits = scalar::neg(type, made.bits);
    break;
  default:
    if (!isFloat(type))
      made.message = fmt::format("`{}` is a float, and {} is needed here", text, name(type));
    else if (expr.kind == Kind::NotANumber)
      made.bits = scalar::canonicalNaN(type);
    else if (type == ScalarType::E4M3)
      made.message = "e4m3 has no infinity";
    else
      made.bits = scalar::infinity(type);
    break;
  }
  if (!made.message.empty()) {
    error(expr.range, made.message, made.hint);
    return nullptr;
  }
  // The sign of a float literal, in the 8-bit types too, which have no arithmetic.
  if (negated && isFloat(type) && !scalar::isNaN(type, made.bits))
    made.bits |= Bits(1) << (bitWidth(type) - 1);
  return makeLiteral(type, made.bits, expr.range);
}

} // namespace h3
