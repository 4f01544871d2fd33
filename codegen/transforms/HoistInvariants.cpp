//===-- codegen/transforms/HoistInvariants.cpp - What is the same for a whole row -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A row function's result belongs to the level of its free indices: a reduction that is written
// inside the computation of an element, and does not depend on the element, is computed once a row.
//
//===----------------------------------------------------------------------===//

#include "codegen/dialect/H3.h"
#include "codegen/transforms/Passes.h"

using namespace mlir;

namespace h3 {
namespace {

struct HoistInvariants : PassWrapper<HoistInvariants, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HoistInvariants)
  StringRef getArgument() const override { return "h3-hoist-invariants"; }
  StringRef getDescription() const override {
    return "Moves what does not depend on the element out of loops and reductions";
  }

  void runOnOperation() override {
    // Inner loops first, so that what leaves one may leave the next.
    getOperation()->walk([](Operation *op) {
      bool isElements = isa<ir::ForallOp>(op) && op->getParentOfType<ir::ForallOp>();
      if (isElements)
        hoist(op, cast<ir::ForallOp>(op).getBody());
      else if (auto reduce = dyn_cast<ir::ReduceOp>(op)) {
        hoist(op, reduce.getStep());
        hoist(op, reduce.getJoin());
      }
    });
  }

  /// A branch with a load in it is in range only where its condition holds: it moves as a whole.
  static void hoist(Operation *loop, Region &body) {
    for (Operation &op : llvm::make_early_inc_range(body.front().without_terminator())) {
      if (isa<ir::StoreOp, ir::ForallOp>(op) || !isMemoryEffectFree(&op))
        continue;
      bool isInvariant = true;
      op.walk([&](Operation *nested) {
        for (Value operand : nested->getOperands()) {
          Region *defined = operand.getParentRegion();
          isInvariant &= op.isAncestor(defined->getParentOp()) || !body.isAncestor(defined);
        }
      });
      if (isInvariant)
        op.moveBefore(loop);
    }
  }
};

} // namespace

std::unique_ptr<Pass> createHoistInvariantsPass() { return std::make_unique<HoistInvariants>(); }

} // namespace h3
