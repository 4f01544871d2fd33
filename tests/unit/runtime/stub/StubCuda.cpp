//===-- tests/unit/runtime/stub/StubCuda.cpp - The stub driver ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Stub.h says what it is. Objects are never freed before `reset`, so that a handle that was
// destroyed is recognised.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/runtime/stub/Stub.h"

#include "backends/nvptx/ptx/Interpreter.h"
#include "backends/nvptx/ptx/Reader.h"
#include "runtime/cuda/DriverApi.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

using namespace h3;

namespace {

struct Context {
  int device = 0;
  bool isDestroyed = false;
  int sticky = 0;
};

struct Module {
  Context *context = nullptr;
  bool isUnloaded = false;
  ptx::Module ptx;
};

struct Kernel {
  Module *module = nullptr;
  std::string entry;
};

struct Recorded {
  Kernel *kernel = nullptr;
  ptx::LaunchConfig config;
};

struct Stream {
  Context *context = nullptr;
  bool isDestroyed = false, isOwn = false;
  bool isCapturing = false, isInvalid = false;
  std::vector<Recorded> recording;
};

struct Memory {
  size_t size = 0;
  bool isCounted = false;
  void *host = nullptr;
};

struct Failure {
  std::string symbol;
  int skip = 0, code = 0;
};

struct State {
  std::vector<Failure> failures;
  std::map<std::string, unsigned> calls;
  std::string order;
  std::vector<std::unique_ptr<Context>> contexts;
  std::vector<std::unique_ptr<Module>> modules;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<std::unique_ptr<Stream>> streams;
  std::map<uint64_t, Memory> memory;
  std::map<int, Context *> primaries;
  int retained = 0;
  unsigned kernelsRun = 0;
  std::string lastFault;
};

std::mutex mutex;
std::atomic<bool> isIdle{false};

State &state() {
  static State instance;
  return instance;
}

// Of each thread: the stack of contexts, and the capture mode (0 is global, 2 relaxed).
thread_local std::vector<Context *> stack;
thread_local int captureMode = 0;

constexpr int kCapabilities[] = {120, 90, 90, 121, 89, 107};

/// CUresult of NVIDIA's CUDA Driver API reference.
enum {
  kInvalidValue = 1,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinary = 209,
  kInvalidPtx = 218,
  kUnsupportedPtx = 222,
  kInvalidHandle = 400,
  kNotFound = 500,
  kLaunchFailed = 719,
  kDestroyed = 709,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
};

enum class Need { Nothing, Context, SafeInCapture };

/// Counts the call; the code with which it fails.
int enter(const char *symbol, Need need) {
  State &s = state();
  if (s.calls[symbol]++ == 0 && s.order.find(std::string(symbol) + "\n") == std::string::npos)
    s.order += std::string(symbol) + "\n";
  for (auto failure = s.failures.begin(); failure != s.failures.end(); ++failure)
    if (failure->symbol == symbol && failure->skip-- == 0) {
      const int code = failure->code;
      s.failures.erase(failure);
      return code;
    }
  if (need == Need::Nothing)
    return 0;
  if (stack.empty())
    return kInvalidContext;
  if (stack.back()->isDestroyed)
    return kDestroyed;
  if (stack.back()->sticky)
    return stack.back()->sticky;
  return 0;
}

/// The same for a call that must not be made while something captures, unless in relaxed mode.
int enterUnsafe(const char *symbol) {
  if (int code = enter(symbol, Need::Context))
    return code;
  if (captureMode == 2)
    return 0;
  bool isSpoilt = false;
  for (auto &stream : state().streams)
    if (stream->isCapturing) {
      stream->isInvalid = true;
      isSpoilt = true;
    }
  return isSpoilt ? kCaptureUnsupported : 0;
}

Stream *streamOf(void *handle) {
  for (auto &stream : state().streams)
    if (stream.get() == handle && !stream->isDestroyed)
      return stream.get();
  return nullptr;
}

bool isDefault(void *stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }

int runKernel(Kernel &kernel, const ptx::LaunchConfig &config) {
  State &s = state();
  std::vector<ptx::Region> regions;
  for (auto &[address, memory] : s.memory)
    regions.push_back(
        {"memory", address, {static_cast<std::byte *>(memory.host), memory.size}, true, true});
  auto fault = ptx::run(kernel.module->ptx, kernel.entry, config, regions);
  ++s.kernelsRun;
  if (!fault)
    return 0;
  s.lastFault = fault->message();
  kernel.module->context->sticky = kLaunchFailed;
  return 0; // a fault shows with the next call
}

void *newStream(Context *context, bool isOwn) {
  auto stream = std::make_unique<Stream>();
  stream->context = context;
  stream->isOwn = isOwn;
  state().streams.push_back(std::move(stream));
  return state().streams.back().get();
}

Context *newContext(int device) {
  auto context = std::make_unique<Context>();
  context->device = device;
  state().contexts.push_back(std::move(context));
  return state().contexts.back().get();
}

uint64_t newMemory(size_t size, bool isCounted) {
  void *host = std::aligned_alloc(256, (std::max<size_t>(size, 1) + 255) / 256 * 256);
  std::memset(host, 0xa5, size);
  const auto address = reinterpret_cast<uint64_t>(host);
  state().memory[address] = {size, isCounted, host};
  return address;
}

bool freeMemory(uint64_t address) {
  auto found = state().memory.find(address);
  if (found == state().memory.end())
    return false;
  std::free(found->second.host);
  state().memory.erase(found);
  return true;
}

bool isMemory(uint64_t address, size_t size) {
  auto after = state().memory.upper_bound(address);
  if (after == state().memory.begin())
    return false;
  const auto &[base, memory] = *std::prev(after);
  return address + size <= base + memory.size;
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))
using Lock = std::lock_guard<std::mutex>;

// ---- What the tests ask and tell

EXPORT void stubReset() {
  Lock lock(mutex);
  while (!state().memory.empty())
    freeMemory(state().memory.begin()->first);
  state() = State();
  stack.clear();
  captureMode = 0;
}
EXPORT void stubFailCall(const char *symbol, int skip, int code) {
  Lock lock(mutex);
  state().failures.push_back({symbol, skip, code});
}
EXPORT void stubBreakContext(void *context, int code) {
  Lock lock(mutex);
  static_cast<Context *>(context)->sticky = code;
}
EXPORT unsigned stubCalls(const char *symbol) {
  Lock lock(mutex);
  unsigned sum = 0;
  for (auto &[name, count] : state().calls)
    sum += !symbol || name == symbol ? count : 0;
  return sum;
}
EXPORT void stubClearCalls() {
  Lock lock(mutex);
  state().calls.clear();
}
EXPORT int stubAlive() {
  Lock lock(mutex);
  const State &s = state();
  int count = s.retained;
  for (auto &stream : s.streams)
    count += !stream->isDestroyed && !stream->isOwn;
  for (auto &module : s.modules)
    count += !module->isUnloaded && !module->context->isDestroyed;
  for (auto &[address, memory] : s.memory)
    count += memory.isCounted;
  return count;
}
EXPORT const char *stubCalledSymbols() { return state().order.c_str(); }
EXPORT void stubSetIdle(bool value) { isIdle = value; }
EXPORT unsigned stubKernelsRun() {
  Lock lock(mutex);
  return state().kernelsRun;
}
EXPORT const char *stubLastFault() { return state().lastFault.c_str(); }
EXPORT void *stubCreateContext(int device) {
  Lock lock(mutex);
  return newContext(device);
}
EXPORT void stubDestroyContext(void *context) {
  Lock lock(mutex);
  static_cast<Context *>(context)->isDestroyed = true;
  for (auto &stream : state().streams)
    stream->isDestroyed |= stream->context == context;
}
EXPORT void *stubPrimaryContext(int device) {
  Lock lock(mutex);
  Context *&primary = state().primaries[device];
  if (!primary)
    primary = newContext(device);
  return primary;
}
EXPORT void stubSetCurrent(void *context) {
  stack.clear();
  if (context)
    stack.push_back(static_cast<Context *>(context));
}
EXPORT void *stubCurrent() { return stack.empty() ? nullptr : stack.back(); }
EXPORT int stubDepth() { return static_cast<int>(stack.size()); }
EXPORT void *stubCreateStream(void *context) {
  Lock lock(mutex);
  return newStream(static_cast<Context *>(context), true);
}
EXPORT void stubDestroyStream(void *stream) {
  Lock lock(mutex);
  static_cast<Stream *>(stream)->isDestroyed = true;
}
EXPORT void stubBeginCapture(void *stream) {
  Lock lock(mutex);
  auto &s = *static_cast<Stream *>(stream);
  s.isCapturing = true;
  s.isInvalid = false;
  s.recording.clear();
}
EXPORT bool stubEndCapture(void *stream) {
  Lock lock(mutex);
  auto &s = *static_cast<Stream *>(stream);
  s.isCapturing = false;
  return !s.isInvalid;
}
EXPORT void stubReplay(void *stream) {
  Lock lock(mutex);
  for (Recorded &each : static_cast<Stream *>(stream)->recording)
    runKernel(*each.kernel, each.config);
}
EXPORT uint64_t stubAllocate(size_t bytes) {
  Lock lock(mutex);
  return newMemory(bytes, false);
}
EXPORT void stubRelease(uint64_t address) {
  Lock lock(mutex);
  freeMemory(address);
}

// ---- The driver

EXPORT int cuInit(unsigned) {
  Lock lock(mutex);
  return enter("cuInit", Need::Nothing);
}
EXPORT int cuDriverGetVersion(int *version) {
  Lock lock(mutex);
  *version = 12090;
  return enter("cuDriverGetVersion", Need::Nothing);
}
EXPORT int cuGetErrorName(int code, const char **name) {
  *name = code == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
          : code == 222 ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
          : code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : code == 709 ? "CUDA_ERROR_CONTEXT_IS_DESTROYED"
                        : nullptr;
  return *name ? 0 : kInvalidValue;
}
EXPORT int cuGetErrorString(int, const char **text) {
  *text = "of the stub driver";
  return 0;
}
EXPORT int cuDeviceGetCount(int *count) {
  Lock lock(mutex);
  *count = static_cast<int>(std::size(kCapabilities));
  return enter("cuDeviceGetCount", Need::Nothing);
}
EXPORT int cuDeviceGet(int *device, int index) {
  Lock lock(mutex);
  *device = 70 + index; // a handle is not an index
  return enter("cuDeviceGet", Need::Nothing);
}
EXPORT int cuDeviceGetName(char *name, int length, int) {
  Lock lock(mutex);
  std::snprintf(name, static_cast<size_t>(length), "stub device");
  return enter("cuDeviceGetName", Need::Nothing);
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  Lock lock(mutex);
  const int capability = kCapabilities[device - 70];
  *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : -1;
  return enter("cuDeviceGetAttribute", Need::Nothing);
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = stubPrimaryContext(device - 70);
  Lock lock(mutex);
  const int code = enter("cuDevicePrimaryCtxRetain", Need::Nothing);
  state().retained += code == 0;
  return code;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int) {
  Lock lock(mutex);
  --state().retained;
  return enter("cuDevicePrimaryCtxRelease", Need::Nothing);
}
EXPORT int cuCtxPushCurrent_v2(void *context) {
  if (isIdle.load(std::memory_order_relaxed))
    return 0;
  Lock lock(mutex);
  int code = enter("cuCtxPushCurrent", Need::Nothing);
  if (code == 0 && static_cast<Context *>(context)->isDestroyed)
    code = kDestroyed;
  if (code == 0)
    stack.push_back(static_cast<Context *>(context));
  return code;
}
EXPORT int cuCtxPopCurrent_v2(void **context) {
  if (isIdle.load(std::memory_order_relaxed))
    return 0;
  Lock lock(mutex);
  int code = enter("cuCtxPopCurrent", Need::Nothing);
  if (stack.empty())
    return kInvalidContext;
  *context = stack.back();
  stack.pop_back();
  return code;
}
EXPORT int cuCtxGetCurrent(void **context) {
  Lock lock(mutex);
  *context = stack.empty() ? nullptr : stack.back();
  return enter("cuCtxGetCurrent", Need::Nothing);
}
EXPORT int cuCtxGetDevice(int *device) {
  Lock lock(mutex);
  const int code = enter("cuCtxGetDevice", Need::Nothing);
  if (code != 0 || stack.empty())
    return code ? code : kInvalidContext;
  *device = 70 + stack.back()->device;
  return 0;
}
EXPORT int cuModuleLoadData(void **module, const void *image) {
  Lock lock(mutex);
  if (int code = enterUnsafe("cuModuleLoadData"))
    return code;
  std::string_view text = static_cast<const char *>(image);
  const bool isCubin = text.starts_with("\x7f"
                                        "ELF");
  if (isCubin && !text.starts_with(stub::kCubinHead))
    return kInvalidImage;
  if (isCubin)
    text.remove_prefix(stub::kCubinHead.size());
  auto read = ptx::read(text);
  if (!read)
    return isCubin ? kInvalidImage : kInvalidPtx;
  if (!isCubin && read->versionMajor * 10 + read->versionMinor > 88)
    return kUnsupportedPtx;
  const int capability = kCapabilities[stack.back()->device];
  if (read->target[0] != "sm_" + std::to_string(capability))
    return kNoBinary;
  auto loaded = std::make_unique<Module>();
  loaded->context = stack.back();
  loaded->ptx = std::move(*read);
  state().modules.push_back(std::move(loaded));
  *module = state().modules.back().get();
  return 0;
}
EXPORT int cuModuleUnload(void *module) {
  Lock lock(mutex);
  static_cast<Module *>(module)->isUnloaded = true;
  return enterUnsafe("cuModuleUnload");
}
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) {
  Lock lock(mutex);
  if (int code = enter("cuModuleGetFunction", Need::Context))
    return code;
  auto *owner = static_cast<Module *>(module);
  if (!owner->ptx.findKernel(name))
    return kNotFound;
  auto kernel = std::make_unique<Kernel>();
  kernel->module = owner;
  kernel->entry = name;
  state().kernels.push_back(std::move(kernel));
  *function = state().kernels.back().get();
  return 0;
}
EXPORT int cuFuncSetAttribute(void *, int, int) {
  Lock lock(mutex);
  return enter("cuFuncSetAttribute", Need::Context);
}
EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *stream, void **arguments,
                          void **) {
  if (isIdle.load(std::memory_order_relaxed))
    return 0;
  Lock lock(mutex);
  if (int code = enter("cuLaunchKernel", Need::Context))
    return code;
  auto &kernel = *static_cast<Kernel *>(function);
  if (kernel.module->isUnloaded || kernel.module->context != stack.back())
    return kInvalidHandle;
  Stream *target = streamOf(stream);
  if (!isDefault(stream) && (!target || target->context != stack.back()))
    return kInvalidHandle;
  ptx::LaunchConfig config;
  config.grid = {gx, gy, gz};
  config.block = {bx, by, bz};
  config.sharedBytes = shared;
  const ptx::Kernel &entry = *kernel.module->ptx.findKernel(kernel.entry);
  for (size_t i = 0; i < entry.parameters.size(); ++i)
    for (uint64_t at = 0; at < entry.parameters[i].bytes(); at += 8) {
      plan::Argument argument;
      argument.bytes =
          static_cast<uint8_t>(std::min<uint64_t>(8, entry.parameters[i].bytes() - at));
      std::memcpy(&argument.bits, static_cast<const std::byte *>(arguments[i]) + at,
                  argument.bytes);
      config.arguments.push_back(argument);
    }
  if (!target || !target->isCapturing)
    return runKernel(kernel, config);
  target->recording.push_back({&kernel, config});
  return target->isInvalid ? kCaptureInvalidated : 0;
}
/// Of the attributes it knows the early start, which changes nothing where kernels run at once.
EXPORT int cuLaunchKernelEx(const cuda::CUlaunchConfig *config, void *function, void **arguments,
                            void **extra) {
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (config->attrs[i].id != cuda::kLaunchProgrammatic)
      return kInvalidValue;
  return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ,
                        config->blockDimX, config->blockDimY, config->blockDimZ,
                        config->sharedMemBytes, config->hStream, arguments, extra);
}
EXPORT int cuMemAlloc_v2(uint64_t *address, size_t size) {
  Lock lock(mutex);
  const int code = enterUnsafe("cuMemAlloc");
  if (code == 0)
    *address = newMemory(size, true);
  return code;
}
EXPORT int cuMemFree_v2(uint64_t address) {
  Lock lock(mutex);
  if (!freeMemory(address))
    return kInvalidValue;
  return enterUnsafe("cuMemFree");
}
EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream) {
  Lock lock(mutex);
  if (int code = enter("cuMemcpyHtoDAsync", Need::Context))
    return code;
  if (!isMemory(to, size) || !streamOf(stream))
    return kInvalidValue;
  std::memcpy(reinterpret_cast<void *>(to), from, size);
  return 0;
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream) {
  Lock lock(mutex);
  if (int code = enter("cuMemcpyDtoHAsync", Need::Context))
    return code;
  if (!isMemory(from, size) || !streamOf(stream))
    return kInvalidValue;
  std::memcpy(to, reinterpret_cast<void *>(from), size);
  return 0;
}
EXPORT int cuStreamCreate(void **stream, unsigned) {
  Lock lock(mutex);
  const int code = enterUnsafe("cuStreamCreate");
  if (code == 0)
    *stream = newStream(stack.back(), false);
  return code;
}
EXPORT int cuStreamDestroy_v2(void *stream) {
  Lock lock(mutex);
  static_cast<Stream *>(stream)->isDestroyed = true;
  return enter("cuStreamDestroy", Need::Context);
}
EXPORT int cuStreamSynchronize(void *stream) {
  Lock lock(mutex);
  if (int code = enterUnsafe("cuStreamSynchronize"))
    return code;
  const Stream *target = streamOf(stream);
  return target && target->isCapturing ? kCaptureUnsupported : 0;
}
EXPORT int cuStreamGetCtx(void *stream, void **context) {
  Lock lock(mutex);
  const int code = enter("cuStreamGetCtx", Need::Nothing);
  const Stream *target = streamOf(stream);
  if (code != 0 || !target)
    return code ? code : kDestroyed;
  *context = target->context;
  return 0;
}
EXPORT int cuStreamIsCapturing(void *stream, int *status) {
  Lock lock(mutex);
  if (int code = enter("cuStreamIsCapturing", Need::Context))
    return code;
  const Stream *target = streamOf(stream);
  if (isDefault(stream))
    for (auto &each : state().streams)
      if (each->isCapturing && each->context == stack.back())
        return 906; // CUDA_ERROR_STREAM_CAPTURE_IMPLICIT; the capture stays valid
  *status = target && target->isCapturing ? 1 : 0;
  return isDefault(stream) || target ? 0 : kInvalidHandle;
}
EXPORT int cuThreadExchangeStreamCaptureMode(int *mode) {
  Lock lock(mutex);
  const int code = enter("cuThreadExchangeStreamCaptureMode", Need::Nothing);
  if (code == 0)
    std::swap(*mode, captureMode);
  return code;
}

// Functions that the runtime has no use for: they are there so that the library loads.
#define UNUSED(Symbol)                                                                             \
  EXPORT int Symbol() { return kInvalidValue; }
UNUSED(cuMemGetInfo_v2)
UNUSED(cuMemcpyDtoDAsync_v2)
UNUSED(cuMemsetD8Async)
UNUSED(cuEventCreate)
UNUSED(cuEventDestroy_v2)
UNUSED(cuEventRecord)
UNUSED(cuEventSynchronize)
UNUSED(cuEventElapsedTime)
UNUSED(cuStreamBeginCapture_v2)
UNUSED(cuStreamEndCapture)
UNUSED(cuGraphInstantiateWithFlags)
UNUSED(cuGraphLaunch)
UNUSED(cuGraphExecDestroy)
UNUSED(cuGraphDestroy)
