//===-- tests/unit/scalar/ArithmeticTest.cpp - Operations against MPFR ----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/scalar/Arithmetic.h"
#include "dsl/scalar/Scalar.h"
#include "tests/unit/scalar/MpfrOracle.h"
#include "tests/unit/scalar/Operands.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace h3::scalar {
namespace {

constexpr uint64_t seed = 20261130;

class ArithmeticTest : public testing::TestWithParam<ScalarType> {
protected:
  ScalarType type = GetParam();
  MpfrOracle oracle{type};
  long compared = 0;

  testing::AssertionResult same(const char *operation, Rounding rounding, Bits got, Bits expected,
                                Bits a, Bits b = 0, Bits c = 0) {
    ++compared;
    if (got == expected)
      return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << name(type) << ' ' << operation << ' ' << roundingName(rounding) << " of " << Hex{a}
           << ' ' << Hex{b} << ' ' << Hex{c} << ": " << Hex{got} << ", MPFR has " << Hex{expected}
           << " (seed " << seed << ")";
  }

  void checkBinary(Bits a, Bits b) {
    for (Rounding r : allRoundings) {
      ASSERT_TRUE(same("add", r, add(type, a, b, r), oracle.add(a, b, r), a, b));
      ASSERT_TRUE(same("sub", r, sub(type, a, b, r), oracle.sub(a, b, r), a, b));
      ASSERT_TRUE(same("mul", r, mul(type, a, b, r), oracle.mul(a, b, r), a, b));
      ASSERT_TRUE(same("div", r, div(type, a, b, r), oracle.div(a, b, r), a, b));
    }
  }

  void checkFma(Bits a, Bits b, Bits c) {
    for (Rounding r : allRoundings)
      ASSERT_TRUE(same("fma", r, fma(type, a, b, c, r), oracle.fma(a, b, c, r), a, b, c));
  }

  void checkSqrt(Bits a) {
    for (Rounding r : allRoundings)
      ASSERT_TRUE(same("sqrt", r, sqrt(type, a, r), oracle.sqrt(a, r), a));
  }
};

TEST_P(ArithmeticTest, EveryPairOfSpecialsEqualsMpfr) {
  for (Bits a : specials(type))
    for (Bits b : specials(type))
      ASSERT_NO_FATAL_FAILURE(checkBinary(a, b));
}

TEST_P(ArithmeticTest, FmaOfEveryTripleOfSpecialsEqualsMpfr) {
  for (Bits a : specials(type))
    for (Bits b : specials(type))
      for (Bits c : specials(type))
        ASSERT_NO_FATAL_FAILURE(checkFma(a, b, c));
}

TEST_P(ArithmeticTest, RandomPairsEqualMpfr) {
  Operands operands(type, seed);
  for (int i = 0; i < 100000; ++i) {
    Bits a = operands.any(), b = 0;
    switch (i % 6) {
    case 0:
      b = operands.any();
      break;
    case 1:
      b = operands.near(a, 2);
      break;
    case 2:
      b = operands.near(a, bitWidth(type) + 3);
      break;
    case 3:
      b = operands.neighbour(a);
      break;
    case 4:
      b = operands.productAtEnd(a, /*lower=*/true);
      break;
    default:
      b = operands.productAtEnd(a, /*lower=*/false);
      break;
    }
    ASSERT_NO_FATAL_FAILURE(checkBinary(a, b));
  }
  EXPECT_EQ(compared, 16 * 100000);
}

// The quotient of a rounded product lies next to a representable number.
TEST_P(ArithmeticTest, QuotientsNextToARepresentableNumberEqualMpfr) {
  Operands operands(type, seed + 1);
  for (int i = 0; i < 30000; ++i) {
    Bits a = operands.any(), b = operands.near(a, 4);
    ASSERT_NO_FATAL_FAILURE(
        checkBinary(operands.neighbour(oracle.mul(a, b, Rounding::NearestEven)), b));
  }
}

TEST_P(ArithmeticTest, RandomFmaEqualsMpfr) {
  Operands operands(type, seed + 2);
  for (int i = 0; i < 200000; ++i) {
    Bits a = operands.any(), b = 0, c = 0;
    switch (i % 3) {
    case 0:
      b = operands.any();
      break;
    case 1:
      b = operands.productAtEnd(a, operands.next() & 1);
      break;
    default:
      b = operands.near(Bits(0x3F) << (bitWidth(type) - 8), 3);
      break;
    }
    Bits product = oracle.mul(a, b, Rounding::NearestEven);
    switch (operands.next() % 4) {
    case 0:
      c = operands.any();
      break;
    case 1: // cancels to the rounding error of the product, or nearly
      c = operands.neighbour(product);
      break;
    case 2:
      c = operands.near(product, 4);
      break;
    default: // one term is a sticky bit of the other
      c = operands.near(product, 2 * bitWidth(type));
      break;
    }
    ASSERT_NO_FATAL_FAILURE(checkFma(a, b, c));
  }
  EXPECT_EQ(compared, 4 * 200000);
}

TEST_P(ArithmeticTest, RandomSqrtEqualsMpfr) {
  Operands operands(type, seed + 3);
  for (int i = 0; i < 100000; ++i) {
    Bits a = operands.any();
    ASSERT_NO_FATAL_FAILURE(checkSqrt(a));
    // Next to a square: the root is next to a representable number or to a midpoint.
    ASSERT_NO_FATAL_FAILURE(checkSqrt(operands.neighbour(oracle.mul(a, a, Rounding::NearestEven))));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ArithmeticTest, testing::ValuesIn(arithmeticTypes),
                         [](const auto &info) { return std::string(name(info.param)); });

// Sixteen-bit types are small enough for one operand to take every value.
class SixteenBitTest : public ArithmeticTest {};

TEST_P(SixteenBitTest, SqrtOfEveryValueEqualsMpfr) {
  for (Bits a = 0; a <= 0xFFFF; ++a)
    ASSERT_NO_FATAL_FAILURE(checkSqrt(a));
}

TEST_P(SixteenBitTest, EveryValueWithAGridOfOthersEqualsMpfr) {
  Layout layout(type);
  int bias = layout.maxField() / 2;
  for (Bits b : {Bits(1), layout.signMask() | 3, layout.make(false, 0, layout.fractionMask()),
                 layout.make(true, bias, 1), layout.make(false, bias - 1, layout.fractionMask()),
                 layout.make(false, bias + 2, layout.fractionMask() / 3),
                 layout.make(true, layout.maxField() - 1, layout.fractionMask())})
    for (Bits a = 0; a <= 0xFFFF; ++a)
      ASSERT_NO_FATAL_FAILURE(checkBinary(a, b));
}

INSTANTIATE_TEST_SUITE_P(Types, SixteenBitTest, testing::Values(ScalarType::F16, ScalarType::BF16),
                         [](const auto &info) { return std::string(name(info.param)); });

TEST(SignedZeroTest, SumOfOppositesIsNegativeZeroOnlyRoundingDown) {
  for (ScalarType type : arithmeticTypes) {
    Layout layout(type);
    Bits one = layout.make(false, layout.maxField() / 2, 0), negativeOne = neg(type, one);
    Bits zero = 0, negativeZero = layout.signMask();
    for (Rounding r : allRoundings) {
      Bits expected = r == Rounding::Down ? negativeZero : zero;
      EXPECT_EQ(add(type, one, negativeOne, r), expected);
      EXPECT_EQ(sub(type, one, one, r), expected);
      EXPECT_EQ(add(type, zero, negativeZero, r), expected);
      EXPECT_EQ(add(type, zero, zero, r), zero);
      EXPECT_EQ(add(type, negativeZero, negativeZero, r), negativeZero);
      EXPECT_EQ(fma(type, one, one, negativeOne, r), expected);
      EXPECT_EQ(fma(type, zero, one, negativeZero, r), expected);
      EXPECT_EQ(fma(type, zero, negativeOne, negativeZero, r), negativeZero);
      EXPECT_EQ(mul(type, zero, negativeOne, r), negativeZero);
      EXPECT_EQ(div(type, negativeZero, one, r), negativeZero);
      EXPECT_EQ(sqrt(type, negativeZero, r), negativeZero);
    }
  }
}

TEST(OverflowTest, GoesWhereTheRoundingPoints) {
  for (ScalarType type : arithmeticTypes) {
    Layout layout(type);
    Bits largest = layout.make(false, layout.maxField() - 1, layout.fractionMask());
    Bits positive = infinity(type), negative = infinity(type, true);
    for (Rounding r : allRoundings) {
      bool up = r == Rounding::NearestEven || r == Rounding::Up;
      bool down = r == Rounding::NearestEven || r == Rounding::Down;
      EXPECT_EQ(add(type, largest, largest, r), up ? positive : largest);
      EXPECT_EQ(mul(type, largest, neg(type, largest), r), down ? negative : neg(type, largest));
      EXPECT_EQ(fma(type, largest, largest, largest, r), up ? positive : largest);
      // An infinite operand is not an overflow.
      EXPECT_EQ(add(type, positive, largest, r), positive);
    }
  }
}

constexpr std::array<Bits (*)(ScalarType, Bits, Bits, Rounding), 4> binaryOperations = {add, sub,
                                                                                        mul, div};

// Every operation, given any NaN encoding in any place, gives the one NaN; so do the invalid ones.
TEST(NaNTest, EveryOperationGivesTheOneNaN) {
  for (ScalarType type : arithmeticTypes) {
    Layout layout(type);
    Bits nan = canonicalNaN(type);
    EXPECT_EQ(nan, layout.signMask() - 1);
    Bits one = layout.make(false, layout.maxField() / 2, 0);
    for (Bits other : {one, Bits(0), infinity(type), nan})
      for (bool negative : {false, true})
        for (Bits fraction : {Bits(1), layout.fractionMask() / 2 + 1, layout.fractionMask() / 2,
                              layout.fractionMask() - 1, layout.fractionMask()}) {
          Bits a = layout.make(negative, layout.maxField(), fraction);
          ASSERT_TRUE(isNaN(type, a));
          EXPECT_EQ(canonical(type, a), nan);
          EXPECT_EQ(fromBitPattern(type, a), nan);
          EXPECT_EQ(toBitPattern(type, a), nan);
          for (Rounding r : allRoundings) {
            for (auto *operation : binaryOperations) {
              EXPECT_EQ(operation(type, a, other, r), nan);
              EXPECT_EQ(operation(type, other, a, r), nan);
            }
            EXPECT_EQ(fma(type, a, other, one, r), nan);
            EXPECT_EQ(fma(type, other, a, one, r), nan);
            EXPECT_EQ(fma(type, one, other, a, r), nan);
            EXPECT_EQ(sqrt(type, a, r), nan);
          }
          EXPECT_EQ(neg(type, a), nan);
          EXPECT_EQ(abs(type, a), nan);
          EXPECT_EQ(copysign(type, a, layout.signMask()), nan);
          EXPECT_EQ(maximum(type, a, other), nan);
          EXPECT_EQ(maximum(type, other, a), nan);
          EXPECT_EQ(minimum(type, a, other), nan);
          EXPECT_EQ(minimum(type, other, a), nan);
          EXPECT_EQ(maximumNumber(type, a, other), other);
          EXPECT_EQ(maximumNumber(type, other, a), other);
          EXPECT_EQ(minimumNumber(type, a, other), other);
          EXPECT_EQ(minimumNumber(type, other, a), other);
          for (ScalarType to : floatTypes)
            EXPECT_EQ(convert(type, to, a), canonicalNaN(to));
        }
    Bits inf = infinity(type), negativeInf = infinity(type, true);
    EXPECT_EQ(add(type, inf, negativeInf), nan);
    EXPECT_EQ(sub(type, inf, inf), nan);
    EXPECT_EQ(mul(type, 0, inf), nan);
    EXPECT_EQ(div(type, 0, 0), nan);
    EXPECT_EQ(div(type, inf, inf), nan);
    EXPECT_EQ(fma(type, 0, inf, one), nan);
    EXPECT_EQ(fma(type, inf, one, negativeInf), nan);
    EXPECT_EQ(sqrt(type, negativeInf), nan);
    EXPECT_EQ(sqrt(type, neg(type, one)), nan);
  }
}

// The inline templates and the dispatching functions are one thing.
template <class F> void compareWithTemplates() {
  Operands operands(F::type, seed + 4);
  for (int i = 0; i < 20000; ++i) {
    Bits a = operands.any(), b = operands.near(a, 5), c = operands.any();
    ASSERT_EQ(add<F>(a, b), add(F::type, a, b));
    ASSERT_EQ(sub<F>(a, b), sub(F::type, a, b));
    ASSERT_EQ(mul<F>(a, b), mul(F::type, a, b));
    ASSERT_EQ(div<F>(a, b), div(F::type, a, b));
    ASSERT_EQ(fma<F>(a, b, c), fma(F::type, a, b, c));
    ASSERT_EQ(sqrt<F>(a), sqrt(F::type, a));
    ASSERT_EQ((convert<F, F16>(a)), convert(F::type, ScalarType::F16, a));
  }
}

TEST(TemplateTest, GivesTheSameBitsAsDispatch) {
  compareWithTemplates<F16>();
  compareWithTemplates<BF16>();
  compareWithTemplates<F32>();
  compareWithTemplates<F64>();
}

// The operations can be evaluated by the compiler.
static_assert(add<F32>(0x3F800000, 0x3F800000) == 0x40000000);
static_assert(fma<F16>(0x3C01, 0x3C01, 0xBC02) == 0x0010);
static_assert(sqrt<F64>(0x4010000000000000) == 0x4000000000000000);

} // namespace
} // namespace h3::scalar
