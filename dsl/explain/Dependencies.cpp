//===-- dsl/explain/Dependencies.cpp - What a value changes with ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/explain/Dependencies.h"

#include <unordered_set>

namespace h3 {

namespace {

class Definitions {
public:
  explicit Definitions(const Program &program) : defined(program.locals.size(), nullptr) {
    visit(program.body);
  }
  std::vector<const Expr *> defined;

private:
  void visit(const std::vector<Statement> &body) {
    for (const Statement &statement : body) {
      if (statement.kind == Statement::Kind::Let) {
        defined[statement.let.local] = statement.let.value;
        visit(statement.let.value);
      } else if (statement.kind == Statement::Kind::Equation) {
        visit(statement.equation.value);
      } else {
        visit(statement.body);
      }
    }
  }
  void visit(const Expr *expr) {
    if (!seen.insert(expr).second)
      return;
    for (const Let &let : expr->lets)
      defined[let.local] = let.value;
    forEachChild(*expr, [this](const Expr *child) { visit(child); });
  }
  std::unordered_set<const Expr *> seen;
};

} // namespace

std::vector<const Expr *> definitions(const Program &program) {
  return std::move(Definitions(program).defined);
}

std::set<Bound> boundBy(const Expr &expr) {
  std::set<Bound> bound;
  for (const Binder &binder : expr.binders)
    for (unsigned variable : binder.variables)
      bound.insert({false, variable});
  if (expr.reduce) {
    for (unsigned variable : expr.reduce->binder.variables)
      bound.insert({false, variable});
    if (expr.reduce->hasSeed())
      bound.insert({true, expr.reduce->state});
    bound.insert({true, expr.reduce->left});
    bound.insert({true, expr.reduce->right});
  }
  return bound;
}

const std::set<Bound> &Dependencies::of(const Expr &expr) {
  auto at = known.find(&expr);
  if (at == known.end())
    at = known.emplace(&expr, compute(expr)).first;
  return at->second;
}

std::set<Bound> Dependencies::compute(const Expr &expr) {
  if (expr.kind == Expr::Kind::Index)
    return {{false, expr.id}};
  if (expr.kind == Expr::Kind::Local) {
    if (const Expr *value = defined[expr.id])
      return of(*value);
    return {{true, expr.id}};
  }
  std::set<Bound> all;
  // A let matters where it is used.
  auto add = [&](const Expr *child) {
    const std::set<Bound> &below = of(*child);
    all.insert(below.begin(), below.end());
  };
  if (expr.kind == Expr::Kind::Block)
    add(expr.operands[0]);
  else
    forEachChild(expr, add);
  for (const Bound &own : boundBy(expr))
    all.erase(own);
  return all;
}

} // namespace h3
