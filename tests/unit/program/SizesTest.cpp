//===-- tests/unit/program/SizesTest.cpp - Polynomials over sizes ---------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Sizes.h"

#include <gtest/gtest.h>

namespace h3 {
namespace {

class SizesTest : public testing::Test {
protected:
  SizesTest() {
    for (const char *name : {"n", "m", "d"})
      program.dims.push_back({name, std::nullopt, nullptr, std::nullopt, {}});
  }
  Polynomial dim(unsigned id) { return Polynomial::atom({Atom::Kind::Dim, id}); }
  Polynomial number(int64_t value) { return Polynomial::constant(value); }
  std::string text(const Polynomial &value) { return toString(*sizes.intern(value), program); }

  Program program;
  SizeTable sizes{program};
};

TEST_F(SizesTest, EqualPolynomialsAreOneNode) {
  Polynomial n = dim(0), m = dim(1);
  Polynomial a = *product(*sum(n, m), *sum(n, m));
  Polynomial b = *sum(*sum(*product(n, n), *product(m, m)), *product(number(2), *product(m, n)));
  EXPECT_EQ(sizes.intern(a), sizes.intern(b));
  EXPECT_NE(sizes.intern(n), sizes.intern(m));
  EXPECT_EQ(sizes.intern(*difference(a, b))->value, 0);
}

TEST_F(SizesTest, TextIsAsAPersonWrites) {
  Polynomial n = dim(0), m = dim(1), d = dim(2);
  EXPECT_EQ(text(*product(number(2), d)), "2 * d");
  EXPECT_EQ(text(*difference(n, number(1))), "n - 1");
  EXPECT_EQ(text(*difference(number(1), n)), "1 - n");
  EXPECT_EQ(text(*difference(number(0), n)), "-n");
  EXPECT_EQ(text(*sum(*product(n, m), number(3))), "n * m + 3");
  EXPECT_EQ(text(*sizes.quotient(n, 2)), "n / 2");
  EXPECT_EQ(text(*sizes.quotient(*sum(n, number(3)), 4)), "(n + 3) / 4");
  EXPECT_EQ(text(*sizes.remainder(*product(n, m), 4)), "n * m % 4");
  EXPECT_EQ(text(*product(number(3), *sizes.quotient(n, 2))), "3 * (n / 2)");
}

TEST_F(SizesTest, QuotientsTakeOutMultiples) {
  Polynomial n = dim(0);
  Polynomial four = *product(number(4), n);
  EXPECT_EQ(*sizes.quotient(*sum(four, number(2)), 4), n);
  EXPECT_EQ(*sizes.remainder(*sum(four, number(2)), 4), number(2));
  EXPECT_EQ(*sizes.quotient(number(-7), 4), number(-2));
  EXPECT_EQ(*sizes.remainder(number(-7), 4), number(1));
}

TEST_F(SizesTest, EvaluatesAndReportsOverflow) {
  Polynomial n = dim(0), m = dim(1);
  const Size *size =
      sizes.intern(*sum(*sizes.quotient(*difference(n, number(5)), 3), *product(n, m)));
  // Rounding down, also below zero: (1 - 5) / 3 is -2.
  EXPECT_EQ(evaluate(*size, {1, 10, 0}), 8);
  EXPECT_EQ(evaluate(*size, {INT64_MAX / 2, 3, 0}), std::nullopt);
  EXPECT_EQ(product(number(INT64_MAX), *product(number(2), n)), std::nullopt);
}

/// Every size has the value of the expression that it was made from.
TEST_F(SizesTest, NormalFormKeepsTheValue) {
  Polynomial n = dim(0), m = dim(1);
  for (int64_t vn = 0; vn < 12; ++vn)
    for (int64_t vm = 0; vm < 12; ++vm)
      for (int64_t c = 1; c < 6; ++c) {
        Polynomial s = *difference(*product(number(7), n), *product(number(3), m));
        const Size *q = sizes.intern(*sizes.quotient(s, c));
        const Size *r = sizes.intern(*sizes.remainder(s, c));
        EXPECT_EQ(evaluate(*q, {vn, vm, 0}), scalar::floorDiv(7 * vn - 3 * vm, c));
        EXPECT_EQ(evaluate(*r, {vn, vm, 0}), scalar::floorMod(7 * vn - 3 * vm, c));
      }
}

} // namespace
} // namespace h3
