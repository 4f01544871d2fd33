//===-- codegen/driver/Specs.cpp - Specs on the command line --------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Specs.h"

#include "codegen/driver/Driver.h"

#include "h3_specs.h"

#include <fmt/core.h>

#include <algorithm>

namespace h3 {

static std::span<const EmbeddedSpec> library() {
  static const std::vector<EmbeddedSpec> specs = [] {
    std::vector<EmbeddedSpec> list;
    for (const EmbeddedText &file : embeddedSpecs())
      list.push_back({file.path, file.text});
    return list;
  }();
  return specs;
}

static bool checkLoaded(LoadedSpec &spec, Diagnostics &diagnostics) {
  if (!spec.modules.complete() || !checkModules(spec.modules, diagnostics))
    return false;
  spec.operators = operators(spec.modules);
  return true;
}

bool loadSpec(const std::string &path, const std::vector<std::string> &searchPath, LoadedSpec &spec,
              Diagnostics &diagnostics, const std::map<std::string, std::string> *unsaved) {
  spec.modules = loadModules(path, SpecSearch{searchPath, library(), unsaved}, diagnostics);
  return checkLoaded(spec, diagnostics);
}

bool loadSpecText(const std::string &text, const std::vector<std::string> &searchPath,
                  LoadedSpec &spec, Diagnostics &diagnostics) {
  spec.modules =
      loadModulesOfText("<command line>", text, SpecSearch{searchPath, library()}, diagnostics);
  return checkLoaded(spec, diagnostics);
}

std::vector<OperatorInstances> instances(const LoadedSpec &spec, Diagnostics &diagnostics) {
  std::string problem; // of a choice
  return instances(spec, {}, diagnostics, problem);
}

/// `T=bf16`; false with \p problem set.
static bool readTypes(const std::vector<std::string> &settings,
                      std::map<std::string, ScalarType> &types, std::string &problem) {
  for (const std::string &text : settings) {
    size_t equals = text.find('=');
    std::optional<ScalarType> type;
    if (equals != std::string::npos)
      type = scalarTypeNamed(std::string_view(text).substr(equals + 1));
    if (!type || equals == 0) {
      problem = "expected TYPE_PARAMETER=TYPE, found '" + text + "'";
      return false;
    }
    types[text.substr(0, equals)] = *type;
  }
  return true;
}

std::vector<OperatorInstances> instances(const LoadedSpec &spec, const InstanceChoice &choice,
                                         Diagnostics &diagnostics, std::string &problem) {
  std::map<std::string, ScalarType> types;
  if (!readTypes(choice.settings, types, problem))
    return {};
  std::vector<const ast::Operator *> operators = spec.operators;
  if (!choice.op.empty()) {
    const ast::Operator *op = findOperator(spec.modules, choice.op, diagnostics);
    if (!op)
      return {};
    operators = {op};
  }
  for (const auto &[name, type] : types)
    if (std::none_of(operators.begin(), operators.end(), [&](const ast::Operator *op) {
          return std::any_of(op->generics.begin(), op->generics.end(),
                             [&](const ast::Generic &g) { return g.name.text == name; });
        })) {
      problem = "there is no type parameter '" + name + "'";
      return {};
    }
  std::vector<OperatorInstances> result;
  for (const ast::Operator *op : operators) {
    OperatorInstances entry{op, {}};
    bool anyChosen = false;
    for (const TypeArguments &candidate : typeChoices(*op)) {
      bool isChosen = std::all_of(types.begin(), types.end(), [&](const auto &wanted) {
        auto own = candidate.find(wanted.first);
        return own == candidate.end() || own->second == wanted.second;
      });
      if (!isChosen)
        continue;
      anyChosen = true;
      std::unique_ptr<Program> program = analyze(spec.modules, *op, candidate, diagnostics);
      if (!program)
        break; // the other types would repeat the same errors
      entry.programs.push_back(std::move(program));
    }
    if (!anyChosen) {
      problem = fmt::format("no instance of '{}' has these types", op->name.text);
      return {};
    }
    result.push_back(std::move(entry));
  }
  if (!diagnostics.empty())
    return {};
  return result;
}

void InstanceChoice::addTo(CLI::App &app) {
  app.add_option("--op", op, "Only this operator");
  app.add_option("--set", settings, "TYPE_PARAMETER=TYPE: only these instances");
}

std::vector<OperatorInstances> loadInstances(const std::string &path, const SpecOptions &options,
                                             const InstanceChoice &choice, LoadedSpec &spec) {
  Diagnostics diagnostics;
  std::vector<OperatorInstances> operators;
  std::string problem;
  if (loadSpec(path, options.path, spec, diagnostics)) {
    if (spec.operators.empty())
      diagnostics.error({}, "'" + path + "' defines no operator",
                        "an order of a library file is shown by h3gen tree");
    else
      operators = instances(spec, choice, diagnostics, problem);
  }
  if (!problem.empty())
    printError(problem);
  if (!diagnostics.empty())
    printDiagnostics(diagnostics, options.json);
  return operators;
}

std::vector<Order> referenceOrders() {
  std::vector<Order> orders;
  for (const EmbeddedSpec &file : library()) {
    if (!file.path.starts_with("eager/") || !file.path.ends_with(".spec"))
      continue;
    std::string name(file.path.substr(6, file.path.size() - 6 - 5));
    LoadedSpec spec;
    Diagnostics ignored;
    if (!loadSpecText("use eager." + name + "\n", {}, spec, ignored))
      continue;
    for (const Module &module : spec.modules.modules)
      for (const ast::Order &written : module.file->orders)
        if (std::optional<Order> order = analyzeOrder(written, ignored)) {
          order->name = module.name.substr(module.name.rfind('.') + 1) + "." + order->name;
          orders.push_back(std::move(*order));
        }
  }
  return orders;
}

void printDiagnostics(const Diagnostics &diagnostics, bool json) {
  if (!diagnostics.empty())
    fmt::print(stderr, "{}", json ? diagnostics.renderJson() + "\n" : diagnostics.renderText());
}

} // namespace h3
