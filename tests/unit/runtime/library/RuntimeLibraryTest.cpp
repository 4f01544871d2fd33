//===-- tests/unit/runtime/library/RuntimeLibraryTest.cpp - What libh3rt is as a file -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/include/h3rt.h"
#include "runtime/plan/Decline.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <dlfcn.h>

namespace {

std::string contentsOf(const std::string &path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> linesOf(const std::string &command) {
  std::vector<std::string> lines;
  FILE *pipe = popen(command.c_str(), "r");
  EXPECT_TRUE(pipe) << command;
  std::array<char, 4096> line;
  while (pipe && std::fgets(line.data(), line.size(), pipe)) {
    lines.emplace_back(line.data());
    lines.back().erase(lines.back().find_last_not_of('\n') + 1);
  }
  EXPECT_EQ(pclose(pipe), 0) << command;
  return lines;
}

std::set<std::string> listed() {
  std::istringstream file(contentsOf(H3_SYMBOLS));
  std::set<std::string> symbols;
  for (std::string line; std::getline(file, line);)
    symbols.insert(line);
  return symbols;
}

TEST(RuntimeLibrary, ExportsWhatTheListHasAndNothingElse) {
  std::set<std::string> exported;
  for (const std::string &line :
       linesOf("nm -D --defined-only -P '" H3_LIBRARY "' | cut -d ' ' -f 1"))
    exported.insert(line);
  EXPECT_EQ(exported, listed());
  EXPECT_GT(exported.size(), 20u);
}

TEST(RuntimeLibrary, TheHeaderDeclaresWhatIsExported) {
  const std::string header = contentsOf(H3_HEADER);
  const std::regex declaration("H3RT_API [^;(]*?(h3rt_[a-z_]+)\\(");
  std::set<std::string> declared;
  for (std::sregex_iterator at(header.begin(), header.end(), declaration), end; at != end; ++at)
    declared.insert((*at)[1]);
  EXPECT_EQ(declared, listed());
}

TEST(RuntimeLibrary, TheHeadersReasonsAreThoseOfThePlan) {
  const std::string header = contentsOf(H3_HEADER);
  for (unsigned i = 0; i < h3::plan::kDeclineReasonCount; ++i) {
    std::string name(h3::plan::name(static_cast<h3::plan::DeclineReason>(i)));
    EXPECT_EQ(h3rt_reason_name(static_cast<int32_t>(i)), name);
    for (char &c : name)
      c = static_cast<char>(std::toupper(c));
    EXPECT_NE(header.find("  H3RT_DECLINE_" + name + " = " + std::to_string(i)), std::string::npos)
        << name;
  }
  EXPECT_EQ(header.find(" = " + std::to_string(h3::plan::kDeclineReasonCount) + ",",
                        header.find("typedef enum h3rt_reason")),
            std::string::npos);
  EXPECT_STREQ(h3rt_reason_name(-1), "unknown");
  EXPECT_STREQ(h3rt_reason_name(64), "unknown");
  EXPECT_STREQ(h3rt_reason_name(1000), "unknown");
}

TEST(RuntimeLibrary, NeedsTheCLibraryAloneAndIsSmall) {
#ifdef H3_SANITIZED
  GTEST_SKIP() << "skipped: a sanitizer adds libraries of its own";
#else
  const std::set<std::string> allowed = {"libc.so.6", "libdl.so.2", "libpthread.so.0",
                                         "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"};
  size_t needed = 0;
  for (const std::string &line : linesOf("readelf -d '" H3_LIBRARY "' | grep NEEDED")) {
    const size_t from = line.find('[') + 1;
    const std::string name = line.substr(from, line.find(']') - from);
    EXPECT_TRUE(allowed.count(name)) << name;
    ++needed;
  }
  EXPECT_GT(needed, 0u);
  const std::string stripped = testing::TempDir() + "libh3rt.stripped.so";
  linesOf("strip -o '" + stripped + "' '" H3_LIBRARY "'");
  EXPECT_LT(std::filesystem::file_size(stripped), 1000u * 1000u);
  std::filesystem::remove(stripped);
#endif
}

TEST(RuntimeLibrary, LoadsAndAnswersWithoutADriver) {
  void *library = dlopen(H3_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  auto version = reinterpret_cast<decltype(&h3rt_version)>(dlsym(library, "h3rt_version"));
  auto create = reinterpret_cast<decltype(&h3rt_create)>(dlsym(library, "h3rt_create"));
  auto destroy = reinterpret_cast<decltype(&h3rt_destroy)>(dlsym(library, "h3rt_destroy"));
  auto find = reinterpret_cast<decltype(&h3rt_find_operator)>(dlsym(library, "h3rt_find_operator"));
  auto error = reinterpret_cast<decltype(&h3rt_last_error)>(dlsym(library, "h3rt_last_error"));
  ASSERT_TRUE(version && create && destroy && find && error);
  EXPECT_STREQ(version(), H3_VERSION);
  h3rt_runtime *runtime = nullptr;
  ASSERT_EQ(create(nullptr, &runtime), H3RT_OK);
  h3rt_operator *op = nullptr;
  EXPECT_EQ(find(runtime, "swiglu<f16>", &op), H3RT_NOT_FOUND);
  EXPECT_STREQ(error(), "no operator 'swiglu<f16>', there are none");
  destroy(runtime);
  destroy(nullptr);
}

} // namespace
