//===-- tests/unit/interpreter/FieldReportsTest.cpp -----------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What went wrong for others with empty, offset and strided tensors. Reports about arithmetic are
// in tests/field_reports.
//
//===----------------------------------------------------------------------===//

#include "SpecCall.h"

#include <gtest/gtest.h>

using namespace h3;
using namespace h3::test;

namespace {

// ---- Views

// S25
TEST(FieldReports, ZeroRowsTouchNothing) {
  Spec qk = Spec::file("qk_norm_rope.spec");
  for (auto [tokens, headsQ, headsK] : {std::tuple(0, 32, 32), std::tuple(3, 0, 2), {0, 0, 0}}) {
    SpecCall call(qk, {{"tokens", tokens}, {"heads_q", headsQ}, {"heads_k", headsK}});
    call.fill("k", randomFloats(ScalarType::F16, call.elements("k"), 1));
    call.fill("cos", randomFloats(ScalarType::F16, call.elements("cos"), 2));
    call.fill("sin", randomFloats(ScalarType::F16, call.elements("sin"), 3));
    call.run();
    EXPECT_EQ(call.get("q_out").size(), 0u);
    EXPECT_EQ(int64_t(call.get("k_out").size()), tokens * headsK * 64);
  }
  Spec residual = Spec::file("scaled_residual.spec", {{"R", ScalarType::F16}});
  for (auto [rows, d] : {std::pair(0, 2048), std::pair(5, 0)}) {
    SpecCall call(residual, {{"rows", rows}, {"d", d}});
    call.run();
    EXPECT_EQ(call.get("h").size(), 0u);
  }
  Spec gated = Spec::file("swiglu.spec", {{"T", ScalarType::BF16}});
  SpecCall call(gated, {{"rows", 0}, {"d", 8}});
  call.run();
  EXPECT_EQ(call.get("y").size(), 0u);
}

// S26: each operand at each misalignment.
TEST(FieldReports, OffsetViewsGiveTheSameBits) {
  const int64_t rows = 3, d = 37;
  Spec residual = Spec::file("scaled_residual.spec", {{"R", ScalarType::F32}});
  std::vector<Bits> expected;
  for (const char *moved : {"", "residual", "branch", "scale", "h"})
    for (int64_t offset = 1; offset <= 7; ++offset) {
      SpecCall call(residual, {{"rows", rows}, {"d", d}});
      if (*moved)
        call.layout(moved, offset, *moved == 's' ? std::vector<int64_t>{1} : std::vector{d, 1l});
      call.fill("residual", randomFloats(ScalarType::F32, rows * d, 1));
      call.fill("branch", randomFloats(ScalarType::F16, rows * d, 2));
      call.fill("scale", randomFloats(ScalarType::F32, d, 3));
      call.run();
      if (expected.empty())
        expected = call.get("h");
      EXPECT_EQ(call.get("h"), expected) << moved << " + " << offset;
    }

  Spec gated = Spec::file("swiglu.spec", {{"T", ScalarType::F16}});
  expected.clear();
  for (int64_t offset = 0; offset <= 7; ++offset) {
    SpecCall call(gated, {{"rows", rows}, {"d", d}});
    call.layout("x", offset, {2 * d + offset, 1});
    call.layout("y", 7 - offset, {d + offset, 1});
    call.fill("x", randomFloats(ScalarType::F16, rows * 2 * d, 4));
    call.run();
    if (expected.empty())
      expected = call.get("y");
    EXPECT_EQ(call.get("y"), expected) << offset;
  }
}

// S27: q and k as slices of a wider row, q also with tokens and heads exchanged in memory.
TEST(FieldReports, StridedAndTransposedViewsGiveTheSameBits) {
  const int64_t tokens = 5, heads = 4;
  Spec spec = Spec::file("qk_norm_rope.spec");
  std::vector<std::vector<Bits>> expected;
  for (int layout = 0; layout < 3; ++layout) {
    SpecCall call(spec, {{"tokens", tokens}, {"heads_q", heads}, {"heads_k", heads}});
    if (layout == 1) {
      call.layout("q", 0, {heads * 192, 192, 1});
      call.layout("k", 64, {heads * 192, 192, 1});
    } else if (layout == 2) {
      call.layout("q", 0, {64, tokens * 64, 1});
    }
    call.fill("q", randomFloats(ScalarType::F16, tokens * heads * 64, 1));
    call.fill("k", randomFloats(ScalarType::F16, tokens * heads * 64, 2));
    call.fill("cos", randomFloats(ScalarType::F16, tokens * 48, 3));
    call.fill("sin", randomFloats(ScalarType::F16, tokens * 48, 4));
    call.run();
    std::vector<std::vector<Bits>> found = {call.get("q_out"), call.get("k_out")};
    if (layout == 0)
      expected = found;
    EXPECT_EQ(found, expected) << "layout " << layout;
  }
}

} // namespace
