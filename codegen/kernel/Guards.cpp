//===-- codegen/kernel/Guards.cpp - What a variant assumes ----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Guards.h"
#include "codegen/Mutant.h"

#include <llvm/ADT/STLExtras.h>
#include <mlir/IR/Matchers.h>

using namespace mlir;

namespace h3 {

Guards::Guards(plan::OperatorPlan &contract, ir::OperatorOp op)
    : planned(contract), builder(contract.nodes), op(op) {}

/// The operands x and c of x - x floordiv c * c, which is how the remainder is written; null for
/// anything else.
static std::pair<Value, Value> remainderOf(Operation *op) {
  auto difference = dyn_cast<arith::SubIOp>(op);
  auto multiple = difference ? difference.getRhs().getDefiningOp<arith::MulIOp>() : nullptr;
  auto quotient = multiple ? multiple.getLhs().getDefiningOp<arith::FloorDivSIOp>() : nullptr;
  if (!quotient || quotient.getLhs() != difference.getLhs())
    return {};
  APInt divisor, factor;
  bool isSame = quotient.getRhs() == multiple.getRhs() ||
                (matchPattern(quotient.getRhs(), m_ConstantInt(&divisor)) &&
                 matchPattern(multiple.getRhs(), m_ConstantInt(&factor)) && divisor == factor);
  return isSame ? std::pair(quotient.getLhs(), quotient.getRhs()) : std::pair<Value, Value>();
}

plan::ExprId Guards::expression(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return builder.constant(value.getType().isInteger(1) ? constant.getZExtValue()
                                                         : constant.getSExtValue());
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner()->getParentOp() != op)
      return plan::kNoExpr;
    auto dim = op.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "h3.dim");
    return dim ? builder.dim(dim.getInt()) : plan::kNoExpr;
  }
  Operation *producer = value.getDefiningOp();
  if (producer->getNumOperands() != 2)
    return plan::kNoExpr;
  plan::ExprId lhs = expression(producer->getOperand(0));
  plan::ExprId rhs = expression(producer->getOperand(1));
  if (lhs == plan::kNoExpr || rhs == plan::kNoExpr)
    return plan::kNoExpr;
  if (isa<arith::AddIOp>(producer))
    return builder.add(lhs, rhs);
  if (auto [number, divisor] = remainderOf(producer); number)
    return builder.floorMod(expression(number), expression(divisor));
  if (isa<arith::SubIOp>(producer))
    return builder.sub(lhs, rhs);
  if (isa<arith::MulIOp>(producer))
    return builder.mul(lhs, rhs);
  if (isa<arith::FloorDivSIOp>(producer))
    return builder.floorDiv(lhs, rhs);
  if (value.getType().isInteger(1) && isa<arith::AndIOp>(producer))
    return builder.logicalAnd(lhs, rhs);
  if (value.getType().isInteger(1) && isa<arith::OrIOp>(producer))
    return builder.logicalOr(lhs, rhs);
  if (value.getType().isInteger(1) && isa<arith::XOrIOp>(producer))
    return builder.ne(lhs, rhs);
  if (auto comparison = dyn_cast<arith::CmpIOp>(producer))
    switch (comparison.getPredicate()) {
    case arith::CmpIPredicate::eq:
      return builder.eq(lhs, rhs);
    case arith::CmpIPredicate::ne:
      return builder.ne(lhs, rhs);
    case arith::CmpIPredicate::slt:
      return builder.lt(lhs, rhs);
    case arith::CmpIPredicate::sle:
      return builder.le(lhs, rhs);
    case arith::CmpIPredicate::sgt:
      return builder.gt(lhs, rhs);
    case arith::CmpIPredicate::sge:
      return builder.ge(lhs, rhs);
    default:
      break;
    }
  return plan::kNoExpr;
}

bool Guards::multiple(Value value, int64_t k, std::vector<plan::Condition> &pending) {
  if (k == 1)
    return true;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue() % k == 0;
  if (auto product = value.getDefiningOp<arith::MulIOp>())
    for (Value factor : product->getOperands())
      if (matchPattern(factor, m_ConstantInt(&constant)) && constant.getSExtValue() % k == 0)
        return true;
  plan::ExprId expr = expression(value);
  if (expr == plan::kNoExpr)
    return false;
  pending.push_back(
      {builder.alignedTo(expr, k), "an offset is a multiple of " + std::to_string(k)});
  return true;
}

void Guards::add(plan::ExprId condition, std::string text) {
  bool known = condition == builder.constant(1) ||
               llvm::any_of(conditions, [&](const plan::Condition &existing) {
                 return existing.expr == condition;
               });
  if (!known)
    conditions.push_back({condition, std::move(text)});
}

void Guards::commit(const std::vector<plan::Condition> &pending) {
  for (const plan::Condition &condition : pending)
    add(condition.expr, condition.text);
}

void Guards::vectorAccess(unsigned tensor, unsigned elements, bool isAligned) {
  const plan::TensorSpec &spec = planned.tensors[tensor];
  unsigned bytes = elements * plan::bytes(spec.dtype);
  if (isAligned && !mutated(Mutant::UncheckedAlignment))
    add(builder.alignedTo(builder.address(tensor), bytes),
        spec.name + " is aligned to " + std::to_string(bytes) + " bytes");
  for (unsigned axis = 0; axis < spec.rank(); ++axis) {
    bool isLast = axis + 1 == spec.rank();
    std::optional<int64_t> clause =
        axis < spec.strides.size() ? spec.strides[axis] : std::optional<int64_t>();
    std::string stride = "the stride of " + spec.name + " in axis " + std::to_string(axis);
    plan::ExprId value = clause ? builder.constant(*clause) : builder.stride(tensor, axis);
    if (isLast)
      add(builder.eq(value, builder.constant(1)), stride + " is 1");
    else if (isAligned)
      add(builder.alignedTo(value, elements),
          stride + " is a multiple of " + std::to_string(elements));
  }
}

void Guards::wholePieces(unsigned tensor, unsigned elements) {
  const plan::TensorSpec &spec = planned.tensors[tensor];
  add(builder.alignedTo(spec.extents.back(), elements),
      "the last extent of " + spec.name + " is a multiple of " + std::to_string(elements));
}

void Guards::below31Bits(plan::ExprId expr, std::string text) {
  add(builder.le(expr, builder.constant(INT32_MAX)), std::move(text));
}

void Guards::narrowIndices(ArrayRef<unsigned> tensors) {
  for (unsigned tensor : tensors) {
    const plan::TensorSpec &spec = planned.tensors[tensor];
    plan::ExprId last = builder.constant(0);
    for (unsigned axis = 0; axis < spec.rank(); ++axis) {
      plan::ExprId steps = builder.sub(spec.extents[axis], builder.constant(1));
      last = builder.add(last, builder.mul(steps, builder.stride(tensor, axis)));
    }
    below31Bits(last, "offsets in " + spec.name + " fit in 31 bits");
  }
}

} // namespace h3
