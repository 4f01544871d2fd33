//===-- codegen/driver/Explain.cpp - h3gen explain ------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Driver.h"
#include "codegen/driver/Specs.h"
#include "dsl/explain/Report.h"

#include <fmt/core.h>

namespace h3 {
namespace {

struct ExplainOptions {
  SpecOptions specs;
  std::string path, format = "text";
  InstanceChoice choice;
};

ExitCode explainSpec(const ExplainOptions &options) {
  LoadedSpec spec;
  std::vector<OperatorInstances> operators =
      loadInstances(options.path, options.specs, options.choice, spec);
  if (operators.empty())
    return ExitCode::BadInput;
  if (options.format == "svg" && operators.size() > 1) {
    printError("an SVG shows one operator; choose one with --op");
    return ExitCode::BadInput;
  }

  std::string out, between;
  for (const OperatorInstances &chosen : operators) {
    std::vector<Explanation> explanations;
    for (const auto &program : chosen.programs)
      explanations.push_back(explain(*program));
    out += between;
    if (options.format == "svg")
      out += explainSvg(explanations);
    else if (options.format == "html")
      out += explainHtml(explanations);
    else if (options.format == "json")
      out += explainJson(explanations);
    else
      out += explainText(explanations);
    between = options.format == "json" ? ",\n" : "\n";
  }
  if (options.format == "html")
    out = htmlPage(options.path, out);
  else if (options.format == "json")
    out = "{\"version\": 1, \"operators\": [\n" + out + "\n]}\n";
  fmt::print("{}", out);
  return ExitCode::Good;
}

} // namespace

void registerExplain(CLI::App &app, Outcome outcome) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App *command = app.add_subcommand(
      "explain", "Say what a spec demands and computes: contract, roundings, trees, costs");
  command->add_option("SPEC", options->path, "The spec")->required();
  options->choice.addTo(*command);
  command->add_option("--format", options->format, "How it is written")
      ->check(CLI::IsMember({"text", "json", "svg", "html"}));
  options->specs.addTo(*command);
  command->callback([options, outcome] { *outcome = explainSpec(*options); });
}

} // namespace h3
