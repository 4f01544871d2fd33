//===-- dsl/program/CheckModules.cpp - What needs no instance -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Analysis.h"
#include "dsl/program/Builtins.h"
#include "dsl/program/Names.h"
#include "dsl/program/Orders.h"
#include "dsl/program/UncalledFunctions.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace h3 {

namespace {

/// Of the types of one operator.
constexpr size_t maxChoices = 256;

class ModuleChecker {
public:
  ModuleChecker(const ModuleSet &modules, Diagnostics &diagnostics)
      : set(modules), index(modules), diagnostics(diagnostics) {}

  void check() {
    for (const Module &module : set.modules) {
      this->module = &module;
      checkItemNames();
      for (const ast::Record &record : module.file->records)
        checkRecord(record);
      for (const ast::Order &order : module.file->orders)
        makeOrder(order, order.name.text, diagnostics);
      for (const ast::Function &function : module.file->functions)
        checkFunction(function);
      for (const ast::Operator &op : module.file->operators)
        checkOperator(op);
    }
    checkRecursion();
    checkUncalledFunctions(index, diagnostics);
  }

private:
  using Seen = std::map<std::string, SourceRange>;

  /// Whether \p name is new among \p seen.
  void checkNew(const ast::Name &name, Seen &seen, std::string_view what) {
    auto [earlier, isNew] = seen.try_emplace(name.text, name.range);
    if (!isNew)
      diagnostics
          .error(name.range, fmt::format("{} `{}` is defined twice", what, name.text),
                 "give one of them another name")
          .notes.push_back({earlier->second, "the first one is here"});
  }

  void checkItemNames() {
    Seen seen;
    auto check = [&](const ast::Name &name) {
      if (isBuiltinName(name.text))
        diagnostics.error(name.range,
                          fmt::format("`{}` is {}, which cannot be redefined", name.text,
                                      scalarTypeNamed(name.text) ? "a type" : "a builtin"),
                          "choose another name");
      else if (module->uses.contains(name.text))
        diagnostics.error(name.range,
                          fmt::format("`{}` is a module that this file uses", name.text),
                          "a name has one meaning in a scope; choose another");
      else
        checkNew(name, seen, "name");
    };
    // In the order of the text, so that the later one is blamed.
    std::vector<const ast::Name *> names;
    for (const ast::Record &record : module->file->records)
      names.push_back(&record.name);
    for (const ast::Order &order : module->file->orders)
      names.push_back(&order.name);
    for (const ast::Function &function : module->file->functions)
      names.push_back(&function.name);
    for (const ast::Operator &op : module->file->operators)
      names.push_back(&op.name);
    std::sort(names.begin(), names.end(), [](const ast::Name *a, const ast::Name *b) {
      return a->range.begin < b->range.begin;
    });
    for (const ast::Name *name : names)
      check(*name);
  }

  void checkRecord(const ast::Record &record) {
    Seen seen;
    for (const ast::Record::Field &field : record.fields) {
      checkNew(field.name, seen, "field");
      if (!scalarTypeNamed(field.type.text))
        diagnostics.error(field.type.range,
                          fmt::format("a field has a scalar type, found `{}`", field.type.text),
                          nearType(field.type.text));
    }
  }

  std::string nearType(const std::string &name) const {
    std::string near =
        closest(name, {"bool", "i32", "i64", "f16", "bf16", "f32", "f64", "e4m3", "e5m2"});
    return near.empty() ? "" : fmt::format("did you mean `{}`?", near);
  }

  void checkGenerics(const std::vector<ast::Generic> &generics, bool ofOperator, Seen &seen) {
    for (const ast::Generic &generic : generics) {
      checkNew(generic.name, seen, "name");
      if (isBuiltinName(generic.name.text))
        diagnostics.error(generic.name.range,
                          fmt::format("`{}` is {}, which cannot be redefined", generic.name.text,
                                      scalarTypeNamed(generic.name.text) ? "a type" : "a builtin"),
                          "choose another name");
      if (ofOperator && generic.types.empty())
        diagnostics.error(generic.name.range,
                          fmt::format("an operator lists the types of `{}`", generic.name.text),
                          fmt::format("write `{}: f16 | bf16`", generic.name.text));
      std::map<std::string, SourceRange> types;
      for (const ast::Name &type : generic.types) {
        checkNew(type, types, "type");
        if (!scalarTypeNamed(type.text))
          diagnostics.error(type.range, fmt::format("`{}` is not a scalar type", type.text),
                            nearType(type.text));
      }
    }
  }

  void checkFunction(const ast::Function &function) {
    Seen seen;
    checkGenerics(function.generics, false, seen);
    for (const ast::Param &param : function.params) {
      checkNew(param.name, seen, "name");
      if (param.type.name.text == "order")
        continue;
      checkType(param.type.name, function.generics);
      if (param.defaultValue)
        diagnostics.error(
            param.defaultValue->range,
            fmt::format("parameter `{}` of a function has a default", param.name.text),
            "only a parameter of an operator may have one");
    }
    if (function.result.name.text == "order")
      diagnostics.error(function.result.range, "a function gives a value, not an order");
    else
      checkType(function.result.name, function.generics);
  }

  void checkType(const ast::Name &name, const std::vector<ast::Generic> &generics) {
    for (const ast::Generic &generic : generics)
      if (generic.name.text == name.text)
        return;
    if (scalarTypeNamed(name.text))
      return;
    const Item *item = index.find(*module, name.text);
    if (item && item->record)
      return;
    if (item) {
      diagnostics.error(name.range, fmt::format("`{}` is {}, not a type", name.text, item->what()));
      return;
    }
    std::vector<std::string> others;
    for (std::string_view type :
         {"bool", "i32", "i64", "f16", "bf16", "f32", "f64", "e4m3", "e5m2"})
      others.emplace_back(type);
    for (const ast::Generic &generic : generics)
      others.push_back(generic.name.text);
    diagnostics.error(
        name.range, fmt::format("unknown type `{}`", name.text),
        index.suggest(
            *module, name.text, [](const Item &i) { return i.record != nullptr; }, others));
  }

  void checkOperator(const ast::Operator &op) {
    Seen seen;
    checkGenerics(op.generics, true, seen);
    size_t choices = 1;
    for (const ast::Generic &generic : op.generics)
      if ((choices *= std::max<size_t>(1, generic.types.size())) > maxChoices) {
        diagnostics.error(op.name.range,
                          fmt::format("operator `{}` has more than {} choices of types",
                                      op.name.text, maxChoices),
                          "each is compiled; list fewer types");
        break;
      }
    for (const ast::Param &param : op.params)
      checkNew(param.name, seen, "name");
    for (const ast::Dim &dim : op.dims)
      checkNew(dim.name, seen, "name");
    for (const ast::Tensor &tensor : op.tensors)
      checkNew(tensor.name, seen, "name");
  }

  // ---- Recursion.

  struct Callee {
    SourceRange range;
    const Item *item;
  };

  void addCalls(const ast::Expr &expr, const Module &from, std::vector<Callee> &callees) {
    if (expr.kind == ast::Expr::Kind::Call) {
      const ast::Expr &name = *expr.operands[0];
      if (const Item *item = index.find(from, name.text); item && item->function)
        callees.push_back({name.range, item});
    }
    for (const ast::Expr *operand : expr.operands)
      addCalls(*operand, from, callees);
    for (const ast::Subscript &subscript : expr.subscripts)
      for (const ast::Expr *digit : subscript.digits)
        addCalls(*digit, from, callees);
  }

  void addCalls(const ast::Rhs &rhs, const Module &from, std::vector<Callee> &callees) {
    if (rhs.expr)
      addCalls(*rhs.expr, from, callees);
    if (rhs.reduce)
      for (const ast::Expr *part :
           {rhs.reduce->seed, rhs.reduce->step, rhs.reduce->element, rhs.reduce->join})
        if (part)
          addCalls(*part, from, callees);
  }

  /// Depth first, on a stack of its own: a chain of calls may be as long as the spec.
  void checkRecursion() {
    enum class State { New, Open, Done };
    struct Frame {
      const ast::Function *function;
      std::vector<Callee> callees;
      size_t next = 0;
    };
    std::unordered_map<const ast::Function *, State> states;
    std::vector<Frame> stack;
    auto open = [&](const ast::Function &function, const Module &from) {
      states[&function] = State::Open;
      Frame frame{&function, {}};
      for (const ast::Let &let : function.lets)
        addCalls(let.value, from, frame.callees);
      addCalls(function.value, from, frame.callees);
      stack.push_back(std::move(frame));
    };
    for (const Module &module : set.modules)
      for (const ast::Function &function : module.file->functions) {
        if (states[&function] != State::New)
          continue;
        open(function, module);
        while (!stack.empty()) {
          Frame &top = stack.back();
          if (top.next == top.callees.size()) {
            states[top.function] = State::Done;
            stack.pop_back();
            continue;
          }
          const Callee &callee = top.callees[top.next++];
          State state = states[callee.item->function];
          if (state == State::New)
            open(*callee.item->function, *callee.item->module);
          else if (state == State::Open)
            reportCycle(stack, callee.item->function);
        }
      }
  }

  template <typename Frame>
  void reportCycle(const std::vector<Frame> &stack, const ast::Function *start) {
    size_t first = 0;
    while (stack[first].function != start)
      ++first;
    std::string chain;
    std::vector<Note> notes;
    constexpr size_t maxShown = 10;
    for (size_t i = first; i < stack.size(); ++i) {
      const Callee &callee = stack[i].callees[stack[i].next - 1];
      if (i - first < maxShown) {
        chain += stack[i].function->name.text + " -> ";
        notes.push_back(
            {callee.range, fmt::format("`{}` calls `{}` here", stack[i].function->name.text,
                                       callee.item->function->name.text)});
      } else if (i - first == maxShown) {
        chain += "... -> ";
      }
    }
    Diagnostic &made = diagnostics.error(
        start->name.range,
        fmt::format("function `{}` calls itself: {}{}", start->name.text, chain, start->name.text),
        "there is no recursion; a `reduce` walks a row");
    made.notes = std::move(notes);
  }

  const ModuleSet &set;
  ModuleIndex index;
  Diagnostics &diagnostics;
  const Module *module = nullptr;
};

} // namespace

bool checkModules(const ModuleSet &modules, Diagnostics &diagnostics) {
  size_t before = diagnostics.size();
  ModuleChecker(modules, diagnostics).check();
  return diagnostics.size() == before;
}

} // namespace h3
