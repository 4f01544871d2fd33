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
  if (auto failure = cuda::launch(*context, *kernel, launch, stream))
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
  Result<Event> start = Event::create(context);
  if (!start)
    return start.error();
  Result<Event> stop = Event::create(context);
  if (!stop)
    return stop.error();
  if (auto failure = start->record(stream))
    return *failure;
  for (unsigned i = 0; i < repetitions; ++i)
    if (auto failure = cuda::launch(*context, *kernel, launch, stream))
      return *failure;
  if (auto failure = stop->record(stream))
    return *failure;
  Result<float> milliseconds = stop->millisecondsSince(*start);
  if (!milliseconds)
    return milliseconds.error();
  return *milliseconds / static_cast<float>(repetitions);
}

} // namespace h3::cuda
