//===-- codegen/transforms/HoistRemaps.cpp - Remaps ahead of the branches that use them -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A piecewise row (`if i < r / 2 then ... x[i + r / 2] ... else ... x[i - r / 2]`) uses another
// element in each branch. Every thread has to take part where one fetches from another, so the
// remaps go in front of the branch, at an index that is chosen by the branch's conditions; what a
// branch does not use is its own element.
//
//===----------------------------------------------------------------------===//

#include "codegen/transforms/AheadOfBranch.h"
#include "codegen/transforms/Passes.h"

using namespace mlir;

namespace h3 {
namespace {

struct HoistRemaps : PassWrapper<HoistRemaps, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HoistRemaps)
  StringRef getArgument() const override { return "h3-hoist-remaps"; }
  StringRef getDescription() const override {
    return "Puts the remaps of branches in front of them, at a chosen index";
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    for (scf::IfOp branch : outermostBranches(getOperation()))
      while (ir::RemapOp first = anyRemap(branch))
        hoist(branch, first.getOwn());
  }

  static ir::RemapOp anyRemap(scf::IfOp branch) {
    ir::RemapOp found;
    branch.walk([&](ir::RemapOp op) {
      found = op;
      return WalkResult::interrupt();
    });
    return found;
  }

  static void hoist(scf::IfOp branch, Value own) {
    OpBuilder builder(branch);
    IRMapping mapping;
    SmallVector<ir::RemapOp> shared;
    auto loop = branch->getParentOfType<ir::ForallOp>();
    Value index = choose(builder, branch, own, loop.getIndices().front(), shared, mapping);
    Value value = ir::RemapOp::create(builder, branch.getLoc(), own, index);
    for (ir::RemapOp op : shared) {
      op.replaceAllUsesWith(value);
      op.erase();
    }
  }

  /// The index of the first remap of \p own that control within \p branch reaches, which are added
  /// to \p shared; \p otherwise where it reaches none.
  static Value choose(OpBuilder &builder, scf::IfOp branch, Value own, Value otherwise,
                      SmallVectorImpl<ir::RemapOp> &shared, IRMapping &mapping) {
    Region *regions[] = {&branch.getThenRegion(), &branch.getElseRegion()};
    Value chosen[] = {otherwise, otherwise};
    for (int side = 0; side < 2; ++side) {
      if (regions[side]->empty())
        continue;
      auto direct = llvm::find_if(regions[side]->getOps<ir::RemapOp>(),
                                  [&](ir::RemapOp op) { return op.getOwn() == own; });
      if (direct != regions[side]->getOps<ir::RemapOp>().end()) {
        chosen[side] = cloneAhead(builder, (*direct).getIndex(), mapping);
        shared.push_back(*direct);
        continue;
      }
      for (auto inner : regions[side]->getOps<scf::IfOp>())
        if (chosen[side] == otherwise)
          chosen[side] = choose(builder, inner, own, otherwise, shared, mapping);
    }
    if (chosen[0] == chosen[1])
      return chosen[0];
    return arith::SelectOp::create(builder, branch.getLoc(),
                                   cloneAhead(builder, branch.getCondition(), mapping), chosen[0],
                                   chosen[1]);
  }
};

} // namespace

std::unique_ptr<Pass> createHoistRemapsPass() { return std::make_unique<HoistRemaps>(); }

} // namespace h3
