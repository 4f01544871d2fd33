//===-- codegen/driver/RunPtx.cpp - The PTX interpreter as a backend ------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Runs the very PTX that ships, without a GPU: the buffers' own addresses stand for addresses on a
// device, and the launch is the one that the plan chooses for them.
//
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Interpreter.h"

#include "backends/nvptx/ptx/Reader.h"
#include "codegen/driver/RunImage.h"

#include <fmt/core.h>

#include <set>

namespace h3 {

/// One region for each buffer. An output that shares no buffer with an input holds nothing yet.
static std::vector<ptx::Region> regionsOf(const BoundCall &call) {
  std::set<const tensor::TensorData *> read, written, seen;
  for (const BoundMember &member : call.members)
    for (size_t i = 0; i < member.tensors.size(); ++i)
      (call.program.tensors[i].isOutput ? written : read).insert(member.tensors[i].storage);
  std::vector<ptx::Region> regions;
  for (const BoundMember &member : call.members)
    for (const BoundView &view : member.tensors) {
      tensor::TensorData *storage = view.storage;
      if (!seen.insert(storage).second)
        continue;
      ptx::Region region;
      region.name = storage->name;
      region.address = reinterpret_cast<uint64_t>(storage->data.data());
      region.bytes = storage->data.span();
      region.writable = written.count(storage);
      region.initialised = read.count(storage);
      regions.push_back(region);
    }
  return regions;
}

void runPtx(const BoundCall &call, RunResult &result) {
  const Target *target = findTarget(call.request.target);
  if (!target) {
    result.code = ExitCode::BadInput;
    result.message = "unknown target '" + call.request.target + "'; there are: " + targetNames();
    return;
  }
  std::shared_ptr<RunnableImage> image = compileForRun(call, *target, result);
  if (!image)
    return;
  auto fail = [&](std::string message) {
    result.code = ExitCode::BadInput;
    result.message = std::move(message);
  };
  if (!image->module) {
    auto module = ptx::read(image->image.text);
    if (!module)
      return fail(module.error().message());
    image->module = std::move(*module);
  }
  result.report = "PTX interpreter (" + std::string(target->name) + ")";
  std::optional<plan::OperatorPlan> plan = planForRun(call, image->image, result);
  if (!plan)
    return;
  std::optional<PlannedCall> planned = planCall(
      call, *plan,
      [](const tensor::TensorData *storage) {
        return reinterpret_cast<uint64_t>(storage->data.data());
      },
      result);
  if (!planned)
    return;
  std::vector<ptx::Region> regions = regionsOf(call);
  uint64_t instructions = 0;
  for (const plan::Launch &launch : planned->launches()) {
    if (launch.isEmpty())
      continue;
    ptx::RunStatistics statistics;
    if (std::optional<ptx::Fault> fault =
            ptx::run(*image->module, plan->variants[launch.variant].entry,
                     ptx::LaunchConfig(launch), regions, {}, &statistics))
      return fail(fault->message());
    instructions += statistics.instructions;
  }
  if (instructions)
    result.report += fmt::format(", {} instructions", instructions);
}

} // namespace h3
