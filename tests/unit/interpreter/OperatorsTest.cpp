//===-- tests/unit/interpreter/OperatorsTest.cpp - Edges of shipped operators -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Calls of the operators in specs/ whose values no recording has: special values, indices that
// select nothing.
//
//===----------------------------------------------------------------------===//

#include "SpecCall.h"

#include <gtest/gtest.h>

using namespace h3;
using namespace h3::test;

namespace {

constexpr Bits NaN32 = 0x7FFFFFFF, NaN16 = 0x7FFF, Infinity32 = 0x7F800000;
constexpr Bits MinusInfinity32 = 0xFF800000;

struct Quantised {
  std::vector<Bits> q, scale;
};

Quantised quantise(const char *op, const std::vector<Bits> &row) {
  Spec spec = Spec::file("quant_e4m3.spec", {{"T", ScalarType::F32}}, op);
  SpecCall call(spec, {{"rows", 1}, {"n", int64_t(row.size())}});
  call.fill("x", row);
  call.run();
  return {call.get("q"), call.get("scale")};
}

TEST(QuantE4M3, RowOfZerosHasTheSmallestScale) {
  Quantised row = quantise("quant_e4m3", {0, 0x80000000});
  EXPECT_EQ(row.scale[0], f32("4.359654017857143e-6"));
  EXPECT_EQ(row.q, (std::vector<Bits>{0x00, 0x80}));
}

// 448 of 448 is the largest number; 224 is half of it.
TEST(QuantE4M3, LargestElementIsTheLargestNumber) {
  for (const char *op : {"quant_e4m3", "quant_e4m3_eager"}) {
    Quantised row = quantise(op, {f32("448.0"), f32("-224.0"), f32("1.0")});
    EXPECT_EQ(row.scale[0], f32("1.0")) << op;
    EXPECT_EQ(row.q, (std::vector<Bits>{0x7E, 0xF6, 0x38})) << op;
  }
}

// vLLM passes a NaN over in the maximum and clamps it to the largest number; eager keeps it.
TEST(QuantE4M3, NaNInARow) {
  Quantised vllm = quantise("quant_e4m3", {NaN32, f32("448.0")});
  EXPECT_EQ(vllm.scale[0], f32("1.0"));
  EXPECT_EQ(vllm.q, (std::vector<Bits>{0x7E, 0x7E}));
  Quantised eager = quantise("quant_e4m3_eager", {NaN32, f32("448.0")});
  EXPECT_EQ(eager.scale[0], NaN32);
  EXPECT_EQ(eager.q, (std::vector<Bits>{0x7F, 0x7F}));
}

Bits siluAndMul(const char *op, Bits gate, Bits up, const char *alpha = nullptr,
                const char *beta = nullptr) {
  Spec spec = Spec::file("silu_and_mul.spec", {{"T", ScalarType::F16}}, op);
  SpecCall call(spec, {{"rows", 1}, {"d", 1}});
  if (alpha)
    call.set("alpha", f32(alpha));
  if (beta)
    call.set("beta", f32(beta));
  call.fill("x", {gate, up});
  call.run();
  return call.get("y")[0];
}

// Adding beta = +0 makes a factor of -0 positive.
TEST(SiluAndMul, SignOfAZeroProduct) {
  EXPECT_EQ(siluAndMul("silu_and_mul", f16("1.0"), 0x8000), 0x8000u);
  EXPECT_EQ(siluAndMul("silu_and_mul_scaled", f16("1.0"), 0x8000), 0x0000u);
}

// With alpha 0 silu is x / 2; beta is added before the product.
TEST(SiluAndMul, AlphaAndBeta) {
  EXPECT_EQ(siluAndMul("silu_and_mul_scaled", f16("3.0"), f16("2.0"), "0.0", "1.0"), f16("4.5"));
}

std::vector<Bits> softmax(const char *file, const std::vector<Bits> &row) {
  Spec spec = Spec::file(file, {{"T", ScalarType::F32}});
  SpecCall call(spec, {{"rows", 1}, {"n", int64_t(row.size())}});
  call.fill("x", row);
  call.run();
  return call.get("y");
}

TEST(Softmax, MinusInfinityHasNoShare) {
  for (const char *file : {"softmax.spec", "softmax_online.spec"}) {
    // More than a lane's worth of elements, so that a state of nothing but -inf is joined.
    std::vector<Bits> row(70, MinusInfinity32), expected(70, 0);
    row[5] = row[41] = f32("2.0");
    expected[5] = expected[41] = f32("0.5");
    EXPECT_EQ(softmax(file, row), expected) << file;
    EXPECT_EQ(softmax(file, repeat(70, MinusInfinity32)), repeat(70, NaN32)) << file;
    row[7] = Infinity32;
    EXPECT_EQ(softmax(file, row)[7], NaN32) << file;
  }
}

// The two have orders of their own.
TEST(Softmax, OnePassHasOtherBits) {
  int differ = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::vector<Bits> row = randomFloats(ScalarType::F32, 1000, seed);
    differ += softmax("softmax.spec", row) != softmax("softmax_online.spec", row);
  }
  EXPECT_GT(differ, 0);
}

// An index outside its table gives a row of NaN, not another row.
TEST(PickedRows, IndexOutsideTheTable) {
  Spec spec = Spec::file("gated_residual_picked.spec", {{"T", ScalarType::F16}});
  SpecCall call(spec, {{"tokens", 4}, {"kinds", 2}, {"n", 1}});
  call.fill("x", repeat(4, f16("1.0")));
  call.fill("branch", repeat(4, f16("2.0")));
  call.fill("gate", {f16("3.0"), f16("5.0")});
  call.fill("kind", {0, 1, 2, 0xFFFFFFFF});
  call.run();
  EXPECT_EQ(call.get("h"), (std::vector<Bits>{f16("7.0"), f16("11.0"), NaN16, NaN16}));
}

TEST(PickedRows, PositionsAre64Bits) {
  Spec spec = Spec::file("rope_positions.spec", {{"T", ScalarType::F16}});
  SpecCall call(spec, {{"tokens", 2}, {"heads", 1}, {"positions", 2}, {"d", 2}, {"r", 2}});
  call.fill("x", repeat(4, f16("1.0")));
  call.fill("cos", {f16("1.0"), f16("1.0"), f16("2.0"), f16("2.0")});
  call.fill("sin", repeat(4, 0));
  call.fill("position", {1, Bits(1) << 32});
  call.run();
  EXPECT_EQ(call.get("y"), (std::vector<Bits>{f16("2.0"), f16("2.0"), NaN16, NaN16}));
}

// What is quantised is rounded to T first: the two operators one after the other.
TEST(SwigluQuantE4M3, IsSwigluThenQuantisation) {
  constexpr int64_t Rows = 3, D = 50;
  TypeArguments types = {{"T", ScalarType::F16}};
  std::vector<Bits> x = randomFloats(ScalarType::F16, Rows * 2 * D, 7);
  auto call = [&](const char *file, const char *op, const char *dim, const std::vector<Bits> &in,
                  const std::vector<std::string> &outputs) {
    Spec spec = Spec::file(file, types, op);
    SpecCall made(spec, {{"rows", Rows}, {dim, D}});
    made.fill("x", in);
    made.run();
    std::vector<std::vector<Bits>> results;
    for (const std::string &output : outputs)
      results.push_back(made.get(output));
    return results;
  };
  std::vector<Bits> product = call("swiglu.spec", "swiglu", "d", x, {"y"})[0];
  EXPECT_EQ(call("swiglu_quant_e4m3.spec", "swiglu_quant_e4m3", "d", x, {"q", "scale"}),
            call("quant_e4m3.spec", "quant_e4m3_eager", "n", product, {"q", "scale"}));
}

// The same for a norm over the full width and a rotation of each head.
TEST(LtxNormRope, IsNormThenRotation) {
  constexpr int64_t Tokens = 2, Heads = 3, Pairs = 10, Row = Heads * 2 * Pairs;
  TypeArguments types = {{"T", ScalarType::F16}};
  std::vector<Bits> x = randomFloats(ScalarType::F16, Tokens * Row, 8);
  std::vector<Bits> w = randomFloats(ScalarType::F16, Row, 9);
  std::vector<Bits> cos = randomFloats(ScalarType::F32, Tokens * Heads * Pairs, 10);
  std::vector<Bits> sin = randomFloats(ScalarType::F32, Tokens * Heads * Pairs, 11);
  Spec norm = Spec::file("rms_norm.spec", types, "rms_norm_w");
  SpecCall normed(norm, {{"rows", Tokens}, {"n", Row}});
  normed.set("eps", f32("1e-6"));
  normed.fill("x", x);
  normed.fill("w", w);
  normed.run();
  // A head of a token as a token of one head, so that each has its own angles.
  Spec rotation = Spec::file("rope.spec", types, "rope_split_f32");
  SpecCall rotated(rotation, {{"tokens", Tokens * Heads}, {"heads", 1}, {"pairs", Pairs}});
  rotated.fill("x", normed.get("y"));
  Spec whole = Spec::file("ltx_norm_rope.spec", types);
  SpecCall fused(whole, {{"tokens", Tokens}, {"heads", Heads}, {"pairs", Pairs}});
  fused.fill("x", x);
  fused.fill("w", w);
  for (SpecCall *call : {&rotated, &fused}) {
    call->fill("cos", cos);
    call->fill("sin", sin);
    call->run();
  }
  EXPECT_EQ(fused.get("y"), rotated.get("y"));
}

// The two directions in which versions join lanes give different bits.
TEST(RmsNormMixed, DirectionsDiffer) {
  std::vector<std::vector<Bits>> results;
  for (const char *op : {"rms_norm_mixed", "rms_norm_mixed_asc"}) {
    Spec spec = Spec::file("rms_norm_mixed.spec", {{"T", ScalarType::F16}}, op);
    SpecCall call(spec, {{"rows", 200}, {"n", 128}});
    call.fill("x", randomFloats(ScalarType::F16, 200 * 128, 1));
    call.fill("w", randomFloats(ScalarType::F32, 128, 2));
    call.run();
    results.push_back(call.get("y"));
  }
  EXPECT_NE(results[0], results[1]);
}

} // namespace
