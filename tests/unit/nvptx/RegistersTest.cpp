//===-- tests/unit/nvptx/RegistersTest.cpp - What the H3 set's kernels occupy -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Compiles the H3 set for sm_90 and compares what ptxas says of each variant with registers.txt, so
// that a change of any figure is seen where it is made. After a wanted change,
//
//   H3GEN_UPDATE_REGISTERS=1 registers_test
//
// writes the table anew; the difference is part of the commit. The figures are those of one version
// of ptxas: with another, only what must hold of every version is checked.
//
//===----------------------------------------------------------------------===//

#include "backends/Backend.h"
#include "backends/nvptx/Compile.h"
#include "backends/nvptx/Tools.h"
#include "codegen/driver/Specs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

using namespace h3;

namespace {

constexpr const char *operatorsOfH3[] = {"qk_norm_rope", "swiglu", "scaled_residual",
                                         "linear_weight_f16", "residual_rms_norm"};

/// By entry.
using Usage = std::map<std::string, KernelUsage>;

Usage usageOf(const std::string &name, const Tool &ptxas, const Target &target) {
  LoadedSpec spec;
  Diagnostics diagnostics;
  std::vector<OperatorInstances> operators;
  if (loadSpec(std::string(H3GEN_SPECS) + "/" + name + ".spec", {}, spec, diagnostics))
    operators = instances(spec, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << diagnostics.renderText();
  Usage usage;
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  for (const OperatorInstances &entry : operators) {
    std::vector<const Program *> programs;
    for (const std::unique_ptr<Program> &program : entry.programs)
      programs.push_back(program.get());
    std::string error;
    auto image = nvptx::compile(*context, programs, target, {}, error);
    EXPECT_TRUE(image) << name << ": " << error;
    if (!image)
      continue;
    auto assembly = nvptx::assemble(ptxas, image->text, target, error);
    EXPECT_TRUE(assembly) << name << ": " << error;
    if (!assembly)
      continue;
    for (const plan::OperatorPlan &plan : image->plans)
      for (const plan::Variant &variant : plan.variants) {
        EXPECT_TRUE(assembly->usage.contains(variant.entry)) << variant.entry;
        usage[variant.entry] = assembly->usage[variant.entry];
      }
  }
  return usage;
}

std::string line(const std::string &entry, const KernelUsage &usage) {
  return fmt::format("{:<48} {:>9} {:>7} {:>6} {:>7}\n", entry, usage.registers, usage.spillBytes,
                     usage.localBytes, usage.sharedBytes);
}

std::string versionLine(const Tool &ptxas) { return "ptxas " + ptxas.version + "\n"; }

std::string table(const Usage &usage, const Tool &ptxas) {
  std::string text =
      "# What the kernels of the H3 set occupy on sm_90, as RegistersTest.cpp "
      "compares it: registers of a thread,\n"
      "# bytes spilled, bytes of local memory, bytes of static shared memory. Written "
      "by the test; do not edit.\n" +
      versionLine(ptxas);
  for (const auto &[entry, kernel] : usage)
    text += line(entry, kernel);
  return text;
}

TEST(Registers, OfTheH3SetAreThoseOfTheTable) {
  std::string error;
  auto ptxas = nvptx::findTool("ptxas", "", "H3GEN_PTXAS", error);
  if (!ptxas)
    GTEST_SKIP() << "skipped: " << error;
  const Target &target = *findTarget("sm_90");
  Usage usage;
  for (const char *name : operatorsOfH3) {
    Usage ofOne = usageOf(name, *ptxas, target);
    EXPECT_FALSE(ofOne.empty()) << name;
    usage.merge(ofOne);
  }
  ASSERT_FALSE(HasFailure());

  for (const auto &[entry, kernel] : usage) {
    EXPECT_GT(kernel.registers, 0u) << entry;
    EXPECT_EQ(kernel.spillBytes, 0u) << entry << " spills registers";
    EXPECT_EQ(kernel.localBytes, 0u) << entry << " uses local memory";
  }
  ASSERT_FALSE(HasFailure());

  std::string actual = table(usage, *ptxas);
  if (std::getenv("H3GEN_UPDATE_REGISTERS")) {
    std::ofstream file(H3GEN_REGISTERS);
    file << actual;
    ASSERT_TRUE(file.flush()) << "cannot write " << H3GEN_REGISTERS;
    GTEST_SKIP() << "skipped: " << H3GEN_REGISTERS << " was written, not compared";
  }
  std::stringstream expected;
  expected << std::ifstream(H3GEN_REGISTERS).rdbuf();
  ASSERT_NE(expected.str(), "") << "cannot read " << H3GEN_REGISTERS;
  if (expected.str().find("\n" + versionLine(*ptxas)) == std::string::npos)
    GTEST_SKIP() << "skipped: the table is not of ptxas " << ptxas->version
                 << "; spills and local memory were checked";
  EXPECT_EQ(actual, expected.str())
      << "after a wanted change, H3GEN_UPDATE_REGISTERS=1 registers_test writes the table anew";
}

// Without this the table could say 0 because nothing was read.
TEST(Registers, LocalMemoryAndSharedMemoryAreSeen) {
  std::string error;
  auto ptxas = nvptx::findTool("ptxas", "", "H3GEN_PTXAS", error);
  if (!ptxas)
    GTEST_SKIP() << "skipped: " << error;
  auto assembly = nvptx::assemble(*ptxas, R"(
.version 7.8
.target sm_90
.address_size 64
.visible .entry local(.param .u64 out, .param .u32 at) {
  .local .align 16 .b8 frame[160];
  .shared .align 4 .b8 tile[64];
  .reg .b64 %rd<4>;
  .reg .b32 %r<4>;
  ld.param.u64 %rd0, [out];
  ld.param.u32 %r0, [at];
  mov.u64 %rd1, frame;
  cvt.u64.u32 %rd2, %r0;
  add.u64 %rd2, %rd1, %rd2;
  st.local.u32 [frame], %r0;
  st.local.u32 [%rd2], %r0;
  st.shared.u32 [tile], %r0;
  ld.local.u32 %r1, [%rd2+16];
  ld.shared.u32 %r2, [tile];
  add.u32 %r1, %r1, %r2;
  st.global.u32 [%rd0], %r1;
  ret;
}
)",
                                  *findTarget("sm_90"), error);
  ASSERT_TRUE(assembly) << error;
  ASSERT_EQ(assembly->usage.size(), 1u);
  const KernelUsage &usage = assembly->usage.at("local");
  EXPECT_EQ(usage.localBytes, 160u);
  EXPECT_EQ(usage.sharedBytes, 64u);
  EXPECT_EQ(usage.spillBytes, 0u);
  EXPECT_GT(usage.registers, 0u);
}

} // namespace
