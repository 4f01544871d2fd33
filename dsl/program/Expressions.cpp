//===-- dsl/program/Expressions.cpp - Names, fields, choices and rows -----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Analyzer.h"

#include <fmt/format.h>

namespace h3 {

namespace {

/// Of expressions inside expressions and calls inside calls together: each level costs stack.
constexpr unsigned maxDepth = 600;

struct Deeper {
  explicit Deeper(unsigned &depth) : depth(depth) { ++depth; }
  ~Deeper() { --depth; }
  Deeper(const Deeper &) = delete;
  unsigned &depth;
};

const Type boolean{ScalarType::Bool, nullptr, {}};

} // namespace

const Expr *Analyzer::analyze(const ast::Expr &expr, const Type *expected) {
  if (tooLarge)
    return nullptr;
  Deeper deeper(depth);
  if (depth > maxDepth) {
    tooLarge = true;
    error(expr.range, fmt::format("calls and expressions nest more than {} deep here", maxDepth),
          "name a part with `let`, or let fewer functions build on each other");
    return nullptr;
  }
  using Kind = ast::Expr::Kind;
  switch (expr.kind) {
  case Kind::Decimal:
  case Kind::Integer:
  case Kind::Hex:
  case Kind::Infinity:
  case Kind::NotANumber:
    return literal(expr, expected);
  case Kind::True:
  case Kind::False:
    return makeLiteral(ScalarType::Bool, expr.kind == Kind::True, expr.range);
  case Kind::Name:
    return analyzeName(expr);
  case Kind::Unary:
    return analyzeUnary(expr, expected);
  case Kind::Binary:
    return analyzeBinary(expr, expected);
  case Kind::If:
    return analyzeIf(expr, expected);
  case Kind::Row:
    return analyzeRow(expr, expected);
  case Kind::Index:
    return analyzeIndex(expr);
  case Kind::Member:
    return analyzeMember(expr);
  case Kind::Call:
    return analyzeCall(expr, expected);
  }
  return nullptr;
}

const Expr *Analyzer::analyzeAs(const ast::Expr &expr, const Type &type, const std::string &what) {
  return expectType(analyze(expr, &type), type, what);
}

const Expr *Analyzer::analyzeName(const ast::Expr &expr) {
  const std::string &text = expr.text;
  if (builtinNamed(text)) {
    error(expr.range, fmt::format("`{}` is a builtin, not a value", text),
          fmt::format("call it, as in `{}(...)`", text));
    return nullptr;
  }
  size_t dot = text.find('.');
  const Entity *entity = lookup(text.substr(0, dot));
  if (!entity) {
    if (const Item *item = index.find(*frame->module, text)) {
      error(expr.range, fmt::format("`{}` is {}, not a value", text, item->what()),
            item->function || item->record ? fmt::format("call it, as in `{}(...)`", text)
            : item->order                  ? "an order stands after `by`, or is an argument"
                                           : "");
      return nullptr;
    }
    unknownName(expr.range, text, "name", [](const Item &) { return false; }, true);
    return nullptr;
  }

  const Expr *value = nullptr;
  std::string head = text.substr(0, dot);
  switch (entity->kind) {
  case Entity::Kind::Poison:
    return nullptr;
  case Entity::Kind::Value:
    value = copyLeaf(entity->value, expr.range);
    break;
  case Entity::Kind::Size:
    value = makeSize(entity->extent.size, expr.range);
    break;
  case Entity::Kind::DataIndex:
    error(expr.range, fmt::format("`{}` is an index that comes from data, not a number", head),
          "it can only be a whole subscript, as in `x[k]`; use the data itself to compute");
    return nullptr;
  case Entity::Kind::Output:
    error(expr.range, fmt::format("output `{}` cannot be read", head),
          "name the value with `let`, and use that name here and in the equation");
    return nullptr;
  case Entity::Kind::Order:
    error(expr.range, fmt::format("`{}` is an order, not a value", head),
          "an order stands after `by`, or is an argument");
    return nullptr;
  case Entity::Kind::Type:
    error(expr.range, fmt::format("`{}` is a type, not a value", head),
          fmt::format("a conversion is written `{}(x)`", head));
    return nullptr;
  }
  while (value && dot != std::string::npos) {
    size_t next = text.find('.', dot + 1);
    value = field(value, text.substr(dot + 1, next == std::string::npos ? next : next - dot - 1),
                  expr.range);
    dot = next;
  }
  return value;
}

const Expr *Analyzer::analyzeMember(const ast::Expr &expr) {
  const Expr *record = analyze(*expr.operands[0], nullptr);
  return record ? field(record, expr.text, expr.range) : nullptr;
}

const Expr *Analyzer::field(const Expr *record, const std::string &name, SourceRange range) {
  if (!record->type.isRecord()) {
    error(range, fmt::format("{} has no fields, so no `{}`", toText(record->type), name),
          record->type.isRow() && record->type.record ? "index the row first" : "");
    return nullptr;
  }
  const RecordType &type = *record->type.record;
  std::vector<std::string> known;
  for (unsigned i = 0; i < type.fields.size(); ++i) {
    if (type.fields[i].name == name) {
      Expr *made = make(Expr::Kind::Field, Type{type.fields[i].type, nullptr, {}}, range);
      made->operands = {record};
      made->id = i;
      return made;
    }
    known.push_back(type.fields[i].name);
  }
  std::string near = closest(name, known), all;
  for (const std::string &one : known)
    all += (all.empty() ? "" : ", ") + one;
  error(range, fmt::format("{} has no field `{}`", type.name, name),
        near.empty() ? fmt::format("its fields are {}", all)
                     : fmt::format("did you mean `{}`?", near));
  return nullptr;
}

const Expr *Analyzer::condition(const ast::Expr &expr) {
  const Expr *value = analyze(expr, &boolean);
  if (value && !value->type.isScalar()) {
    error(value->range, fmt::format("a condition is a bool, found {}", toText(value->type)));
    return nullptr;
  }
  return expectType(value, boolean, "a condition");
}

/// A chain of `else if` is walked, not descended, so its length costs no stack.
const Expr *Analyzer::analyzeIf(const ast::Expr &expr, const Type *expected) {
  struct Branch {
    const ast::Expr *expr;
    const ast::Expr *condition; ///< null for the last
    const Expr *conditionValue = nullptr;
    const Expr *value = nullptr;
  };
  std::vector<Branch> branches;
  const ast::Expr *last = &expr;
  for (; last->kind == ast::Expr::Kind::If; last = last->operands[2])
    branches.push_back({last->operands[1], last->operands[0]});
  branches.push_back({last, nullptr});

  size_t factMark = facts.size(), pathMark = path.size();
  auto leave = [&] {
    facts.erase(facts.begin() + factMark, facts.end());
    path.erase(path.begin() + pathMark, path.end());
  };
  // What a condition says; one that has an error says what suppresses further errors.
  auto enter = [&](const Expr *value, bool holds) {
    if (!value) {
      facts.push_back({});
      return;
    }
    assume(*value, holds);
    if (isUniform(*value))
      path.push_back({value, holds});
  };

  bool failed = false;
  const Type *type = nullptr;
  const ast::Expr *typedBy = nullptr;
  auto analyzeBranch = [&](Branch &branch, const Type *context) {
    size_t factsHere = facts.size(), pathHere = path.size();
    if (branch.condition)
      enter(branch.conditionValue, true);
    branch.value = analyze(*branch.expr, context);
    facts.erase(facts.begin() + factsHere, facts.end());
    path.erase(path.begin() + pathHere, path.end());
    failed |= !branch.value;
  };
  for (Branch &branch : branches) {
    if (branch.condition) {
      branch.conditionValue = condition(*branch.condition);
      failed |= !branch.conditionValue;
    }
    if (!isUntyped(*branch.expr)) {
      analyzeBranch(branch, expected);
      if (branch.value && !type) {
        type = &branch.value->type;
        typedBy = branch.expr;
      }
    }
    if (branch.condition)
      enter(branch.conditionValue, false);
  }
  leave();
  // Literals take the type of another branch, if one has a type. If all those have errors, it is
  // not known, and nothing more is said.
  bool literalsOnly = isUntyped(expr);
  for (Branch &branch : branches) {
    if (isUntyped(*branch.expr) && (type || literalsOnly))
      analyzeBranch(branch, type ? type : expected);
    if (branch.condition)
      enter(branch.conditionValue, false);
  }
  leave();
  if (failed)
    return nullptr;
  if (!type)
    type = &branches.front().value->type;

  for (const Branch &branch : branches)
    if (!sameType(branch.value->type, *type)) {
      error(branch.value->range,
            fmt::format("the branches of an `if` have one type, found {} and {}", toText(*type),
                        toText(branch.value->type)),
            conversionHint(*branch.value, branch.value->type, *type),
            {{typedBy ? typedBy->range : expr.range,
              fmt::format("this branch is {}", toText(*type))}});
      return nullptr;
    }
  // A condition that is known now selects its branch now.
  const Expr *value = branches.back().value;
  for (size_t i = branches.size() - 1; i-- > 0;) {
    const Branch &branch = branches[i];
    if (branch.conditionValue->kind == Expr::Kind::Literal) {
      value = branch.conditionValue->bits ? branch.value : value;
      continue;
    }
    SourceRange range = expr.range;
    range.begin = branch.condition->range.begin;
    Expr *made = make(Expr::Kind::If, branch.value->type, i == 0 ? expr.range : range);
    made->operands = {branch.conditionValue, branch.value, value};
    value = made;
  }
  return value;
}

bool Analyzer::bind(const std::vector<ast::Binder> &binders, std::vector<Binder> &made,
                    std::vector<Extent> &extents) {
  bool good = true;
  for (const ast::Binder &binder : binders) {
    Binder one;
    std::vector<Extent> digits;
    for (const ast::Binder::Digit &digit : binder.digits) {
      std::optional<Extent> extent = writtenExtent(*digit.size);
      if (!extent) {
        declare(digit.name, {});
        good = false;
        continue;
      }
      unsigned variable = addIndexVariable(digit.name.text, extent->size, digit.name.range);
      good &= declare(digit.name, valueEntity(makeIndex(variable, digit.name.range), {}));
      addRange(variable);
      one.variables.push_back(variable);
      digits.push_back(std::move(*extent));
    }
    if (digits.size() != binder.digits.size())
      continue;
    if (digits.size() == 1) {
      one.extent = {digits[0].size, {digits[0].size}};
      extents.push_back(digits[0]);
    } else {
      Polynomial whole = Polynomial::constant(1);
      for (const Extent &digit : digits) {
        std::optional<Polynomial> next = product(whole, sizes.polynomial(digit.size));
        if (!next) {
          error(binder.range, "the extent of these digits does not fit 64 bits");
          return false;
        }
        whole = std::move(*next);
        one.extent.factors.push_back(digit.size);
      }
      one.extent.size = sizes.intern(whole);
      extents.push_back(one.extent);
    }
    made.push_back(std::move(one));
  }
  return good;
}

const Expr *Analyzer::makeRow(std::vector<Binder> binders, std::vector<Extent> extents,
                              const Expr *body, SourceRange range) {
  if (!body)
    return nullptr;
  Type type = body->type.element();
  type.extents = std::move(extents);
  if (body->type.isRow()) {
    // A row of rows is one row; its inner indices get variables of their own.
    Expr *element = make(Expr::Kind::Access, body->type.element(), range);
    element->operands = {body};
    for (const Extent &extent : body->type.extents) {
      unsigned variable =
          addIndexVariable(fmt::format("_{}", type.extents.size()), extent.size, range);
      element->subscripts.push_back({{makeIndex(variable, range)}, {extent.size}});
      binders.push_back({{variable}, {extent.size, {extent.size}}});
      type.extents.push_back(extent);
    }
    body = element;
  }
  Expr *row = make(Expr::Kind::Row, std::move(type), range);
  row->binders = std::move(binders);
  row->operands = {body};
  return row;
}

const Expr *Analyzer::analyzeRow(const ast::Expr &expr, const Type *expected) {
  size_t scope = enterScope(), factMark = facts.size();
  std::vector<Binder> binders;
  std::vector<Extent> extents;
  bool good = bind(expr.binders, binders, extents);
  Type inner;
  if (expected && expected->extents.size() >= expr.binders.size()) {
    inner = *expected;
    inner.extents.erase(inner.extents.begin(), inner.extents.begin() + expr.binders.size());
    expected = &inner;
  } else if (expected) {
    // What is wrong with the number of axes is said where the row is used.
    inner = expected->element();
    expected = &inner;
  }
  const Expr *body = analyze(*expr.operands[0], expected);
  leaveScope(scope);
  facts.erase(facts.begin() + factMark, facts.end());
  return good ? makeRow(std::move(binders), std::move(extents), body, expr.range) : nullptr;
}

} // namespace h3
