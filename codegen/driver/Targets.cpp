//===-- codegen/driver/Targets.cpp - h3gen targets ------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/Backend.h"
#include "codegen/driver/Driver.h"
#include "codegen/driver/plugin/PluginBackend.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace h3 {

std::string targetName(const std::string &text) {
  const bool isNumber = !text.empty() && text.front() >= '0' && text.front() <= '9';
  return isNumber ? "sm_" + text : text;
}

std::vector<const Target *> targetsNamed(const std::vector<std::string> &names) {
  std::vector<const Target *> chosen;
  auto add = [&](const Target &target) {
    if (std::ranges::find(chosen, &target) == chosen.end())
      chosen.push_back(&target);
  };
  for (const std::string &name : names) {
    if (name == "all") {
      for (const Target &target : targets())
        add(target);
      continue;
    }
    const Target *target = findTarget(targetName(name));
    if (!target) {
      printError("unknown target '" + name + "'; there are: " + targetNames());
      return {};
    }
    add(*target);
  }
  return chosen;
}

void addPluginOption(CLI::App &app) {
  app.add_option_function<std::vector<std::string>>(
         "--plugin",
         [](const std::vector<std::string> &paths) {
           for (const std::string &path : paths)
             if (std::string wrong = loadPlugin(path); !wrong.empty()) {
               printError(wrong);
               throw CLI::RuntimeError(static_cast<int>(ExitCode::BadInput));
             }
         },
         "Backends from outside: shared objects (also: H3GEN_PLUGINS, separated by ':')")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->trigger_on_parse();
}

static void listTargets() {
  constexpr std::pair<Step, const char *> steps[] = {{Step::Compile, "compile"},
                                                     {Step::Assemble, "assemble"},
                                                     {Step::Execute, "execute"},
                                                     {Step::Prove, "prove"}};
  fmt::print("{:<12}{:<9}", "target", "backend");
  for (const auto &[step, name] : steps)
    fmt::print("{:<10}", name);
  fmt::print("\n");
  std::vector<std::string> notes; // why something cannot be done, once
  for (const Target &target : targets()) {
    fmt::print("{:<12}{:<9}", target.name, target.backend);
    for (const auto &[step, name] : steps) {
      const Ability ability = backendOf(target).ability(target, step);
      if (ability) {
        fmt::print("{:<10}", "yes");
        continue;
      }
      auto known = std::ranges::find(notes, ability.obstacle);
      fmt::print("{:<10}", fmt::format("no ({})", known - notes.begin() + 1));
      if (known == notes.end())
        notes.push_back(ability.obstacle);
    }
    fmt::print("\n");
  }
  for (size_t i = 0; i < notes.size(); ++i)
    fmt::print("({}) {}\n", i + 1, notes[i]);
}

void registerTargets(CLI::App &app, Outcome) {
  CLI::App *command = app.add_subcommand(
      "targets", "List every target and what can be done for it on this machine");
  addPluginOption(*command);
  command->callback(listTargets);
}

} // namespace h3
