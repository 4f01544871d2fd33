//===-- dsl/lint/ValueRules.cpp - Lint rules about values -----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/interpreter/OrderText.h"
#include "dsl/lint/Findings.h"
#include "dsl/program/Names.h"
#include "dsl/scalar/Format.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace h3 {

namespace {

bool is(const Expr &expr, Builtin op) { return expr.kind == Expr::Kind::Builtin && expr.op == op; }

bool isLiteral(const Expr &expr, const char *decimal) {
  if (expr.kind != Expr::Kind::Literal || !hasFloatArithmetic(expr.type.scalar))
    return false;
  return scalar::parseDecimal(expr.type.scalar, decimal)->bits == expr.bits;
}

bool isNarrow(ScalarType type) { return type == ScalarType::F16 || type == ScalarType::BF16; }

unsigned precision(ScalarType type) {
  switch (type) {
  case ScalarType::F64:
    return 53;
  case ScalarType::F32:
    return 24;
  case ScalarType::F16:
    return 11;
  case ScalarType::BF16:
    return 8;
  case ScalarType::E4M3:
    return 4;
  case ScalarType::E5M2:
    return 3;
  default:
    return 0;
  }
}

/// A power of two whose reciprocal is normal, so that dividing by it and multiplying by the
/// reciprocal agree.
bool isPowerOfTwo(ScalarType type, Bits bits) {
  unsigned mantissa = precision(type) - 1;
  return (bits & ((Bits(1) << mantissa) - 1)) == 0;
}

class ValueRules {
public:
  ValueRules(const Program &program, std::span<const Order> known, Findings &findings)
      : program(program), known(known), findings(findings) {
    definitionsOf(program.body);
    visitBody(program.body);
    for (const Requirement &requirement : program.requirements)
      visit(*requirement.condition);
    // A function is seen with the types of its calls: only what the operator itself writes is known
    // to be the identity for all of its types.
    if (program.typeArguments.empty())
      for (const SourceRange &range : program.identityConversions)
        if (!isInsideCall(range))
          findings.add(
              "pointless-conversion", range,
              fmt::format("`{}` converts to the type that the value has", sourceText(range)),
              "leave the conversion out");
  }

private:
  // ---- The walk.

  void definitionsOf(const std::vector<Statement> &body) {
    for (const Statement &statement : body) {
      if (statement.kind == Statement::Kind::Let)
        defined[statement.let.local] = statement.let.value;
      definitionsOf(statement.body);
    }
  }
  void visitBody(const std::vector<Statement> &body) {
    for (const Statement &statement : body) {
      if (statement.kind == Statement::Kind::Let)
        visit(*statement.let.value);
      else if (statement.kind == Statement::Kind::Equation)
        visit(*statement.equation.value);
      else
        visitBody(statement.body);
    }
  }

  void visit(const Expr &expr) {
    if (!seen.insert(&expr).second)
      return;
    for (const Let &let : expr.lets)
      defined[let.local] = let.value;
    if (expr.kind == Expr::Kind::Builtin)
      builtin(expr);
    else if (expr.kind == Expr::Kind::Convert)
      conversion(expr);
    else if (expr.kind == Expr::Kind::Reduce)
      reduction(expr);
    forEachChild(expr, [this](const Expr *child) { visit(*child); });
  }

  /// Whether this is the text of a function.
  bool isInsideCall(const SourceRange &range) const {
    return std::none_of(bodies().begin(), bodies().end(), [&](const SourceRange &body) {
      return body.file == range.file && body.begin <= range.begin && range.end <= body.end;
    });
  }
  /// The texts of the operator's own statements.
  const std::vector<SourceRange> &bodies() const {
    if (ownBodies.empty())
      collectBodies(program.body);
    return ownBodies;
  }
  void collectBodies(const std::vector<Statement> &body) const {
    for (const Statement &statement : body) {
      if (statement.kind == Statement::Kind::Let)
        ownBodies.push_back(statement.let.value->range);
      else if (statement.kind == Statement::Kind::Equation)
        ownBodies.push_back(statement.equation.range);
      collectBodies(statement.body);
    }
  }

  const Expr &valueOf(const Expr &expr) const {
    const Expr *at = &expr;
    while (at->kind == Expr::Kind::Local) {
      auto definition = defined.find(at->id);
      if (definition == defined.end())
        break;
      at = definition->second;
    }
    return *at;
  }

  bool isSame(const Expr &a, const Expr &b) const {
    if (&a == &b)
      return true;
    if (a.kind != b.kind || a.id != b.id || a.bits != b.bits || a.op != b.op || a.size != b.size ||
        a.type.scalar != b.type.scalar || a.operands.size() != b.operands.size() ||
        a.subscripts.size() != b.subscripts.size() || a.kind == Expr::Kind::Row ||
        a.kind == Expr::Kind::Reduce || a.kind == Expr::Kind::Block)
      return false;
    for (size_t k = 0; k < a.operands.size(); ++k)
      if (!isSame(*a.operands[k], *b.operands[k]))
        return false;
    for (size_t k = 0; k < a.subscripts.size(); ++k) {
      if (a.subscripts[k].digits.size() != b.subscripts[k].digits.size())
        return false;
      for (size_t d = 0; d < a.subscripts[k].digits.size(); ++d)
        if (!isSame(*a.subscripts[k].digits[d], *b.subscripts[k].digits[d]))
          return false;
    }
    return true;
  }

  // ---- One operation.

  void builtin(const Expr &expr) {
    std::string text = sourceText(expr.range);
    ScalarType type = expr.type.scalar;
    bool isArithmetic = expr.op <= Builtin::Sqrt && isFloat(type);
    if (isArithmetic && type == ScalarType::F64)
      findings.add("f64-arithmetic", expr.range, fmt::format("`{}` is computed in f64", text),
                   "eager's kernels compute f16, bf16 and f32 data in f32");
    if (expr.op == Builtin::Fma && isNarrow(type))
      findings.add("half-fma", expr.range, fmt::format("`{}` rounds once to {}", text, name(type)),
                   fmt::format("eager computes it in f32 and rounds that: {}(fma(f32(..), f32(..), "
                               "f32(..)))",
                               name(type)));
    if (expr.op == Builtin::Sub && isFloat(type) && isLiteral(*expr.operands[0], "0.0"))
      findings.add("zero-minus", expr.range,
                   fmt::format("`{}` is +0 for 0.0, where `-x` is -0", text),
                   "write `-x` to change the sign");
    if (expr.op == Builtin::Div && isFloat(type)) {
      const Expr &divisor = *expr.operands[1];
      bool isData = expr.operands[0]->kind != Expr::Kind::Literal && !isUniform(*expr.operands[0]);
      if (isData && divisor.kind == Expr::Kind::Literal && !isPowerOfTwo(type, divisor.bits))
        findings.add("division-by-literal", expr.range,
                     fmt::format("`{}` divides; eager multiplies by the reciprocal of a Python "
                                 "scalar, rounded to f32",
                                 text),
                     fmt::format("write `x * (1.0 / {})`", sourceText(divisor.range)));
      const Expr &root = valueOf(divisor);
      if (isLiteral(*expr.operands[0], "1.0") &&
          (is(root, Builtin::Sqrt) || is(root, Builtin::SqrtApprox)))
        findings.add("reciprocal-sqrt", expr.range,
                     fmt::format("`{}` rounds twice; eager's rsqrt is one instruction", text),
                     "write `rsqrt.approx(x)` to follow torch.rsqrt and the norms");
    }
    if (expr.op >= Builtin::Less && expr.op <= Builtin::NotEqual)
      for (const Expr *operand : expr.operands)
        if (operand->kind == Expr::Kind::Literal && isFloat(operand->type.scalar) &&
            scalar::isNaN(operand->type.scalar, operand->bits))
          findings.add("nan-comparison", expr.range,
                       fmt::format("`{}` is always {}", text,
                                   expr.op == Builtin::NotEqual ? "true" : "false"),
                       "`x != x` is true for a NaN and for nothing else");
    if ((expr.op == Builtin::MaxNum || expr.op == Builtin::MinNum) && isFloat(type) &&
        !isSaturation(expr))
      findings.add("nan-loses", expr.range, fmt::format("`{}` drops a NaN", text),
                   fmt::format("torch.maximum, amax, clamp and relu keep it: `{}`",
                               expr.op == Builtin::MaxNum ? "max" : "min"));
  }

  /// `min.num(max.num(x, 0.0), 1.0)`, which is .sat of the hardware, or its inner part.
  bool isSaturation(const Expr &expr) {
    if (expr.op == Builtin::MinNum && isLiteral(*expr.operands[1], "1.0") &&
        is(*expr.operands[0], Builtin::MaxNum) && isLiteral(*expr.operands[0]->operands[1], "0.0"))
      saturations.insert(expr.operands[0]);
    return saturations.count(&expr) ||
           (expr.op == Builtin::MinNum && saturations.count(expr.operands[0]) != 0);
  }

  // ---- Conversions.

  void conversion(const Expr &expr) {
    ScalarType to = expr.type.scalar;
    if (!isFloat(to))
      return;
    const Expr &inner = valueOf(*expr.operands[0]);
    if (inner.kind == Expr::Kind::Convert && isFloat(inner.operands[0]->type.scalar)) {
      ScalarType middle = inner.type.scalar, from = inner.operands[0]->type.scalar;
      if (from == to && precision(middle) > precision(to) && !isGenericText(expr, inner))
        findings.add("pointless-conversion", expr.range,
                     fmt::format("`{}` widens to {} and comes back unchanged",
                                 sourceText(expr.range), name(middle)),
                     "leave both conversions out");
      if (precision(from) > precision(middle) && precision(middle) > precision(to))
        findings.add("double-rounding", expr.range,
                     fmt::format("`{}` rounds {} to {} and then to {}", sourceText(expr.range),
                                 name(from), name(middle), name(to)),
                     fmt::format("convert at once, `{}(..)`, unless the reference stores {} in "
                                 "between",
                                 name(to), name(middle)));
    }
    if (isNarrow(to) && expr.call < 0)
      chain(expr);
  }

  /// In a generic function or operator the types may differ elsewhere.
  bool isGenericText(const Expr &outer, const Expr &inner) const {
    return outer.call >= 0 || inner.call >= 0 || !program.typeArguments.empty();
  }

  /// `T(e)` with at least two operations in e, all f32, on values widened from T and constants.
  void chain(const Expr &narrowing) {
    unsigned operations = 0, widened = 0;
    if (!isChain(valueOf(*narrowing.operands[0]), narrowing.type.scalar, operations, widened) ||
        operations < 2 || widened == 0)
      return;
    findings.add("f32-chain", narrowing.range,
                 fmt::format("`{}` rounds to {} once after {} operations in f32",
                             sourceText(narrowing.range), name(narrowing.type.scalar), operations),
                 fmt::format("eager has one kernel for each operation, and each rounds to {}: "
                             "compute in {}, without f32(..)",
                             name(narrowing.type.scalar), name(narrowing.type.scalar)));
  }
  bool isChain(const Expr &expr, ScalarType narrow, unsigned &operations, unsigned &widened) const {
    if (expr.call >= 0)
      return false; // a function of a library is one kernel
    if (expr.kind == Expr::Kind::Literal)
      return true;
    if (expr.kind == Expr::Kind::Convert && expr.type.scalar == ScalarType::F32) {
      ++widened;
      return expr.operands[0]->type.scalar == narrow;
    }
    if (expr.kind != Expr::Kind::Builtin || expr.type.scalar != ScalarType::F32)
      return false;
    if (expr.op != Builtin::Neg) {
      if (expr.op > Builtin::Div)
        return false;
      ++operations;
    }
    return std::all_of(expr.operands.begin(), expr.operands.end(), [&](const Expr *operand) {
      return isChain(valueOf(*operand), narrow, operations, widened);
    });
  }

  // ---- Reductions.

  void reduction(const Expr &expr) {
    const Reduce &reduce = *expr.reduce;
    if (!reduce.order)
      return;
    const Size &extent = *reduce.binder.extent.size;
    std::optional<int64_t> n =
        extent.isConstant() ? std::optional<int64_t>(extent.value) : std::nullopt;
    const Order *match = nullptr;
    for (const Order &order : known)
      if (!match && haveSameTree(order, *reduce.order, n))
        match = &order;
    if (!match)
      findings.add("unknown-order", expr.range,
                   fmt::format("the tree of `{}`, {}, is that of no known reference",
                               reduce.order->name, orderText(*reduce.order)),
                   "h3gen tree prints trees to compare; see the orders of eager/norm.spec");

    // A sum of squares.
    if (!reduce.hasSeed())
      return;
    const Expr &step = valueOf(*reduce.step);
    auto isState = [&](const Expr &value) {
      return value.kind == Expr::Kind::Local && value.id == reduce.state;
    };
    auto isSquare = [&](const Expr &value) {
      return is(valueOf(value), Builtin::Mul) &&
             isSame(*valueOf(value).operands[0], *valueOf(value).operands[1]);
    };
    // The orders of reduce_kernel are named sum_*: it adds what a kernel before it has squared.
    bool isSumOrder = match && match->name.find("sum_") != std::string::npos;
    if (is(step, Builtin::Fma) && isState(*step.operands[2]) &&
        isSame(*step.operands[0], *step.operands[1]) && isSumOrder)
      findings.add("square-sum", step.range,
                   fmt::format("`{}` does not round the square, and the kernel with the order of "
                               "`{}` adds squares that were rounded",
                               sourceText(step.range), match->name),
                   "write `s + x * x`");
    if (is(step, Builtin::Add) &&
        ((isState(*step.operands[0]) && isSquare(*step.operands[1])) ||
         (isState(*step.operands[1]) && isSquare(*step.operands[0]))) &&
        !isSumOrder)
      findings.add("square-sum", step.range,
                   fmt::format("`{}` rounds the square; a kernel that squares and adds is compiled "
                               "to fma",
                               sourceText(step.range)),
                   "write `fma(x, x, s)`");
  }

  const Program &program;
  std::span<const Order> known;
  Findings &findings;
  std::map<unsigned, const Expr *> defined;
  std::unordered_set<const Expr *> seen, saturations;
  mutable std::vector<SourceRange> ownBodies;
};

} // namespace

void findInProgram(const Program &program, std::span<const Order> known, Findings &findings) {
  ValueRules(program, known, findings);
}

} // namespace h3
