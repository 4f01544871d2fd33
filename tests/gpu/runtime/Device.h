//===-- tests/gpu/runtime/Device.h - A GPU for the runtime's tests - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What a host has beside the runtime: contexts, streams, memory, graphs. Every driver call that
// fails ends the program with its line.
//
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_GPU_RUNTIME_DEVICE_H
#define H3_TESTS_GPU_RUNTIME_DEVICE_H

#include "runtime/cuda/Driver.h"
#include "runtime/include/h3rt.hpp"
#include "runtime/tensor/Safetensors.h"
#include "runtime/tensor/Slice.h"

#include <string>
#include <vector>

namespace h3::gpu {

/// The driver, loaded once.
const cuda::DriverApi &api();

/// Ends the program unless the code is 0.
void must(cuda::CUresult code, const char *what);
[[noreturn]] void fail(const std::string &text);

/// A new context of device 0, not current; and its end.
cuda::CUcontext createContext();
void destroyContext(cuda::CUcontext context);

/// Makes a context, or the primary one of device 0, current in this thread.
void makeCurrent(cuda::CUcontext context);
cuda::CUcontext primaryContext();

cuda::CUstream createStream();

/// A kernel of PTX that the driver assembles, in the current context.
cuda::CUfunction kernelOf(const char *ptx, const char *entry);

/// Bytes on the device.
class Buffer {
public:
  explicit Buffer(size_t size);
  Buffer(const void *from, size_t size);
  Buffer(Buffer &&other) noexcept : address(other.address), size(other.size) { other.address = 0; }
  ~Buffer();
  void write(const void *from, cuda::CUstream stream = nullptr);
  std::vector<std::byte> read(cuda::CUstream stream = nullptr) const;

  cuda::CUdeviceptr address = 0;
  size_t size = 0;
};

/// A recorded call of an operator: inputs on the device as the recording has them, outputs
/// poisoned, and what the outputs must be.
class Call {
public:
  struct Tensor {
    const char *reference; ///< `{case}.qkv[..., 0:64]`; of an output, what it must be equal to
    bool isOutput;
  };
  Call(const std::string &golden, const char *file, const char *prefix,
       std::vector<Tensor> tensors);

  /// Makes the outputs unlike anything; the inputs again what they were.
  void reset(cuda::CUstream stream);
  h3rt::Result run(const h3rt::Operator &op, cuda::CUstream stream);

  /// Waits for the stream; the number of bytes that differ from the recording, where any NaN of it
  /// stands for the one that operators store.
  size_t differences(cuda::CUstream stream) const;

  std::vector<DLTensor> views;

private:
  struct Part {
    std::vector<int64_t> shape, strides;
    Buffer buffer;
    std::vector<std::byte> bytes; ///< of an input; of an output the expected ones
    plan::DType type;
    bool isOutput;
  };
  std::vector<Part> parts;
};

} // namespace h3::gpu

#endif // H3_TESTS_GPU_RUNTIME_DEVICE_H
