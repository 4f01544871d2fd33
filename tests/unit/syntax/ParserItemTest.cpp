//===-- tests/unit/syntax/ParserItemTest.cpp - Items, statements, documentation -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/syntax/Parser.h"
#include "tests/unit/syntax/PrintAst.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace h3 {
namespace {

/// A parsed text, kept alive with its source.
struct Parsed {
  std::unique_ptr<SourceFile> source;
  Diagnostics diagnostics;
  std::unique_ptr<ast::File> file;

  explicit Parsed(std::string text) : source(new SourceFile{"t.spec", std::move(text)}) {
    file = parse(*source, diagnostics);
  }
};

std::string printed(const std::string &text) {
  Parsed parsed(text);
  return parsed.file ? print(*parsed.file) : parsed.diagnostics.renderText();
}

TEST(ParserItem, EmptyFile) {
  EXPECT_EQ(printed(""), "");
  EXPECT_EQ(printed(" \n// nothing but a comment"), "");
}

TEST(ParserItem, Uses) { EXPECT_EQ(printed("use a use b.c.d"), "use a\nuse b.c.d\n"); }

TEST(ParserItem, Records) {
  EXPECT_EQ(printed("record R { a: f32 }"), "record R {a:f32}\n");
  EXPECT_EQ(printed("record R { a: f32, b: norm.Moments }"), "record R {a:f32 b:norm.Moments}\n");
}

TEST(ParserItem, Orders) {
  EXPECT_EQ(printed("order a = (_)"), "order a (_)\n");
  EXPECT_EQ(printed("order a = (lane) then serial lane"), "order a (lane) then serial lane\n");
  EXPECT_EQ(printed("order a = (_, warp: 4, lane: 32, _: 4) then halving lane then adjacent warp"),
            "order a (_ warp:4 lane:32 _:4) then halving lane then adjacent warp\n");
}

TEST(ParserItem, OrderAlone) {
  SourceFile source{"<order>", "(_, lane: 32) then halving lane"};
  Diagnostics diagnostics;
  std::optional<ast::Order> order = parseOrder(source, diagnostics);
  ASSERT_TRUE(order);
  EXPECT_EQ(print(*order), "order  (_ lane:32) then halving lane");
  EXPECT_EQ(order->range.begin, 0u);
  EXPECT_EQ(order->range.end, source.text.size());
  EXPECT_EQ(*order->digits[1].radix, 32);
  EXPECT_FALSE(order->digits[0].radix);

  SourceFile more{"<order>", "(lane: 32) then halving lane lane"};
  EXPECT_FALSE(parseOrder(more, diagnostics));
  EXPECT_EQ(diagnostics.renderText(),
            "<order>:1:30: error: expected 'then' or the end of the order, found 'lane'\n"
            "(lane: 32) then halving lane lane\n"
            "                             ^~~~\n");
  Diagnostics none;
  SourceFile empty{"<order>", ""};
  EXPECT_FALSE(parseOrder(empty, none));
  EXPECT_EQ(none.all()[0].message,
            "expected '(' before the digits of an order, found the end of the text");
}

TEST(ParserItem, Functions) {
  EXPECT_EQ(printed("fn f(x: f32) -> f32 = x"), "fn f(x:f32) -> f32 = x\n");
  EXPECT_EQ(printed("fn f<T, U: f16 | bf16>(x: T[n, 2 * d], tree: order, s: norm.M) -> U[n] = x"),
            "fn f<T U:f16|bf16>(x:T[n (* 2 d)] tree:order s:norm.M) -> U[n] = x\n");
  EXPECT_EQ(printed("fn f(x: f32) -> f32 { let a = x let b[i: n, (j: m, k: 2)] = x[i]\n"
                    "let c: f32 = 1.0 return a + b }"),
            "fn f(x:f32) -> f32 = let a = x; let b[i:n (j:m k:2)] = (index x i); "
            "let c:f32 = 1.0; (+ a b)\n");
  EXPECT_EQ(printed("fn f(x: f32) -> f32 { return reduce i: n by any of x join (a, b) = a }"),
            "fn f(x:f32) -> f32 = (reduce i:n by any of x join a b a)\n");
}

TEST(ParserItem, OperatorsWithEveryClause) {
  EXPECT_EQ(printed("op f<T: f16 | f32, U: bf16>(eps: f32 = 1e-5, k: i32) each {\n"
                    "  dim a, b = 64, c = a * b * 2\n"
                    "  require a % 4 == 0 and b <= 100\n"
                    "  dim d\n"
                    "  in x, y: T[a, b] strides(_, 1) align(4)\n"
                    "  in s: f32\n"
                    "  out z: f32[a, b] align(8) may alias x strides(64, 1)\n"
                    "  let q = eps\n"
                    "  z[i, (h, p)] = q\n"
                    "  for r: a, j: b * 2 { let w[i: n] = x[r, i] z[r] = w }\n"
                    "  z = x\n"
                    "}"),
            "op f<T:f16|f32 U:bf16>(eps:f32=1e-5 k:i32) each\n"
            "  dim a\n"
            "  dim b = 64\n"
            "  dim c = (* (* a b) 2)\n"
            "  dim d\n"
            "  require (and (== (% a 4) 0) (<= b 100))\n"
            "  in x: T[a b] strides(_ 1) align(4)\n"
            "  in y: T[a b] strides(_ 1) align(4)\n"
            "  in s: f32\n"
            "  out z: f32[a b] strides(64 1) align(8) may alias x\n"
            "  let q = eps\n"
            "  z[i (h p)] = q\n"
            "  for r:a j:(* b 2) {let w[i:n] = (index x r i); z[r] = w}\n"
            "  z = x\n");
  EXPECT_EQ(printed("op f { }"), "op f\n");
}

TEST(ParserItem, ExpressionsEndByThemselves) {
  EXPECT_EQ(printed("op f { let a = x\n y[i] = a\n let b = a\n z = b }"),
            "op f\n  let a = x\n  y[i] = a\n  let b = a\n  z = b\n");
  EXPECT_EQ(printed("fn f(x: f32) -> f32 = x fn g(x: f32) -> f32 = x"),
            "fn f(x:f32) -> f32 = x\nfn g(x:f32) -> f32 = x\n");
  EXPECT_EQ(printed("fn f(tree: order) -> f32 = g(tree) order o = (_)"),
            "order o (_)\nfn f(tree:order) -> f32 = (call g tree)\n");
}

TEST(ParserItem, NewlinesOnlySeparate) {
  EXPECT_EQ(printed("fn\r\nf\n(\nx\n:\nf32\n)\n->\n// comment\nf32\n=\nx\n[\ni\n]"),
            "fn f(x:f32) -> f32 = (index x i)\n");
}

TEST(ParserItem, Documentation) {
  Parsed parsed("// The file.\n"
                "//\n"
                "//   Indented.\n"
                "\n"
                "// Not documentation of anything.\n"
                "\n"
                "// An order,\r\n"
                "// of two lines.\r\n"
                "order a = (_) // behind\n"
                "fn f(x: f32) -> f32 = x // behind\n"
                "//No space.\n"
                "fn g(x: f32) -> f32 = x\n"
                "// A record.\n"
                "record R { a: f32 }\n"
                "// Away.\n"
                "\n"
                "op o { } // behind\n"
                "  // An operator.\n"
                "  op p { } op q { }\n");
  ASSERT_TRUE(parsed.file) << parsed.diagnostics.renderText();
  EXPECT_EQ(parsed.file->documentation, "The file.\n\n  Indented.");
  EXPECT_EQ(parsed.file->orders[0].documentation, "An order,\nof two lines.");
  EXPECT_EQ(parsed.file->functions[0].documentation, "");
  EXPECT_EQ(parsed.file->functions[1].documentation, "No space.");
  EXPECT_EQ(parsed.file->records[0].documentation, "A record.");
  EXPECT_EQ(parsed.file->operators[0].documentation, "");
  EXPECT_EQ(parsed.file->operators[1].documentation, "An operator.");
  EXPECT_EQ(parsed.file->operators[2].documentation, "");
}

TEST(ParserItem, HeadDirectlyAboveAnItemDocumentsBoth) {
  Parsed parsed("// SwiGLU.\nop swiglu { }");
  EXPECT_EQ(parsed.file->documentation, "SwiGLU.");
  EXPECT_EQ(parsed.file->operators[0].documentation, "SwiGLU.");
  Parsed behind("use a // b\n// c\n");
  EXPECT_EQ(behind.file->documentation, "");
}

TEST(ParserItem, GivesUpAfterAHundredBadItems) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "fn ";
  Parsed parsed(text);
  EXPECT_FALSE(parsed.file);
  EXPECT_EQ(parsed.diagnostics.size(), 100u);
}

TEST(ParserItem, EverySpecParses) {
  size_t count = 0;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(H3_SPECS_DIR)) {
    if (entry.path().extension() != ".spec")
      continue;
    ++count;
    std::ifstream stream(entry.path());
    std::stringstream text;
    text << stream.rdbuf();
    Parsed parsed(text.str());
    EXPECT_TRUE(parsed.file) << entry.path() << "\n" << parsed.diagnostics.renderText();
    if (parsed.file) {
      EXPECT_NE(parsed.file->documentation, "") << entry.path();
    }
  }
  EXPECT_GE(count, 6u);
}

} // namespace
} // namespace h3
