//===-- dsl/program/Aliases.cpp - What may be read of an aliased input ----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Analyzer.h"

#include <fmt/format.h>

#include <unordered_set>

namespace h3 {

namespace {

struct Read {
  const Expr *tensor;
  const Expr *access; ///< null if the tensor is used whole
};

/// All reads of inputs in the body, each once.
class Reads {
public:
  explicit Reads(const std::vector<Statement> &body) {
    addBody(body);
    while (!work.empty()) {
      const Expr *expr = work.back();
      work.pop_back();
      visit(*expr);
    }
  }
  std::vector<Read> all;

private:
  void addBody(const std::vector<Statement> &body) {
    for (const Statement &statement : body) {
      add(statement.let.value);
      add(statement.equation.value);
      addBody(statement.body);
    }
  }

  void add(const Expr *expr) {
    if (expr && seen.insert(expr).second)
      work.push_back(expr);
  }

  void visit(const Expr &expr) {
    if (expr.kind == Expr::Kind::Tensor)
      all.push_back({&expr, nullptr});
    bool direct = expr.kind == Expr::Kind::Access && expr.operands[0]->kind == Expr::Kind::Tensor;
    forEachChild(expr, [&](const Expr *child) {
      if (direct && child == expr.operands[0])
        all.push_back({child, &expr});
      else
        add(child);
    });
  }

  std::unordered_set<const Expr *> seen;
  std::vector<const Expr *> work;
};

/// The equation of each output, and whether it stands in a `for`.
void collectEquations(const std::vector<Statement> &body, bool inLoop,
                      std::vector<std::pair<const Equation *, bool>> &equations) {
  for (const Statement &statement : body) {
    if (statement.kind == Statement::Kind::Equation)
      equations[statement.equation.tensor] = {&statement.equation, inLoop};
    collectEquations(statement.body, true, equations);
  }
}

/// The places that every read must repeat: up to the last variable of the enclosing `for`; without
/// a `for`, all.
size_t leadingPlaces(const Equation &equation, bool inLoop) {
  if (!inLoop)
    return equation.places.size();
  size_t count = 0;
  for (size_t i = 0; i < equation.places.size(); ++i)
    for (bool bound : equation.places[i].bound)
      if (bound)
        count = i + 1;
  return count;
}

bool repeats(const Subscript &subscript, const Equation::Place &place) {
  if (subscript.isData || subscript.digits.size() != place.variables.size())
    return false;
  for (size_t i = 0; i < place.variables.size(); ++i)
    if (subscript.digits[i]->kind != Expr::Kind::Index ||
        subscript.digits[i]->id != place.variables[i])
      return false;
  return true;
}

} // namespace

/// Rule 13: what has been written of the output is not read again.
void Analyzer::checkAliases() {
  std::vector<std::pair<const Equation *, bool>> equations(program.tensors.size());
  collectEquations(program.body, false, equations);
  std::optional<Reads> reads;
  for (size_t id = 0; id < program.tensors.size(); ++id) {
    const Tensor &output = program.tensors[id];
    if (!output.mayAlias)
      continue;
    if (!reads)
      reads.emplace(program.body);
    auto [equation, inLoop] = equations[id];
    size_t count = leadingPlaces(*equation, inLoop);
    std::string wanted;
    for (size_t i = 0; i < count; ++i) {
      std::string place;
      for (unsigned variable : equation->places[i].variables)
        place += (place.empty() ? "" : ", ") + program.indexVariables[variable].name;
      wanted += wanted.empty() ? "" : ", ";
      wanted += equation->places[i].variables.size() > 1 ? "(" + place + ")" : place;
    }
    for (const Read &read : reads->all) {
      if (read.tensor->id != *output.mayAlias)
        continue;
      bool good = count == 0 || (read.access && read.access->subscripts.size() >= count);
      for (size_t i = 0; i < count && good; ++i)
        good = repeats(read.access->subscripts[i], equation->places[i]);
      if (good)
        continue;
      const Tensor &input = program.tensors[*output.mayAlias];
      const Expr &at = read.access ? *read.access : *read.tensor;
      call = at.call;
      error(at.range,
            fmt::format("`{}` and `{}` may be one tensor, so `{}` is read as `{}[{}{}` only",
                        output.name, input.name, input.name, input.name, wanted,
                        count < input.extents.size() ? ", ...]" : "]"),
            inLoop ? "what another iteration of the `for` writes must not be read"
                   : "what the equation writes for another element must not be read; a `for` makes "
                     "whole rows the unit",
            {{equation->range, fmt::format("`{}` is written here", output.name)}});
      call = -1;
      break;
    }
  }
}

} // namespace h3
