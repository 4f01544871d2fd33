//===-- tests/unit/syntax/LexerTest.cpp - Tokens, encodings, sizes --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/syntax/Lexer.h"
#include "dsl/syntax/Parser.h"

#include <gtest/gtest.h>

namespace h3 {
namespace {

/// The tokens as `kind:text`, one letter a kind, e.g. `N:x P:= D:1.0`.
std::string tokens(const std::string &text) {
  SourceFile source{"t.spec", text};
  Diagnostics diagnostics;
  std::optional<TokenList> list = lex(source, diagnostics);
  if (!list)
    return diagnostics.all().front().message;
  std::string out;
  for (const Token &token : list->tokens) {
    if (token.kind == TokenKind::End)
      break;
    constexpr std::string_view letters = "NRIDHPE";
    out += out.empty() ? "" : " ";
    out += letters[static_cast<size_t>(token.kind)];
    out += ":";
    out += list->text(token);
  }
  return out;
}

TEST(Lexer, NamesAndReservedWords) {
  EXPECT_EQ(tokens("a a1 A_b step steps index _"), "N:a N:a1 N:A_b R:step N:steps N:index P:_");
  for (const char *word :
       {"use",    "record", "order", "then", "serial",  "halving", "adjacent", "fn",
        "return", "op",     "each",  "dim",  "require", "in",      "out",      "strides",
        "align",  "may",    "alias", "for",  "let",     "reduce",  "by",       "any",
        "from",   "step",   "of",    "join", "if",      "else",    "or",       "and",
        "not",    "inf",    "nan",   "true", "false"}) {
    EXPECT_EQ(tokens(word), std::string("R:") + word);
    EXPECT_TRUE(isReserved(word));
  }
  EXPECT_FALSE(isReserved("f32"));
  EXPECT_FALSE(isReserved("index"));
}

TEST(Lexer, Numbers) {
  EXPECT_EQ(tokens("0 007 9223372036854775807"), "I:0 I:007 I:9223372036854775807");
  EXPECT_EQ(tokens("1.0 0.5 1e5 1e-5 1E+5 1.5e-10"), "D:1.0 D:0.5 D:1e5 D:1e-5 D:1E+5 D:1.5e-10");
  EXPECT_EQ(tokens("0x0 0xBADcafe 0x00000000000000000FFFFFFFFFFFFFFFF"),
            "H:0x0 H:0xBADcafe H:0x00000000000000000FFFFFFFFFFFFFFFF");
  EXPECT_EQ(tokens("1-2 1-x 1e5-3"), "I:1 P:- I:2 I:1 P:- N:x D:1e5 P:- I:3");
  EXPECT_EQ(tokens("9223372036854775808"), "E:9223372036854775808");
  EXPECT_EQ(tokens("0x1FFFFFFFFFFFFFFFF"), "E:0x1FFFFFFFFFFFFFFFF");
  EXPECT_EQ(tokens("0.5f 1. .5 2d 1e 0x 0xG 0X1 1_0"),
            "E:0.5f E:1. E:.5 E:2d E:1e E:0x E:0xG E:0X1 E:1_0");
}

TEST(Lexer, NamesAreBounded) {
  EXPECT_EQ(tokens(std::string(255, 'a')).substr(0, 3), "N:a");
  EXPECT_EQ(tokens(std::string(256, 'a')).substr(0, 3), "E:a");
}

TEST(Lexer, NumbersAreBounded) {
  EXPECT_EQ(tokens("0." + std::string(1998, '0')).substr(0, 4), "D:0.");
  EXPECT_EQ(tokens("0." + std::string(1999, '0')).substr(0, 4), "E:0.");
}

TEST(Lexer, Punctuation) {
  EXPECT_EQ(tokens("()[]{}<>,:.|=+-*/%_"),
            "P:( P:) P:[ P:] P:{ P:} P:< P:> P:, P:: P:. P:| P:= P:+ P:- P:* P:/ P:% P:_");
  EXPECT_EQ(tokens("<= >= == != ->"), "P:<= P:>= P:== P:!= P:->");
  EXPECT_EQ(tokens("a<-b a=-b"), "N:a P:< P:- N:b N:a P:= P:- N:b");
  EXPECT_EQ(tokens("&& || ! & ; += /* ? ^ # << >> :="),
            "E:&& E:|| E:! E:& E:; E:+= E:/* E:? E:^ E:# E:<< E:>> E::=");
}

TEST(Lexer, DottedNamesAreSeparateTokens) {
  EXPECT_EQ(tokens("ex2.approx.ftz"), "N:ex2 P:. N:approx P:. N:ftz");
}

TEST(Lexer, CommentsAndWhitespace) {
  EXPECT_EQ(tokens("a // b c\nd//e\r\n\tf // \xC3\xA9 \xF0\x9F\x98\x80"), "N:a N:d N:f");
  SourceFile source{"t.spec", "// one\na // two\r\n  // three"};
  Diagnostics diagnostics;
  TokenList list = *lex(source, diagnostics);
  ASSERT_EQ(list.comments.size(), 3u);
  EXPECT_TRUE(list.comments[0].alone);
  EXPECT_FALSE(list.comments[1].alone);
  EXPECT_TRUE(list.comments[2].alone);
  EXPECT_EQ(list.comments[1].line, 2u);
  EXPECT_EQ(
      source.text.substr(list.comments[1].begin, list.comments[1].end - list.comments[1].begin),
      "// two");
}

TEST(Lexer, OnlyAListMayTakeAnIndexApart) {
  SourceFile source{"t.spec", "(a, b) (f(c, d)) ([e, f])"};
  Diagnostics diagnostics;
  std::string listed;
  TokenList list = *lex(source, diagnostics);
  for (const Token &token : list.tokens) {
    if (list.text(token) == "(")
      listed += token.listed ? "y" : "n";
  }
  EXPECT_EQ(listed, "ynyn");
}

TEST(Lexer, RefusesWhatIsNotUtf8) {
  const std::string is = "the text is not UTF-8: byte ";
  EXPECT_EQ(tokens("// \xFF"), is + "0xFF begins no character");
  EXPECT_EQ(tokens("// \x80"), is + "0x80 begins no character");
  EXPECT_EQ(tokens("// \xC3"), is + "0xC3 begins a character that is cut off");
  EXPECT_EQ(tokens("// \xE2\x82 x"), is + "0xE2 begins a character that is cut off");
  EXPECT_EQ(tokens("// \xC0\xAF"), is + "0xC0 begins an overlong form");
  EXPECT_EQ(tokens("// \xE0\x80\xAF"), is + "0xE0 begins an overlong form");
  EXPECT_EQ(tokens("// \xF0\x80\x80\xAF"), is + "0xF0 begins an overlong form");
  EXPECT_EQ(tokens("// \xED\xA0\x80"), is + "0xED begins half of a surrogate pair");
  EXPECT_EQ(tokens("// \xF4\x90\x80\x80"), is + "0xF4 begins a number above U+10FFFF");
  EXPECT_EQ(tokens("// \xF4\x8F\xBF\xBF \xEF\xBF\xBF \xED\x9F\xBF"), "");
}

TEST(Lexer, RefusesNulBytes) {
  EXPECT_EQ(tokens(std::string("a\0b", 3)), "the text has a NUL byte");
  EXPECT_EQ(tokens(std::string("// \0", 4)), "the text has a NUL byte");
}

TEST(Lexer, RefusesMoreThanFourMebibytes) {
  EXPECT_EQ(tokens(std::string(maxSpecBytes, ' ')), "");
  EXPECT_EQ(tokens(std::string(maxSpecBytes + 1, ' ')),
            "the spec has 4194305 bytes; at most 4194304 (4 MiB) are read");
  EXPECT_EQ(tokens(std::string(100'000'000, 'x')),
            "the spec has 100000000 bytes; at most 4194304 (4 MiB) are read");
}

TEST(Lexer, StopsAfterTwentyErrors) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "; x ";
  SourceFile source{"t.spec", text};
  Diagnostics diagnostics;
  EXPECT_EQ(lex(source, diagnostics)->errors.size(), 20u);
}

} // namespace
} // namespace h3
