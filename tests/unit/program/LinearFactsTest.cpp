//===-- tests/unit/program/LinearFactsTest.cpp - Proofs of index ranges ---===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/LinearFacts.h"

#include <gtest/gtest.h>

namespace h3 {
namespace {

class LinearFactsTest : public testing::Test {
protected:
  LinearFactsTest() {
    for (const char *name : {"n", "m", "r"})
      program.dims.push_back({name, std::nullopt, nullptr, std::nullopt, {}});
    for (const char *name : {"i", "j"})
      program.indexVariables.push_back({name, {}, nullptr, {}});
  }
  static Polynomial number(int64_t value) { return Polynomial::constant(value); }
  static Polynomial plus(const Polynomial &a, const Polynomial &b) { return *sum(a, b); }
  static Polynomial minus(const Polynomial &a, const Polynomial &b) { return *difference(a, b); }
  static Polynomial times(int64_t a, const Polynomial &b) { return *product(number(a), b); }

  void less(const Polynomial &a, const Polynomial &b) {
    facts.push_back({{{minus(minus(b, a), number(1))}}});
  }
  void atLeast(const Polynomial &a, const Polynomial &b) { facts.push_back({{{minus(a, b)}}}); }
  void range(const Polynomial &index, const Polynomial &extent) {
    facts.push_back({{{index, minus(minus(extent, index), number(1))}}});
  }
  bool isLess(const Polynomial &a, const Polynomial &b) {
    return follows(sizes, facts, minus(minus(b, a), number(1)));
  }
  bool isAtLeast(const Polynomial &a, const Polynomial &b) {
    return follows(sizes, facts, minus(a, b));
  }

  Program program;
  SizeTable sizes{program};
  std::vector<Fact> facts;
  const Polynomial n = Polynomial::atom({Atom::Kind::Dim, 0}),
                   m = Polynomial::atom({Atom::Kind::Dim, 1}),
                   r = Polynomial::atom({Atom::Kind::Dim, 2}),
                   i = Polynomial::atom({Atom::Kind::Index, 0}),
                   j = Polynomial::atom({Atom::Kind::Index, 1});
};

TEST_F(LinearFactsTest, RangeOfAVariable) {
  range(i, n);
  EXPECT_TRUE(isAtLeast(i, number(0)));
  EXPECT_TRUE(isLess(i, n));
  EXPECT_TRUE(isAtLeast(n, number(1))) << "a variable exists, so its extent is not empty";
  EXPECT_FALSE(isLess(plus(i, number(1)), n));
  EXPECT_TRUE(isLess(i, plus(n, m))) << "dims are at least 0";
  EXPECT_FALSE(isLess(i, m));
}

TEST_F(LinearFactsTest, HalvesOfARow) {
  Polynomial half = *sizes.quotient(r, 2);
  range(i, n);
  less(i, half);
  EXPECT_TRUE(isLess(i, r));
  EXPECT_TRUE(isLess(plus(i, half), r)) << "q = r / 2 gives 2*q <= r";
  EXPECT_FALSE(isLess(plus(plus(i, half), number(1)), r));
  facts.clear();
  range(i, r);
  atLeast(i, half);
  EXPECT_TRUE(isAtLeast(minus(i, half), number(0)));
  EXPECT_TRUE(isLess(minus(i, half), plus(half, number(1)))) << "r <= 2*q + 1";
  EXPECT_FALSE(isLess(minus(i, half), half)) << "false for r = 1";
}

TEST_F(LinearFactsTest, IntegersNotRationals) {
  range(i, n);
  // 2*i <= 5 gives i <= 2.
  atLeast(number(5), times(2, i));
  EXPECT_TRUE(isLess(i, number(3)));
  EXPECT_FALSE(isLess(i, number(2)));
}

TEST_F(LinearFactsTest, RemaindersAndTheirQuotients) {
  Polynomial q = *sizes.quotient(n, 4), rest = *sizes.remainder(n, 4);
  EXPECT_TRUE(isLess(rest, number(4)));
  EXPECT_TRUE(isAtLeast(rest, number(0)));
  EXPECT_FALSE(isLess(rest, number(3)));
  EXPECT_TRUE(isAtLeast(plus(times(4, q), rest), n));
  EXPECT_TRUE(isAtLeast(n, plus(times(4, q), rest)));
  // n % 4 == 0 makes 4 * (n / 4) the whole row.
  facts.push_back({{{rest, minus(number(0), rest)}}});
  EXPECT_TRUE(isAtLeast(times(4, q), n));
  range(j, q);
  EXPECT_TRUE(isLess(plus(times(4, j), number(3)), n));
}

TEST_F(LinearFactsTest, ProductsAreUnknownsAtLeastZero) {
  Polynomial nm = *product(n, m);
  range(i, nm);
  EXPECT_TRUE(isLess(i, plus(nm, n)));
  EXPECT_TRUE(isAtLeast(nm, number(1)));
  EXPECT_FALSE(isLess(i, n)) << "nothing links a product to its factors";
}

TEST_F(LinearFactsTest, Alternatives) {
  range(i, n);
  facts.push_back({{{minus(number(3), i)}, {minus(i, number(5))}}}); // i <= 3 or i >= 5
  EXPECT_FALSE(isLess(i, number(4)));
  less(i, number(5));
  EXPECT_TRUE(isLess(i, number(4)));
}

TEST_F(LinearFactsTest, WhatCannotHappenProvesAnything) {
  range(i, n);
  EXPECT_FALSE(isLess(m, number(0)));
  less(n, number(1));
  EXPECT_TRUE(isLess(m, number(0)));
  facts = {Fact{}};
  EXPECT_TRUE(isLess(m, number(0)));
}

TEST_F(LinearFactsTest, LargeNumbersAreNotShownRatherThanWrong) {
  range(i, n);
  atLeast(times(INT64_MAX, i), times(INT64_MAX - 1, n));
  EXPECT_FALSE(isLess(n, number(0)));
  EXPECT_TRUE(isLess(i, n));
}

/// Every answer "follows" is true at all points of a box that satisfy the facts.
TEST_F(LinearFactsTest, NeverProvesWhatIsFalse) {
  unsigned proved = 0, random = 12345;
  auto next = [&](int count) {
    random = random * 1664525u + 1013904223u;
    return static_cast<int>((random >> 16) % static_cast<unsigned>(count));
  };
  for (int round = 0; round < 400; ++round) {
    int c[4][3];
    for (auto &row : c)
      for (int &value : row)
        value = next(9) - 4;
    int divisor = 2 + next(3);
    Polynomial q = *sizes.quotient(n, divisor);
    auto linear = [&](const int (&row)[3], const Polynomial &a, const Polynomial &b) {
      return plus(plus(times(row[0], a), times(row[1], b)), number(row[2]));
    };
    facts.clear();
    range(i, n);
    facts.push_back({{{linear(c[0], i, q)}}});
    facts.push_back({{{linear(c[1], i, n)}, {linear(c[2], i, q)}}});
    Polynomial goal = linear(c[3], i, q);
    if (!follows(sizes, facts, goal))
      continue;
    ++proved;
    for (int vn = 0; vn < 14; ++vn)
      for (int vi = 0; vi < vn; ++vi) {
        int vq = vn / divisor;
        auto value = [&](const int (&row)[3], int b) { return row[0] * vi + row[1] * b + row[2]; };
        if (value(c[0], vq) >= 0 && (value(c[1], vn) >= 0 || value(c[2], vq) >= 0)) {
          EXPECT_GE(value(c[3], vq), 0) << "round " << round << " n " << vn << " i " << vi;
        }
      }
  }
  EXPECT_GT(proved, 50u);
}

TEST_F(LinearFactsTest, TextOfFacts) {
  range(i, n);
  EXPECT_EQ(text(sizes, facts[0]), "0 <= i < n");
  EXPECT_EQ(text(sizes, Fact{{{minus(minus(n, i), number(1))}}}), "i < n");
  EXPECT_EQ(text(sizes, Fact{{{minus(n, number(16))}}}), "n >= 16");
  EXPECT_EQ(text(sizes, Fact{{{minus(n, m), minus(m, n)}}}), "n == m");
  EXPECT_EQ(text(sizes, Fact{{{minus(number(2), i)}, {minus(i, number(5))}}}), "i < 3 or i >= 5");
}

TEST_F(LinearFactsTest, RelatedFactsShareAnUnknown) {
  range(i, n);
  range(j, m);
  atLeast(n, r);
  std::vector<const Fact *> found = related(sizes, facts, minus(i, r));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], &facts[0]);
  EXPECT_EQ(found[1], &facts[2]);
}

} // namespace
} // namespace h3
