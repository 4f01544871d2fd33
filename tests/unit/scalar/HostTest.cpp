//===-- tests/unit/scalar/HostTest.cpp - The host's float unit ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The host twice: as a second oracle for f32 and f64, and as something whose state must not matter.
//
//===----------------------------------------------------------------------===//

#include "dsl/scalar/Format.h"
#include "dsl/scalar/Scalar.h"
#include "tests/unit/scalar/Operands.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace h3::scalar {
namespace {

constexpr uint64_t seed = 20261131;

int hostRounding(Rounding rounding) {
  constexpr std::array<int, 4> modes = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  return modes[static_cast<size_t>(rounding)];
}

/// The host's results, NaN made canonical. Volatile keeps the operations where the mode is set.
template <class Float, ScalarType Type> struct Host {
  using Pattern = std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>;

  static Float value(Bits a) { return std::bit_cast<Float>(static_cast<Pattern>(a)); }
  static Bits bits(Float x) { return canonical(Type, std::bit_cast<Pattern>(x)); }

  static void check(Rounding rounding) {
    Operands operands(Type, seed + static_cast<uint64_t>(rounding));
    for (int i = 0; i < 400000; ++i) {
      Bits a = operands.any();
      Bits b = i & 1 ? operands.near(a, 3) : operands.productAtEnd(a, i & 2);
      Bits c = i & 4 ? operands.any() : operands.neighbour(mul(Type, a, b));
      volatile Float x = value(a), y = value(b), z = value(c);
      std::fesetround(hostRounding(rounding));
      volatile Float sum = x + y, difference = x - y, product = x * y, quotient = x / y;
      volatile Float root = std::sqrt(x), fused = std::fma(x, y, z);
      std::fesetround(FE_TONEAREST);
      auto same = [&](const char *operation, Float host, Bits got) {
        if (got != bits(host))
          ADD_FAILURE() << name(Type) << ' ' << operation << ' ' << roundingName(rounding) << " of "
                        << Hex{a} << ' ' << Hex{b} << ' ' << Hex{c} << ": " << Hex{got}
                        << ", the host has " << Hex{bits(host)} << " (seed " << seed << ")";
        return got == bits(host);
      };
      bool good = same("add", sum, add(Type, a, b, rounding)) &&
                  same("sub", difference, sub(Type, a, b, rounding)) &&
                  same("mul", product, mul(Type, a, b, rounding)) &&
                  same("div", quotient, div(Type, a, b, rounding)) &&
                  same("sqrt", root, sqrt(Type, a, rounding)) &&
                  same("fma", fused, fma(Type, a, b, c, rounding));
      ASSERT_TRUE(good);
    }
  }
};

class HostTest : public testing::TestWithParam<Rounding> {};

TEST_P(HostTest, SinglePrecisionIsTheHosts) { Host<float, ScalarType::F32>::check(GetParam()); }

TEST_P(HostTest, DoublePrecisionIsTheHosts) { Host<double, ScalarType::F64>::check(GetParam()); }

TEST_P(HostTest, NarrowingToSinglePrecisionIsTheHosts) {
  Rounding rounding = GetParam();
  Operands operands(ScalarType::F64, seed);
  for (int i = 0; i < 400000; ++i) {
    // Two of three near f32's range, its ends included.
    Bits a = operands.any();
    if (i % 3 != 0)
      a = operands.near(0x3FF0000000000000, 160);
    volatile double x = std::bit_cast<double>(a);
    std::fesetround(hostRounding(rounding));
    volatile float narrow = static_cast<float>(x);
    std::fesetround(FE_TONEAREST);
    Bits host = canonical(ScalarType::F32, std::bit_cast<uint32_t>(float(narrow)));
    ASSERT_EQ(convert(ScalarType::F64, ScalarType::F32, a, rounding), host)
        << Hex{a} << " (seed " << seed << ")";
  }
}

INSTANTIATE_TEST_SUITE_P(Roundings, HostTest, testing::ValuesIn(allRoundings),
                         [](const auto &info) { return std::string(roundingName(info.param)); });

/// One long list of results of everything in the library.
std::vector<Bits> allResults() {
  std::vector<Bits> results;
  for (ScalarType type : arithmeticTypes) {
    Operands operands(type, seed);
    for (int i = 0; i < 3000; ++i) {
      Bits a = operands.any(), b = operands.near(a, 30), c = operands.any();
      for (Rounding r : allRoundings)
        for (Bits bits : {add(type, a, b, r), sub(type, a, b, r), mul(type, a, b, r),
                          div(type, a, b, r), fma(type, a, b, c, r), sqrt(type, a, r)})
          results.push_back(bits);
      for (ScalarType to : floatTypes)
        results.push_back(convert(type, to, a));
      for (Bits bits :
           {maximum(type, a, b), minimumNumber(type, a, b), static_cast<Bits>(compare(type, a, b))})
        results.push_back(bits);
      if (type == ScalarType::F32)
        for (Approximation function : {Approximation::RsqrtApprox, Approximation::Ex2ApproxFtz,
                                       Approximation::RcpApproxFtz, Approximation::SqrtApprox})
          results.push_back(approximate(function, a));
      if (i % 20 != 0) // decimals are slow
        continue;
      std::string text = format(type, a);
      for (char character : text)
        results.push_back(static_cast<Bits>(character));
      Bits magnitude = abs(type, a);
      if (!isNaN(type, a) && !isInfinity(type, a)) {
        std::string literal = format(type, magnitude);
        if (literal.find_first_of(".e") == std::string::npos)
          literal += ".0";
        results.push_back(parseDecimal(type, literal)->bits);
      }
    }
  }
  return results;
}

TEST(HostStateTest, RoundingModeChangesNothing) {
  std::vector<Bits> expected = allResults();
  for (Rounding rounding : allRoundings) {
    ASSERT_EQ(std::fesetround(hostRounding(rounding)), 0);
    std::vector<Bits> results = allResults();
    std::fesetround(FE_TONEAREST);
    EXPECT_TRUE(results == expected) << roundingName(rounding);
  }
}

TEST(HostStateTest, FlushToZeroChangesNothing) {
#ifdef __SSE__
  std::vector<Bits> expected = allResults();
  constexpr unsigned flushResults = 0x8000, operandsAreZero = 0x0040;
  unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | flushResults | operandsAreZero);
  volatile float tiny = 0x1p-130F;
  volatile float sum = tiny + tiny;
  std::vector<Bits> results = allResults();
  _mm_setcsr(saved);
  EXPECT_EQ(std::bit_cast<uint32_t>(float(sum)), 0U) << "the host did not flush";
  EXPECT_TRUE(results == expected);
#else
  GTEST_SKIP() << "skipped: only x86's MXCSR is known to this test";
#endif
}

} // namespace
} // namespace h3::scalar
