//===-- codegen/driver/RunCuda.cpp - A CUDA device as a backend -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/Tools.h"
#include "codegen/driver/RunImage.h"
#include "runtime/cuda/Session.h"

#include <fmt/core.h>

#include <map>

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
  bool download(cuda::Session &session);

  const BoundCall &call;
  RunResult &result;
  plan::OperatorPlan plan;
  std::shared_ptr<RunnableImage> image;
  std::map<tensor::TensorData *, uint64_t> addresses; ///< on the device, by buffer
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
  std::optional<nvptx::Tool> ptxas =
      nvptx::findTool("ptxas", call.request.ptxas, "H3GEN_PTXAS", error);
  if (!ptxas) {
    fail(ExitCode::Lacking, error);
    return false;
  }
  image = compileForRun(call, *target, result);
  if (!image)
    return false;
  if (!image->assembly)
    image->assembly = nvptx::assemble(*ptxas, image->image.text, *target, error);
  if (!image->assembly) {
    fail(ExitCode::Lacking, error);
    return false;
  }
  std::optional<plan::OperatorPlan> chosen = planForRun(call, image->image, result);
  if (!chosen)
    return false;
  plan = std::move(*chosen);
  result.report = fmt::format("{} ({}), ptxas {}", session.deviceName(), name, ptxas->version);
  return true;
}

bool CudaRun::upload(cuda::Session &session) {
  for (const BoundView &view : call.tensors) {
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
  std::optional<plan::Launch> chosen = planLaunch(
      call, plan, [&](tensor::TensorData *storage) { return addresses[storage]; }, result);
  if (!chosen)
    return false;
  const plan::Launch &launch = *chosen;
  const plan::Variant &variant = plan.variants[launch.variant];
  auto bytes = std::as_bytes(std::span(image->assembly->cubin));
  if (std::optional<cuda::Failure> failure = session.run(bytes, variant.entry, launch)) {
    fail(*failure);
    return false;
  }
  if (call.request.repetitions) {
    cuda::Result<float> mean = session.time(bytes, variant.entry, launch, call.request.repetitions);
    if (!mean) {
      fail(mean.error());
      return false;
    }
    result.report +=
        fmt::format(", {:.2f} us a launch (mean of {})", *mean * 1000, call.request.repetitions);
  }
  return true;
}

bool CudaRun::download(cuda::Session &session) {
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    tensor::TensorData *storage = call.tensors[i].storage;
    if (!call.program.tensors[i].isOutput)
      continue;
    if (std::optional<cuda::Failure> failure =
            session.download(addresses[storage], storage->data.span())) {
      fail(*failure);
      return false;
    }
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
  opened->freeMemory();
}

} // namespace

void runCuda(const BoundCall &call, RunResult &result) { CudaRun(call, result).run(); }

} // namespace h3
