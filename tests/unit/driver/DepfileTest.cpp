//===-- tests/unit/driver/DepfileTest.cpp - What a build system must watch -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Depfile.h"

#include "codegen/driver/CompilerBuild.h"

#include <gtest/gtest.h>

using namespace h3;

namespace {

TEST(Depfile, IsARule) {
  std::vector<std::string> targets = {"out/a.ptx", "out/a.json"}, files = {"a.spec", "b.spec"};
  EXPECT_EQ(depfile(targets, files), "out/a.ptx \\\n  out/a.json: \\\n  a.spec \\\n  b.spec\n");
  EXPECT_EQ(depfile(targets, {}), "out/a.ptx \\\n  out/a.json:\n");
}

TEST(Depfile, EscapesWhatMakeReadsOtherwise) {
  auto rule = [](const std::string &path) {
    std::vector<std::string> targets = {"t"}, files = {path};
    return depfile(targets, files).value_or("none").substr(7);
  };
  EXPECT_EQ(rule("a b"), "a\\ b\n");
  EXPECT_EQ(rule("a#b"), "a\\#b\n");
  EXPECT_EQ(rule("a$b"), "a$$b\n");
  EXPECT_EQ(rule("a\\b"), "a\\b\n");
  EXPECT_EQ(rule("a\\ b"), "a\\\\\\ b\n");
  EXPECT_EQ(rule("c:d"), "c\\:d\n");
  std::vector<std::string> targets = {"t"}, broken = {"a\nb"};
  EXPECT_FALSE(depfile(targets, broken));
  EXPECT_FALSE(depfile(broken, targets));
}

TEST(Depfile, TheProgramStandsForItsModules) {
  LoadedSpec spec;
  Diagnostics diagnostics;
  ASSERT_TRUE(loadSpecText("use eager.norm\nuse eager.math\n", {}, spec, diagnostics));
  std::vector<std::string> files = filesRead(spec);
  EXPECT_EQ(files, std::vector<std::string>{programPath()});
  EXPECT_EQ(files[0].substr(files[0].rfind('/') + 1), "driver_test");
}

} // namespace
