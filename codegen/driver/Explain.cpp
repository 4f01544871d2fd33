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
  std::string path, op, format = "text";
  std::vector<std::string> settings;
};

/// `T=bf16` as asked for with --set. False with the reason printed.
bool readTypes(const ExplainOptions &options, std::map<std::string, ScalarType> &types) {
  for (const std::string &text : options.settings) {
    size_t equals = text.find('=');
    std::optional<ScalarType> type;
    if (equals != std::string::npos)
      type = scalarTypeNamed(std::string_view(text).substr(equals + 1));
    if (!type || equals == 0) {
      printError("expected TYPE_PARAMETER=TYPE, found '" + text + "'");
      return false;
    }
    types[text.substr(0, equals)] = *type;
  }
  return true;
}

bool isChosen(const TypeArguments &choice, const std::map<std::string, ScalarType> &types) {
  for (const auto &[name, type] : types)
    if (auto own = choice.find(name); own != choice.end() && own->second != type)
      return false;
  return true;
}

ExitCode explainSpec(const ExplainOptions &options) {
  LoadedSpec spec;
  Diagnostics diagnostics;
  std::map<std::string, ScalarType> types;
  if (!readTypes(options, types))
    return ExitCode::BadInput;
  std::vector<const ast::Operator *> chosen;
  if (loadSpec(options.path, options.specs.path, spec, diagnostics)) {
    chosen = spec.operators;
    if (!options.op.empty())
      chosen = {findOperator(spec.modules, options.op, diagnostics)};
    if (chosen.empty())
      diagnostics.error({}, "'" + options.path + "' defines no operator",
                        "an order of a library file is shown by h3gen tree");
  }
  std::vector<std::vector<std::unique_ptr<Program>>> programs;
  for (const ast::Operator *op : chosen) {
    if (!op)
      break;
    programs.emplace_back();
    for (const TypeArguments &choice : typeChoices(*op))
      if (isChosen(choice, types))
        if (auto program = analyze(spec.modules, *op, choice, diagnostics))
          programs.back().push_back(std::move(program));
    if (programs.back().empty() && diagnostics.empty()) {
      printError(fmt::format("no instance of '{}' has these types", op->name.text));
      return ExitCode::BadInput;
    }
  }
  for (const auto &[name, type] : types)
    if (diagnostics.empty() &&
        std::none_of(chosen.begin(), chosen.end(), [&](const ast::Operator *op) {
          return std::any_of(op->generics.begin(), op->generics.end(),
                             [&](const ast::Generic &g) { return g.name.text == name; });
        })) {
      printError("there is no type parameter '" + name + "'");
      return ExitCode::BadInput;
    }
  if (!diagnostics.empty()) {
    printDiagnostics(diagnostics, options.specs.json);
    return ExitCode::BadInput;
  }
  if (options.format == "svg" && programs.size() > 1) {
    printError("an SVG shows one operator; choose one with --op");
    return ExitCode::BadInput;
  }

  std::string out, between;
  for (const auto &instances : programs) {
    std::vector<Explanation> explanations;
    for (const auto &program : instances)
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
  command->add_option("--op", options->op, "Only this operator");
  command->add_option("--set", options->settings, "TYPE_PARAMETER=TYPE: only these instances");
  command->add_option("--format", options->format, "How it is written")
      ->check(CLI::IsMember({"text", "json", "svg", "html"}));
  options->specs.addTo(*command);
  command->callback([options, outcome] { *outcome = explainSpec(*options); });
}

} // namespace h3
