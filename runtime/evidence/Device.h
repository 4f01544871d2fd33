//===-- runtime/evidence/Device.h - The device that evidence is taken on - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_EVIDENCE_DEVICE_H
#define H3_RUNTIME_EVIDENCE_DEVICE_H

#include "runtime/cuda/Driver.h"
#include "runtime/evidence/Record.h"

#include <functional>

namespace h3::evidence {

/// One device with a stream and one block of memory, which grows. Its primary context is current in
/// the thread that made it.
class Device {
public:
  static cuda::Result<std::unique_ptr<Device>> open(const std::string &library, int index);
  Device(const Device &) = delete;
  ~Device();

  /// At least \p bytes at a multiple of 256.
  cuda::Result<uint64_t> memory(size_t bytes);
  std::optional<cuda::Failure> upload(std::span<const std::byte> bytes);
  /// After everything on the stream is done.
  std::optional<cuda::Failure> download(std::span<std::byte> bytes);

  /// Calls \p launch, which launches on the stream, again and again, warmed up, with nothing
  /// between; how long one takes. By replays of a graph of many launches where the driver can, else
  /// launch by launch; the fastest of several rounds. `method` says which.
  struct Timing {
    double nanoseconds = 0;
    std::string method;
  };
  cuda::Result<Timing> time(const std::function<bool()> &launch);

  cuda::CUstream stream() const { return ownStream; }

  /// Product, capability and versions.
  Machine machine() const;

private:
  explicit Device(std::shared_ptr<const cuda::Driver> driver, int index)
      : driver(std::move(driver)), api(this->driver->api()), index(index) {}
  std::optional<cuda::Failure> failed(cuda::CUresult code, const char *call) const {
    return driver->check(code, call);
  }
  std::optional<double> timeGraph(const std::function<bool()> &launch, unsigned count);
  std::optional<double> replay(cuda::CUgraphExec graph);

  const std::shared_ptr<const cuda::Driver> driver;
  const cuda::DriverApi &api;
  const int index;
  cuda::CUdevice device = 0;
  cuda::CUcontext context = nullptr;
  cuda::CUstream ownStream = nullptr;
  uint64_t address = 0;
  size_t capacity = 0;
};

} // namespace h3::evidence

#endif // H3_RUNTIME_EVIDENCE_DEVICE_H
