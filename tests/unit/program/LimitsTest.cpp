//===-- tests/unit/program/LimitsTest.cpp - Specs that are too large ------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "tests/unit/program/AnalysedText.h"

#include <gtest/gtest.h>

namespace h3::test {
namespace {

std::string repeated(const std::string &text, unsigned count) {
  std::string all;
  for (unsigned i = 0; i < count; ++i)
    all += text;
  return all;
}

std::string nested(const std::string &before, const std::string &middle, const std::string &after,
                   unsigned count) {
  return repeated(before, count) + middle + repeated(after, count);
}

TEST(Limits, LongChainsAreAccepted) {
  EXPECT_EQ(AnalysedText(elementwise("y[r, i] = x[r, i]" + repeated(" + x[r, i]", 900))).errors(),
            "");
  EXPECT_EQ(AnalysedText(elementwise("y[r, i] = 1.0" + repeated(" + 1.0", 900))).errors(), "");
  EXPECT_EQ(AnalysedText(
                elementwise("y[r, i] = " + repeated("if i == 3 then 0.0 else ", 900) + "x[r, i]"))
                .errors(),
            "");
  EXPECT_EQ(AnalysedText(elementwise("y[r, i] = if i >= 0" + repeated(" and i < n", 900) +
                                     " then x[r, i] else 0.0"))
                .errors(),
            "");
}

TEST(Limits, DeepExpressionsAreAccepted) {
  EXPECT_EQ(AnalysedText(elementwise("y[r, i] = " + nested("sqrt(", "x[r, i]", ")", 190))).errors(),
            "");
  EXPECT_EQ(AnalysedText(elementwise("y[r, i] = " + nested("-(", "x[r, i]", ")", 90))).errors(),
            "");
}

std::string callChain(unsigned count) {
  std::string items = "fn g0(x: f32) -> f32 = x + 1.0\n";
  for (unsigned i = 1; i <= count; ++i)
    items += "fn g" + std::to_string(i) + "(x: f32) -> f32 = g" + std::to_string(i - 1) + "(x)\n";
  return elementwise("y[r, i] = g" + std::to_string(count) + "(x[r, i])", "f32", "f32", items);
}

TEST(Limits, ChainsOfCalls) {
  EXPECT_EQ(AnalysedText(callChain(300)).errors(), "");
  EXPECT_EQ(AnalysedText(callChain(5000)).message(),
            "calls and expressions nest more than 600 deep here");
}

TEST(Limits, DeepExpressionsInDeepCalls) {
  std::string items = "fn g0(x: f32) -> f32 = x + 1.0\n";
  for (unsigned i = 1; i <= 10; ++i)
    items += "fn g" + std::to_string(i) +
             "(x: f32) -> f32 = " + nested("sqrt(", "g" + std::to_string(i - 1) + "(x)", ")", 180) +
             "\n";
  EXPECT_EQ(AnalysedText(elementwise("y[r, i] = g10(x[r, i])", "f32", "f32", items)).message(),
            "calls and expressions nest more than 600 deep here");
}

TEST(Limits, ExpansionEnds) {
  std::string items = "fn g0(x: f32) -> f32 = x + 1.0\n";
  for (unsigned i = 1; i <= 60; ++i) {
    std::string inner = "g" + std::to_string(i - 1);
    items += "fn g" + std::to_string(i) + "(x: f32) -> f32 = " + inner + "(x) * " + inner + "(x)\n";
  }
  EXPECT_EQ(AnalysedText(elementwise("y[r, i] = g60(x[r, i])", "f32", "f32", items)).message(),
            "the operator is too large: it expands to more than 500000 operations or 200000 calls");
  // Errors inside must not make it run for ever.
  size_t at = items.find("x + 1.0");
  items.replace(at, 7, "x + z");
  AnalysedText text(elementwise("y[r, i] = g60(x[r, i])", "f32", "f32", items));
  EXPECT_EQ(text.message(), "unknown name `z`");
}

/// Names that stand for more and more of themselves: what they mean is found once for each.
TEST(Limits, DoublingNames) {
  std::string body = "for r: rows {\n  let a0 = r + 1\n";
  for (unsigned i = 1; i <= 60; ++i) {
    std::string before = "a" + std::to_string(i - 1);
    body += "  let a" + std::to_string(i) + " = " + before + " + " + before + "\n";
  }
  EXPECT_EQ(AnalysedText(elementwise(body + "  y[r, i] = x[r, i] * f32(a60)\n}")).errors(), "");
  std::string conditions = "y[r] = [i: n] g(x[r], i)";
  std::string items = "fn g(x: f32[n], i: i64) -> f32 {\n  let b0 = i > 2\n";
  for (unsigned i = 1; i <= 60; ++i) {
    std::string before = "b" + std::to_string(i - 1);
    items += "  let b" + std::to_string(i) + " = " + before + " and " + before + "\n";
  }
  items += "  return if b60 then 1.0 else 0.0\n}\n";
  EXPECT_EQ(AnalysedText(elementwise(conditions, "f32", "f32", items)).errors(), "");
}

TEST(Limits, LargeSizes) {
  EXPECT_EQ(
      AnalysedText(elementwise("let s = n * 9223372036854775807 * 2\n  y[r, i] = 1.0")).message(),
      "this size is too large to be handled: its numbers leave 64 bits, or it has more than 64 "
      "terms or 16 factors");
  EXPECT_NE(AnalysedText(elementwise("let s = " + nested("(n + rows) * ", "n", "", 40) +
                                     "\n  y[r, i] = f32(s)"))
                .message(),
            "");
}

TEST(Limits, ManyChoicesOfTypes) {
  std::string types = ": f16 | bf16 | f32 | f64 | e4m3 | e5m2 | i32 | i64";
  EXPECT_EQ(AnalysedText("op f<A" + types + ", B" + types + ", C" + types +
                         "> { dim n in x: A[n] out y: A[n] y[i] = x[i] }")
                .message(),
            "operator `f` has more than 256 choices of types");
}

TEST(Limits, OrdersAreBounded) {
  EXPECT_EQ(
      AnalysedText("order o = (_, a: 2048, b: 1024) then halving a then halving b").message(),
      "the radices of an order multiply to at most 2147483647, those of its named digits to at "
      "most 1048576");
}

} // namespace
} // namespace h3::test
