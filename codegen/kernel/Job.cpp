//===-- codegen/kernel/Job.cpp - The independent parts of an operator -----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Job.h"

#include <mlir/IR/Matchers.h>

using namespace mlir;

namespace h3 {

std::optional<int64_t> Job::constantExtent() const {
  APInt value;
  if (extent && matchPattern(extent, m_ConstantInt(&value)))
    return value.getSExtValue();
  return {};
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

std::vector<Job> jobsOf(ir::OperatorOp op, std::string &error) {
  std::vector<Job> jobs;
  for (auto rows : op.getBody().front().getOps<ir::ForallOp>()) {
    Job job;
    job.rows = rows;
    auto meet = [&](Value extent, Region &body, Value element) {
      if (job.extent && job.extent != extent)
        error = "rows of different extents in one 'for' have no code generation yet";
      job.extent = extent;
      body.walk([&](Operation *inner) {
        if (unsigned bytes = accessedBytes(inner, element))
          job.narrowest = job.narrowest ? std::min(job.narrowest, bytes) : bytes;
      });
    };
    for (Operation &inner : rows.getBody().front()) {
      if (auto reduce = dyn_cast<ir::ReduceOp>(inner)) {
        if (reduce.getExtents().size() != 1)
          error = "a reduction over several digits has no code generation yet";
        else
          meet(reduce.getExtents().front(), reduce.getStep(), reduce.getStep().getArgument(0));
        job.reductions.push_back(reduce);
      } else if (auto elements = dyn_cast<ir::ForallOp>(inner)) {
        if (elements.getExtents().size() != 1)
          error = "rows of several axes or digits have no code generation yet";
        else
          meet(elements.getExtents().front(), elements.getBody(), elements.getIndices().front());
        job.elements.push_back(elements);
      } else if (auto store = dyn_cast<ir::StoreOp>(inner)) {
        job.stores.push_back(store);
      }
    }
    bool nested = false;
    rows.walk([&](ir::ReduceOp reduce) { nested |= reduce->getParentOp() != rows; });
    if (nested)
      error = "a reduction inside the computation of one element has no code generation yet; give "
              "it a name by 'let' inside a 'for' over the rows";
    jobs.push_back(job);
    if (!error.empty())
      return {};
  }
  if (jobs.empty())
    error = "the operator computes nothing";
  return jobs;
}

} // namespace h3
