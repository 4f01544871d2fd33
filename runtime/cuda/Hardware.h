//===-- runtime/cuda/Hardware.h - CUDA as the runtime reaches it - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The runtime's driver for NVIDIA GPUs: h3rt.h's interface over the functions of functions.def. The
// library is opened when a device is first asked for. Contexts are pushed for a call and popped
// after it, never set; captures in other threads stay valid, since everything that could disturb
// them happens in relaxed capture mode.
//
// The null stream, the legacy and the per-thread default stream name no context: they mean the
// current one if it is of the device in question, else the device's primary one.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_CUDA_HARDWARE_H
#define H3_RUNTIME_CUDA_HARDWARE_H

#include "runtime/cuda/Driver.h"
#include "runtime/include/h3rt.h"

#include <atomic>
#include <string>
#include <vector>

namespace h3::cuda {

/// What a code means to the runtime.
h3rt_driver_kind kindOf(CUresult code);

class Hardware {
public:
  explicit Hardware(std::string library = "libcuda.so.1") : library(std::move(library)) {}
  Hardware(const Hardware &) = delete;
  Hardware &operator=(const Hardware &) = delete;

  /// Gives primary contexts back that this retained. Not called by a destructor: a process that
  /// ends, or a forked one, must not touch them.
  void releaseContexts();

  /// Functions on this object, which must outlive their use.
  h3rt_driver interface();

private:
  struct Primary {
    int32_t device;
    CUdevice handle;
    CUcontext context;
  };

  static Hardware &of(void *user) { return *static_cast<Hardware *>(user); }
  const DriverApi &api() const { return *functions.load(std::memory_order_acquire); }

  h3rt_driver_result target(int32_t device, char *text, size_t capacity);
  uintptr_t key(void *stream) const;
  h3rt_driver_result resolve(int32_t device, void *stream, void **context);
  CUresult primaryOf(CUdevice device, int32_t index, CUcontext &context);
  h3rt_driver_result capturing(void *context, void *stream, int32_t *isCapturing);
  h3rt_driver_result enter(void *context);
  h3rt_driver_result leave();
  h3rt_driver_result kernel(void *module, const char *symbol, uint32_t sharedBytes, void **kernel);
  h3rt_driver_result launch(void *context, void *stream, void *kernel, const h3rt_launch &launch);

  const std::string library;
  std::shared_ptr<const Driver> driver;
  std::atomic<const DriverApi *> functions{nullptr};
  std::vector<Primary> primaries; ///< retained
  int modeOutside = 0;            ///< the thread's capture mode while one has entered
};

} // namespace h3::cuda

#endif // H3_RUNTIME_CUDA_HARDWARE_H
