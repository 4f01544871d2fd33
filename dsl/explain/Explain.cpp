//===-- dsl/explain/Explain.cpp - What a spec says, for people ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/explain/Walker.h"

#include <fmt/format.h>

namespace h3 {

namespace {

/// So many conditions on sizes and parameters are decided, one after the other, which gives up to
/// 16 cases; the rest are shown as choices.
constexpr size_t MaxDecided = 4;

/// A variable over rows, or the last place of an equation.
struct RowLoop {
  std::string title;
  std::vector<unsigned> variables;
  Amount times;
};

} // namespace

void Walker::section(const Statement &statement) {
  ExplainedSection section;
  std::vector<RowLoop> loops;
  std::vector<const Equation *> equations;
  if (statement.kind == Statement::Kind::For) {
    std::string names;
    for (const auto &[id, extent] : statement.variables) {
      std::string text =
          fmt::format("{}: {}", program.indexVariables[id].name, toString(*extent.size, program));
      loops.push_back({text, {id}, result.amounts.of(*extent.size)});
      names += (names.empty() ? "" : ", ") + text;
    }
    section.title = "for " + names;
    for (const Statement &inner : statement.body)
      if (inner.kind == Statement::Kind::Equation)
        equations.push_back(&inner.equation);
  } else {
    const Equation &equation = statement.equation;
    equations.push_back(&equation);
    const Tensor &tensor = program.tensors[equation.tensor];
    size_t rowPlaces = equation.places.size();
    if (rowPlaces == tensor.extents.size() && rowPlaces > 0)
      --rowPlaces;
    section.title = tensor.name;
    for (size_t p = 0; p < rowPlaces; ++p) {
      const Equation::Place &place = equation.places[p];
      Binder binder{place.variables, place.extent};
      loops.push_back({binderText(binder), place.variables, result.amounts.of(*place.extent.size)});
      std::string names;
      for (unsigned variable : place.variables)
        names += (names.empty() ? "" : ", ") + program.indexVariables[variable].name;
      section.title += (p ? ", " : "[") + (place.variables.size() > 1 ? "(" + names + ")" : names);
    }
    section.title += rowPlaces ? "]" : "";
  }

  std::vector<unsigned> rowVariables;
  Amount rows = Amount::of(1);
  for (const RowLoop &loop : loops) {
    rows = rows * loop.times;
    rowVariables.insert(rowVariables.end(), loop.variables.begin(), loop.variables.end());
  }
  section.rows = result.amounts.text(rows);
  reads.clear();
  for (const Equation *one : equations)
    need(*one->value);
  if (statement.kind == Statement::Kind::For)
    for (const Statement &inner : statement.body)
      if (inner.kind == Statement::Kind::Let && neededLocals.count(inner.let.local))
        need(*inner.let.value);

  stack.push_back({});
  auto nest = [&](auto &self, size_t depth) -> void {
    if (depth < loops.size()) {
      Item loop{Item::Kind::Loop, loops[depth].title, {}};
      loop.times = loops[depth].times;
      loop.isRow = true;
      Context context;
      for (unsigned variable : loops[depth].variables)
        context.bound.insert({false, variable});
      inside(std::move(loop), std::move(context), [&] { self(self, depth + 1); });
      return;
    }
    if (statement.kind == Statement::Kind::For)
      for (const Statement &inner : statement.body)
        if (inner.kind == Statement::Kind::Let && neededLocals.count(inner.let.local))
          walk(*inner.let.value);
    for (const Equation *one : equations) {
      section.outputs.push_back(program.tensors[one->tensor].name);
      // The places that are not rows.
      Item loop{Item::Kind::Loop, {}, {}};
      Context context;
      Amount times = Amount::of(1);
      for (const Equation::Place &place : one->places) {
        std::vector<unsigned> own;
        for (unsigned variable : place.variables)
          if (std::find(rowVariables.begin(), rowVariables.end(), variable) == rowVariables.end())
            own.push_back(variable);
        if (own.empty())
          continue;
        Binder binder{place.variables, place.extent};
        loop.title += (loop.title.empty() ? "" : ", ") + binderText(binder);
        times = times * result.amounts.of(*place.extent.size);
        for (unsigned variable : own) {
          context.bound.insert({false, variable});
          context.variables.push_back(variable);
        }
      }
      loop.times = times;
      if (context.bound.empty())
        walk(*one->value);
      else
        inside(std::move(loop), std::move(context), [&] { walk(*one->value); });
    }
  };
  nest(nest, 0);
  section.items = std::move(stack.back().items);
  stack.pop_back();
  unsigned number = 0;
  numberSteps(section.items, number);
  addCosts(section, loops.size(), program, equations, rowVariables, reads, dependencies,
           result.amounts);
  made.sections.push_back(std::move(section));
}

ExplainedCase Walker::run() {
  for (const auto &[text, holds] : decisions)
    made.conditions.emplace_back(text, holds);
  // Lets of the whole operator come first, where an equation needs them.
  std::vector<const Statement *> lets;
  for (const Statement &statement : program.body) {
    if (statement.kind == Statement::Kind::Let)
      lets.push_back(&statement);
    else if (statement.kind == Statement::Kind::Equation)
      need(*statement.equation.value);
    else
      for (const Statement &inner : statement.body)
        if (inner.kind == Statement::Kind::Equation)
          need(*inner.equation.value);
  }
  ExplainedSection once;
  once.title = "once a call";
  once.rows = "1";
  stack.push_back({});
  for (const Statement *statement : lets)
    if (neededLocals.count(statement->let.local))
      walk(*statement->let.value);
  once.items = std::move(stack.back().items);
  stack.pop_back();
  if (!once.items.empty()) {
    unsigned number = 0;
    numberSteps(once.items, number);
    addCosts(once, 0, program, {}, {}, reads, dependencies, result.amounts);
    made.sections.push_back(std::move(once));
  }
  for (const Statement &statement : program.body)
    if (statement.kind != Statement::Kind::Let)
      section(statement);
  return std::move(made);
}

namespace {

/// Up to the first full stop that ends a sentence, on one line.
std::string firstSentence(const std::string &text) {
  std::string line;
  for (char c : text)
    line += c == '\n' ? ' ' : c;
  size_t stop = line.find(". ");
  return stop == std::string::npos ? line : line.substr(0, stop + 1);
}

void addFunction(const Call &call, Explanation &result) {
  if (std::none_of(result.functions.begin(), result.functions.end(),
                   [&](const auto &known) { return known.first == call.function; }))
    result.functions.emplace_back(call.function, firstSentence(call.documentation));
}

/// The cases below \p decisions, in the order then, else.
void enumerate(const Program &program, Explanation &result, Decisions decisions,
               std::vector<std::string> order) {
  Walker walker(program, result, decisions, order.size() < MaxDecided);
  ExplainedCase made = walker.run();
  if (!walker.undecided) {
    made.conditions.clear();
    for (const std::string &text : order)
      made.conditions.emplace_back(text, decisions.at(text));
    result.cases.push_back(std::move(made));
    for (int call : walker.calls)
      addFunction(program.calls[call], result);
    return;
  }
  order.push_back(*walker.undecided);
  for (bool holds : {true, false}) {
    decisions[*walker.undecided] = holds;
    enumerate(program, result, decisions, order);
  }
}

} // namespace

Explanation explain(const Program &program) {
  Explanation result{&program, {}, {}, {}, AmountTable(program)};
  enumerate(program, result, {}, {});
  return result;
}

} // namespace h3
