//===-- dsl/program/UncalledFunctions.cpp - Names in functions that nothing calls -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/UncalledFunctions.h"

#include "dsl/program/Builtins.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace h3 {

namespace {

/// The functions that operators call, directly or through others.
class Called {
public:
  explicit Called(const ModuleIndex &index) : index(index) {
    const Module &root = index.root();
    for (const ast::Operator &op : root.file->operators)
      addStatements(op.body, root);
    while (!work.empty()) {
      Item item = work.back();
      work.pop_back();
      for (const ast::Let &let : item.function->lets)
        addRhs(let.value, *item.module);
      addRhs(item.function->value, *item.module);
    }
  }

  bool contains(const ast::Function &function) const { return seen.contains(&function); }

private:
  void addStatements(const std::vector<ast::Statement> &statements, const Module &from) {
    for (const ast::Statement &statement : statements) {
      if (statement.let)
        addRhs(statement.let->value, from);
      if (statement.equation)
        addRhs(statement.equation->value, from);
      if (statement.loop)
        addStatements(statement.loop->body, from);
    }
  }

  void addRhs(const ast::Rhs &rhs, const Module &from) {
    if (rhs.expr)
      add(*rhs.expr, from);
    if (rhs.reduce)
      for (const ast::Expr *part :
           {rhs.reduce->seed, rhs.reduce->step, rhs.reduce->element, rhs.reduce->join})
        if (part)
          add(*part, from);
  }

  void add(const ast::Expr &expr, const Module &from) {
    if (expr.kind == ast::Expr::Kind::Call)
      if (const Item *item = index.find(from, expr.operands[0]->text);
          item && item->function && seen.insert(item->function).second)
        work.push_back(*item);
    for (const ast::Expr *operand : expr.operands)
      add(*operand, from);
    for (const ast::Subscript &subscript : expr.subscripts)
      for (const ast::Expr *digit : subscript.digits)
        add(*digit, from);
  }

  const ModuleIndex &index;
  std::unordered_set<const ast::Function *> seen;
  std::vector<Item> work;
};

class NameChecker {
public:
  NameChecker(const ModuleIndex &index, const ast::Function &function, Diagnostics &diagnostics)
      : index(index), diagnostics(diagnostics) {
    for (const ast::Generic &generic : function.generics)
      scope.push_back(generic.name.text);
    for (const ast::Param &param : function.params) {
      scope.push_back(param.name.text);
      if (param.type.name.text == "order")
        orders.push_back(param.name.text);
      for (const ast::Expr *size : param.type.extents)
        addSizeNames(*size);
    }
    for (const ast::Expr *size : function.result.extents)
      check(*size);
    for (const ast::Let &let : function.lets) {
      size_t mark = scope.size();
      bindAll(let.binders);
      check(let.value);
      scope.resize(mark);
      scope.push_back(let.name.text);
    }
    check(function.value);
  }

private:
  bool isKnown(const std::string &name) const {
    return std::find(scope.begin(), scope.end(), name) != scope.end();
  }

  void addSizeNames(const ast::Expr &size) {
    if (size.kind == ast::Expr::Kind::Name && !isKnown(size.text))
      scope.push_back(size.text);
    for (const ast::Expr *operand : size.operands)
      addSizeNames(*operand);
  }

  void bindAll(const std::vector<ast::Binder> &binders) {
    for (const ast::Binder &binder : binders)
      for (const ast::Binder::Digit &digit : binder.digits) {
        check(*digit.size);
        scope.push_back(digit.name.text);
      }
  }

  void unknown(std::string_view kind, const std::string &name, SourceRange range,
               bool (*wanted)(const Item &), std::vector<std::string> others) {
    diagnostics.error(range, fmt::format("unknown {} `{}`", kind, name),
                      index.suggest(index.root(), name, wanted, others));
  }

  void check(const ast::Expr &expr) {
    size_t mark = scope.size();
    size_t first = 0;
    if (expr.kind == ast::Expr::Kind::Name && !builtinNamed(expr.text) &&
        !isKnown(expr.text.substr(0, expr.text.find('.'))) && !index.find(index.root(), expr.text))
      unknown("name", expr.text, expr.range, [](const Item &) { return false; }, scope);
    if (expr.kind == ast::Expr::Kind::Call) {
      first = 1;
      const ast::Expr &callee = *expr.operands[0];
      if (!builtinNamed(callee.text) && !isKnown(callee.text.substr(0, callee.text.find('.'))) &&
          !index.find(index.root(), callee.text)) {
        std::span<const std::string> builtins = builtinNames();
        unknown("function", callee.text, callee.range,
                [](const Item &i) { return i.function || i.record; },
                {builtins.begin(), builtins.end()});
      }
    }
    bindAll(expr.binders);
    for (size_t i = first; i < expr.operands.size(); ++i)
      check(*expr.operands[i]);
    for (const ast::Subscript &subscript : expr.subscripts)
      for (const ast::Expr *digit : subscript.digits)
        check(*digit);
    scope.resize(mark);
  }

  void check(const ast::Rhs &rhs) {
    if (rhs.expr)
      check(*rhs.expr);
    if (!rhs.reduce)
      return;
    const ast::Reduce &reduce = *rhs.reduce;
    if (!reduce.anyOrder && !isKnown(reduce.order.text) &&
        !index.find(index.root(), reduce.order.text))
      unknown(
          "order", reduce.order.text, reduce.order.range,
          [](const Item &i) { return i.order != nullptr; }, orders);
    if (reduce.seed)
      check(*reduce.seed);
    size_t mark = scope.size();
    bindAll({reduce.binder});
    if (reduce.hasSeed)
      scope.push_back(reduce.state.text);
    for (const ast::Expr *part : {reduce.step, reduce.element})
      if (part)
        check(*part);
    scope.resize(mark);
    scope.push_back(reduce.left.text);
    scope.push_back(reduce.right.text);
    if (reduce.join)
      check(*reduce.join);
    scope.resize(mark);
  }

  const ModuleIndex &index;
  Diagnostics &diagnostics;
  std::vector<std::string> scope;
  std::vector<std::string> orders; ///< those of the parameters
};

} // namespace

void checkUncalledFunctions(const ModuleIndex &index, Diagnostics &diagnostics) {
  Called called(index);
  for (const ast::Function &function : index.root().file->functions)
    if (!called.contains(function))
      NameChecker(index, function, diagnostics);
}

} // namespace h3
