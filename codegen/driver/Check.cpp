//===-- codegen/driver/Check.cpp - h3gen check ----------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Driver.h"
#include "codegen/driver/Specs.h"

#include <fmt/core.h>

namespace h3 {

void registerCheck(CLI::App &app, Outcome outcome) {
  struct State {
    SpecOptions options;
    std::vector<std::string> specs;
  };
  auto state = std::make_shared<State>();
  CLI::App *command = app.add_subcommand("check", "Check specs and say what they define");
  command->add_option("SPEC", state->specs, "Spec files")->required();
  state->options.addTo(*command);
  command->callback([state, outcome] {
    for (const std::string &path : state->specs) {
      LoadedSpec spec;
      Diagnostics diagnostics;
      std::vector<OperatorInstances> all;
      if (loadSpec(path, state->options.path, spec, diagnostics))
        all = instances(spec, diagnostics);
      if (!diagnostics.empty()) {
        printDiagnostics(diagnostics, state->options.json);
        *outcome = worse(*outcome, ExitCode::BadInput);
        continue;
      }
      for (const OperatorInstances &entry : all)
        for (const std::unique_ptr<Program> &program : entry.programs) {
          std::string types;
          for (const auto &[name, type] : program->typeArguments)
            types += fmt::format("{}{} = {}", types.empty() ? "<" : ", ", name, h3::name(type));
          fmt::print("{}: {}{}: {}\n", path, program->name, types.empty() ? "" : types + ">",
                     program->usesApproximation ? "approx (uses a named approximation)"
                                                : "ieee (IEEE operations only)");
        }
      if (all.empty())
        fmt::print("{}: no operators\n", path);
    }
  });
}

} // namespace h3
