//===-- codegen/transforms/FuseLoops.cpp - One loop over a row's elements -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Two equations of one `for` are two loops over the same elements, and often compute the same
// values. Nothing reads an output, so that the loops can be one: everything is computed first, then
// everything is stored, also where an output overwrites an input.
//
//===----------------------------------------------------------------------===//

#include "codegen/dialect/H3.h"
#include "codegen/transforms/Passes.h"

using namespace mlir;

namespace h3 {
namespace {

struct FuseLoops : PassWrapper<FuseLoops, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseLoops)
  StringRef getArgument() const override { return "h3-fuse-loops"; }
  StringRef getDescription() const override {
    return "Makes one loop of the loops of a row over the same extent";
  }

  void runOnOperation() override {
    SmallVector<ir::ForallOp> rows;
    getOperation()->walk([&](ir::ForallOp loop) {
      if (!loop->getParentOfType<ir::ForallOp>())
        rows.push_back(loop);
    });
    for (ir::ForallOp row : rows) {
      SmallVector<ir::ForallOp> loops(row.getBody().front().getOps<ir::ForallOp>());
      for (auto [number, loop] : llvm::enumerate(loops))
        for (ir::ForallOp later : ArrayRef(loops).drop_front(number + 1))
          if (later.getExtents() == loop.getExtents()) {
            fuse(loop, later);
            break;
          }
    }
  }

  /// Into the later one, where all that both need is there.
  static void fuse(ir::ForallOp loop, ir::ForallOp later) {
    Block &from = loop.getBody().front(), &to = later.getBody().front();
    for (auto [index, other] : llvm::zip(from.getArguments(), to.getArguments()))
      index.replaceAllUsesWith(other);
    Operation *first = &to.front();
    SmallVector<Operation *> stores;
    for (Operation &op : llvm::make_early_inc_range(from.without_terminator())) {
      if (isa<ir::StoreOp>(op))
        stores.push_back(&op);
      else
        op.moveBefore(first);
    }
    // In text order, in front of those of the later loop if these stand together at the end.
    Operation *end = to.getTerminator();
    while (end->getPrevNode() && isa<ir::StoreOp>(end->getPrevNode()))
      end = end->getPrevNode();
    for (Operation *store : stores)
      store->moveBefore(end);
    loop.erase();
  }
};

} // namespace

std::unique_ptr<Pass> createFuseLoopsPass() { return std::make_unique<FuseLoops>(); }

} // namespace h3
