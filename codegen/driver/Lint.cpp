//===-- codegen/driver/Lint.cpp - h3gen lint ------------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/lint/Lint.h"
#include "codegen/driver/Driver.h"
#include "codegen/driver/Specs.h"

#include <fmt/core.h>

namespace h3 {

void registerLint(CLI::App &app, Outcome outcome) {
  struct State {
    SpecOptions options;
    std::vector<std::string> specs;
    bool werror = false, rules = false;
  };
  auto state = std::make_shared<State>();
  CLI::App *command =
      app.add_subcommand("lint", "Warn about what a spec probably does not mean to say");
  command->add_option("SPEC", state->specs, "Spec files");
  command->add_flag("--werror", state->werror, "Exit with 1 if there is a warning");
  command->add_flag("--rules", state->rules, "List the rules");
  state->options.addTo(*command);
  command->callback([state, outcome] {
    if (state->rules)
      for (const LintRule &rule : lintRules())
        fmt::print("{:<22} {}\n", rule.name, rule.what);
    if (state->specs.empty() && !state->rules) {
      printError("no spec is given");
      *outcome = ExitCode::BadInput;
      return;
    }
    std::vector<Order> known = referenceOrders();
    for (const std::string &path : state->specs) {
      LoadedSpec spec;
      Diagnostics errors;
      std::vector<OperatorInstances> all;
      if (loadSpec(path, state->options.path, spec, errors))
        all = instances(spec, errors);
      if (!errors.empty()) {
        printDiagnostics(errors, state->options.json);
        *outcome = worse(*outcome, ExitCode::BadInput);
        continue;
      }
      std::vector<std::unique_ptr<Program>> programs;
      for (OperatorInstances &one : all)
        for (std::unique_ptr<Program> &program : one.programs)
          programs.push_back(std::move(program));
      Diagnostics warnings;
      lint(spec.modules, programs, known, warnings);
      printDiagnostics(warnings, state->options.json);
      if (!warnings.empty() && state->werror)
        *outcome = worse(*outcome, ExitCode::Different);
    }
  });
}

} // namespace h3
