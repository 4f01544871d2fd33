//===-- runtime/cuda/Session.h - Running kernels on host tensors *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_CUDA_SESSION_H
#define H3_RUNTIME_CUDA_SESSION_H

#include "runtime/cuda/Objects.h"

#include <functional>
#include <string>
#include <vector>

namespace h3::cuda {

/// One device, one private stream, and everything a tool needs to run kernels on data of the host:
/// copy whole buffers there, launch what plans say, copy back. Host views that lie in one buffer
/// keep their offsets and strides; only the base address changes. For one thread at a time. All
/// device memory is freed when the session ends.
///
///   auto session = cuda::Session::open(0);
///   auto q = session->upload(bytes);            // address on the device
///   session->run(cubin, plan.variants[launch.variant].entry, launch);
///   session->download(*q, bytes);               // waits
class Session {
public:
  /// nullopt: the device of the thread's current context, or 0.
  static Result<Session> open(std::optional<int> deviceIndex,
                              const std::string &library = "libcuda.so.1");

  int deviceIndex() const { return index; }
  Capability capability() const { return deviceCapability; }
  const std::string &deviceName() const { return name; }
  int driverVersion() const { return version; } ///< 13000 for 13.0

  /// New device memory with a copy of the bytes, or filled with one value (to poison outputs).
  /// Returns its address, a multiple of 256. The bytes may go when it returns.
  Result<uint64_t> upload(std::span<const std::byte> from);
  Result<uint64_t> allocate(size_t size, uint8_t fill);

  /// New device memory with a copy of what lies at an address that this or the two above gave.
  Result<uint64_t> duplicate(uint64_t address);

  /// How many bytes of device memory are free, for anybody.
  Result<size_t> freeMemory() const;

  /// Copies back from the start of memory that `upload` or `allocate` gave, after all that ran.
  std::optional<Failure> download(uint64_t address, std::span<std::byte> to);

  /// Overwrites such memory from its start.
  std::optional<Failure> overwrite(uint64_t address, std::span<const std::byte> from);

  /// Gives back all memory that `upload` and `allocate` gave; images stay loaded.
  void releaseMemory() { buffers.clear(); }

  /// How the launches below start; in the beginning after all that is in front of them.
  void setStart(Start wanted) { start = wanted; }

  /// Launches the kernel `entry` of a cubin and waits for it. Equal images are loaded once. An
  /// empty launch loads and launches nothing.
  std::optional<Failure> run(std::span<const std::byte> cubin, const std::string &entry,
                             const plan::Launch &launch);

  /// The same `repetitions` times (at least once), timed together by events on the stream; returns
  /// the mean in milliseconds. 0 for an empty launch.
  Result<float> time(std::span<const std::byte> cubin, const std::string &entry,
                     const plan::Launch &launch, unsigned repetitions);

  /// The least number of launches in a graph of `timeGraph`: enough that what lies between two
  /// replays does not count.
  static constexpr unsigned kGraphLaunches = 128;

  /// The mean in milliseconds of one launch among many that a CUDA graph replays one after another:
  /// without what the host spends on a launch. The launches, all of the kernel `entry`, take turns:
  /// give one to run on the same buffers each time, or several on buffers of their own so that
  /// none finds its data in a cache. The graph has each equally often and kGraphLaunches or more
  /// together. Replays have `repetitions` launches or more, once to warm up and once between the
  /// events. 0 if there is none, or one that is empty.
  Result<float> timeGraph(std::span<const std::byte> cubin, const std::string &entry,
                          std::span<const plan::Launch> launches, unsigned repetitions);

private:
  struct Image {
    std::vector<std::byte> cubin;
    Module module;
  };

  Session(ContextRef context, Stream stream)
      : context(std::move(context)), stream(std::move(stream)) {}
  Result<CUfunction> function(std::span<const std::byte> cubin, const std::string &entry);
  Result<const DeviceBuffer *> bufferAt(uint64_t address) const;
  /// Milliseconds on the device between before and after what `body` enqueues. Waits for it.
  Result<float> between(const std::function<std::optional<Failure>()> &body);

  ContextRef context;
  Stream stream;
  std::vector<DeviceBuffer> buffers;
  std::vector<Image> images;
  Start start = Start::AfterAll;
  int index = 0;
  int version = 0;
  Capability deviceCapability;
  std::string name;
};

} // namespace h3::cuda

#endif // H3_RUNTIME_CUDA_SESSION_H
