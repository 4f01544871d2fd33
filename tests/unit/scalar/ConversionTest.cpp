//===-- tests/unit/scalar/ConversionTest.cpp - Conversions ----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/scalar/Scalar.h"
#include "tests/unit/scalar/MpfrOracle.h"
#include "tests/unit/scalar/Operands.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>
#include <string>

namespace h3::scalar {
namespace {

constexpr uint64_t seed = 20261132;

constexpr std::array<Rounding, 2> conversionRoundings = {Rounding::NearestEven,
                                                         Rounding::TowardZero};

class ConversionTest : public testing::TestWithParam<ScalarType> {
protected:
  ScalarType to = GetParam();
  MpfrOracle oracle{to};

  void check(ScalarType from, Bits a) {
    for (Rounding r : conversionRoundings) {
      Bits got = convert(from, to, a, r), expected = oracle.convert(from, a, r);
      if (got != expected)
        FAIL() << name(from) << " to " << name(to) << ' ' << roundingName(r) << " of " << Hex{a}
               << ": " << Hex{got} << ", MPFR has " << Hex{expected} << " (seed " << seed << ")";
    }
  }

  void checkInteger(int64_t a) {
    for (Rounding r : conversionRoundings) {
      ASSERT_EQ(convert(ScalarType::I64, to, static_cast<Bits>(a), r), oracle.convertInteger(a, r))
          << a << " to " << name(to) << ' ' << roundingName(r);
      auto narrow = static_cast<int32_t>(a);
      ASSERT_EQ(convert(ScalarType::I32, to, static_cast<uint32_t>(narrow), r),
                oracle.convertInteger(narrow, r))
          << narrow << " to " << name(to) << ' ' << roundingName(r);
    }
  }
};

TEST_P(ConversionTest, EveryNarrowValueEqualsMpfr) {
  for (ScalarType from : floatTypes) {
    if (bitWidth(from) > 16)
      continue;
    for (Bits a = 0; a < Bits(1) << bitWidth(from); ++a)
      ASSERT_NO_FATAL_FAILURE(check(from, a));
  }
}

TEST_P(ConversionTest, RandomWideValuesEqualMpfr) {
  for (ScalarType from : {ScalarType::F32, ScalarType::F64}) {
    Operands operands(from, seed);
    Layout layout(from);
    Layout target(to);
    Bits one = layout.make(false, layout.maxField() / 2, 0);
    for (int i = 0; i < 100000; ++i) {
      Bits a = operands.any();
      if (i % 4 != 0) // about the target's range, its ends included
        a = operands.near(one, (1 << (target.exponentBits() - 1)) + 2 * target.fractionBits);
      ASSERT_NO_FATAL_FAILURE(check(from, a));
    }
  }
}

TEST_P(ConversionTest, IntegersEqualMpfr) {
  std::mt19937_64 random(seed);
  for (int shift = 0; shift < 64; ++shift)
    for (int64_t offset = -3; offset <= 3; ++offset) {
      auto power = static_cast<int64_t>(uint64_t(1) << shift);
      ASSERT_NO_FATAL_FAILURE(checkInteger(static_cast<int64_t>(uint64_t(power) + offset)));
      ASSERT_NO_FATAL_FAILURE(checkInteger(static_cast<int64_t>(-uint64_t(power) + offset)));
    }
  for (int i = 0; i < 20000; ++i) {
    ASSERT_NO_FATAL_FAILURE(checkInteger(static_cast<int64_t>(random()) >> (random() % 64)));
    // Few ones: a tie for some precision.
    ASSERT_NO_FATAL_FAILURE(checkInteger(
        static_cast<int64_t>((random() & random() & random() & random()) >> (random() % 64))));
  }
}

INSTANTIATE_TEST_SUITE_P(To, ConversionTest, testing::ValuesIn(floatTypes),
                         [](const auto &info) { return std::string(name(info.param)); });

// Every midpoint of two neighbours of the narrow types, and the f64 values beside it.
class NarrowConversionTest : public ConversionTest {};

TEST_P(NarrowConversionTest, MidpointsEqualMpfr) {
  Bits magnitudes = Bits(1) << (bitWidth(to) - 1);
  Bits compared = 0;
  for (Bits a = 0; a + 1 < magnitudes; ++a) {
    if (isNaN(to, a) || isInfinity(to, a))
      continue;
    // The next value above, or where it would be.
    Bits low = convert(to, ScalarType::F64, a);
    Bits high = convert(to, ScalarType::F64, a + 1);
    if (isNaN(to, a + 1) || isInfinity(to, a + 1)) {
      Bits step = sub(ScalarType::F64, low, convert(to, ScalarType::F64, a - 1));
      high = add(ScalarType::F64, low, step);
    }
    Bits half = 0x3FE0000000000000;
    Bits midpoint = mul(ScalarType::F64, add(ScalarType::F64, low, high), half);
    for (Bits sign : {Bits(0), Bits(1) << 63})
      for (Bits beside : {midpoint - 1, midpoint, midpoint + 1})
        ASSERT_NO_FATAL_FAILURE(check(ScalarType::F64, sign | beside));
    ++compared;
  }
  EXPECT_GE(compared, to == ScalarType::E5M2 ? 123U : 126U);
}

INSTANTIATE_TEST_SUITE_P(To, NarrowConversionTest,
                         testing::Values(ScalarType::F16, ScalarType::BF16, ScalarType::E4M3,
                                         ScalarType::E5M2),
                         [](const auto &info) { return std::string(name(info.param)); });

TEST(ConversionCasesTest, WideningAndBackIsTheIdentity) {
  for (ScalarType narrow : {ScalarType::F16, ScalarType::BF16, ScalarType::E4M3, ScalarType::E5M2})
    for (ScalarType wide : {ScalarType::F32, ScalarType::F64})
      for (Bits a = 0; a < Bits(1) << bitWidth(narrow); ++a)
        ASSERT_EQ(convert(wide, narrow, convert(narrow, wide, a)), canonical(narrow, a));
}

TEST(ConversionCasesTest, ToItsOwnTypeIsTheIdentity) {
  for (ScalarType type : floatTypes)
    for (Bits a : specials(type))
      for (Rounding r : conversionRoundings)
        EXPECT_EQ(convert(type, type, a, r), canonical(type, a));
}

TEST(ConversionCasesTest, DoubleToHalfRoundsOnce) {
  Bits justAboveTie = 0x3FF0000000000000 | Bits(1) << 41 | Bits(1) << 12; // 1 + 2^-11 + 2^-40
  Bits negative = justAboveTie | Bits(1) << 63;
  EXPECT_EQ(convert(ScalarType::F64, ScalarType::F16, justAboveTie), 0x3C01U);
  EXPECT_EQ(convert(ScalarType::F64, ScalarType::F16, negative), 0xBC01U);
  // Through f32 the tail is lost before the tie is broken.
  Bits f32 = convert(ScalarType::F64, ScalarType::F32, justAboveTie);
  EXPECT_EQ(convert(ScalarType::F32, ScalarType::F16, f32), 0x3C00U);
}

TEST(ConversionCasesTest, E4m3HasNoInfinity) {
  auto from = [](double value, Rounding r = Rounding::NearestEven, bool saturate = false) {
    return convert(ScalarType::F64, ScalarType::E4M3, std::bit_cast<Bits>(value), r, saturate);
  };
  double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(from(448), 0x7EU);
  EXPECT_EQ(from(464), 0x7EU); // the tie goes to the even significand
  EXPECT_EQ(from(464.0000001), 0x7FU);
  EXPECT_EQ(from(480), 0x7FU);
  EXPECT_EQ(from(1e300), 0x7FU);
  EXPECT_EQ(from(inf), 0x7FU);
  EXPECT_EQ(from(-464), 0xFEU);
  EXPECT_EQ(from(-465), 0x7FU);
  EXPECT_EQ(from(-inf), 0x7FU);
  EXPECT_EQ(from(1e300, Rounding::TowardZero), 0x7EU);
  EXPECT_EQ(from(inf, Rounding::TowardZero), 0x7FU);
  EXPECT_EQ(from(464.0000001, Rounding::NearestEven, true), 0x7EU);
  EXPECT_EQ(from(1e300, Rounding::NearestEven, true), 0x7EU);
  EXPECT_EQ(from(inf, Rounding::NearestEven, true), 0x7EU);
  EXPECT_EQ(from(-inf, Rounding::NearestEven, true), 0xFEU);
  EXPECT_EQ(from(std::numeric_limits<double>::quiet_NaN(), Rounding::NearestEven, true), 0x7FU);
  EXPECT_EQ(from(0x1p-9), 0x01U);
  EXPECT_EQ(from(0x1p-10), 0x00U); // half the smallest subnormal: a tie to zero
  EXPECT_EQ(from(-0x1p-10), 0x80U);
  EXPECT_EQ(convert(ScalarType::E4M3, ScalarType::F32, 0xFF), 0x7FFFFFFFU);
  EXPECT_EQ(convert(ScalarType::E4M3, ScalarType::F32, 0x78), 0x43800000U); // 256, a number
}

TEST(ConversionCasesTest, E5m2OverflowsToInfinity) {
  auto from = [](double value, bool saturate = false) {
    return convert(ScalarType::F64, ScalarType::E5M2, std::bit_cast<Bits>(value),
                   Rounding::NearestEven, saturate);
  };
  double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(from(57344), 0x7BU);
  EXPECT_EQ(from(61439), 0x7BU);
  EXPECT_EQ(from(61440), 0x7CU); // the tie: the largest number is odd
  EXPECT_EQ(from(-inf), 0xFCU);
  EXPECT_EQ(from(1e9, true), 0x7BU);
  EXPECT_EQ(from(-inf, true), 0xFBU);
  EXPECT_EQ(from(std::numeric_limits<double>::quiet_NaN(), true), 0x7FU);
}

// Saturation changes what overflows, and nothing else.
TEST(ConversionCasesTest, SaturationOnlyReplacesOverflow) {
  for (ScalarType to : {ScalarType::E4M3, ScalarType::E5M2})
    for (ScalarType from : {ScalarType::F16, ScalarType::BF16})
      for (Bits a = 0; a <= 0xFFFF; ++a) {
        Bits plain = convert(from, to, a);
        Bits saturated = convert(from, to, a, Rounding::NearestEven, true);
        bool overflowed = !isNaN(from, a) && (isNaN(to, plain) || isInfinity(to, plain));
        Bits largest = to == ScalarType::E4M3 ? 0x7E : 0x7B;
        Bits expected = overflowed ? largest | (signBit(from, a) ? 0x80 : 0) : plain;
        ASSERT_EQ(saturated, expected) << name(from) << " to " << name(to) << " of " << Hex{a};
      }
  EXPECT_EQ(convert(ScalarType::I32, ScalarType::E4M3, 1000, Rounding::NearestEven, true), 0x7EU);
}

TEST(ConversionCasesTest, Integers) {
  EXPECT_EQ(convert(ScalarType::I32, ScalarType::I64, 0xFFFFFFFF), ~Bits(0));
  EXPECT_EQ(convert(ScalarType::I64, ScalarType::I32, 0x123456789ABCDEF0), 0x9ABCDEF0U);
  EXPECT_EQ(convert(ScalarType::I32, ScalarType::F32, 0x80000000), 0xCF000000U);
  EXPECT_EQ(convert(ScalarType::I64, ScalarType::F64, Bits(1) << 63), 0xC3E0000000000000U);
  EXPECT_EQ(convert(ScalarType::I32, ScalarType::F32, 16777217), 0x4B800000U);
  EXPECT_EQ(convert(ScalarType::I32, ScalarType::F32, 0), 0U);
  EXPECT_EQ(convert(ScalarType::I32, ScalarType::F16, 65519), 0x7BFFU);
  EXPECT_EQ(convert(ScalarType::I32, ScalarType::F16, 65520), 0x7C00U);
}

TEST(BitPatternTest, SixteenBitTypesTakeTheLowHalf) {
  EXPECT_EQ(fromBitPattern(ScalarType::F16, 0xFFFF3C01), 0x3C01U);
  EXPECT_EQ(fromBitPattern(ScalarType::BF16, 0x12347F81), 0x7FFFU);
  EXPECT_EQ(fromBitPattern(ScalarType::F32, 0xFF800001), 0x7FFFFFFFU);
  EXPECT_EQ(fromBitPattern(ScalarType::F32, 0x80000000), 0x80000000U);
  EXPECT_EQ(toBitPattern(ScalarType::F16, 0xFE00), 0x7FFFU);
  EXPECT_EQ(toBitPattern(ScalarType::F64, 0xFFF8000000000000), 0x7FFFFFFFFFFFFFFFU);
}

// Rounding an f16 or bf16 operation once is what rounding its f32 result gives, but not for fma.
TEST(WideningTest, OneOperationInF32RoundedOnceIsTheNarrowOperation) {
  for (ScalarType type : {ScalarType::F16, ScalarType::BF16}) {
    auto wide = [=](Bits a) { return convert(type, ScalarType::F32, a); };
    auto narrow = [=](Bits a) { return convert(ScalarType::F32, type, a); };
    for (Bits a = 0; a <= 0xFFFF; ++a)
      ASSERT_EQ(narrow(sqrt(ScalarType::F32, wide(a))), sqrt(type, a)) << Hex{a};
    Operands operands(type, seed);
    for (int i = 0; i < 500000; ++i) {
      Bits a = operands.any(), b = i & 1 ? operands.near(a, 14) : operands.any();
      ASSERT_EQ(narrow(add(ScalarType::F32, wide(a), wide(b))), add(type, a, b))
          << Hex{a} << Hex{b};
      ASSERT_EQ(narrow(sub(ScalarType::F32, wide(a), wide(b))), sub(type, a, b))
          << Hex{a} << Hex{b};
      ASSERT_EQ(narrow(mul(ScalarType::F32, wide(a), wide(b))), mul(type, a, b))
          << Hex{a} << Hex{b};
      ASSERT_EQ(narrow(div(ScalarType::F32, wide(a), wide(b))), div(type, a, b))
          << Hex{a} << Hex{b};
    }
  }
}

TEST(WideningTest, FmaInF32RoundedOnceIsNotTheNarrowFma) {
  auto throughF32 = [](ScalarType type, Bits a, Bits b, Bits c) {
    Bits fused = fma(ScalarType::F32, convert(type, ScalarType::F32, a),
                     convert(type, ScalarType::F32, b), convert(type, ScalarType::F32, c));
    return convert(ScalarType::F32, type, fused);
  };
  // The product is 2^-11 - 2^-31, so the sum lies just below the tie between 0x3C01 and 0x3C02. f32
  // rounds it to the tie, which goes to the even one.
  EXPECT_EQ(fma(ScalarType::F16, 0x3C01, 0x0FFE, 0x3C01), 0x3C01U);
  EXPECT_EQ(throughF32(ScalarType::F16, 0x3C01, 0x0FFE, 0x3C01), 0x3C02U);
  // The product is a tie, between 0x3FC1 and 0x3FC2; the addend -2^-40 is lost in f32.
  EXPECT_EQ(fma(ScalarType::BF16, 0x3F81, 0x3FC0, 0xAB80), 0x3FC1U);
  EXPECT_EQ(throughF32(ScalarType::BF16, 0x3F81, 0x3FC0, 0xAB80), 0x3FC2U);
}

} // namespace
} // namespace h3::scalar
