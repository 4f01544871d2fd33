//===-- dsl/program/Program.cpp - The typed program -----------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Program.h"

#include <unordered_map>
#include <unordered_set>

namespace h3 {

std::string_view spelling(Builtin op) {
  switch (op) {
  case Builtin::Add:
    return "+";
  case Builtin::Sub:
  case Builtin::Neg:
    return "-";
  case Builtin::Mul:
    return "*";
  case Builtin::Div:
  case Builtin::FloorDiv:
    return "/";
  case Builtin::FloorMod:
    return "%";
  case Builtin::Fma:
    return "fma";
  case Builtin::Sqrt:
    return "sqrt";
  case Builtin::Abs:
    return "abs";
  case Builtin::Copysign:
    return "copysign";
  case Builtin::Max:
    return "max";
  case Builtin::Min:
    return "min";
  case Builtin::MaxNum:
    return "max.num";
  case Builtin::MinNum:
    return "min.num";
  case Builtin::Shl:
    return "shl";
  case Builtin::Shr:
    return "shr";
  case Builtin::FromBits:
  case Builtin::ToBits:
    return "bits";
  case Builtin::RsqrtApprox:
    return "rsqrt.approx";
  case Builtin::Ex2ApproxFtz:
    return "ex2.approx.ftz";
  case Builtin::RcpApproxFtz:
    return "rcp.approx.ftz";
  case Builtin::SqrtApprox:
    return "sqrt.approx";
  case Builtin::Less:
    return "<";
  case Builtin::LessEqual:
    return "<=";
  case Builtin::Greater:
    return ">";
  case Builtin::GreaterEqual:
    return ">=";
  case Builtin::Equal:
    return "==";
  case Builtin::NotEqual:
    return "!=";
  case Builtin::And:
    return "and";
  case Builtin::Or:
    return "or";
  case Builtin::Not:
    return "not";
  }
  return "?";
}

std::optional<int64_t> evaluate(const Size &size, const std::vector<int64_t> &dims) {
  switch (size.kind) {
  case Size::Kind::Constant:
    return size.value;
  case Size::Kind::Dim:
    return dims[size.dim];
  default:
    break;
  }
  std::optional<int64_t> left = evaluate(*size.lhs, dims);
  if (!left)
    return std::nullopt;
  if (size.kind == Size::Kind::Div)
    return scalar::floorDiv(*left, size.value);
  if (size.kind == Size::Kind::Mod)
    return scalar::floorMod(*left, size.value);
  std::optional<int64_t> right = evaluate(*size.rhs, dims);
  if (!right)
    return std::nullopt;
  int64_t result;
  bool overflow = size.kind == Size::Kind::Add   ? __builtin_add_overflow(*left, *right, &result)
                  : size.kind == Size::Kind::Sub ? __builtin_sub_overflow(*left, *right, &result)
                                                 : __builtin_mul_overflow(*left, *right, &result);
  if (overflow)
    return std::nullopt;
  return result;
}

namespace {

/// 1: a sum, 2: a product or quotient, 3: a name or number.
unsigned precedence(const Size &size) {
  switch (size.kind) {
  case Size::Kind::Add:
  case Size::Kind::Sub:
    return 1;
  case Size::Kind::Constant:
    return size.value < 0 ? 1 : 3;
  case Size::Kind::Dim:
    return 3;
  default:
    return 2;
  }
}

std::string grouped(const Size &size, const Program &program, unsigned least) {
  std::string text = toString(size, program);
  return precedence(size) < least ? "(" + text + ")" : text;
}

} // namespace

std::string toString(const Size &size, const Program &program) {
  switch (size.kind) {
  case Size::Kind::Constant:
    return std::to_string(size.value);
  case Size::Kind::Dim:
    return program.dims[size.dim].name;
  case Size::Kind::Add:
    return toString(*size.lhs, program) + " + " + grouped(*size.rhs, program, 2);
  case Size::Kind::Sub:
    return toString(*size.lhs, program) + " - " + grouped(*size.rhs, program, 2);
  case Size::Kind::Mul:
    if (size.lhs->isConstant() && size.lhs->value == -1)
      return "-" + grouped(*size.rhs, program, 3);
    return grouped(*size.lhs, program, 2) + " * " + grouped(*size.rhs, program, 3);
  case Size::Kind::Div:
    return grouped(*size.lhs, program, 2) + " / " + std::to_string(size.value);
  case Size::Kind::Mod:
    return grouped(*size.lhs, program, 2) + " % " + std::to_string(size.value);
  }
  return "?";
}

std::string toString(const Type &type, const Program &program) {
  std::string text = type.record ? type.record->name : std::string(name(type.scalar));
  if (type.extents.empty())
    return text;
  text += "[";
  for (size_t i = 0; i < type.extents.size(); ++i)
    text += (i ? ", " : "") + toString(*type.extents[i].size, program);
  return text + "]";
}

namespace {

/// Looks at each node once. A local is followed to the `Block` inside the expression that defines
/// it.
class Uniformity {
public:
  bool isUniform(const Expr &expr) {
    if (!seen.insert(&expr).second)
      return true; // decided elsewhere; one answer of false decides all
    switch (expr.kind) {
    case Expr::Kind::Literal:
    case Expr::Kind::Parameter:
    case Expr::Kind::SizeValue:
      return true;
    case Expr::Kind::Local: {
      auto defined = locals.find(expr.id);
      return defined != locals.end() && isUniform(*defined->second);
    }
    case Expr::Kind::Builtin:
    case Expr::Kind::Convert:
    case Expr::Kind::If:
    case Expr::Kind::Record:
    case Expr::Kind::Field:
      break;
    case Expr::Kind::Block:
      for (const Let &let : expr.lets)
        locals[let.local] = let.value;
      break;
    default:
      return false;
    }
    for (const Expr *operand : expr.operands)
      if (!isUniform(*operand))
        return false;
    return true;
  }

private:
  std::unordered_set<const Expr *> seen;
  std::unordered_map<unsigned, const Expr *> locals;
};

} // namespace

bool isUniform(const Expr &expr) { return Uniformity().isUniform(expr); }

} // namespace h3
