//===-- runtime/plan/Expr.h - Checked integer expressions -------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Integer expressions of a launch plan: over constants, the operator's dims, the strides of its
// tensors after collapse, their addresses and its integer parameters. They are data (a flat array
// of nodes in the plan), so that a bundle can hold them and every user evaluates the same thing.
//
// Arithmetic is on 64-bit signed integers and checked: an overflow, a division by a number that is
// not positive, or an address of 2^63 or more makes the whole evaluation *unsatisfied* (no value).
// An unsatisfied guard does not hold; an unsatisfied requirement, extent, grid or argument declines
// the call. `not` of an unsatisfied expression is unsatisfied too.
//
// `and` and `or` evaluate the left operand first and the right one only if it decides.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_PLAN_EXPR_H
#define H3_RUNTIME_PLAN_EXPR_H

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace h3::plan {

/// Index of a node in `OperatorPlan::nodes`.
using ExprId = uint32_t;

/// "There is no expression here."
inline constexpr ExprId kNoExpr = UINT32_MAX;

enum class ExprOp : uint8_t {
  Constant, ///< `value`
  Dim,      ///< dim `lhs` of the operator
  Stride,   ///< stride, in elements, of tensor `lhs` in operator axis `rhs` (Plan.h: bound strides)
  Address,  ///< address in bytes of the first element of tensor `lhs`
  Parameter, ///< parameter `lhs`, which has type i32 or i64
  Add,
  Sub,
  Mul,
  FloorDiv, ///< rounds down; the divisor must be positive
  FloorMod, ///< in 0 .. divisor-1; the divisor must be positive
  Min,
  Max,
  Eq, ///< comparisons, `and`, `or`, `not` give 1 or 0
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  And,
  Or,
  Not, ///< of `lhs`
};

/// One node. Operands stand before their users in the array, so a plan has no cycles.
struct ExprNode {
  ExprOp op = ExprOp::Constant;
  uint32_t lhs = 0;
  uint32_t rhs = 0;
  int64_t value = 0;

  bool operator==(const ExprNode &) const = default;
};

/// How many operands that are expressions the operation has: 0, 1 or 2.
unsigned operandCount(ExprOp op);

/// True if the operation's value is 0 or 1 and may stand where a condition is expected.
bool isCondition(ExprOp op);

/// Appends nodes to a plan's array. Equal nodes are shared. Operations on constants are folded, but
/// only where the folded value is the one evaluation gives: `constant(INT64_MAX) + constant(1)`
/// stays an expression, and stays unsatisfied.
///
///   plan::ExprBuilder b(p.nodes);
///   ExprId grid  = b.ceilDiv(b.dim(0), b.constant(8));
///   ExprId guard = b.allOf({b.alignedTo(b.address(0), 16), b.alignedTo(b.stride(0, 0), 8)});
class ExprBuilder {
public:
  explicit ExprBuilder(std::vector<ExprNode> &nodes) : nodes(nodes) {}

  ExprId constant(int64_t value);
  ExprId dim(unsigned dim);
  ExprId stride(unsigned tensor, unsigned axis);
  ExprId address(unsigned tensor);
  ExprId parameter(unsigned parameter);

  ExprId add(ExprId a, ExprId b) { return binary(ExprOp::Add, a, b); }
  ExprId sub(ExprId a, ExprId b) { return binary(ExprOp::Sub, a, b); }
  ExprId mul(ExprId a, ExprId b) { return binary(ExprOp::Mul, a, b); }
  ExprId floorDiv(ExprId a, ExprId b) { return binary(ExprOp::FloorDiv, a, b); }
  ExprId floorMod(ExprId a, ExprId b) { return binary(ExprOp::FloorMod, a, b); }
  ExprId min(ExprId a, ExprId b) { return binary(ExprOp::Min, a, b); }
  ExprId max(ExprId a, ExprId b) { return binary(ExprOp::Max, a, b); }
  ExprId eq(ExprId a, ExprId b) { return binary(ExprOp::Eq, a, b); }
  ExprId ne(ExprId a, ExprId b) { return binary(ExprOp::Ne, a, b); }
  ExprId lt(ExprId a, ExprId b) { return binary(ExprOp::Lt, a, b); }
  ExprId le(ExprId a, ExprId b) { return binary(ExprOp::Le, a, b); }
  ExprId gt(ExprId a, ExprId b) { return binary(ExprOp::Gt, a, b); }
  ExprId ge(ExprId a, ExprId b) { return binary(ExprOp::Ge, a, b); }
  ExprId logicalAnd(ExprId a, ExprId b) { return binary(ExprOp::And, a, b); }
  ExprId logicalOr(ExprId a, ExprId b) { return binary(ExprOp::Or, a, b); }
  ExprId logicalNot(ExprId a);

  /// For a positive divisor: the quotient rounded up, as `(a + (b - 1)) floordiv b`.
  ExprId ceilDiv(ExprId a, ExprId b) { return floorDiv(add(a, sub(b, constant(1))), b); }

  /// `a floormod k == 0`; k > 0, in the unit of `a` (bytes for an address, elements for a stride).
  ExprId alignedTo(ExprId a, int64_t k) { return eq(floorMod(a, constant(k)), constant(0)); }

  /// The conjunction, left to right; `constant(1)` of nothing.
  ExprId allOf(std::span<const ExprId> conditions);
  ExprId allOf(std::initializer_list<ExprId> conditions) {
    return allOf(std::span<const ExprId>(conditions.begin(), conditions.size()));
  }

  /// One operation by its code, for importers that map operators by table.
  ExprId binary(ExprOp op, ExprId a, ExprId b);

private:
  ExprId append(const ExprNode &node);

  std::vector<ExprNode> &nodes;
};

} // namespace h3::plan

#endif // H3_RUNTIME_PLAN_EXPR_H
