//===-- tests/unit/backends/TargetTest.cpp - The target table -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/Target.h"

#include <gtest/gtest.h>

#include <set>

namespace h3 {
namespace {

TEST(Target, EveryNameIsFoundAndUnique) {
  std::set<std::string_view> names;
  for (const Target &target : targets()) {
    EXPECT_TRUE(names.insert(target.name).second) << target.name;
    EXPECT_EQ(findTarget(target.name), &target);
    if (target.backend == "nvptx")
      EXPECT_EQ(target.name, "sm_" + std::to_string(target.major * 10 + target.minor) +
                                 std::string(target.suffix));
  }
}

TEST(Target, OnlyExactNamesMatch) {
  for (const char *name : {"sm_91", "sm_9", "90", "sm_90 ", "SM_90", "sm_900", ""})
    EXPECT_EQ(findTarget(name), nullptr) << name;
}

TEST(Target, CapabilitiesFollowTheHardware) {
  EXPECT_FALSE(findTarget("sm_80")->has(Capability::Bf16Arithmetic));
  EXPECT_FALSE(findTarget("sm_86")->has(Capability::ConvertFp8));
  EXPECT_TRUE(findTarget("sm_89")->has(Capability::ConvertFp8));
  EXPECT_FALSE(findTarget("sm_89")->has(Capability::Bf16Arithmetic));
  EXPECT_TRUE(findTarget("sm_90")->has(Capability::Bf16Arithmetic));
  EXPECT_FALSE(findTarget("sm_90a")->has(Capability::PackedF32));
  EXPECT_TRUE(findTarget("sm_103")->has(Capability::PackedF32));
}

} // namespace
} // namespace h3
