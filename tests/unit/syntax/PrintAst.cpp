//===-- tests/unit/syntax/PrintAst.cpp - Syntax trees as text -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/syntax/PrintAst.h"

namespace h3 {

using Kind = ast::Expr::Kind;

static std::string join(const std::vector<std::string> &parts, std::string_view between) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i)
    out += (i ? std::string(between) : "") + parts[i];
  return out;
}

template <typename Items, typename Show>
static std::string list(const Items &items, std::string_view between, Show show) {
  std::vector<std::string> parts;
  for (const auto &item : items)
    parts.push_back(show(item));
  return join(parts, between);
}

static std::string printDigit(const ast::Binder::Digit &digit) {
  return digit.name.text + ":" + print(*digit.size);
}

static std::string printBinder(const ast::Binder &binder) {
  std::string digits = list(binder.digits, " ", printDigit);
  return binder.digits.size() == 1 ? digits : "(" + digits + ")";
}

static std::string printBinders(const std::vector<ast::Binder> &binders) {
  return "[" + list(binders, " ", printBinder) + "]";
}

std::string print(const ast::Expr &expr) {
  auto operands = [&](size_t from) {
    std::vector<std::string> parts;
    for (size_t i = from; i < expr.operands.size(); ++i) {
      std::string part = print(*expr.operands[i]);
      parts.push_back(expr.argNames.empty() ? part : expr.argNames[i - from].text + "=" + part);
    }
    return join(parts, " ");
  };
  switch (expr.kind) {
  case Kind::Decimal:
  case Kind::Integer:
  case Kind::Hex:
  case Kind::Name:
    return expr.text;
  case Kind::Infinity:
    return "inf";
  case Kind::NotANumber:
    return "nan";
  case Kind::True:
    return "true";
  case Kind::False:
    return "false";
  case Kind::Unary:
  case Kind::Binary:
    return "(" + expr.text + " " + operands(0) + ")";
  case Kind::If:
    return "(if " + operands(0) + ")";
  case Kind::Row:
    return "(row " + printBinders(expr.binders) + " " + operands(0) + ")";
  case Kind::Index:
    return "(index " + print(*expr.operands[0]) + " " +
           list(expr.subscripts, " ",
                [](const ast::Subscript &s) {
                  std::string digits = list(s.digits, " ", [](ast::Expr *e) { return print(*e); });
                  return s.digits.size() == 1 ? digits : "(" + digits + ")";
                }) +
           ")";
  case Kind::Member:
    return "(. " + operands(0) + " " + expr.text + ")";
  case Kind::Call:
    return "(call " + print(*expr.operands[0]) + " " + operands(1) + ")";
  }
  return "?";
}

std::string print(const ast::Rhs &rhs) {
  if (!rhs.reduce)
    return print(*rhs.expr);
  const ast::Reduce &r = *rhs.reduce;
  std::string out = "(reduce " + printBinder(r.binder) + " by ";
  out += r.anyOrder ? "any" : r.order.text;
  if (r.hasSeed)
    out += " from " + r.state.text + (r.stateType ? ":" + r.stateType->text : "") + " " +
           print(*r.seed) + " step " + r.stepState.text + " " + print(*r.step);
  else
    out += " of " + print(*r.element);
  return out + " join " + r.left.text + " " + r.right.text + " " + print(*r.join) + ")";
}

std::string print(const ast::TypeRef &type) {
  if (type.extents.empty())
    return type.name.text;
  return type.name.text + "[" + list(type.extents, " ", [](ast::Expr *e) { return print(*e); }) +
         "]";
}

std::string print(const ast::Order &order) {
  std::string out = "order " + order.name.text + " (" +
                    list(order.digits, " ",
                         [](const ast::Order::Digit &d) {
                           return d.name.text + (d.radix ? ":" + std::to_string(*d.radix) : "");
                         }) +
                    ")";
  for (const ast::Order::Stage &stage : order.stages)
    out += " then " + stage.kind.text + " " + stage.digit.text;
  return out;
}

static std::string printGenerics(const std::vector<ast::Generic> &generics) {
  if (generics.empty())
    return "";
  return "<" +
         list(generics, " ",
              [](const ast::Generic &g) {
                return g.name.text + (g.types.empty() ? "" : ":") +
                       list(g.types, "|", [](const ast::Name &n) { return n.text; });
              }) +
         ">";
}

static std::string printParams(const std::vector<ast::Param> &params) {
  if (params.empty())
    return "";
  return "(" +
         list(params, " ",
              [](const ast::Param &p) {
                return p.name.text + ":" + print(p.type) +
                       (p.defaultValue ? "=" + print(*p.defaultValue) : "");
              }) +
         ")";
}

static std::string printLet(const ast::Let &let) {
  return "let " + let.name.text + (let.binders.empty() ? "" : printBinders(let.binders)) +
         (let.type ? ":" + print(*let.type) : "") + " = " + print(let.value);
}

static std::string printStatement(const ast::Statement &statement) {
  if (statement.let)
    return printLet(*statement.let);
  if (statement.equation) {
    const ast::Equation &e = *statement.equation;
    std::string places = list(e.places, " ", [](const ast::Equation::Place &p) {
      std::string digits = list(p.digits, " ", [](const ast::Name &n) { return n.text; });
      return p.digits.size() == 1 ? digits : "(" + digits + ")";
    });
    return e.tensor.text + (e.places.empty() ? "" : "[" + places + "]") + " = " + print(e.value);
  }
  return "for " + list(statement.loop->variables, " ", printDigit) + " {" +
         list(statement.loop->body, "; ", printStatement) + "}";
}

std::string print(const ast::Function &function) {
  std::string out = "fn " + function.name.text + printGenerics(function.generics) +
                    printParams(function.params) + " -> " + print(function.result) + " = ";
  for (const ast::Let &let : function.lets)
    out += printLet(let) + "; ";
  return out + print(function.value);
}

std::string print(const ast::Operator &op) {
  std::string out = "op " + op.name.text + printGenerics(op.generics) + printParams(op.params);
  if (op.each)
    out += " each";
  for (const ast::Dim &dim : op.dims)
    out += "\n  dim " + dim.name.text + (dim.size ? " = " + print(*dim.size) : "");
  for (const ast::Expr *requirement : op.requirements)
    out += "\n  require " + print(*requirement);
  for (const ast::Tensor &tensor : op.tensors) {
    out +=
        (tensor.isOutput ? "\n  out " : "\n  in ") + tensor.name.text + ": " + print(tensor.type);
    if (!tensor.strides.empty())
      out += " strides(" +
             list(tensor.strides, " ",
                  [](const std::optional<int64_t> &s) {
                    return s ? std::to_string(*s) : std::string("_");
                  }) +
             ")";
    if (tensor.align)
      out += " align(" + std::to_string(*tensor.align) + ")";
    if (tensor.mayAlias)
      out += " may alias " + tensor.mayAlias->text;
  }
  for (const ast::Statement &statement : op.body)
    out += "\n  " + printStatement(statement);
  return out;
}

std::string print(const ast::Record &record) {
  return "record " + record.name.text + " {" +
         list(record.fields, " ",
              [](const ast::Record::Field &f) { return f.name.text + ":" + f.type.text; }) +
         "}";
}

std::string print(const ast::File &file) {
  std::string out;
  for (const ast::Name &use : file.uses)
    out += "use " + use.text + "\n";
  for (const ast::Record &record : file.records)
    out += print(record) + "\n";
  for (const ast::Order &order : file.orders)
    out += print(order) + "\n";
  for (const ast::Function &function : file.functions)
    out += print(function) + "\n";
  for (const ast::Operator &op : file.operators)
    out += print(op) + "\n";
  return out;
}

} // namespace h3
