//===-- tests/unit/prove/ProverTest.cpp - Kernels that are proved, and faults that are not -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Edits of the PTX that h3gen emits: each is one fault, and each must be refused for a reason of
// its own kind. The same kernels unedited are proved in the same run.
//
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/Prover.h"
#include "backends/Backend.h"
#include "backends/nvptx/Compile.h"
#include "backends/nvptx/NanFacts.h"
#include "backends/nvptx/ptx/Reader.h"
#include "codegen/driver/Specs.h"

#include <gtest/gtest.h>
#include <mlir/IR/MLIRContext.h>

#include <regex>

using namespace h3;

namespace {

/// One kernel of an operator.
struct Compiled {
  LoadedSpec spec;
  std::vector<OperatorInstances> operators;
  plan::OperatorPlan plan; ///< with one variant
  std::string text;

  const Program &program() const { return *operators.front().programs.front(); }
};

std::unique_ptr<Compiled> compileOne(const std::string &spec, bool isFile,
                                     const std::string &variant) {
  auto made = std::make_unique<Compiled>();
  Diagnostics diagnostics;
  bool good = isFile ? loadSpec(std::string(H3GEN_SPECS) + "/" + spec + ".spec", {}, made->spec,
                                diagnostics)
                     : loadSpecText(spec, {}, made->spec, diagnostics);
  if (good)
    made->operators = instances(made->spec, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << diagnostics.renderText();
  if (made->operators.empty())
    return nullptr;
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  const Program *programs[] = {&made->program()};
  std::string error;
  auto image = nvptx::compile(*context, programs, *findTarget("sm_90"), {}, error);
  EXPECT_TRUE(image) << error;
  if (!image)
    return nullptr;
  made->text = image->text;
  made->plan = image->plans.front();
  std::erase_if(made->plan.variants, [&](const plan::Variant &one) { return one.name != variant; });
  EXPECT_EQ(made->plan.variants.size(), 1u) << variant;
  return made;
}

prove::KernelProof proofOf(const Compiled &compiled, const std::string &text) {
  auto module = ptx::read(text);
  EXPECT_TRUE(module) << (module ? "" : module.error().message());
  prove::Subject subject;
  subject.program = &compiled.program();
  subject.plan = &compiled.plan;
  subject.module = &*module;
  subject.canonicalNaN = [](std::string_view instruction) {
    return nvptx::givesCanonicalNaN(instruction, *findTarget("sm_90"));
  };
  prove::Proof proof = prove::prove(subject);
  return proof.kernels.empty() ? prove::KernelProof() : proof.kernels.front();
}

/// The module with the first match of \p pattern in the compiled kernel replaced.
std::string edited(const Compiled &compiled, const std::string &pattern,
                   const std::string &replacement) {
  const std::string &entry = compiled.plan.variants.front().entry;
  const size_t begin = compiled.text.find(".entry " + entry + "(");
  const size_t end = compiled.text.find("\n}", begin); // of its body
  std::string kernel = compiled.text.substr(begin, end - begin);
  std::string changed = std::regex_replace(kernel, std::regex(pattern), replacement,
                                           std::regex_constants::format_first_only);
  EXPECT_NE(changed, kernel) << "nothing matches " << pattern;
  return compiled.text.substr(0, begin) + changed + compiled.text.substr(end);
}

/// A load or a store of global memory, whatever its hints: it ends before the type.
const std::string globalLoad = R"(ld\.global[\w.:]*)", globalStore = R"(st\.global[\w.:]*)";

struct Mutant {
  std::string name, pattern, replacement;
  prove::Verdict verdict;
};

void expectVerdicts(const Compiled &compiled, std::initializer_list<Mutant> mutants) {
  prove::KernelProof whole = proofOf(compiled, compiled.text);
  EXPECT_EQ(whole.verdict, prove::Verdict::Proved) << whole.problem;
  for (const Mutant &mutant : mutants) {
    prove::KernelProof proof =
        proofOf(compiled, edited(compiled, mutant.pattern, mutant.replacement));
    EXPECT_EQ(proof.verdict, mutant.verdict) << mutant.name << ": " << proof.problem;
  }
}

constexpr auto proved = prove::Verdict::Proved;
constexpr auto notEqual = prove::Verdict::NotEqual;
constexpr auto fault = prove::Verdict::Fault;
constexpr auto notProvable = prove::Verdict::NotProvable;

TEST(ProverMutants, OfNormAndRotationAreCaught) {
  auto compiled = compileOne("qk_norm_rope", true, "v16_i32");
  ASSERT_TRUE(compiled);
  expectVerdicts(
      *compiled,
      {{"contraction",
        R"(mul\.rn\.f32 (\s*%r\d+), (%r\d+), 0f3C800000;\s*add\.rn\.f32 (\s*%r\d+), %r\d+, (%r\d+);)",
        "fma.rn.f32 $3, $2, 0f3C800000, $4;", notEqual},
       {"swapped stage", R"((shfl\.sync\.bfly\.b32 .*), 4, 31, -1;)", "$1, 2, 31, -1;", notEqual},
       {"wrong lane", R"((shfl\.sync\.bfly\.b32 .*), 4, 31, -1;)", "$1, 5, 31, -1;", notEqual},
       {"lane outside the mask", R"((shfl\.sync\.bfly\.b32 .*), 1, 31, -1;)", "$1, 1, 31, 1;",
        fault},
       {"rounding mode", R"(cvt\.rn\.f16x2\.f32)", "cvt.rz.f16x2.f32", notEqual},
       {"rounding of a sum", R"(add\.rn\.f32)", "add.rz.f32", notEqual},
       {"swapped halves", R"((cvt\.rn\.f16x2\.f32 .*), (%r\d+), (%r\d+);)", "$1, $3, $2;",
        notEqual},
       {"swapped subtraction", R"((sub\.rn\.f16x2 .*), (%r\d+), (%r\d+);)", "$1, $3, $2;",
        notEqual},
       {"sum for difference", R"(sub\.rn\.f16x2)", "add.rn.f16x2", notEqual},
       {"unrounded sum", R"(add\.rn\.f16x2)", "add.f16x2", notProvable},
       {"flushed subnormals", R"(add\.rn\.f32)", "add.rn.ftz.f32", notProvable},
       {"start of the sum", R"(fma\.rn\.f32 (.*), 0f00000000;)", "fma.rn.f32 $1, 0f00000001;",
        notEqual},
       {"skipped step of the sum", R"(fma\.rn\.f32 (\s*%r\d+), %r\d+, %r\d+, (%r\d+);)",
        "mov.b32 $1, $2;", notEqual},
       {"skipped store", globalStore + R"(\.v4\.b32.*;)", "", fault},
       {"doubled store", "(" + globalStore + R"(\.v4\.b32.*;))", "$1 $1", fault},
       {"half of a store",
        "(" + globalStore + R"()\.v4(\.b32\s*\[%rd\d+\], \{%r\d+, %r\d+), [^}]*\})", "$1.v2$2}",
        fault},
       {"stored in another order",
        "(" + globalStore + R"(\.v4\.b32\s*\[%rd\d+\], \{)(%r\d+), (%r\d+))", "$1$3, $2", notEqual},
       {"loaded in another order", "(" + globalLoad + R"(\.v4\.b32\s*\{)(%r\d+), (%r\d+))",
        "$1$3, $2", notEqual},
       {"one table for both", "(" + globalLoad + R"(\.v4\.b32[^\n]*\[(%rd\d+)\];[^\[]*)\[%rd\d+\])",
        "$1[$2]", notEqual},
       {"row beyond the last", R"(setp\.lt\.u32 (\s*%p\d+, %r\d+, %r\d+;))", "setp.le.u32 $1",
        fault},
       {"store by its neighbour's lane", R"(and\.b32 (.*), 56;)", "and.b32 $1, 48;", fault},
       {"address of 16 bytes more", "(" + globalLoad + R"(\.v4\.b32[^\n]*\[%rd\d+)\];)", "$1+16];",
        fault},
       {"address of 16 bytes less", "(" + globalLoad + R"(\.v4\.b32[^\n]*\[%rd\d+)\];)", "$1+-16];",
        fault},
       {"misaligned load", "(" + globalLoad + R"(\.v4\.b32[^\n]*\[%rd\d+)\];)", "$1+2];", fault},
       {"misaligned store", "(" + globalStore + R"(\.v4\.b32\s*\[%rd\d+)\])", "$1+4]", fault},
       {"rotated by an element of another row", R"(and\.b32 (.*), 24;)", "and.b32 $1, 16;",
        notEqual},
       {"rotated by another vector", R"(add\.s32 (.*), 24;)", "add.s32 $1, 16;", notEqual},
       {"rotated within a group of lanes", R"((shfl\.sync\.idx\.b32 .*), 31, -1;)", "$1, 7, -1;",
        notEqual},
       {"rotated by its own element", R"(shfl\.sync\.idx\.b32 (\s*%r\d+), (%r\d+), [^;]*;)",
        "mov.b32 $1, $2;", notEqual}});
}

TEST(ProverMutants, ThatChangeNoBitAreProved) {
  auto compiled = compileOne("qk_norm_rope", true, "v16_i32");
  ASSERT_TRUE(compiled);
  expectVerdicts(*compiled,
                 {// The two lanes hold the same sum, but for its order.
                  {"lane of the same sum", R"((shfl\.sync\.bfly\.b32 .*), 1, 31, -1;)",
                   "$1, 3, 31, -1;", proved},
                  // A square is never -0.
                  {"start of a sum of squares", R"(fma\.rn\.f32 (.*), 0f00000000;)",
                   "fma.rn.f32 $1, 0f80000000;", proved}});
}

TEST(ProverMutants, OfReciprocalsAreCaught) {
  auto compiled = compileOne("scaled_residual", true, "f16_v16_i32");
  ASSERT_TRUE(compiled);
  prove::KernelProof whole = proofOf(*compiled, compiled->text);
  EXPECT_EQ(whole.verdict, prove::Verdict::Proved) << whole.problem;
  EXPECT_FALSE(whole.allRows.empty()) << "proved for some numbers of rows only";
  expectVerdicts(*compiled,
                 {{"shift of the quotient", R"(shr\.u64 (.*), 30;)", "shr.u64 $1, 31;", fault},
                  {"no carry", R"(mad\.lo\.s64 (\s*%rd\d+, %rd\d+, %rd\d+), %rd\d+;)",
                   "mul.lo.s64 $1;", fault},
                  {"the reciprocal rounded down", R"(and\.b64 (\s*%rd\d+), (%rd\d+), 4294967295;)",
                   "and.b64 $1, $2, 4294967295; sub.s64 $1, $1, 1;", fault}});
  // Too large a reciprocal is right for all small numbers and wrong for large ones.
  prove::KernelProof large =
      proofOf(*compiled, edited(*compiled, R"(and\.b64 (\s*%rd\d+), (%rd\d+), 4294967295;)",
                                "and.b64 $1, $2, 4294967295; add.s64 $1, $1, 1073741824;"));
  EXPECT_TRUE(large.allRows.empty()) << large.allRows.front();
  EXPECT_FALSE(large.notAllRows.empty());
}

/// Code that only calls with 2^32 vectors and more, or with 2^32 rows and more, reach.
TEST(ProverMutants, BeyondThirtyTwoBitsAreCaught) {
  auto compiled = compileOne("gated_residual", true, "f16_v16_i64");
  ASSERT_TRUE(compiled);
  prove::KernelProof whole = proofOf(*compiled, compiled->text);
  EXPECT_EQ(whole.verdict, prove::Verdict::Proved) << whole.problem;
  ASSERT_FALSE(whole.allRows.empty());
  EXPECT_TRUE(whole.allRows.front().starts_with("batch, ")) << whole.allRows.front();
  expectVerdicts(*compiled, {{"remainder for the first quotient", R"(div\.u64)", "rem.u64", fault},
                             {"remainder for the second quotient", R"((div\.u64[^]*?)div\.u64)",
                              "$1rem.u64", fault},
                             {"the wrong quotient where both are small",
                              R"(div\.u32 (\s*%r\d+, %r\d+), (%r\d+);)", "div.u32 $1, 1;", fault}});
}

TEST(ProverMutants, OfBlocksAreCaught) {
  auto compiled = compileOne(R"(
order tree = (_, warp: 4, lane: 32, _: 4) then halving lane then halving warp
op sums {
  dim rows, n = 1024
  in  x : f32[rows, n]  strides(_, 1)
  out y : f32[rows, n]
  for r: rows {
    let s = reduce i: n by tree
      from s: f32 = 0.0
      step s = fma(x[r, i], x[r, i], s)
      join (a, b) = a + b
    y[r, i] = x[r, i] * s
  }
}
)",
                             false, "v16_i32");
  ASSERT_TRUE(compiled);
  expectVerdicts(*compiled,
                 {{"missing barrier", R"(bar\.sync\s*0;)", "", fault},
                  {"wrong warp's sum", R"((ld\.shared\.b32 .*\[.*)\];)", "$1+4];", notEqual},
                  {"skipped stage", R"(add\.rn\.f32 (\s*%r\d+), (%r\d+), %r\d+;)",
                   "mov.b32 $1, $2;", notEqual}});
}

/// A plan without the kernel for single elements.
TEST(ProverMutants, OfPlansAreCaught) {
  auto compiled = compileOne("swiglu", true, "f16_v16_i32");
  ASSERT_TRUE(compiled);
  auto module = ptx::read(compiled->text);
  ASSERT_TRUE(module);
  prove::Subject subject;
  subject.program = &compiled->program();
  subject.plan = &compiled->plan;
  subject.module = &*module;
  subject.canonicalNaN = [](std::string_view) { return false; };
  EXPECT_EQ(prove::prove(subject).unserved, "") << "it was not asked for";
  subject.hasAllVariants = true;
  prove::Proof proof = prove::prove(subject);
  EXPECT_TRUE(proof.unserved.starts_with("no variant takes the call ")) << proof.unserved;
  EXPECT_EQ(proof.verdict(), notProvable);
}

TEST(ProverMutants, OfNaNsAreCaught) {
  auto compiled = compileOne(R"(
op copy {
  dim n
  in  x : f16[n]
  out y : f16[n]
  y[i] = x[i]
}
)",
                             false, "v16_i32");
  ASSERT_TRUE(compiled);
  expectVerdicts(*compiled,
                 {{"a NaN's bits", R"(selp\.b(16|32) (\s*%r?s?\d+), ([^,]*), ([^,]*), (%p\d+);)",
                   "mov.b$1 $2, $4;", notEqual}});
}

} // namespace
