//===-- tests/fuzz/bundle/BundleReplayTest.cpp - What the fuzzers found, again -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/fuzz/bundle/BundlePromises.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace h3;

namespace {

template <typename Function> size_t replay(const char *folder, Function broken) {
  size_t count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(std::string(H3_CORPUS) + folder)) {
    std::stringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    EXPECT_EQ(broken(text.str()), "") << entry.path();
    ++count;
  }
  return count;
}

TEST(BundleReplay, Bundles) { EXPECT_GE(replay("/bundle", brokenByBundle), 20u); }
TEST(BundleReplay, Manifests) { EXPECT_GE(replay("/manifest", brokenByManifest), 20u); }
TEST(BundleReplay, Plans) { EXPECT_GE(replay("/plan", brokenByPlan), 20u); }

} // namespace
