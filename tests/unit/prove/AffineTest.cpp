//===-- tests/unit/prove/AffineTest.cpp - Quotients of integers that grow -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/Affine.h"

#include <gtest/gtest.h>

#include <random>

using namespace h3::prove;

namespace {

/// Two symbols, 0 .. \p most of the first and 0 .. \p most of the second.
SymbolRange rangeOf(int64_t mostFirst, int64_t mostSecond) {
  SymbolRange range;
  for (int64_t first : {int64_t(0), mostFirst})
    for (int64_t second : {int64_t(0), mostSecond}) {
      range.vertices.push_back({});
      range.vertices.back()[PeriodsBefore] = first;
      range.vertices.back()[RowsBehind] = second;
    }
  return range;
}

Slopes slopesOf(int64_t first, int64_t second) {
  Slopes slopes{};
  slopes[PeriodsBefore] = first;
  slopes[RowsBehind] = second;
  return slopes;
}

TEST(Quotient, IsLinearOnlyWhereEveryValueIs) {
  std::mt19937 random(1);
  auto below = [&](int64_t end) {
    return std::uniform_int_distribution<int64_t>(0, end - 1)(random);
  };
  unsigned linear = 0, bent = 0;
  for (int round = 0; round < 20'000; ++round) {
    const unsigned shift = static_cast<unsigned>(1 + below(5));
    const int64_t unit = int64_t(1) << shift, mostFirst = below(6), mostSecond = below(6);
    // Slopes that are multiples of the unit or nearly so, as they are where it matters.
    const int64_t first = unit * below(4) + below(3), second = unit * below(4) + below(3);
    const int64_t base = below(8 * unit);
    std::optional<Slopes> found =
        linearSlopes(quotientOf(static_cast<uint64_t>(base), slopesOf(first, second), shift),
                     rangeOf(mostFirst, mostSecond));
    bool isRight = true;
    for (int64_t i = 0; found && i <= mostFirst; ++i)
      for (int64_t j = 0; j <= mostSecond; ++j)
        isRight &= (base + first * i + second * j) / unit ==
                   base / unit + (*found)[PeriodsBefore] * i + (*found)[RowsBehind] * j;
    EXPECT_TRUE(isRight) << base << " + " << first << " i + " << second << " j over " << unit;
    ++(found ? linear : bent);
  }
  EXPECT_GT(linear, 1000u);
  EXPECT_GT(bent, 1000u);
}

/// n * reciprocal / 2^62 as a kernel computes it of halves, n = d i below 2^31.
std::optional<Slopes> quotientByReciprocal(uint64_t reciprocal, int64_t d, uint64_t base,
                                           int64_t most) {
  SymbolRange range = rangeOf(most, 0);
  const Slopes growth = slopesOf(d, 0);
  const uint64_t low = reciprocal & 0xFFFFFFFF, high = reciprocal >> 32;
  Quotient carry = quotientOf(low * base, slopesOf(int64_t(low) * d, 0), 32);
  std::optional<Quotient> sum = plusProduct(carry, high, {}, base, growth, range);
  if (!sum)
    return std::nullopt;
  sum->shift += 30;
  return linearSlopes(*sum, range);
}

TEST(Quotient, ByAReciprocalIsLinearIfTheReciprocalIsRight) {
  for (int64_t d : {1, 2, 3, 5, 7, 24, 96, 641, 1000, 4096, 65535, 1'000'003}) {
    const uint64_t right = (uint64_t(1) << 62) / static_cast<uint64_t>(d) + 1;
    for (uint64_t base : {int64_t(0), d - 1, d, 5 * d + d / 2}) {
      const int64_t most = ((int64_t(1) << 31) - 1 - static_cast<int64_t>(base)) / d;
      std::optional<Slopes> slopes = quotientByReciprocal(right, d, base, most);
      ASSERT_TRUE(slopes) << d;
      EXPECT_EQ((*slopes)[PeriodsBefore], 1) << d;
      // Larger by so much that the largest number is off, if it is the last of its row.
      if (base + 1 == static_cast<uint64_t>(d))
        EXPECT_FALSE(quotientByReciprocal(right + (uint64_t(1) << 33), d, base, most)) << d;
      // Rounded down it misses the first number of a row.
      if (base == 0 && d > 1)
        EXPECT_FALSE(quotientByReciprocal(right - 1, d, base, most) && (d & (d - 1)) != 0) << d;
    }
  }
}

TEST(Quotient, SumBeyondTheRegisterIsNone) {
  const SymbolRange range = rangeOf(1 << 20, 0);
  const Quotient carry = quotientOf(0, slopesOf(1, 0), 32);
  EXPECT_TRUE(plusProduct(carry, 1 << 20, {}, 0, slopesOf(1 << 20, 0), range));
  EXPECT_FALSE(plusProduct(carry, 1 << 24, {}, 0, slopesOf(1 << 20, 0), range));
  EXPECT_FALSE(plusProduct(carry, 1, slopesOf(1, 0), 1, slopesOf(1, 0), range));
}

} // namespace
