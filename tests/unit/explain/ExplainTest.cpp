//===-- tests/unit/explain/ExplainTest.cpp - What explain finds -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/explain/Report.h"
#include "dsl/program/Analysis.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace h3 {
namespace {

struct Explained {
  Diagnostics errors;
  ModuleSet modules;
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<Explanation> all;

  explicit Explained(const std::string &text) {
    SpecSearch search;
    search.folders = {H3_SPEC_FOLDER};
    modules = loadModulesOfText("test.spec", text, search, errors);
    if (modules.complete() && checkModules(modules, errors))
      for (const ast::Operator *op : operators(modules))
        for (const TypeArguments &types : typeChoices(*op))
          if (std::unique_ptr<Program> program = analyze(modules, *op, types, errors))
            programs.push_back(std::move(program));
    EXPECT_EQ(errors.renderText(), "");
    for (const std::unique_ptr<Program> &program : programs)
      all.push_back(explain(*program));
  }

  /// "f32 fma, f32 add" of one section.
  std::string steps(size_t section = 0, size_t one = 0) const {
    std::string out;
    collect(all.at(0).cases.at(one).sections.at(section).items, out);
    return out;
  }
  static void collect(const std::vector<ExplainedItem> &items, std::string &out) {
    for (const ExplainedItem &item : items) {
      if (item.kind == ExplainedItem::Kind::Step)
        out += (out.empty() ? "" : ", ") + item.title;
      collect(item.items, out);
    }
  }
  std::string flops(size_t section = 0, size_t one = 0) const {
    return all.at(0).amounts.text(all.at(0).cases.at(one).sections.at(section).flopsPerRow);
  }
  std::string bytes(size_t section = 0) const {
    return all.at(0).amounts.text(all.at(0).cases.at(0).sections.at(section).bytesPerRow);
  }
};

std::string op(const std::string &value, const std::string &items = "") {
  return items + "op f { dim rows, n in x: f16[rows, n] out y: f16[rows, n]\n  y[r, i] = " + value +
         "\n}\n";
}

TEST(Explain, OnlyWhatRoundsIsAStep) {
  EXPECT_EQ(Explained(op("max(-x[r, i], abs(x[r, i]))")).steps(), "");
  EXPECT_EQ(Explained(op("f16(fma(f32(x[r, i]), 2.0, 1.0))")).steps(), "f32 fma, f16 round");
  EXPECT_EQ(Explained(op("f16(add.rm(sqrt(f32(x[r, i])), 1.0))")).steps(),
            "f32 sqrt, f32 add.rm, f16 round");
  EXPECT_EQ(Explained(op("f16(rsqrt.approx(f32(x[r, i])))")).steps(),
            "f32 rsqrt.approx, f16 round");
  EXPECT_EQ(Explained(op("f16(rsqrt.approx(f32(x[r, i])))")).all[0].approximations,
            std::vector<std::string>{"rsqrt.approx"});
}

TEST(Explain, AValueThatIsUsedTwiceIsOneStep) {
  EXPECT_EQ(
      Explained(op("twice(x[r, i])", "fn twice(a: f16) -> f16 { let b = a * a return b + b }\n"))
          .steps(),
      "f16 mul, f16 add");
}

TEST(Explain, WhatIsNotUsedIsNotListed) {
  EXPECT_EQ(
      Explained(op("g(x[r, i])", "fn g(a: f16) -> f16 { let b = a * a let c = a + a return c }\n"))
          .steps(),
      "f16 add");
}

TEST(Explain, ExactConversions) {
  EXPECT_TRUE(isExactConversion(ScalarType::F16, ScalarType::F32));
  EXPECT_TRUE(isExactConversion(ScalarType::E4M3, ScalarType::BF16));
  EXPECT_TRUE(isExactConversion(ScalarType::E5M2, ScalarType::F16));
  EXPECT_TRUE(isExactConversion(ScalarType::I32, ScalarType::F64));
  EXPECT_FALSE(isExactConversion(ScalarType::F16, ScalarType::BF16));
  EXPECT_FALSE(isExactConversion(ScalarType::BF16, ScalarType::F16));
  EXPECT_FALSE(isExactConversion(ScalarType::I32, ScalarType::F32));
  EXPECT_FALSE(isExactConversion(ScalarType::E5M2, ScalarType::E4M3));
}

const std::string norm = "use eager.norm\n"
                         "op f(eps: f32) { dim rows, n in x: f16[rows, n] out y: f16[rows, n]\n"
                         "  y[t] = norm.rms_norm(x[t], eps) }\n";

TEST(Explain, ConditionsOnSizesGiveCases) {
  Explained text(norm);
  ASSERT_EQ(text.all[0].cases.size(), 2u);
  EXPECT_EQ(text.all[0].cases[0].conditions,
            (std::vector<std::pair<std::string, bool>>{{"n % 4 == 0", true}}));
  EXPECT_EQ(text.steps(), "f32 round of i64, f32 fma, f32 add, f32 div, f32 add, f32 rsqrt.approx, "
                          "f32 mul, f16 round");
  // n fma, 127 joins, div, add and rsqrt, n mul.
  EXPECT_EQ(text.flops(), "3 * n + 130");
  EXPECT_EQ(text.bytes(), "4 * n");
}

TEST(Explain, TreesCountIdleSlots) {
  Explained text("use eager.norm\n"
                 "op f(eps: f32) { dim rows, n = 64 in x: f32[rows, n] out y: f32[rows, n]\n"
                 "  y[t] = norm.rms_norm(x[t], eps) }\n");
  ASSERT_EQ(text.all[0].cases.size(), 1u);
  ASSERT_EQ(text.all[0].cases[0].trees.size(), 1u);
  const ExplainedTree &tree = text.all[0].cases[0].trees[0];
  EXPECT_EQ(tree.slots.asNumber(), 128);
  EXPECT_EQ(tree.idle, 112);
  EXPECT_EQ(Explained(norm).all[0].cases[0].trees[0].idleText,
            "with fewer than 509 elements some slots are idle");
}

TEST(Explain, ChoicesOnAnIndexCountByTheirRanges) {
  Explained text("op f { dim rows, n = 10 in x: f32[rows, n] out y: f32[rows, n]\n"
                 "  y[r, i] = if i < 3 then x[r, i] * 2.0 + 1.0 else if i < 8 then x[r, i] * 3.0\n"
                 "    else x[r, i] }\n");
  EXPECT_EQ(text.flops(), "11");
  Explained data("op f { dim rows, n = 10 in x: f32[rows, n] out y: f32[rows, n]\n"
                 "  y[r, i] = if x[r, i] < 3.0 then x[r, i] * 2.0 + 1.0 else x[r, i] * 3.0 }\n");
  EXPECT_EQ(data.flops(), "20");
}

TEST(Explain, BytesCountEachElementOnceARow) {
  EXPECT_EQ(Explained("op f { dim rows, d in x: f16[rows, 2 * d] in w: f32[d] out y: f16[rows, d]\n"
                      "  y[r, i] = x[r, (0, i)] * x[r, (1, i)] + x[r, (0, i)] * f16(w[i]) }\n")
                .bytes(),
            "10 * d");
  Explained text("op f { dim b, t, n in x: f32[b, t, n] in s: f32[b, n] out y: f32[b, t, n]\n"
                 "  y[b0, t0, i] = x[b0, t0, i] * s[b0, i] }\n");
  EXPECT_EQ(text.all[0].cases[0].sections[0].reads.at(1).sharedBy, std::vector<std::string>{"t0"});
}

TEST(Explain, TextShowsDocumentationAndDifferences) {
  Explained text("// Doubles.\n// Twice.\nop f<T: f16 | bf16> { dim n in x: T[n] out y: T[n]\n"
                 "  y[i] = x[i] * 2.0 }\n");
  EXPECT_EQ(explainText(text.all), R"(f<T = f16>: ieee (IEEE operations only)
  Doubles.
  Twice.

contract
  dim n            extent 0 of x
  in  x: f16[n]  strides (any)
  out y: f16[n]  strides (any)
  any other overlap of an output with a tensor is declined

rounding steps, to nearest even unless the name says otherwise

y
  for each i: n
      1  f16 mul              x[i] * 2.0                                            test.spec:4

for each row
  y
    n flops
    reads x: 2 * n bytes
    writes y: 2 * n bytes
    4 * n bytes in all
  An fma counts 2 flops, + - * / sqrt and an approximation 1, all else 0; of a choice on
  data the costlier side. Each element of a tensor counts once a row.

f<T = bf16>: ieee (IEEE operations only)
  as with T = f16, except
  in  x: bf16[n]  strides (any)
  out y: bf16[n]  strides (any)
      1  bf16 mul             x[i] * 2.0                                            test.spec:4
)");
}

TEST(Explain, JsonHasItsMembers) {
  Explained text(norm);
  nlohmann::json json = nlohmann::json::parse(explainJson(text.all));
  EXPECT_EQ(json.at("name"), "f");
  const nlohmann::json &instance = json.at("instances").at(0);
  EXPECT_EQ(instance.at("class"), "approx");
  EXPECT_EQ(instance.at("contract").at("tensors").at(0).at("extents").at(1), "n");
  const nlohmann::json &first = instance.at("cases").at(0);
  EXPECT_EQ(first.at("when").at(0).at("condition"), "n % 4 == 0");
  EXPECT_EQ(first.at("sections").at(0).at("flops_per_row").at("text"), "3 * n + 130");
  EXPECT_TRUE(first.at("sections").at(0).at("flops_per_row").at("value").is_null());
  EXPECT_EQ(first.at("trees").at(0).at("slots").at("value"), 128);
  EXPECT_EQ(first.at("trees").at(0).at("form"), "from");
}

TEST(Explain, XmlIsEscaped) {
  EXPECT_EQ(escapeXml("a < b & \"c\"\x01\xFF"),
            "a &lt; b &amp; &quot;c&quot;\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Explain, AmountsAddUp) {
  Program program;
  program.dims.push_back({"n", {}, nullptr, {}, {}});
  AmountTable table(program);
  Size dim{Size::Kind::Dim};
  Amount n = table.of(dim);
  EXPECT_EQ(table.text(n * n * Amount::of(2) + n + Amount::of(3)), "2 * n * n + n + 3");
  EXPECT_EQ(table.text(n - n), "0");
  EXPECT_EQ(table.text(table.ceilDiv(n, 8) * Amount::of(2)), "2 * ceil(n / 8)");
  EXPECT_EQ(table.text(atLeastBoth(n, n + Amount::of(1))), "n + 1");
  EXPECT_EQ(table.text(Amount::of(INT64_MAX) + Amount::of(1)), "too large");
}

} // namespace
} // namespace h3
