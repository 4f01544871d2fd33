//===-- tests/unit/scalar/ComparisonTest.cpp - Comparison, max and min, signs ===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/scalar/Scalar.h"
#include "tests/unit/scalar/Operands.h"

#include <gtest/gtest.h>

#include <bit>

namespace h3::scalar {
namespace {

constexpr uint64_t seed = 20261133;

// A double holds every value of every float type, and the host compares doubles as IEEE says.
TEST(CompareTest, FloatsCompareAsTheirValues) {
  for (ScalarType type : floatTypes) {
    Operands operands(type, seed);
    std::vector<Bits> values = specials(type);
    auto check = [&](Bits a, Bits b) {
      auto x = std::bit_cast<double>(convert(type, ScalarType::F64, a));
      auto y = std::bit_cast<double>(convert(type, ScalarType::F64, b));
      Ordering expected = x < y    ? Ordering::Less
                          : x > y  ? Ordering::Greater
                          : x == y ? Ordering::Equal
                                   : Ordering::Unordered;
      ASSERT_EQ(compare(type, a, b), expected) << name(type) << ' ' << Hex{a} << ' ' << Hex{b};
    };
    for (Bits a : values)
      for (Bits b : values)
        ASSERT_NO_FATAL_FAILURE(check(a, b));
    for (int i = 0; i < 20000; ++i) {
      Bits a = operands.any();
      ASSERT_NO_FATAL_FAILURE(check(a, i & 1 ? operands.neighbour(a) : operands.any()));
    }
  }
}

TEST(CompareTest, ZerosAreEqualAndNaNIsUnordered) {
  for (ScalarType type : floatTypes) {
    Layout layout(type);
    EXPECT_EQ(compare(type, 0, layout.signMask()), Ordering::Equal);
    EXPECT_EQ(compare(type, canonicalNaN(type), canonicalNaN(type)), Ordering::Unordered);
    EXPECT_EQ(compare(type, 0, canonicalNaN(type)), Ordering::Unordered);
  }
}

TEST(CompareTest, IntegersAreSignedAndFalseIsLessThanTrue) {
  EXPECT_EQ(compare(ScalarType::I32, 0xFFFFFFFF, 0), Ordering::Less);
  EXPECT_EQ(compare(ScalarType::I32, 0x80000000, 0x7FFFFFFF), Ordering::Less);
  EXPECT_EQ(compare(ScalarType::I64, ~Bits(0), 0), Ordering::Less);
  EXPECT_EQ(compare(ScalarType::I64, 0xFFFFFFFF, 0), Ordering::Greater);
  EXPECT_EQ(compare(ScalarType::I64, 5, 5), Ordering::Equal);
  EXPECT_EQ(compare(ScalarType::Bool, 0, 1), Ordering::Less);
  EXPECT_EQ(compare(ScalarType::Bool, 1, 1), Ordering::Equal);
}

TEST(MaxMinTest, NegativeZeroIsBelowPositiveZeroInEveryForm) {
  for (ScalarType type : floatTypes) {
    Bits zero = 0, negativeZero = Layout(type).signMask();
    for (auto [a, b] : {std::pair{zero, negativeZero}, {negativeZero, zero}}) {
      EXPECT_EQ(maximum(type, a, b), zero);
      EXPECT_EQ(maximumNumber(type, a, b), zero);
      EXPECT_EQ(minimum(type, a, b), negativeZero);
      EXPECT_EQ(minimumNumber(type, a, b), negativeZero);
    }
  }
}

TEST(MaxMinTest, ChooseByValueAndTreatNaNAsNamed) {
  for (ScalarType type : floatTypes) {
    Bits nan = canonicalNaN(type);
    for (Bits a : specials(type))
      for (Bits b : specials(type)) {
        bool aNaN = isNaN(type, a), bNaN = isNaN(type, b);
        if (aNaN || bNaN) {
          Bits number = aNaN ? canonical(type, b) : a;
          ASSERT_EQ(maximum(type, a, b), nan);
          ASSERT_EQ(minimum(type, a, b), nan);
          ASSERT_EQ(maximumNumber(type, a, b), number);
          ASSERT_EQ(minimumNumber(type, a, b), number);
          continue;
        }
        Ordering order = compare(type, a, b);
        if (order == Ordering::Equal && a != b)
          continue; // zeros: the test above
        Bits larger = order == Ordering::Less ? b : a;
        Bits smaller = order == Ordering::Less ? a : b;
        ASSERT_EQ(maximum(type, a, b), larger);
        ASSERT_EQ(maximumNumber(type, a, b), larger);
        ASSERT_EQ(minimum(type, a, b), smaller);
        ASSERT_EQ(minimumNumber(type, a, b), smaller);
      }
  }
}

TEST(MaxMinTest, IntegersAreSigned) {
  EXPECT_EQ(maximum(ScalarType::I32, 0xFFFFFFFF, 3), 3U);
  EXPECT_EQ(minimum(ScalarType::I32, 0xFFFFFFFF, 3), 0xFFFFFFFFU);
  EXPECT_EQ(maximumNumber(ScalarType::I64, ~Bits(0), 3), 3U);
  EXPECT_EQ(minimumNumber(ScalarType::I64, ~Bits(0), 3), ~Bits(0));
}

TEST(SignTest, NegationAbsAndCopysignTouchOnlyTheSign) {
  for (ScalarType type : floatTypes) {
    Bits sign = Layout(type).signMask();
    for (Bits a : specials(type)) {
      if (isNaN(type, a))
        continue;
      EXPECT_EQ(neg(type, a), a ^ sign);
      EXPECT_EQ(abs(type, a), a & ~sign);
      EXPECT_EQ(copysign(type, a, sign), a | sign);
      EXPECT_EQ(copysign(type, a, 0), a & ~sign);
    }
    // The sign of a NaN as the second operand is that of the encoding: 0 for the one NaN.
    EXPECT_EQ(copysign(type, sign, canonicalNaN(type)), 0U);
  }
}

TEST(ClassTest, TypesAndNames) {
  for (unsigned i = 0; i < 9; ++i) {
    auto type = static_cast<ScalarType>(i);
    EXPECT_EQ(scalarTypeNamed(name(type)), type);
    EXPECT_EQ(byteWidth(type), (bitWidth(type) + 7) / 8);
  }
  EXPECT_EQ(name(ScalarType::E4M3), "e4m3");
  EXPECT_EQ(scalarTypeNamed("f8"), std::nullopt);
  EXPECT_EQ(scalarTypeNamed(""), std::nullopt);
  EXPECT_TRUE(isFloat(ScalarType::E5M2) && !hasFloatArithmetic(ScalarType::E5M2));
  EXPECT_TRUE(hasFloatArithmetic(ScalarType::F16) && hasFloatArithmetic(ScalarType::F64));
  EXPECT_TRUE(isInteger(ScalarType::I64) && !isInteger(ScalarType::Bool));
  EXPECT_FALSE(isFloat(ScalarType::I64) || isFloat(ScalarType::Bool));
}

TEST(ClassTest, Predicates) {
  EXPECT_EQ(canonicalNaN(ScalarType::F16), 0x7FFFU);
  EXPECT_EQ(canonicalNaN(ScalarType::E4M3), 0x7FU);
  EXPECT_EQ(canonicalNaN(ScalarType::E5M2), 0x7FU);
  EXPECT_EQ(infinity(ScalarType::BF16, true), 0xFF80U);
  EXPECT_EQ(infinity(ScalarType::E5M2), 0x7CU);
  EXPECT_TRUE(isNaN(ScalarType::E4M3, 0xFF));
  EXPECT_FALSE(isNaN(ScalarType::E4M3, 0x7E) || isInfinity(ScalarType::E4M3, 0x7E));
  EXPECT_FALSE(isNaN(ScalarType::I32, 0xFFFFFFFF) || isInfinity(ScalarType::I32, 0x7F800000));
  EXPECT_TRUE(isZero(ScalarType::F32, 0x80000000) && signBit(ScalarType::F32, 0x80000000));
  EXPECT_FALSE(isZero(ScalarType::I32, 0x80000000));
  EXPECT_TRUE(isZero(ScalarType::I64, 0));
}

TEST(IntegerTest, ArithmeticWraps) {
  EXPECT_EQ(add(ScalarType::I32, 0x7FFFFFFF, 1), 0x80000000U);
  EXPECT_EQ(add(ScalarType::I32, 0xFFFFFFFF, 1), 0U);
  EXPECT_EQ(sub(ScalarType::I32, 0, 1), 0xFFFFFFFFU);
  EXPECT_EQ(mul(ScalarType::I32, 0x10001, 0x10001), 0x20001U);
  EXPECT_EQ(mul(ScalarType::I32, 0xFFFFFFFF, 0xFFFFFFFF), 1U);
  EXPECT_EQ(neg(ScalarType::I32, 0x80000000), 0x80000000U);
  EXPECT_EQ(neg(ScalarType::I32, 1), 0xFFFFFFFFU);
  EXPECT_EQ(add(ScalarType::I64, ~Bits(0), 2), 1U);
  EXPECT_EQ(mul(ScalarType::I64, Bits(1) << 63, 2), 0U);
  EXPECT_EQ(sub(ScalarType::I64, 0, 1), ~Bits(0));
}

TEST(IntegerTest, ShiftCountsOutsideTheWidth) {
  EXPECT_EQ(shl(ScalarType::I32, 1, 31), 0x80000000U);
  EXPECT_EQ(shl(ScalarType::I32, 0xFFFFFFFF, 4), 0xFFFFFFF0U);
  EXPECT_EQ(shl(ScalarType::I32, 1, 32), 0U);
  EXPECT_EQ(shl(ScalarType::I32, 1, 0xFFFFFFFF), 0U); // count -1
  EXPECT_EQ(shl(ScalarType::I32, 1, 0xFFFFFFC2), 0U); // count -62, not 2
  EXPECT_EQ(shl(ScalarType::I64, 1, 63), Bits(1) << 63);
  EXPECT_EQ(shl(ScalarType::I64, 1, 64), 0U);
  EXPECT_EQ(shr(ScalarType::I32, 0x80000000, 4), 0xF8000000U);
  EXPECT_EQ(shr(ScalarType::I32, 0x80000000, 32), 0xFFFFFFFFU);
  EXPECT_EQ(shr(ScalarType::I32, 0x7FFFFFFF, 40), 0U);
  EXPECT_EQ(shr(ScalarType::I32, 0x80000000, 0xFFFFFFFF), 0xFFFFFFFFU);
  EXPECT_EQ(shr(ScalarType::I32, 0x80000000, 0xFFFFFFC2), 0xFFFFFFFFU); // count -62, not 2
  EXPECT_EQ(shr(ScalarType::I64, Bits(1) << 63, 63), ~Bits(0));
  EXPECT_EQ(shr(ScalarType::I64, Bits(1) << 63, ~Bits(0)), ~Bits(0));
  EXPECT_EQ(shr(ScalarType::I64, Bits(1) << 62, 64), 0U);
  EXPECT_EQ(shr(ScalarType::I32, 0x12345678, 0), 0x12345678U);
}

TEST(IntegerTest, SizesDivideRoundingDown) {
  EXPECT_EQ(floorDiv(7, 2), 3);
  EXPECT_EQ(floorDiv(-7, 2), -4);
  EXPECT_EQ(floorDiv(-8, 2), -4);
  EXPECT_EQ(floorMod(-7, 2), 1);
  EXPECT_EQ(floorMod(-8, 2), 0);
  for (int64_t a = -50; a <= 50; ++a)
    for (int64_t divisor = 1; divisor <= 9; ++divisor) {
      EXPECT_EQ(floorDiv(a, divisor) * divisor + floorMod(a, divisor), a);
      EXPECT_TRUE(floorMod(a, divisor) >= 0 && floorMod(a, divisor) < divisor);
    }
  EXPECT_EQ(floorDiv(INT64_MIN, 1), INT64_MIN);
  EXPECT_EQ(floorMod(INT64_MIN, 3), 1);
}

} // namespace
} // namespace h3::scalar
