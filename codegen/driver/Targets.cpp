//===-- codegen/driver/Targets.cpp - h3gen targets ------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/Target.h"
#include "codegen/driver/Driver.h"

#include <fmt/core.h>

namespace h3 {

void registerTargets(CLI::App &app, Outcome) {
  CLI::App *command = app.add_subcommand("targets", "List every target");
  command->callback([] {
    fmt::print("{:<9} {:<8} {:<11} {}\n", "target", "backend", "capability", "PTX from");
    for (const Target &target : targets())
      fmt::print("{:<9} {:<8} {:<11} {}.{}\n", target.name, target.backend,
                 fmt::format("{}.{}{}", target.major, target.minor, target.suffix),
                 target.ptxVersion / 10, target.ptxVersion % 10);
  });
}

} // namespace h3
