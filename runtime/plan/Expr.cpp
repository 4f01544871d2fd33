//===-- runtime/plan/Expr.cpp - Building and evaluating expressions *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/Expr.h"
#include "runtime/plan/Checked.h"
#include "runtime/plan/Plan.h"

#include <bit>
#include <cassert>

namespace h3::plan {

unsigned operandCount(ExprOp op) {
  switch (op) {
  case ExprOp::Constant:
  case ExprOp::Dim:
  case ExprOp::Stride:
  case ExprOp::Address:
  case ExprOp::Parameter:
    return 0;
  case ExprOp::Not:
    return 1;
  default:
    return 2;
  }
}

bool isCondition(ExprOp op) { return op >= ExprOp::Eq && op <= ExprOp::Not; }

/// A binary operation other than `and` and `or`, on values.
static std::optional<int64_t> apply(ExprOp op, int64_t a, int64_t b) {
  switch (op) {
  case ExprOp::Add:
    return checkedAdd(a, b);
  case ExprOp::Sub:
    return checkedSub(a, b);
  case ExprOp::Mul:
    return checkedMul(a, b);
  // Almost every divisor is a power of two, and a division costs as much as all the rest.
  case ExprOp::FloorDiv:
    if (b <= 0)
      return std::nullopt;
    if ((b & (b - 1)) == 0)
      return a >> std::countr_zero(static_cast<uint64_t>(b));
    return a / b - (a % b < 0 ? 1 : 0);
  case ExprOp::FloorMod:
    if (b <= 0)
      return std::nullopt;
    if ((b & (b - 1)) == 0)
      return a & (b - 1);
    return a % b + (a % b < 0 ? b : 0);
  case ExprOp::Min:
    return a < b ? a : b;
  case ExprOp::Max:
    return a > b ? a : b;
  case ExprOp::Eq:
    return a == b;
  case ExprOp::Ne:
    return a != b;
  case ExprOp::Lt:
    return a < b;
  case ExprOp::Le:
    return a <= b;
  case ExprOp::Gt:
    return a > b;
  case ExprOp::Ge:
    return a >= b;
  default:
    return std::nullopt;
  }
}

/// The value of a node without operands, which most operands are; none, with `isLeaf` false, of
/// another.
static inline std::optional<int64_t> leaf(const OperatorPlan &plan, const ExprNode &node,
                                          const Binding &binding, bool &isLeaf) {
  isLeaf = true;
  switch (node.op) {
  case ExprOp::Constant:
    return node.value;
  case ExprOp::Dim:
    return binding.dims[node.lhs];
  case ExprOp::Stride:
    return binding.tensors[node.lhs].strides[node.rhs];
  case ExprOp::Address: {
    uint64_t address = binding.tensors[node.lhs].address;
    if (address > static_cast<uint64_t>(INT64_MAX))
      return std::nullopt;
    return static_cast<int64_t>(address);
  }
  case ExprOp::Parameter: {
    uint64_t bits = binding.parameters[node.lhs];
    if (plan.parameters[node.lhs].dtype == DType::I32)
      return static_cast<int32_t>(static_cast<uint32_t>(bits));
    return static_cast<int64_t>(bits);
  }
  default:
    isLeaf = false;
    return std::nullopt;
  }
}

std::optional<int64_t> evaluateExpr(const OperatorPlan &plan, ExprId expr, const Binding &binding) {
  bool isLeaf = false;
  const ExprNode &node = plan.nodes[expr];
  std::optional<int64_t> a = leaf(plan, node, binding, isLeaf);
  if (isLeaf)
    return a;
  a = leaf(plan, plan.nodes[node.lhs], binding, isLeaf);
  if (!isLeaf)
    a = evaluateExpr(plan, node.lhs, binding);
  if (!a)
    return std::nullopt;
  if (node.op == ExprOp::Not)
    return *a == 0;
  if (node.op == ExprOp::And && *a == 0)
    return 0;
  if (node.op == ExprOp::Or && *a != 0)
    return 1;
  std::optional<int64_t> b = leaf(plan, plan.nodes[node.rhs], binding, isLeaf);
  if (!isLeaf)
    b = evaluateExpr(plan, node.rhs, binding);
  if (!b)
    return std::nullopt;
  if (node.op == ExprOp::And || node.op == ExprOp::Or)
    return *b != 0;
  return apply(node.op, *a, *b);
}

ExprId ExprBuilder::append(const ExprNode &node) {
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i] == node)
      return static_cast<ExprId>(i);
  nodes.push_back(node);
  return static_cast<ExprId>(nodes.size() - 1);
}

ExprId ExprBuilder::constant(int64_t value) {
  ExprNode node;
  node.value = value;
  return append(node);
}

ExprId ExprBuilder::dim(unsigned dim) { return append({ExprOp::Dim, dim, 0, 0}); }

ExprId ExprBuilder::stride(unsigned tensor, unsigned axis) {
  return append({ExprOp::Stride, tensor, axis, 0});
}

ExprId ExprBuilder::address(unsigned tensor) { return append({ExprOp::Address, tensor, 0, 0}); }

ExprId ExprBuilder::parameter(unsigned parameter) {
  return append({ExprOp::Parameter, parameter, 0, 0});
}

ExprId ExprBuilder::logicalNot(ExprId a) {
  if (nodes[a].op == ExprOp::Constant)
    return constant(nodes[a].value == 0);
  return append({ExprOp::Not, a, 0, 0});
}

ExprId ExprBuilder::binary(ExprOp op, ExprId a, ExprId b) {
  assert(operandCount(op) == 2 && a < nodes.size() && b < nodes.size());
  const bool constantA = nodes[a].op == ExprOp::Constant;
  const bool constantB = nodes[b].op == ExprOp::Constant;
  const int64_t valueA = nodes[a].value;
  const int64_t valueB = nodes[b].value;

  if (op == ExprOp::And || op == ExprOp::Or) {
    // A left operand that decides hides the right one; one that does not leaves it.
    if (constantA)
      return (valueA == 0) == (op == ExprOp::And) ? constant(op == ExprOp::Or) : b;
    if (constantB && (valueB == 0) == (op == ExprOp::Or))
      return a;
    return append({op, a, b, 0});
  }
  if (constantA && constantB)
    if (std::optional<int64_t> value = apply(op, valueA, valueB))
      return constant(*value);
  // Identities that keep the operand, and with it whether it overflows.
  if (constantB && ((op == ExprOp::Add && valueB == 0) || (op == ExprOp::Sub && valueB == 0) ||
                    (op == ExprOp::Mul && valueB == 1) || (op == ExprOp::FloorDiv && valueB == 1)))
    return a;
  if (constantA && ((op == ExprOp::Add && valueA == 0) || (op == ExprOp::Mul && valueA == 1)))
    return b;
  if (a == b && (op == ExprOp::Min || op == ExprOp::Max))
    return a;
  return append({op, a, b, 0});
}

ExprId ExprBuilder::allOf(std::span<const ExprId> conditions) {
  ExprId all = constant(1);
  for (ExprId condition : conditions)
    all = logicalAnd(all, condition);
  return all;
}

} // namespace h3::plan
