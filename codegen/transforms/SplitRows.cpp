//===-- codegen/transforms/SplitRows.cpp - Rows within rows ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// `for t: tokens { y[t, h] = norm(x[t, h]) }` has a row for each t and h: its loop over h, inside
// the loop over t, becomes a loop over both, beside what else the `for` computes. Everything is
// pure, so that values of the `for` may be computed in both.
//
//===----------------------------------------------------------------------===//

#include "codegen/dialect/H3.h"
#include "codegen/transforms/Passes.h"

#include <mlir/IR/IRMapping.h>

using namespace mlir;

namespace h3 {
namespace {

struct SplitRows : PassWrapper<SplitRows, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitRows)
  StringRef getArgument() const override { return "h3-split-rows"; }
  StringRef getDescription() const override {
    return "Makes one loop of a loop over rows inside a loop over rows";
  }

  void runOnOperation() override {
    SmallVector<ir::ForallOp> nested;
    getOperation()->walk([&](ir::ForallOp loop) {
      bool holdsRows = !loop.getBody().front().getOps<ir::ForallOp>().empty();
      if (holdsRows && isa<ir::ForallOp>(loop->getParentOp()))
        nested.push_back(loop);
    });
    for (ir::ForallOp loop : nested)
      split(loop);
  }

  static void split(ir::ForallOp loop) {
    auto outer = cast<ir::ForallOp>(loop->getParentOp());
    SmallVector<Value> extents(outer.getExtents());
    llvm::append_range(extents, loop.getExtents());
    OpBuilder builder(outer->getContext());
    builder.setInsertionPointAfter(outer);
    auto both = ir::ForallOp::create(builder, loop.getLoc(), extents);
    builder.setInsertionPointToStart(&both.getBody().front());
    IRMapping mapping;
    size_t rank = outer.getIndices().size();
    for (auto [number, index] : llvm::enumerate(both.getIndices()))
      mapping.map(number < rank ? outer.getIndices()[number] : loop.getIndices()[number - rank],
                  index);
    for (Operation &op : outer.getBody().front().without_terminator())
      if (!isa<ir::ForallOp, ir::StoreOp>(op))
        builder.clone(op, mapping);
    for (Operation &op : loop.getBody().front().without_terminator())
      builder.clone(op, mapping);
    loop.erase();
    // Nothing else may be left of the outer loop.
    bool isEmpty = llvm::none_of(outer.getBody().front(),
                                 [](Operation &op) { return isa<ir::ForallOp, ir::StoreOp>(op); });
    if (isEmpty)
      outer.erase();
  }
};

} // namespace

std::unique_ptr<Pass> createSplitRowsPass() { return std::make_unique<SplitRows>(); }

} // namespace h3
