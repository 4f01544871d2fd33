//===-- tests/field_reports/LayoutsTest.cpp - Offsets and strides ---------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// S26, S27: views that begin anywhere, sizes beside powers of two, and Q and K as they lie in one
// projection. What a view gives is what the same values give in a tensor of their own.
//
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include <gtest/gtest.h>

#include <array>

namespace h3::test {
namespace {

using Storage = tensor::StorageType;

class FieldReportsLayouts : public testing::TestWithParam<Backend> {
protected:
  const Backend &backend = GetParam();
};

/// An input of \p values whose first element lies \p offset elements behind an aligned address.
void inputAt(Call &call, const std::string &name, Storage type, const std::vector<int64_t> &shape,
             const std::vector<Bits> &values, int64_t offset) {
  std::vector<Bits> elements(size_t(offset), 0x3C);
  elements.insert(elements.end(), values.begin(), values.end());
  tensor::StridedView view = tensor::wholeView(shape);
  view.offset = offset;
  call.inputView(name, type, elements, view);
}

// S26: each operand in turn begins k elements behind an aligned address, and all together.
TEST_P(FieldReportsLayouts, S26_ScaledResidualAtAnyAddress) {
  constexpr int64_t Rows = 2;
  for (int64_t d : {2047, 2048, 2049, 3584}) {
    const auto residual = randomFloats(ScalarType::F32, size_t(Rows * d), 1),
               branch = randomFloats(ScalarType::F16, size_t(Rows * d), 2),
               scale = randomFloats(ScalarType::F32, size_t(d), 3);
    auto callAt = [&](int64_t r, int64_t b, int64_t s, int64_t h) {
      Call call("scaled_residual.spec", "scaled_residual");
      call.set("R", "f32");
      inputAt(call, "residual", Storage::F32, {Rows, d}, residual, r);
      inputAt(call, "branch", Storage::F16, {Rows, d}, branch, b);
      inputAt(call, "scale", Storage::F32, {d}, scale, s);
      call.outputAt("h", Storage::F32, {Rows, d}, h);
      return call;
    };
    Call aligned = callAt(0, 0, 0, 0);
    const Outputs expected = referenceOf(aligned);
    std::vector<std::array<int64_t, 4>> offsets = {{0, 0, 0, 0}, {3, 5, 7, 1}};
    // Every offset at the widest row; beside it the one that differs most.
    for (int64_t k = d == 2048 ? 1 : 7; k <= 7; ++k)
      for (size_t operand = 0; operand < 4; ++operand) {
        offsets.emplace_back();
        offsets.back()[operand] = k;
      }
    for (const auto &at : offsets) {
      SCOPED_TRACE(testing::PrintToString(at) + ", d = " + std::to_string(d));
      Call call = callAt(at[0], at[1], at[2], at[3]);
      const std::string lacking = expectOutputs(call, backend, expected);
      if (!lacking.empty())
        GTEST_SKIP() << "skipped: " << lacking;
    }
  }
}

TEST_P(FieldReportsLayouts, S26_SwigluAtAnyAddress) {
  for (int64_t d : {2047, 2048, 2049, 3584}) {
    const auto x = randomFloats(ScalarType::F16, size_t(2 * d), 4);
    auto callAt = [&](int64_t in, int64_t out) {
      Call call("swiglu.spec", "swiglu");
      call.set("T", "f16");
      inputAt(call, "x", Storage::F16, {1, 2 * d}, x, in);
      call.outputAt("y", Storage::F16, {1, d}, out);
      return call;
    };
    Call aligned = callAt(0, 0);
    const Outputs expected = referenceOf(aligned);
    std::vector<std::pair<int64_t, int64_t>> offsets = {{0, 0}, {5, 5}};
    for (int64_t k = d == 2048 ? 1 : 6; k <= 7; ++k) {
      offsets.emplace_back(k, 0);
      offsets.emplace_back(0, k);
    }
    for (auto [in, out] : offsets) {
      SCOPED_TRACE(testing::PrintToString(std::pair(in, out)) + ", d = " + std::to_string(d));
      Call call = callAt(in, out);
      const std::string lacking = expectOutputs(call, backend, expected);
      if (!lacking.empty())
        GTEST_SKIP() << "skipped: " << lacking;
    }
  }
}

// S27: q and k are chunks of the last axis of one projection [batch, tokens, heads, 3 * 64], or q
// comes from a transposed product, so that its heads are further apart than its tokens. The outputs
// are row-major, whatever the inputs are.
TEST_P(FieldReportsLayouts, S27_ChunksOfOneProjection) {
  const bool isCuda = std::string_view(backend.backend) == "cuda";
  const int64_t B = isCuda ? 2 : 1, S = isCuda ? 195 : 3, H = isCuda ? 32 : 5, D = 64, R = 48;
  const auto qkv = randomFloats(ScalarType::F16, size_t(B * S * H * 3 * D), 27),
             cos = randomFloats(ScalarType::F16, size_t(B * S * R), 28),
             sin = randomFloats(ScalarType::F16, size_t(B * S * R), 29);
  const std::vector<int64_t> shape = {B, S, H, D}, table = {B, S, 1, R};
  auto valuesOf = [&](int64_t chunk) {
    std::vector<Bits> values;
    for (int64_t head = 0; head < B * S * H; ++head)
      for (int64_t i = 0; i < D; ++i)
        values.push_back(qkv[size_t(head * 3 * D + chunk * D + i)]);
    return values;
  };
  auto finish = [&](Call &call) {
    call.input("cos", Storage::F16, table, cos);
    call.input("sin", Storage::F16, table, sin);
    call.output("q_out", Storage::F16, shape);
    call.output("k_out", Storage::F16, shape);
  };
  auto chunk = [&](int64_t which) {
    return tensor::StridedView{which * D, shape, {S * H * 3 * D, H * 3 * D, 3 * D, 1}};
  };
  Call contiguous("qk_norm_rope.spec", "qk_norm_rope");
  contiguous.input("q", Storage::F16, shape, valuesOf(0));
  contiguous.input("k", Storage::F16, shape, valuesOf(1));
  finish(contiguous);
  const Outputs expected = referenceOf(contiguous);

  Call chunks("qk_norm_rope.spec", "qk_norm_rope");
  chunks.inputView("q", Storage::F16, qkv, chunk(0));
  chunks.inputView("k", Storage::F16, qkv, chunk(1));
  finish(chunks);
  std::string lacking = expectOutputs(chunks, backend, expected);
  if (!lacking.empty())
    GTEST_SKIP() << "skipped: " << lacking;

  // [heads, batch * tokens, 64]: a token's stride is smaller than a head's.
  const std::vector<Bits> q = valuesOf(0);
  std::vector<Bits> turned(q.size());
  for (int64_t token = 0; token < B * S; ++token)
    for (int64_t head = 0; head < H; ++head)
      for (int64_t i = 0; i < D; ++i)
        turned[size_t((head * B * S + token) * D + i)] = q[size_t((token * H + head) * D + i)];
  Call transposed("qk_norm_rope.spec", "qk_norm_rope");
  transposed.inputView("q", Storage::F16, turned, {0, shape, {S * D, D, B * S * D, 1}});
  transposed.inputView("k", Storage::F16, qkv, chunk(1));
  finish(transposed);
  EXPECT_EQ(expectOutputs(transposed, backend, expected), "");
}

INSTANTIATE_TEST_SUITE_P(Backends, FieldReportsLayouts,
                         testing::ValuesIn(backends().begin(), backends().end()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace h3::test
