//===-- examples/host_app/Memory.cpp - Where the host's tensors live ------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

Machine::Machine() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library)
    return;
  auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
  auto retain = reinterpret_cast<int (*)(void **, int)>(dlsym(library, "cuDevicePrimaryCtxRetain"));
  auto setCurrent = reinterpret_cast<int (*)(void *)>(dlsym(library, "cuCtxSetCurrent"));
  memAlloc = reinterpret_cast<int (*)(uint64_t *, size_t)>(dlsym(library, "cuMemAlloc_v2"));
  copyIn =
      reinterpret_cast<int (*)(uint64_t, const void *, size_t)>(dlsym(library, "cuMemcpyHtoD_v2"));
  copyOut = reinterpret_cast<int (*)(void *, uint64_t, size_t)>(dlsym(library, "cuMemcpyDtoH_v2"));
  void *context = nullptr;
  gpu = init && retain && setCurrent && memAlloc && copyIn && copyOut && init(0) == 0 &&
        retain(&context, 0) == 0 && setCurrent(context) == 0;
}

static void must(int code, const char *what) {
  if (code == 0)
    return;
  std::fprintf(stderr, "host_app: error: %s: CUDA error %d\n", what, code);
  std::exit(1);
}

void *Machine::allocate(size_t bytes) const {
  if (!gpu)
    return std::calloc(bytes, 1);
  uint64_t address = 0;
  must(memAlloc(&address, bytes), "memory");
  return reinterpret_cast<void *>(address);
}

void Machine::toDevice(void *to, const void *from, size_t bytes) const {
  if (gpu)
    must(copyIn(reinterpret_cast<uint64_t>(to), from, bytes), "a copy to the device");
  else
    std::memcpy(to, from, bytes);
}

void Machine::toHost(void *to, const void *from, size_t bytes) const {
  if (gpu)
    must(copyOut(to, reinterpret_cast<uint64_t>(from), bytes), "a copy from the device");
  else
    std::memcpy(to, from, bytes);
}

Tensor::Tensor(const Machine &machine, DLDataType type, std::vector<int64_t> shape)
    : machine(&machine), type(type), shape(std::move(shape)), strides(this->shape.size()) {
  int64_t stride = 1;
  for (size_t axis = this->shape.size(); axis-- > 0; stride *= this->shape[axis])
    strides[axis] = stride;
  data = machine.allocate(bytes());
}

size_t Tensor::elements() const {
  size_t count = 1;
  for (int64_t extent : shape)
    count *= static_cast<size_t>(extent);
  return count;
}

DLTensor Tensor::view() const {
  DLTensor result{};
  result.data = data;
  result.device = machine->device();
  result.ndim = static_cast<int32_t>(shape.size());
  result.dtype = type;
  result.shape = const_cast<int64_t *>(shape.data());
  result.strides = const_cast<int64_t *>(strides.data());
  return result;
}

DLTensor Tensor::slice(int64_t from, int64_t to) {
  DLTensor result = view();
  sliced.push_back(shape);
  sliced.back().back() = to - from;
  result.shape = sliced.back().data();
  result.byte_offset = static_cast<uint64_t>(from) * type.bits / 8;
  return result;
}
