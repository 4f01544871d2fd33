//===-- codegen/transforms/FlattenBranches.cpp - Branches of arithmetic as selects -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Lanes of one warp that take different branches run them one after the other. Where the branches
// hold arithmetic alone (their loads are hoisted), computing both and selecting costs no more, and
// what the branches have in common is then computed once. All arithmetic of the language is total.
//
//===----------------------------------------------------------------------===//

#include "codegen/dialect/H3.h"
#include "codegen/transforms/Passes.h"

using namespace mlir;

namespace h3 {
namespace {

/// Longer branches are kept: a warp whose lanes agree would pay for both.
constexpr size_t longest = 64;

struct FlattenBranches : PassWrapper<FlattenBranches, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FlattenBranches)
  StringRef getArgument() const override { return "h3-flatten-branches"; }
  StringRef getDescription() const override {
    return "Turns branches that hold arithmetic alone into selects";
  }

  void runOnOperation() override {
    // Inner branches first: a flattened one is arithmetic of the branch around it.
    getOperation()->walk([](scf::IfOp branch) {
      if (branch.getNumResults() && isArithmetic(branch.getThenRegion()) &&
          isArithmetic(branch.getElseRegion()))
        flatten(branch);
    });
  }

  static bool isArithmetic(Region &region) {
    Block &block = region.front();
    return block.getOperations().size() <= longest &&
           llvm::all_of(block.without_terminator(), [](Operation &op) {
             return op.getNumRegions() == 0 && isPure(&op) && !isa<ir::LoadOp, ir::AtOp>(op);
           });
  }

  static void flatten(scf::IfOp branch) {
    OpBuilder builder(branch);
    SmallVector<Value> yielded[2];
    Region *regions[] = {&branch.getThenRegion(), &branch.getElseRegion()};
    for (int side = 0; side < 2; ++side) {
      Block &block = regions[side]->front();
      llvm::append_range(yielded[side], block.getTerminator()->getOperands());
      for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
        op.moveBefore(branch);
    }
    for (auto [result, a, b] : llvm::zip(branch.getResults(), yielded[0], yielded[1]))
      result.replaceAllUsesWith(
          arith::SelectOp::create(builder, branch.getLoc(), branch.getCondition(), a, b));
    branch.erase();
  }
};

} // namespace

std::unique_ptr<Pass> createFlattenBranchesPass() { return std::make_unique<FlattenBranches>(); }

} // namespace h3
