//===-- tests/unit/syntax/ParserExpressionTest.cpp - Grouping, calls, indices -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/syntax/Parser.h"
#include "tests/unit/syntax/PrintAst.h"

#include <gtest/gtest.h>

namespace h3 {
namespace {

std::string printed(const std::string &expr) {
  SourceFile source{"t.spec", "fn f(x: f32) -> f32 = " + expr};
  Diagnostics diagnostics;
  std::unique_ptr<ast::File> file = parse(source, diagnostics);
  return file ? print(file->functions[0].value) : diagnostics.renderText();
}

/// The first message, or "" for a text that parses.
std::string messageFor(const std::string &expr) {
  SourceFile source{"t.spec", "fn f(x: f32) -> f32 = " + expr};
  Diagnostics diagnostics;
  bool parsed = parse(source, diagnostics) != nullptr;
  EXPECT_EQ(parsed, diagnostics.empty());
  return parsed ? "" : diagnostics.all().front().message;
}

std::string repeat(std::string_view what, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i)
    out += what;
  return out;
}

TEST(ParserExpression, Literals) {
  EXPECT_EQ(printed("1.5e-3"), "1.5e-3");
  EXPECT_EQ(printed("42"), "42");
  EXPECT_EQ(printed("0xFF"), "0xFF");
  EXPECT_EQ(printed("inf"), "inf");
  EXPECT_EQ(printed("nan"), "nan");
  EXPECT_EQ(printed("true or false"), "(or true false)");
}

TEST(ParserExpression, BinaryOperatorsGroupToTheLeft) {
  EXPECT_EQ(printed("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(printed("a / b * c % d"), "(% (* (/ a b) c) d)");
  EXPECT_EQ(printed("a + b - c + d"), "(+ (- (+ a b) c) d)");
  EXPECT_EQ(printed("a or b or c"), "(or (or a b) c)");
  EXPECT_EQ(printed("a and b and c"), "(and (and a b) c)");
}

TEST(ParserExpression, Precedence) {
  EXPECT_EQ(printed("a + b * c"), "(+ a (* b c))");
  EXPECT_EQ(printed("(a + b) * c"), "(* (+ a b) c)");
  EXPECT_EQ(printed("-a * b"), "(* (- a) b)");
  EXPECT_EQ(printed("a * -b"), "(* a (- b))");
  EXPECT_EQ(printed("--a"), "(- (- a))");
  EXPECT_EQ(printed("-a[i].m"), "(- (. (index a i) m))");
  EXPECT_EQ(printed("a + b < c * d"), "(< (+ a b) (* c d))");
  EXPECT_EQ(printed("a == b or c != d and not e >= f"),
            "(or (== a b) (and (!= c d) (not (>= e f))))");
  EXPECT_EQ(printed("not not a"), "(not (not a))");
  EXPECT_EQ(printed("a <= b and b > c"), "(and (<= a b) (> b c))");
}

TEST(ParserExpression, If) {
  EXPECT_EQ(printed("if a then b else c"), "(if a b c)");
  EXPECT_EQ(printed("if a then b else if c then d else e + 1"), "(if a b (if c d (+ e 1)))");
  EXPECT_EQ(printed("if a then if b then c else d else e"), "(if a (if b c d) e)");
  EXPECT_EQ(printed("if if a then b else c then d else e"), "(if (if a b c) d e)");
  EXPECT_EQ(printed("(if a then b else c) + d"), "(+ (if a b c) d)");
}

TEST(ParserExpression, NamesPathsAndMembers) {
  EXPECT_EQ(printed("a.mean"), "a.mean");
  EXPECT_EQ(printed("norm.rms_norm(x, eps)"), "(call norm.rms_norm x eps)");
  EXPECT_EQ(printed("ex2.approx.ftz(q)"), "(call ex2.approx.ftz q)");
  EXPECT_EQ(printed("f32.bits(shl(i32.bits(j), 23))"),
            "(call f32.bits (call shl (call i32.bits j) 23))");
  EXPECT_EQ(printed("max.num(a, b)"), "(call max.num a b)");
  EXPECT_EQ(printed("f(x).n"), "(. (call f x) n)");
  EXPECT_EQ(printed("x[i].n.m"), "(. (. (index x i) n) m)");
  EXPECT_EQ(printed("(a + b).n"), "(. (+ a b) n)");
  EXPECT_EQ(printed("a.b[i].c"), "(. (index a.b i) c)");
}

TEST(ParserExpression, Calls) {
  EXPECT_EQ(printed("f(a, b + 1)"), "(call f a (+ b 1))");
  EXPECT_EQ(printed("Moments(mean = a, m2 = b * c)"), "(call Moments mean=a m2=(* b c))");
  EXPECT_EQ(printed("f(a == b)"), "(call f (== a b))");
  EXPECT_EQ(printed("T(if a then b else c)"), "(call T (if a b c))");
  EXPECT_EQ(printed("f([i: n] x[i], eps)"), "(call f (row [i:n] (index x i)) eps)");
}

TEST(ParserExpression, IndicesAndDigits) {
  EXPECT_EQ(printed("x[i, j + 1]"), "(index x i (+ j 1))");
  EXPECT_EQ(printed("x[i][j]"), "(index (index x i) j)");
  EXPECT_EQ(printed("v[(h, p, 0)]"), "(index v (h p 0))");
  EXPECT_EQ(printed("x[r, (1, i)]"), "(index x r (1 i))");
  EXPECT_EQ(printed("x[(a + b) * 2, (c)]"), "(index x (* (+ a b) 2) c)");
  EXPECT_EQ(printed("x[(f(a, b))]"), "(index x (call f a b))");
  EXPECT_EQ(messageFor("x[((a, b)[i])]"), "expected ')', found ','");
}

TEST(ParserExpression, Rows) {
  EXPECT_EQ(printed("[i: n] x[i] + 1"), "(row [i:n] (+ (index x i) 1))");
  EXPECT_EQ(printed("[i: n, j: 2 * m] y[j, i]"), "(row [i:n j:(* 2 m)] (index y j i))");
  EXPECT_EQ(printed("[(c: per, p: hw)] x[n, (g, c), p]"),
            "(row [(c:per p:hw)] (index x n (g c) p))");
  EXPECT_EQ(printed("[i: n] [j: m] x[i, j]"), "(row [i:n] (row [j:m] (index x i j)))");
  EXPECT_EQ(printed("[i: d] if i < r / 2 then a else b"), "(row [i:d] (if (< i (/ r 2)) a b))");
}

TEST(ParserExpression, Reductions) {
  EXPECT_EQ(printed("reduce i: n by any of x[i] join (a, b) = max(a, b)"),
            "(reduce i:n by any of (index x i) join a b (call max a b))");
  EXPECT_EQ(printed("reduce i: n by norm.row from s: f32 = 0.0 step s = s + x[i] "
                    "join (a, b) = a + b"),
            "(reduce i:n by norm.row from s:f32 0.0 step s (+ s (index x i)) join a b (+ a b))");
  EXPECT_EQ(printed("reduce (k: 4, c: m) by o from s = z step s = s join (l, r) = l"),
            "(reduce (k:4 c:m) by o from s z step s s join l r l)");
}

TEST(ParserExpression, RangesCoverTheText) {
  SourceFile source{"t.spec", "fn f(x: f32) -> f32 = (a + b) * c.d(x[i], 1)"};
  Diagnostics diagnostics;
  std::unique_ptr<ast::File> file = parse(source, diagnostics);
  auto text = [&](const ast::Expr &e) {
    return source.text.substr(e.range.begin, e.range.end - e.range.begin);
  };
  const ast::Expr &product = *file->functions[0].value.expr;
  EXPECT_EQ(text(product), "(a + b) * c.d(x[i], 1)");
  EXPECT_EQ(text(*product.operands[0]), "(a + b)");
  EXPECT_EQ(text(*product.operands[1]), "c.d(x[i], 1)");
  EXPECT_EQ(text(*product.operands[1]->operands[0]), "c.d");
  EXPECT_EQ(text(*product.operands[1]->operands[1]), "x[i]");
}

TEST(ParserExpression, NestingIsBounded) {
  const std::string tooDeep = "expression nested deeper than 200";
  EXPECT_EQ(messageFor(repeat("(", 199) + "x" + repeat(")", 199)), "");
  EXPECT_EQ(messageFor(repeat("(", 200) + "x" + repeat(")", 200)), tooDeep);
  EXPECT_EQ(messageFor(repeat("(", 10'000) + "x" + repeat(")", 10'000)), tooDeep);
  EXPECT_EQ(messageFor(repeat("(", 1'000'000)), tooDeep);
  EXPECT_EQ(messageFor(repeat("-", 10'000) + "x"), tooDeep);
  EXPECT_EQ(messageFor(repeat("not ", 10'000) + "x"), tooDeep);
  EXPECT_EQ(messageFor(repeat("f(", 10'000) + "x" + repeat(")", 10'000)), tooDeep);
  EXPECT_EQ(messageFor(repeat("x[", 10'000) + "i" + repeat("]", 10'000)), tooDeep);
  EXPECT_EQ(messageFor(repeat("x[(i, ", 10'000) + "i" + repeat(")]", 10'000)), tooDeep);
  EXPECT_EQ(messageFor(repeat("[i: n] ", 10'000) + "x"), tooDeep);
  EXPECT_EQ(messageFor(repeat("[i: (", 10'000) + "x"), tooDeep);
  EXPECT_EQ(messageFor(repeat("if a then ", 10'000) + "x"), tooDeep);
  EXPECT_EQ(messageFor(repeat("if ", 10'000) + "x"), tooDeep);
}

TEST(ParserExpression, ChainsAreBounded) {
  const std::string tooLong = "expression in which more than 1000 operations build on each other";
  EXPECT_EQ(messageFor("x" + repeat(" + x", 999)), "");
  EXPECT_EQ(messageFor("x" + repeat(" + x", 1000)), tooLong);
  EXPECT_EQ(messageFor("x" + repeat(" + x", 10'000)), tooLong);
  EXPECT_EQ(messageFor("x" + repeat(" * x", 10'000)), tooLong);
  EXPECT_EQ(messageFor("x" + repeat(" or x", 10'000)), tooLong);
  EXPECT_EQ(messageFor("x" + repeat(" and x", 10'000)), tooLong);
  EXPECT_EQ(messageFor("x" + repeat("[i]", 10'000)), tooLong);
  EXPECT_EQ(messageFor("x[i]" + repeat(".n", 10'000)), tooLong);
  EXPECT_EQ(messageFor(repeat("if a then b else ", 900) + "c"), "");
  EXPECT_EQ(messageFor(repeat("if a then b else ", 10'000) + "c"), tooLong);
  // Chains inside one another count together: no tree is higher than 1,000.
  std::string nested = "x";
  for (int i = 0; i < 100; ++i)
    nested = "(" + nested + repeat(" + x", 20) + ")";
  EXPECT_EQ(messageFor(nested), tooLong);
}

TEST(ParserExpression, WideListsAreFine) {
  EXPECT_EQ(messageFor("f(x" + repeat(", x", 100'000) + ")"), "");
  EXPECT_EQ(messageFor("x[i" + repeat(", i", 100'000) + "]"), "");
  EXPECT_EQ(messageFor("a" + repeat(".a", 499)), "");
  EXPECT_EQ(messageFor("a" + repeat(".a", 100'000)), "a path of more than 1000 characters");
}

} // namespace
} // namespace h3
