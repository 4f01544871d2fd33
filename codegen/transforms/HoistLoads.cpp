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

#include "codegen/transforms/AheadOfBranch.h"
#include "codegen/transforms/Passes.h"

#include <llvm/ADT/SmallPtrSet.h>

using namespace mlir;

namespace h3 {
namespace {

struct HoistLoads : PassWrapper<HoistLoads, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HoistLoads)
  StringRef getArgument() const override { return "h3-hoist-loads"; }
  StringRef getDescription() const override {
    return "Puts the loads of branches into branches of their own, ahead of the computation";
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    for (scf::IfOp branch : outermostBranches(getOperation())) {
      hoistCommon(branch);
      hoist(branch);
    }
  }

  /// Whether every way through \p region makes the same load.
  static bool alwaysLoads(Region &region, ir::LoadOp load) {
    for (Operation &op : region.getOps()) {
      if (auto other = dyn_cast<ir::LoadOp>(op);
          other && other->getOperands() == load->getOperands())
        return true;
      if (auto inner = dyn_cast<scf::IfOp>(op); inner && !inner.getElseRegion().empty() &&
                                                alwaysLoads(inner.getThenRegion(), load) &&
                                                alwaysLoads(inner.getElseRegion(), load))
        return true;
    }
    return false;
  }

  /// Loads that both branches make go in front of \p branch, once.
  static void hoistCommon(scf::IfOp branch) {
    if (branch.getElseRegion().empty())
      return;
    SmallVector<ir::LoadOp> loads = loadsOf(branch);
    llvm::SmallPtrSet<Operation *, 8> done;
    for (ir::LoadOp load : loads) {
      bool isOutside = llvm::none_of(load->getOperands(), [&](Value operand) {
        return branch->isProperAncestor(operand.getParentRegion()->getParentOp()) ||
               operand.getParentRegion()->getParentOp() == branch;
      });
      if (done.contains(load) || !isOutside || !alwaysLoads(branch.getThenRegion(), load) ||
          !alwaysLoads(branch.getElseRegion(), load))
        continue;
      OpBuilder builder(branch);
      Value common = builder.clone(*load)->getResult(0);
      for (ir::LoadOp other : loads)
        if (!done.contains(other) && other->getOperands() == load->getOperands()) {
          other.replaceAllUsesWith(common);
          done.insert(other);
        }
    }
    for (Operation *load : done)
      load->erase();
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

  /// The loads of one side, all settings of the branches within it sharing results too: each entry
  /// is the list of loads that share.
  using Shared = SmallVector<ir::LoadOp, 2>;

  static SmallVector<Shared> share(scf::IfOp branch, ArrayRef<ir::LoadOp> loads) {
    SmallVector<Shared> sides[2];
    Region *regions[] = {&branch.getThenRegion(), &branch.getElseRegion()};
    for (int side = 0; side < 2; ++side) {
      for (ir::LoadOp load : loads)
        if (load->getParentRegion() == regions[side])
          sides[side].push_back({load});
      if (!regions[side]->empty())
        for (auto inner : regions[side]->getOps<scf::IfOp>())
          llvm::append_range(sides[side], share(inner, loads));
    }
    SmallVector<Shared> &result = sides[0];
    llvm::SmallPtrSet<Operation *, 8> taken;
    for (bool sameTensor : {true, false})
      for (Shared &candidate : sides[1]) {
        if (candidate.empty())
          continue;
        ir::LoadOp wanted = candidate.front();
        for (Shared &slot : result) {
          ir::LoadOp first = slot.front();
          if (first.getType() != wanted.getType() || taken.contains(first) ||
              (sameTensor && first.getTensor() != wanted.getTensor()))
            continue;
          taken.insert(first);
          llvm::append_range(slot, candidate);
          candidate.clear();
          break;
        }
      }
    for (Shared &rest : sides[1])
      if (!rest.empty())
        result.push_back(rest);
    return result;
  }

  static void hoist(scf::IfOp branch) {
    SmallVector<ir::LoadOp> loads = loadsOf(branch);
    if (loads.empty())
      return;
    OpBuilder builder(branch);
    IRMapping mapping;
    SmallVector<Shared> results = share(branch, loads);
    hoistAlike(builder, branch, results, mapping);
    if (results.empty())
      return;
    Operation *twin = build(builder, branch, results, mapping);
    for (auto [shared, value] : llvm::zip(results, twin->getResults()))
      replace(shared, value);
  }

  static void replace(const Shared &shared, Value value) {
    for (ir::LoadOp load : shared) {
      load.replaceAllUsesWith(value);
      load.erase();
    }
  }

  /// Results for which all branches make the same load, if they make one, need no twin but one
  /// condition: that control reaches a load. They are taken out of \p results.
  static void hoistAlike(OpBuilder &builder, scf::IfOp branch, SmallVector<Shared> &results,
                         IRMapping &mapping) {
    using Place = SmallVector<Region *>; ///< where the loads of a result stand
    SmallVector<std::pair<Place, SmallVector<Shared>>> byPlace; // in the order of the results
    llvm::erase_if(results, [&](const Shared &shared) {
      ir::LoadOp first = shared.front();
      bool isOutside = llvm::all_of(first->getOperands(), [&](Value operand) {
        return !branch->isAncestor(operand.getParentRegion()->getParentOp());
      });
      if (shared.size() < 2 || !isOutside || llvm::any_of(shared, [&](ir::LoadOp load) {
            return load->getOperands() != first->getOperands();
          }))
        return false;
      Place place;
      for (ir::LoadOp load : shared)
        place.push_back(load->getParentRegion());
      auto known = llvm::find_if(byPlace, [&](const auto &entry) { return entry.first == place; });
      if (known == byPlace.end())
        byPlace.push_back({place, {shared}});
      else
        known->second.push_back(shared);
      return true;
    });
    for (auto &[place, alike] : byPlace) {
      Value condition = reach(builder, branch, place, mapping);
      if (!condition) {
        llvm::append_range(results, alike);
        continue;
      }
      SmallVector<mlir::Type> types;
      for (const Shared &shared : alike)
        types.push_back(ir::LoadOp(shared.front()).getType());
      Location loc = branch.getLoc();
      auto one = scf::IfOp::create(builder, loc, types, condition, /*withElseRegion=*/true);
      SmallVector<Value> loaded, zeros;
      {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(one.thenBlock());
        for (const Shared &shared : alike)
          loaded.push_back(builder.clone(*shared.front())->getResult(0));
        scf::YieldOp::create(builder, loc, loaded);
        builder.setInsertionPointToStart(one.elseBlock());
        for (mlir::Type type : types)
          zeros.push_back(arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type)));
        scf::YieldOp::create(builder, loc, zeros);
      }
      for (auto [shared, value] : llvm::zip(alike, one.getResults()))
        replace(shared, value);
    }
  }

  /// The condition under which control within \p branch reaches one of the regions \p place; null
  /// where it never does, or on both sides only under further conditions.
  static Value reach(OpBuilder &builder, scf::IfOp branch, ArrayRef<Region *> place,
                     IRMapping &mapping) {
    Region *sides[] = {&branch.getThenRegion(), &branch.getElseRegion()};
    bool isHere[2];
    Value within[2];
    for (int side = 0; side < 2; ++side) {
      isHere[side] = llvm::is_contained(place, sides[side]);
      if (!isHere[side] && !sides[side]->empty())
        for (auto inner : sides[side]->getOps<scf::IfOp>())
          if (!within[side])
            within[side] = reach(builder, inner, place, mapping);
    }
    if ((isHere[0] && isHere[1]) || (within[0] && within[1]) ||
        !(isHere[0] || isHere[1] || within[0] || within[1]))
      return {};
    Location loc = branch.getLoc();
    Value condition = cloneAhead(builder, branch.getCondition(), mapping);
    auto negated = [&](Value value) -> Value {
      Value yes = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
      return arith::XOrIOp::create(builder, loc, value, yes);
    };
    bool onElse = isHere[1] || (!isHere[0] && within[1]);
    Value mine = onElse ? negated(condition) : condition;
    Value other = within[onElse ? 0 : 1], same = within[onElse ? 1 : 0];
    if (other) // this side, or what the other reaches
      return arith::OrIOp::create(builder, loc, mine, other);
    return same ? Value(arith::AndIOp::create(builder, loc, mine, same)) : mine;
  }

  /// The twin of \p branch, with one result for each of \p results.
  static Operation *build(OpBuilder &builder, scf::IfOp branch, ArrayRef<Shared> results,
                          IRMapping &mapping) {
    Location loc = branch.getLoc();
    Value condition = cloneAhead(builder, branch.getCondition(), mapping);
    SmallVector<mlir::Type> types;
    for (const Shared &shared : results)
      types.push_back(ir::LoadOp(shared.front()).getType());
    auto twin = scf::IfOp::create(builder, loc, types, condition, /*withElseRegion=*/true);
    Region *sources[] = {&branch.getThenRegion(), &branch.getElseRegion()};
    Region *targets[] = {&twin.getThenRegion(), &twin.getElseRegion()};
    for (int side = 0; side < 2; ++side) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&targets[side]->front());
      SmallVector<Value> values(results.size());
      for (size_t index = 0; index < results.size(); ++index)
        for (ir::LoadOp load : results[index])
          if (load->getParentRegion() == sources[side])
            values[index] = cloneAhead(builder, load, mapping);
      // Branches within this one have twins within the twin.
      if (!sources[side]->empty())
        for (auto inner : sources[side]->getOps<scf::IfOp>()) {
          SmallVector<Shared> within;
          SmallVector<size_t> places;
          for (size_t index = 0; index < results.size(); ++index) {
            Shared part;
            for (ir::LoadOp load : results[index])
              if (inner->isProperAncestor(load))
                part.push_back(load);
            if (!part.empty()) {
              within.push_back(part);
              places.push_back(index);
            }
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
};

} // namespace

std::unique_ptr<Pass> createHoistLoadsPass() { return std::make_unique<HoistLoads>(); }

} // namespace h3
