//===-- tests/field_reports/PtxTextTest.cpp - What printed PTX may not hold -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// S03, S12, S14: two switches decide about contraction, one in LLVM and one in the assembler, and a
// third about subnormals; only the printed text says what was chosen. Every operator of the project
// and of this folder for one target of each kind. The scan is this file's own; what is admitted
// comes from the typed program, not from what code generation made of it.
//
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include "backends/Backend.h"
#include "backends/Target.h"
#include "backends/nvptx/Compile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <regex>
#include <set>

namespace h3::test {
namespace {

/// What the type instances of an operator admit in their PTX.
struct Admitted {
  std::set<std::string> approximations; ///< "ex2.approx.ftz.f32"
  bool fma = false;

  Admitted(std::span<const Program *const> programs, const Target &target) {
    for (const Program *program : programs)
      for (const Expr &expr : program->expressions) {
        if (expr.kind != Expr::Kind::Builtin)
          continue;
        const bool isBf16 = expr.type.isScalar() && expr.type.scalar == ScalarType::BF16;
        // Without bf16 instructions, sums and products are fma with -0 and 1.
        fma |= expr.op == Builtin::Fma || (isBf16 && !target.has(Capability::Bf16Arithmetic));
        if (spelling(expr.op).find("approx") != std::string_view::npos)
          approximations.insert(std::string(spelling(expr.op)) + ".f32");
      }
  }
};

/// The first line that breaks a rule, or an empty string.
std::string firstFault(const std::string &ptx, const Admitted &admitted) {
  static const std::regex instruction(
      R"(^\s*(?:@!?%\w+\s+)?((add|sub|mul|fma|mad|div|rcp|sqrt|rsqrt|ex2|lg2|sin|cos|tanh)((?:\.\w+)*)\.(f16|f16x2|bf16|bf16x2|f32|f32x2|f64))[\s;])");
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(".ftz") != std::string::npos || line.find(".approx") != std::string::npos ||
        line.find(".full") != std::string::npos) {
      std::smatch match;
      if (!std::regex_search(line, match, instruction) || !admitted.approximations.count(match[1]))
        return line;
      continue;
    }
    std::smatch match;
    if (!std::regex_search(line, match, instruction))
      continue;
    const std::string operation = match[2], modifiers = std::string(match[3]) + ".";
    bool isRounded = false;
    for (const char *rounding : {".rn.", ".rz.", ".rm.", ".rp."})
      isRounded |= modifiers.find(rounding) != std::string::npos;
    if (!isRounded || match[4] == "f32x2" || operation == "mad" ||
        (operation == "fma" && !admitted.fma))
      return line;
  }
  return {};
}

std::set<std::string> specsIn(const char *folder) {
  std::set<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".spec")
      names.insert(entry.path().filename());
  return names;
}

std::set<std::string> specsFor(std::string_view target) {
  std::set<std::string> names = specsIn(H3GEN_SPECS);
  for (const Backend &backend : backends())
    if (target == backend.target)
      names.merge(specsIn(H3GEN_FIELD_REPORTS));
  return names;
}

/// The instance of an operator that is compiled for a target here: of the type in which the target
/// differs most from the others, or else the first.
std::vector<const Program *> instanceFor(std::string_view target,
                                         const OperatorInstances &instance) {
  const ScalarType wanted = target == "sm_90"    ? ScalarType::F16
                            : target == "sm_100" ? ScalarType::F32
                                                 : ScalarType::BF16;
  for (const auto &program : instance.programs)
    if (!program->typeArguments.empty() && program->typeArguments.front().second == wanted)
      return {program.get()};
  return {instance.programs.front().get()};
}

std::vector<const Program *> pointers(const OperatorInstances &instance) {
  std::vector<const Program *> result;
  for (const auto &program : instance.programs)
    result.push_back(program.get());
  return result;
}

class FieldReportsText : public testing::TestWithParam<std::string> {};

TEST_P(FieldReportsText, S03_NothingInPtxMayBeFusedOrFlushed) {
  const Target &target = *findTarget(GetParam());
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  unsigned compiled = 0;
  for (const std::string &spec : specsFor(GetParam())) {
    Diagnostics diagnostics;
    for (const OperatorInstances &instance : instances(specNamed(spec), diagnostics)) {
      std::vector<const Program *> programs = instanceFor(GetParam(), instance);
      std::string error;
      auto image = nvptx::compile(*context, programs, target, {}, error);
      EXPECT_TRUE(image) << spec << ": " << error;
      if (!image)
        continue;
      ++compiled;
      EXPECT_EQ(firstFault(image->text, Admitted(programs, target)), "")
          << spec << ", " << programs.front()->name;
    }
    EXPECT_TRUE(diagnostics.empty()) << diagnostics.renderText();
  }
  std::cout << compiled << " operators checked\n";
  EXPECT_GE(compiled, 3u);
}

// One target of each kind: without bf16 arithmetic, without f32x2, with it, and a small one.
INSTANTIATE_TEST_SUITE_P(Ptx, FieldReportsText,
                         testing::Values("sm_80", "sm_90", "sm_100", "sm_120"),
                         [](const auto &info) { return info.param; });

// The scan sees each fault in the text of an operator that has none.
TEST(PtxFieldReportsText, S03_TheScanSeesFaults) {
  const Target &target = *findTarget("sm_90");
  Diagnostics diagnostics;
  std::vector<OperatorInstances> all = instances(specNamed("scaled_residual.spec"), diagnostics);
  std::vector<const Program *> programs = pointers(all.front());
  std::string error;
  auto image = nvptx::compile(*makeContext(), programs, target, {}, error);
  ASSERT_TRUE(image) << error;
  const Admitted admitted(programs, target);
  ASSERT_EQ(firstFault(image->text, admitted), "");
  for (auto [right, wrong] : {std::pair("mul.rn.f32", "mul.f32"),
                              {"add.rn.f32", "add.f32"},
                              {"mul.rn.f32", "mul.rn.ftz.f32"},
                              {"mul.rn.f32", "mul.rn.f32x2"},
                              {"add.rn.f32", "fma.rn.f32"},
                              {"add.rn.f32", "mad.rn.f32"},
                              {"mul.rn.f32", "div.full.f32"},
                              {"mul.rn.f32", "div.approx.f32"},
                              {"mul.rn.f32", "rcp.approx.ftz.f32"},
                              {"cvt.f32.f16", "cvt.ftz.f32.f16"}}) {
    std::string text = image->text;
    size_t at = text.find(right);
    ASSERT_NE(at, std::string::npos) << right;
    text.replace(at, std::string_view(right).size(), wrong);
    EXPECT_NE(firstFault(text, admitted).find(wrong), std::string::npos) << wrong;
  }
}

} // namespace
} // namespace h3::test
