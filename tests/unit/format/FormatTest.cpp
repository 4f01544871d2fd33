//===-- tests/unit/format/FormatTest.cpp - The one layout of specs --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/format/Format.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace h3 {
namespace {

std::string formatted(const std::string &text) {
  SourceFile source{"f.spec", text};
  Diagnostics diagnostics;
  std::optional<std::string> made = format(source, diagnostics);
  return made ? *made : diagnostics.renderText();
}

/// The text is what the formatter would write.
void keeps(const std::string &text) { EXPECT_EQ(formatted(text), text); }

TEST(Format, SpecsOfThisProject) {
  size_t tried = 0;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(H3_SPECS_DIR)) {
    if (entry.path().extension() != ".spec")
      continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    EXPECT_EQ(formatted(text.str()), text.str())
        << entry.path() << ": mend it with 'h3gen fmt " << entry.path().string() << "'";
    ++tried;
  }
  EXPECT_GE(tried, 5u);
}

TEST(Format, NothingButWhitespaceIsNothing) {
  EXPECT_EQ(formatted(""), "");
  EXPECT_EQ(formatted("\n \r\n\t\n"), "");
  EXPECT_EQ(formatted("\n\n// c  \n\n\n// d\n\n"), "// c\n\n// d\n");
}

TEST(Format, ErrorsAreReported) {
  EXPECT_EQ(formatted("fn f("), "f.spec:1:6: error: expected the name of a parameter, found the "
                                "end of the text\nfn f(\n     ^\n");
}

TEST(Format, TensorsStandInColumns) {
  EXPECT_EQ(formatted("op f{dim rows,n=4\nin x:T[rows,n] strides(_,1) align(4)\n"
                      "in scale,w: f16[n] align(8)\nout y:T[rows,n]may alias x\n\n\n"
                      "in z: f32[n]}"),
            "op f {\n"
            "  dim rows, n = 4\n"
            "  in  x        : T[rows, n]  strides(_, 1)  align(4)\n"
            "  in  scale, w : f16[n]                     align(8)\n"
            "  out y        : T[rows, n]  may alias x\n"
            "\n"
            "  in  z : f32[n]\n"
            "}\n");
}

TEST(Format, EqualsSignsStandInColumns) {
  keeps("fn f(x: f32) -> f32 {\n"
        "  let a     = x\n"
        "  let later = a + 1.0\n"
        "\n"
        "  let b = a\n"
        "  // A line of its own.\n"
        "  let longer = b\n"
        "  return a\n"
        "}\n"
        "\n"
        "op g {\n"
        "  h[r]    = s\n"
        "  y[r, i] = f16(n[i])\n"
        "}\n");
}

TEST(Format, OrdersStandInColumns) {
  keeps("order short       = (_, acc: 4, lane: 32)  then serial acc then halving lane\n"
        "order longer_name = (_, lane: 32)          then halving lane\n"
        "\n"
        "order alone = (_, lane: 32) then halving lane\n");
}

TEST(Format, OperatorsAndBrackets) {
  EXPECT_EQ(formatted("fn f<T:f16|bf16 , U>(x:T[n+ 1],tree:order)->T=-x[ ( 0,i ) ,-1]*(a. b(c=1 ,"
                      "d=-  -y)-2)<3 or not z [i].w"),
            "fn f<T: f16 | bf16, U>(x: T[n + 1], tree: order) -> T =\n"
            "  -x[(0, i), -1] * (a.b(c = 1, d = --y) - 2) < 3 or not z[i].w\n");
  // Glued, it would be another token.
  keeps("fn f(x: f32) -> f32 = 1 .a\n");
}

TEST(Format, ConditionsThatAreTooLongStandInColumns) {
  keeps("fn neox<T>(x: T[d], cos: T[r], sin: T[r]) -> T[d] =\n"
        "  [i: d] if      i < r / 2 then x[i] * cos[i] + (-x[i + r / 2]) * sin[i]\n"
        "         else if i < r     then x[i] * cos[i] + x[i - r / 2] * sin[i]\n"
        "         else                   x[i]\n");
  keeps("op f {\n"
        "  y[t] = if n < 128 then norm.rms_composite(x[t], w, factor, eps, norm.sum_short)\n"
        "                    else norm.rms_composite(x[t], w, factor, eps, norm.sum_vec4)\n"
        "}\n");
}

TEST(Format, ConditionsThatAreTooLongForThatHang) {
  keeps("fn merge(lo: Moments, hi: Moments) -> Moments {\n"
        "  return if n > 0.0\n"
        "    then Moments(mean = fma(nhi, hi.mean, nlo * lo.mean),\n"
        "                 m2   = fma(d * d * hi.n, nlo, lo.m2 + hi.m2),\n"
        "                 n    = n)\n"
        "    else Moments(mean = 0.0, m2 = 0.0, n = n)\n"
        "}\n");
}

TEST(Format, ReductionsHaveAClauseALine) {
  keeps("fn f(x: f32[n]) -> f32 {\n"
        "  let m = reduce i: n by any of x[i] join (a, b) = max(a, b)\n"
        "  let z = reduce i: n by warp_row\n"
        "    from s: f32 = 0.0\n"
        "    step s = s + e[i]\n"
        "    join (a, b) = a + b\n"
        "  return m\n"
        "}\n"
        "\n"
        "fn g<T>(x: T[n]) -> Moments =\n"
        "  reduce i: n by row_vec4\n"
        "    from s: Moments = Moments(mean = 0.0, m2 = 0.0, n = 0.0)\n"
        "    step s = push(s, f32(x[i]))\n"
        "    join (lo, hi) = merge(lo, hi)\n");
}

TEST(Format, LongSumsBreakBeforeOperators) {
  EXPECT_EQ(formatted("fn f(x: f32) -> f32 { let sum = first_summand_of_many * factor + "
                      "second_summand_of_many * factor - third_summand_of_many * factor return "
                      "sum }"),
            "fn f(x: f32) -> f32 {\n"
            "  let sum = first_summand_of_many * factor + second_summand_of_many * factor\n"
            "            - third_summand_of_many * factor\n"
            "  return sum\n"
            "}\n");
}

TEST(Format, CommentsStayWhereTheyAre) {
  keeps("// The file.\n"
        "\n"
        "// Of f.\n"
        "fn f(x: f32,  // behind the first parameter\n"
        "     // before the second\n"
        "     y: f32) -> f32 {  // behind the brace\n"
        "  // before a\n"
        "  let a = x                   // behind a\n"
        "  let s = reduce i: n by any  // behind the order\n"
        "    // before of\n"
        "    of x\n"
        "    join (a, b) = a + b  // behind\n"
        "                         // and on\n"
        "\n"
        "  // before the result\n"
        "  return a\n"
        "  // before the end\n"
        "}  // the end\n"
        "// the very end\n");
}

TEST(Format, CommentsBehindCodeStandInColumns) {
  EXPECT_EQ(formatted("use a// one\nuse longer   // two\n\nuse b // three\n"),
            "use a       // one\n"
            "use longer  // two\n"
            "\n"
            "use b  // three\n");
}

TEST(Format, BlankLinesAreKeptOnce) {
  EXPECT_EQ(formatted("\n\nuse a\n\n\n\nuse b\nop f {\n\n  dim n\n\n\n\n  in x: f32[n]\n\n}\n\n"),
            "use a\n\nuse b\nop f {\n  dim n\n\n  in  x : f32[n]\n}\n");
}

} // namespace
} // namespace h3
