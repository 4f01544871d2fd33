//===-- tests/unit/nvptx/PtxCheckTest.cpp - Rules for printed PTX ---------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/PtxCheck.h"

#include <gtest/gtest.h>

namespace h3::nvptx {
namespace {

std::string check(std::string_view line, PtxRules rules = {}) {
  std::string text = ".version 7.8\n.target sm_90\n{\n\t" + std::string(line) + "\n}\n";
  return checkPtx(text, rules);
}

TEST(PtxCheck, RoundedArithmeticIsGood) {
  for (const char *line :
       {"mul.rn.f32 \t%f3, %f1, %f2;", "add.rn.f16x2 %r1, %r2, %r3;", "sub.rn.bf16 %h1, %h2, %h3;",
        "div.rn.f32 %f1, %f2, %f3;", "sqrt.rn.f64 %d1, %d2;", "rcp.rn.f32 %f1, %f2;",
        "add.rz.f64 %d1, %d2, %d3;"})
    EXPECT_EQ(check(line), "") << line;
}

TEST(PtxCheck, OtherInstructionsAreGood) {
  for (const char *line :
       {"mov.b32 %f1, 0f3F800000;", "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];",
        "setp.lt.f32 %p1, %f1, %f2;", "@%p1 bra $L__BB0_2;", "max.NaN.f32 %f1, %f2, %f3;",
        "neg.f16 %h1, %h2;", "cvt.rn.f16.f32 %h1, %f1;", "mad.lo.s32 %r1, %r2, %r3, %r4;",
        "mul.wide.u32 %rd1, %r1, 4;", "// mul.f32", ".reg .f32 %f<3>;",
        "$L__BB0_1:", "mov.b64 %rd1, {%f1, %f2};"})
    EXPECT_EQ(check(line), "") << line;
}

TEST(PtxCheck, ArithmeticWithoutRoundingIsNot) {
  EXPECT_EQ(check("mul.f32 %f3, %f1, %f2;"),
            "PTX line 4: 'mul.f32' has no rounding modifier, so that the assembler may fuse it");
  for (const char *line :
       {"add.f32 %f3, %f1, %f2;", "sub.f16 %h1, %h2, %h3;", "mul.f16x2 %r1, %r2, %r3;",
        "add.bf16x2 %r1, %r2, %r3;", "add.f64 %d1, %d2, %d3;", "@%p1 mul.f32 %f3, %f1, %f2;",
        "@!%p1 add.f32 %f3, %f1, %f2;", "{ mul.f32 %f3, %f1, %f2; }"})
    EXPECT_NE(check(line), "") << line;
}

TEST(PtxCheck, PackedF32IsNotWhateverItsRounding) {
  EXPECT_EQ(check("mul.rn.f32x2 %rd1, %rd2, %rd3;"),
            "PTX line 4: 'mul.rn.f32x2' is packed f32 arithmetic, which the assembler fuses");
  EXPECT_NE(check("add.rn.f32x2 %rd1, %rd2, %rd3;"), "");
}

TEST(PtxCheck, ApproximationsMustBeNamed) {
  EXPECT_EQ(check("div.full.f32 %f1, %f2, %f3;"),
            "PTX line 4: 'div.full.f32' is an approximation that the spec does not name");
  EXPECT_NE(check("ex2.approx.ftz.f32 %f1, %f2;"), "");
  PtxRules rules;
  rules.approximations.insert("ex2.approx.ftz.f32");
  EXPECT_EQ(check("ex2.approx.ftz.f32 %f1, %f2;", rules), "");
  EXPECT_NE(check("ex2.approx.f32 %f1, %f2;", rules), "") << "another instruction";
  EXPECT_NE(check("rsqrt.approx.f32 %f1, %f2;", rules), "");
}

TEST(PtxCheck, FlushesAreNot) {
  EXPECT_EQ(check("mul.rn.ftz.f32 %f3, %f1, %f2;"),
            "PTX line 4: 'mul.rn.ftz.f32' flushes subnormals, which the spec keeps");
  EXPECT_NE(check("setp.lt.ftz.f32 %p1, %f1, %f2;"), "");
  EXPECT_NE(check("cvt.ftz.f32.f16 %f1, %h1;"), "");
}

TEST(PtxCheck, FusedMultiplyAddsAreCounted) {
  EXPECT_EQ(check("fma.rn.f32 %f4, %f1, %f2, %f3;"),
            "PTX line 4: 'fma.rn.f32' is one fused multiply-add more than the program has (0)");
  PtxRules rules;
  rules.fusedMultiplyAdds = 1;
  EXPECT_EQ(check("fma.rn.f32 %f4, %f1, %f2, %f3;", rules), "");
  EXPECT_NE(check("fma.rn.f32 %f4, %f1, %f2, %f3;\n\tfma.rm.f32 %f4, %f1, %f2, %f3;", rules), "");
  EXPECT_EQ(check("mad.f32 %f4, %f1, %f2, %f3;", rules),
            "PTX line 4: 'mad.f32' is a multiply-add of unspecified fusion");
}

/// A kernel of \p lines in an image whose kernels wait.
std::string checkWaiting(std::string_view lines) {
  PtxRules rules;
  rules.waits = true;
  return checkPtx(".version 7.8\n.visible .entry k(\n)\n{\n" + std::string(lines) + "\n}\n", rules);
}

TEST(PtxCheck, KernelsWaitForTheGridsInFrontFirst) {
  EXPECT_EQ(
      checkWaiting("ld.param.b64 %rd1, [p];\n// begin inline asm\ngriddepcontrol.wait;\n"
                   "griddepcontrol.launch_dependents;\n@%p1 bra $L__BB0_2;\n"
                   "ld.global.b32 %r1, [%rd1];\n$L__BB0_2:\nst.global.b32 [%rd1], %r1;\nret;"),
      "");
  EXPECT_EQ(
      checkWaiting("ld.global.b32 %r1, [%rd1];\ngriddepcontrol.wait;"),
      "PTX line 5: 'ld.global.b32' stands before the wait for the grids in front of the kernel");
  EXPECT_EQ(
      checkWaiting("griddepcontrol.launch_dependents;\ngriddepcontrol.wait;"),
      "PTX line 5: 'griddepcontrol.launch_dependents' stands before the wait for the grids in "
      "front of the kernel");
  EXPECT_EQ(
      checkWaiting("griddepcontrol.wait;\nld.global.nc.L1::no_allocate.b32 %r1, [%rd1];"),
      "PTX line 6: 'ld.global.nc.L1::no_allocate.b32' promises that nobody writes, in a kernel "
      "that runs while the one in front does");
  EXPECT_EQ(checkWaiting("ret;"), "a kernel does not wait for the grids in front of it");
  EXPECT_EQ(checkWaiting("ret;\n}\n.visible .entry other(\n)\n{\ngriddepcontrol.wait;"),
            "PTX line 7: a kernel does not wait for the grids in front of it");
  // Not every thread comes where a branch has been.
  for (const char *lines : {"@%p1 bra $L__BB0_2;\ngriddepcontrol.wait;\nst.global.b32 [%rd1], 1;",
                            "$L__BB0_1:\ngriddepcontrol.wait;\nst.global.b32 [%rd1], 1;"})
    EXPECT_NE(checkWaiting(lines), "") << lines;
}

TEST(PtxCheck, OtherKernelsDoNotWait) {
  EXPECT_EQ(check("griddepcontrol.wait;"),
            "PTX line 4: 'griddepcontrol.wait' is about other grids, which the program does not "
            "wait for");
  EXPECT_NE(check("griddepcontrol.launch_dependents;"), "");
}

} // namespace
} // namespace h3::nvptx
