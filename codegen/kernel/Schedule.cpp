//===-- codegen/kernel/Schedule.cpp - Where and when ----------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Schedule.h"

#include "codegen/kernel/OrderBits.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/MathExtras.h>

using namespace mlir;

namespace h3 {

std::string KernelSchedule::name() const {
  std::string access = accessBytes ? "v" + std::to_string(accessBytes) : "s";
  return access + "_i" + std::to_string(indexBits);
}

/// The most vectors of one row that a thread may hold.
static constexpr unsigned maxChunks = 32;

static std::optional<Layout> chooseTeam(const Job &job, unsigned accessBytes, std::string &error) {
  std::optional<int64_t> extent = job.constantExtent();
  if (!extent) {
    error = "a reduction over an extent that is not fixed by the spec has no code generation yet";
    return {};
  }
  // A vector may be wider than an access: it is then loaded in pieces.
  unsigned widest = std::max(1u, 16 / std::max(1u, job.narrowest));
  SmallVector<unsigned> vectors;
  for (unsigned vector = 1; vector <= widest; vector *= 2)
    if (*extent % vector == 0)
      vectors.push_back(vector);
  // Wide accesses want wide vectors; single elements are best spread over the lanes.
  if (accessBytes)
    std::reverse(vectors.begin(), vectors.end());

  // The fewest vectors a thread; of equals, the first.
  std::optional<Layout> best;
  std::string reason;
  for (unsigned vector : vectors) {
    uint64_t count = std::max<int64_t>(1, *extent / vector);
    for (unsigned lanes = std::min<uint64_t>(32, llvm::PowerOf2Ceil(count)); lanes; lanes /= 2) {
      Layout layout{vector, lanes, static_cast<unsigned>(llvm::divideCeil(count, lanes))};
      if (layout.chunks > (best ? best->chunks - 1 : maxChunks))
        break;
      std::string refused;
      for (ir::ReduceOp reduce : job.reductions)
        if (refused.empty() && reduce.getOrder())
          refused = refusal(*reduce.getOrder(), *extent, layout);
      if (refused.empty())
        best = layout;
      else
        reason = refused;
    }
  }
  if (best)
    return best;
  error = "no layout within one warp keeps a reduction of " + std::to_string(*extent) + " elements";
  if (!reason.empty())
    error += ": " + reason;
  return {};
}

std::optional<KernelSchedule> chooseSchedule(const std::vector<Job> &jobs, unsigned accessBytes,
                                             unsigned indexBits, std::string &error) {
  KernelSchedule schedule;
  schedule.accessBytes = accessBytes;
  schedule.indexBits = indexBits;
  for (const Job &job : jobs) {
    JobSchedule choice;
    if (!job.reductions.empty()) {
      choice.kind = JobSchedule::Kind::Team;
      std::optional<Layout> layout = chooseTeam(job, accessBytes, error);
      if (!layout)
        return {};
      choice.layout = *layout;
    } else if (accessBytes && job.narrowest) {
      choice.layout.vector = std::max(1u, accessBytes / job.narrowest);
    }
    schedule.jobs.push_back(choice);
  }
  return schedule;
}

std::string refusal(ir::OrderAttr order, int64_t extent, const Layout &layout) {
  std::string error;
  std::optional<OrderBits> bits = OrderBits::of(order, extent, error);
  if (!bits)
    return error;
  unsigned firstLane = llvm::Log2_32(layout.vector);
  unsigned firstChunk = firstLane + llvm::Log2_32(layout.lanes);
  for (const OrderBits::Digit &digit : bits->digits)
    for (unsigned bit = digit.first; bit < digit.first + digit.count; ++bit) {
      bool isLane = bit >= firstLane && bit < firstChunk;
      if (isLane && !digit.isNamed)
        return "index bit " + std::to_string(bit) +
               " is walked inside a slot, but the layout puts it into a lane";
    }
  return {};
}

} // namespace h3
