//===-- codegen/driver/Tree.cpp - h3gen tree ------------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Driver.h"
#include "codegen/driver/Specs.h"
#include "dsl/interpreter/OrderText.h"
#include "dsl/syntax/Parser.h"

#include <fmt/core.h>

namespace h3 {

/// `(_, lane: 32) then halving lane` is an order itself; `norm.row_vec4` is one of the library,
/// with or without the folder it stands in.
static std::optional<Order> readOrder(const std::string &text, const SpecOptions &options,
                                      Diagnostics &diagnostics, SourceFile &source,
                                      LoadedSpec &spec) {
  if (text.find('(') != std::string::npos) {
    source = {"<order>", text};
    std::optional<ast::Order> order = parseOrder(source, diagnostics);
    return order ? analyzeOrder(*order, diagnostics) : std::optional<Order>();
  }
  // A spec that uses the module and nothing else.
  size_t dot = text.rfind('.');
  if (dot == std::string::npos) {
    diagnostics.error({}, "expected an order as text or the path of one, found '" + text + "'",
                      "write '(_, lane: 32) then halving lane', or 'eager.norm.row_vec4'");
    return {};
  }
  std::string module = text.substr(0, dot);
  if (!loadSpecText("use " + module + "\n", options.path, spec, diagnostics))
    return {};
  size_t last = module.rfind('.');
  std::string local = last == std::string::npos ? module : module.substr(last + 1);
  return findOrder(spec.modules, local + text.substr(dot), diagnostics);
}

void registerTree(CLI::App &app, Outcome outcome) {
  struct State {
    SpecOptions options;
    std::string order;
    int64_t extent = 0;
  };
  auto state = std::make_shared<State>();
  CLI::App *command = app.add_subcommand("tree", "Print the evaluation tree of an order");
  command
      ->add_option("ORDER", state->order, "An order as text, or a path such as eager.norm.row_vec4")
      ->required();
  command->add_option("--n", state->extent, "Number of elements")
      ->required()
      ->check(CLI::Range(int64_t(0), int64_t(1) << 16));
  state->options.addTo(*command);
  command->callback([state, outcome] {
    Diagnostics diagnostics;
    SourceFile source;
    LoadedSpec spec;
    std::optional<Order> order = readOrder(state->order, state->options, diagnostics, source, spec);
    if (!order) {
      printDiagnostics(diagnostics, state->options.json);
      *outcome = ExitCode::BadInput;
      return;
    }
    fmt::print("{}", treeText(*order, state->extent));
  });
}

} // namespace h3
