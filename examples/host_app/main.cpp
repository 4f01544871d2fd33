//===-- examples/host_app/main.cpp - A host of the embedded runtime -------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Runs the element-wise half of a block of the MiniMax-H3 video VAE: Q/K norm and rotary embedding,
// the scaled residual with its norm, SwiGLU. Each operation is asked of the runtime first; where
// the call is declined, the program does what it always did (Plain.h). So it gives results
// everywhere, and the same bits as PyTorch where the bundle serves the device.
//
//   host_app [BUNDLE]
//
//===----------------------------------------------------------------------===//

#include "Memory.h"
#include "Plain.h"

#include <h3rt.hpp>

#include <cstdio>
#include <functional>

namespace {

/// Numbers about 0 that are the same everywhere: a linear congruential generator (Knuth's MMIX).
class Numbers {
public:
  float next() {
    state = state * 6364136223846793005 + 1442695040888963407;
    return static_cast<float>(static_cast<int32_t>(state >> 40) - (1 << 23)) * 0x1p-22f;
  }
  std::vector<uint16_t> halves(size_t count) {
    std::vector<uint16_t> values(count);
    for (uint16_t &value : values)
      value = plain::toHalf(next());
    return values;
  }
  std::vector<float> floats(size_t count) {
    std::vector<float> values(count);
    for (float &value : values)
      value = next();
    return values;
  }

private:
  uint64_t state = 1;
};

/// Asks the runtime; if it does not serve the call, runs the program's own operation.
void runOr(const h3rt::Operator &op, const char *name, void *stream,
           std::initializer_list<const DLTensor *> tensors, const std::function<void()> &own) {
  if (!op) {
    std::printf("%-24s not in the bundle, done here\n", name);
    own();
    return;
  }
  const h3rt::Result result = op(stream, tensors);
  if (result.served()) {
    std::printf("%-24s served\n", name);
    return;
  }
  std::printf("%-24s %s; done here\n", name, result.text().c_str());
  if (result.failed())
    std::fprintf(stderr, "host_app: warning: the outputs of a failed call are computed again\n");
  own();
}

/// FNV-1a, of the bytes.
template <typename T> unsigned checksum(const std::vector<T> &values) {
  unsigned hash = 2166136261u;
  const auto *bytes = reinterpret_cast<const unsigned char *>(values.data());
  for (size_t i = 0; i < values.size() * sizeof(T); ++i)
    hash = (hash ^ bytes[i]) * 16777619u;
  return hash;
}

} // namespace

int main(int argc, char **argv) {
  h3rt::Runtime runtime;
  if (!runtime) {
    std::fprintf(stderr, "host_app: error: %s\n", h3rt_last_error());
    return 1;
  }
  // Without a bundle, or with a damaged one, the program goes on as it did before.
  if (argc > 1 && !runtime.openBundle(argv[1]))
    std::fprintf(stderr, "host_app: warning: %s\n", h3rt_last_error());

  const Machine machine;
  h3rt_device_info info{};
  info.size = sizeof(info);
  if (h3rt_get_device(runtime.get(), machine.device(), &info) == H3RT_OK)
    std::printf("device: %s, %d operators, %d enabled, %d validated\n", info.target,
                info.operator_count, info.enabled_count, info.validated_count);
  else
    std::printf("device: the host's memory\n");
  void *stream = nullptr;
  // Once, where waiting is fine; calls then never load, not even in a captured graph.
  if (machine.hasGpu() && !runtime.preload(machine.device(), stream))
    std::printf("preload: %s\n", h3rt_last_error());

  constexpr int64_t kTokens = 195, kHeads = 32, kHead = 64, kRotated = 48, kWidth = kHeads * kHead;
  constexpr float kEps = 1e-5f;
  Numbers numbers;
  Tensor qkv(machine, kHalf, {1, kTokens, kHeads, 3 * kHead});
  Tensor cos(machine, kHalf, {1, kTokens, 1, kRotated}),
      sin(machine, kHalf, {1, kTokens, 1, kRotated});
  Tensor q(machine, kHalf, {1, kTokens, kHeads, kHead}),
      k(machine, kHalf, {1, kTokens, kHeads, kHead});
  Tensor residual(machine, kFloat, {kTokens, kWidth}), branch(machine, kHalf, {kTokens, kWidth});
  Tensor scale(machine, kFloat, {kWidth}), weight(machine, kFloat, {kWidth});
  Tensor h(machine, kFloat, {kTokens, kWidth}), y(machine, kHalf, {kTokens, kWidth});
  Tensor gates(machine, kHalf, {kTokens, 2 * kWidth}), gated(machine, kHalf, {kTokens, kWidth});
  for (Tensor *tensor : {&qkv, &cos, &sin, &branch, &gates})
    tensor->set(numbers.halves(tensor->elements()));
  for (Tensor *tensor : {&residual, &scale, &weight})
    tensor->set(numbers.floats(tensor->elements()));

  // Q and K are read where they lie in the projection.
  const DLTensor qIn = qkv.slice(0, kHead), kIn = qkv.slice(kHead, 2 * kHead);
  const DLTensor cosIn = cos.view(), sinIn = sin.view(), qOut = q.view(), kOut = k.view();
  runOr(runtime.find("qk_norm_rope"), "qk_norm_rope", stream,
        {&qIn, &kIn, &cosIn, &sinIn, &qOut, &kOut}, [&] {
          const auto all = qkv.get<uint16_t>(), c = cos.get<uint16_t>(), s = sin.get<uint16_t>();
          std::vector<uint16_t> result(q.elements());
          for (auto [out, from] : {std::pair(&q, 0), std::pair(&k, 1)}) {
            plain::normAndRotate(all.data() + from * kHead, 3 * kWidth, 3 * kHead, c.data(),
                                 s.data(), kTokens, kHeads, kEps, result.data());
            out->set(result);
          }
        });

  const DLTensor residualIn = residual.view(), branchIn = branch.view(), scaleIn = scale.view();
  const DLTensor weightIn = weight.view(), hOut = h.view(), yOut = y.view();
  runOr(runtime.find("residual_rms_norm<f32>"), "residual_rms_norm<f32>", stream,
        {&residualIn, &branchIn, &scaleIn, &weightIn, &hOut, &yOut}, [&] {
          std::vector<float> sum(h.elements());
          std::vector<uint16_t> normed(y.elements());
          plain::residualNorm(residual.get<float>().data(), branch.get<uint16_t>().data(),
                              scale.get<float>().data(), weight.get<float>().data(), kTokens,
                              kWidth, kEps, sum.data(), normed.data());
          h.set(sum);
          y.set(normed);
        });

  const DLTensor gatesIn = gates.view(), gatedOut = gated.view();
  runOr(runtime.find("swiglu<f16>"), "swiglu<f16>", stream, {&gatesIn, &gatedOut}, [&] {
    std::vector<uint16_t> result(gated.elements());
    plain::swiglu(gates.get<uint16_t>().data(), kTokens, kWidth, result.data());
    gated.set(result);
  });

  std::printf("checksums: q %08x k %08x h %08x y %08x gated %08x\n", checksum(q.get<uint16_t>()),
              checksum(k.get<uint16_t>()), checksum(h.get<float>()), checksum(y.get<uint16_t>()),
              checksum(gated.get<uint16_t>()));
  for (const h3rt::Operator &op : runtime.operators()) {
    const h3rt_counters counters = op.counters();
    std::printf("%-24s served %llu failed %llu", op.name(),
                static_cast<unsigned long long>(counters.served),
                static_cast<unsigned long long>(counters.failed));
    for (int32_t reason = 0; reason < H3RT_MAX_REASONS; ++reason)
      if (counters.declined[reason])
        std::printf(" %s %llu", h3rt_reason_name(reason),
                    static_cast<unsigned long long>(counters.declined[reason]));
    std::printf("\n");
  }
  return 0;
}
