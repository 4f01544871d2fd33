//===-- codegen/transforms/FlattenDigits.cpp - One index for several digits -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A schedule lays out one index. A loop over digits (h, p, c), and a row of several axes, become a
// loop over the mixed-radix number, and each digit a quotient or a remainder of it. Where the
// digits are put together again, the number itself is used.
//
//===----------------------------------------------------------------------===//

#include "codegen/dialect/H3.h"
#include "codegen/transforms/Passes.h"

#include <mlir/IR/Matchers.h>

using namespace mlir;

namespace h3 {
namespace {

struct FlattenDigits : PassWrapper<FlattenDigits, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FlattenDigits)
  StringRef getArgument() const override { return "h3-flatten-digits"; }
  StringRef getDescription() const override {
    return "Gives loops and reductions over several digits one index";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect>();
  }

  void runOnOperation() override {
    SmallVector<Operation *> all;
    getOperation()->walk([&](Operation *op) {
      bool isElements = isa<ir::ForallOp>(op) && op->getParentOfType<ir::ForallOp>();
      if (isElements || isa<ir::ReduceOp>(op))
        all.push_back(op);
    });
    for (Operation *op : all) {
      if (auto loop = dyn_cast<ir::ForallOp>(op))
        flatten(loop, loop.getExtentsMutable(), loop.getBody().front());
      else if (auto reduce = dyn_cast<ir::ReduceOp>(op))
        flatten(reduce, reduce.getExtentsMutable(), reduce.getStep().front());
    }
    getOperation()->walk([](arith::AddIOp sum) { putTogether(sum); });
  }

  /// The size \p a * \p b, at the head of the operator where all sizes are.
  static Value product(Operation *op, Value a, Value b) {
    Operation *outermost = op;
    while (!isa<ir::OperatorOp>(outermost->getParentOp()))
      outermost = outermost->getParentOp();
    // One operation for one product, so that equal extents are one value.
    for (Operation &known : *outermost->getBlock()) {
      if (&known == outermost)
        break;
      if (isa<arith::MulIOp>(known) && known.getOperand(0) == a && known.getOperand(1) == b)
        return known.getResult(0);
    }
    OpBuilder builder(outermost);
    return builder.createOrFold<arith::MulIOp>(op->getLoc(), a, b);
  }

  static void flatten(Operation *op, MutableOperandRange extents, Block &body) {
    SmallVector<Value> radices(OperandRange(extents).begin(), OperandRange(extents).end());
    if (radices.size() < 2)
      return;
    Value whole = radices.front();
    for (Value radix : ArrayRef(radices).drop_front())
      whole = product(op, whole, radix);
    extents.assign(whole);

    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    Value number = body.insertArgument(0u, builder.getIndexType(), op->getLoc());
    for (size_t digit = radices.size(); digit-- > 1;) {
      Value rest = arith::RemUIOp::create(builder, op->getLoc(), number, radices[digit]);
      body.getArgument(1 + digit).replaceAllUsesWith(rest);
      number = arith::DivUIOp::create(builder, op->getLoc(), number, radices[digit]);
    }
    body.getArgument(1).replaceAllUsesWith(number);
    body.eraseArguments(1, radices.size());
  }

  /// x / r * r + x % r is x.
  static void putTogether(arith::AddIOp sum) {
    auto scaled = sum.getLhs().getDefiningOp<arith::MulIOp>();
    auto rest = sum.getRhs().getDefiningOp<arith::RemUIOp>();
    if (!scaled || !rest)
      return;
    auto quotient = scaled.getLhs().getDefiningOp<arith::DivUIOp>();
    auto isSame = [](Value a, Value b) {
      APInt x, y;
      return a == b ||
             (matchPattern(a, m_ConstantInt(&x)) && matchPattern(b, m_ConstantInt(&y)) && x == y);
    };
    if (quotient && quotient.getLhs() == rest.getLhs() &&
        isSame(quotient.getRhs(), rest.getRhs()) && isSame(scaled.getRhs(), rest.getRhs()))
      sum.replaceAllUsesWith(rest.getLhs());
  }
};

} // namespace

std::unique_ptr<Pass> createFlattenDigitsPass() { return std::make_unique<FlattenDigits>(); }

} // namespace h3
