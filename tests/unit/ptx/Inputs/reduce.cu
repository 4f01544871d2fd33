// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// reduce.ptx and reduce_debug.ptx come from this file:
//   nvcc -ptx -arch=sm_90 -fmad=false reduce.cu -o reduce.ptx
//   nvcc -ptx -arch=sm_80 -fmad=false -lineinfo reduce.cu -o reduce_debug.ptx

#include <cuda_fp16.h>

__constant__ float weights[4] = {1.0f, 2.0f, 0.5f, 0.25f};

/// out[row] = sum of x[row, :] in a fixed order: a strided sum a thread, lanes by butterfly, warps in
/// ascending order through shared memory.
extern "C" __global__ void rowSum(const float *__restrict__ x, float *out, int columns) {
  __shared__ float partial[8];
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    sum = __fadd_rn(sum, x[(long)blockIdx.x * columns + i]);
  for (int distance = 16; distance > 0; distance /= 2)
    sum = __fadd_rn(sum, __shfl_xor_sync(0xFFFFFFFF, sum, distance));
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = partial[0];
    for (int warp = 1; warp < blockDim.x / 32; ++warp)
      total = __fadd_rn(total, partial[warp]);
    out[blockIdx.x] = total;
  }
}

/// y = half2 a * x + b, each rounded, times a weight by the thread's number; the tail by elements.
extern "C" __global__ void scaleHalves(const __half *x, __half *y, __half a, __half b, int n) {
  int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 1 < n) {
    __half2 value = *reinterpret_cast<const __half2 *>(x + i);
    value = __hadd2_rn(__hmul2_rn(value, __half2half2(a)), __half2half2(b));
    float2 wide = __half22float2(value);
    wide.x = __fmul_rn(wide.x, weights[threadIdx.x & 3]);
    wide.y = __fmul_rn(wide.y, weights[threadIdx.x & 3]);
    *reinterpret_cast<__half2 *>(y + i) = __float22half2_rn(wide);
  } else if (i < n) {
    y[i] = __float2half_rn(__fmul_rn(__half2float(__hadd_rn(__hmul_rn(x[i], a), b)),
                                     weights[threadIdx.x & 3]));
  }
}

struct Pair {
  int from, to;
};

/// A local array with a run-time index, a struct by value, and a warp vote.
extern "C" __global__ void rotate(const int *x, int *out, Pair pair) {
  int held[8];
  for (int i = 0; i < 8; ++i)
    held[i] = x[threadIdx.x * 8 + i];
  int moved = held[pair.from & 7];
  held[pair.to & 7] = moved + (int)__popc(__ballot_sync(0xFFFFFFFF, moved > 3));
  int sum = 0;
  for (int i = 0; i < 8; ++i)
    sum = sum * 31 + held[(i + threadIdx.x) & 7];
  out[threadIdx.x] = sum;
}
