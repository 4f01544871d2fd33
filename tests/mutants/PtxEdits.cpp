//===-- tests/mutants/PtxEdits.cpp - Faults as edits of the printed PTX ---===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PtxEdits.h"

#include <regex>
#include <vector>

namespace h3::test {
namespace {

/// A load or a store of global memory, whatever its hints: it ends before the type.
const std::string globalLoad = R"(ld\.global[\w.:]*)", globalStore = R"(st\.global[\w.:]*)";

struct Row {
  const char *kind, *name;
  std::string pattern, replacement;
};

const Row ofNormAndRotation[] = {
    {"contraction", "contraction",
     R"(mul\.rn\.f32 (\s*%r\d+), (%r\d+), 0f3C800000;\s*add\.rn\.f32 (\s*%r\d+), %r\d+, (%r\d+);)",
     "fma.rn.f32 $3, $2, 0f3C800000, $4;"},
    {"contraction", "unrounded sum", R"(add\.rn\.f16x2)", "add.f16x2"},
    {"contraction", "unrounded product", R"(mul\.rn\.f32)", "mul.f32"},
    {"contraction", "split fma", R"(fma\.rn\.f32 (\s*%r\d+), (%r\d+), (%r\d+), (%r\d+);)",
     "mul.rn.f32 $1, $2, $3; add.rn.f32 $1, $1, $4;"},
    {"contraction", "packed contraction", R"(mul\.rn\.f16x2 (\s*%r\d+), (%r\d+), (%r\d+);)",
     "fma.rn.f16x2 $1, $2, $3, $2;"},
    {"tree", "swapped stage", R"((shfl\.sync\.bfly\.b32 .*), 4, 31, -1;)", "$1, 2, 31, -1;"},
    {"tree", "start of the sum", R"(fma\.rn\.f32 (.*), 0f00000000;)", "fma.rn.f32 $1, 0f00000001;"},
    {"tree", "skipped step of the sum", R"(fma\.rn\.f32 (\s*%r\d+), %r\d+, %r\d+, (%r\d+);)",
     "mov.b32 $1, $2;"},
    {"tree", "swapped subtraction", R"((sub\.rn\.f16x2 .*), (%r\d+), (%r\d+);)", "$1, $3, $2;"},
    {"tree", "sum for difference", R"(sub\.rn\.f16x2)", "add.rn.f16x2"},
    {"rounding", "rounding mode", R"(cvt\.rn\.f16x2\.f32)", "cvt.rz.f16x2.f32"},
    {"rounding", "rounding of a sum", R"(add\.rn\.f32)", "add.rz.f32"},
    {"rounding", "flushed subnormals", R"(add\.rn\.f32)", "add.rn.ftz.f32"},
    {"rounding", "flushing approximation", R"(rsqrt\.approx\.f32)", "rsqrt.approx.ftz.f32"},
    {"rounding", "swapped halves", R"((cvt\.rn\.f16x2\.f32 .*), (%r\d+), (%r\d+);)", "$1, $3, $2;"},
    {"rounding", "difference from zero", R"(sub\.rn\.f16x2 (\s*%r\d+), (%r\d+), (%r\d+);)",
     "sub.rn.f16x2 $1, $3, $2; sub.rn.f16x2 $1, 0, $1;"},
    {"indexing", "wrong lane", R"((shfl\.sync\.bfly\.b32 .*), 4, 31, -1;)", "$1, 5, 31, -1;"},
    {"indexing", "lane outside the mask", R"((shfl\.sync\.bfly\.b32 .*), 1, 31, -1;)",
     "$1, 1, 31, 1;"},
    {"indexing", "row beyond the last", R"(setp\.lt\.u32 (\s*%p\d+, %r\d+, %r\d+;))",
     "setp.le.u32 $1"},
    {"indexing", "store by its neighbour's lane", R"(and\.b32 (.*), 56;)", "and.b32 $1, 48;"},
    {"indexing", "address of 16 bytes more", "(" + globalLoad + R"(\.v4\.b32[^\n]*\[%rd\d+)\];)",
     "$1+16];"},
    {"indexing", "address of 16 bytes less", "(" + globalLoad + R"(\.v4\.b32[^\n]*\[%rd\d+)\];)",
     "$1+-16];"},
    {"indexing", "misaligned load", "(" + globalLoad + R"(\.v4\.b32[^\n]*\[%rd\d+)\];)", "$1+2];"},
    {"indexing", "misaligned store", "(" + globalStore + R"(\.v4\.b32\s*\[%rd\d+)\])", "$1+4]"},
    {"indexing", "rotated by an element of another row", R"(and\.b32 (.*), 24;)",
     "and.b32 $1, 16;"},
    {"indexing", "rotated by another vector", R"(add\.s32 (.*), 24;)", "add.s32 $1, 16;"},
    {"indexing", "rotated within a group of lanes", R"((shfl\.sync\.idx\.b32 .*), 31, -1;)",
     "$1, 7, -1;"},
    {"indexing", "rotated by its own element",
     R"(shfl\.sync\.idx\.b32 (\s*%r\d+), (%r\d+), [^;]*;)", "mov.b32 $1, $2;"},
    {"memory", "skipped store", globalStore + R"(\.v4\.b32.*;)", ""},
    {"memory", "doubled store", "(" + globalStore + R"(\.v4\.b32.*;))", "$1 $1"},
    {"memory", "half of a store",
     "(" + globalStore + R"()\.v4(\.b32\s*\[%rd\d+\], \{%r\d+, %r\d+), [^}]*\})", "$1.v2$2}"},
    {"memory", "stored in another order",
     "(" + globalStore + R"(\.v4\.b32\s*\[%rd\d+\], \{)(%r\d+), (%r\d+))", "$1$3, $2"},
    {"memory", "loaded in another order", "(" + globalLoad + R"(\.v4\.b32\s*\{)(%r\d+), (%r\d+))",
     "$1$3, $2"},
    {"memory", "one table for both",
     "(" + globalLoad + R"(\.v4\.b32[^\n]*\[(%rd\d+)\];[^\[]*)\[%rd\d+\])", "$1[$2]"},
};

const Row ofQuotients[] = {
    {"indexing", "shift of the quotient", R"(shr\.u64 (.*), 30;)", "shr.u64 $1, 31;"},
    {"indexing", "no carry", R"(mad\.lo\.s64 (\s*%rd\d+, %rd\d+, %rd\d+), %rd\d+;)",
     "mul.lo.s64 $1;"},
    {"indexing", "the reciprocal rounded down", R"(and\.b64 (\s*%rd\d+), (%rd\d+), 4294967295;)",
     "and.b64 $1, $2, 4294967295; sub.s64 $1, $1, 1;"},
};

const Row ofWarps[] = {
    {"memory", "missing barrier", R"(bar\.sync\s*0;)", ""},
    {"tree", "wrong warp's sum", R"((ld\.shared\.b32 .*\[.*)\];)", "$1+128];"},
    {"tree", "skipped join", R"(add\.rn\.f32 (\s*%r\d+), (%r\d+), %r\d+;)", "mov.b32 $1, $2;"},
};

const Row ofCopies[] = {
    {"rounding", "a NaN's bits", R"(selp\.b(16|32) (\s*%r?s?\d+), ([^,]*), ([^,]*), (%p\d+);)",
     "mov.b$1 $2, $4;"},
};

std::vector<PtxEdit> makeEdits() {
  std::vector<PtxEdit> edits;
  auto add = [&](std::span<const Row> rows, const char *spec, const char *op, const char *variant) {
    for (const Row &row : rows)
      edits.push_back({row.kind, row.name, spec, op, variant, row.pattern, row.replacement});
  };
  add(ofNormAndRotation, "qk_norm_rope.spec", "qk_norm_rope", "v16_i32");
  add(ofQuotients, "scaled_residual.spec", "scaled_residual", "f16_v16_i32");
  add(ofWarps, "subjects.spec", "summed_by_warps", "s_i32");
  add(ofCopies, "subjects.spec", "copied_half", "v16_i32");
  return edits;
}

} // namespace

std::span<const PtxEdit> ptxEdits() {
  static const std::vector<PtxEdit> edits = makeEdits();
  return edits;
}

std::string edited(const Image &image, const PtxEdit &edit) {
  const std::string &text = image.text;
  for (const plan::Variant &variant : image.plans.front().variants) {
    if (variant.name != edit.variant)
      continue;
    const size_t begin = text.find(".entry " + variant.entry + "(");
    const size_t end = text.find("\n}", begin); // of its body
    std::string kernel = text.substr(begin, end - begin);
    kernel = std::regex_replace(kernel, std::regex(edit.pattern), edit.replacement,
                                std::regex_constants::format_first_only);
    return text.substr(0, begin) + kernel + text.substr(end);
  }
  return text;
}

} // namespace h3::test
