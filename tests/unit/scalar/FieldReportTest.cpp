//===-- tests/unit/scalar/FieldReportTest.cpp - Faults seen elsewhere -----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Small cases of numeric faults that public projects reported, on the level of single operations.
// Each states the right bits and the bits that the fault gives.
//
//===----------------------------------------------------------------------===//

#include "dsl/scalar/Scalar.h"

#include <gtest/gtest.h>

namespace h3::scalar {
namespace {

constexpr auto F16 = ScalarType::F16, BF16 = ScalarType::BF16, F32 = ScalarType::F32,
               F64 = ScalarType::F64;

// pytorch/pytorch issue 122260: one of two equal products is kept exact, the other rounded.
TEST(FieldReportTest, S01ProductMinusTheSameProductIsZero) {
  Bits residual = 0xBF802001, branch = convert(F16, F32, 0x3C01), scale = 0x3F800001;
  EXPECT_EQ(mul(F32, branch, scale), 0x3F802001U);
  EXPECT_EQ(add(F32, residual, mul(F32, branch, scale)), 0U);
  EXPECT_EQ(fma(F32, branch, scale, residual), 0x2F000000U) << "what contraction gives";
}

// InternLM/lmdeploy pull request 4133: a rotary embedding compiled to fma, or rounded once.
TEST(FieldReportTest, S02RotationRoundsEachProduct) {
  Bits q = 0x368A, cosine = 0x3437, partner = 0x365D, sine = 0xBE8F;
  Bits first = mul(F16, q, cosine), second = mul(F16, partner, sine);
  EXPECT_EQ(add(F16, first, second), 0xB85AU);
  EXPECT_EQ(fma(F16, q, cosine, second), 0xB85BU);
  EXPECT_EQ(fma(F16, partner, sine, first), 0xB85BU);
  auto wide = [](Bits a) { return convert(F16, F32, a); };
  Bits f32 = add(F32, mul(F32, wide(q), wide(cosine)), mul(F32, wide(partner), wide(sine)));
  EXPECT_EQ(convert(F32, F16, f32), 0xB85BU);
}

// pytorch/pytorch pull request 174749: an eager kernel that does contain an fma.
TEST(FieldReportTest, S04BothReadingsOfAddcmulCanBeSaid) {
  Bits self = 0xBF800002, factor = 0x3F800001;
  EXPECT_EQ(fma(F32, factor, factor, self), 0x28800000U);
  EXPECT_EQ(add(F32, mul(F32, factor, factor), self), 0U);
}

// vllm-project/vllm-omni pull request 7572: intermediates of an affine step kept in f32.
TEST(FieldReportTest, S05AffineStepRoundsThreeTimes) {
  Bits n = 0x3FB4, scale = 0x3E01, shift = 0xBF5E, one = 0x3F80;
  Bits factor = add(BF16, one, scale);
  EXPECT_EQ(add(BF16, mul(BF16, n, factor), shift), 0x3F36U);
  EXPECT_EQ(fma(BF16, n, factor, shift), 0x3F37U);
  auto wide = [](Bits a) { return convert(BF16, F32, a); };
  Bits f32 = add(F32, mul(F32, wide(n), add(F32, wide(one), wide(scale))), wide(shift));
  EXPECT_EQ(convert(F32, BF16, f32), 0x3F37U);
}

// JuliaLang/julia pull request 57809: f64 to f16 done through f32.
TEST(FieldReportTest, S08DoubleToHalfIsOneRounding) {
  Bits value = 0x3FF0000000000000 + (Bits(1) << 41) + (Bits(1) << 12); // 1 + 2^-11 + 2^-40
  EXPECT_EQ(convert(F64, F16, value), 0x3C01U);
  EXPECT_EQ(convert(F64, F16, neg(F64, value)), 0xBC01U);
  EXPECT_EQ(convert(F32, F16, convert(F64, F32, value)), 0x3C00U);
}

// llvm/llvm-project issue 222484: flushing of inputs or results that must be kept.
TEST(FieldReportTest, S14SubnormalsAreKept) {
  Bits residual = 0x00080000, branch = convert(F16, F32, 0x0001), scale = 0x08800000;
  EXPECT_EQ(branch, 0x33800000U);
  EXPECT_EQ(mul(F32, branch, scale), 0x00008000U);
  EXPECT_EQ(add(F32, residual, mul(F32, branch, scale)), 0x00088000U);
}

// pytorch/pytorch pull request 196031: -x compiled to 0 - x.
TEST(FieldReportTest, S15NegationKeepsTheSignOfZero) {
  Bits q = 0x8000, partner = 0x0000, one = 0x3C00;
  auto rotate = [=](Bits negated) { return add(F16, mul(F16, q, one), mul(F16, negated, one)); };
  EXPECT_EQ(rotate(neg(F16, partner)), 0x8000U);
  EXPECT_EQ(rotate(sub(F16, 0, partner)), 0x0000U);
}

// intel/intel-xpu-backend-for-triton issue 7491: a narrowing used as a rounding, folded away.
TEST(FieldReportTest, S18NarrowingRounds) {
  Bits half = convert(F32, F16, 0xC02934C2);
  EXPECT_EQ(half, 0xC14AU);
  EXPECT_EQ(convert(F16, F32, half), 0xC0294000U);
}

} // namespace
} // namespace h3::scalar
