//===-- backends/Target.cpp - The target table ----------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/Target.h"

#include <list>
#include <vector>

namespace h3 {

static constexpr Target table[] = {
#define H3_NVPTX_TARGET(name, major, minor, suffix, ptx, capabilities)                             \
  {#name, "nvptx", major, minor, suffix, ptx, capabilities},
#define H3_CPU_TARGET(name, capabilities) {name, "cpu", 0, 0, "", 0, capabilities},
#include "backends/targets.def"
};

/// Every table that there has been: the last is the one, and nothing that points into another
/// dangles.
static std::list<std::vector<Target>> &tables() {
  static std::list<std::vector<Target>> all{{std::begin(table), std::end(table)}};
  return all;
}

std::span<const Target> targets() { return tables().back(); }

void addTargets(std::span<const Target> added) {
  std::vector<Target> longer = tables().back();
  longer.insert(longer.end(), added.begin(), added.end());
  tables().push_back(std::move(longer));
}

const Target *findTarget(std::string_view name) {
  for (const Target &target : targets())
    if (target.name == name)
      return &target;
  return nullptr;
}

std::string targetNames() {
  std::string names;
  for (const Target &target : targets())
    names.append(names.empty() ? "" : ", ").append(target.name);
  return names;
}

} // namespace h3
