//===-- tests/unit/interpreter/ConversionsTest.cpp - Roundings as a spec writes them -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Directed roundings, conversions to 8 bits, shifts and bit patterns through the whole front end,
// on numbers whose results can be said without computing.
//
//===----------------------------------------------------------------------===//

#include "SpecCall.h"

#include <gtest/gtest.h>

using namespace h3;
using namespace h3::test;

namespace {

/// `y[i] = VALUE` for one element x of type \p from.
Bits value(const std::string &expr, const std::string &from, Bits x, const std::string &to) {
  Spec spec("op o { dim n in x: " + from + "[n] out y: " + to + "[n] y[i] = " + expr + " }");
  SpecCall call(spec, {{"n", 1}});
  call.fill("x", {x});
  call.run();
  return call.get("y")[0];
}

TEST(Conversions, EightBitFloats) {
  struct Case {
    const char *expr;
    const char *x, *type;
    Bits expected;
  };
  for (const Case &c : {Case{"e4m3(x[i])", "448.0", "e4m3", 0x7E},
                        {"e4m3(x[i])", "464.0", "e4m3", 0x7E},
                        {"e4m3(x[i])", "480.0", "e4m3", 0x7F},
                        {"e4m3.sat(x[i])", "480.0", "e4m3", 0x7E},
                        {"e4m3.sat(-x[i])", "1e30", "e4m3", 0xFE},
                        {"e4m3.rz(x[i])", "480.0", "e4m3", 0x7E},
                        {"e4m3(x[i])", "1.0625", "e4m3", 0x38},
                        {"e4m3(x[i])", "1.1875", "e4m3", 0x3A},
                        {"e4m3.rz(x[i])", "1.1875", "e4m3", 0x39},
                        {"e5m2(x[i])", "70000.0", "e5m2", 0x7C},
                        {"e5m2.sat(x[i])", "70000.0", "e5m2", 0x7B},
                        {"e5m2.rz(x[i])", "70000.0", "e5m2", 0x7B}})
    EXPECT_EQ(value(c.expr, "f32", f32(c.x), c.type), c.expected) << c.expr << " of " << c.x;
  EXPECT_EQ(value("e4m3.sat(x[i])", "f32", 0xFFC00001, "e4m3"), 0x7Fu) << "NaN stays NaN";
  EXPECT_EQ(value("e4m3.sat(x[i])", "f32", 0x7F800000, "e4m3"), 0x7Eu);
  EXPECT_EQ(value("e4m3(x[i])", "f32", 0x7F800000, "e4m3"), 0x7Fu) << "there is no infinity";
  EXPECT_EQ(value("f16(x[i])", "e5m2", 0x7C, "f16"), 0x7C00u);
  EXPECT_EQ(value("f32(x[i])", "e4m3", 0x7E, "f32"), f32("448.0"));
}

TEST(Conversions, DirectedRoundings) {
  EXPECT_EQ(value("f16(x[i])", "f32", f32("65535.0"), "f16"), 0x7C00u);
  EXPECT_EQ(value("f16.rz(x[i])", "f32", f32("65535.0"), "f16"), 0x7BFFu);
  const char *tiny = "9.313225746154785e-10"; // 2^-30
  EXPECT_EQ(value("add.rm(x[i], 1.0)", "f32", f32(tiny), "f32"), 0x3F800000u);
  EXPECT_EQ(value("add.rp(x[i], 1.0)", "f32", f32(tiny), "f32"), 0x3F800001u);
  EXPECT_EQ(value("sub.rz(x[i], 1.0)", "f32", f32(tiny), "f32"), 0xBF7FFFFFu);
  EXPECT_EQ(value("sub.rm(x[i], 1.0)", "f32", f32(tiny), "f32"), 0xBF800000u);
  EXPECT_EQ(value("div.rm(1.0, x[i])", "f32", f32("3.0"), "f32"), 0x3EAAAAAAu);
  EXPECT_EQ(value("div.rp(1.0, x[i])", "f32", f32("3.0"), "f32"), 0x3EAAAAABu);
  EXPECT_EQ(value("sqrt.rz(x[i])", "f32", f32("2.0"), "f32"), 0x3FB504F3u);
  EXPECT_EQ(value("sqrt.rp(x[i])", "f32", f32("2.0"), "f32"), 0x3FB504F4u);
  EXPECT_EQ(value("fma.rp(x[i], 1.0, 1.0)", "f32", f32(tiny), "f32"), 0x3F800001u);
  EXPECT_EQ(value("fma.rz(x[i], 1.0, 1.0)", "f32", f32(tiny), "f32"), 0x3F800000u);
  EXPECT_EQ(value("mul.rp(x[i], x[i])", "f32", 0x3F800001, "f32"), 0x3F800003u);
  EXPECT_EQ(value("mul.rm(x[i], x[i])", "f32", 0x3F800001, "f32"), 0x3F800002u);
}

TEST(Conversions, IntegersShiftAndWrap) {
  EXPECT_EQ(value("shl(x[i], 32)", "i32", 1, "i32"), 0u);
  EXPECT_EQ(value("shr(x[i], 99)", "i32", 0x80000000, "i32"), 0xFFFFFFFFu);
  EXPECT_EQ(value("shr(x[i], 4)", "i32", 0xFFFFFF00, "i32"), 0xFFFFFFF0u);
  EXPECT_EQ(value("shl(x[i], -1)", "i32", 1, "i32"), 0u);
  EXPECT_EQ(value("x[i] * x[i] - x[i]", "i32", 0x10000, "i32"), 0xFFFF0000u);
  EXPECT_EQ(value("i32(x[i])", "i64", 0x123456789, "i32"), 0x23456789u);
  EXPECT_EQ(value("i64(x[i])", "i32", 0xFFFFFFFE, "i64"), 0xFFFFFFFFFFFFFFFEu);
  EXPECT_EQ(value("f16.bits(x[i])", "i32", 0x12343C00, "f16"), 0x3C00u) << "the low half";
  EXPECT_EQ(value("i32.bits(x[i])", "bf16", 0xBF80, "i32"), 0xBF80u) << "the upper half is 0";
  EXPECT_EQ(value("f64.bits(i64.bits(x[i]))", "f64", 0x3FF0000000000001, "f64"),
            0x3FF0000000000001u);
  EXPECT_EQ(value("f32(x[i])", "i64", 0x1000001, "f32"), f32("16777216.0")) << "rounded once";
}

} // namespace
