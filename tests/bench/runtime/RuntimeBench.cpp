//===-- tests/bench/runtime/RuntimeBench.cpp - What a call costs the host -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// h3_runtime_bench STUB BUNDLE: nanoseconds of calls of Q/K norm + RoPE (six tensors) and SwiGLU
// (two) that are served, and of one that is declined, on a driver that does nothing when it is
// asked to launch: what is left is the runtime, contract check and variant choice included. One
// thread, then one for each core. STUB is libstubcuda.so, BUNDLE what `h3gen bundle` writes of
// specs/h3_vae.opset.
//
//===----------------------------------------------------------------------===//

#include "runtime/api/Create.h"
#include "runtime/include/h3rt.hpp"
#include "tests/unit/runtime/stub/Stub.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <time.h>

namespace {

/// A contiguous f16 tensor at an address that nobody reads.
struct Tensor {
  Tensor(uint64_t address, std::vector<int64_t> extents) : shape(std::move(extents)) {
    view.data = reinterpret_cast<void *>(address);
    view.device = {kDLCUDA, 1}; // sm_90
    view.dtype = {kDLFloat, 16, 1};
    view.ndim = static_cast<int32_t>(shape.size());
    view.shape = shape.data();
  }
  std::vector<int64_t> shape;
  DLTensor view{};
};

/// Of this thread's processor time: what else the machine does does not count.
double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

double nanoseconds(const h3rt::Operator &op, void *stream,
                   const std::vector<const DLTensor *> &tensors, bool isServed) {
  constexpr int kCalls = 100000;
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const double start = now();
    for (int i = 0; i < kCalls; ++i)
      if (op(stream, tensors.data(), tensors.size()).served() != isServed)
        std::abort();
    best = std::min(best, (now() - start) / kCalls);
  }
  return best;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: h3_runtime_bench STUB BUNDLE\n");
    return 2;
  }
  const h3::stub::Control stub(argv[1]);
  h3rt_options options{};
  options.size = sizeof(options);
  options.flags = H3RT_ALLOW_PTX;
  h3rt_runtime *made = nullptr;
  if (h3::rt::create(&options, argv[1], &made) != H3RT_OK) {
    std::fprintf(stderr, "%s\n", h3rt_last_error());
    return 1;
  }
  h3rt::Runtime runtime(made);
  void *stream = stub.createStream(stub.createContext(1));
  if (!runtime.openBundle(argv[2]) || !runtime.preload({kDLCUDA, 1}, stream)) {
    std::fprintf(stderr, "%s\n", h3rt_last_error());
    return 1;
  }
  stub.setIdle(true);

  Tensor q(0x10000000, {1, 195, 32, 64}), k(0x20000000, {1, 195, 32, 64});
  Tensor cos(0x30000000, {1, 195, 1, 48}), sin(0x40000000, {1, 195, 1, 48});
  Tensor qOut(0x50000000, {1, 195, 32, 64}), kOut(0x60000000, {1, 195, 32, 64});
  Tensor x(0x10000000, {195, 4096}), y(0x20000000, {195, 2048});
  const std::vector<const DLTensor *> six = {&q.view,   &k.view,    &cos.view,
                                             &sin.view, &qOut.view, &kOut.view};
  std::vector<const DLTensor *> wrong = six;
  wrong[5] = &cos.view;
  const h3rt::Operator rope = runtime.find("qk_norm_rope"), gate = runtime.find("swiglu<f16>");
  std::printf("qk_norm_rope, served    %6.0f ns\n", nanoseconds(rope, stream, six, true));
  std::printf("qk_norm_rope, declined  %6.0f ns\n", nanoseconds(rope, stream, wrong, false));
  std::printf("swiglu<f16>, served     %6.0f ns\n",
              nanoseconds(gate, stream, {&x.view, &y.view}, true));
  const unsigned count = std::thread::hardware_concurrency();
  std::vector<std::thread> threads;
  std::vector<double> taken(count);
  for (unsigned t = 0; t < count; ++t)
    threads.emplace_back([&, t] { taken[t] = nanoseconds(rope, stream, six, true); });
  double sum = 0;
  for (unsigned t = 0; t < count; ++t) {
    threads[t].join();
    sum += taken[t] / count;
  }
  std::printf("qk_norm_rope, served    %6.0f ns in %u threads at once\n", sum, count);
  stub.setIdle(false);
  return 0;
}
