//===-- dsl/program/Analysis.cpp - From syntax to typed program -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Analysis.h"
#include "dsl/program/Analyzer.h"
#include "dsl/program/Orders.h"

#include <fmt/format.h>

namespace h3 {

std::vector<const ast::Operator *> operators(const ModuleSet &modules) {
  std::vector<const ast::Operator *> all;
  for (const ast::Operator &op : modules.root().file->operators)
    all.push_back(&op);
  return all;
}

const ast::Operator *findOperator(const ModuleSet &modules, std::string_view name,
                                  Diagnostics &diagnostics) {
  std::vector<std::string> names;
  std::string all;
  for (const ast::Operator &op : modules.root().file->operators) {
    if (op.name.text == name)
      return &op;
    names.push_back(op.name.text);
    all += (all.empty() ? "" : ", ") + op.name.text;
  }
  std::string near = closest(name, names);
  diagnostics.error({}, fmt::format("unknown operator `{}`", name),
                    !near.empty()   ? fmt::format("did you mean `{}`?", near)
                    : names.empty() ? "the spec has no operators"
                                    : fmt::format("the spec has {}", all));
  return nullptr;
}

std::vector<TypeArguments> typeChoices(const ast::Operator &op) {
  std::vector<TypeArguments> choices{{}};
  for (const ast::Generic &generic : op.generics) {
    std::vector<TypeArguments> extended;
    for (const TypeArguments &choice : choices)
      for (const ast::Name &type : generic.types)
        if (std::optional<ScalarType> scalar = scalarTypeNamed(type.text)) {
          extended.push_back(choice);
          extended.back()[generic.name.text] = *scalar;
        }
    choices = std::move(extended);
  }
  return choices;
}

std::unique_ptr<Program> analyze(const ModuleSet &modules, const ast::Operator &op,
                                 const TypeArguments &types, Diagnostics &diagnostics) {
  ModuleIndex index(modules);
  auto program = std::make_unique<Program>();
  Analyzer analyzer(index, *program, diagnostics);
  if (!analyzer.analyzeOperator(op, types))
    return nullptr;
  return program;
}

std::optional<Order> findOrder(const ModuleSet &modules, std::string_view path,
                               Diagnostics &diagnostics) {
  ModuleIndex index(modules);
  const Item *item = index.find(modules.root(), path);
  if (item && item->order)
    return makeOrder(*item->order, std::string(path), diagnostics);
  if (item)
    diagnostics.error({}, fmt::format("`{}` is {}, not an order", path, item->what()));
  else
    diagnostics.error(
        {}, fmt::format("unknown order `{}`", path),
        index.suggest(modules.root(), path, [](const Item &i) { return i.order != nullptr; }, {}));
  return std::nullopt;
}

std::optional<Order> analyzeOrder(const ast::Order &order, Diagnostics &diagnostics) {
  return makeOrder(order, order.name.text, diagnostics);
}

} // namespace h3
