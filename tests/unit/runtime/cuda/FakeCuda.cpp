//===-- tests/unit/runtime/cuda/FakeCuda.cpp - A driver without a GPU *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

//
// A shared library with the symbols of libcuda that runtime/cuda uses. It keeps a log of the calls,
// checks that they are made with a context current where the real driver needs one, and can be told
// to fail a call. Two devices: 0 has capability 12.0, 1 has 9.0. Device memory is host memory.
//
// Kernels: `copy` (destination, source, number of bytes as i32) copies; `wide` takes an i16, an i32
// and an i64 parameter and writes them into the log; those whose names begin with h3_ do nothing.
//
// While the stream captures, kernels are recorded instead of run, and waiting for it is an error.
//
//===----------------------------------------------------------------------===//

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// A launch of `copy`: destination, source, bytes. Of other kernels nothing has to be kept.
struct Copy {
  uint64_t to = 0, from = 0;
  size_t size = 0;
};
using Recorded = std::vector<Copy>;

struct State {
  std::string log;
  std::map<std::string, int> failures;
  std::vector<void *> contexts; // the stack of the (single) thread
  std::map<uint64_t, size_t> memory;
  int devices = 2;
  int retained = 0, modules = 0, streams = 0, events = 0, graphs = 0, executables = 0;
  bool isCapturing = false;
  Recorded recording;
  std::map<void *, Recorded> recorded; // of graphs and of executable ones
};

State &state() {
  static State instance;
  return instance;
}

/// Logs the call; its result.
int call(const char *name, bool needsContext, const std::string &detail = {}) {
  State &s = state();
  s.log += std::string(name) + (detail.empty() ? "" : " " + detail) + "\n";
  auto failure = s.failures.find(name);
  if (failure != s.failures.end())
    return failure->second;
  if (needsContext && s.contexts.empty())
    return 201; // CUDA_ERROR_INVALID_CONTEXT
  return 0;
}

void *handle(uintptr_t number) { return reinterpret_cast<void *>(number); }

uint64_t argument(void **arguments, int index, size_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, arguments[index], bytes);
  return value;
}

bool inMemory(uint64_t address, size_t size) {
  for (auto [base, length] : state().memory)
    if (address >= base && address + size <= base + length)
      return true;
  return false;
}

int run(const Copy &copy) {
  if (!inMemory(copy.to, copy.size) || !inMemory(copy.from, copy.size))
    return 700; // CUDA_ERROR_ILLEGAL_ADDRESS
  std::memmove(reinterpret_cast<void *>(copy.to), reinterpret_cast<void *>(copy.from), copy.size);
  return 0;
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

// ---- What the tests ask and tell

EXPORT void fakeReset() { state() = State(); }
EXPORT const char *fakeLog() { return state().log.c_str(); }
EXPORT void fakeClearLog() { state().log.clear(); }
EXPORT void fakeFail(const char *name, int code) { state().failures[name] = code; }
EXPORT void fakeDevices(int count) { state().devices = count; }
EXPORT int fakeContextDepth() { return static_cast<int>(state().contexts.size()); }
EXPORT int fakeAlive() {
  const State &s = state();
  return s.retained + s.modules + s.streams + s.events + s.graphs + s.executables +
         static_cast<int>(s.memory.size());
}

// ---- The driver

EXPORT int cuInit(unsigned flags) { return call("cuInit", false, std::to_string(flags)); }
EXPORT int cuDriverGetVersion(int *version) {
  *version = 13000;
  return call("cuDriverGetVersion", false);
}
EXPORT int cuGetErrorName(int code, const char **name) {
  *name = code == 1     ? "CUDA_ERROR_INVALID_VALUE"
          : code == 100 ? "CUDA_ERROR_NO_DEVICE"
          : code == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
          : code == 500 ? "CUDA_ERROR_NOT_FOUND"
                        : nullptr;
  return *name ? 0 : 1;
}
EXPORT int cuGetErrorString(int code, const char **text) {
  *text = code == 1     ? "invalid argument"
          : code == 100 ? "no CUDA-capable device is detected"
          : code == 209 ? "no kernel image is available for execution on the device"
          : code == 500 ? "named symbol not found"
                        : nullptr;
  return *text ? 0 : 1;
}
EXPORT int cuDeviceGetCount(int *count) {
  *count = state().devices;
  return call("cuDeviceGetCount", false);
}
EXPORT int cuDeviceGet(int *device, int index) {
  *device = 70 + index; // a handle is not an index
  return call("cuDeviceGet", false, std::to_string(index));
}
EXPORT int cuDeviceGetName(char *name, int length, int device) {
  std::snprintf(name, static_cast<size_t>(length), "fake device %d", device - 70);
  return call("cuDeviceGetName", false, std::to_string(device));
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  const int major = device == 70 ? 12 : 9;
  *value = attribute == 75 ? major : attribute == 76 ? 0 : -1;
  return call("cuDeviceGetAttribute", false,
              std::to_string(attribute) + " " + std::to_string(device));
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  const int result = call("cuDevicePrimaryCtxRetain", false, std::to_string(device));
  *context = handle(1000 + static_cast<uintptr_t>(device));
  state().retained += result == 0;
  return result;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  --state().retained;
  return call("cuDevicePrimaryCtxRelease", false, std::to_string(device));
}
EXPORT int cuCtxPushCurrent_v2(void *context) {
  const int result = call("cuCtxPushCurrent", false);
  if (result == 0)
    state().contexts.push_back(context);
  return result;
}
EXPORT int cuCtxPopCurrent_v2(void **context) {
  const int result = call("cuCtxPopCurrent", true);
  if (!state().contexts.empty()) {
    *context = state().contexts.back();
    state().contexts.pop_back();
  }
  return result;
}
EXPORT int cuCtxGetCurrent(void **context) {
  *context = state().contexts.empty() ? nullptr : state().contexts.back();
  return call("cuCtxGetCurrent", false);
}
EXPORT int cuCtxGetDevice(int *device) {
  const int result = call("cuCtxGetDevice", true);
  if (result == 0)
    *device = static_cast<int>(reinterpret_cast<uintptr_t>(state().contexts.back()) - 1000);
  return result;
}
EXPORT int cuModuleLoadData(void **module, const void *) {
  const int result = call("cuModuleLoadData", true);
  *module = handle(2000);
  state().modules += result == 0;
  return result;
}
EXPORT int cuModuleUnload(void *) {
  --state().modules;
  return call("cuModuleUnload", true);
}
EXPORT int cuModuleGetFunction(void **function, void *, const char *name) {
  const int result = call("cuModuleGetFunction", true, name);
  if (result != 0)
    return result;
  const std::string_view kernel = name;
  if (kernel != "copy" && kernel != "wide" && !kernel.starts_with("h3_"))
    return 500;
  *function = handle(kernel == "copy" ? 3000 : kernel == "wide" ? 3001 : 3002);
  return 0;
}
EXPORT int cuFuncSetAttribute(void *, int attribute, int value) {
  return call("cuFuncSetAttribute", true, std::to_string(attribute) + " " + std::to_string(value));
}
EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *stream, void **arguments,
                          void **extra) {
  std::string detail;
  for (unsigned value : {gx, gy, gz, bx, by, bz, shared})
    detail += std::to_string(value) + " ";
  detail += stream == handle(4000) ? "stream" : "other";
  detail += extra ? " extra" : "";
  if (function == handle(3001))
    for (auto [index, bytes] : {std::pair(0, 2), std::pair(1, 4), std::pair(2, 8)})
      detail += " " + std::to_string(argument(arguments, index, static_cast<size_t>(bytes)));
  const int result = call("cuLaunchKernel", true, detail);
  if (result != 0 || function != handle(3000))
    return result;
  const Copy copy = {argument(arguments, 0, 8), argument(arguments, 1, 8),
                     static_cast<size_t>(argument(arguments, 2, 4))};
  if (!state().isCapturing)
    return run(copy);
  state().recording.push_back(copy);
  return 0;
}
#ifndef H3_FAKE_CUDA_11_7
struct LaunchAttribute {
  int id;
  char pad[4];
  int number;
  char rest[60];
};
struct LaunchConfig {
  unsigned sizes[7];
  void *stream;
  LaunchAttribute *attributes;
  unsigned count;
};
EXPORT int cuLaunchKernelEx(const LaunchConfig *config, void *function, void **arguments,
                            void **extra) {
  std::string detail;
  for (unsigned i = 0; i < config->count; ++i)
    detail += (i ? " " : "") + std::to_string(config->attributes[i].id) + "=" +
              std::to_string(config->attributes[i].number);
  if (const int result = call("cuLaunchKernelEx", true, detail))
    return result;
  const auto &sizes = config->sizes;
  return cuLaunchKernel(function, sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5],
                        sizes[6], config->stream, arguments, extra);
}
#endif
EXPORT int cuMemAlloc_v2(uint64_t *address, size_t size) {
  const int result = call("cuMemAlloc", true, std::to_string(size));
  if (result != 0 || size == 0)
    return result ? result : 1;
  void *memory = std::aligned_alloc(256, (size + 255) / 256 * 256);
  *address = reinterpret_cast<uint64_t>(memory);
  state().memory[*address] = size;
  return 0;
}
EXPORT int cuMemFree_v2(uint64_t address) {
  const int result = call("cuMemFree", true);
  if (!state().memory.erase(address))
    return 1;
  std::free(reinterpret_cast<void *>(address));
  return result;
}
EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream) {
  const int result = call("cuMemcpyHtoDAsync", true,
                          std::to_string(size) + (stream == handle(4000) ? " stream" : " other"));
  if (result != 0 || !inMemory(to, size))
    return result ? result : 1;
  std::memcpy(reinterpret_cast<void *>(to), from, size);
  return 0;
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream) {
  const int result = call("cuMemcpyDtoHAsync", true,
                          std::to_string(size) + (stream == handle(4000) ? " stream" : " other"));
  if (result != 0 || !inMemory(from, size))
    return result ? result : 1;
  std::memcpy(to, reinterpret_cast<void *>(from), size);
  return 0;
}
EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream) {
  const int result = call("cuMemcpyDtoDAsync", true,
                          std::to_string(size) + (stream == handle(4000) ? " stream" : " other"));
  return result ? result : run({to, from, size});
}
EXPORT int cuMemGetInfo_v2(size_t *available, size_t *total) {
  *available = 1 << 20;
  *total = 1 << 21;
  return call("cuMemGetInfo", true);
}
EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t size, void *) {
  const int result =
      call("cuMemsetD8Async", true, std::to_string(value) + " " + std::to_string(size));
  if (result != 0 || !inMemory(to, size))
    return result ? result : 1;
  std::memset(reinterpret_cast<void *>(to), value, size);
  return 0;
}
EXPORT int cuStreamCreate(void **stream, unsigned flags) {
  const int result = call("cuStreamCreate", true, std::to_string(flags));
  *stream = handle(4000);
  state().streams += result == 0;
  return result;
}
EXPORT int cuStreamDestroy_v2(void *) {
  --state().streams;
  return call("cuStreamDestroy", true);
}
EXPORT int cuStreamSynchronize(void *) {
  const int result = call("cuStreamSynchronize", true);
  return result == 0 && state().isCapturing ? 900 : result; // ..._STREAM_CAPTURE_UNSUPPORTED
}
EXPORT int cuStreamGetCtx(void *, void **context) {
  *context = state().contexts.empty() ? nullptr : state().contexts.back();
  return call("cuStreamGetCtx", false);
}
EXPORT int cuStreamIsCapturing(void *, int *status) {
  *status = state().isCapturing;
  return call("cuStreamIsCapturing", true);
}
EXPORT int cuThreadExchangeStreamCaptureMode(int *) {
  return call("cuThreadExchangeStreamCaptureMode", false);
}
EXPORT int cuStreamBeginCapture_v2(void *, int mode) {
  const int result = call("cuStreamBeginCapture", true, std::to_string(mode));
  state().isCapturing |= result == 0;
  state().recording.clear();
  return result;
}
EXPORT int cuStreamEndCapture(void *, void **graph) {
  const int result = call("cuStreamEndCapture", true);
  state().isCapturing = false;
  *graph = nullptr;
  if (result == 0) {
    *graph = handle(6000);
    state().recorded[*graph] = state().recording;
    ++state().graphs;
  }
  return result;
}
EXPORT int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags) {
  const int result = call("cuGraphInstantiate", true, std::to_string(flags));
  if (result != 0 || !state().recorded.count(graph))
    return result ? result : 1;
  *executable = handle(7000);
  state().recorded[*executable] = state().recorded[graph];
  ++state().executables;
  return 0;
}
EXPORT int cuGraphLaunch(void *executable, void *stream) {
  const int result = call("cuGraphLaunch", true, stream == handle(4000) ? "stream" : "other");
  if (result != 0)
    return result;
  for (const Copy &copy : state().recorded[executable])
    if (int failure = run(copy))
      return failure;
  return 0;
}
EXPORT int cuGraphExecDestroy(void *executable) {
  --state().executables;
  state().recorded.erase(executable);
  return call("cuGraphExecDestroy", true);
}
EXPORT int cuGraphDestroy(void *graph) {
  --state().graphs;
  state().recorded.erase(graph);
  return call("cuGraphDestroy", true);
}
EXPORT int cuEventCreate(void **event, unsigned flags) {
  const int result = call("cuEventCreate", true, std::to_string(flags));
  *event = handle(5000 + static_cast<uintptr_t>(state().events));
  state().events += result == 0;
  return result;
}
EXPORT int cuEventDestroy_v2(void *) {
  --state().events;
  return call("cuEventDestroy", true);
}
EXPORT int cuEventRecord(void *event, void *) {
  return call("cuEventRecord", true, std::to_string(reinterpret_cast<uintptr_t>(event)));
}
EXPORT int cuEventSynchronize(void *event) {
  return call("cuEventSynchronize", true, std::to_string(reinterpret_cast<uintptr_t>(event)));
}
EXPORT int cuEventElapsedTime(float *milliseconds, void *from, void *to) {
  *milliseconds = 6.0f;
  return call("cuEventElapsedTime", true,
              std::to_string(reinterpret_cast<uintptr_t>(from)) + " " +
                  std::to_string(reinterpret_cast<uintptr_t>(to)));
}
