//===-- tests/unit/program/LiteralsTest.cpp - Literals and their types ----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/program/AnalysedText.h"

#include <gtest/gtest.h>

namespace h3::test {
namespace {

std::string value(const std::string &expr, const std::string &type = "f32",
                  const std::string &result = "f32") {
  return firstValue(AnalysedText(elementwise("y[r, i] = " + expr, type, result)));
}

std::string message(const std::string &expr, const std::string &type = "f32",
                    const std::string &result = "f32") {
  return AnalysedText(elementwise("y[r, i] = " + expr, type, result)).message();
}

std::string hint(const std::string &expr, const std::string &type = "f32",
                 const std::string &result = "f32") {
  AnalysedText text(elementwise("y[r, i] = " + expr, type, result));
  return text.diagnostics.all().empty() ? "" : text.diagnostics.all().front().hint;
}

TEST(Literals, TakeTheTypeOfTheOtherOperand) {
  EXPECT_EQ(value("x[r, i] * 0.1"), "*(x[r.0, i.1], 0.1:f32)");
  EXPECT_EQ(value("0.5 + x[r, i]", "f16", "f16"), "+(0.5:f16, x[r.0, i.1])");
  EXPECT_EQ(value("x[r, i] + 3", "i32", "i32"), "+(x[r.0, i.1], 3:i32)");
  EXPECT_EQ(value("fma(2.0, x[r, i], -1.0)"), "fma(2:f32, x[r.0, i.1], -1:f32)");
  EXPECT_EQ(value("if x[r, i] == -inf then 0.0 else x[r, i]"),
            "if(==(x[r.0, i.1], -inf:f32), 0:f32, x[r.0, i.1])");
  EXPECT_EQ(value("1.0 + 2.0 + x[r, i]"), "+(3:f32, x[r.0, i.1])");
  EXPECT_EQ(value("x[r, i] + (1.0 + 2.0)"), "+(x[r.0, i.1], 3:f32)");
}

TEST(Literals, TakeTheTypeOfContext) {
  EXPECT_EQ(value("1.0", "f32", "bf16"), "1:bf16");
  EXPECT_EQ(value("if i < n / 2 then 1.0 else -1.0", "f32", "f64"),
            "if(<(i.1, size(n / 2)), 1:f64, -1:f64)");
  EXPECT_EQ(value("if i == 0 then 0.0 else if i == 1 then x[r, i] else nan"),
            "if(==(i.1, 0:i64), 0:f32, if(==(i.1, 1:i64), x[r.0, i.1], nan:f32))");
  EXPECT_EQ(firstValue(AnalysedText(elementwise("y[r] = [i: n] 0.25", "f32", "f16"))),
            "[i.1: n] 0.25:f16");
  EXPECT_EQ(firstValue(AnalysedText(elementwise("let c: f32 = 1e-5\n  y[r, i] = x[r, i] * c"))),
            "*(x[r.0, i.1], 1e-5:f32)");
}

TEST(Literals, AloneAreComputedOperationByOperationInTheType) {
  // 1 + 2^-11 rounds to 1 in f16, so the sum of three is 1; in f64 nothing is lost.
  EXPECT_EQ(value("1.0 + 0.00048828125 + 0.00048828125", "f32", "f16"), "1:f16");
  EXPECT_EQ(value("1.0 + 0.00048828125 + 0.00048828125", "f32", "f64"), "1.0009765625:f64");
  EXPECT_EQ(value("1.0 / 3.0"), "0.33333334:f32");
  EXPECT_EQ(value("sqrt(2.0)"), "sqrt(2:f32)");
  EXPECT_EQ(value("2147483647 + 1", "f32", "i32"), "-2147483648:i32");
}

TEST(Literals, SignsAndSpecialValues) {
  EXPECT_EQ(value("-0.0"), "-0:f32");
  EXPECT_EQ(value("-nan"), "nan:f32");
  EXPECT_EQ(value("-2147483648", "f32", "i32"), "-2147483648:i32");
  EXPECT_EQ(value("-1.5", "f32", "e4m3"), "-1.5:e4m3");
  EXPECT_EQ(value("-inf", "f32", "e5m2"), "-inf:e5m2");
  EXPECT_EQ(message("inf", "f32", "e4m3"), "e4m3 has no infinity");
  EXPECT_EQ(message("-2147483649", "f32", "i32"), "`-2147483649` does not fit i32");
}

TEST(Literals, MustBeExactInShortTypes) {
  EXPECT_EQ(message("x[r, i] * 0.1", "f16", "f16"), "`0.1` is not exact in f16");
  EXPECT_EQ(hint("x[r, i] * 0.1", "f16", "f16"),
            "compute in f32 and round once: `f16(f32(x[r, i]) * 0.1)`");
  EXPECT_EQ(hint("0.1 - x[r, i]", "bf16", "bf16"),
            "compute in f32 and round once: `bf16(0.1 - f32(x[r, i]))`");
  EXPECT_EQ(message("448.0", "f32", "e4m3"), "");
  EXPECT_EQ(message("449.0", "f32", "e4m3"), "`449.0` is not exact in e4m3");
  EXPECT_EQ(message("1e-60", "f32", "f16"), "`1e-60` is not exact in f16");
  EXPECT_EQ(message("x[r, i] * 2048.0", "f16", "f16"), "");
  EXPECT_EQ(message("x[r, i] * 2049.0", "f16", "f16"), "`2049.0` is not exact in f16");
  EXPECT_EQ(message("x[r, i] * 70000.0", "f16", "f16"), "`70000.0` is too large for f16");
}

TEST(Literals, InF32AreRoundedAsThroughF64) {
  EXPECT_EQ(value("x[r, i] * 1e-5"), "*(x[r.0, i.1], 1e-5:f32)");
  // A little above the middle between 1 and the next f32: through f64 it falls on the middle.
  EXPECT_EQ(message("x[r, i] * 1.000000059604644775390626"),
            "`1.000000059604644775390626` rounds to one f32 directly and to another through f64");
  EXPECT_EQ(hint("x[r, i] * 1.000000059604644775390626"),
            "write the one that is meant by its bits: `f32.bits(0x3F800001)` is the direct one");
  EXPECT_EQ(value("x[r, i] * f32.bits(0x3F800001)"), "*(x[r.0, i.1], 1.0000001:f32)");
}

TEST(Literals, IntegerAndFloatAreNeverOneForTheOther) {
  EXPECT_EQ(message("x[r, i] + 1"), "`1` is an integer, and f32 is needed here");
  EXPECT_EQ(hint("x[r, i] + 1"), "write `1.0`");
  EXPECT_EQ(message("x[r, i] + 1.0", "i32", "i32"), "`1.0` is a float, and i32 is needed here");
  EXPECT_EQ(message("x[r, i] + 0x10"),
            "`0x10` is a bit pattern of i32 or i64, and f32 is needed here");
  EXPECT_EQ(value("x[r, i] + 0xFFFFFFFF", "i32", "i32"), "+(x[r.0, i.1], -1:i32)");
  EXPECT_EQ(message("x[r, i] + 0x1FFFFFFFF", "i32", "i32"), "`0x1FFFFFFFF` has more bits than i32");
}

TEST(Literals, WithoutContextAreErrors) {
  EXPECT_EQ(message("if 1.0 < 2.0 then x[r, i] else 0.0"), "the type of `1.0` is not known here");
  EXPECT_EQ(AnalysedText(elementwise("let c = 2.0\n  y[r, i] = x[r, i] * c")).message(),
            "the type of `2.0` is not known here");
}

TEST(Literals, AConversionNamesTheType) {
  EXPECT_EQ(firstValue(AnalysedText(elementwise("let c = f32(2.0)\n  y[r, i] = x[r, i] * c"))),
            "*(x[r.0, i.1], 2:f32)");
  EXPECT_EQ(message("x[r, i] * f16(0.1)", "f16", "f16"), "`0.1` is not exact in f16");
}

} // namespace
} // namespace h3::test
