//===-- dsl/program/Arithmetic.cpp - Operators and builtins ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Analyzer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace h3 {

namespace {

const Type boolean{ScalarType::Bool, nullptr, {}};
const Type float32{ScalarType::F32, nullptr, {}};

Type scalarType(ScalarType type) { return {type, nullptr, {}}; }

std::optional<Builtin> comparison(std::string_view text) {
  static const std::map<std::string_view, Builtin> table = {
      {"<", Builtin::Less},   {"<=", Builtin::LessEqual}, {">", Builtin::Greater},
      {"==", Builtin::Equal}, {"!=", Builtin::NotEqual},  {">=", Builtin::GreaterEqual}};
  auto found = table.find(text);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

/// The value of an operation on literals, computed in their type: language.md, static rule 2.
std::optional<Bits> fold(Builtin op, ScalarType type, const Expr &left, const Expr *right) {
  if (left.kind != Expr::Kind::Literal || (right && right->kind != Expr::Kind::Literal))
    return std::nullopt;
  switch (op) {
  case Builtin::Neg:
    return scalar::neg(type, left.bits);
  case Builtin::Add:
    return scalar::add(type, left.bits, right->bits);
  case Builtin::Sub:
    return scalar::sub(type, left.bits, right->bits);
  case Builtin::Mul:
    return scalar::mul(type, left.bits, right->bits);
  case Builtin::Div:
    return scalar::div(type, left.bits, right->bits);
  default:
    return std::nullopt;
  }
}

std::string_view groupNeeds(BuiltinFunction::Group group) {
  switch (group) {
  case BuiltinFunction::Group::Float:
    return "f16, bf16, f32 or f64";
  case BuiltinFunction::Group::Number:
    return "f16, bf16, f32, f64, i32 or i64";
  case BuiltinFunction::Group::Shift:
    return "i32 or i64";
  default:
    return "f32";
  }
}

bool groupTakes(BuiltinFunction::Group group, ScalarType type) {
  switch (group) {
  case BuiltinFunction::Group::Float:
    return hasFloatArithmetic(type);
  case BuiltinFunction::Group::Number:
    return hasFloatArithmetic(type) || isInteger(type);
  case BuiltinFunction::Group::Shift:
    return isInteger(type);
  default:
    return type == ScalarType::F32;
  }
}

/// How to mend an operand of a type that has no arithmetic.
std::string operandHint(ScalarType type) {
  if (type == ScalarType::E4M3 || type == ScalarType::E5M2)
    return "convert it first, as in `f32(x)`";
  if (type == ScalarType::Bool)
    return "a bool is combined by `and`, `or`, `not`";
  return {};
}

} // namespace

bool Analyzer::isScalarOperand(const Expr *value, const std::string &op) {
  if (value->type.isScalar())
    return true;
  error(value->range, fmt::format("`{}` takes scalars, found {}", op, toText(value->type)),
        value->type.isRow()
            ? "index the row, or write a row of the results, as in `[i: n] x[i] * y[i]`"
            : "compute with its fields");
  return false;
}

const Expr *Analyzer::analyzeUnary(const ast::Expr &expr, const Type *expected) {
  const ast::Expr &operand = *expr.operands[0];
  if (expr.text == "not") {
    const Expr *value = condition(operand);
    if (!value)
      return nullptr;
    if (value->kind == Expr::Kind::Literal)
      return makeLiteral(ScalarType::Bool, !value->bits, expr.range);
    return makeBuiltin(Builtin::Not, boolean, {value}, expr.range);
  }
  using Kind = ast::Expr::Kind;
  if (operand.kind == Kind::Decimal || operand.kind == Kind::Integer || operand.kind == Kind::Hex ||
      operand.kind == Kind::Infinity || operand.kind == Kind::NotANumber) {
    const Expr *value = literal(operand, expected, true);
    return value ? makeLiteral(value->type.scalar, value->bits, expr.range) : nullptr;
  }
  const Expr *value = analyze(operand, expected);
  if (!value || !isScalarOperand(value, "-"))
    return nullptr;
  ScalarType type = value->type.scalar;
  if (!groupTakes(BuiltinFunction::Group::Number, type)) {
    error(expr.range, fmt::format("`-` has no meaning on {}", name(type)), operandHint(type));
    return nullptr;
  }
  if (value->kind == Expr::Kind::SizeValue) {
    std::optional<Polynomial> negated = difference(Polynomial(), sizes.polynomial(value->size));
    if (negated)
      return makeSize(sizes.intern(*negated), expr.range);
  }
  if (std::optional<Bits> bits = fold(Builtin::Neg, type, *value, nullptr))
    return makeLiteral(type, *bits, expr.range);
  return makeBuiltin(Builtin::Neg, value->type, {value}, expr.range);
}

/// A chain of operators is walked along its left side, not descended, so its length costs no stack.
const Expr *Analyzer::analyzeBinary(const ast::Expr &expr, const Type *expected) {
  std::vector<const ast::Expr *> chain; // outermost first
  const ast::Expr *leaf = &expr;
  for (; leaf->kind == ast::Expr::Kind::Binary; leaf = leaf->operands[0])
    chain.push_back(leaf);
  std::reverse(chain.begin(), chain.end());

  // An operand that is a literal, next to one that is typed, and what the cure looks like if the
  // literal is not exact in that type.
  auto analyzeLiteral = [&](const ast::Expr &operand, const Type *type,
                            const ast::Expr &operation) {
    std::string kept = std::move(inexactHint);
    inexactHint.clear();
    constexpr uint32_t longest = 60;
    if (type && type->isScalar() && operation.range.end - operation.range.begin <= longest) {
      std::string left = sourceText(operation.operands[0]->range);
      std::string right = sourceText(operation.operands[1]->range);
      bool leftTyped = &operand != operation.operands[0];
      (leftTyped ? left : right) = fmt::format("f32({})", leftTyped ? left : right);
      inexactHint = fmt::format("compute in f32 and round once: `{}({} {} {})`", name(type->scalar),
                                left, operation.text, right);
    }
    const Expr *value = analyze(operand, type);
    inexactHint = std::move(kept);
    return value;
  };

  // The literals at the start take the type of the first operand that has one.
  size_t at = 0;
  const Expr *left = nullptr;
  bool failed = false;
  if (!isUntyped(*leaf)) {
    left = analyze(*leaf, nullptr);
  } else {
    while (at < chain.size() && isUntyped(*chain[at]))
      ++at;
    const Type *type = expected;
    const Expr *right = nullptr;
    if (at < chain.size()) {
      const ast::Expr &operand = *chain[at]->operands[1];
      bool logic = chain[at]->text == "and" || chain[at]->text == "or";
      if (logic) {
        type = &boolean;
      } else if (isUntyped(operand)) {
        type = nullptr; // a comparison of literals
      } else {
        right = analyze(operand, nullptr);
        type = right ? &right->type : nullptr;
        failed = !right;
      }
    }
    if (!failed) {
      const ast::Expr &first = at < chain.size() ? *chain[at] : expr;
      bool single = at == 1 || (at == 0 && right);
      left = single || at == 0 ? analyzeLiteral(*leaf, type, first) : analyze(*leaf, type);
      for (size_t i = 0; i < at && left; ++i) {
        const Expr *operand = analyze(*chain[i]->operands[1], type);
        left = operand ? applyBinary(*chain[i], left, operand) : nullptr;
      }
    }
    if (right) {
      left = left ? applyBinary(*chain[at], left, right) : nullptr;
      ++at;
    }
  }
  for (; at < chain.size(); ++at) {
    const ast::Expr &operand = *chain[at]->operands[1];
    const Expr *right = nullptr;
    if (!isUntyped(operand))
      right = analyze(operand, nullptr);
    else if (left)
      right = analyzeLiteral(operand, &left->type, *chain[at]);
    left = left && right ? applyBinary(*chain[at], left, right) : nullptr;
  }
  return left;
}

const Expr *Analyzer::applyLogic(const ast::Expr &expr, const Expr *left, const Expr *right) {
  bool isAnd = expr.text == "and";
  for (const Expr *operand : {left, right})
    if (!operand->type.isScalar() || operand->type.scalar != ScalarType::Bool) {
      error(operand->range,
            fmt::format("`{}` takes bools, found {}", expr.text, toText(operand->type)),
            "compare it, as in `x != 0`");
      return nullptr;
    }
  for (auto [known, other] : {std::pair(left, right), std::pair(right, left)})
    if (known->kind == Expr::Kind::Literal)
      return (known->bits != 0) == isAnd ? other : known;
  return makeBuiltin(isAnd ? Builtin::And : Builtin::Or, boolean, {left, right}, expr.range);
}

const Expr *Analyzer::applyBinary(const ast::Expr &expr, const Expr *left, const Expr *right) {
  const std::string &op = expr.text;
  if (op == "and" || op == "or")
    return applyLogic(expr, left, right);
  if (!isScalarOperand(left, op) || !isScalarOperand(right, op))
    return nullptr;
  ScalarType type = left->type.scalar;
  if (type != right->type.scalar) {
    std::string hint = conversionHint(*right, right->type, left->type);
    if (isFloat(type) && isFloat(right->type.scalar) &&
        bitWidth(type) < bitWidth(right->type.scalar))
      hint = conversionHint(*left, left->type, right->type);
    error(expr.range,
          fmt::format("`{}` takes two operands of one type, found {} and {}", op, name(type),
                      name(right->type.scalar)),
          hint);
    return nullptr;
  }
  std::optional<Builtin> compared = comparison(op);
  bool allowed = groupTakes(BuiltinFunction::Group::Number, type) ||
                 (type == ScalarType::Bool && (op == "==" || op == "!="));
  if (!allowed) {
    error(expr.range, fmt::format("`{}` has no meaning on {}", op, name(type)), operandHint(type));
    return nullptr;
  }
  if (compared) {
    if (const Expr *known = compareLiterals(*compared, left, right, expr.range))
      return known;
    return makeBuiltin(*compared, boolean, {left, right}, expr.range);
  }
  if ((isSize(*left) && isSize(*right)) || op == "%" || (op == "/" && isInteger(type)))
    return applyToSizes(expr, left, right);
  Builtin builtin = op == "+"   ? Builtin::Add
                    : op == "-" ? Builtin::Sub
                    : op == "*" ? Builtin::Mul
                                : Builtin::Div;
  if (std::optional<Bits> bits = fold(builtin, type, *left, right))
    return makeLiteral(type, *bits, expr.range);
  return makeBuiltin(builtin, left->type, {left, right}, expr.range);
}

const Expr *Analyzer::applyToSizes(const ast::Expr &expr, const Expr *left, const Expr *right) {
  char op = expr.text[0];
  if (!isSize(*left) || !isSize(*right)) {
    std::string hint;
    if (left->type.scalar == ScalarType::I64)
      hint = "an index is taken apart by its digits, as in `(a: n, b: 4)`, not by `/` and `%`";
    error(expr.range,
          fmt::format("`{}` of {} divides sizes only, by a positive integer", op,
                      name(left->type.scalar)),
          isFloat(left->type.scalar) ? "" : hint);
    return nullptr;
  }
  auto polynomial = [&](const Expr *value) {
    return value->kind == Expr::Kind::SizeValue
               ? sizes.polynomial(value->size)
               : Polynomial::constant(static_cast<int64_t>(value->bits));
  };
  Polynomial a = polynomial(left), b = polynomial(right);
  std::optional<Polynomial> result;
  if (op == '/' || op == '%') {
    if (right->kind != Expr::Kind::Literal || static_cast<int64_t>(right->bits) <= 0) {
      error(right->range,
            fmt::format(
                "the divisor of sizes is a positive integer, written as a literal, found `{}`",
                sourceText(right->range)));
      return nullptr;
    }
    int64_t divisor = static_cast<int64_t>(right->bits);
    result = op == '/' ? sizes.quotient(a, divisor) : sizes.remainder(a, divisor);
  } else if (left->kind == Expr::Kind::Literal && right->kind == Expr::Kind::Literal) {
    // Both are numbers of type i64, which wrap.
    Builtin builtin = op == '+' ? Builtin::Add : op == '-' ? Builtin::Sub : Builtin::Mul;
    return makeLiteral(ScalarType::I64, *fold(builtin, ScalarType::I64, *left, right), expr.range);
  } else {
    result = op == '+' ? sum(a, b) : op == '-' ? difference(a, b) : product(a, b);
  }
  if (!result) {
    error(expr.range, "this size is too large to be handled: its numbers leave 64 bits, or it has "
                      "more than 64 terms or 16 factors");
    return nullptr;
  }
  return makeSize(sizes.intern(*result), expr.range);
}

const Expr *Analyzer::compareLiterals(Builtin op, const Expr *left, const Expr *right,
                                      SourceRange range) {
  auto bits = [&](const Expr *value) -> std::optional<Bits> {
    if (value->kind == Expr::Kind::Literal)
      return value->bits;
    if (value->kind == Expr::Kind::SizeValue && value->size->isConstant())
      return static_cast<Bits>(value->size->value);
    return std::nullopt;
  };
  std::optional<Bits> a = bits(left), b = bits(right);
  if (!a || !b)
    return nullptr;
  scalar::Ordering ordering = scalar::compare(left->type.scalar, *a, *b);
  bool less = ordering == scalar::Ordering::Less, equal = ordering == scalar::Ordering::Equal,
       greater = ordering == scalar::Ordering::Greater;
  bool result = op == Builtin::Less           ? less
                : op == Builtin::LessEqual    ? less || equal
                : op == Builtin::Greater      ? greater
                : op == Builtin::GreaterEqual ? greater || equal
                : op == Builtin::Equal        ? equal
                                              : !equal;
  return makeLiteral(ScalarType::Bool, result, range);
}

const Expr *Analyzer::analyzeBuiltin(const ast::Expr &call, const std::string &name,
                                     const BuiltinFunction &builtin, const Type *expected) {
  size_t count = call.operands.size() - 1;
  if (!call.argNames.empty()) {
    error(call.argNames[0].range, fmt::format("the operands of `{}` have no names", name),
          "write the values alone");
    return nullptr;
  }
  if (count != builtin.arity) {
    error(call.range, fmt::format("`{}` takes {} operand{}, found {}", name, builtin.arity,
                                  builtin.arity == 1 ? "" : "s", count));
    return nullptr;
  }
  using Group = BuiltinFunction::Group;
  if (builtin.group == Group::Index) {
    error(call.range, "`index(...)` is a whole subscript, not a number",
          "write it as in `x[index(e), i]`, or name it: `let k = index(e)`");
    return nullptr;
  }
  if (builtin.group == Group::Conversion)
    return analyzeConversion(call, name, builtin);
  if (builtin.group == Group::FromBits || builtin.group == Group::ToBits)
    return analyzeBits(call, name, builtin);

  // The operands have one type; literals take it from the others.
  std::vector<const Expr *> operands(count, nullptr);
  bool failed = false;
  const Type *type = builtin.group == Group::Approximation ? &float32 : nullptr;
  for (size_t i = 0; i < count; ++i)
    if (!isUntyped(*call.operands[i + 1])) {
      operands[i] = analyze(*call.operands[i + 1], nullptr);
      failed |= !operands[i];
      if (operands[i] && !type)
        type = &operands[i]->type;
    }
  if (failed)
    return nullptr;
  for (size_t i = 0; i < count; ++i)
    if (!operands[i] && !(operands[i] = analyze(*call.operands[i + 1], type ? type : expected)))
      return nullptr;
  for (const Expr *operand : operands)
    if (!isScalarOperand(operand, name))
      return nullptr;
  ScalarType first = operands[0]->type.scalar;
  for (const Expr *operand : operands)
    if (operand->type.scalar != first) {
      error(operand->range,
            fmt::format("`{}` takes operands of one type, found {} and {}", name, h3::name(first),
                        h3::name(operand->type.scalar)),
            conversionHint(*operand, operand->type, operands[0]->type));
      return nullptr;
    }
  if (!groupTakes(builtin.group, first)) {
    error(call.range,
          fmt::format("`{}` takes {}, found {}", name, groupNeeds(builtin.group), h3::name(first)),
          builtin.group == Group::Approximation
              ? conversionHint(*operands[0], operands[0]->type, float32)
              : operandHint(first));
    return nullptr;
  }
  Expr *made = make(Expr::Kind::Builtin, scalarType(first), call.range);
  made->op = builtin.op;
  made->rounding = builtin.rounding;
  made->operands = std::move(operands);
  return made;
}

const Expr *Analyzer::analyzeConversion(const ast::Expr &call, const std::string &name,
                                        const BuiltinFunction &builtin) {
  const ast::Expr &argument = *call.operands[1];
  const Type target = scalarType(builtin.type);
  if (isUntyped(argument))
    return analyze(argument, &target); // the conversion names the literal's type
  const Expr *value = analyze(argument, nullptr);
  if (!value || !isScalarOperand(value, name))
    return nullptr;
  ScalarType from = value->type.scalar;
  if (from == builtin.type) {
    program.identityConversions.push_back(call.range);
    return value;
  }
  bool possible = isInteger(builtin.type) ? isInteger(from) : isFloat(from) || isInteger(from);
  if (!possible) {
    error(call.range, fmt::format("there is no conversion from {} to {}", h3::name(from), name),
          from == ScalarType::Bool && isFloat(builtin.type)
              ? fmt::format("choose between two values: `if {} then 1.0 else 0.0`",
                            sourceText(argument.range))
              : conversionHint(*value, value->type, target));
    return nullptr;
  }
  Expr *made = make(Expr::Kind::Convert, target, call.range);
  made->rounding = builtin.rounding;
  made->saturate = builtin.saturate;
  made->operands = {value};
  return made;
}

const Expr *Analyzer::analyzeBits(const ast::Expr &call, const std::string &name,
                                  const BuiltinFunction &builtin) {
  bool from = builtin.group == BuiltinFunction::Group::FromBits;
  // Float bits come from the integer of 64 bits for f64, of 32 bits otherwise.
  const Type pattern =
      scalarType(builtin.type == ScalarType::F64 ? ScalarType::I64 : ScalarType::I32);
  const Expr *value = analyze(*call.operands[1], from ? &pattern : nullptr);
  if (!value || !isScalarOperand(value, name))
    return nullptr;
  ScalarType type = value->type.scalar;
  bool wide = builtin.type == ScalarType::I64;
  bool fits =
      from ? type == pattern.scalar : hasFloatArithmetic(type) && (type == ScalarType::F64) == wide;
  if (!fits) {
    std::string_view wanted = from ? h3::name(pattern.scalar) : wide ? "f64" : "f32, f16 or bf16";
    error(call.range, fmt::format("`{}` takes {}, found {}", name, wanted, h3::name(type)));
    return nullptr;
  }
  if (from && value->kind == Expr::Kind::Literal)
    return makeLiteral(builtin.type, scalar::fromBitPattern(builtin.type, value->bits), call.range);
  return makeBuiltin(builtin.op, scalarType(builtin.type), {value}, call.range);
}

} // namespace h3
