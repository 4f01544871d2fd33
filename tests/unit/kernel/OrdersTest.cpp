//===-- tests/unit/kernel/OrdersTest.cpp - Trees of compiled kernels ------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Reductions as they are compiled, every variant, on the PTX interpreter, against the reference
// interpreter. The joins are neither commutative nor associative and the seeds are not neutral, so
// that a swapped operand, a skipped idle slot or a wrong lane shows.
//
//===----------------------------------------------------------------------===//

#include "codegen/driver/Run.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace h3 {
namespace {

constexpr int64_t rows = 37; // several blocks, and teams that are not there

tensor::TensorData randomRows(int64_t extent) {
  tensor::TensorData data;
  data.name = "x";
  data.shape = {rows, extent};
  data.data = *tensor::AlignedBuffer::allocate(rows * extent * sizeof(float));
  std::mt19937 random(static_cast<unsigned>(extent));
  for (int64_t i = 0; i < rows * extent; ++i) {
    // Sign, exponents near 1, any significand: no arithmetic of the host.
    uint32_t bits =
        (random() & 0x80000000u) | ((124 + random() % 6) << 23) | (random() & 0x7FFFFFu);
    std::memcpy(data.data.data() + i * 4, &bits, 4);
  }
  return data;
}

/// Runs the spec on both and compares every variant; each has to serve, and there are several.
void agree(const std::string &text, int64_t extent) {
  SCOPED_TRACE(text);
  LoadedSpec spec;
  Diagnostics diagnostics;
  EXPECT_TRUE(loadSpecText(text, {}, spec, diagnostics)) << diagnostics.renderText();
  tensor::TensorData x = randomRows(extent);
  RunRequest request;
  request.spec = &spec;
  request.tensors["x"] = {&x, tensor::wholeView(x.shape)};
  RunResult reference = runOperator(request);
  EXPECT_EQ(reference.code, ExitCode::Good) << reference.message;
  request.backend = "ptx";
  std::vector<std::string> variants = runOperator(request).variants;
  unsigned served = 0;
  for (const std::string &variant : variants) {
    request.variant = variant;
    RunResult result = runOperator(request);
    EXPECT_EQ(result.code, ExitCode::Good) << variant << ": " << result.message;
    if (result.code != ExitCode::Good)
      continue;
    Comparison comparison = compareBits(result.outputs["y"], reference.outputs["y"]);
    EXPECT_TRUE(comparison.sameShape);
    EXPECT_EQ(comparison.different, 0) << variant << ": " << comparison.first;
    served += comparison.elements > 0;
  }
  EXPECT_EQ(served, variants.size());
  EXPECT_GE(served, 2u); // 32 and 64 bits
}

struct OrderCase {
  const char *order;
  std::vector<int64_t> extents;
};

void PrintTo(const OrderCase &row, std::ostream *stream) { *stream << row.order; }

class PtxOrders : public testing::TestWithParam<OrderCase> {};

TEST_P(PtxOrders, ScalarState) {
  for (int64_t n : GetParam().extents)
    agree(fmt::format("order o = {}\n"
                      "fn f(x: f32[n]) -> f32 = reduce i: n by o from s: f32 = 1.0\n"
                      "  step s = fma(s, 0.75, x[i]) join (a, b) = a - b * 0.5\n"
                      "op t {{ dim rows, n = {}\n"
                      "  in x: f32[rows, n] strides(_, 1) out y: f32[rows]\n"
                      "  for r: rows {{ let v = f(x[r]) y[r] = v }} }}",
                      GetParam().order, n),
          n);
}

TEST_P(PtxOrders, RecordState) {
  for (int64_t n : GetParam().extents)
    agree(fmt::format("order o = {}\n"
                      "record S {{ a: f32, b: f32 }}\n"
                      "fn f(x: f32[n]) -> S = reduce i: n by o\n"
                      "  from s: S = S(a = 0.5, b = 2.0)\n"
                      "  step s = S(a = fma(s.b, 0.25, x[i]), b = s.a - x[i])\n"
                      "  join (p, q) = S(a = p.a - q.b, b = fma(p.b, 0.5, q.a))\n"
                      "op t {{ dim rows, n = {}\n"
                      "  in x: f32[rows, n] strides(_, 1) out y: f32[rows, n]\n"
                      "  for r: rows {{ let v = f(x[r]) y[r, i] = v.a * x[r, i] + v.b }} }}",
                      GetParam().order, n),
          n);
}

INSTANTIATE_TEST_SUITE_P(
    Trees, PtxOrders,
    testing::Values(
        OrderCase{"(_, warp: 4, lane: 32, _: 4) then halving lane then halving warp",
                  {4, 64, 96, 128, 384, 512}},
        OrderCase{"(_, lane: 32) then halving lane", {8, 32, 64, 256}},
        OrderCase{"(_, lane: 32) then adjacent lane", {16, 32, 96}},
        OrderCase{"(lane: 16, _: 4) then halving lane", {32, 64}},
        OrderCase{"(lane: 16, _: 4) then adjacent lane", {64}},
        OrderCase{"(_, acc: 4, lane: 32) then serial acc then halving lane", {32, 64, 128}},
        OrderCase{"(_, w: 2, lane: 32, _: 4) then adjacent lane then serial w", {64, 128, 256}},
        OrderCase{"(a: 4, b: 4, _: 4) then serial a then serial b", {64}}));

TEST(PtxOrdersOf, OnlineSoftmaxOfFullLayouts) {
  for (int64_t n : {32, 64, 128, 256})
    agree(fmt::format("use eager.math\n"
                      "order o = (_, lane: 32) then halving lane\n"
                      "record Peak {{ m: f32, z: f32 }}\n"
                      "fn merge(a: Peak, b: Peak) -> Peak {{\n"
                      "  let m = max(a.m, b.m)\n"
                      "  return Peak(m = m, z = fma(a.z, math.exp(a.m - m),\n"
                      "                            b.z * math.exp(b.m - m))) }}\n"
                      "fn online(x: f32[n]) -> f32[n] {{\n"
                      "  let p = reduce i: n by o of Peak(m = x[i], z = 1.0)\n"
                      "    join (a, b) = merge(a, b)\n"
                      "  return [i: n] math.exp(x[i] - p.m) / p.z }}\n"
                      "op t {{ dim rows, n = {}\n"
                      "  in x: f32[rows, n] strides(_, 1) out y: f32[rows, n]\n"
                      "  y[r] = online(x[r]) }}",
                      n),
          n);
}

TEST(PtxNorms, LayerNormMergesItsIdleSlots) {
  for (int64_t n : {64, 128, 512})
    agree(fmt::format("use eager.norm\n"
                      "op t(eps: f32 = 1e-6) {{ dim rows, n = {}\n"
                      "  in x: f32[rows, n] strides(_, 1) out y: f32[rows, n]\n"
                      "  y[r] = norm.layer_norm(x[r], eps) }}",
                      n),
          n);
}

} // namespace
} // namespace h3
