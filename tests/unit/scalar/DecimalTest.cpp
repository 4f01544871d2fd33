//===-- tests/unit/scalar/DecimalTest.cpp - Decimal literals and their text ===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/scalar/Format.h"
#include "dsl/scalar/Scalar.h"
#include "tests/unit/scalar/MpfrOracle.h"
#include "tests/unit/scalar/Operands.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include <gmp.h>

namespace h3::scalar {
namespace {

constexpr uint64_t seed = 20261134;

Decimal parsed(ScalarType type, const std::string &text) {
  std::optional<Decimal> value = parseDecimal(type, text);
  EXPECT_TRUE(value) << text;
  return value.value_or(Decimal{~Bits(0), false, false});
}

std::string str(const mpz_t number) {
  char *text = mpz_get_str(nullptr, 10, number);
  std::string result = text;
  void (*release)(void *, size_t) = nullptr;
  mp_get_memory_functions(nullptr, nullptr, &release);
  release(text, result.size() + 1);
  return result;
}

class DecimalTest : public testing::TestWithParam<ScalarType> {
protected:
  ScalarType type = GetParam();
  Layout layout{type};
  MpfrOracle oracle{type};
  MpfrOracle f64{ScalarType::F64};

  /// digits * 10^exponent, written in one of the forms of the grammar.
  std::string written(const std::string &digits, long exponent, uint64_t form) {
    switch (form % 4) {
    case 0:
      return digits + "e" + std::to_string(exponent);
    case 1:
      return digits + ".0e" + std::to_string(exponent);
    case 2: {
      size_t point = 1 + form / 4 % digits.size();
      auto moved = static_cast<long>(digits.size() - point);
      std::string fraction = digits.substr(point);
      return digits.substr(0, point) + "." + (fraction.empty() ? "0" : fraction) + "e" +
             (exponent + moved >= 0 ? "+" : "") + std::to_string(exponent + moved);
    }
    default:
      return "000" + digits + ".000e" + std::to_string(exponent);
    }
  }

  void check(const std::string &digits, long exponent, uint64_t form) {
    std::string text = written(digits, exponent, form);
    std::optional<Decimal> got = parseDecimal(type, text);
    ASSERT_TRUE(got) << text;
    auto expected = oracle.decimal(digits, exponent);
    Bits throughF64 =
        oracle.convert(ScalarType::F64, f64.decimal(digits, exponent).bits, Rounding::NearestEven);
    ASSERT_EQ(got->bits, expected.bits) << name(type) << ' ' << text << " (seed " << seed << ")";
    ASSERT_EQ(got->exact, expected.exact) << name(type) << ' ' << text;
    ASSERT_EQ(got->sameThroughF64, expected.bits == throughF64) << name(type) << ' ' << text;
  }

  /// The midpoint of the positive \p a and the next value up, exactly: digits * 10^exponent.
  std::pair<std::string, long> midpointAbove(Bits a) {
    int field = static_cast<int>(a >> layout.fractionBits);
    Bits significand = a & layout.fractionMask();
    if (field != 0)
      significand |= layout.fractionMask() + 1;
    long exponent = (field == 0 ? 1 : field) - layout.maxField() / 2 -
                    static_cast<long>(layout.fractionBits) - 1;
    mpz_t number, power;
    mpz_init_set_ui(number, 2 * significand + 1);
    mpz_init(power);
    mpz_ui_pow_ui(power, exponent < 0 ? 5 : 2, static_cast<unsigned long>(std::labs(exponent)));
    mpz_mul(number, number, power);
    std::string digits = str(number);
    mpz_clear(number);
    mpz_clear(power);
    return {digits, std::min(exponent, 0L)};
  }
};

TEST_P(DecimalTest, RandomDigitsEqualMpfr) {
  std::mt19937_64 random(seed);
  // Decimal exponents beyond both ends of the type's range.
  int span = static_cast<int>(layout.maxField() * 0.16) + 3;
  for (int i = 0; i < 8000; ++i) {
    std::string digits(1, static_cast<char>('1' + random() % 9));
    for (uint64_t more = random() % (i % 8 == 0 ? 60 : 18); more > 0; --more)
      digits.push_back(static_cast<char>('0' + random() % 10));
    long exponent = static_cast<long>(random() % (2 * span + 1)) - span;
    if (i % 2)
      exponent -= static_cast<long>(digits.size());
    ASSERT_NO_FATAL_FAILURE(check(digits, exponent, random()));
  }
}

// Exactly halfway, and a last digit above and below.
TEST_P(DecimalTest, MidpointsGoToEvenAndTheirNeighboursDoNot) {
  Operands operands(type, seed);
  for (int i = 0; i < 400; ++i) {
    Bits a = operands.any() & (layout.signMask() - 1);
    if (isNaN(type, a) || isInfinity(type, a))
      continue;
    auto [digits, exponent] = midpointAbove(a);
    ASSERT_NO_FATAL_FAILURE(check(digits, exponent, operands.next()));
    // The appended digit stands at the end of any number of zeros or nines.
    std::string zeros(i % 3 == 0 ? 1500 : i % 50, '0'), nines(zeros.size(), '9');
    auto moved = static_cast<long>(zeros.size() + 1);
    ASSERT_NO_FATAL_FAILURE(check(digits + zeros + "1", exponent - moved, operands.next()));
    std::string below = digits;
    size_t place = below.find_last_not_of('0');
    --below[place];
    for (size_t j = place + 1; j < below.size(); ++j)
      below[j] = '9';
    ASSERT_NO_FATAL_FAILURE(check(below + nines + "9", exponent - moved, operands.next()));
  }
}

TEST_P(DecimalTest, EveryFormattedValueReadsBack) {
  Operands operands(type, seed);
  bool all = layout.width <= 16;
  Bits count = all ? Bits(1) << (layout.width - 1) : 4000;
  for (Bits i = 0; i < count; i += all && layout.width == 16 ? 7 : 1) {
    Bits a = all ? i : operands.any() & (layout.signMask() - 1);
    std::string text = format(type, a);
    if (isNaN(type, a)) {
      ASSERT_EQ(text, "nan");
      continue;
    }
    ASSERT_EQ(format(type, a | layout.signMask()), "-" + text);
    if (isInfinity(type, a)) {
      ASSERT_EQ(text, "inf");
      continue;
    }
    if (text.find_first_of(".e") == std::string::npos)
      text += ".0";
    ASSERT_EQ(parsed(type, text).bits, a) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, DecimalTest, testing::ValuesIn(floatTypes),
                         [](const auto &info) { return std::string(name(info.param)); });

TEST(DecimalCasesTest, OneTenth) {
  Decimal f32 = parsed(ScalarType::F32, "0.1");
  EXPECT_EQ(f32.bits, 0x3DCCCCCDU);
  EXPECT_FALSE(f32.exact);
  EXPECT_TRUE(f32.sameThroughF64);
  EXPECT_EQ(parsed(ScalarType::F64, "0.1").bits, 0x3FB999999999999AU);
  EXPECT_EQ(parsed(ScalarType::F16, "0.1").bits, 0x2E66U);
  EXPECT_FALSE(parsed(ScalarType::F16, "0.1").exact);
}

TEST(DecimalCasesTest, ExactValues) {
  for (auto [type, text, bits] : {std::tuple{ScalarType::F32, "1.0", 0x3F800000U},
                                  {ScalarType::F32, "0.5", 0x3F000000U},
                                  {ScalarType::F32, "1e5", 0x47C35000U},
                                  {ScalarType::F16, "65504.0", 0x7BFFU},
                                  {ScalarType::F16, "0.044921875", 0x29C0U},
                                  {ScalarType::BF16, "1.0", 0x3F80U},
                                  {ScalarType::E4M3, "448.0", 0x7EU},
                                  {ScalarType::E5M2, "57344.0", 0x7BU},
                                  {ScalarType::F32, "0.0", 0U},
                                  {ScalarType::F32, "0e7", 0U},
                                  {ScalarType::F32, "000.000e-99999999999999999999", 0U}}) {
    Decimal value = parsed(type, text);
    EXPECT_EQ(value.bits, bits) << text;
    EXPECT_TRUE(value.exact) << text;
    EXPECT_TRUE(value.sameThroughF64) << text;
  }
}

// 1 + 2^-24 + 2^-60 is above f32's midpoint; f64 rounds it to the midpoint, which goes to even.
TEST(DecimalCasesTest, RoundingThroughF64IsNoticed) {
  std::string text = "1.000000059604644775390625867361737988403547205962240695953369140625";
  Decimal value = parsed(ScalarType::F32, text);
  EXPECT_EQ(value.bits, 0x3F800001U);
  EXPECT_FALSE(value.sameThroughF64);
  EXPECT_FALSE(value.exact);
  EXPECT_EQ(parsed(ScalarType::F32, "1.000000059604644775390625").bits, 0x3F800000U);
  EXPECT_TRUE(parsed(ScalarType::F32, "1.000000059604644775390625").sameThroughF64);
}

TEST(DecimalCasesTest, OverflowAndUnderflow) {
  for (const char *text : {"1e400", "1.0e309", "1e999999999", "1e99999999999999999999999999",
                           "123456789.0e18446744073709551616"}) {
    Decimal value = parsed(ScalarType::F64, text);
    EXPECT_EQ(value.bits, infinity(ScalarType::F64)) << text;
    EXPECT_FALSE(value.exact) << text;
    EXPECT_EQ(parsed(ScalarType::E4M3, text).bits, canonicalNaN(ScalarType::E4M3)) << text;
  }
  for (const char *text : {"1e-400", "1e-999999999", "9.9e-99999999999999999999999999"}) {
    Decimal value = parsed(ScalarType::F64, text);
    EXPECT_EQ(value.bits, 0U) << text;
    EXPECT_FALSE(value.exact) << text;
  }
  EXPECT_EQ(parsed(ScalarType::F64, "1.7976931348623157e308").bits, 0x7FEFFFFFFFFFFFFFU);
  EXPECT_EQ(parsed(ScalarType::F64, "1.7976931348623158e308").bits, 0x7FEFFFFFFFFFFFFFU);
  EXPECT_EQ(parsed(ScalarType::F64, "1.7976931348623159e308").bits, infinity(ScalarType::F64));
  EXPECT_EQ(parsed(ScalarType::F32, "3.4028235677973367e38").bits, infinity(ScalarType::F32));
  EXPECT_EQ(parsed(ScalarType::F32, "3.4028235677973366e38").bits, 0x7F7FFFFFU);
  EXPECT_EQ(parsed(ScalarType::F16, "65519.999").bits, 0x7BFFU);
  EXPECT_EQ(parsed(ScalarType::F16, "65520.0").bits, 0x7C00U);
  EXPECT_FALSE(parsed(ScalarType::F16, "65520.0").exact);
  EXPECT_EQ(parsed(ScalarType::E4M3, "464.0").bits, 0x7EU);
  EXPECT_EQ(parsed(ScalarType::E4M3, "464.1").bits, 0x7FU);
}

TEST(DecimalCasesTest, SubnormalBoundaries) {
  EXPECT_EQ(parsed(ScalarType::F64, "4.9406564584124654e-324").bits, 1U);
  EXPECT_EQ(parsed(ScalarType::F64, "2.4703282292062328e-324").bits, 1U);
  EXPECT_EQ(parsed(ScalarType::F64, "2.4703282292062327e-324").bits, 0U);
  EXPECT_EQ(parsed(ScalarType::F64, "2.2250738585072014e-308").bits, 0x0010000000000000U);
  EXPECT_EQ(parsed(ScalarType::F64, "2.2250738585072011e-308").bits, 0x000FFFFFFFFFFFFFU);
  EXPECT_EQ(parsed(ScalarType::F32, "1.1754943508222875e-38").bits, 0x00800000U);
  EXPECT_EQ(parsed(ScalarType::F32, "1e-45").bits, 1U);
  EXPECT_EQ(parsed(ScalarType::F32, "7.0064923216240853e-46").bits, 0U);
  EXPECT_EQ(parsed(ScalarType::F32, "7.0064923216240854e-46").bits, 1U);
  Decimal smallest = parsed(ScalarType::F16, "0.000000059604644775390625");
  EXPECT_EQ(smallest.bits, 1U);
  EXPECT_TRUE(smallest.exact);
}

TEST(DecimalCasesTest, LengthDoesNotMatter) {
  std::string million(1000000, '0');
  EXPECT_EQ(parsed(ScalarType::F32, million + "1.0" + million).bits, 0x3F800000U);
  EXPECT_TRUE(parsed(ScalarType::F32, million + "1.0" + million).exact);
  Decimal above = parsed(ScalarType::F32, "1." + million + "1");
  EXPECT_EQ(above.bits, 0x3F800000U);
  EXPECT_FALSE(above.exact);
  EXPECT_EQ(parsed(ScalarType::F32, "0." + million + "1e1000001").bits, 0x3F800000U);
  EXPECT_TRUE(parsed(ScalarType::F32, "0." + million + "1e1000001").exact);
  EXPECT_EQ(parsed(ScalarType::F32, "1" + million + "e-1000000").bits, 0x3F800000U);
  // Just above a tie, by a digit a million places behind it.
  EXPECT_EQ(parsed(ScalarType::F32, "1.000000059604644775390625" + million + "1").bits,
            0x3F800001U);
  std::string threes(1000000, '3');
  EXPECT_EQ(parsed(ScalarType::F64, "0." + threes).bits, 0x3FD5555555555555U);
}

TEST(DecimalCasesTest, OtherTextIsNotADecimal) {
  for (const char *text : {"",     "1",    ".5",   "1.",   "1.e5",  "e5",    "1e",    "1e+",
                           "1e-",  "-1.0", "+1.0", "1.0f", "1..0",  "1.0.0", "0x1.0", "1.0e5.0",
                           " 1.0", "1.0 ", "inf",  "nan",  "1e5e5", "1,0",   "1_0.0"})
    EXPECT_FALSE(parseDecimal(ScalarType::F32, text)) << text;
  EXPECT_FALSE(parseDecimal(ScalarType::F32, std::string_view("1.0\0", 4)));
  EXPECT_FALSE(parseDecimal(ScalarType::I32, "1.0"));
  EXPECT_FALSE(parseDecimal(ScalarType::Bool, "1.0"));
}

TEST(FormatTest, ShortestDigits) {
  for (auto [type, bits, text] : {std::tuple{ScalarType::F32, Bits(0x3DCCCCCD), "0.1"},
                                  {ScalarType::F32, 0x3F800000, "1"},
                                  {ScalarType::F32, 0xBF800001, "-1.0000001"},
                                  {ScalarType::F32, 0x80000000, "-0"},
                                  {ScalarType::F32, 0x00000001, "1e-45"},
                                  {ScalarType::F32, 0x7F7FFFFF, "3.4028235e38"},
                                  {ScalarType::F32, 0x4B800000, "16777216"},
                                  {ScalarType::F32, 0xFF800000, "-inf"},
                                  {ScalarType::F32, 0xFFC00000, "nan"},
                                  {ScalarType::F64, 0x3FB999999999999A, "0.1"},
                                  {ScalarType::F64, 0x3FD5555555555555, "0.3333333333333333"},
                                  {ScalarType::F64, 0x0000000000000001, "5e-324"},
                                  {ScalarType::F64, 0x7FEFFFFFFFFFFFFF, "1.7976931348623157e308"},
                                  {ScalarType::F16, 0x3C01, "1.001"},
                                  {ScalarType::F16, 0x0001, "6e-8"},
                                  {ScalarType::F16, 0x7BFF, "65500"},
                                  {ScalarType::F16, 0x2E66, "0.1"},
                                  {ScalarType::BF16, 0x3F81, "1.01"},
                                  {ScalarType::E4M3, 0x7E, "450"},
                                  {ScalarType::E4M3, 0x01, "0.002"},
                                  {ScalarType::E5M2, 0x7B, "60000"},
                                  {ScalarType::I32, 0xFFFFFFFF, "-1"},
                                  {ScalarType::I64, 0xFFFFFFFF, "4294967295"},
                                  {ScalarType::Bool, 1, "true"},
                                  {ScalarType::Bool, 0, "false"}})
    EXPECT_EQ(format(type, bits), text);
}

} // namespace
} // namespace h3::scalar
