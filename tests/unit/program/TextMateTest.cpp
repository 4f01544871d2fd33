//===-- tests/unit/program/TextMateTest.cpp - The grammar for editors -----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The lists of words in dsl/syntax/h3.tmLanguage.json and those of the language are the same.
//
//===----------------------------------------------------------------------===//

#include "dsl/program/Builtins.h"
#include "dsl/syntax/Lexer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>

namespace h3 {
namespace {

using Words = std::set<std::string>;

const nlohmann::json &grammar() {
  static const nlohmann::json read = nlohmann::json::parse(std::ifstream(H3_TEXTMATE));
  return read;
}

/// The alternatives of the patterns in these entries of the repository. No word is in two of them,
/// and a word that begins another comes after it, or it would hide it.
Words wordsOf(std::initializer_list<const char *> entries) {
  Words all;
  for (const char *entry : entries) {
    std::string pattern = grammar().at("repository").at(entry).at("match");
    size_t begin = pattern.find(")(?:") + 4, end = pattern.find(')', begin);
    std::stringstream alternatives(pattern.substr(begin, end - begin));
    Words here;
    for (std::string word; std::getline(alternatives, word, '|');) {
      std::erase(word, '\\');
      for (const std::string &earlier : here)
        EXPECT_FALSE(word.starts_with(earlier)) << word << " is behind " << earlier;
      here.insert(word);
      EXPECT_TRUE(all.insert(word).second) << word;
    }
  }
  return all;
}

TEST(TextMate, HasTheReservedWords) {
  std::span<const std::string_view> words = reservedWordList();
  EXPECT_EQ(wordsOf({"declaration", "control", "join", "logic", "constant"}),
            Words(words.begin(), words.end()));
}

TEST(TextMate, HasTheBuiltinsAndTypes) {
  Words builtins(builtinNames().begin(), builtinNames().end()), types{"bool"};
  for (const std::string &name : builtinNames())
    if (scalarTypeNamed(name))
      types.insert(name);
  for (const std::string &type : types)
    builtins.erase(type);
  EXPECT_EQ(wordsOf({"type"}), types);
  EXPECT_EQ(wordsOf({"builtin"}), builtins);
}

TEST(TextMate, EveryPatternIsIncludedAndNamed) {
  Words included, defined;
  for (const nlohmann::json &pattern : grammar().at("patterns"))
    included.insert(pattern.at("include").get<std::string>().substr(1));
  for (const auto &[name, entry] : grammar().at("repository").items()) {
    defined.insert(name);
    EXPECT_TRUE(entry.contains("name") || entry.contains("captures")) << name;
    EXPECT_TRUE(entry.contains("match")) << name;
  }
  EXPECT_EQ(included, defined);
  EXPECT_EQ(grammar().at("fileTypes"), nlohmann::json::array({"spec"}));
}

} // namespace
} // namespace h3
