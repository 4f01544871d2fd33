//===-- runtime/cuda/Hardware.cpp - CUDA as the runtime reaches it --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Hardware.h"

#include <cstdio>

namespace h3::cuda {

// Codes of NVIDIA's CUDA Driver API reference, CUresult.
h3rt_driver_kind kindOf(CUresult code) {
  switch (code) {
  case kSuccess:
    return H3RT_DRIVER_OK;
  case 2:   // CUDA_ERROR_OUT_OF_MEMORY
  case 701: // CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
    return H3RT_DRIVER_OUT_OF_MEMORY;
  case 34:  // CUDA_ERROR_STUB_LIBRARY
  case 803: // CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
    return H3RT_DRIVER_MISSING;
  case kErrorNoDevice:
  case 101: // CUDA_ERROR_INVALID_DEVICE
    return H3RT_DRIVER_NO_DEVICE;
  case 200: // CUDA_ERROR_INVALID_IMAGE
  case 209: // CUDA_ERROR_NO_BINARY_FOR_GPU
  case 218: // CUDA_ERROR_INVALID_PTX
  case 221: // CUDA_ERROR_JIT_COMPILER_NOT_FOUND
  case 223: // CUDA_ERROR_JIT_COMPILATION_DISABLED
  case 300: // CUDA_ERROR_INVALID_SOURCE
  case 500: // CUDA_ERROR_NOT_FOUND: an entry that the image lacks
    return H3RT_DRIVER_WRONG_IMAGE;
  case 222: // CUDA_ERROR_UNSUPPORTED_PTX_VERSION
    return H3RT_DRIVER_PTX_TOO_NEW;
  case 201: // CUDA_ERROR_INVALID_CONTEXT
  case 709: // CUDA_ERROR_CONTEXT_IS_DESTROYED
    return H3RT_DRIVER_CONTEXT_DESTROYED;
  case 214: // CUDA_ERROR_ECC_UNCORRECTABLE
  case 220: // CUDA_ERROR_NVLINK_UNCORRECTABLE
  case 226: // CUDA_ERROR_CONTAINED
  case 700: // CUDA_ERROR_ILLEGAL_ADDRESS
  case 702: // CUDA_ERROR_LAUNCH_TIMEOUT
  case 710: // CUDA_ERROR_ASSERT
  case 714: // CUDA_ERROR_HARDWARE_STACK_ERROR
  case 715: // CUDA_ERROR_ILLEGAL_INSTRUCTION
  case 716: // CUDA_ERROR_MISALIGNED_ADDRESS
  case 717: // CUDA_ERROR_INVALID_ADDRESS_SPACE
  case 718: // CUDA_ERROR_INVALID_PC
  case 719: // CUDA_ERROR_LAUNCH_FAILED
    return H3RT_DRIVER_CONTEXT_ERROR;
  case 900: // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
  case 901: // CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
  case 906: // CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
    return H3RT_DRIVER_CAPTURING;
  default:
    return H3RT_DRIVER_ERROR;
  }
}

static h3rt_driver_result resultOf(CUresult code) { return {kindOf(code), code}; }

/// CU_STREAM_LEGACY is 1, CU_STREAM_PER_THREAD is 2.
static bool isDefaultStream(void *stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }

static CUcontext contextOf(void *context) { return static_cast<CUcontext>(context); }
static CUstream streamOf(void *stream) { return static_cast<CUstream>(stream); }

h3rt_driver_result Hardware::target(int32_t device, char *text, size_t capacity) {
  if (!functions) {
    auto loaded = Driver::load(library);
    if (!loaded) {
      const Failure &failure = loaded.error();
      return {failure.kind == Failure::Kind::NoDriver ? H3RT_DRIVER_MISSING : kindOf(failure.code),
              failure.code};
    }
    driver = *loaded;
    functions.store(&driver->api(), std::memory_order_release);
  }
  auto capability = driver->capability(device);
  if (!capability) {
    const Failure &failure = capability.error();
    return {failure.kind == Failure::Kind::NoDevice ? H3RT_DRIVER_NO_DEVICE : kindOf(failure.code),
            failure.code};
  }
  std::snprintf(text, capacity, "sm_%d%d", capability->major, capability->minor);
  return {};
}

uintptr_t Hardware::key(void *stream) const {
  if (!isDefaultStream(stream))
    return reinterpret_cast<uintptr_t>(stream);
  const DriverApi *loaded = functions.load(std::memory_order_acquire);
  CUcontext current = nullptr;
  if (!loaded || loaded->ctxGetCurrent(&current) != kSuccess)
    return 1;
  // Handles are addresses of objects: none is odd.
  return reinterpret_cast<uintptr_t>(current) | 1;
}

CUresult Hardware::primaryOf(CUdevice device, int32_t index, CUcontext &context) {
  for (const Primary &known : primaries)
    if (known.device == index) {
      context = known.context;
      return kSuccess;
    }
  // Not before it is needed: retaining makes the context where nobody has.
  const CUresult code = api().primaryCtxRetain(&context, device);
  if (code == kSuccess)
    primaries.push_back({index, device, context});
  return code;
}

h3rt_driver_result Hardware::resolve(int32_t device, void *stream, void **context) {
  CUdevice wanted = 0;
  if (CUresult code = api().deviceGet(&wanted, device))
    return resultOf(code);
  int mode = kStreamCaptureRelaxed;
  if (CUresult code = api().threadExchangeCaptureMode(&mode))
    return resultOf(code);
  CUcontext found = nullptr;
  CUdevice own = wanted;
  CUresult code = isDefaultStream(stream) ? api().ctxGetCurrent(&found)
                                          : api().streamGetCtx(streamOf(stream), &found);
  if (code == kSuccess && found) {
    code = api().ctxPushCurrent(found);
    if (code == kSuccess) {
      code = api().ctxGetDevice(&own);
      CUcontext popped = nullptr;
      const CUresult afterwards = api().ctxPopCurrent(&popped);
      code = code == kSuccess ? afterwards : code;
    }
  }
  if (code == kSuccess && isDefaultStream(stream) && (!found || own != wanted)) {
    own = wanted;
    code = primaryOf(wanted, device, found);
  }
  const CUresult restored = api().threadExchangeCaptureMode(&mode);
  if (code == kSuccess)
    code = restored;
  if (code != kSuccess)
    return resultOf(code);
  if (own != wanted)
    return {H3RT_DRIVER_WRONG_DEVICE, 0};
  *context = found;
  return {};
}

h3rt_driver_result Hardware::capturing(void *context, void *stream, int32_t *isCapturing) {
  if (CUresult code = api().ctxPushCurrent(contextOf(context)))
    return resultOf(code);
  int status = 0; // CU_STREAM_CAPTURE_STATUS_NONE
  CUresult code = api().streamIsCapturing(streamOf(stream), &status);
  CUcontext popped = nullptr;
  const CUresult afterwards = api().ctxPopCurrent(&popped);
  // The legacy stream cannot be asked while another stream of the context captures.
  *isCapturing = status != 0 || kindOf(code) == H3RT_DRIVER_CAPTURING;
  if (*isCapturing)
    code = kSuccess;
  return resultOf(code == kSuccess ? afterwards : code);
}

h3rt_driver_result Hardware::enter(void *context) {
  modeOutside = kStreamCaptureRelaxed;
  if (CUresult code = api().threadExchangeCaptureMode(&modeOutside))
    return resultOf(code);
  const CUresult code = api().ctxPushCurrent(contextOf(context));
  if (code != kSuccess)
    api().threadExchangeCaptureMode(&modeOutside);
  return resultOf(code);
}

h3rt_driver_result Hardware::leave() {
  CUcontext popped = nullptr;
  const CUresult code = api().ctxPopCurrent(&popped);
  const CUresult restored = api().threadExchangeCaptureMode(&modeOutside);
  return resultOf(code == kSuccess ? restored : code);
}

h3rt_driver_result Hardware::kernel(void *module, const char *symbol, uint32_t sharedBytes,
                                    void **kernel) {
  // Above this much dynamic shared memory a kernel must ask for it.
  constexpr uint32_t kSharedWithoutAsking = 48 * 1024;
  CUfunction function = nullptr;
  CUresult code = api().moduleGetFunction(&function, static_cast<CUmodule>(module), symbol);
  if (code == kSuccess && sharedBytes > kSharedWithoutAsking)
    code =
        api().funcSetAttribute(function, kFunctionMaxDynamicShared, static_cast<int>(sharedBytes));
  *kernel = function;
  return resultOf(code);
}

h3rt_driver_result Hardware::launch(void *context, void *stream, void *kernel,
                                    const h3rt_launch &launch) {
  const DriverApi &driver = api();
  if (CUresult code = driver.ctxPushCurrent(contextOf(context)))
    return resultOf(code);
  const CUresult code = driver.launchKernel(
      static_cast<CUfunction>(kernel), launch.grid[0], launch.grid[1], launch.grid[2],
      launch.block[0], launch.block[1], launch.block[2], launch.shared_bytes, streamOf(stream),
      const_cast<void **>(launch.arguments), nullptr);
  CUcontext popped = nullptr;
  const CUresult afterwards = driver.ctxPopCurrent(&popped);
  return resultOf(code == kSuccess ? afterwards : code);
}

void Hardware::releaseContexts() {
  for (const Primary &primary : primaries)
    api().primaryCtxRelease(primary.handle);
  primaries.clear();
}

h3rt_driver Hardware::interface() {
  h3rt_driver result{};
  result.size = sizeof(result);
  result.name = "cuda";
  result.device_type = kDLCUDA;
  result.user = this;
  result.target = [](void *user, int32_t device, char *text, size_t capacity) {
    return of(user).target(device, text, capacity);
  };
  result.key = [](void *user, int32_t, void *stream) { return of(user).key(stream); };
  result.launch = [](void *user, void *context, void *stream, void *kernel,
                     const h3rt_launch *launch) {
    return of(user).launch(context, stream, kernel, *launch);
  };
  result.resolve = [](void *user, int32_t device, void *stream, void **context) {
    return of(user).resolve(device, stream, context);
  };
  result.capturing = [](void *user, void *context, void *stream, int32_t *isCapturing) {
    return of(user).capturing(context, stream, isCapturing);
  };
  result.enter = [](void *user, void *context) { return of(user).enter(context); };
  result.leave = [](void *user, void *) { return of(user).leave(); };
  result.load = [](void *user, const void *image, size_t, int32_t, void **module) {
    return resultOf(of(user).api().moduleLoadData(reinterpret_cast<CUmodule *>(module), image));
  };
  result.unload = [](void *user, void *module) {
    return resultOf(of(user).api().moduleUnload(static_cast<CUmodule>(module)));
  };
  result.kernel = [](void *user, void *module, const char *symbol, uint32_t sharedBytes,
                     void **kernel) {
    return of(user).kernel(module, symbol, sharedBytes, kernel);
  };
  result.open_stream = [](void *user, void **stream) {
    return resultOf(
        of(user).api().streamCreate(reinterpret_cast<CUstream *>(stream), kStreamNonBlocking));
  };
  result.close_stream = [](void *user, void *stream) {
    return resultOf(of(user).api().streamDestroy(streamOf(stream)));
  };
  result.synchronize = [](void *user, void *stream) {
    return resultOf(of(user).api().streamSynchronize(streamOf(stream)));
  };
  result.allocate = [](void *user, size_t length, uint64_t *address) {
    return resultOf(of(user).api().memAlloc(address, length));
  };
  result.release = [](void *user, uint64_t address) {
    return resultOf(of(user).api().memFree(address));
  };
  result.upload = [](void *user, void *stream, uint64_t to, const void *from, size_t length) {
    return resultOf(of(user).api().memcpyHtoDAsync(to, from, length, streamOf(stream)));
  };
  result.download = [](void *user, void *stream, void *to, uint64_t from, size_t length) {
    return resultOf(of(user).api().memcpyDtoHAsync(to, from, length, streamOf(stream)));
  };
  result.error_name = [](void *user, int32_t code) -> const char * {
    const DriverApi *loaded = of(user).functions.load(std::memory_order_acquire);
    const char *name = nullptr;
    if (!loaded || loaded->getErrorName(code, &name) != kSuccess)
      return nullptr;
    return name;
  };
  return result;
}

} // namespace h3::cuda
