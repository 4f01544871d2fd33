//===-- codegen/kernel/KernelRow.cpp - One row of a kernel --------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/Mutant.h"
#include "codegen/kernel/KernelEmitter.h"
#include "codegen/kernel/Reduction.h"

using namespace mlir;

namespace h3 {

/// Everything that a row reads and that waits for no reduction is asked for first, so that memory
/// works while these shuffle (the threads behind the last row repeat it, so that they may read
/// too).
void KernelEmitter::emitEarly(Row &row, const llvm::SmallPtrSet<Operation *, 16> &done) {
  ir::ForallOp rows = row.job.rows;
  elements.leave();
  elements.readAliasesWhere(row.exists);
  for (Operation &inner : rows.getBody().front().without_terminator()) {
    if (isa<ir::ReduceOp, ir::ForallOp, ir::StoreOp>(inner) || done.contains(&inner) ||
        !elements.isReady(inner))
      continue;
    elements.emit(inner);
    early.insert(&inner);
    if (elements.error().empty())
      for (Value result : inner.getResults())
        row.bound.push_back({result, elements.emitted(result)});
  }
  elements.readAliasesWhere(ofHeldElements(row));
  for (bool onlyLoads : {true, false})
    for (Leaf &leaf : row.leaves)
      for (const Phase &phase : row.job.phases) {
        elements.enter(phase.element(), leaf, row.how.layouts.front().vector());
        elements.emitReady(phase.body(), onlyLoads);
      }
}

/// Of threads that hold the same elements, one alone may read what it will overwrite.
Value KernelEmitter::ofHeldElements(const Row &row) {
  return row.leaves.empty() ? row.exists
                            : both(row.exists, ownsElements(row.team, row.how.layouts.front()));
}

void KernelEmitter::emitRow(Row &row) {
  ir::ForallOp rows = row.job.rows;
  size_t number = 0;
  for (Operation &inner : rows.getBody().front().without_terminator()) {
    if (!error.empty() || !elements.error().empty())
      return;
    bool isHeld = row.how.kind == JobSchedule::Kind::Hold;
    elements.leave();
    elements.readAliasesWhere(isHeld ? ofHeldElements(row) : row.exists);
    if (isa<ir::ReduceOp>(inner)) {
      const Phase &phase = row.job.phases[number];
      Walk walk(builder, elements, row.team, row.how.layout(number), phase);
      error = emitReduction(builder, elements, *exchange, machine, row.team, phase, walk,
                            isHeld ? &row.leaves : nullptr);
      ++number;
    } else if (auto loop = dyn_cast<ir::ForallOp>(inner)) {
      emitElements(row, number++, loop);
    } else if (auto store = dyn_cast<ir::StoreOp>(inner)) {
      emitRowStore(row, store);
    } else if (!early.contains(&inner)) {
      elements.emit(inner);
    }
  }
}

void KernelEmitter::emitRowStore(Row &row, ir::StoreOp store) {
  if (overwrites(store))
    beforeOverwriting(row);
  Value condition = both(row.exists, row.isFirst);
  if (!condition)
    return elements.emitStore(store);
  auto branch = scf::IfOp::create(builder, store.getLoc(), condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  elements.emitStore(store);
}

/// Whether the store may overwrite an input.
bool KernelEmitter::overwrites(ir::StoreOp store) {
  unsigned output = cast<BlockArgument>(store.getTensor()).getArgNumber();
  return op.getArgAttr(output, "h3.alias") != nullptr;
}

/// What other threads of the team read of such inputs, they have read behind this.
void KernelEmitter::beforeOverwriting(Row &row) {
  if (row.job.aliasReads == AliasReads::None)
    return;
  if (row.team.threads > 1 && !mutated(Mutant::NoBarrierBeforeStore))
    exchange->barrier();
  elements.forbidAliasedLoads(row.how.kind == JobSchedule::Kind::Hold);
}

void KernelEmitter::emitElements(Row &row, size_t number, ir::ForallOp loop) {
  bool hasOverwriting = false;
  loop.walk([&](ir::StoreOp store) { hasOverwriting |= overwrites(store); });
  if (hasOverwriting)
    beforeOverwriting(row);
  const Layout &layout = row.how.layout(number);
  Value isOwn = ownsElements(row.team, layout);
  if (row.how.kind != JobSchedule::Kind::Loop) {
    for (Leaf &leaf : row.leaves) {
      // Every thread takes part in a shuffle, whether it stores or not.
      if (!loop.getBody().front().getOps<ir::RemapOp>().empty()) {
        elements.enter(loop.getIndices().front(), leaf, layout.vector());
        elements.emitReady(loop.getBody().front());
      }
      emitLeaf(row, loop, leaf, layout.vector(), isOwn);
    }
    return;
  }
  const Phase &phase = row.job.phases[number];
  OpBuilder::InsertionGuard guard(builder);
  if (isOwn) {
    auto branch = scf::IfOp::create(builder, loop.getLoc(), isOwn, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  Walk walk(builder, elements, row.team, layout, phase);
  SmallVector<Value> nothing;
  walk.forEachGroup(nothing, /*uniform=*/false, [&](MutableArrayRef<Leaf> leaves) {
    // All reads of the group come before its first store: they may be under way together.
    for (bool onlyLoads : {true, false})
      for (Leaf &leaf : leaves) {
        elements.enter(phase.element(), leaf, layout.vector());
        elements.emitReady(phase.body(), onlyLoads);
      }
    for (Leaf &leaf : leaves)
      emitLeaf(row, loop, leaf, layout.vector(), {});
  });
}

/// Whether this thread stores the elements that it has by \p layout; null: it does. Threads whose
/// numbers differ in bits that no digit of the layout takes have the same elements: of these, one
/// stores them.
Value KernelEmitter::ownsElements(const Team &team, const Layout &layout) {
  int64_t others = team.threads - 1;
  for (const LayoutDigit &digit : layout.digits)
    if (digit.place == LayoutDigit::Place::Thread)
      others &= ~((digit.radix - 1) << digit.threadBit);
  if (!others)
    return {};
  Value bits = make<arith::AndIOp>(team.member, elements.constant(others));
  return arith::CmpIOp::create(builder, builder.getUnknownLoc(), arith::CmpIPredicate::eq, bits,
                               elements.constant(0));
}

void KernelEmitter::emitLeaf(Row &row, ir::ForallOp loop, Leaf &leaf, unsigned vector,
                             Value isOwn) {
  Value rowExists = mutated(Mutant::RowBehindLast) ? Value() : row.exists;
  Value leafExists = mutated(Mutant::ElementBehindLast) ? Value() : leaf.exists;
  Value condition = both(both(rowExists, isOwn), leafExists);
  OpBuilder::InsertionGuard guard(builder);
  elements.enter(loop.getIndices().front(), leaf, vector);
  if (condition) {
    auto branch = scf::IfOp::create(builder, loop.getLoc(), condition, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  elements.assumeExistence(true);
  for (Operation &inner : loop.getBody().front().without_terminator())
    if (!leaf.ready.contains(&inner))
      elements.emit(inner);
  elements.assumeExistence(false);
}

} // namespace h3
