//===-- dsl/lint/UnusedNames.cpp - Names that nothing uses ----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/lint/Findings.h"

#include <fmt/format.h>

#include <set>

namespace h3 {

namespace {

/// Every name that a piece of syntax mentions, also each part of a dotted one.
class Mentioned {
public:
  bool contains(const std::string &name) const { return names.count(name) != 0; }

  void add(const std::string &path) {
    names.insert(path);
    for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1))
      names.insert(path.substr(0, dot));
  }
  void add(const ast::Expr *expr) {
    if (!expr)
      return;
    if (expr->kind == ast::Expr::Kind::Name)
      add(expr->text);
    add(expr->binders);
    for (const ast::Expr *operand : expr->operands)
      add(operand);
    for (const ast::Subscript &subscript : expr->subscripts)
      for (const ast::Expr *digit : subscript.digits)
        add(digit);
  }
  void add(const std::vector<ast::Binder> &binders) {
    for (const ast::Binder &binder : binders)
      for (const ast::Binder::Digit &digit : binder.digits)
        add(digit.size);
  }
  void add(const ast::TypeRef &type) {
    add(type.name.text);
    for (const ast::Expr *size : type.extents)
      add(size);
  }
  void add(const ast::Rhs &rhs) {
    add(rhs.expr);
    if (!rhs.reduce)
      return;
    const ast::Reduce &reduce = *rhs.reduce;
    add(std::vector<ast::Binder>{reduce.binder});
    if (!reduce.anyOrder)
      add(reduce.order.text);
    if (reduce.stateType)
      add(reduce.stateType->text);
    for (const ast::Expr *part : {reduce.seed, reduce.step, reduce.element, reduce.join})
      add(part);
  }
  void add(const ast::Let &let) {
    add(let.binders);
    if (let.type)
      add(*let.type);
    add(let.value);
  }
  void add(const std::vector<ast::Statement> &body) {
    for (const ast::Statement &statement : body) {
      if (statement.let)
        add(*statement.let);
      if (statement.equation)
        add(statement.equation->value);
      if (statement.loop) {
        for (const ast::Binder::Digit &variable : statement.loop->variables)
          add(variable.size);
        add(statement.loop->body);
      }
    }
  }

private:
  std::set<std::string> names;
};

class UnusedNames {
public:
  UnusedNames(const ast::File &file, Findings &findings) : file(file), findings(findings) {}

  void find() {
    Mentioned all;
    for (const ast::Record &record : file.records)
      for (const ast::Record::Field &field : record.fields)
        all.add(field.type.text);
    for (const ast::Function &function : file.functions) {
      Mentioned own = mentions(function);
      all.add(function.result);
      for (const ast::Let &let : function.lets)
        all.add(let);
      all.add(function.value);
      for (const ast::Param &param : function.params) {
        all.add(param.type);
        check(own, param.name, "parameter");
      }
      for (const ast::Let &let : function.lets)
        check(own, let.name, "`let`");
      for (const ast::Generic &generic : function.generics) {
        Mentioned types = own;
        for (const ast::Param &param : function.params)
          types.add(param.type);
        check(types, generic.name, "type parameter");
      }
    }
    for (const ast::Operator &op : file.operators)
      checkOperator(op, all);
    for (const ast::Name &use : file.uses) {
      size_t dot = use.text.rfind('.');
      std::string local = dot == std::string::npos ? use.text : use.text.substr(dot + 1);
      if (!all.contains(local))
        findings.add("unused", use.range, fmt::format("nothing of module `{}` is used", local),
                     "remove the `use`");
    }
    // A file without operators is a library: its items are for others.
    if (file.operators.empty())
      return;
    for (const ast::Record &record : file.records)
      check(all, record.name, "record");
    for (const ast::Order &order : file.orders)
      check(all, order.name, "order");
    for (const ast::Function &function : file.functions)
      check(all, function.name, "function");
  }

private:
  static Mentioned mentions(const ast::Function &function) {
    Mentioned own;
    own.add(function.result);
    for (const ast::Let &let : function.lets)
      own.add(let);
    own.add(function.value);
    return own;
  }

  void check(const Mentioned &mentioned, const ast::Name &name, std::string_view what) {
    if (!mentioned.contains(name.text))
      findings.add("unused", name.range, fmt::format("{} `{}` is not used", what, name.text),
                   "remove it, or use it");
  }

  void checkOperator(const ast::Operator &op, Mentioned &all) {
    Mentioned values, types;
    for (const ast::Expr *requirement : op.requirements)
      values.add(requirement);
    values.add(op.body);
    Mentioned sizes = values;
    for (const ast::Tensor &tensor : op.tensors) {
      types.add(tensor.type.name.text);
      for (const ast::Expr *size : tensor.type.extents)
        sizes.add(size);
      all.add(tensor.type);
    }
    for (const ast::Dim &dim : op.dims)
      sizes.add(dim.size);
    types.add(op.body);
    all.add(op.body);
    for (const ast::Expr *requirement : op.requirements)
      all.add(requirement);
    for (const ast::Param &param : op.params) {
      types.add(param.type);
      check(values, param.name, "parameter");
    }
    for (const ast::Generic &generic : op.generics)
      check(types, generic.name, "type parameter");
    for (const ast::Dim &dim : op.dims)
      check(sizes, dim.name, "dim");
    for (const ast::Tensor &tensor : op.tensors)
      if (!tensor.isOutput)
        check(values, tensor.name, "input");
    checkLets(op.body, values);
  }

  void checkLets(const std::vector<ast::Statement> &body, const Mentioned &mentioned) {
    for (const ast::Statement &statement : body) {
      if (statement.let)
        check(mentioned, statement.let->name, "`let`");
      if (statement.loop)
        checkLets(statement.loop->body, mentioned);
    }
  }

  const ast::File &file;
  Findings &findings;
};

} // namespace

void findUnusedNames(const Module &module, Findings &findings) {
  UnusedNames(*module.file, findings).find();
}

} // namespace h3
