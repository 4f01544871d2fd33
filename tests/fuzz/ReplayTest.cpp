//===-- tests/fuzz/ReplayTest.cpp - What the fuzzers found, again ---------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Every file of the corpus, every spec of the project and every spec with an error goes through the
// functions that the fuzzers call. A file of the corpus is named after what it once broke, or after
// the part of the front end that it reaches.
//
//===----------------------------------------------------------------------===//

#include "tests/fuzz/Promises.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace h3 {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> filesBelow(const fs::path &folder, bool specsOnly) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && (!specsOnly || entry.path().extension() == ".spec"))
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// How many files were tried.
size_t replay(const fs::path &folder, bool specsOnly) {
  std::vector<fs::path> paths = filesBelow(folder, specsOnly);
  for (const fs::path &path : paths) {
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    EXPECT_EQ(brokenByParser(text.str()), "") << path;
    EXPECT_EQ(brokenByFormatter(text.str()), "") << path;
    EXPECT_EQ(brokenByFrontEnd(text.str()), "") << path;
  }
  return paths.size();
}

TEST(Replay, Corpus) { EXPECT_GE(replay(H3_CORPUS, false), 100u); }

TEST(Replay, Specs) { EXPECT_GE(replay(H3_SPECS_DIR, true), 5u); }

TEST(Replay, ErrorCases) { EXPECT_GE(replay(H3_ERROR_CASES, true), 100u); }

/// A long text that nests \p opening so often.
std::string nested(std::string opening, std::string middle, std::string closing, size_t times) {
  std::string text;
  for (size_t i = 0; i < times; ++i)
    text += opening;
  text += middle;
  for (size_t i = 0; i < times; ++i)
    text += closing;
  return text;
}

/// Depth has limits that the stack holds, with the sanitizers' large frames too.
TEST(Replay, DeepTexts) {
  const std::string head = "fn f(x: f32) -> f32 = ",
                    op = "op f { dim n in x: f32[n] out y: f32[n] y[i] = ";
  for (size_t times : {10u, 199u, 201u, 999u, 1001u, 20'000u}) {
    for (const std::string &text : {
             head + nested("(", "x", ")", times),
             head + nested("-", "x", "", times),
             head + nested("not ", "x", "", times),
             head + nested("f(", "x", ")", times),
             head + nested("x[", "x", "]", times),
             head + nested("x[(0, ", "x", ")]", times),
             head + nested("[i: n] ", "x", "", times),
             head + nested("[i: (", "n", ")] x", times),
             head + nested("if x then x else ", "x", "", times),
             head + nested("if x then ", "x", " else x", times),
             head + nested("if ", "x", " then x else x", times),
             head + nested("x + ", "x", "", times),
             head + nested("x * -", "x", "", times),
             head + nested("x or not ", "x", "", times),
             head + nested("x", "", "[0]", times),
             head + "(x)" + nested(".a", "", "", times),
             op + nested("(", "x[i]", ")", times) + " }",
             op + nested("-", "x[i]", "", times) + " }",
             op + nested("x[i] + ", "x[i]", "", times) + " }",
             op + nested("if x[i] > 1.0 then 2.0 else ", "x[i]", "", times) + " }",
             op + nested("f32(", "x[i]", ")", times) + " }",
             "use " + nested("a.", "a", "", times),
             "order o = (" + nested("_, ", "_: 2", "", times) + ")",
             "op f { dim n" + nested(", n", "", "", times) + " in x: f32[" +
                 nested("n * ", "n", "", times) + "] }",
         }) {
      EXPECT_EQ(brokenByParser(text), "") << text.substr(0, 60) << " " << times;
      EXPECT_EQ(brokenByFormatter(text), "") << text.substr(0, 60) << " " << times;
      EXPECT_EQ(brokenByFrontEnd(text), "") << text.substr(0, 60) << " " << times;
    }
  }
}

/// A chain of functions, each of which calls the one before.
TEST(Replay, LongChainsOfFunctions) {
  for (int count : {100, 5000}) {
    std::string text = "fn f0(x: f32) -> f32 = x\n";
    for (int i = 1; i < count; ++i)
      text += "fn f" + std::to_string(i) + "(x: f32) -> f32 = f" + std::to_string(i - 1) + "(x)\n";
    text += "op o { dim n in x: f32[n] out y: f32[n] y[i] = f" + std::to_string(count - 1) +
            "(x[i]) }\n";
    EXPECT_EQ(brokenByFrontEnd(text), "") << count;
  }
}

} // namespace
} // namespace h3
