//===-- tests/unit/syntax/ParserErrorTest.cpp - What is said about mistakes -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/syntax/Parser.h"

#include <gtest/gtest.h>

namespace h3 {
namespace {

/// Each error as `line:column: message`, then `  hint: ...` and `  note: line:column: ...`.
std::string errors(const std::string &text) {
  SourceFile source{"t.spec", text};
  Diagnostics diagnostics;
  if (parse(source, diagnostics))
    return "none";
  auto place = [](const SourceRange &range) {
    LineColumn at = lineColumn(*range.file, range.begin);
    return std::to_string(at.line) + ":" + std::to_string(at.column) + ": ";
  };
  std::string out;
  for (const Diagnostic &diagnostic : diagnostics.all()) {
    out += place(diagnostic.range) + diagnostic.message + "\n";
    if (!diagnostic.hint.empty())
      out += "  hint: " + diagnostic.hint + "\n";
    for (const Note &note : diagnostic.notes)
      out += "  note: " + place(note.range) + note.message + "\n";
  }
  return out;
}

std::string inExpr(const std::string &expr) { return errors("fn f(x: f32) -> f32 = " + expr); }

TEST(ParserError, If) {
  EXPECT_EQ(inExpr("if x = 1.0 then x else 2.0"),
            "1:28: expected 'then' after the condition, found '='\n"
            "  hint: two values are compared with '=='\n");
  EXPECT_EQ(inExpr("if x > 1.0 x else 2.0"),
            "1:34: expected 'then' after the condition, found 'x'\n"
            "  hint: an 'if' is written 'if condition then value else value'\n");
  EXPECT_EQ(inExpr("if x > 1.0 then x"),
            "1:40: expected 'else' after the value of 'then', found the end of the text\n"
            "  hint: every 'if' has a value, so it has an 'else'\n");
  EXPECT_EQ(inExpr("if (x > 1.0) { x }"),
            "1:36: expected 'then' after the condition, found '{'\n"
            "  hint: an 'if' is written 'if condition then value else value'\n");
  EXPECT_EQ(inExpr("a + if x then y else z"), "1:27: expected a value, found 'if'\n"
                                              "  hint: put the 'if' in parentheses\n");
  EXPECT_EQ(inExpr("if a then b else if c then d"),
            "1:51: expected 'else' after the value of 'then', found the end of the text\n"
            "  hint: every 'if' has a value, so it has an 'else'\n");
}

TEST(ParserError, Numbers) {
  EXPECT_EQ(inExpr("x * 0.5f"),
            "1:27: '0.5f' is not a number\n"
            "  hint: leave out the 'f': a number takes its type from where it is used\n");
  EXPECT_EQ(inExpr("x * .5"), "1:27: a digit must stand before the '.'\n"
                              "  hint: write '0.5'\n");
  EXPECT_EQ(inExpr("x * 1."), "1:27: a digit must follow the '.' of '1.'\n"
                              "  hint: write '1.0'\n");
  EXPECT_EQ(inExpr("x * 2d"), "1:27: '2d' is not a number\n"
                              "  hint: write '2 * d' for a product\n");
  EXPECT_EQ(inExpr("x * 1_000"), "1:27: '1_000' is not a number\n"
                                 "  hint: digits are written without a separator\n");
  EXPECT_EQ(inExpr("x * 1e"), "1:27: '1e' is not a number\n"
                              "  hint: an exponent has digits, as in '1e-5'\n");
  EXPECT_EQ(inExpr("0x"), "1:23: '0x' is not a number\n"
                          "  hint: a bit pattern is written '0x' and hexadecimal digits\n");
  EXPECT_EQ(inExpr("0xG"), "1:23: '0xG' is not a number\n"
                           "  hint: a bit pattern is written '0x' and hexadecimal digits\n");
  EXPECT_EQ(inExpr("0XFF"), "1:23: '0XFF' is not a number\n"
                            "  hint: write '0x' with a small x\n");
  EXPECT_EQ(inExpr("0x12345678901234567"), "1:23: '0x12345678901234567' has more than 64 bits\n");
  EXPECT_EQ(
      inExpr("9223372036854775808"),
      "1:23: '9223372036854775808' is larger than the largest integer, 9223372036854775807\n");
  EXPECT_EQ(inExpr("x[i].5"), "1:27: expected a name after '.', found '5'\n");
  EXPECT_EQ(inExpr("x.5"), "1:24: expected a name after '.', found '5'\n");
  EXPECT_EQ(inExpr("_a"), "1:23: '_a' is not a name\n"
                          "  hint: a name begins with a letter\n");
  EXPECT_EQ(inExpr("_"), "1:23: expected a value, found '_'\n"
                         "  hint: '_' stands only in orders and strides\n");
}

TEST(ParserError, ForeignOperators) {
  EXPECT_EQ(inExpr("a && b"), "1:25: '&&' is not an operator\n"
                              "  hint: write 'and'\n");
  EXPECT_EQ(inExpr("a || b"), "1:25: '||' is not an operator\n"
                              "  hint: write 'or'\n");
  EXPECT_EQ(inExpr("!a"), "1:23: '!' is not an operator\n"
                          "  hint: write 'not'\n");
  EXPECT_EQ(inExpr("a & b"), "1:25: '&' is not an operator\n"
                             "  hint: write 'and'\n");
  EXPECT_EQ(inExpr("a | b"), "1:25: expected 'record', 'order', 'fn' or 'op', found '|'\n"
                             "  hint: '|' stands only between types; write 'or'\n");
  EXPECT_EQ(inExpr("a << 2"), "1:25: '<<' is not an operator\n"
                              "  hint: write 'shl(x, count)'\n");
  EXPECT_EQ(inExpr("a >> 2"), "1:25: '>>' is not an operator\n"
                              "  hint: write 'shr(x, count)'\n");
  EXPECT_EQ(inExpr("a ^ 2"), "1:25: '^' is not an operator\n"
                             "  hint: there is no power operator; write a product\n");
  EXPECT_EQ(inExpr("a ** 2.0"), "1:26: expected a value, found '*'\n"
                                "  hint: there is no power operator; write a product\n");
  EXPECT_EQ(inExpr("a += b"), "1:25: '+=' is not an operator\n"
                              "  hint: there is no assignment; each name is defined once\n");
  EXPECT_EQ(inExpr("a ? b : c"), "1:25: '?' is not an operator\n"
                                 "  hint: write 'if condition then value else value'\n");
  EXPECT_EQ(inExpr("+a"), "1:23: expected a value, found '+'\n");
  EXPECT_EQ(inExpr("a := b"), "1:25: ':=' is not an operator\n"
                              "  hint: write '='\n");
  EXPECT_EQ(inExpr("\"abc\""), "1:23: there are no strings in specs\n");
  EXPECT_EQ(inExpr("'c'"), "1:23: there are no strings in specs\n");
  EXPECT_EQ(inExpr("a @ b"), "1:25: '@' is not used in specs\n");
  EXPECT_EQ(inExpr("a @@@ b"), "1:25: '@' is not used in specs\n");
  EXPECT_EQ(errors("# c\n"
                   "fn f(x: f32) -> f32 = x"),
            "1:1: '#' does not begin a comment\n"
            "  hint: a comment begins with '//' and ends with its line\n");
  EXPECT_EQ(errors("/* c */\n"
                   "fn f(x: f32) -> f32 = x"),
            "1:1: '/*' does not begin a comment\n"
            "  hint: a comment begins with '//' and ends with its line\n");
  EXPECT_EQ(inExpr("x \xC3\x97"
                   " 2.0"),
            "1:25: '\xC3\x97"
            "' (U+00D7) may only stand in a comment\n"
            "  hint: write '*'\n");
  EXPECT_EQ(inExpr("x \xE2\x89\xA4"
                   " 2.0"),
            "1:25: '\xE2\x89\xA4"
            "' (U+2264) may only stand in a comment\n"
            "  hint: write '<='\n");
  EXPECT_EQ(inExpr("\xCE\xB1"
                   ""),
            "1:23: '\xCE\xB1"
            "' (U+03B1) may only stand in a comment\n");
  EXPECT_EQ(errors("\xEF\xBB\xBF"
                   "fn f(x: f32) -> f32 = x"),
            "1:1: '\xEF\xBB\xBF"
            "' (U+FEFF) may only stand in a comment\n"
            "  hint: save the file without a byte order mark\n");
  EXPECT_EQ(inExpr("x \007 y"), "1:25: control character 0x07 outside a comment\n");
}

TEST(ParserError, SemicolonsAreSaidOnce) {
  EXPECT_EQ(errors("fn f(x: f32) -> f32 {\n"
                   "  let a = x;\n"
                   "  let b = a;\n"
                   "  return b;\n"
                   "}\n"
                   "fn g(x: f32) -> f32 = x;\n"
                   "fn h(x: f32) -> f32 = x +"),
            "2:12: ';' is not used in specs\n"
            "  hint: leave it out: statements end by themselves\n"
            "7:26: expected a value, found the end of the text\n");
}

TEST(ParserError, ClosingBrackets) {
  EXPECT_EQ(inExpr("g(x, (x + 1.0)\n"
                   "fn g(x: f32) -> f32 = x"),
            "1:37: expected ',' or ')', found 'fn'\n"
            "  note: 1:24: the '(' is here\n");
  EXPECT_EQ(inExpr("x[0"), "1:26: expected ',' or ']', found the end of the text\n"
                           "  note: 1:24: the '[' is here\n");
  EXPECT_EQ(inExpr("(x]"), "1:25: expected ')', found ']'\n"
                           "  note: 1:23: the '(' is here\n");
  EXPECT_EQ(errors("op f { dim n in x: f32[n] out y: f32[n]\n"
                   "  y[i] = x[i]\n"
                   "fn g(x: f32) -> f32 = x"),
            "2:14: expected a statement or '}', found 'fn'\n"
            "  note: 1:6: the '{' is here\n");
  EXPECT_EQ(errors("fn f(x: f32 -> f32 = x"), "1:13: expected ',' or ')', found '->'\n"
                                              "  note: 1:5: the '(' is here\n");
  EXPECT_EQ(errors("op f<T: f16 bf16> { dim n }"), "1:13: expected ',' or '>', found 'bf16'\n"
                                                   "  note: 1:5: the '<' is here\n");
  EXPECT_EQ(errors("record R { a: f32"), "1:18: expected ',' or '}', found the end of the text\n"
                                         "  note: 1:10: the '{' is here\n");
  EXPECT_EQ(errors("op f { for i: n { y[i] = x }"),
            "1:29: expected a statement or '}', found the end of the text\n"
            "  note: 1:6: the '{' is here\n");
  EXPECT_EQ(inExpr("[i: n x[i]"), "1:29: expected ',' or ']', found 'x'\n"
                                  "  note: 1:23: the '[' is here\n");
  EXPECT_EQ(errors("op f { in x: f32[n strides(1) }"),
            "1:20: expected ',' or ']', found 'strides'\n"
            "  note: 1:17: the '[' is here\n");
  EXPECT_EQ(errors("op f { in x: f32[n] strides(1 }"), "1:31: expected ',' or ')', found '}'\n"
                                                       "  note: 1:28: the '(' is here\n");
  EXPECT_EQ(errors("order o = (a: 2"), "1:16: expected ',' or ')', found the end of the text\n"
                                       "  note: 1:11: the '(' is here\n");
}

TEST(ParserError, ReservedWords) {
  EXPECT_EQ(errors("fn step(x: f32) -> f32 = x"),
            "1:4: expected the name of a function, found 'step'\n"
            "  hint: 'step' is a reserved word; choose another name, such as 'step_'\n");
  EXPECT_EQ(errors("fn f(step: f32) -> f32 = x"),
            "1:6: expected the name of a parameter, found 'step'\n"
            "  hint: 'step' is a reserved word; choose another name, such as 'step_'\n");
  EXPECT_EQ(errors("fn f(x: f32) -> f32 { let of = x return of }"),
            "1:27: expected the name of a value, found 'of'\n"
            "  hint: 'of' is a reserved word; choose another name, such as 'of_'\n");
  EXPECT_EQ(inExpr("x + step * 2.0"),
            "1:27: expected a value, found 'step'\n"
            "  hint: 'step' is a reserved word; choose another name, such as 'step_'\n");
  EXPECT_EQ(inExpr("[in: n] x"),
            "1:24: expected the name of an index, found 'in'\n"
            "  hint: 'in' is a reserved word; choose another name, such as 'in_'\n");
  EXPECT_EQ(errors("use eager.step"),
            "1:11: expected a name after '.', found 'step'\n"
            "  hint: 'step' is a reserved word; choose another name, such as 'step_'\n");
  EXPECT_EQ(inExpr("a[i].step + 1.0"),
            "1:28: expected the name of a field after '.', found 'step'\n"
            "  hint: 'step' is a reserved word; choose another name, such as 'step_'\n");
  EXPECT_EQ(inExpr("a.step + 1.0"),
            "1:25: expected a name after '.', found 'step'\n"
            "  hint: 'step' is a reserved word; choose another name, such as 'step_'\n");
  EXPECT_EQ(errors("op f { y[by] = 1.0 }"),
            "1:10: expected an index, found 'by'\n"
            "  hint: 'by' is a reserved word; choose another name, such as 'by_'\n");
  EXPECT_EQ(errors("op f { out out: f32 }"),
            "1:12: expected the name of a tensor, found 'out'\n"
            "  hint: 'out' is a reserved word; choose another name, such as 'out_'\n");
  EXPECT_EQ(errors("record order { a: f32 }"),
            "1:8: expected the name of a record, found 'order'\n"
            "  hint: 'order' is a reserved word; choose another name, such as 'order_'\n");
}

TEST(ParserError, Expressions) {
  EXPECT_EQ(inExpr(""), "1:23: expected a value, found the end of the text\n");
  EXPECT_EQ(inExpr("a +"), "1:26: expected a value, found the end of the text\n");
  EXPECT_EQ(inExpr("a < b < c"), "1:29: comparisons do not chain\n"
                                 "  hint: write 'a < b and b < c'\n");
  EXPECT_EQ(inExpr("1.0 + [i: n] x[i]"), "1:29: expected a value, found '['\n"
                                         "  hint: put the row in parentheses\n");
  EXPECT_EQ(inExpr("1.0 + reduce i: n by any of x join (a, b) = max(a, b)"),
            "1:29: expected a value, found 'reduce'\n"
            "  hint: a reduction stands alone after '=' or 'return'; name it with 'let'\n");
  EXPECT_EQ(inExpr("x == not y"), "1:28: expected a value, found 'not'\n"
                                  "  hint: put the 'not' in parentheses\n");
  EXPECT_EQ(inExpr("(a, b)"),
            "1:25: expected ')', found ','\n"
            "  hint: a list in parentheses stands only in an index, as its digits\n");
  EXPECT_EQ(inExpr("(a = b)"), "1:26: expected ')', found '='\n"
                               "  hint: two values are compared with '=='\n"
                               "  note: 1:23: the '(' is here\n");
  EXPECT_EQ(inExpr("x[i = 1]"), "1:27: expected ',' or ']', found '='\n"
                                "  hint: two values are compared with '=='\n"
                                "  note: 1:24: the '[' is here\n");
  EXPECT_EQ(inExpr("g(x, a = b)"),
            "1:30: expected an argument without a name, as those before it, found '='\n"
            "  hint: either all arguments of a call have names or none; '==' compares\n");
  EXPECT_EQ(inExpr("a = b"), "1:25: expected 'record', 'order', 'fn' or 'op', found '='\n"
                             "  hint: two values are compared with '=='\n");
  EXPECT_EQ(inExpr("x[(a, b) + 1]"),
            "1:32: expected ',' or ']' after the digits of an index, found '+'\n"
            "  hint: an index written by its digits is not part of a larger expression\n");
  EXPECT_EQ(inExpr("g()"), "1:25: expected an argument, found ')'\n"
                           "  hint: every function has at least one parameter\n");
  EXPECT_EQ(inExpr("()"), "1:24: expected a value, found ')'\n");
  EXPECT_EQ(inExpr("g(x,)"), "1:27: expected a value, found ')'\n"
                             "  hint: leave out the ',' before it\n");
  EXPECT_EQ(inExpr("g(a = x, y)"), "1:33: expected '=' after the name of an argument, found ')'\n"
                                   "  hint: either all arguments of a call have names or none\n");
  EXPECT_EQ(inExpr("g(y, a = x)"),
            "1:30: expected an argument without a name, as those before it, found '='\n"
            "  hint: either all arguments of a call have names or none; '==' compares\n");
  EXPECT_EQ(inExpr("g(x)(y)"), "1:27: only a name can be called\n"
                               "  hint: an index is written in brackets, a product with '*'\n");
  EXPECT_EQ(inExpr("2.0(x)"), "1:26: only a name can be called\n"
                              "  hint: an index is written in brackets, a product with '*'\n");
  EXPECT_EQ(inExpr("[i] x"), "1:25: expected ':' after 'i', found ']'\n"
                             "  hint: an index is written with its extent, as in 'i: n'\n");
  EXPECT_EQ(inExpr("[] x"), "1:24: expected the name of an index, found ']'\n");
  EXPECT_EQ(inExpr("x[]"), "1:25: expected a value, found ']'\n");
  EXPECT_EQ(inExpr("{ x }"), "1:23: expected a value, found '{'\n");
  EXPECT_EQ(inExpr("let a = x"), "1:23: expected a value, found 'let'\n");
  EXPECT_EQ(inExpr("x[i: n]"), "1:26: expected ',' or ']', found ':'\n"
                               "  note: 1:24: the '[' is here\n");
}

TEST(ParserError, Functions) {
  EXPECT_EQ(errors("fn"), "1:3: expected the name of a function, found the end of the text\n");
  EXPECT_EQ(errors("fn f"), "1:5: expected '(' and the parameters, found the end of the text\n");
  EXPECT_EQ(errors("fn f() -> f32 = 1.0"), "1:6: expected a parameter, found ')'\n"
                                           "  hint: every function has at least one parameter\n");
  EXPECT_EQ(errors("fn f(x) -> f32 = 1.0"),
            "1:7: expected ':' and the type of the parameter, found ')'\n"
            "  hint: write 'x: f32' or another type\n");
  EXPECT_EQ(errors("fn f(x: f32,) -> f32 = 1.0"),
            "1:13: expected the name of a parameter, found ')'\n"
            "  hint: leave out the ',' before it\n");
  EXPECT_EQ(errors("fn f(x: f32) = 1.0"),
            "1:14: expected '->' and the type of the result, found '='\n"
            "  hint: a function is written 'fn f(x: f32) -> f32 = ...'\n");
  EXPECT_EQ(errors("fn f(x: f32) -> f32 1.0"),
            "1:21: expected '=' or '{' after the type of the result, found '1.0'\n");
  EXPECT_EQ(errors("fn f(x: f32) -> f32 { let a = 1.0 }"),
            "1:35: expected 'return' or 'let', found '}'\n"
            "  hint: the body of a function is any number of 'let' and one 'return'\n");
  EXPECT_EQ(errors("fn f(x: f32) -> f32 { a = 1.0 return a }"),
            "1:23: expected 'return' or 'let', found 'a'\n"
            "  hint: write 'let a = ...'\n");
  EXPECT_EQ(errors("fn f(x: f32) -> f32 { let a 1.0 return a }"),
            "1:29: expected '=' after 'let a', found '1.0'\n");
  EXPECT_EQ(errors("fn f(x: f32) -> f32 { return a let b = c }"),
            "1:32: expected '}', found 'let'\n"
            "  note: 1:21: the '{' is here\n");
  EXPECT_EQ(errors("fn f<>(x: f32) -> f32 = x"),
            "1:6: expected the name of a type parameter, found '>'\n");
  EXPECT_EQ(errors("fn f<T:>(x: f32) -> f32 = x"), "1:8: expected the name of a type, found '>'\n");
  EXPECT_EQ(errors("fn f(x: 3) -> f32 = x"), "1:9: expected the name of a type, found '3'\n");
  EXPECT_EQ(errors("fn f(tree: order) -> order[n] = x"),
            "1:27: expected '=' or '{' after the type of the result, found '['\n");
  EXPECT_EQ(errors("fn f(x: f32) -> f32 { for i: n { } return x }"),
            "1:23: expected 'return' or 'let', found 'for'\n"
            "  hint: the body of a function is any number of 'let' and one 'return'\n");
}

TEST(ParserError, Operators) {
  EXPECT_EQ(errors("op f() { dim n }"),
            "1:6: expected a parameter, found ')'\n"
            "  hint: an operator without parameters has no parentheses\n");
  EXPECT_EQ(errors("op f(eps) { }"), "1:9: expected ':' and the type of the parameter, found ')'\n"
                                     "  hint: write 'eps: f32' or another type\n");
  EXPECT_EQ(errors("op f dim n"), "1:6: expected 'each' or '{', found 'dim'\n");
  EXPECT_EQ(errors("op f each each { }"), "1:11: expected '{', found 'each'\n");
  EXPECT_EQ(errors("op f { dim }"), "1:12: expected the name of a dim, found '}'\n");
  EXPECT_EQ(errors("op f { dim n = }"), "1:16: expected a value, found '}'\n");
  EXPECT_EQ(errors("op f { dim n, in x: f32[n] }"), "1:15: expected the name of a dim, found 'in'\n"
                                                    "  hint: leave out the ',' before it\n");
  EXPECT_EQ(errors("op f { dim n let a = 1.0 dim m }"),
            "1:26: 'dim' after a statement\n"
            "  hint: write every 'dim', 'require', 'in' and 'out' before the first 'let', 'for' or "
            "equation\n");
  EXPECT_EQ(errors("op f { y[i] = 1.0 in x: f32 }"),
            "1:19: 'in' after a statement\n"
            "  hint: write every 'dim', 'require', 'in' and 'out' before the first 'let', 'for' or "
            "equation\n");
  EXPECT_EQ(errors("op f { require n = 4 in x: f32[n] }"),
            "1:18: expected an operator or the next declaration, found '='\n"
            "  hint: two values are compared with '=='\n");
  EXPECT_EQ(errors("op f { in x f32[n] }"),
            "1:13: expected ':' and the type of the tensor, found 'f32'\n"
            "  hint: a tensor is written 'in x: f16[rows, n]'\n");
  EXPECT_EQ(errors("op f { in : f32[n] }"), "1:11: expected the name of a tensor, found ':'\n");
  EXPECT_EQ(errors("op f { in x: f32[] }"), "1:18: expected a value, found ']'\n");
  EXPECT_EQ(errors("op f { in x: f32[n] strides(a) }"),
            "1:29: expected a stride, '_' or an integer, found 'a'\n"
            "  hint: strides count elements; a stride that is not fixed is written '_'\n");
  EXPECT_EQ(errors("op f { in x: f32[n] strides(-1) }"),
            "1:29: expected a stride, '_' or an integer, found '-'\n"
            "  hint: strides count elements; a stride that is not fixed is written '_'\n");
  EXPECT_EQ(errors("op f { in x: f32[n] strides(1) strides(1) }"),
            "1:32: 'strides' is given twice\n"
            "  hint: leave out one of them\n");
  EXPECT_EQ(errors("op f { in x: f32[n] align(0) }"),
            "1:27: expected an alignment in elements, a positive integer, found '0'\n");
  EXPECT_EQ(errors("op f { in x: f32[n] align(4) align(4) }"), "1:30: 'align' is given twice\n"
                                                               "  hint: leave out one of them\n");
  EXPECT_EQ(errors("op f { out x: f32[n] may be y }"),
            "1:26: expected 'alias' after 'may', found 'be'\n");
  EXPECT_EQ(errors("op f { out x: f32[n] may alias }"),
            "1:32: expected the name of an input, found '}'\n");
  EXPECT_EQ(errors("op f { out x: f32[n] may alias y may alias z }"),
            "1:34: 'may' is given twice\n"
            "  hint: leave out one of them\n");
  EXPECT_EQ(errors("op f { return x }"),
            "1:8: expected a declaration, a statement or '}', found 'return'\n"
            "  note: 1:6: the '{' is here\n");
  EXPECT_EQ(errors("op f { in x: "
                   "f32[n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,"
                   "n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n,n] }"),
            "1:146: a type with more than 64 extents\n");
  EXPECT_EQ(errors("op f { in x: f32[n] "
                   "strides(_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_"
                   ",_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,1) }"),
            "1:157: more than 64 strides\n");
  EXPECT_EQ(errors("op f { dim n y[i] = a = b }"), "1:23: expected a statement or '}', found '='\n"
                                                   "  hint: two values are compared with '=='\n"
                                                   "  note: 1:6: the '{' is here\n");
}

TEST(ParserError, Statements) {
  EXPECT_EQ(errors("op f { y[i + 1] = 2.0 }"),
            "1:12: expected ',' or ']', found '+'\n"
            "  hint: a place is a new index, or '(h, p)' for its digits; it is not computed\n"
            "  note: 1:9: the '[' is here\n");
  EXPECT_EQ(errors("op f { y[i == 2.0 }"),
            "1:12: expected ',' or ']', found '=='\n"
            "  hint: a place is a new index, or '(h, p)' for its digits; it is not computed\n"
            "  note: 1:9: the '[' is here\n");
  EXPECT_EQ(errors("op f { y[i] == 2.0 }"), "1:13: expected '=' after 'y[...]', found '=='\n"
                                            "  hint: an equation is written with one '='\n");
  EXPECT_EQ(errors("op f { y[i] 2.0 }"), "1:13: expected '=' after 'y[...]', found '2.0'\n");
  EXPECT_EQ(errors("op f { y = }"), "1:12: expected a value, found '}'\n");
  EXPECT_EQ(errors("op f { y[0] = 2.0 }"),
            "1:10: expected an index, found '0'\n"
            "  hint: a place is a new index, or '(h, p)' for its digits; it is not computed\n");
  EXPECT_EQ(errors("op f { y[(h, 1)] = 2.0 }"), "1:14: expected the name of an index, found '1'\n");
  EXPECT_EQ(errors("op f { y[i: n] = 2.0 }"),
            "1:11: expected ',' or ']', found ':'\n"
            "  hint: a place is a new index, or '(h, p)' for its digits; it is not computed\n"
            "  note: 1:9: the '[' is here\n");
  EXPECT_EQ(errors("op f { y.z = 2.0 }"), "1:9: expected '=' after 'y', found '.'\n");
  EXPECT_EQ(errors("op f { for a: n { for b: m { y[a, b] = 1.0 } } }"),
            "1:19: 'for' inside 'for'\n"
            "  hint: write all variables in one 'for', as in 'for b: batch, t: tokens { ... }'\n");
  EXPECT_EQ(errors("op f { for i in n { y[i] = x[i] } }"),
            "1:14: expected ':' after 'i', found 'in'\n"
            "  hint: write 'i: n' for every i from 0 to n - 1\n");
  EXPECT_EQ(errors("op f { for i { y[i] = x[i] } }"),
            "1:14: expected ':' after 'i', found '{'\n"
            "  hint: an index is written with its extent, as in 'i: n'\n");
  EXPECT_EQ(errors("op f { for i: n y[i] = x[i] }"),
            "1:17: expected ',' or '{', found 'y'\n"
            "  hint: a 'for' is written 'for b: batch, t: tokens { ... }'\n");
  EXPECT_EQ(errors("op f { for (i: n) { } }"), "1:12: expected the name of an index, found '('\n");
  EXPECT_EQ(errors("op f { let = 2.0 }"), "1:12: expected the name of a value, found '='\n");
  EXPECT_EQ(errors("op f { let a[i] = 2.0 }"),
            "1:15: expected ':' after 'i', found ']'\n"
            "  hint: an index is written with its extent, as in 'i: n'\n");
  EXPECT_EQ(errors("op f { let a: = 2.0 }"), "1:15: expected the name of a type, found '='\n");
}

TEST(ParserError, Orders) {
  EXPECT_EQ(errors("order"), "1:6: expected the name of an order, found the end of the text\n");
  EXPECT_EQ(errors("order o"),
            "1:8: expected '=' after the name of an order, found the end of the text\n");
  EXPECT_EQ(errors("order o = lane"),
            "1:11: expected '(' before the digits of an order, found 'lane'\n"
            "  hint: an order is written '(_, lane: 32) then halving lane'\n");
  EXPECT_EQ(errors("order o = ()"), "1:12: expected the name of a digit, or '_', found ')'\n");
  EXPECT_EQ(errors("order o = (a, b,) then serial a"),
            "1:17: expected the name of a digit, or '_', found ')'\n"
            "  hint: leave out the ',' before it\n");
  EXPECT_EQ(errors("order o = (lane: 32) then tree lane"),
            "1:27: expected 'serial', 'halving' or 'adjacent' after 'then', found 'tree'\n"
            "  hint: a stage names how a digit is joined, as in 'then halving lane'\n");
  EXPECT_EQ(errors("order o = (lane: 32) then lane"),
            "1:27: expected 'serial', 'halving' or 'adjacent' after 'then', found 'lane'\n"
            "  hint: a stage names how a digit is joined, as in 'then halving lane'\n");
  EXPECT_EQ(errors("order o = (lane: 32) then halving"),
            "1:34: expected the name of a digit, found the end of the text\n");
  EXPECT_EQ(errors("order o = (lane: 32) halving lane"),
            "1:22: expected 'record', 'order', 'fn' or 'op', found 'halving'\n"
            "  hint: a stage of an order begins with 'then'\n");
  EXPECT_EQ(errors("order o = (lane: 0)"),
            "1:18: expected a radix, a positive integer, found '0'\n");
  EXPECT_EQ(errors("order o = (lane: n)"),
            "1:18: expected a radix, a positive integer, found 'n'\n");
  EXPECT_EQ(errors("order o = (lane: 2.0)"),
            "1:18: expected a radix, a positive integer, found '2.0'\n");
  EXPECT_EQ(errors("order o = (_: -1)"), "1:15: expected a radix, a positive integer, found '-'\n");
  EXPECT_EQ(errors("order o = (lane: 32) then halving _"),
            "1:35: expected the name of a digit, found '_'\n");
}

TEST(ParserError, Reductions) {
  EXPECT_EQ(inExpr("reduce i by o of x join (a, b) = a"),
            "1:32: expected ':' after 'i', found 'by'\n"
            "  hint: an index is written with its extent, as in 'i: n'\n");
  EXPECT_EQ(inExpr("reduce i: n of x join (a, b) = a"),
            "1:35: expected 'by' and an order, found 'of'\n"
            "  hint: a reduction is written 'reduce i: n by an_order ...'\n");
  EXPECT_EQ(inExpr("reduce i: n by of x join (a, b) = a"),
            "1:38: expected the name of an order, or 'any', found 'of'\n");
  EXPECT_EQ(
      inExpr("reduce i: n by o x join (a, b) = a"),
      "1:40: expected 'from' or 'of' after the order, found 'x'\n"
      "  hint: write 'from s = 0.0 step s = s + x[i]', or 'of x[i]' without an initial value\n");
  EXPECT_EQ(inExpr("reduce i: n by o from = 0.0"),
            "1:45: expected the name of the state, found '='\n");
  EXPECT_EQ(inExpr("reduce i: n by o from s: f32[n] = 0.0"),
            "1:51: expected '=', found '['\n"
            "  hint: the state of a reduction is a scalar or a record, not a row\n");
  EXPECT_EQ(inExpr("reduce i: n by o from s: f32 step s = s"),
            "1:52: expected '=' and the value that every slot begins with, found 'step'\n");
  EXPECT_EQ(inExpr("reduce i: n by o from s = 0.0 join (a, b) = a"),
            "1:53: expected 'step' after the value that every slot begins with, found 'join'\n"
            "  hint: write 'step s = ...'\n");
  EXPECT_EQ(inExpr("reduce i: n by o from s = 0.0 step = s"),
            "1:58: expected the name of the state, found '='\n");
  EXPECT_EQ(inExpr("reduce i: n by o of x"),
            "1:44: expected 'join' after what is reduced, found the end of the text\n"
            "  hint: a reduction ends with 'join (a, b) = ...'\n");
  EXPECT_EQ(inExpr("reduce i: n by o of x join a, b = a"),
            "1:50: expected '(' after 'join', found 'a'\n"
            "  hint: write 'join (a, b) = a + b'\n");
  EXPECT_EQ(inExpr("reduce i: n by o of x join (a) = a"),
            "1:52: expected ',' between the states, found ')'\n"
            "  hint: write 'join (a, b) = a + b'\n");
  EXPECT_EQ(inExpr("reduce i: n by o of x join (a, b, c) = a"), "1:55: expected ')', found ','\n"
                                                                "  note: 1:50: the '(' is here\n");
  EXPECT_EQ(inExpr("reduce i: n by o of x join (a, b) a"),
            "1:57: expected '=' after the states of the join, found 'a'\n");
  EXPECT_EQ(inExpr("reduce i: n by o of x step s = s"),
            "1:45: expected 'join' after what is reduced, found 'step'\n"
            "  hint: a reduction ends with 'join (a, b) = ...'\n");
  EXPECT_EQ(inExpr("(reduce i: n by o of x join (a, b) = a)"),
            "1:24: expected a value, found 'reduce'\n"
            "  hint: a reduction stands alone after '=' or 'return'; name it with 'let'\n");
}

TEST(ParserError, Records) {
  EXPECT_EQ(errors("record"), "1:7: expected the name of a record, found the end of the text\n");
  EXPECT_EQ(errors("record { a: f32 }"), "1:8: expected the name of a record, found '{'\n");
  EXPECT_EQ(errors("record R = { a: f32 }"),
            "1:10: expected '{' after the name of a record, found '='\n");
  EXPECT_EQ(errors("record R { }"), "1:12: expected the name of a field, found '}'\n");
  EXPECT_EQ(errors("record R { a: f32 b: f32 }"), "1:19: expected ',' or '}', found 'b'\n"
                                                  "  note: 1:10: the '{' is here\n");
  EXPECT_EQ(errors("record R { a: f32, }"), "1:20: expected the name of a field, found '}'\n"
                                            "  hint: leave out the ',' before it\n");
  EXPECT_EQ(errors("record R { a: f32[n] }"),
            "1:18: expected ',' or '}', found '['\n"
            "  hint: a field is a scalar or a record, not a row\n");
  EXPECT_EQ(errors("record R { a }"), "1:14: expected ':' after the name of a field, found '}'\n");
}

TEST(ParserError, Files) {
  EXPECT_EQ(errors("use"), "1:4: expected the name of a module, found the end of the text\n");
  EXPECT_EQ(errors("use 3"), "1:5: expected the name of a module, found '3'\n");
  EXPECT_EQ(errors("use eager."), "1:11: expected a name after '.', found the end of the text\n");
  EXPECT_EQ(errors("use a.b = c"), "1:9: expected 'record', 'order', 'fn' or 'op', found '='\n"
                                   "  hint: two values are compared with '=='\n");
  EXPECT_EQ(errors("let a = 3"),
            "1:1: expected 'use', 'record', 'order', 'fn' or 'op', found 'let'\n"
            "  hint: a constant is a function or an 'f32.bits(0x...)' where it is used\n");
  EXPECT_EQ(errors("y[i] = 3.0"),
            "1:1: expected 'use', 'record', 'order', 'fn' or 'op', found 'y'\n"
            "  hint: is this a spec?\n");
  EXPECT_EQ(errors("def f(x): return x"),
            "1:1: expected 'use', 'record', 'order', 'fn' or 'op', found 'def'\n"
            "  hint: is this a spec?\n");
  EXPECT_EQ(inExpr("x }"), "1:25: expected 'record', 'order', 'fn' or 'op', found '}'\n"
                           "  hint: this '}' closes nothing\n");
  EXPECT_EQ(inExpr("x\n"
                   "use eager.norm"),
            "2:1: 'use' after an item\n"
            "  hint: write every 'use' at the head of the file\n");
  EXPECT_EQ(errors("op f { } }\n"
                   "op g { } }"),
            "1:10: expected 'record', 'order', 'fn' or 'op', found '}'\n"
            "  hint: this '}' closes nothing\n"
            "2:10: expected 'record', 'order', 'fn' or 'op', found '}'\n"
            "  hint: this '}' closes nothing\n");
  EXPECT_EQ(errors("\177ELF"), "1:1: control character 0x7F outside a comment\n");
}

TEST(ParserError, SeveralItems) {
  EXPECT_EQ(errors("fn f(x: f32) -> f32 = if a then b\n"
                   "fn g(x: f32) -> f32 = let\n"
                   "fn h(x: f32) -> f32 = x\n"
                   "fn k(x: f32 -> f32 = x\n"
                   "order o = (a: 0) order p = (a) then\n"
                   "record R"),
            "1:34: expected 'else' after the value of 'then', found 'fn'\n"
            "  hint: every 'if' has a value, so it has an 'else'\n"
            "2:23: expected a value, found 'let'\n"
            "4:13: expected ',' or ')', found '->'\n"
            "  note: 4:5: the '(' is here\n"
            "5:15: expected a radix, a positive integer, found '0'\n"
            "5:36: expected 'serial', 'halving' or 'adjacent' after 'then', found 'record'\n"
            "  hint: a stage names how a digit is joined, as in 'then halving lane'\n"
            "6:9: expected '{' after the name of a record, found the end of the text\n");
  EXPECT_EQ(errors("fn fn fn op"),
            "1:4: expected the name of a function, found 'fn'\n"
            "1:7: expected the name of a function, found 'fn'\n"
            "1:10: expected the name of a function, found 'op'\n"
            "1:12: expected the name of an operator, found the end of the text\n");
  EXPECT_EQ(errors("op f(tree: order { }\n"
                   "order o = (_)\n"
                   "op g(tree order) { }"),
            "1:18: expected ',' or ')', found '{'\n"
            "  note: 1:5: the '(' is here\n"
            "3:11: expected ':' and the type of the parameter, found 'order'\n"
            "  hint: write 'tree: f32' or another type\n");
}

} // namespace
} // namespace h3
