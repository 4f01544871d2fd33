//===-- tests/errors/ErrorTextTest.cpp - The text of errors ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each NAME.spec of this folder is analysed, all operators for all type choices, and what is said
// about it must be NAME.expected, byte for byte. Modules that the specs use are in `modules/`;
// paths below this folder are shown from here. With H3_UPDATE_EXPECTED=1 in the environment the
// files are written instead; look at the difference.
//
//===----------------------------------------------------------------------===//

#include "dsl/program/Analysis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace h3 {
namespace {

namespace fs = std::filesystem;

std::string readFile(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(H3_ERROR_CASES))
    if (entry.path().extension() == ".spec")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string analysedErrors(const std::string &name) {
  SpecSearch search;
  search.folders = {H3_ERROR_CASES "/modules"};
  Diagnostics diagnostics;
  ModuleSet modules = loadModulesOfText(
      name + ".spec", readFile(fs::path(H3_ERROR_CASES) / (name + ".spec")), search, diagnostics);
  if (modules.complete() && checkModules(modules, diagnostics))
    for (const ast::Operator *op : operators(modules))
      for (const TypeArguments &types : typeChoices(*op))
        analyze(modules, *op, types, diagnostics);
  std::string text = diagnostics.renderText();
  const std::string here = H3_ERROR_CASES "/";
  for (size_t at; (at = text.find(here)) != std::string::npos;)
    text.erase(at, here.size());
  return text;
}

class ErrorText : public testing::TestWithParam<std::string> {};

TEST_P(ErrorText, IsAsExpected) {
  std::string found = analysedErrors(GetParam());
  fs::path path = fs::path(H3_ERROR_CASES) / (GetParam() + ".expected");
  if (const char *update = std::getenv("H3_UPDATE_EXPECTED"); update && *update)
    std::ofstream(path, std::ios::binary) << found;
  EXPECT_FALSE(found.empty()) << "the spec was accepted";
  ASSERT_TRUE(fs::exists(path)) << "no expected text; found:\n" << found;
  EXPECT_EQ(found, readFile(path));
}

INSTANTIATE_TEST_SUITE_P(Cases, ErrorText, testing::ValuesIn(cases()),
                         [](const auto &info) { return info.param; });

TEST(ErrorTexts, AreThere) {
  EXPECT_GE(cases().size(), 40u);
  for (const fs::directory_entry &entry : fs::directory_iterator(H3_ERROR_CASES))
    if (entry.path().extension() == ".expected") {
      EXPECT_TRUE(fs::exists(fs::path(entry.path()).replace_extension(".spec"))) << entry.path();
    }
}

} // namespace
} // namespace h3
