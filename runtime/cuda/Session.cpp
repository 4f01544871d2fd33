//===-- runtime/cuda/Session.cpp - Running kernels on host tensors *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Session.h"

#include <algorithm>

namespace h3::cuda {

Result<Session> Session::open(std::optional<int> deviceIndex, const std::string &library) {
  auto driver = Driver::load(library);
  if (!driver)
    return driver.error();
  if (!deviceIndex) {
    Result<int> current = (*driver)->currentDevice();
    if (!current)
      return current.error();
    deviceIndex = *current;
  }
  Result<Capability> capability = (*driver)->capability(*deviceIndex);
  if (!capability)
    return capability.error();
  Result<std::string> name = (*driver)->deviceName(*deviceIndex);
  if (!name)
    return name.error();
  Result<int> version = (*driver)->version();
  if (!version)
    return version.error();
  auto context = PrimaryContext::retain(*driver, *deviceIndex);
  if (!context)
    return context.error();
  Result<Stream> stream = Stream::create(*context);
  if (!stream)
    return stream.error();
  Session session(*context, std::move(*stream));
  session.index = *deviceIndex;
  session.deviceCapability = *capability;
  session.name = std::move(*name);
  session.version = *version;
  return session;
}

Result<uint64_t> Session::upload(std::span<const std::byte> from) {
  Result<DeviceBuffer> buffer = DeviceBuffer::allocate(context, from.size());
  if (!buffer)
    return buffer.error();
  if (auto failure = buffer->upload(from, stream))
    return *failure;
  if (auto failure = stream.synchronize())
    return *failure;
  buffers.push_back(std::move(*buffer));
  return buffers.back().address();
}

Result<uint64_t> Session::allocate(size_t size, uint8_t fill) {
  Result<DeviceBuffer> buffer = DeviceBuffer::allocate(context, size);
  if (!buffer)
    return buffer.error();
  if (auto failure = buffer->fill(fill, stream))
    return *failure;
  buffers.push_back(std::move(*buffer));
  return buffers.back().address();
}

Result<uint64_t> Session::duplicate(uint64_t address) {
  Result<const DeviceBuffer *> from = bufferAt(address);
  if (!from)
    return from.error();
  Result<DeviceBuffer> buffer = DeviceBuffer::allocate(context, (*from)->size());
  if (!buffer)
    return buffer.error();
  if (auto failure = buffer->copyFrom(**from, stream))
    return *failure;
  buffers.push_back(std::move(*buffer));
  return buffers.back().address();
}

Result<size_t> Session::freeMemory() const {
  size_t available = 0, total = 0;
  if (auto failure = context->inside([&] {
        return context->driver().check(context->api().memGetInfo(&available, &total),
                                       "cuMemGetInfo");
      }))
    return *failure;
  return available;
}

Result<const DeviceBuffer *> Session::bufferAt(uint64_t address) const {
  for (const DeviceBuffer &buffer : buffers)
    if (buffer.address() == address)
      return &buffer;
  return Failure{
      Failure::Kind::BadInput, 0, {}, "no memory of this session begins at that address"};
}

std::optional<Failure> Session::download(uint64_t address, std::span<std::byte> to) {
  Result<const DeviceBuffer *> buffer = bufferAt(address);
  if (!buffer)
    return buffer.error();
  if (auto failure = (*buffer)->download(to, stream))
    return failure;
  return stream.synchronize();
}

std::optional<Failure> Session::overwrite(uint64_t address, std::span<const std::byte> from) {
  Result<const DeviceBuffer *> buffer = bufferAt(address);
  if (!buffer)
    return buffer.error();
  if (auto failure = (*buffer)->upload(from, stream))
    return failure;
  return stream.synchronize();
}

Result<CUfunction> Session::function(std::span<const std::byte> cubin, const std::string &entry) {
  for (const Image &image : images)
    if (std::equal(cubin.begin(), cubin.end(), image.cubin.begin(), image.cubin.end()))
      return image.module.function(entry);
  Result<Module> module = Module::load(context, cubin);
  if (!module)
    return module.error();
  images.push_back({{cubin.begin(), cubin.end()}, std::move(*module)});
  return images.back().module.function(entry);
}

std::optional<Failure> Session::run(std::span<const std::byte> cubin, const std::string &entry,
                                    const plan::Launch &launch) {
  if (launch.isEmpty())
    return std::nullopt;
  Result<CUfunction> kernel = function(cubin, entry);
  if (!kernel)
    return kernel.error();
  if (auto failure = cuda::launch(*context, *kernel, launch, stream, start))
    return failure;
  return stream.synchronize();
}

Result<float> Session::time(std::span<const std::byte> cubin, const std::string &entry,
                            const plan::Launch &launch, unsigned repetitions) {
  if (launch.isEmpty())
    return 0.0f;
  repetitions = std::max(repetitions, 1u);
  Result<CUfunction> kernel = function(cubin, entry);
  if (!kernel)
    return kernel.error();
  Result<float> milliseconds = between([&]() -> std::optional<Failure> {
    for (unsigned i = 0; i < repetitions; ++i)
      if (auto failure = cuda::launch(*context, *kernel, launch, stream, start))
        return failure;
    return std::nullopt;
  });
  if (!milliseconds)
    return milliseconds.error();
  return *milliseconds / static_cast<float>(repetitions);
}

Result<float> Session::timeGraph(std::span<const std::byte> cubin, const std::string &entry,
                                 std::span<const plan::Launch> launches, unsigned repetitions) {
  if (launches.empty() || std::any_of(launches.begin(), launches.end(),
                                      [](const plan::Launch &launch) { return launch.isEmpty(); }))
    return 0.0f;
  Result<CUfunction> kernel = function(cubin, entry);
  if (!kernel)
    return kernel.error();
  const size_t turns = (kGraphLaunches + launches.size() - 1) / launches.size();
  Result<Graph> graph = Graph::capture(context, stream, [&]() -> std::optional<Failure> {
    for (size_t turn = 0; turn < turns; ++turn)
      for (const plan::Launch &launch : launches)
        if (auto failure = cuda::launch(*context, *kernel, launch, stream, start))
          return failure;
    return std::nullopt;
  });
  if (!graph)
    return graph.error();
  const size_t inGraph = turns * launches.size();
  const size_t replays = std::max<size_t>((repetitions + inGraph - 1) / inGraph, 1);
  auto replay = [&]() -> std::optional<Failure> {
    for (size_t i = 0; i < replays; ++i)
      if (auto failure = graph->launch(stream))
        return failure;
    return std::nullopt;
  };
  if (auto failure = replay())
    return *failure;
  Result<float> milliseconds = between(replay);
  if (!milliseconds)
    return milliseconds.error();
  return *milliseconds / static_cast<float>(replays * inGraph);
}

Result<float> Session::between(const std::function<std::optional<Failure>()> &body) {
  Result<Event> start = Event::create(context);
  if (!start)
    return start.error();
  Result<Event> stop = Event::create(context);
  if (!stop)
    return stop.error();
  if (auto failure = start->record(stream))
    return *failure;
  if (auto failure = body())
    return *failure;
  if (auto failure = stop->record(stream))
    return *failure;
  return stop->millisecondsSince(*start);
}

} // namespace h3::cuda
