//===-- tests/unit/program/SpecTextsTest.cpp - The spec texts of the language -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dsl/program/Dump.h"
#include "tests/unit/program/AnalysedText.h"

#include <gtest/gtest.h>

namespace h3 {
namespace {

/// Loads a file, analyses all its operators for all types, and counts them; errors fail the test.
unsigned analyseAll(const std::string &path) {
  SpecSearch search;
  search.folders = {H3_SPEC_FOLDER};
  Diagnostics diagnostics;
  ModuleSet modules = loadModules(path, search, diagnostics);
  unsigned count = 0;
  if (modules.complete() && checkModules(modules, diagnostics))
    for (const ast::Operator *op : operators(modules))
      for (const TypeArguments &types : typeChoices(*op)) {
        std::unique_ptr<Program> program = analyze(modules, *op, types, diagnostics);
        EXPECT_TRUE(program) << op->name.text;
        count += program != nullptr;
      }
  EXPECT_EQ(diagnostics.renderText(), "") << path;
  return count;
}

std::unique_ptr<Program> analyseOne(const std::string &path, std::string_view name,
                                    const TypeArguments &types = {}) {
  SpecSearch search;
  search.folders = {H3_SPEC_FOLDER};
  Diagnostics diagnostics;
  ModuleSet modules = loadModules(path, search, diagnostics);
  std::unique_ptr<Program> program;
  if (modules.complete() && checkModules(modules, diagnostics))
    if (const ast::Operator *op = findOperator(modules, name, diagnostics))
      program = analyze(modules, *op, types, diagnostics);
  EXPECT_EQ(diagnostics.renderText(), "") << path;
  return program;
}

std::string body(const Program &program) {
  std::string text = dump(program);
  size_t at = text.rfind("\n  out ");
  return text.substr(text.find('\n', at + 1) + 1);
}

TEST(SpecTexts, OfTheDocumentationAreAccepted) {
  EXPECT_EQ(analyseAll(H3_TEST_SPECS "/norms.spec"), 18u);
  EXPECT_EQ(analyseAll(H3_TEST_SPECS "/residuals.spec"), 4u);
  EXPECT_EQ(analyseAll(H3_TEST_SPECS "/softmax.spec"), 2u);
  EXPECT_EQ(analyseAll(H3_TEST_SPECS "/modulate.spec"), 4u);
  EXPECT_EQ(analyseAll(H3_TEST_SPECS "/gates.spec"), 7u);
  EXPECT_EQ(analyseAll(H3_TEST_SPECS "/wan_norm_rope.spec"), 1u);
  EXPECT_EQ(analyseAll(H3_TEST_SPECS "/casts.spec"), 4u);
}

TEST(SpecTexts, ShippedSpecsAreAccepted) {
  EXPECT_EQ(analyseAll(H3_SPEC_FOLDER "/qk_norm_rope.spec"), 1u);
  EXPECT_EQ(analyseAll(H3_SPEC_FOLDER "/swiglu.spec"), 2u);
  EXPECT_EQ(analyseAll(H3_SPEC_FOLDER "/scaled_residual.spec"), 2u);
}

TEST(SpecTexts, ScaledResidual) {
  std::unique_ptr<Program> program = analyseOne(H3_SPEC_FOLDER "/scaled_residual.spec",
                                                "scaled_residual", {{"R", ScalarType::F32}});
  ASSERT_TRUE(program);
  EXPECT_EQ(dump(*program), R"(op scaled_residual
  type R = f32
  class ieee
  dim rows from residual axis 0
  dim d from residual axis 1
  in residual: f32[rows, d] strides(_, _) align(1)
  in branch: f16[rows, d] strides(_, _) align(1)
  in scale: f32[d] strides(_) align(1)
  out h: f32[rows, d] strides(_, _) align(1) may alias residual
  h[r.0: rows, i.1: d] = +(residual[r.0, i.1], *(f32(branch[r.0, i.1]), scale[i.1]))
)");
  program = analyseOne(H3_SPEC_FOLDER "/scaled_residual.spec", "scaled_residual",
                       {{"R", ScalarType::F16}});
  ASSERT_TRUE(program);
  EXPECT_FALSE(program->tensors[3].mayAlias) << "the types differ, so the clause has no effect";
  EXPECT_EQ(body(*program), "  h[r.0: rows, i.1: d] = +(f32(residual[r.0, i.1]), "
                            "*(f32(branch[r.0, i.1]), scale[i.1]))\n");
}

TEST(SpecTexts, Swiglu) {
  std::unique_ptr<Program> program =
      analyseOne(H3_SPEC_FOLDER "/swiglu.spec", "swiglu", {{"T", ScalarType::BF16}});
  ASSERT_TRUE(program);
  EXPECT_TRUE(program->usesApproximation);
  std::string text = dump(*program);
  EXPECT_NE(text.find("dim d from x axis 1 by 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("in x: bf16[rows, 2 * d (2, d)] strides(_, 1)"), std::string::npos) << text;
  EXPECT_NE(text.find("f32(x[r.0, (0:i64:2, i.1:d)])"), std::string::npos) << text;
  EXPECT_NE(text.find("*(ex2.approx.ftz(%q7), f32.bits(shl(i32.bits(%j4), 23:i32)))"),
            std::string::npos)
      << text;
}

TEST(SpecTexts, QkNormRope) {
  std::unique_ptr<Program> program =
      analyseOne(H3_SPEC_FOLDER "/qk_norm_rope.spec", "qk_norm_rope");
  ASSERT_TRUE(program);
  EXPECT_TRUE(program->usesApproximation);
  ASSERT_EQ(program->bindingOrder.size(), 3u);
  EXPECT_TRUE(program->requirements.empty());
  // d is 64, so the other kernel's arithmetic is gone, and the ranges are numbers.
  std::string text = body(*program);
  EXPECT_EQ(text.substr(0, text.find("  k_out")), R"(  q_out[t.0: tokens, h.1: heads_q] = {
    let %x18: f16[64] = {
      let %x0: f16[64] = q[t.0, h.1]
      let %r17: f32 = {
        let %ss4: f32 = reduce i.2: 64 by row_vec4 from %s1 = 0:f32 step fma(f32(%x0[i.2]), f32(%x0[i.2]), %s1) join (%a2, %b3) = +(%a2, %b3)
        give rsqrt.approx(+(/(%ss4, f32(size(64))), eps))
      }
      give [i.4: 64] f16(*(%r17, f32(%x0[i.4])))
    }
    let %cos19: f16[48] = cos[t.0]
    let %sin20: f16[48] = sin[t.0]
    give [i.5: 64] if(<(i.5, size(24)), +(*(%x18[i.5], %cos19[i.5]), *(neg(%x18[+(i.5, size(24))]), %sin20[i.5])), if(<(i.5, size(48)), +(*(%x18[i.5], %cos19[i.5]), *(%x18[-(i.5, size(24))], %sin20[i.5])), %x18[i.5]))
  }
)");
}

TEST(SpecTexts, DigitsOfWanNormRope) {
  std::unique_ptr<Program> program =
      analyseOne(H3_TEST_SPECS "/wan_norm_rope.spec", "wan_norm_rope");
  ASSERT_TRUE(program);
  std::string text = dump(*program);
  EXPECT_NE(text.find("dim row = 2 * heads * pairs\n"), std::string::npos) << text;
  EXPECT_NE(text.find("dim heads from x axis 1 by 2 * pairs\n"), std::string::npos) << text;
  EXPECT_NE(text.find("in x: bf16[tokens, 2 * heads * pairs (heads, pairs, 2)]"), std::string::npos)
      << text;
  EXPECT_NE(text.find("y[t.0: tokens, (h."), std::string::npos) << text;
  ASSERT_EQ(program->bindingOrder.size(), 3u);
  EXPECT_EQ(program->dims[program->bindingOrder.back()].name, "heads");
}

/// The size of a row decides, once a call, which kernel's arithmetic is meant.
TEST(SpecTexts, ConditionsOnSizesAreUniform) {
  std::unique_ptr<Program> program =
      analyseOne(H3_TEST_SPECS "/norms.spec", "rms_norm", {{"T", ScalarType::F32}});
  ASSERT_TRUE(program);
  unsigned choices = 0;
  for (const Expr &expr : program->expressions)
    if (expr.kind == Expr::Kind::If && isUniform(*expr.operands[0]))
      ++choices;
  EXPECT_EQ(choices, 1u);
  ASSERT_EQ(program->requirements.size(), 1u);
  EXPECT_EQ(program->requirements[0].text, "n <= 16777216");
}

TEST(SpecTexts, RequirementsOfReductions) {
  std::unique_ptr<Program> program = analyseOne(H3_TEST_SPECS "/softmax.spec", "softmax_online");
  ASSERT_TRUE(program);
  ASSERT_EQ(program->requirements.size(), 1u);
  EXPECT_EQ(program->requirements[0].text, "n >= 1");
  program = analyseOne(H3_TEST_SPECS "/casts.spec", "quant_e4m3", {{"T", ScalarType::F16}});
  ASSERT_TRUE(program);
  ASSERT_EQ(program->requirements.size(), 1u);
  EXPECT_EQ(program->requirements[0].text, "n >= 1");
  EXPECT_FALSE(program->usesApproximation);
}

TEST(SpecTexts, GroupNormShapeIsARowOfRows) {
  std::unique_ptr<Program> program = analyseOne(H3_TEST_SPECS "/norms.spec", "group_norm_shape");
  ASSERT_TRUE(program);
  std::string text = dump(*program);
  EXPECT_NE(text.find("f32[groups, per * hw]"), std::string::npos) << text;
  EXPECT_NE(text.find(":per, p."), std::string::npos) << text;
}

TEST(SpecTexts, EachOperator) {
  std::unique_ptr<Program> program = analyseOne(H3_TEST_SPECS "/casts.spec", "linear_weight_f16");
  ASSERT_TRUE(program);
  EXPECT_TRUE(program->each);
  EXPECT_EQ(body(*program), "  h[i.0: n] = f16(w[i.0])\n");
}

} // namespace
} // namespace h3
