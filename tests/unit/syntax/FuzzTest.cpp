//===-- tests/unit/syntax/FuzzTest.cpp - Anything at all as a spec --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/syntax/Parser.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace h3 {
namespace {

/// Whatever the text, there is a tree or a reason, and the reason can be shown.
void check(const std::string &text, bool &parsed) {
  SourceFile source{"fuzz.spec", text};
  Diagnostics diagnostics;
  std::unique_ptr<ast::File> file = parse(source, diagnostics);
  parsed = file != nullptr;
  ASSERT_EQ(parsed, diagnostics.empty()) << text;
  if (parsed)
    return;
  ASSERT_FALSE(diagnostics.all().front().message.empty());
  for (const Diagnostic &diagnostic : diagnostics.all()) {
    ASSERT_LE(diagnostic.range.begin, diagnostic.range.end) << text;
    ASSERT_LE(diagnostic.range.end, text.size()) << text;
    ASSERT_LT(diagnostic.message.size(), 300u) << text;
    ASSERT_EQ(diagnostic.message.find('\n'), std::string::npos) << text;
  }
  ASSERT_FALSE(diagnostics.renderText().empty());
  ASSERT_TRUE(nlohmann::json::accept(diagnostics.renderJson())) << text;
}

std::vector<std::string> specTexts() {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(H3_SPECS_DIR)) {
    if (entry.path().extension() == ".spec")
      paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const std::filesystem::path &path : paths) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

constexpr const char *words[] = {
    "use",  "record", "order", "then",    "serial", "halving", "adjacent", "fn",   "return", "op",
    "each", "dim",    "in",    "require", "out",    "strides", "align",    "may",  "alias",  "for",
    "let",  "reduce", "by",    "any",     "from",   "step",    "of",       "join", "if",     "else",
    "or",   "and",    "not",   "inf",     "nan",    "true",    "false",    "x",    "n",      "f32",
    "norm", "1",      "2.5",   "0x3F",    "(",      ")",       "[",        "]",    "{",      "}",
    "<",    ">",      ",",     ":",       ".",      "|",       "=",        "+",    "-",      "*",
    "/",    "%",      "_",     "<=",      "==",     "->",      "// c\n",   "\n",   ";",      "&&",
    "1.",   ".5",     "0.5f",  "\xC3\x97"};

TEST(Fuzz, TokenSoups) {
  std::mt19937 random(20261130);
  auto below = [&](size_t n) { return random() % n; };
  constexpr const char *heads[] = {"",
                                   "fn f(x: f32) -> f32 = ",
                                   "op f { y[i] = ",
                                   "op f { ",
                                   "order o = (",
                                   "fn f(x: f32) -> f32 { let a = "};
  for (int i = 0; i < 20'000; ++i) {
    std::string text = heads[below(std::size(heads))];
    for (size_t n = below(40); n > 0; --n)
      (text += words[below(std::size(words))]) += ' ';
    bool parsed;
    check(text, parsed);
    if (HasFatalFailure())
      return;
  }
}

TEST(Fuzz, MutatedSpecs) {
  std::vector<std::string> texts = specTexts();
  ASSERT_FALSE(texts.empty());
  std::mt19937 random(2);
  auto below = [&](size_t n) { return random() % n; };
  size_t good = 0, bad = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = texts[below(texts.size())];
    for (size_t n = 1 + below(3); n > 0 && !text.empty(); --n) {
      size_t at = below(text.size()), length = std::min(below(20), text.size() - at);
      switch (below(6)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text[at] = static_cast<char>(32 + below(95));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), length));
        break;
      case 4:
        text.insert(at, words[below(std::size(words))]);
        break;
      default:
        text.resize(at + 1);
        break;
      }
    }
    bool parsed;
    check(text, parsed);
    if (HasFatalFailure())
      return;
    ++(parsed ? good : bad);
  }
  // Both ends are met: comments may change freely, most other places not.
  EXPECT_GT(good, 500u);
  EXPECT_GT(bad, 5000u);
}

TEST(Fuzz, RandomBytes) {
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string text(random() % 60, ' ');
    for (char &c : text)
      c = static_cast<char>(i % 2 ? random() % 256 : random() % 128);
    bool parsed;
    check(text, parsed);
    if (HasFatalFailure())
      return;
  }
}

} // namespace
} // namespace h3
