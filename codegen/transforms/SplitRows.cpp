//===-- codegen/transforms/SplitRows.cpp - Rows within rows ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// `for t: tokens { y[t, h] = norm(x[t, h]) }` has a row for each t and h: its loop over h, inside
// the loop over t, becomes a loop over both, beside what else the `for` computes. So it is with
// `y[t] = sum(x[t])` and with `y[t, i] = x[t, i] * sum(x[t])`: the indices that a reduction depends
// on, and those before them, make the rows. Everything is pure, so that values of the `for` may be
// computed in both.
//
// Loops that are apart may run at the same time. Where one of two over the same rows overwrites an
// input that the other reads, they stay one.
//
//===----------------------------------------------------------------------===//

#include "codegen/dialect/H3.h"
#include "codegen/transforms/Passes.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <mlir/IR/IRMapping.h>

using namespace mlir;

namespace h3 {
namespace {

/// How many of the loop's indices make rows: all up to the last that a reduction inside depends on,
/// by what it computes or by the conditions that it stands under.
size_t rowIndices(ir::ForallOp loop) {
  SmallVector<Value> pending;
  auto addOperands = [&](Operation *op) { llvm::append_range(pending, op->getOperands()); };
  loop.getBody().walk([&](ir::ReduceOp reduce) {
    reduce->walk(addOperands);
    for (Operation *around = reduce->getParentOp(); around != loop; around = around->getParentOp())
      addOperands(around);
  });
  size_t count = 0;
  llvm::SmallPtrSet<Operation *, 32> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner()->getParentOp() == loop)
        count = std::max<size_t>(count, argument.getArgNumber() + 1);
    } else if (Operation *producer = value.getDefiningOp();
               loop->isProperAncestor(producer) && seen.insert(producer).second) {
      producer->walk(addOperands);
    }
  }
  return count;
}

/// Whether one of the loops may overwrite an input that the other reads.
bool conflict(ir::ForallOp a, ir::ForallOp b) {
  auto op = a->getParentOfType<ir::OperatorOp>();
  auto overwrites = [&](ir::ForallOp writer, ir::ForallOp reader) {
    llvm::SmallPtrSet<Value, 4> inputs;
    writer->walk([&](ir::StoreOp store) {
      unsigned output = cast<BlockArgument>(store.getTensor()).getArgNumber();
      if (auto input = op.getArgAttrOfType<IntegerAttr>(output, "h3.alias"))
        inputs.insert(op.getArgument(input.getInt()));
    });
    bool reads = false;
    reader->walk([&](ir::LoadOp load) { reads |= inputs.contains(load.getTensor()); });
    return reads;
  };
  return overwrites(a, b) || overwrites(b, a);
}

/// A loop inside a loop over rows whose first `rows` indices make rows too.
struct Nested {
  ir::ForallOp loop;
  size_t rows;

  OperandRange extents() { return loop.getExtents().take_front(rows); }
};

struct SplitRows : PassWrapper<SplitRows, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitRows)
  StringRef getArgument() const override { return "h3-split-rows"; }
  StringRef getDescription() const override {
    return "Makes one loop of a loop over rows inside a loop over rows";
  }

  void runOnOperation() override {
    getOperation()->walk([&](ir::ForallOp loop) {
      if (!loop->getParentOfType<ir::ForallOp>())
        pending.push_back(loop);
    });
    while (!pending.empty())
      split(pending.pop_back_val());
  }

private:
  void split(ir::ForallOp outer) {
    SmallVector<Nested> nested;
    for (auto loop : outer.getBody().front().getOps<ir::ForallOp>()) {
      bool holdsRows = !loop.getBody().front().getOps<ir::ForallOp>().empty();
      if (size_t rows = holdsRows ? loop.getIndices().size() : rowIndices(loop))
        nested.push_back({loop, rows});
    }
    if (nested.empty())
      return;
    OpBuilder builder(outer->getContext());
    builder.setInsertionPointAfter(outer);
    SmallVector<SmallVector<Nested>> groups;
    for (Nested &one : nested) {
      auto *home = llvm::find_if(groups, [&](SmallVector<Nested> &group) {
        return llvm::equal(group.front().extents(), one.extents()) &&
               llvm::any_of(group, [&](Nested &other) { return conflict(other.loop, one.loop); });
      });
      if (home == groups.end())
        groups.push_back({one});
      else
        home->push_back(one);
    }
    for (SmallVector<Nested> &group : groups)
      makeRows(builder, outer, group);
    for (Nested &one : nested)
      one.loop.erase();
    // Nothing else may be left of the outer loop.
    bool isEmpty = llvm::none_of(outer.getBody().front(),
                                 [](Operation &op) { return isa<ir::ForallOp, ir::StoreOp>(op); });
    if (isEmpty)
      outer.erase();
  }

  /// The loop over the rows of \p group, with the values of \p outer computed there too.
  void makeRows(OpBuilder &builder, ir::ForallOp outer, MutableArrayRef<Nested> group) {
    SmallVector<Value> extents(outer.getExtents());
    llvm::append_range(extents, group.front().extents());
    auto rows = ir::ForallOp::create(builder, group.front().loop.getLoc(), extents);
    pending.push_back(rows);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&rows.getBody().front());
    size_t rank = outer.getIndices().size();
    IRMapping mapping;
    for (auto [from, to] : llvm::zip(outer.getIndices(), rows.getIndices()))
      mapping.map(from, to);
    for (Operation &op : outer.getBody().front().without_terminator())
      if (!isa<ir::ForallOp, ir::StoreOp>(op))
        builder.clone(op, mapping);
    for (Nested &one : group) {
      auto indices = one.loop.getIndices();
      for (auto [from, to] :
           llvm::zip(indices.take_front(one.rows), rows.getIndices().drop_front(rank)))
        mapping.map(from, to);
      OpBuilder::InsertionGuard inner(builder);
      if (one.rows < indices.size()) {
        auto elements = ir::ForallOp::create(builder, one.loop.getLoc(),
                                             one.loop.getExtents().drop_front(one.rows));
        for (auto [from, to] : llvm::zip(indices.drop_front(one.rows), elements.getIndices()))
          mapping.map(from, to);
        builder.setInsertionPointToStart(&elements.getBody().front());
      }
      for (Operation &op : one.loop.getBody().front().without_terminator())
        builder.clone(op, mapping);
    }
  }

  SmallVector<ir::ForallOp> pending;
};

} // namespace

std::unique_ptr<Pass> createSplitRowsPass() { return std::make_unique<SplitRows>(); }

} // namespace h3
