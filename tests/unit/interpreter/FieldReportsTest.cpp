//===-- tests/unit/interpreter/FieldReportsTest.cpp -----------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What went wrong for others in fused operators: contraction, lost roundings, flushed subnormals,
// lost signs, views taken for packed tensors. Expected bits were computed with exact rational
// arithmetic.
//
//===----------------------------------------------------------------------===//

#include "SpecCall.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

using namespace h3;
using namespace h3::test;

namespace {

constexpr Bits F16NaN = 0x7FFF, F16Infinity = 0x7C00;

/// out[i] = \p expression of a[i], b[i], c[i], all of one type, for one element.
Bits elementwise(const std::string &type, const std::string &expression,
                 const std::vector<Bits> &operands) {
  Spec spec(fmt::format("op o {{\n  dim n\n  in a, b, c: {0}[n]\n  out y: {0}[n]\n"
                        "  y[i] = {1}\n}}\n",
                        type, expression));
  SpecCall call(spec, {{"n", 3}});
  const char *names[] = {"a", "b", "c"};
  for (size_t k = 0; k < 3; ++k)
    call.fill(names[k], repeat(3, k < operands.size() ? operands[k] : 0));
  call.run();
  std::vector<Bits> y = call.get("y");
  EXPECT_EQ(y, repeat(3, y[0]));
  return y[0];
}

std::vector<Bits> scaledResidual(ScalarType type, int64_t d, Bits residual, Bits branch,
                                 Bits scale) {
  Spec spec = Spec::file("scaled_residual.spec", {{"R", type}});
  SpecCall call(spec, {{"rows", 1}, {"d", d}});
  call.fill("residual", repeat(d, residual));
  call.fill("branch", repeat(d, branch));
  call.fill("scale", repeat(d, scale));
  call.run();
  return call.get("h");
}

Bits swiglu(Bits gate, Bits up) {
  Spec spec = Spec::file("swiglu.spec", {{"T", ScalarType::F16}});
  SpecCall call(spec, {{"rows", 1}, {"d", 1}});
  call.fill("x", {gate, up});
  call.run();
  return call.get("y")[0];
}

/// rope.neox over rows of d, the first r of them rotated.
std::vector<Bits> neox(int64_t d, int64_t r, const std::vector<Bits> &x,
                       const std::vector<Bits> &cos, const std::vector<Bits> &sin) {
  Spec spec(fmt::format("use eager.rope\nop o {{\n  dim rows, d = {}, r = {}\n"
                        "  in x: f16[rows, d]\n  in cos, sin: f16[rows, r]\n"
                        "  out y: f16[rows, d]\n  y[t] = rope.neox(x[t], cos[t], sin[t])\n}}\n",
                        d, r));
  SpecCall call(spec, {{"rows", int64_t(x.size()) / d}});
  call.fill("x", x);
  call.fill("cos", cos);
  call.fill("sin", sin);
  call.run();
  return call.get("y");
}

// ---- Contraction

// S01
TEST(FieldReports, ProductIsRoundedBeforeTheSum) {
  EXPECT_EQ(scaledResidual(ScalarType::F32, 2048, 0xBF802001, 0x3C01, 0x3F800001), repeat(2048, 0));
}

// S02: the pair at every place of the head.
TEST(FieldReports, RotationIsThreeRoundings) {
  for (int64_t place = 0; place < 32; ++place) {
    std::vector<Bits> x(64, 0), cos(64, 0), sin(64, 0), expected(64, 0);
    x[place] = 0x368A;
    x[place + 32] = 0x365D ^ 0x8000; // neox negates it
    cos[place] = 0x3437;
    sin[place] = 0xBE8F;
    std::vector<Bits> y = neox(64, 64, x, cos, sin);
    EXPECT_EQ(y[place], 0xB85Au) << place;
  }
}

// S04
TEST(FieldReports, FmaOnlyWhereItIsWritten) {
  std::vector<Bits> operands = {0xBF800002, 0x3F800001, 0x3F800001};
  EXPECT_EQ(elementwise("f32", "fma(b[i], c[i], a[i])", operands), 0x28800000u);
  EXPECT_EQ(elementwise("f32", "a[i] + b[i] * c[i]", operands), 0u);
}

// ---- Roundings

// S05
TEST(FieldReports, EveryBf16OperationRounds) {
  std::vector<Bits> operands = {0x3FB4, 0x3E01, 0xBF5E};
  EXPECT_EQ(elementwise("bf16", "a[i] * (1.0 + b[i]) + c[i]", operands), 0x3F36u);
  EXPECT_EQ(elementwise("bf16", "bf16(f32(a[i]) * (1.0 + f32(b[i])) + f32(c[i]))", operands),
            0x3F37u);
  EXPECT_EQ(elementwise("bf16", "fma(a[i], 1.0 + b[i], c[i])", operands), 0x3F37u);
}

// S06
TEST(FieldReports, VarianceOfTheRoundedOrTheUnroundedSum) {
  auto normed = [](const char *row) {
    Spec spec(fmt::format("use eager.norm\nop o(eps: f32 = 1e-6) {{\n  dim rows, n = 64\n"
                          "  in x, r: bf16[rows, n]\n  out h, y: bf16[rows, n]\n"
                          "  for t: rows {{\n    let s[i: n] = {}\n"
                          "    let z = norm.rms_norm(s, eps)\n"
                          "    h[t, i] = bf16(s[i])\n    y[t, i] = bf16(z[i])\n  }}\n}}\n",
                          row));
    SpecCall call(spec, {{"rows", 1}});
    std::vector<Bits> x(64, 0), r(64, 0);
    x[0] = 0x4380; // 256
    r[0] = 0x3F80; // 1
    x[1] = 0x4100; // 8
    call.fill("x", x);
    call.fill("r", r);
    call.run();
    EXPECT_EQ(call.get("h")[0], 0x4380u);
    return call.get("y")[1];
  };
  EXPECT_EQ(normed("x[t, i] + r[t, i]"), 0x3E80u);
  EXPECT_EQ(normed("f32(x[t, i]) + f32(r[t, i])"), 0x3E7Fu);
}

// S07
TEST(FieldReports, SiluIsRoundedBeforeTheProduct) {
  EXPECT_EQ(swiglu(0x3DA9, 0x3EAB), 0x3F98u);
  Spec once("use eager.math\nop o {\n  dim n\n  in g, u: f16[n]\n  out y: f16[n]\n"
            "  y[i] = f16(math.silu(f32(g[i])) * f32(u[i]))\n}\n");
  SpecCall call(once, {{"n", 1}});
  call.fill("g", {0x3DA9});
  call.fill("u", {0x3EAB});
  call.run();
  EXPECT_EQ(call.get("y")[0], 0x3F97u);
}

// S08: 1 + 2^-11 + 2^-40, just above the middle of two halves.
TEST(FieldReports, F64ToF16RoundsOnce) {
  Spec spec("op o {\n  dim n\n  in x: f64[n]\n  out y, z: f16[n]\n"
            "  y[i] = f16(x[i])\n  z[i] = f16(f32(x[i]))\n}\n");
  SpecCall call(spec, {{"n", 2}});
  call.fill("x", {0x3FF0020000001000, 0xBFF0020000001000});
  call.run();
  EXPECT_EQ(call.get("y"), (std::vector<Bits>{0x3C01, 0xBC01}));
  EXPECT_EQ(call.get("z"), (std::vector<Bits>{0x3C00, 0xBC00}));
}

// S18
TEST(FieldReports, NarrowingAndWideningIsARounding) {
  EXPECT_EQ(elementwise("f32", "f32(f16(a[i]))", {0xC02934C2}), 0xC0294000u);
}

// ---- Subnormals, signs, NaN, infinity

// S14
TEST(FieldReports, SubnormalsAreKept) {
  EXPECT_EQ(scaledResidual(ScalarType::F32, 4, 0x00080000, 0x0001, 0x08800000),
            repeat(4, 0x00088000));
}

// S15
TEST(FieldReports, NegationKeepsTheSignOfZero) {
  std::vector<Bits> x(48, 0), one(48, 0x3C00);
  std::fill(x.begin(), x.begin() + 24, 0x8000);
  std::vector<Bits> y = neox(48, 48, x, one, one);
  for (int64_t i = 0; i < 24; ++i)
    EXPECT_EQ(y[i], 0x8000u) << i;
  EXPECT_EQ(elementwise("f16", "-a[i]", {0x0000}), 0x8000u);
  EXPECT_EQ(elementwise("f16", "0.0 - a[i]", {0x0000}), 0x0000u);
}

TEST(FieldReports, ZeroRowKeepsItsSignsThroughTheNorm) {
  Spec spec = Spec::file("qk_norm_rope.spec");
  SpecCall call(spec, {{"tokens", 1}, {"heads_q", 1}, {"heads_k", 1}});
  std::vector<Bits> q(64, 0);
  for (int64_t i = 0; i < 64; i += 3)
    q[i] = 0x8000;
  call.fill("q", q);
  call.fill("k", repeat(64, 0x8000));
  call.fill("cos", repeat(48, 0x3C00));
  call.fill("sin", repeat(48, 0));
  call.run();
  std::vector<Bits> y = call.get("q_out");
  EXPECT_EQ(std::vector<Bits>(y.begin() + 48, y.end()), std::vector<Bits>(q.begin() + 48, q.end()));
  EXPECT_EQ(call.get("k_out")[63], 0x8000u);
  // -0 * 1 + (+0) * 0 = +0, as -(-0) is +0.
  EXPECT_EQ(call.get("k_out")[0], 0x0000u);
}

// S16
TEST(FieldReports, SiluOfMinusInfinityIsNaN) { EXPECT_EQ(swiglu(0xFC00, 0x3C00), F16NaN); }

// S17
TEST(FieldReports, OverflowIsInfinity) {
  EXPECT_EQ(swiglu(0x7BFF, 0x4000), F16Infinity);
  EXPECT_EQ(swiglu(0x7BFF, 0xC000), 0xFC00u);

  Spec spec("use eager.norm\nop o(eps: f32 = 1e-5) {\n  dim rows, n\n  in x: f16[rows, n]\n"
            "  out y: f16[rows, n]\n  y[t] = norm.rms_norm(x[t], eps)\n}\n");
  SpecCall call(spec, {{"rows", 1}, {"n", 64}});
  std::vector<Bits> row = repeat(64, 0x3C00), expected = repeat(64, 0);
  row[7] = F16Infinity;
  row[8] = 0xBC00;
  expected[7] = F16NaN;
  expected[8] = 0x8000;
  call.fill("x", row);
  call.run();
  EXPECT_EQ(call.get("y"), expected);
}

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

// ---- Rotary widths

// S29: cos is 0 and every sin another small integer, so a wrong index of the table shows at once.
TEST(FieldReports, RotaryWidthsThatAreNoPowerOfTwo) {
  const ScalarType H = ScalarType::F16;
  for (auto [r, d] : {std::pair(48, 64), {96, 128}, {192, 192}, {24, 72}}) {
    const int64_t rows = 3, half = r / 2;
    std::vector<Bits> x = randomFloats(H, rows * d, unsigned(d)), sin, expected;
    for (int64_t k = 0; k < rows * r; ++k)
      sin.push_back(scalar::convert(ScalarType::I64, H, Bits(k % r + 1)));
    for (int64_t t = 0; t < rows; ++t)
      for (int64_t i = 0; i < d; ++i) {
        auto at = [&](int64_t k) { return x[t * d + k]; };
        auto product = [&](Bits a) { return scalar::mul(H, a, sin[t * r + i]); };
        Bits none = scalar::mul(H, at(i), 0);
        if (i < half)
          expected.push_back(scalar::add(H, none, product(scalar::neg(H, at(i + half)))));
        else if (i < r)
          expected.push_back(scalar::add(H, none, product(at(i - half))));
        else
          expected.push_back(at(i));
      }
    EXPECT_EQ(neox(d, r, x, repeat(rows * r, 0), sin), expected) << r << " of " << d;
  }
}

// S28: what is not rotated is the normalised input, to the bit.
TEST(FieldReports, SuffixIsTheNormalisedInput) {
  Spec both("use eager.norm\nuse eager.rope\nop o(eps: f32 = 1e-5) {\n"
            "  dim tokens, heads, d = 128, r = 64\n  in x: f16[tokens, heads, d]\n"
            "  in cos, sin: f16[tokens, r]\n  out y, z: f16[tokens, heads, d]\n"
            "  y[t, h] = rope.neox(norm.rms_norm(x[t, h], eps), cos[t], sin[t])\n"
            "  z[t, h] = norm.rms_norm(x[t, h], eps)\n}\n");
  const int64_t tokens = 3, heads = 5;
  SpecCall call(both, {{"tokens", tokens}, {"heads", heads}});
  call.fill("x", randomFloats(ScalarType::F16, tokens * heads * 128, 1));
  call.fill("cos", randomFloats(ScalarType::F16, tokens * 64, 2));
  call.fill("sin", randomFloats(ScalarType::F16, tokens * 64, 3));
  call.run();
  std::vector<Bits> y = call.get("y"), z = call.get("z");
  int rotated = 0;
  for (int64_t k = 0; k < tokens * heads * 128; ++k) {
    if (k % 128 >= 64)
      EXPECT_EQ(y[k], z[k]) << k;
    else
      rotated += y[k] != z[k];
  }
  EXPECT_GT(rotated, tokens * heads * 60);
}

} // namespace
