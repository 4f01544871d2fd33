//===-- tests/unit/program/ReferencePageTest.cpp - The examples of dsl/README.md -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Blocks marked `h3` are whole specs: all operators, for all types, without an error. Blocks marked
// `h3-error` begin with `// error: MESSAGE`, which must be the first error.
//
//===----------------------------------------------------------------------===//

#include "dsl/program/Analysis.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace h3 {
namespace {

struct Block {
  std::string kind, text;
  unsigned line;
};

std::vector<Block> blocks() {
  std::ifstream in(H3_REFERENCE_PAGE, std::ios::binary);
  std::vector<Block> found;
  std::string line;
  bool inside = false;
  for (unsigned number = 1; std::getline(in, line); ++number) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside)
        found.push_back({line.substr(3), "", number});
    } else if (inside) {
      found.back().text += line + '\n';
    }
  }
  EXPECT_FALSE(inside) << "a block has no end";
  return found;
}

std::string firstError(const std::string &text) {
  SpecSearch search;
  search.folders = {H3_SPEC_FOLDER};
  Diagnostics diagnostics;
  ModuleSet modules = loadModulesOfText("README.md", text, search, diagnostics);
  if (modules.complete() && checkModules(modules, diagnostics))
    for (const ast::Operator *op : operators(modules))
      for (const TypeArguments &types : typeChoices(*op))
        analyze(modules, *op, types, diagnostics);
  return diagnostics.all().empty() ? "" : diagnostics.all().front().message;
}

TEST(ReferencePage, ExamplesAreWhatTheyClaimToBe) {
  unsigned good = 0, bad = 0;
  for (const Block &block : blocks()) {
    if (block.kind == "h3") {
      EXPECT_EQ(firstError(block.text), "") << "the block at line " << block.line;
      ++good;
    } else if (block.kind == "h3-error") {
      const std::string mark = "// error: ";
      std::string head = block.text.substr(0, block.text.find('\n'));
      ASSERT_TRUE(head.starts_with(mark)) << "the block at line " << block.line;
      EXPECT_EQ(firstError(block.text), head.substr(mark.size()))
          << "the block at line " << block.line;
      ++bad;
    } else {
      EXPECT_EQ(block.kind, "") << "the block at line " << block.line;
    }
  }
  EXPECT_GE(good, 10u);
  EXPECT_GE(bad, 5u);
}

} // namespace
} // namespace h3
