//===-- dsl/program/Equations.cpp - Equations and `for` -------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Analyzer.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3 {

void Analyzer::analyzeStatements(const std::vector<ast::Statement> &statements,
                                 std::vector<Statement> &made) {
  for (const ast::Statement &statement : statements) {
    if (tooLarge)
      return;
    if (statement.let) {
      if (std::optional<Let> let = analyzeLet(*statement.let)) {
        made.emplace_back();
        made.back().kind = Statement::Kind::Let;
        made.back().let = *let;
      }
    } else if (statement.equation) {
      analyzeEquation(*statement.equation, made);
    } else if (statement.loop) {
      analyzeFor(*statement.loop, made);
    }
  }
}

void Analyzer::analyzeFor(const ast::For &loop, std::vector<Statement> &made) {
  size_t scope = enterScope(), factMark = facts.size();
  Statement statement;
  statement.kind = Statement::Kind::For;
  for (const ast::Binder::Digit &variable : loop.variables) {
    std::optional<Extent> extent = writtenExtent(*variable.size);
    if (!extent) {
      declare(variable.name, {});
      continue;
    }
    unsigned id = addIndexVariable(variable.name.text, extent->size, variable.name.range);
    declare(variable.name, valueEntity(makeIndex(id, variable.name.range), {}));
    addRange(id);
    statement.variables.emplace_back(id, std::move(*extent));
  }
  bool complete = statement.variables.size() == loop.variables.size();
  auto outer = std::exchange(this->loop, statement.variables);
  bool outerComplete = std::exchange(loopComplete, complete);
  analyzeStatements(loop.body, statement.body);
  loopComplete = outerComplete;
  this->loop = std::move(outer);
  leaveScope(scope);
  facts.erase(facts.begin() + factMark, facts.end());
  made.push_back(std::move(statement));
}

/// One variable of a place: of the enclosing `for`, or new.
bool Analyzer::declarePlace(const ast::Name &name, const Size *range, std::vector<unsigned> &used,
                            Equation::Place &place) {
  const Entity *entity = lookup(name.text);
  if (entity && entity->kind == Entity::Kind::Poison)
    return false;
  if (entity && entity->kind == Entity::Kind::Value && entity->value->kind == Expr::Kind::Index) {
    unsigned id = entity->value->id;
    auto variable =
        std::find_if(loop.begin(), loop.end(), [&](const auto &v) { return v.first == id; });
    if (std::find(used.begin(), used.end(), id) != used.end()) {
      error(name.range, fmt::format("`{}` stands in the places twice", name.text),
            "each place has an index of its own, so that each element is written once");
      return false;
    }
    if (variable != loop.end() && !provablyEqual(variable->second.size, range)) {
      error(name.range,
            fmt::format("`{}` ranges over {}, and this place over {}", name.text,
                        toString(*variable->second.size, program), toString(*range, program)),
            "a variable of the enclosing `for` ranges over the whole extent of its place",
            {{entity->range, fmt::format("`{}` is defined here", name.text)}});
      return false;
    }
    if (variable != loop.end()) {
      used.push_back(id);
      place.variables.push_back(id);
      place.bound.push_back(true);
      return true;
    }
  }
  unsigned id = addIndexVariable(name.text, range, name.range);
  if (!declare(name, valueEntity(makeIndex(id, name.range), {})))
    return false;
  addRange(id);
  used.push_back(id);
  place.variables.push_back(id);
  place.bound.push_back(false);
  return true;
}

bool Analyzer::declarePlaces(const ast::Equation &equation, const Tensor &tensor, Equation &made) {
  if (equation.places.size() > tensor.extents.size()) {
    error(equation.places[tensor.extents.size()].range,
          fmt::format("`{}` has {} {}, found {} places", tensor.name, tensor.extents.size(),
                      tensor.extents.size() == 1 ? "axis" : "axes", equation.places.size()));
    return false;
  }
  std::vector<unsigned> used;
  for (size_t axis = 0; axis < equation.places.size(); ++axis) {
    const ast::Equation::Place &place = equation.places[axis];
    const Extent &extent = tensor.extents[axis];
    Equation::Place one;
    one.extent = place.digits.size() == 1 ? Extent{extent.size, {extent.size}} : extent;
    if (place.digits.size() != one.extent.factors.size()) {
      error(place.range,
            fmt::format("this place has {} digit{}, and the extent {} has {} factor{}",
                        place.digits.size(), place.digits.size() == 1 ? "" : "s",
                        toString(*extent.size, program), extent.factors.size(),
                        extent.factors.size() == 1 ? "" : "s"),
            "the digits of an index are the factors of the extent as it is written");
      return false;
    }
    for (size_t i = 0; i < place.digits.size(); ++i)
      if (!declarePlace(place.digits[i], one.extent.factors[i], used, one))
        return false;
    made.places.push_back(std::move(one));
  }
  if (!loopComplete)
    return false;
  for (const auto &[id, extent] : loop)
    if (std::find(used.begin(), used.end(), id) == used.end()) {
      const Program::Variable &variable = program.indexVariables[id];
      error(
          equation.tensor.range,
          fmt::format("`{}` of the enclosing `for` is missing in the places of `{}`", variable.name,
                      tensor.name),
          "every variable of the `for` stands in the places once; write the equation outside it if "
          "it does not depend on it",
          {{variable.range, fmt::format("`{}` is defined here", variable.name)}});
      return false;
    }
  return true;
}

void Analyzer::analyzeEquation(const ast::Equation &equation, std::vector<Statement> &made) {
  const std::string &name = equation.tensor.text;
  auto found = std::find_if(program.tensors.begin(), program.tensors.end(),
                            [&](const Tensor &t) { return t.name == name; });
  if (found == program.tensors.end() || !found->isOutput) {
    std::vector<std::string> outputs;
    for (const Tensor &tensor : program.tensors)
      if (tensor.isOutput)
        outputs.push_back(tensor.name);
    std::string near = closest(name, outputs);
    std::string hint = "a value gets a name by `let`";
    if (!near.empty())
      hint = fmt::format("did you mean `{}`?", near);
    else if (found != program.tensors.end())
      hint = "inputs are only read";
    error(equation.tensor.range, fmt::format("`{}` is not an output", name), hint);
    return;
  }
  auto id = static_cast<unsigned>(found - program.tensors.begin());
  if (written[id])
    error(equation.tensor.range, fmt::format("output `{}` has a second equation", name),
          "each output has exactly one; put the cases into one `if`",
          {{*written[id], "the first one is here"}});
  else
    written[id] = equation.tensor.range;

  const Tensor tensor = *found;
  size_t scope = enterScope(), factMark = facts.size();
  Statement statement;
  statement.kind = Statement::Kind::Equation;
  statement.equation.tensor = id;
  statement.equation.range = equation.range;
  if (declarePlaces(equation, tensor, statement.equation)) {
    Type type{tensor.type, nullptr, {}};
    type.extents.assign(tensor.extents.begin() + equation.places.size(), tensor.extents.end());
    const Expr *value = analyzeRhs(equation.value, &type);
    statement.equation.value = expectType(value, type, fmt::format("the value of `{}`", name));
  }
  leaveScope(scope);
  facts.erase(facts.begin() + factMark, facts.end());
  if (statement.equation.value)
    made.push_back(std::move(statement));
}

void Analyzer::checkOutputs() {
  for (size_t i = 0; i < program.tensors.size(); ++i)
    if (program.tensors[i].isOutput && !written[i])
      error(program.tensors[i].range,
            fmt::format("output `{}` has no equation", program.tensors[i].name),
            "each output has exactly one equation");
}

} // namespace h3
