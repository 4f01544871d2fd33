//===-- codegen/transforms/HoistLoads.cpp - Loads ahead of the branches that use them -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A piecewise row (`if i < r / 2 then ... x[i + r / 2] ...`) reads memory inside the branches of an
// `scf.if`, so that a load waits for all that stands before the branch. This pass gives each such
// `if` a twin in front of it that has the same condition and only the loads: a schedule can then
// issue them early, while a reduction still runs. What a branch does not load is a zero there,
// which nothing reads.
//
//===----------------------------------------------------------------------===//

#include "codegen/dialect/H3.h"
#include "codegen/transforms/Passes.h"

#include <mlir/IR/IRMapping.h>

using namespace mlir;

namespace h3 {
namespace {

struct HoistLoads : PassWrapper<HoistLoads, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HoistLoads)
  StringRef getArgument() const override { return "h3-hoist-loads"; }
  StringRef getDescription() const override {
    return "Puts the loads of branches into branches of their own, ahead of the computation";
  }

  void runOnOperation() override {
    SmallVector<scf::IfOp> outermost;
    getOperation()->walk<WalkOrder::PreOrder>([&](scf::IfOp branch) {
      outermost.push_back(branch);
      return WalkResult::skip();
    });
    for (scf::IfOp branch : outermost)
      hoist(branch);
  }

  /// The loads of \p branch, in text order, whose addresses follow from indices alone.
  static SmallVector<ir::LoadOp> loadsOf(scf::IfOp branch) {
    SmallVector<ir::LoadOp> loads;
    branch.walk([&](ir::LoadOp load) {
      if (llvm::all_of(load.getIndices(), [&](Value index) { return isAddress(index, branch); }))
        loads.push_back(load);
    });
    return loads;
  }

  /// Whether \p index can be computed in front of the values of \p branch: by arithmetic on
  /// indices.
  static bool isAddress(Value index, scf::IfOp branch) {
    Operation *producer = index.getDefiningOp();
    if (!producer || !branch->isProperAncestor(producer))
      return true;
    return producer->getNumRegions() == 0 && isPure(producer) && !isa<ir::LoadOp>(producer) &&
           llvm::all_of(producer->getOperands(),
                        [&](Value operand) { return isAddress(operand, branch); });
  }

  static void hoist(scf::IfOp branch) {
    SmallVector<ir::LoadOp> loads = loadsOf(branch);
    if (loads.empty())
      return;
    OpBuilder builder(branch);
    IRMapping mapping;
    Operation *twin = build(builder, branch, loads, mapping);
    for (auto [load, value] : llvm::zip(loads, twin->getResults())) {
      load.replaceAllUsesWith(value);
      load.erase();
    }
  }

  /// The twin of \p branch: yields all of \p loads, those of the branch not taken as zeros.
  static Operation *build(OpBuilder &builder, scf::IfOp branch, ArrayRef<ir::LoadOp> loads,
                          IRMapping &mapping) {
    Location loc = branch.getLoc();
    Value condition = clone(builder, branch.getCondition(), mapping);
    SmallVector<mlir::Type> types;
    for (ir::LoadOp load : loads)
      types.push_back(load.getType());
    auto twin = scf::IfOp::create(builder, loc, types, condition, /*withElseRegion=*/true);
    Region *sources[] = {&branch.getThenRegion(), &branch.getElseRegion()};
    Region *targets[] = {&twin.getThenRegion(), &twin.getElseRegion()};
    for (int side = 0; side < 2; ++side) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&targets[side]->front());
      SmallVector<Value> values(loads.size());
      for (size_t index = 0; index < loads.size(); ++index)
        if (ir::LoadOp load = loads[index]; load->getParentRegion() == sources[side])
          values[index] = clone(builder, load, mapping);
      // Branches within this one have twins within the twin.
      if (!sources[side]->empty())
        for (auto inner : sources[side]->getOps<scf::IfOp>()) {
          SmallVector<ir::LoadOp> within;
          SmallVector<size_t> places;
          for (auto [index, load] : llvm::enumerate(loads))
            if (inner->isProperAncestor(load)) {
              within.push_back(load);
              places.push_back(index);
            }
          if (within.empty())
            continue;
          Operation *nested = build(builder, inner, within, mapping);
          for (auto [place, value] : llvm::zip(places, nested->getResults()))
            values[place] = value;
        }
      for (auto [value, type] : llvm::zip(values, types))
        if (!value)
          value = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
      scf::YieldOp::create(builder, loc, values);
    }
    return twin;
  }

  /// \p value and what it is computed from inside the branch, copied to the insertion point.
  static Value clone(OpBuilder &builder, Value value, IRMapping &mapping) {
    Operation *producer = value.getDefiningOp();
    auto isVisible = [&](Value known) {
      return known.getParentRegion()->isAncestor(builder.getInsertionBlock()->getParent());
    };
    if (!producer || isVisible(value))
      return value;
    if (Value copy = mapping.lookupOrNull(value); copy && isVisible(copy))
      return copy;
    for (Value operand : producer->getOperands())
      clone(builder, operand, mapping);
    return builder.clone(*producer, mapping)->getResult(0);
  }
};

} // namespace

std::unique_ptr<Pass> createHoistLoadsPass() { return std::make_unique<HoistLoads>(); }

} // namespace h3
