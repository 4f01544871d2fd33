//===-- tests/unit/scalar/SpecialFunctionsTest.cpp - Models against recordings ===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The models of the special function unit against everything recorded from one: every input of one
// or two binades of each function (tests/golden/mufu), and the values outside the polynomial.
//
//===----------------------------------------------------------------------===//

#include "dsl/scalar/SpecialFunctions.h"
#include "tests/unit/scalar/Operands.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <iterator>
#include <vector>

#include <lzma.h>
#include <mpfr.h>

namespace h3::scalar {
namespace {

/// The recording's bytes, empty with a test failure if the file cannot be read to its end.
std::vector<int8_t> readRecording(const std::string &name, size_t entries) {
  std::string path = std::string(H3_MUFU_RECORDINGS) + "/" + name + ".delta.i8.xz";
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> packed((std::istreambuf_iterator<char>(file)), {});
  // One byte more, so that a longer file is noticed.
  std::vector<int8_t> deltas(entries + 1);
  uint64_t memoryLimit = uint64_t(1) << 30;
  size_t in = 0, out = 0;
  lzma_ret result =
      lzma_stream_buffer_decode(&memoryLimit, 0, nullptr, packed.data(), &in, packed.size(),
                                reinterpret_cast<uint8_t *>(deltas.data()), &out, deltas.size());
  EXPECT_EQ(result, LZMA_OK) << path;
  EXPECT_EQ(in, packed.size()) << path;
  EXPECT_EQ(out, entries) << path;
  if (result != LZMA_OK || out != entries)
    return {};
  deltas.pop_back();
  return deltas;
}

Bits bitsOf(float x) { return std::bit_cast<uint32_t>(x); }

/// Compares model(input(i)) with the recording for all i.
template <class Input, class Reference>
void compareAll(const std::string &recording, size_t entries, Bits (*model)(Bits), Input input,
                Reference reference) {
  std::vector<int8_t> deltas = readRecording(recording, entries);
  ASSERT_EQ(deltas.size(), entries);
  size_t mismatches = 0, nonzero = 0;
  for (size_t i = 0; i < entries; ++i) {
    float x = input(i);
    Bits expected = bitsOf(static_cast<float>(reference(static_cast<double>(x)))) +
                    static_cast<Bits>(static_cast<int64_t>(deltas[i]));
    Bits got = model(bitsOf(x));
    nonzero += deltas[i] != 0;
    if (got != expected && mismatches++ == 0)
      ADD_FAILURE() << recording << ": first mismatch at entry " << i << ", input "
                    << Hex{bitsOf(x)} << ": " << Hex{got} << ", recorded " << Hex{expected};
  }
  EXPECT_EQ(mismatches, 0U) << "of " << entries;
  EXPECT_GT(nonzero, entries / 50) << "the recording says nothing";
}

float patternFrom1(size_t i) { return std::bit_cast<float>(static_cast<uint32_t>(0x3F800000 + i)); }

/// 2^x rounded to f64, then by the caller to f32. The host's exp2 may be an ulp of f64 off, which
/// matters only next to a midpoint of f32; there MPFR decides.
double exp2Rounded(double x) {
  double host = std::exp2(x);
  auto tail = static_cast<int64_t>(std::bit_cast<uint64_t>(host) & 0x1FFFFFFF) - 0x10000000;
  if (tail < -4 || tail > 4)
    return host;
  mpfr_t value;
  mpfr_init2(value, 53);
  mpfr_set_d(value, x, MPFR_RNDN);
  mpfr_exp2(value, value, MPFR_RNDN);
  double result = mpfr_get_d(value, MPFR_RNDN);
  mpfr_clear(value);
  return result;
}

TEST(RecordingTest, RsqrtEqualsEveryEntry) {
  compareAll("rsqrt_approx_f32", size_t(1) << 24, rsqrtApprox, patternFrom1,
             [](double x) { return 1.0 / std::sqrt(x); });
}

TEST(RecordingTest, SqrtEqualsEveryEntry) {
  compareAll("sqrt_approx_f32", size_t(1) << 24, sqrtApprox, patternFrom1,
             [](double x) { return std::sqrt(x); });
}

TEST(RecordingTest, RcpEqualsEveryEntry) {
  compareAll("rcp_approx_ftz_f32", size_t(1) << 23, rcpApproxFtz, patternFrom1,
             [](double x) { return 1.0 / x; });
}

TEST(RecordingTest, Ex2OfPositiveFractionsEqualsEveryEntry) {
  compareAll(
      "ex2_approx_ftz_f32_unit24", size_t(1) << 24, ex2ApproxFtz,
      [](size_t i) { return static_cast<float>(i) * 0x1p-24F; }, exp2Rounded);
}

TEST(RecordingTest, Ex2OfNegativeFractionsEqualsEveryEntry) {
  compareAll(
      "ex2_approx_ftz_f32_neg_unit24", size_t(1) << 24, ex2ApproxFtz,
      [](size_t i) { return -(static_cast<float>(i) * 0x1p-24F); }, exp2Rounded);
}

constexpr Bits inf = 0x7F800000, negativeInf = 0xFF800000, nan = 0x7FFFFFFF, zero = 0,
               negativeZero = 0x80000000, one = 0x3F800000;

TEST(SpecialValuesTest, AnyNaNGivesTheOneNaN) {
  for (auto *model : {rsqrtApprox, sqrtApprox, rcpApproxFtz, ex2ApproxFtz, lg2ApproxFtz, rcpApprox,
                      ex2Approx, lg2Approx})
    for (Bits a : {0x7F800001, 0x7FC00000, 0x7FFFFFFF})
      for (Bits sign : {zero, negativeZero})
        EXPECT_EQ(model(a | sign), nan);
}

TEST(SpecialValuesTest, Rsqrt) {
  EXPECT_EQ(rsqrtApprox(zero), inf);
  EXPECT_EQ(rsqrtApprox(negativeZero), negativeInf);
  EXPECT_EQ(rsqrtApprox(inf), zero);
  EXPECT_EQ(rsqrtApprox(negativeInf), nan);
  EXPECT_EQ(rsqrtApprox(one | negativeZero), nan);
  EXPECT_EQ(rsqrtApprox(0x80000001), nan); // a negative subnormal
  // Even powers of two are exact, subnormal ones too.
  for (int half = -74; half <= 63; ++half)
    EXPECT_EQ(rsqrtApprox(bitsOf(std::ldexp(1.0F, 2 * half))), bitsOf(std::ldexp(1.0F, -half)));
}

TEST(SpecialValuesTest, Sqrt) {
  EXPECT_EQ(sqrtApprox(zero), zero);
  EXPECT_EQ(sqrtApprox(negativeZero), negativeZero);
  EXPECT_EQ(sqrtApprox(inf), inf);
  EXPECT_EQ(sqrtApprox(negativeInf), nan);
  EXPECT_EQ(sqrtApprox(one | negativeZero), nan);
  EXPECT_EQ(sqrtApprox(0x80000001), nan);
  for (int half = -74; half <= 63; ++half)
    EXPECT_EQ(sqrtApprox(bitsOf(std::ldexp(1.0F, 2 * half))), bitsOf(std::ldexp(1.0F, half)));
}

// Neither root flushes: a subnormal is the scaled number with the same significand.
TEST(SpecialValuesTest, RootsOfSubnormalsScale) {
  std::mt19937_64 random(20261135);
  for (int i = 0; i < 100000; ++i) {
    Bits a = 1 + random() % 0x7FFFFF;
    Bits scaled = bitsOf(std::bit_cast<float>(static_cast<uint32_t>(a)) * 0x1p24F);
    Bits twelve = Bits(12) << 23;
    ASSERT_EQ(rsqrtApprox(a), rsqrtApprox(scaled) + twelve) << Hex{a};
    ASSERT_EQ(sqrtApprox(a), sqrtApprox(scaled) - twelve) << Hex{a};
  }
}

TEST(SpecialValuesTest, Rcp) {
  for (Bits sign : {zero, negativeZero}) {
    EXPECT_EQ(rcpApproxFtz(zero | sign), inf | sign);
    EXPECT_EQ(rcpApproxFtz(0x00000001 | sign), inf | sign); // subnormals count as zeros
    EXPECT_EQ(rcpApproxFtz(0x007FFFFF | sign), inf | sign);
    EXPECT_EQ(rcpApproxFtz(inf | sign), zero | sign);
    EXPECT_EQ(rcpApproxFtz(one | sign), one | sign);
    EXPECT_EQ(rcpApproxFtz(0x00800000 | sign), 0x7E800000 | sign); // 2^-126 to 2^126
    EXPECT_EQ(rcpApproxFtz(0x7E800000 | sign), 0x00800000 | sign); // 2^126 to 2^-126
    EXPECT_EQ(rcpApproxFtz(0x7E800001 | sign), zero | sign);       // a subnormal result
    EXPECT_EQ(rcpApproxFtz(0x7F7FFFFF | sign), zero | sign);
  }
}

TEST(SpecialValuesTest, Ex2) {
  EXPECT_EQ(ex2ApproxFtz(zero), one);
  EXPECT_EQ(ex2ApproxFtz(negativeZero), one);
  EXPECT_EQ(ex2ApproxFtz(0x00000001), one);
  EXPECT_EQ(ex2ApproxFtz(0x807FFFFF), one);
  EXPECT_EQ(ex2ApproxFtz(0x337FFFFF), one); // below 2^-24: cut to zero
  EXPECT_EQ(ex2ApproxFtz(inf), inf);
  EXPECT_EQ(ex2ApproxFtz(negativeInf), zero);
  EXPECT_EQ(ex2ApproxFtz(bitsOf(128.0F)), inf);
  EXPECT_EQ(ex2ApproxFtz(bitsOf(127.0F)), 0x7F000000U);
  EXPECT_EQ(ex2ApproxFtz(bitsOf(-128.0F)), zero);
  EXPECT_EQ(ex2ApproxFtz(bitsOf(-126.0F)), 0x00800000U);
  EXPECT_EQ(ex2ApproxFtz(bitsOf(-126.5F)), zero); // a subnormal result
  EXPECT_EQ(ex2ApproxFtz(bitsOf(-127.0F)), zero);
  for (int n = -126; n <= 127; ++n)
    EXPECT_EQ(ex2ApproxFtz(bitsOf(static_cast<float>(n))), bitsOf(std::ldexp(1.0F, n)));
}

TEST(SpecialValuesTest, Lg2) {
  for (auto *model : {lg2ApproxFtz, lg2Approx}) {
    EXPECT_EQ(model(zero), negativeInf);
    EXPECT_EQ(model(negativeZero), negativeInf);
    EXPECT_EQ(model(inf), inf);
    EXPECT_EQ(model(negativeInf), nan);
    EXPECT_EQ(model(one | negativeZero), nan);
    EXPECT_EQ(model(one), zero);
    for (int n = 1; n <= 127; ++n)
      EXPECT_EQ(model(bitsOf(std::ldexp(1.0F, n))), bitsOf(static_cast<float>(n)));
  }
  EXPECT_EQ(lg2ApproxFtz(0x007FFFFF), negativeInf); // a subnormal counts as zero
}

TEST(SpecialValuesTest, WithoutFtzSubnormalsAreKept) {
  const auto floatOf = [](Bits a) { return std::bit_cast<float>(static_cast<uint32_t>(a)); };
  EXPECT_EQ(rcpApprox(0x7F000000), 0x00400000U); // 2^127 to 2^-127
  EXPECT_EQ(rcpApprox(0x00400000), 0x7F000000U);
  EXPECT_EQ(rcpApprox(0x00000001), inf);
  EXPECT_EQ(rcpApprox(negativeZero), negativeInf);
  EXPECT_EQ(rcpApprox(negativeInf), negativeZero);
  EXPECT_EQ(ex2Approx(negativeInf), zero);
  for (int n = -148; n <= -128; n += 2)
    EXPECT_EQ(ex2Approx(bitsOf(static_cast<float>(n))), bitsOf(std::ldexp(1.0F, n))) << n;
  for (float a = -149.0F; a < -126.0F; a += 0x1p-9F) {
    const float root = floatOf(ex2ApproxFtz(bitsOf(a / 2)));
    ASSERT_EQ(ex2Approx(bitsOf(a)), bitsOf(root * root)) << a;
  }
  for (Bits a = 0x7E800001; a < 0x7F800000; a += 997)
    ASSERT_EQ(rcpApprox(a), bitsOf(floatOf(rcpApproxFtz(bitsOf(floatOf(a) / 4))) / 4)) << Hex{a};
  std::mt19937_64 random(20261201);
  for (int i = 0; i < 100000; ++i) { // nothing else changes where nothing is subnormal
    const Bits a = 0x00800000 + random() % (0x7E800000 - 0x00800000);
    ASSERT_EQ(rcpApprox(a), rcpApproxFtz(a)) << Hex{a};
    ASSERT_EQ(lg2Approx(a), lg2ApproxFtz(a)) << Hex{a};
    ASSERT_EQ(ex2Approx(a), ex2ApproxFtz(a)) << Hex{a};
  }
}

TEST(SpecialValuesTest, DispatchByName) {
  for (Bits a : {one, Bits(0x40490FDB), Bits(0x3EAAAAAB), inf, zero}) {
    EXPECT_EQ(approximate(Approximation::RsqrtApprox, a), rsqrtApprox(a));
    EXPECT_EQ(approximate(Approximation::Ex2ApproxFtz, a), ex2ApproxFtz(a));
    EXPECT_EQ(approximate(Approximation::RcpApproxFtz, a), rcpApproxFtz(a));
    EXPECT_EQ(approximate(Approximation::SqrtApprox, a), sqrtApprox(a));
  }
}

} // namespace
} // namespace h3::scalar
