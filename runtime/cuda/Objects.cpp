//===-- runtime/cuda/Objects.cpp - Contexts, modules, memory, streams, events *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Objects.h"

#include <algorithm>
#include <cstring>

namespace h3::cuda {

Result<std::shared_ptr<const PrimaryContext>>
PrimaryContext::retain(std::shared_ptr<const Driver> driver, int deviceIndex) {
  Result<CUdevice> device = driver->device(deviceIndex);
  if (!device)
    return device.error();
  CUcontext context = nullptr;
  if (auto failure = driver->check(driver->api().primaryCtxRetain(&context, *device),
                                   "cuDevicePrimaryCtxRetain"))
    return *failure;
  return std::shared_ptr<const PrimaryContext>(
      new PrimaryContext(std::move(driver), *device, context));
}

PrimaryContext::~PrimaryContext() { api().primaryCtxRelease(device); }

std::optional<Failure> PrimaryContext::push() const {
  return owner->check(api().ctxPushCurrent(context), "cuCtxPushCurrent");
}

std::optional<Failure> PrimaryContext::pop() const {
  CUcontext popped = nullptr;
  return owner->check(api().ctxPopCurrent(&popped), "cuCtxPopCurrent");
}

/// Makes an object by `create(&handle)` inside the context.
template <typename Handle, typename Create>
static Result<Handle> make(const PrimaryContext &context, const char *call, Create create) {
  Handle handle = Handle();
  if (auto failure = context.inside([&] { return context.driver().check(create(&handle), call); }))
    return *failure;
  return handle;
}

Result<Stream> Stream::create(ContextRef context) {
  Result<CUstream> handle = make<CUstream>(*context, "cuStreamCreate", [&](CUstream *result) {
    return context->api().streamCreate(result, kStreamNonBlocking);
  });
  if (!handle)
    return handle.error();
  return Stream({std::move(context), *handle});
}

std::optional<Failure> Stream::synchronize() const {
  const PrimaryContext &context = *owned.context();
  return context.inside([&] {
    return context.driver().check(context.api().streamSynchronize(handle()), "cuStreamSynchronize");
  });
}

Result<DeviceBuffer> DeviceBuffer::allocate(ContextRef context, size_t size) {
  Result<CUdeviceptr> handle = make<CUdeviceptr>(*context, "cuMemAlloc", [&](CUdeviceptr *result) {
    return context->api().memAlloc(result, std::max<size_t>(size, 1)); // the driver refuses 0
  });
  if (!handle)
    return handle.error();
  return DeviceBuffer({std::move(context), *handle}, size);
}

static Failure badInput(std::string message) {
  return {Failure::Kind::BadInput, 0, {}, std::move(message)};
}

static std::string tooLong(size_t bytes, size_t length) {
  return "a copy of " + std::to_string(bytes) + " bytes is longer than the buffer of " +
         std::to_string(length);
}

std::optional<Failure> DeviceBuffer::upload(std::span<const std::byte> from,
                                            const Stream &stream) const {
  if (from.size() > length)
    return badInput(tooLong(from.size(), length));
  if (from.empty())
    return std::nullopt;
  const PrimaryContext &context = *owned.context();
  return context.inside([&] {
    return context.driver().check(
        context.api().memcpyHtoDAsync(address(), from.data(), from.size(), stream.handle()),
        "cuMemcpyHtoDAsync");
  });
}

std::optional<Failure> DeviceBuffer::download(std::span<std::byte> to, const Stream &stream) const {
  if (to.size() > length)
    return badInput(tooLong(to.size(), length));
  if (to.empty())
    return std::nullopt;
  const PrimaryContext &context = *owned.context();
  return context.inside([&] {
    return context.driver().check(
        context.api().memcpyDtoHAsync(to.data(), address(), to.size(), stream.handle()),
        "cuMemcpyDtoHAsync");
  });
}

std::optional<Failure> DeviceBuffer::fill(uint8_t value, const Stream &stream) const {
  if (length == 0)
    return std::nullopt;
  const PrimaryContext &context = *owned.context();
  return context.inside([&] {
    return context.driver().check(
        context.api().memsetD8Async(address(), value, length, stream.handle()), "cuMemsetD8Async");
  });
}

std::optional<Failure> DeviceBuffer::copyFrom(const DeviceBuffer &from,
                                              const Stream &stream) const {
  if (from.size() > length)
    return badInput(tooLong(from.size(), length));
  if (from.size() == 0)
    return std::nullopt;
  const PrimaryContext &context = *owned.context();
  return context.inside([&] {
    return context.driver().check(
        context.api().memcpyDtoDAsync(address(), from.address(), from.size(), stream.handle()),
        "cuMemcpyDtoDAsync");
  });
}

Result<Module> Module::load(ContextRef context, std::span<const std::byte> cubin) {
  static constexpr unsigned char kElf[] = {0x7f, 'E', 'L', 'F'};
  if (cubin.size() < 64 || std::memcmp(cubin.data(), kElf, sizeof(kElf)) != 0)
    return badInput("the image is not a cubin: it does not begin as an ELF file does");
  Result<CUmodule> handle = make<CUmodule>(*context, "cuModuleLoadData", [&](CUmodule *result) {
    return context->api().moduleLoadData(result, cubin.data());
  });
  if (!handle)
    return handle.error();
  return Module({std::move(context), *handle});
}

Result<CUfunction> Module::function(const std::string &entry) const {
  const PrimaryContext &context = *owned.context();
  const std::string call = "cuModuleGetFunction(" + entry + ")";
  return make<CUfunction>(context, call.c_str(), [&](CUfunction *result) {
    return context.api().moduleGetFunction(result, owned.handle(), entry.c_str());
  });
}

Result<Event> Event::create(ContextRef context) {
  Result<CUevent> handle = make<CUevent>(*context, "cuEventCreate", [&](CUevent *result) {
    return context->api().eventCreate(result, kEventDefault);
  });
  if (!handle)
    return handle.error();
  return Event({std::move(context), *handle});
}

std::optional<Failure> Event::record(const Stream &stream) const {
  const PrimaryContext &context = *owned.context();
  return context.inside([&] {
    return context.driver().check(context.api().eventRecord(owned.handle(), stream.handle()),
                                  "cuEventRecord");
  });
}

Result<float> Event::millisecondsSince(const Event &start) const {
  const PrimaryContext &context = *owned.context();
  float milliseconds = 0;
  auto failure = context.inside([&]() -> std::optional<Failure> {
    if (auto waited = context.driver().check(context.api().eventSynchronize(owned.handle()),
                                             "cuEventSynchronize"))
      return waited;
    return context.driver().check(
        context.api().eventElapsedTime(&milliseconds, start.owned.handle(), owned.handle()),
        "cuEventElapsedTime");
  });
  if (failure)
    return *failure;
  return milliseconds;
}

Result<Graph> Graph::capture(ContextRef context, const Stream &stream,
                             const std::function<std::optional<Failure>()> &body) {
  const DriverApi &api = context->api();
  if (auto failure = context->inside([&] {
        return context->driver().check(
            api.streamBeginCapture(stream.handle(), kStreamCaptureRelaxed), "cuStreamBeginCapture");
      }))
    return *failure;
  std::optional<Failure> failure = body();
  Result<CUgraph> recorded = make<CUgraph>(*context, "cuStreamEndCapture", [&](CUgraph *result) {
    return api.streamEndCapture(stream.handle(), result);
  });
  // A capture that went wrong ends with an error of its own; the body's is the cause.
  if (!recorded)
    return failure ? *failure : recorded.error();
  const Owned<CUgraph, &DriverApi::graphDestroy> graph(context, *recorded);
  if (failure)
    return *failure;
  Result<CUgraphExec> handle =
      make<CUgraphExec>(*context, "cuGraphInstantiate", [&](CUgraphExec *result) {
        return api.graphInstantiate(result, graph.handle(), 0);
      });
  if (!handle)
    return handle.error();
  return Graph({std::move(context), *handle});
}

std::optional<Failure> Graph::launch(const Stream &stream) const {
  const PrimaryContext &context = *owned.context();
  return context.inside([&] {
    return context.driver().check(context.api().graphLaunch(owned.handle(), stream.handle()),
                                  "cuGraphLaunch");
  });
}

std::optional<Failure> launch(const PrimaryContext &context, CUfunction function,
                              const plan::Launch &launch, const Stream &stream, Start start) {
  // Above this much dynamic shared memory a kernel must ask for it.
  constexpr uint32_t kSharedWithoutAsking = 48 * 1024;
  if (launch.isEmpty())
    return std::nullopt;
  if (start == Start::Early && !launch.waits)
    return badInput("the kernel does not wait for the one in front of it: it cannot start early");
  if (start == Start::Early && !context.api().launchKernelEx)
    return Failure{
        Failure::Kind::NoDriver,
        0,
        {},
        "the CUDA driver has no cuLaunchKernelEx, which an early start takes: a driver of "
        "CUDA 11.8 or newer is needed"};
  // The driver copies each argument's bytes from its address; the low bytes come first.
  std::array<void *, plan::kMaxArguments + 1> arguments;
  size_t count = 0;
  if (!launch.members.empty())
    arguments[count++] = const_cast<std::byte *>(launch.members.data());
  for (const plan::Argument &argument : launch.args())
    arguments[count++] = const_cast<uint64_t *>(&argument.bits);
  return context.inside([&]() -> std::optional<Failure> {
    if (launch.sharedBytes > kSharedWithoutAsking)
      if (auto failure = context.driver().check(
              context.api().funcSetAttribute(function, kFunctionMaxDynamicShared,
                                             static_cast<int>(launch.sharedBytes)),
              "cuFuncSetAttribute"))
        return failure;
    if (start == Start::Early) {
      CUlaunchAttribute early = {kLaunchProgrammatic, {}, {}};
      early.value.number = 1;
      const CUlaunchConfig config = {
          launch.grid[0],  launch.grid[1],     launch.grid[2],  launch.block[0], launch.block[1],
          launch.block[2], launch.sharedBytes, stream.handle(), &early,          1};
      return context.driver().check(
          context.api().launchKernelEx(&config, function, arguments.data(), nullptr),
          "cuLaunchKernelEx");
    }
    return context.driver().check(
        context.api().launchKernel(function, launch.grid[0], launch.grid[1], launch.grid[2],
                                   launch.block[0], launch.block[1], launch.block[2],
                                   launch.sharedBytes, stream.handle(), arguments.data(), nullptr),
        "cuLaunchKernel");
  });
}

} // namespace h3::cuda
