//===-- tests/unit/backends/BackendTest.cpp - The list of backends --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/Backend.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

namespace h3 {
namespace {

std::set<std::string> listed() {
  std::set<std::string> names;
  for (const Backend *backend : backends())
    EXPECT_TRUE(names.emplace(backend->name()).second) << backend->name() << " is there twice";
  return names;
}

TEST(Backends, EveryFolderIsOnTheListAndNothingElse) {
  std::set<std::string> folders;
  for (const auto &entry : std::filesystem::directory_iterator(H3GEN_BACKENDS))
    if (entry.is_directory())
      folders.insert(entry.path().filename().string());
  EXPECT_FALSE(folders.empty());
  EXPECT_EQ(listed(), folders);
}

TEST(Backends, EveryTargetHasABackendAndEveryBackendATarget) {
  std::set<std::string> used;
  for (const Target &target : targets()) {
    const Backend *backend = findBackend(target.backend);
    ASSERT_NE(backend, nullptr) << target.name;
    EXPECT_EQ(&backendOf(target), backend);
    used.emplace(backend->name());
  }
  EXPECT_EQ(used, listed());
}

TEST(Backends, EveryTargetCanBeCompiledAndAnObstacleIsNamed) {
  for (const Target &target : targets()) {
    const Backend &backend = backendOf(target);
    EXPECT_TRUE(backend.ability(target, Step::Compile)) << target.name;
    for (Step step : {Step::Assemble, Step::Execute, Step::Prove}) {
      const Ability ability = backend.ability(target, step, "/nowhere/at/all");
      EXPECT_EQ(ability.obstacle.find('\n'), std::string::npos) << ability.obstacle;
      EXPECT_FALSE(ability.tool && !ability) << "a tool that cannot be used is none";
    }
  }
}

TEST(Backends, AToolThatIsNamedAndDoesNotRunIsAnObstacle) {
  const Target &target = *findTarget("sm_90");
  const Ability ability = backendOf(target).ability(target, Step::Assemble, "/nowhere/at/all");
  EXPECT_EQ(ability.obstacle, "--ptxas names '/nowhere/at/all', which is not a ptxas that runs");
}

} // namespace
} // namespace h3
