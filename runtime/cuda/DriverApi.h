//===-- runtime/cuda/DriverApi.h - The driver's types and functions *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What this folder needs of the CUDA driver's C interface, so that no CUDA header or library is
// needed to build. Names and numbers are those of NVIDIA's CUDA Driver API reference.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_CUDA_DRIVERAPI_H
#define H3_RUNTIME_CUDA_DRIVERAPI_H

#include <cstddef>
#include <cstdint>

namespace h3::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphExec = struct CUgraphExec_st *;

/// A launch attribute: its number, and a union of 64 bytes of which an int is used here.
struct CUlaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int number;
  } value;
};

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
};
static_assert(sizeof(CUlaunchAttribute) == 72 && sizeof(CUlaunchConfig) == 56);

inline constexpr CUresult kSuccess = 0;         ///< CUDA_SUCCESS
inline constexpr CUresult kErrorNoDevice = 100; ///< CUDA_ERROR_NO_DEVICE

inline constexpr int kAttributeCapabilityMajor =
    75; ///< CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
inline constexpr int kAttributeCapabilityMinor = 76;
inline constexpr int kFunctionMaxDynamicShared =
    8; ///< CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
inline constexpr int kLaunchProgrammatic =
    6; ///< CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
inline constexpr unsigned kStreamNonBlocking = 1; ///< CU_STREAM_NON_BLOCKING
inline constexpr int kStreamCaptureRelaxed = 2;   ///< CU_STREAM_CAPTURE_MODE_RELAXED
inline constexpr unsigned kEventDefault = 0;      ///< CU_EVENT_DEFAULT: with timing

/// One pointer for each row of functions.def. An optional one is null where the driver lacks it.
struct DriverApi {
#define H3_CUDA_FUNCTION(Member, Symbol, ...) CUresult (*Member)(__VA_ARGS__) = nullptr;
#include "runtime/cuda/functions.def"
};

} // namespace h3::cuda

#endif // H3_RUNTIME_CUDA_DRIVERAPI_H
