//===-- examples/backend_c/Driver.cpp - The embedded runtime's driver for c11 images -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What an accelerator's driver does with queues and device memory is here a call and malloc. The
// functions stand in the order of h3rt_driver.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include "Cc.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr h3rt_driver_result good = {H3RT_DRIVER_OK, 0};

/// There is one context; its address is all that is asked of it.
char theContext;

h3rt_driver_result target(void *, int32_t device, char *text, size_t capacity) {
  if (device != 0)
    return {H3RT_DRIVER_NO_DEVICE, 0};
  std::snprintf(text, capacity, "c11");
  return good;
}

uintptr_t key(void *, int32_t, void *) { return 0; }

h3rt_driver_result launch(void *, void *, void *, void *kernel, const h3rt_launch *launch) {
  reinterpret_cast<Entry>(kernel)(launch->arguments, 0, launch->grid[0]);
  return good;
}

h3rt_driver_result resolve(void *, int32_t, void *, void **context) {
  *context = &theContext;
  return good;
}

h3rt_driver_result capturing(void *, void *, void *, int32_t *isCapturing) {
  *isCapturing = 0;
  return good;
}

h3rt_driver_result enter(void *, void *) { return good; }
h3rt_driver_result leave(void *, void *) { return good; }

h3rt_driver_result load(void *, const void *image, size_t length, int32_t kind, void **module) {
  if (kind != H3RT_IMAGE_BINARY)
    return {H3RT_DRIVER_WRONG_IMAGE, 0};
  std::string error;
  *module = SharedObject::load(image, length, error);
  return *module ? good : h3rt_driver_result{H3RT_DRIVER_WRONG_IMAGE, 1};
}

h3rt_driver_result unload(void *, void *module) {
  delete static_cast<SharedObject *>(module);
  return good;
}

h3rt_driver_result kernel(void *, void *module, const char *symbol, uint32_t, void **kernel) {
  *kernel = reinterpret_cast<void *>(static_cast<SharedObject *>(module)->find(symbol));
  return *kernel ? good : h3rt_driver_result{H3RT_DRIVER_WRONG_IMAGE, 2};
}

h3rt_driver_result openStream(void *, void **stream) {
  *stream = &theContext;
  return good;
}
h3rt_driver_result closeStream(void *, void *) { return good; }
h3rt_driver_result synchronize(void *, void *) { return good; }

h3rt_driver_result allocate(void *, size_t length, uint64_t *address) {
  void *memory = std::aligned_alloc(256, (length + 255) / 256 * 256);
  *address = reinterpret_cast<uint64_t>(memory);
  return memory ? good : h3rt_driver_result{H3RT_DRIVER_OUT_OF_MEMORY, 0};
}
h3rt_driver_result release(void *, uint64_t address) {
  std::free(reinterpret_cast<void *>(address));
  return good;
}
h3rt_driver_result upload(void *, void *, uint64_t to, const void *from, size_t length) {
  std::memcpy(reinterpret_cast<void *>(to), from, length);
  return good;
}
h3rt_driver_result download(void *, void *, void *to, uint64_t from, size_t length) {
  std::memcpy(to, reinterpret_cast<const void *>(from), length);
  return good;
}

const char *errorName(void *, int32_t code) {
  return code == 1 ? "the image does not load" : code == 2 ? "the image lacks a kernel" : nullptr;
}

} // namespace

h3rt_status addC11Driver(h3rt_runtime *runtime) {
  const h3rt_driver driver = {sizeof(h3rt_driver),
                              "c11",
                              kDLExtDev,
                              nullptr,
                              target,
                              key,
                              launch,
                              resolve,
                              capturing,
                              enter,
                              leave,
                              load,
                              unload,
                              kernel,
                              openStream,
                              closeStream,
                              synchronize,
                              allocate,
                              release,
                              upload,
                              download,
                              errorName};
  return h3rt_add_driver(runtime, &driver);
}
