//===-- codegen/driver/RunCuda.cpp - A CUDA device as a backend -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/RunImage.h"
#include "runtime/cuda/Session.h"

#include <fmt/core.h>

#include <map>
#include <set>

namespace h3 {
namespace {

class CudaRun {
public:
  CudaRun(const BoundCall &call, RunResult &result) : call(call), result(result) {}
  void run();

private:
  void fail(ExitCode code, std::string message) {
    result.code = code;
    result.message = std::move(message);
  }
  void fail(const cuda::Failure &failure) {
    fail(failure.isMissing() ? ExitCode::Lacking : ExitCode::BadInput, failure.message);
  }
  bool makeImage(const cuda::Session &session);
  bool upload(cuda::Session &session);
  bool launch(cuda::Session &session);
  bool time(cuda::Session &session, const plan::Launch &launch);
  /// How many sets of buffers, with those that are there, leave nothing in a cache.
  std::optional<unsigned> copiesToRotate(const cuda::Session &session, uint64_t bytes);
  /// The same call on new copies of its buffers. Empty after a failure.
  std::optional<PlannedCall> onCopies(cuda::Session &session);
  bool download(cuda::Session &session);

  const BoundCall &call;
  RunResult &result;
  plan::OperatorPlan plan;
  std::shared_ptr<RunnableImage> image;
  std::map<tensor::TensorData *, uint64_t> addresses; ///< on the device, by buffer
  std::string assembler;                              ///< its version
};

/// Compiles for exactly the capability of the device.
bool CudaRun::makeImage(const cuda::Session &session) {
  cuda::Capability capability = session.capability();
  std::string name = fmt::format("sm_{}{}", capability.major, capability.minor);
  const Target *target = findTarget(name);
  if (!target) {
    fail(ExitCode::Lacking, "there is no target " + name + " for " + session.deviceName());
    return false;
  }
  std::string error;
  const Backend &backend = backendOf(*target);
  const Ability ptxas = backend.ability(*target, Step::Assemble, call.request.ptxas);
  if (!ptxas) {
    fail(ExitCode::Lacking, ptxas.obstacle);
    return false;
  }
  image = compileForRun(call, *target, result);
  if (!image)
    return false;
  if (!image->assembly)
    image->assembly = backend.assemble(image->image, *target, ptxas.tool, error);
  if (!image->assembly) {
    fail(ExitCode::Lacking, error);
    return false;
  }
  std::optional<plan::OperatorPlan> chosen = planForRun(call, image->image, result);
  if (!chosen)
    return false;
  plan = std::move(*chosen);
  assembler = ptxas.tool->version;
  result.report = fmt::format("{} ({}), ptxas {}", session.deviceName(), name, assembler);
  return true;
}

bool CudaRun::upload(cuda::Session &session) {
  for (const BoundMember &member : call.members)
    for (const BoundView &view : member.tensors) {
      if (addresses.count(view.storage))
        continue;
      cuda::Result<uint64_t> address = session.upload(view.storage->data.span());
      if (!address) {
        fail(address.error());
        return false;
      }
      addresses[view.storage] = *address;
    }
  return true;
}

bool CudaRun::launch(cuda::Session &session) {
  std::optional<PlannedCall> planned =
      planCall(call, plan, [&](tensor::TensorData *storage) { return addresses[storage]; }, result);
  if (!planned)
    return false;
  session.setStart(call.request.dependentLaunch ? cuda::Start::Early : cuda::Start::AfterAll);
  std::span<const plan::Launch> launches = planned->launches();
  auto bytes = std::as_bytes(std::span(image->assembly->bytes));
  for (const plan::Launch &launch : launches)
    if (std::optional<cuda::Failure> failure =
            session.run(bytes, plan.variants[launch.variant].entry, launch)) {
      fail(*failure);
      return false;
    }
  if (call.request.repetitions == 0)
    return true;
  if (launches.size() != 1) {
    fail(ExitCode::BadInput, fmt::format("the call takes {} launches, the time that can be taken "
                                         "is that of one",
                                         launches.size()));
    return false;
  }
  return time(session, launches.front());
}

std::optional<unsigned> CudaRun::copiesToRotate(const cuda::Session &session, uint64_t bytes) {
  constexpr uint64_t kLeastBytes = 256 << 20; // several times the largest L2, 126 MB
  constexpr uint64_t kLeastCopies = 8;
  constexpr uint64_t kMostCopies = 1024; // tiny calls: a graph of as many nodes
  cuda::Result<size_t> available = session.freeMemory();
  if (!available) {
    fail(available.error());
    return {};
  }
  bytes = std::max<uint64_t>(bytes, 1);
  uint64_t wanted = std::max(kLeastCopies, (kLeastBytes + bytes - 1) / bytes);
  uint64_t fitting = 1 + *available / 2 / bytes;
  return static_cast<unsigned>(std::min({wanted, fitting, kMostCopies}));
}

std::optional<PlannedCall> CudaRun::onCopies(cuda::Session &session) {
  std::map<tensor::TensorData *, uint64_t> copies;
  for (auto [storage, address] : addresses) {
    cuda::Result<uint64_t> copy = session.duplicate(address);
    if (!copy) {
      fail(copy.error());
      return {};
    }
    copies[storage] = *copy;
  }
  RunResult unreported;
  std::optional<PlannedCall> planned = planCall(
      call, plan, [&](tensor::TensorData *storage) { return copies[storage]; }, unreported);
  if (!planned)
    fail(unreported.code, unreported.message);
  return planned;
}

bool CudaRun::time(cuda::Session &session, const plan::Launch &launch) {
  const plan::Variant &variant = plan.variants[launch.variant];
  auto bytes = std::as_bytes(std::span(image->assembly->bytes));
  LaunchTimes times;
  times.device = session.deviceName();
  times.driver =
      fmt::format("{}.{}", session.driverVersion() / 1000, session.driverVersion() % 1000 / 10);
  times.ptxas = assembler;
  times.variant = variant.name;
  times.entry = variant.entry;
  times.grid = launch.grid;
  times.block = launch.block;
  times.sharedBytes = launch.sharedBytes;
  if (auto usage = image->assembly->usage.find(variant.entry);
      usage != image->assembly->usage.end()) {
    times.registers = usage->second.registers;
    times.spillBytes = usage->second.spillBytes;
  }
  times.repetitions = call.request.repetitions;
  for (auto [storage, address] : addresses)
    times.bufferBytes += storage->data.size();

  auto measured = [&](double &microseconds, cuda::Result<float> mean) {
    if (!mean) {
      fail(mean.error());
      return false;
    }
    microseconds = *mean * 1000;
    return true;
  };
  std::vector<plan::Launch> launches = {launch};
  if (!measured(times.plain, session.time(bytes, variant.entry, launch, times.repetitions)) ||
      !measured(times.same, session.timeGraph(bytes, variant.entry, launches, times.repetitions)))
    return false;
  std::optional<unsigned> copies = copiesToRotate(session, times.bufferBytes);
  if (!copies)
    return false;
  times.copies = *copies;
  // Every buffer begins at a multiple of 256 bytes, so that all copies get the same variant.
  std::vector<PlannedCall> calls; // launches of lists point into them
  while (launches.size() < times.copies) {
    std::optional<PlannedCall> next = onCopies(session);
    if (!next)
      return false;
    launches.push_back(next->launches().front());
    calls.push_back(std::move(*next));
  }
  if (!measured(times.rotated,
                session.timeGraph(bytes, variant.entry, launches, times.repetitions)))
    return false;
  result.report +=
      fmt::format(", {:.2f} us a launch (mean of {}), by graph {:.2f} us on the same "
                  "buffers, {:.2f} us on {} sets of buffers in turn",
                  times.plain, times.repetitions, times.same, times.rotated, times.copies);
  result.times = std::move(times);
  return true;
}

bool CudaRun::download(cuda::Session &session) {
  std::set<tensor::TensorData *> written;
  for (const BoundMember &member : call.members)
    for (size_t i = 0; i < member.tensors.size(); ++i)
      if (call.program.tensors[i].isOutput)
        written.insert(member.tensors[i].storage);
  for (tensor::TensorData *storage : written)
    if (std::optional<cuda::Failure> failure =
            session.download(addresses[storage], storage->data.span())) {
      fail(*failure);
      return false;
    }
  return true;
}

/// Opening a context takes longer than most calls: a process has one, which ends with it.
cuda::Result<cuda::Session> &session() {
  static auto *session = new cuda::Result<cuda::Session>(cuda::Session::open(std::nullopt));
  return *session;
}

void CudaRun::run() {
  cuda::Result<cuda::Session> &opened = session();
  if (!opened) {
    fail(opened.error());
    return;
  }
  if (makeImage(*opened) && upload(*opened) && launch(*opened))
    download(*opened);
  opened->releaseMemory();
}

} // namespace

void runCuda(const BoundCall &call, RunResult &result) { CudaRun(call, result).run(); }

} // namespace h3
