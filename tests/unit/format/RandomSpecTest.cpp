//===-- tests/unit/format/RandomSpecTest.cpp - Formatting random specs ----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/format/RandomSpec.h"
#include "dsl/format/Format.h"
#include "dsl/syntax/Parser.h"
#include "tests/fuzz/Promises.h"
#include "tests/unit/Seed.h"
#include "tests/unit/syntax/PrintAst.h"

#include <gtest/gtest.h>

namespace h3 {
namespace {

/// The tree as text; an error as itself.
std::string parsed(const std::string &text) {
  SourceFile source{"random.spec", text};
  Diagnostics diagnostics;
  std::unique_ptr<ast::File> file = parse(source, diagnostics);
  return file ? print(*file) : diagnostics.renderText();
}

TEST(RandomSpecs, PrintParsePrintIsStable) {
  std::mt19937_64 random(test::seed());
  size_t large = 0, commented = 0;
  for (int i = 0; i < 1000 && !HasFailure(); ++i) {
    std::string text = test::scattered(test::randomSpec(random), random);
    SourceFile source{"random.spec", text};
    Diagnostics diagnostics;
    std::optional<std::string> printed = format(source, diagnostics);
    ASSERT_TRUE(printed) << diagnostics.renderText() << text;
    EXPECT_EQ(parsed(*printed), parsed(text)) << text;
    EXPECT_EQ(brokenByFormatter(text), "") << text;
    large += printed->size() > 2000;
    commented += printed->find("//") != std::string::npos;
  }
  // The texts were of every kind.
  EXPECT_GT(large, 100u);
  EXPECT_GT(commented, 300u);
  EXPECT_LT(commented, 950u);
}

} // namespace
} // namespace h3
