//===-- tests/unit/interpreter/EagerRowsTest.cpp - Rows that show idle slots -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Eager's LayerNorm merges the states of threads that had no element. No ordinary row shows it; the
// bits expected here were measured with PyTorch 2.11 on an H200.
//
//===----------------------------------------------------------------------===//

#include "SpecCall.h"

#include <gtest/gtest.h>

using namespace h3;
using namespace h3::test;

namespace {

std::vector<Bits> layerNorm(const std::vector<Bits> &row) {
  Spec spec = Spec(R"(use eager.norm
op row(eps: f32 = 1e-6) {
  dim n
  in x: f32[n]
  out y: f32[n]
  y = norm.layer_norm(x, eps)
})");
  SpecCall call(spec, {{"n", int64_t(row.size())}});
  call.fill("x", row);
  call.run();
  return call.get("y");
}

// 2^64 squared overflows: an idle lane that is merged multiplies the infinity by its count, 0.
TEST(EagerRows, RowOf2To64IsNaNWhereAThreadIsIdle) {
  constexpr Bits Huge = 0x5F800000, NaN = 0x7FFFFFFF;
  for (int64_t n : {4, 64, 128, 256, 384})
    EXPECT_EQ(layerNorm(repeat(n, Huge)), repeat(n, NaN)) << n;
  for (int64_t n : {512, 1024})
    EXPECT_EQ(layerNorm(repeat(n, Huge)), repeat(n, 0)) << n;
}

// A mean of -0 becomes +0 when an idle state is merged, so the differences keep their signs.
TEST(EagerRows, ZerosKeepTheirSignThroughIdleThreads) {
  EXPECT_EQ(layerNorm({0x80000000, 0x80000000, 0x80000000, 0x80000001}),
            (std::vector<Bits>{0x80000000, 0x80000000, 0x80000000, 0x800003E8}));
}

} // namespace
