//===-- codegen/driver/RunHere.cpp - What a backend runs on this machine --===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Runs the very image that ships, as its backend does it on this machine.
//
//===----------------------------------------------------------------------===//

#include "codegen/driver/RunImage.h"

#include <algorithm>
#include <set>

namespace h3 {
namespace {

/// Each buffer of a call once.
struct CallBuffers {
  std::vector<tensor::TensorData *> storages;
  std::vector<Buffer> buffers; ///< of `storages`

  explicit CallBuffers(const BoundCall &call) {
    std::set<const tensor::TensorData *> read, written;
    for (const BoundMember &member : call.members)
      for (size_t i = 0; i < member.tensors.size(); ++i) {
        tensor::TensorData *storage = member.tensors[i].storage;
        (call.program.tensors[i].isOutput ? written : read).insert(storage);
        if (std::ranges::find(storages, storage) == storages.end())
          storages.push_back(storage);
      }
    for (tensor::TensorData *storage : storages)
      buffers.push_back(
          {storage->name, storage->data.span(), read.contains(storage), written.contains(storage)});
  }
};

/// The last of \p backend's targets that this machine can run; null with \p obstacle set.
const Target *bestTarget(const Backend &backend, std::string &obstacle) {
  const Target *best = nullptr;
  for (const Target &target : targets()) {
    if (target.backend != backend.name())
      continue;
    Ability ability = backend.ability(target, Step::Execute);
    if (ability)
      best = &target;
    else
      obstacle = ability.obstacle;
  }
  if (best)
    obstacle.clear();
  return best;
}

} // namespace

void runHere(const BoundCall &call, const Backend &backend, const Target *target,
             RunResult &result) {
  auto fail = [&](ExitCode code, std::string message) {
    result.code = code;
    result.message = std::move(message);
  };
  std::string obstacle;
  if (!target)
    target = bestTarget(backend, obstacle);
  else
    obstacle = backend.ability(*target, Step::Execute).obstacle;
  if (!target || !obstacle.empty())
    return fail(ExitCode::Lacking, obstacle);
  std::shared_ptr<RunnableImage> image = compileForRun(call, *target, result);
  if (!image)
    return;
  std::optional<plan::OperatorPlan> plan = planForRun(call, image->image, result);
  if (!plan)
    return;

  CallBuffers buffers(call);
  std::optional<PlannedCall> planned;
  auto launches = [&](std::span<const uint64_t> addresses) -> std::span<const plan::Launch> {
    auto addressOf = [&](tensor::TensorData *storage) {
      return addresses[std::ranges::find(buffers.storages, storage) - buffers.storages.begin()];
    };
    planned = planCall(call, *plan, addressOf, result);
    return planned ? planned->launches() : std::span<const plan::Launch>();
  };
  if (std::optional<std::string> problem =
          backend.execute(image->image, *target, {*plan, buffers.buffers, launches}, result.report))
    fail(ExitCode::BadInput, *problem);
}

RunBackend runBackend(std::string_view name) {
  if (name == "reference")
    return runReference;
  if (name == "cuda")
    return runCuda;
  const Backend *backend = findBackend(name == "ptx" ? "nvptx" : name);
  if (!backend)
    return {};
  return [backend](const BoundCall &call, RunResult &result) {
    // Every target of the PTX interpreter gives the same bits; this one is the usual.
    const std::string fallback = backend->name() == "nvptx" ? "sm_90" : "";
    const std::string &name = call.request.target.empty() ? fallback : call.request.target;
    const Target *target = name.empty() ? nullptr : findTarget(name);
    if (!name.empty() && (!target || target->backend != backend->name())) {
      result.code = ExitCode::BadInput;
      result.message =
          target ? "'" + name + "' is no target of the backend " + std::string(backend->name())
                 : "unknown target '" + name + "'; there are: " + targetNames();
      return;
    }
    runHere(call, *backend, target, result);
  };
}

} // namespace h3
