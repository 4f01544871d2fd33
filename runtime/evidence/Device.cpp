//===-- runtime/evidence/Device.cpp - The device that evidence is taken on -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/evidence/Device.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <dlfcn.h>

namespace h3::evidence {

using cuda::Failure;

cuda::Result<std::unique_ptr<Device>> Device::open(const std::string &library, int index) {
  auto driver = cuda::Driver::load(library);
  if (!driver)
    return driver.error();
  std::unique_ptr<Device> made(new Device(*driver, index));
  auto device = made->driver->device(index);
  if (!device)
    return device.error();
  made->device = *device;
  if (auto failure = made->failed(made->api.primaryCtxRetain(&made->context, made->device),
                                  "cuDevicePrimaryCtxRetain"))
    return *failure;
  if (auto failure = made->failed(made->api.ctxPushCurrent(made->context), "cuCtxPushCurrent"))
    return *failure;
  if (auto failure = made->failed(
          made->api.streamCreate(&made->ownStream, cuda::kStreamNonBlocking), "cuStreamCreate"))
    return *failure;
  return made;
}

Device::~Device() {
  if (!context)
    return;
  if (address)
    api.memFree(address);
  if (ownStream)
    api.streamDestroy(ownStream);
  cuda::CUcontext popped = nullptr;
  api.ctxPopCurrent(&popped);
  api.primaryCtxRelease(device);
}

cuda::Result<uint64_t> Device::memory(size_t bytes) {
  if (bytes <= capacity)
    return address;
  if (address)
    api.memFree(address);
  address = capacity = 0;
  if (auto failure = failed(api.memAlloc(&address, bytes), "cuMemAlloc"))
    return *failure;
  capacity = bytes;
  return address;
}

std::optional<Failure> Device::upload(std::span<const std::byte> bytes) {
  if (auto failure = failed(api.memcpyHtoDAsync(address, bytes.data(), bytes.size(), ownStream),
                            "cuMemcpyHtoDAsync"))
    return failure;
  return failed(api.streamSynchronize(ownStream), "cuStreamSynchronize");
}

std::optional<Failure> Device::download(std::span<std::byte> bytes) {
  if (auto failure = failed(api.memcpyDtoHAsync(bytes.data(), address, bytes.size(), ownStream),
                            "cuMemcpyDtoHAsync"))
    return failure;
  return failed(api.streamSynchronize(ownStream), "cuStreamSynchronize");
}

/// The fastest of ten replays, in nanoseconds; nothing if the driver has no events.
std::optional<double> Device::replay(cuda::CUgraphExec graph) {
  cuda::CUevent begin = nullptr, end = nullptr;
  std::optional<double> best;
  if (api.eventCreate(&begin, cuda::kEventDefault) == cuda::kSuccess &&
      api.eventCreate(&end, cuda::kEventDefault) == cuda::kSuccess)
    for (int round = 0; round < 11; ++round) {
      float milliseconds = 0;
      if (api.eventRecord(begin, ownStream) != cuda::kSuccess ||
          api.graphLaunch(graph, ownStream) != cuda::kSuccess ||
          api.eventRecord(end, ownStream) != cuda::kSuccess ||
          api.eventSynchronize(end) != cuda::kSuccess ||
          api.eventElapsedTime(&milliseconds, begin, end) != cuda::kSuccess) {
        best.reset();
        break;
      }
      // The first warms up.
      if (round > 0)
        best = std::min(best.value_or(1e30), double(milliseconds) * 1e6);
    }
  if (begin)
    api.eventDestroy(begin);
  if (end)
    api.eventDestroy(end);
  return best;
}

std::optional<double> Device::timeGraph(const std::function<bool()> &launch, unsigned count) {
  cuda::CUgraph graph = nullptr;
  cuda::CUgraphExec executable = nullptr;
  if (api.streamBeginCapture(ownStream, cuda::kStreamCaptureRelaxed) != cuda::kSuccess)
    return std::nullopt;
  bool isGood = true;
  for (unsigned i = 0; i < count && isGood; ++i)
    isGood = launch();
  isGood = api.streamEndCapture(ownStream, &graph) == cuda::kSuccess && isGood;
  std::optional<double> best;
  if (isGood && api.graphInstantiate(&executable, graph, 0) == cuda::kSuccess) {
    best = replay(executable);
    api.graphExecDestroy(executable);
  }
  if (graph)
    api.graphDestroy(graph);
  return best ? std::optional(*best / count) : std::nullopt;
}

cuda::Result<Device::Timing> Device::time(const std::function<bool()> &launch) {
  constexpr unsigned kLaunches = 100;
  if (std::optional<double> nanoseconds = timeGraph(launch, kLaunches))
    return Timing{*nanoseconds,
                  "graph of 100 launches on the same buffers, events, the fastest of 10 replays"};
  double best = 1e30;
  for (int round = 0; round < 3; ++round) {
    constexpr unsigned kPlain = 10;
    const auto begin = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < kPlain; ++i)
      if (!launch())
        return Failure{Failure::Kind::Driver, 0, {}, "a timed call was not served"};
    if (auto failure = failed(api.streamSynchronize(ownStream), "cuStreamSynchronize"))
      return *failure;
    best = std::min(
        best,
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() /
            kPlain);
  }
  return Timing{best, "10 launches on the same buffers, host clock, the fastest of 3 rounds"};
}

//===----------------------------------------------------------------------===//
// What machine it is
//===----------------------------------------------------------------------===//

/// The driver's own version, from NVIDIA's management library; empty without it.
static std::string driverVersion() {
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return {};
  using Plain = int (*)();
  const auto init = reinterpret_cast<Plain>(dlsym(library, "nvmlInit_v2"));
  const auto shutdown = reinterpret_cast<Plain>(dlsym(library, "nvmlShutdown"));
  const auto version =
      reinterpret_cast<int (*)(char *, unsigned)>(dlsym(library, "nvmlSystemGetDriverVersion"));
  if (!init || !shutdown || !version || init() != 0)
    return {};
  char text[96] = "";
  const bool isKnown = version(text, sizeof(text) - 1) == 0;
  shutdown();
  return isKnown ? text : "";
}

/// Of a Python package that the machine's python3 has; empty without either.
static std::string packageVersion(const std::string &name) {
  const std::string command =
      "python3 -c \"import importlib.metadata as m; print(m.version('" + name + "'))\" 2>/dev/null";
  std::FILE *pipe = popen(command.c_str(), "r");
  if (!pipe)
    return {};
  char text[96] = "";
  const bool isRead = std::fgets(text, sizeof(text), pipe) != nullptr;
  const bool isGood = pclose(pipe) == 0;
  std::string version(isRead && isGood ? text : "");
  while (version.ends_with('\n'))
    version.pop_back();
  return version;
}

Machine Device::machine() const {
  Machine machine;
  if (auto name = driver->deviceName(index))
    machine.product = *name;
  if (auto capability = driver->capability(index)) {
    machine.major = capability->major;
    machine.minor = capability->minor;
  }
  if (auto version = driver->version())
    machine.cuda = std::to_string(*version / 1000) + "." + std::to_string(*version % 1000 / 10);
  machine.driver = driverVersion();
  machine.torch = packageVersion("torch");
  machine.triton = packageVersion("triton");
  return machine;
}

} // namespace h3::evidence
