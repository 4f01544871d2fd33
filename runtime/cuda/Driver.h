//===-- runtime/cuda/Driver.h - The CUDA driver, loaded at run time *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_CUDA_DRIVER_H
#define H3_RUNTIME_CUDA_DRIVER_H

#include "runtime/Result.h"
#include "runtime/cuda/DriverApi.h"

#include <memory>
#include <optional>
#include <string>

namespace h3::cuda {

/// Why a step failed. `Driver` carries what the driver said; the others are found without it.
struct Failure {
  enum class Kind {
    NoDriver, ///< the driver's library is missing, or too old to have what is needed
    NoDevice, ///< there is a driver but no such device
    BadInput, ///< the caller passed what cannot be right: an image that is no cubin
    Driver,   ///< a driver call returned `code`
  };
  Kind kind = Kind::Driver;
  CUresult code = 0;
  std::string name; ///< "CUDA_ERROR_INVALID_VALUE"; empty unless the driver returned a code
  /// One line: `cuModuleLoadData: CUDA_ERROR_NO_BINARY_FOR_GPU (209): no kernel image ...`.
  std::string message;

  /// True if this machine lacks something, rather than that something went wrong.
  bool isMissing() const { return kind == Kind::NoDriver || kind == Kind::NoDevice; }
};

template <typename T> using Result = h3::Result<T, Failure>;

/// A compute capability; 9.0 is {9, 0}.
struct Capability {
  int major = 0;
  int minor = 0;

  /// "9.0"
  std::string text() const { return std::to_string(major) + "." + std::to_string(minor); }
  bool operator==(const Capability &) const = default;
};

/// The loaded and initialised driver. It stays loaded until the process ends.
class Driver {
public:
  /// Loads the library (the default is the one that NVIDIA's driver installs) and initialises it.
  static Result<std::shared_ptr<const Driver>> load(const std::string &library = "libcuda.so.1");

  /// 13000 for 13.0, as the driver counts.
  Result<int> version() const;
  Result<int> deviceCount() const;

  /// These ask the device with that index, whichever is current.
  Result<CUdevice> device(int index) const;
  Result<Capability> capability(int index) const;
  Result<std::string> deviceName(int index) const;

  /// The index of the device whose context is current in this thread; 0 if there is none.
  Result<int> currentDevice() const;

  /// The failure that a returned code means, with the driver's own name and text for it.
  std::optional<Failure> check(CUresult code, const char *call) const;

  const DriverApi &api() const { return functions; }

private:
  DriverApi functions;
};

} // namespace h3::cuda

#endif // H3_RUNTIME_CUDA_DRIVER_H
