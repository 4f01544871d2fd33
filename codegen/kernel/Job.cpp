//===-- codegen/kernel/Job.cpp - The independent parts of an operator -----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Job.h"

#include <mlir/IR/Matchers.h>

using namespace mlir;

namespace h3 {

Block &Phase::body() const {
  if (auto reduction = dyn_cast<ir::ReduceOp>(op))
    return reduction.getStep().front();
  return cast<ir::ForallOp>(op).getBody().front();
}

std::optional<int64_t> Phase::constantExtent() const {
  APInt value;
  if (matchPattern(extent, m_ConstantInt(&value)))
    return value.getSExtValue();
  return {};
}

bool Job::hasReduction() const {
  return llvm::any_of(phases, [](const Phase &phase) { return phase.reduce() != nullptr; });
}

Value Job::commonExtent() const {
  if (phases.empty() || llvm::any_of(phases, [&](const Phase &phase) {
        return phase.extent != phases.front().extent;
      }))
    return {};
  return phases.front().extent;
}

/// The bytes of an access whose last index varies with \p element; 0 otherwise.
static unsigned accessedBytes(Operation *op, Value element) {
  Value tensor;
  OperandRange indices(nullptr, 0);
  if (auto load = dyn_cast<ir::LoadOp>(op)) {
    tensor = load.getTensor();
    indices = load.getIndices();
  } else if (auto store = dyn_cast<ir::StoreOp>(op)) {
    tensor = store.getTensor();
    indices = store.getIndices();
  } else {
    return 0;
  }
  if (indices.empty())
    return 0;
  SmallVector<Value> pending{indices.back()};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (value == element)
      return cast<ir::TensorType>(tensor.getType()).getElementType().getIntOrFloatBitWidth() / 8;
    if (Operation *producer = value.getDefiningOp())
      llvm::append_range(pending, producer->getOperands());
  }
  return 0;
}

static AliasReads aliasReadsOf(ir::ForallOp rows, bool hasPhases) {
  AliasReads result = AliasReads::None;
  auto op = rows->getParentOfType<ir::OperatorOp>();
  Block *body = &rows.getBody().front();
  rows.walk([&](ir::StoreOp store) {
    unsigned output = cast<BlockArgument>(store.getTensor()).getArgNumber();
    auto input = op.getArgAttrOfType<IntegerAttr>(output, "h3.alias");
    if (!input)
      return;
    Operation *storePhase = body->findAncestorOpInBlock(*store);
    for (Operation *user : op.getArgument(input.getInt()).getUsers()) {
      auto load = dyn_cast<ir::LoadOp>(user);
      Operation *loadPhase = load ? body->findAncestorOpInBlock(*load) : nullptr;
      if (!loadPhase)
        continue; // of another job: overwrittenByAnother
      // One thread has an element; a value of the row itself is read by every thread of the team.
      bool isOneThreads = store->getBlock() != body || !hasPhases;
      bool isSame =
          load->getBlock() == store->getBlock() && load.getIndices() == store.getIndices();
      if (isSame && isOneThreads)
        continue;
      bool isBefore = loadPhase->isBeforeInBlock(storePhase);
      result = std::max(result, isBefore ? AliasReads::Before : AliasReads::Elsewhere);
    }
  });
  return result;
}

/// The name of an input that one job may overwrite while another reads it; empty if there is none.
static StringRef overwrittenByAnother(ir::OperatorOp op) {
  Block *body = &op.getBody().front();
  StringRef name;
  op.walk([&](ir::StoreOp store) {
    unsigned output = cast<BlockArgument>(store.getTensor()).getArgNumber();
    auto input = op.getArgAttrOfType<IntegerAttr>(output, "h3.alias");
    if (!input)
      return;
    for (Operation *user : op.getArgument(input.getInt()).getUsers())
      if (body->findAncestorOpInBlock(*user) != body->findAncestorOpInBlock(*store))
        name = op.getArgAttrOfType<StringAttr>(input.getInt(), "h3.name");
  });
  return name;
}

std::vector<Job> jobsOf(ir::OperatorOp op, std::string &error) {
  std::vector<Job> jobs;
  for (auto rows : op.getBody().front().getOps<ir::ForallOp>()) {
    Job job;
    job.rows = rows;
    for (Operation &inner : rows.getBody().front()) {
      if (auto reduce = dyn_cast<ir::ReduceOp>(inner))
        job.phases.push_back({&inner, reduce.getExtents().front()});
      else if (auto elements = dyn_cast<ir::ForallOp>(inner))
        job.phases.push_back({&inner, elements.getExtents().front()});
      else if (auto store = dyn_cast<ir::StoreOp>(inner))
        job.stores.push_back(store);
    }
    for (const Phase &phase : job.phases)
      phase.body().walk([&](Operation *inner) {
        if (unsigned bytes = accessedBytes(inner, phase.element())) {
          job.narrowest = job.narrowest ? std::min(job.narrowest, bytes) : bytes;
          job.widest = std::max(job.widest, bytes);
        }
      });
    job.aliasReads = aliasReadsOf(rows, !job.phases.empty());
    bool isNested = false;
    rows.walk([&](ir::ReduceOp reduce) { isNested |= reduce->getParentOp() != rows; });
    if (isNested)
      error =
          "a reduction inside another that depends on the other's element has no code generation";
    jobs.push_back(job);
    if (!error.empty())
      return {};
  }
  if (jobs.empty())
    error = "the operator computes nothing";
  if (StringRef input = overwrittenByAnother(op); !input.empty())
    error = "'" + input.str() +
            "' may be overwritten and is read by an equation over other rows than the one that "
            "overwrites it: no code generation; give both the same rows, or an output of its own";
  return jobs;
}

} // namespace h3
