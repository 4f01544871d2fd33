//===-- backends/Target.cpp - The target table ----------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/Target.h"

namespace h3 {

static constexpr Target table[] = {
#define H3_NVPTX_TARGET(name, major, minor, suffix, ptx, capabilities)                             \
  {#name, "nvptx", major, minor, suffix, ptx, capabilities},
#define H3_CPU_TARGET(name, capabilities) {name, "cpu", 0, 0, "", 0, capabilities},
#include "backends/targets.def"
};

std::span<const Target> targets() { return table; }

const Target *findTarget(std::string_view name) {
  for (const Target &target : table)
    if (target.name == name)
      return &target;
  return nullptr;
}

std::string targetNames() {
  std::string names;
  for (const Target &target : table)
    names.append(names.empty() ? "" : ", ").append(target.name);
  return names;
}

} // namespace h3
