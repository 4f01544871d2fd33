//===-- examples/host_app/Memory.h - Where the host's tensors live - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// On the first GPU that CUDA's driver shows, or in the host's own memory where there is none. A
// program that has a framework has this already.
//
//===----------------------------------------------------------------------===//

#ifndef HOST_APP_MEMORY_H
#define HOST_APP_MEMORY_H

#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <vector>

/// A device with a context that is current in the thread which made it.
class Machine {
public:
  Machine();

  bool hasGpu() const { return gpu; }
  DLDevice device() const { return {gpu ? kDLCUDA : kDLCPU, 0}; }

  /// Memory of the device; it stays until the program ends.
  void *allocate(size_t bytes) const;
  void toDevice(void *to, const void *from, size_t bytes) const;
  void toHost(void *to, const void *from, size_t bytes) const; ///< waits for the null stream

private:
  bool gpu = false;
  int (*memAlloc)(uint64_t *, size_t) = nullptr;
  int (*copyIn)(uint64_t, const void *, size_t) = nullptr;
  int (*copyOut)(void *, uint64_t, size_t) = nullptr;
};

/// A row-major tensor of f16 or f32 on the machine's device.
class Tensor {
public:
  Tensor(const Machine &machine, DLDataType type, std::vector<int64_t> shape);

  size_t elements() const;
  size_t bytes() const { return elements() * type.bits / 8; }

  template <typename T> void set(const std::vector<T> &values) {
    machine->toDevice(data, values.data(), bytes());
  }
  template <typename T> std::vector<T> get() const {
    std::vector<T> values(elements());
    machine->toHost(values.data(), data, bytes());
    return values;
  }

  /// The tensor as it is passed; valid as long as this object stays where it is.
  DLTensor view() const;
  /// A part of the last axis, in place.
  DLTensor slice(int64_t from, int64_t to);

private:
  const Machine *machine;
  DLDataType type;
  std::vector<int64_t> shape, strides;
  std::vector<std::vector<int64_t>> sliced; ///< shapes of slices
  void *data;
};

inline constexpr DLDataType kHalf = {kDLFloat, 16, 1};
inline constexpr DLDataType kFloat = {kDLFloat, 32, 1};

#endif // HOST_APP_MEMORY_H
