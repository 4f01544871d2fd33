//===-- tests/unit/audit/AuditTest.cpp - Machine code that is accounted for, and faults -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/audit/Audit.h"
#include "backends/nvptx/audit/Cubin.h"
#include "backends/nvptx/audit/Learn.h"
#include "backends/nvptx/audit/Roles.h"
#include "backends/nvptx/ptx/Reader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

using namespace h3;

namespace {

std::string fileText(const std::string &name) {
  std::ifstream stream(std::string(H3GEN_AUDIT_DATA) + "/" + name);
  std::stringstream text;
  text << stream.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

/// An audit of the recorded disassembly with the first match of \p pattern replaced.
audit::Audit auditOf(const std::string &pattern = "", const std::string &replacement = "") {
  std::string sass = fileText("mixed.sass");
  if (!pattern.empty()) {
    std::string changed = std::regex_replace(sass, std::regex(pattern), replacement,
                                             std::regex_constants::format_first_only);
    EXPECT_NE(changed, sass) << "nothing matches " << pattern;
    sass = changed;
  }
  auto code = audit::readSass(sass);
  auto module = ptx::read(fileText("mixed.ptx"));
  const audit::Expansions *expansions = audit::Expansions::ofVersion("13.0.88");
  EXPECT_TRUE(code) << (code ? "" : code.error());
  EXPECT_TRUE(module) << (module ? "" : module.error().message());
  EXPECT_NE(expansions, nullptr);
  if (!code || !module || !expansions)
    return {};
  return audit::audit(*code, *module, *expansions);
}

/// The first fault; empty if all is accounted for.
std::string faultOf(const std::string &pattern, const std::string &replacement) {
  audit::Audit result = auditOf(pattern, replacement);
  for (const audit::KernelAudit &kernel : result.kernels)
    if (kernel.fault)
      return kernel.name + ": " + kernel.fault->text;
  return {};
}

#define EXPECT_HAS(text, part)                                                                     \
  EXPECT_NE((text).find(part), std::string::npos) << "'" << (text) << "' has no '" << (part) << "'"

TEST(Audit, AccountsForEveryFloatInstruction) {
  audit::Audit result = auditOf();
  ASSERT_EQ(result.kernels.size(), 2u);
  for (const audit::KernelAudit &kernel : result.kernels)
    EXPECT_FALSE(kernel.fault) << kernel.fault->text;
  EXPECT_TRUE(result.isAccounted());
  const audit::KernelAudit &floats = result.kernels[0], &halves = result.kernels[1];
  EXPECT_EQ(floats.name, "floats");
  EXPECT_EQ(floats.operations.at("mul.f32"), 1u);
  EXPECT_EQ(floats.operations.at("add.f32"), 1u);
  EXPECT_EQ(floats.operations.at("fma.f32"), 1u);
  EXPECT_EQ(floats.expansions.at("div.rn.f32"), 1u);
  EXPECT_EQ(floats.expansions.at("rsqrt.approx.f32"), 1u);
  EXPECT_EQ(floats.expansions.at("__cuda_sm3x_div_rn_noftz_f32_slowpath"), 1u);
  // HFMA2 with an addend of -0 or a factor of one counts as what it is.
  EXPECT_EQ(halves.operations.at("mul.f16"), 3u);
  EXPECT_EQ(halves.operations.at("add.f16"), 2u);
  EXPECT_FALSE(halves.operations.contains("fma.f16"));
}

TEST(AuditFaults, ContractionIsFound) {
  std::string fault = faultOf(R"(FADD (R\d+), (R\d+), (R\d+) ;)", "FFMA $1, $2, $3, $3 ;");
  EXPECT_HAS(fault, "floats: SASS 0x");
  EXPECT_HAS(fault, "computes fma.f32, which is not asked for");
  EXPECT_HAS(fault, "PTX line 18, 'add.rn.f32");
}

TEST(AuditFaults, ContractionOfMultiplyAndAddIsFound) {
  std::string fault = faultOf(R"(FMUL R\d+, R\d+, UR\d+ ;([^]*)FADD (R\d+), (R\d+), (R\d+) ;)",
                              "NOP ;$1FFMA $2, $3, R0, $4 ;");
  EXPECT_HAS(fault, "computes fma.f32, which is not asked for");
}

TEST(AuditFaults, PackedContractionIsFound) {
  std::string fault =
      faultOf(R"(HFMA2\.MMA (R\d+), (R\d+), 1, 1, (R\d+))", "HFMA2.MMA $1, $2, R6, $3");
  EXPECT_HAS(fault, "halves: SASS 0x0090");
  EXPECT_HAS(fault, "computes fma.f16");
  // +0 as the addend is not the product: -0 becomes +0.
  EXPECT_HAS(faultOf(R"(HFMA2\.MMA (R\d+), (R\d+), (R\d+), -RZ)", "HFMA2.MMA $1, $2, $3, RZ"),
             "computes fma.f16");
}

TEST(AuditFaults, FlushedSubnormalsAreFound) {
  EXPECT_HAS(faultOf("FADD (R)", "FADD.FTZ $1"), "computes add.f32.ftz");
  EXPECT_HAS(faultOf("HADD2 (R)", "HADD2.FTZ $1"), "computes add.f16.ftz");
}

TEST(AuditFaults, RoundingModesAreFound) {
  EXPECT_HAS(faultOf("FADD (R)", "FADD.RZ $1"), "computes add.f32.rz");
}

TEST(AuditFaults, ApproximationIsFound) {
  EXPECT_HAS(faultOf("FADD (R[0-9]+),", "MUFU.RCP $1, R0 ; /*"), "belongs to no known expansion");
}

TEST(AuditFaults, MissingInstructionIsFound) {
  std::string fault = faultOf(R"(FMUL R\d+, R\d+, UR\d+ ;)", "NOP ;");
  EXPECT_HAS(fault, "floats: PTX line 17, 'mul.rn.f32");
  EXPECT_HAS(fault, "no machine instruction computes this mul.f32");
}

TEST(AuditFaults, UnknownInstructionIsFound) {
  EXPECT_HAS(faultOf("FADD (R)", "QADD $1"), "an instruction that the audit does not know");
  EXPECT_HAS(faultOf("FADD (R)", "FADD.NEW $1"), "an instruction that the audit does not know");
}

TEST(AuditFaults, AnotherExpansionIsFound) {
  EXPECT_HAS(faultOf("MUFU\\.RSQ", "MUFU.RCP"), "is none of its known expansions");
  EXPECT_HAS(faultOf("FCHK P\\d, R\\d+, R\\d+ ;", "NOP ;"), "is none of its known expansions");
  EXPECT_HAS(faultOf("FFMA\\.RZ", "FFMA.RM"), "the routine __cuda_sm3x_div_rn_noftz_f32_slowpath "
                                              "is not as it was learned");
  EXPECT_HAS(faultOf("__cuda_sm3x_div_rn_noftz_f32_slowpath:", "__cuda_other:"),
             "the routine __cuda_other was never learned");
}

TEST(AuditFaults, KernelsMeetByName) {
  auto code = audit::readSass(fileText("mixed.sass"));
  std::string text = fileText("mixed.ptx");
  auto module = ptx::read(std::regex_replace(text, std::regex("entry halves"), "entry others"));
  ASSERT_TRUE(code && module);
  audit::Audit result = audit::audit(*code, *module, *audit::Expansions::ofVersion("13.0.88"));
  ASSERT_EQ(result.kernels.size(), 3u);
  EXPECT_HAS(result.kernels[1].fault->text, "the PTX has no kernel of this name");
  EXPECT_HAS(result.kernels[2].fault->text, "the machine code has no kernel of this name");
}

TEST(SassReader, RefusesWhatItDoesNotUnderstand) {
  EXPECT_FALSE(audit::readSass(""));
  auto broken = audit::readSass("\t.section\t.text.k,\"ax\"\nk:\n        /*0000*/   ?? ;\n");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error(), "line 3 of the disassembly: '/*0000*/   ?? ;' is no instruction");
}

TEST(Expansions, PrintWhatTheyParse) {
  const char *text = "ptxas 1.2.3\nnvdisasm 4.5.6\n"
                     "expansion div.u32 | - | sm_80\n"
                     "expansion div.u32 | F2I.FTZ.U32.TRUNC.NTZ*1 MUFU.RCP*1 | sm_80 sm_90\n"
                     "routine __f | FFMA*5 | sm_90\n";
  auto parsed = audit::Expansions::parse(text);
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_TRUE(parsed->print().ends_with(text)) << parsed->print();
  EXPECT_EQ(parsed->of("div.u32", "sm_80").size(), 2u);
  EXPECT_TRUE(parsed->of("div.u32", "sm_80").back().empty()) << "nothing comes last";
  EXPECT_EQ(parsed->ofRoutine("__f", "sm_80").size(), 0u);
  EXPECT_FALSE(audit::Expansions::parse("expansion div.u32 | MUFU | sm_80\n"));
  EXPECT_EQ(audit::Expansions::ofVersion("1.0.0"), nullptr) << "unknown versions are not guessed";
}

TEST(Expansions, AreLearnedForEveryTarget) {
  const audit::Expansions *expansions = audit::Expansions::ofVersion("13.0.88");
  ASSERT_NE(expansions, nullptr);
  for (const Target &target : targets()) {
    if (target.backend != "nvptx")
      continue;
    auto module = ptx::read(audit::learningPtx(target));
    ASSERT_TRUE(module) << module.error().message();
    std::set<std::string> forms;
    for (const ptx::Kernel &kernel : module->kernels)
      for (const ptx::Instruction &instruction : kernel.instructions)
        if (audit::roleOf(instruction).kind == audit::PtxRole::Kind::Expansion)
          forms.insert(audit::formOf(instruction));
    EXPECT_GT(forms.size(), 50u);
    for (const std::string &form : forms)
      EXPECT_FALSE(expansions->of(form, std::string(target.name)).empty())
          << target.name << " " << form << ": h3gen audit --learn was not run";
  }
}

TEST(CubinReader, RefusesOtherFiles) {
  EXPECT_FALSE(audit::readCubin({}));
  std::string text = "\177ELF\2\1 and no more";
  EXPECT_FALSE(audit::readCubin(text));
}

} // namespace
