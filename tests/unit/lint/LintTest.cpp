//===-- tests/unit/lint/LintTest.cpp - Each lint rule, for and against ----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/lint/Lint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace h3 {
namespace {

struct Linted {
  Diagnostics errors, warnings;
  ModuleSet modules;

  explicit Linted(const std::string &text) {
    SpecSearch search;
    search.folders = {H3_SPEC_FOLDER};
    modules = loadModulesOfText("test.spec", text, search, errors);
    if (!modules.complete() || !checkModules(modules, errors))
      return;
    std::vector<std::unique_ptr<Program>> programs;
    for (const ast::Operator *op : operators(modules))
      for (const TypeArguments &types : typeChoices(*op))
        if (std::unique_ptr<Program> program = analyze(modules, *op, types, errors))
          programs.push_back(std::move(program));
    Diagnostics ignored;
    std::vector<Order> known;
    SpecSearch library;
    library.folders = {H3_SPEC_FOLDER};
    ModuleSet norms = loadModulesOfText("norms", "use eager.norm\n", library, ignored);
    for (const Module &module : norms.modules)
      for (const ast::Order &order : module.file->orders)
        known.push_back(*analyzeOrder(order, ignored));
    lint(modules, programs, known, warnings);
  }

  /// The rules of all warnings, with commas; an error fails the test.
  std::string rules() const {
    EXPECT_EQ(errors.renderText(), "");
    std::string text;
    for (const Diagnostic &warning : warnings.all())
      text += (text.empty() ? "" : ",") + warning.rule;
    return text;
  }
};

std::string op(const std::string &value, const std::string &type = "f32",
               const std::string &result = "f32") {
  return "op f { dim n in x: " + type + "[n] out y: " + result + "[n]\n  y[i] = " + value + "\n}\n";
}
std::string rules(const std::string &value, const std::string &type = "f32",
                  const std::string &result = "f32") {
  return Linted(op(value, type, result)).rules();
}

std::string sum(const std::string &order, const std::string &step, const std::string &n = "n") {
  return "use eager.norm\n" + order + "\nop f { dim rows, n in x: f32[rows, " + n +
         "] out y: f32[rows]\n  y[r] = reduce i: " + n +
         " by tree from s: f32 = 0.0 step s = " + step + " join (a, b) = a + b }\n";
}
const std::string row = "order tree = (_, w: 4, l: 32, _: 4) then halving l then halving w";
const std::string sums = "order tree = (_, l: 32, a: 4) then serial a then halving l";

TEST(Lint, F32Chain) {
  EXPECT_EQ(rules("f16(f32(x[i]) * f32(x[i]) + 1.0)", "f16", "f16"), "f32-chain");
  EXPECT_EQ(rules("x[i] * x[i] + 1.0", "f16", "f16"), "");
  EXPECT_EQ(rules("f16(f32(x[i]) * 3.0)", "f16", "f16"), "") << "one operation";
  EXPECT_EQ(Linted("op f { dim n in x: f16[n] in w: f32[n] out y: f16[n]\n"
                   "y[i] = f16(f32(x[i]) * w[i] + 1.0) }")
                .rules(),
            "")
      << "an f32 tensor makes the reference f32";
}

TEST(Lint, SquareSum) {
  auto one = [](const std::string &order, const std::string &step) {
    std::string text = sum(order, step);
    text.erase(0, text.find('\n') + 1);
    return Linted(text).rules();
  };
  EXPECT_EQ(one(row, "s + x[r, i] * x[r, i]"), "square-sum");
  EXPECT_EQ(one(row, "fma(x[r, i], x[r, i], s)"), "");
  EXPECT_EQ(one(sums, "fma(x[r, i], x[r, i], s)"), "square-sum");
  EXPECT_EQ(one(sums, "s + x[r, i] * x[r, i]"), "");
}

TEST(Lint, UnknownOrder) {
  auto one = [](const std::string &order, const std::string &n = "n") {
    std::string text = sum(order, "s + x[r, i]", n);
    text.erase(0, text.find('\n') + 1);
    return Linted(n == "n" ? text : text.replace(text.find("rows, n"), 7, "rows")).rules();
  };
  EXPECT_EQ(one("order tree = (_, l: 16) then halving l"), "unknown-order");
  EXPECT_EQ(one("order tree = (_, q: 4, p: 32, _: 4) then halving p then halving q"), "");
  // The tree of 16 lanes of 4 is row_vec4's at 64 elements, by lemma A, and at no other extent.
  EXPECT_EQ(one("order tree = (lane: 16, _: 4) then halving lane", "64"), "");
  EXPECT_EQ(one("order tree = (lane: 16, _: 4) then halving lane", "60"), "");
  EXPECT_EQ(one("order tree = (lane: 16, _: 4) then adjacent lane", "64"), "unknown-order");
}

TEST(Lint, Conversions) {
  EXPECT_EQ(rules("f32(x[i]) + 1.0"), "pointless-conversion");
  EXPECT_EQ(rules("f16(f32(x[i]))", "f16", "f16"), "pointless-conversion");
  EXPECT_EQ(rules("f32(f16(x[i]))"), "") << "it rounds";
  EXPECT_EQ(
      Linted("op f<T: f16 | f32> { dim n in x: T[n] out y: f32[n] y[i] = f32(x[i]) }").rules(), "")
      << "generic code needs it";
  EXPECT_EQ(rules("f16(f32(x[i]))", "f64", "f16"), "double-rounding");
  EXPECT_EQ(rules("f16(x[i])", "f64", "f16"), "");
}

TEST(Lint, Arithmetic) {
  EXPECT_EQ(rules("x[i] + 1.0", "f64", "f64"), "f64-arithmetic");
  EXPECT_EQ(rules("f32(x[i])", "f64"), "");
  EXPECT_EQ(rules("fma(x[i], x[i], 1.0)", "bf16", "bf16"), "half-fma");
  EXPECT_EQ(rules("fma(x[i], x[i], 1.0)"), "");
  EXPECT_EQ(rules("0.0 - x[i]"), "zero-minus");
  EXPECT_EQ(rules("-x[i]"), "");
  EXPECT_EQ(rules("x[i] - 0.0"), "");
  EXPECT_EQ(rules("x[i] / 448.0"), "division-by-literal");
  EXPECT_EQ(rules("x[i] / 64.0"), "");
  EXPECT_EQ(rules("x[i] / f32(n)"), "");
  EXPECT_EQ(rules("1.0 / sqrt(x[i])"), "reciprocal-sqrt");
  EXPECT_EQ(rules("2.0 / sqrt(x[i])"), "");
  EXPECT_EQ(rules("if x[i] == nan then 0.0 else x[i]"), "nan-comparison");
  EXPECT_EQ(rules("if x[i] == inf then 0.0 else x[i]"), "");
  EXPECT_EQ(rules("max.num(x[i], 0.0)"), "nan-loses");
  EXPECT_EQ(rules("max(x[i], 0.0)"), "");
  EXPECT_EQ(rules("min.num(max.num(x[i], 0.0), 1.0)"), "") << "this is .sat";
}

TEST(Lint, Unused) {
  auto one = [](const std::string &head, const std::string &body) {
    return Linted(head + " { dim n in x: f32[n] " + body + " out y: f32[n] y[i] = x[i] }");
  };
  EXPECT_EQ(one("op f", "").rules(), "");
  EXPECT_EQ(one("op f(e: f32)", "").warnings.all().at(0).message, "parameter `e` is not used");
  EXPECT_EQ(one("op f", "in z: f32[n]").warnings.all().at(0).message, "input `z` is not used");
  EXPECT_EQ(Linted("op f { dim n, d = 4 in x: f32[n] out y: f32[n] y[i] = x[i] }").rules(),
            "unused");
  EXPECT_EQ(Linted("op f { dim n in x: f32[n] out y: f32[n] let v = x[0] * 2.0\n require n > 0 }")
                .errors.empty(),
            false);
  EXPECT_EQ(Linted("op f { dim n require n >= 1 in x: f32[n] out y: f32[n]\n"
                   "let v = x[0] * 2.0\n y[i] = x[i] }")
                .rules(),
            "unused");
  EXPECT_EQ(Linted("use eager.norm\n" + op("x[i]")).rules(), "unused");
  EXPECT_EQ(Linted("fn g(a: f32, b: f32) -> f32 = a\n" + op("g(x[i], 1.0)")).rules(), "unused");
  EXPECT_EQ(Linted("fn g(a: f32) -> f32 = a\n" + op("x[i]")).rules(), "unused");
  EXPECT_EQ(Linted("fn g(a: f32) -> f32 = a\n").rules(), "")
      << "a library's functions are for others";
}

TEST(Lint, AllowComments) {
  EXPECT_EQ(Linted("op f { dim n in x: f32[n] out y: f32[n]\n"
                   "  // lint: allow zero-minus the reference subtracts\n"
                   "  // another comment\n"
                   "  y[i] = 0.0 - x[i] }")
                .rules(),
            "");
  EXPECT_EQ(rules("0.0 - x[i] // lint: allow zero-minus as the reference"), "");
  EXPECT_EQ(rules("0.0 - x[i] // lint: allow zero-minus"), "zero-minus,lint-comment");
  EXPECT_EQ(rules("0.0 - x[i] // lint: allow unused why"), "zero-minus,lint-comment");
  EXPECT_EQ(rules("x[i] // lint: allow zero-plus why"), "lint-comment");
  EXPECT_EQ(rules("x[i] // lint: ignore this"), "lint-comment");
}

TEST(Lint, WarningsSayWhereAndHow) {
  Linted text(op("0.0 - x[i]"));
  EXPECT_EQ(text.warnings.renderText(),
            "test.spec:2:10: warning: `0.0 - x[i]` is +0 for 0.0, where `-x` is -0 [zero-minus]\n"
            "  y[i] = 0.0 - x[i]\n"
            "         ^~~~~~~~~~\n"
            "  hint: write `-x` to change the sign\n");
  EXPECT_NE(text.warnings.renderJson().find("\"rule\": \"zero-minus\""), std::string::npos);
}

TEST(Lint, EveryRuleHasANameAndAText) {
  std::set<std::string_view> names;
  for (const LintRule &rule : lintRules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_FALSE(rule.what.empty());
  }
}

} // namespace
} // namespace h3
