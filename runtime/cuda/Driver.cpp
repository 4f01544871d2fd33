//===-- runtime/cuda/Driver.cpp - The CUDA driver, loaded at run time *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Driver.h"

#include <dlfcn.h>

namespace h3::cuda {

Result<std::shared_ptr<const Driver>> Driver::load(const std::string &library) {
  auto missing = [](std::string message) {
    return Failure{Failure::Kind::NoDriver, 0, {}, std::move(message)};
  };
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *cause = dlerror();
    return missing("no CUDA driver: " + std::string(cause ? cause : library.c_str()));
  }
  auto driver = std::make_shared<Driver>();
#define H3_CUDA_OPTIONAL(Member, Symbol, ...)                                                      \
  driver->functions.Member =                                                                       \
      reinterpret_cast<decltype(driver->functions.Member)>(dlsym(handle, Symbol));
#define H3_CUDA_FUNCTION(Member, Symbol, ...)                                                      \
  H3_CUDA_OPTIONAL(Member, Symbol)                                                                 \
  if (!driver->functions.Member)                                                                   \
    return missing("the CUDA driver '" + library + "' has no " Symbol ", a newer one is needed");
#include "runtime/cuda/functions.def"
  if (auto failure = driver->check(driver->functions.init(0), "cuInit"))
    return *failure;
  return std::shared_ptr<const Driver>(driver);
}

std::optional<Failure> Driver::check(CUresult code, const char *call) const {
  if (code == kSuccess)
    return std::nullopt;
  const char *name = nullptr;
  const char *text = nullptr;
  if (functions.getErrorName(code, &name) != kSuccess || !name)
    name = "unknown error";
  if (functions.getErrorString(code, &text) != kSuccess || !text)
    text = "the driver has no text for it";
  Failure failure;
  failure.kind = code == kErrorNoDevice ? Failure::Kind::NoDevice : Failure::Kind::Driver;
  failure.code = code;
  failure.name = name;
  failure.message = std::string(call) + ": " + name + " (" + std::to_string(code) + "): " + text;
  return failure;
}

Result<int> Driver::version() const {
  int version = 0;
  if (auto failure = check(functions.driverGetVersion(&version), "cuDriverGetVersion"))
    return *failure;
  return version;
}

Result<int> Driver::deviceCount() const {
  int count = 0;
  if (auto failure = check(functions.deviceGetCount(&count), "cuDeviceGetCount"))
    return *failure;
  return count;
}

Result<CUdevice> Driver::device(int index) const {
  Result<int> count = deviceCount();
  if (!count)
    return count.error();
  if (index < 0 || index >= *count)
    return Failure{Failure::Kind::NoDevice,
                   0,
                   {},
                   "no CUDA device " + std::to_string(index) + ", the machine has " +
                       std::to_string(*count)};
  CUdevice device = 0;
  if (auto failure = check(functions.deviceGet(&device, index), "cuDeviceGet"))
    return *failure;
  return device;
}

Result<Capability> Driver::capability(int index) const {
  Result<CUdevice> handle = device(index);
  if (!handle)
    return handle.error();
  Capability capability;
  if (auto failure =
          check(functions.deviceGetAttribute(&capability.major, kAttributeCapabilityMajor, *handle),
                "cuDeviceGetAttribute"))
    return *failure;
  if (auto failure =
          check(functions.deviceGetAttribute(&capability.minor, kAttributeCapabilityMinor, *handle),
                "cuDeviceGetAttribute"))
    return *failure;
  return capability;
}

Result<std::string> Driver::deviceName(int index) const {
  Result<CUdevice> handle = device(index);
  if (!handle)
    return handle.error();
  char name[256] = {};
  if (auto failure =
          check(functions.deviceGetName(name, sizeof(name) - 1, *handle), "cuDeviceGetName"))
    return *failure;
  return std::string(name);
}

Result<int> Driver::currentDevice() const {
  CUcontext context = nullptr;
  if (auto failure = check(functions.ctxGetCurrent(&context), "cuCtxGetCurrent"))
    return *failure;
  if (!context)
    return 0;
  CUdevice current = 0;
  if (auto failure = check(functions.ctxGetDevice(&current), "cuCtxGetDevice"))
    return *failure;
  Result<int> count = deviceCount();
  if (!count)
    return count.error();
  for (int index = 0; index < *count; ++index) {
    Result<CUdevice> handle = device(index);
    if (!handle)
      return handle.error();
    if (*handle == current)
      return index;
  }
  return Failure{
      Failure::Kind::NoDevice, 0, {}, "the current CUDA device is not among those found"};
}

} // namespace h3::cuda
