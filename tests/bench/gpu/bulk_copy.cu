//===-- tests/bench/gpu/bulk_copy.cu - Bulk copies against plain loads ----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Does a kernel like residual_rms_norm gain from cp.async.bulk? A row has 2048 elements: a residual
// of f32, a branch of f16; out come their sum as f32 and, normalised, as f16. All kernels have the
// same threads with the same elements and add in the same order, so that their outputs have the
// same bits, which is checked; only the way to memory differs:
//
//   plain      a block a row, every thread loads 16 and 8 bytes four times
//   loop       the same, blocks that stay and take one row after the other
//   bulk in    such blocks; rows come through shared memory by bulk copies, some ahead of their use
//   bulk both  and leave through shared memory likewise
//
// each as it is and as a mere copy without the norm. Prints the microseconds of a launch in a CUDA
// graph, always on the same buffers and on many sets of them in turn, as tests/bench/README.md says.
//
//   nvcc -O3 -std=c++17 -arch=sm_90 -o bulk_copy tests/bench/gpu/bulk_copy.cu && ./bulk_copy [ROWS]
//
// Exits 1 if the outputs of two kernels differ, 3 without a device of capability 9.0 or more.
//
// Source: PTX ISA 9.0, `cp.async.bulk`, `mbarrier`, "Async proxy".
//
//===----------------------------------------------------------------------===//

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int width = 2048, threads = 128, vectors = width / threads / 4;
constexpr uint32_t residualBytes = width * 4, branchBytes = width * 2;
constexpr uint32_t rowBytes = residualBytes + branchBytes;

struct Buffers {
  const float *residual;
  const __half *branch;
  const float *scale, *weight;
  float *h;
  __half *y;
};

void check(cudaError_t result, const char *what) {
  if (result == cudaSuccess)
    return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
  std::exit(2);
}

//===----------------------------------------------------------------------===//
// One row
//===----------------------------------------------------------------------===//

/// Four elements of each vector of a thread.
struct Part {
  float4 residual[vectors];
  uint2 branch[vectors];
};

__device__ int elementOf(int vector) { return (vector * threads + threadIdx.x) * 4; }

__device__ Part loadPart(const float *residual, const __half *branch) {
  Part part;
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
    part.residual[v] = *reinterpret_cast<const float4 *>(residual + elementOf(v));
    part.branch[v] = *reinterpret_cast<const uint2 *>(branch + elementOf(v));
  }
  return part;
}

__device__ void storePart(const Part &part, float *h, __half *y) {
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
    *reinterpret_cast<float4 *>(h + elementOf(v)) = part.residual[v];
    *reinterpret_cast<uint2 *>(y + elementOf(v)) = part.branch[v];
  }
}

/// The sum and its norm in place of the residual and the branch. All threads of the block.
__device__ void normalise(Part &part, const float *scale, const float *weight) {
  __shared__ float sums[threads / 32];
  float sum = 0;
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
    const float4 factor = *reinterpret_cast<const float4 *>(scale + elementOf(v));
    float *r = &part.residual[v].x;
    const __half *b = reinterpret_cast<const __half *>(&part.branch[v]);
    const float *f = &factor.x;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      r[i] = __fadd_rn(r[i], __fmul_rn(__half2float(b[i]), f[i]));
      sum = __fmaf_rn(r[i], r[i], sum);
    }
  }
#pragma unroll
  for (int offset = 16; offset; offset /= 2)
    sum = __fadd_rn(sum, __shfl_xor_sync(~0u, sum, offset));
  if (threadIdx.x % 32 == 0)
    sums[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
#pragma unroll
  for (float one : sums)
    sum = __fadd_rn(sum, one);
  const float factor = rsqrtf(__fadd_rn(__fmul_rn(sum, 1.0f / width), 1e-5f));
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
    const float4 weights = *reinterpret_cast<const float4 *>(weight + elementOf(v));
    const float *r = &part.residual[v].x, *w = &weights.x;
    __half *y = reinterpret_cast<__half *>(&part.branch[v]);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      y[i] = __float2half_rn(__fmul_rn(w[i], __fmul_rn(factor, r[i])));
  }
  __syncthreads(); // `sums` is free for the next row
}

//===----------------------------------------------------------------------===//
// Plain loads
//===----------------------------------------------------------------------===//

template <bool Norm> __global__ void __launch_bounds__(threads) loopKernel(Buffers b, int rows) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    Part part = loadPart(b.residual + row * width, b.branch + row * width);
    if constexpr (Norm)
      normalise(part, b.scale, b.weight);
    storePart(part, b.h + row * width, b.y + row * width);
  }
}

//===----------------------------------------------------------------------===//
// Bulk copies
//===----------------------------------------------------------------------===//

__device__ uint32_t sharedAddress(const void *pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void bulkLoad(void *to, const void *from, uint32_t bytes, uint64_t *barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
               "[%3];" ::"r"(sharedAddress(to)),
               "l"(from), "r"(bytes), "r"(sharedAddress(barrier))
               : "memory");
}

__device__ void bulkStore(void *to, const void *from, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(sharedAddress(from)), "r"(bytes)
               : "memory");
}

__device__ void expect(uint64_t *barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   sharedAddress(barrier)),
               "r"(bytes)
               : "memory");
}

__device__ void waitFor(uint64_t *barrier, uint32_t parity) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "again:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra again;\n"
               "}\n" ::"r"(sharedAddress(barrier)),
               "r"(parity)
               : "memory");
}

/// Shared memory: `stages` rows that come, and with BulkOut two that leave.
template <bool Norm, bool BulkOut>
__global__ void __launch_bounds__(threads) bulkKernel(Buffers b, int rows, int stages) {
  extern __shared__ __align__(128) unsigned char shared[];
  __shared__ uint64_t arrived[8];
  const bool isFirst = threadIdx.x == 0;
  if (isFirst) {
    for (int s = 0; s < stages; ++s)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(sharedAddress(&arrived[s])));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  auto ask = [&](int64_t row, int stage) {
    unsigned char *to = shared + stage * rowBytes;
    expect(&arrived[stage], rowBytes);
    bulkLoad(to, b.residual + row * width, residualBytes, &arrived[stage]);
    bulkLoad(to + residualBytes, b.branch + row * width, branchBytes, &arrived[stage]);
  };
  if (isFirst)
    for (int s = 0; s < stages; ++s)
      if (int64_t row = blockIdx.x + int64_t(s) * gridDim.x; row < rows)
        ask(row, s);
  int stage = 0, turn = 0, leaving = 0;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const unsigned char *from = shared + stage * rowBytes;
    waitFor(&arrived[stage], turn & 1);
    Part part = loadPart(reinterpret_cast<const float *>(from),
                         reinterpret_cast<const __half *>(from + residualBytes));
    __syncthreads(); // all have read
    if (int64_t next = row + int64_t(stages) * gridDim.x; isFirst && next < rows)
      ask(next, stage);
    if constexpr (Norm)
      normalise(part, b.scale, b.weight);
    if constexpr (BulkOut) {
      unsigned char *out = shared + (stages + leaving) * rowBytes;
      if (isFirst) // the copy before the last has read its row
        asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
      __syncthreads();
      storePart(part, reinterpret_cast<float *>(out),
                reinterpret_cast<__half *>(out + residualBytes));
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncthreads();
      if (isFirst) {
        bulkStore(b.h + row * width, out, residualBytes);
        bulkStore(b.y + row * width, out + residualBytes, branchBytes);
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      }
      leaving ^= 1;
    } else {
      storePart(part, b.h + row * width, b.y + row * width);
    }
    if (++stage == stages) {
      stage = 0;
      ++turn;
    }
  }
  if (BulkOut && isFirst)
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

//===----------------------------------------------------------------------===//
// Measurement
//===----------------------------------------------------------------------===//

struct Candidate {
  std::string name;
  bool isNorm;
  std::function<void(const Buffers &, cudaStream_t)> launch;
};

template <bool Norm, bool BulkOut>
void addBulk(std::vector<Candidate> &all, int rows, int multiprocessors) {
  for (int stages : {2, 3, 4}) {
    const int bytes = (stages + (BulkOut ? 2 : 0)) * int(rowBytes);
    check(cudaFuncSetAttribute(bulkKernel<Norm, BulkOut>,
                               cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
          "cudaFuncSetAttribute");
    int resident = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, bulkKernel<Norm, BulkOut>,
                                                        threads, bytes),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    for (int blocks : {resident, (resident + 1) / 2}) {
      const int grid = std::min(rows, blocks * multiprocessors);
      all.push_back({std::string(BulkOut ? "bulk both" : "bulk in") + ", " +
                         std::to_string(stages) + " rows ahead, " + std::to_string(blocks) +
                         " blocks an SM",
                     Norm, [=](const Buffers &b, cudaStream_t stream) {
                       bulkKernel<Norm, BulkOut><<<grid, threads, bytes, stream>>>(b, rows, stages);
                     }});
    }
  }
}

template <bool Norm> void addAll(std::vector<Candidate> &all, int rows, int multiprocessors) {
  auto loop = [=](int grid) {
    return [=](const Buffers &b, cudaStream_t stream) {
      loopKernel<Norm><<<grid, threads, 0, stream>>>(b, rows);
    };
  };
  all.push_back({"plain", Norm, loop(rows)});
  for (int blocks : {4, 8, 16})
    all.push_back({"loop, " + std::to_string(blocks) + " blocks an SM", Norm,
                   loop(std::min(rows, blocks * multiprocessors))});
  addBulk<Norm, false>(all, rows, multiprocessors);
  addBulk<Norm, true>(all, rows, multiprocessors);
}

/// Microseconds of one launch: the best of several graphs of at least 128.
double timeOf(const Candidate &candidate, const std::vector<Buffers> &sets, cudaStream_t stream) {
  const size_t turns = (128 + sets.size() - 1) / sets.size();
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  for (size_t turn = 0; turn < turns; ++turn)
    for (const Buffers &set : sets)
      candidate.launch(set, stream);
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start), "cudaEventCreate");
  check(cudaEventCreate(&stop), "cudaEventCreate");
  double best = 1e30;
  for (int sample = 0; sample < 12; ++sample) {
    check(cudaEventRecord(start, stream), "cudaEventRecord");
    check(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    check(cudaEventRecord(stop, stream), "cudaEventRecord");
    check(cudaEventSynchronize(stop), candidate.name.c_str());
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
    if (sample > 1) // the first ones warm up
      best = std::min(best, milliseconds * 1000.0 / double(turns * sets.size()));
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  return best;
}

template <typename T> T *allocate(size_t count) {
  void *memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
  return static_cast<T *>(memory);
}

} // namespace

int main(int argc, char **argv) {
  const int rows = argc > 1 ? std::atoi(argv[1]) : 3594; // [2, 1797, 2048]
  if (rows < 1) {
    std::fprintf(stderr, "expected a number of rows, found '%s'\n", argv[1]);
    return 2;
  }
  cudaDeviceProp device;
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess || device.major < 9) {
    std::fprintf(stderr, "skipped: no device of capability 9.0 or more\n");
    return 3;
  }
  cudaStream_t stream;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");

  const size_t count = size_t(rows) * width, moved = 2 * size_t(rows) * rowBytes;
  const size_t copies = std::max<size_t>(8, ((256u << 20) + moved - 1) / moved);
  std::vector<float> floats(count), factors(width);
  std::vector<__half> halves(count);
  uint32_t state = 1;
  auto draw = [&] {
    state = state * 1664525u + 1013904223u;
    return float(int32_t(state)) * 0x1p-30f;
  };
  for (float &x : floats)
    x = draw();
  for (__half &x : halves)
    x = __float2half_rn(draw());
  for (float &x : factors)
    x = draw();
  auto *scale = allocate<float>(width), *weight = allocate<float>(width);
  check(cudaMemcpy(scale, factors.data(), width * 4, cudaMemcpyHostToDevice), "cudaMemcpy");
  check(cudaMemcpy(weight, factors.data(), width * 4, cudaMemcpyHostToDevice), "cudaMemcpy");
  std::vector<Buffers> sets;
  for (size_t i = 0; i < copies; ++i) {
    auto *residual = allocate<float>(count);
    auto *branch = allocate<__half>(count);
    check(cudaMemcpy(residual, floats.data(), count * 4, cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaMemcpy(branch, halves.data(), count * 2, cudaMemcpyHostToDevice), "cudaMemcpy");
    sets.push_back({residual, branch, scale, weight, allocate<float>(count),
                    allocate<__half>(count)});
  }

  std::vector<Candidate> all;
  addAll<true>(all, rows, device.multiProcessorCount);
  addAll<false>(all, rows, device.multiProcessorCount);
  std::printf("%s, %d rows of %d, %zu sets of buffers of %.1f MB\n\n", device.name, rows, width,
              copies, double(moved) / 1e6);
  std::printf("| work | kernel | us, same buffers | us, in turn | GB/s, in turn |\n"
              "|---|---|---|---|---|\n");
  std::vector<unsigned char> expected[2], h(count * 4), y(count * 2);
  bool isSame = true;
  for (const Candidate &candidate : all) {
    const Buffers &set = sets.front();
    check(cudaMemset(set.h, 0x5A, count * 4), "cudaMemset");
    check(cudaMemset(set.y, 0x5A, count * 2), "cudaMemset");
    candidate.launch(set, stream);
    check(cudaStreamSynchronize(stream), candidate.name.c_str());
    check(cudaMemcpy(h.data(), set.h, h.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    check(cudaMemcpy(y.data(), set.y, y.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    h.insert(h.end(), y.begin(), y.end());
    if (expected[candidate.isNorm].empty())
      expected[candidate.isNorm] = h;
    if (h != expected[candidate.isNorm]) {
      std::fprintf(stderr, "%s: the output differs from the plain kernel's\n",
                   candidate.name.c_str());
      isSame = false;
    }
    h.resize(count * 4);
    const double same = timeOf(candidate, {set}, stream), turns = timeOf(candidate, sets, stream);
    std::printf("| %s | %s | %.2f | %.2f | %.0f |\n", candidate.isNorm ? "norm" : "copy",
                candidate.name.c_str(), same, turns, double(moved) / turns * 1e-3);
  }
  return isSame ? 0 : 1;
}
