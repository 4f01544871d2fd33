//===-- dsl/program/Types.cpp - Types, extents and what must agree --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Analyzer.h"
#include "dsl/program/Orders.h"

#include <fmt/format.h>

namespace h3 {

std::optional<Type> Analyzer::namedType(const ast::Name &name) {
  if (std::optional<ScalarType> scalar = scalarTypeNamed(name.text))
    return Type{*scalar, nullptr, {}};
  if (const Entity *entity = lookup(name.text)) {
    if (entity->kind == Entity::Kind::Type)
      return Type{entity->type, nullptr, {}};
    if (entity->kind != Entity::Kind::Poison)
      error(name.range, fmt::format("`{}` is not a type", name.text), {},
            {{entity->range, fmt::format("`{}` is defined here", name.text)}});
    return std::nullopt;
  }
  const Item *item = index.find(*frame->module, name.text);
  if (item && item->record) {
    const RecordType *record = recordType(*item, name.text);
    if (!record)
      return std::nullopt;
    return Type{ScalarType::F32, record, {}};
  }
  if (item) {
    error(name.range, fmt::format("`{}` is {}, not a type", name.text, item->what()));
    return std::nullopt;
  }
  std::vector<std::string> others;
  for (std::string_view type : {"bool", "i32", "i64", "f16", "bf16", "f32", "f64", "e4m3", "e5m2"})
    others.emplace_back(type);
  for (const std::string &known : frame->order)
    if (lookup(known)->kind == Entity::Kind::Type)
      others.push_back(known);
  std::string hint = index.suggest(
      *frame->module, name.text, [](const Item &i) { return i.record != nullptr; }, others);
  error(name.range, fmt::format("unknown type `{}`", name.text), hint);
  return std::nullopt;
}

std::optional<Type> Analyzer::writtenType(const ast::TypeRef &type) {
  if (type.name.text == "order") {
    error(type.range, "an order is not the type of a value",
          "an order is a parameter of a function, as in `tree: order`");
    return std::nullopt;
  }
  std::optional<Type> made = namedType(type.name);
  for (const ast::Expr *size : type.extents) {
    std::optional<Extent> extent = writtenExtent(*size);
    if (!extent)
      made.reset();
    if (made)
      made->extents.push_back(*extent);
  }
  return made;
}

const RecordType *Analyzer::recordType(const Item &item, const std::string &name) {
  auto [at, isNew] = recordTypes.try_emplace(item.record, nullptr);
  if (!isNew)
    return at->second;
  RecordType made;
  made.name = name;
  for (const ast::Record::Field &field : item.record->fields) {
    std::optional<ScalarType> type = scalarTypeNamed(field.type.text);
    if (!type)
      return nullptr; // `checkModules` says so
    made.fields.push_back({field.name.text, *type});
  }
  program.records.push_back(std::move(made));
  return recordTypes[item.record] = &program.records.back();
}

const Order *Analyzer::orderNamed(const ast::Name &name) {
  if (const Entity *entity = lookup(name.text)) {
    if (entity->kind == Entity::Kind::Order)
      return entity->order;
    if (entity->kind != Entity::Kind::Poison)
      error(name.range, fmt::format("`{}` is not an order", name.text), {},
            {{entity->range, fmt::format("`{}` is defined here", name.text)}});
    return nullptr;
  }
  const Item *item = index.find(*frame->module, name.text);
  if (!item) {
    std::vector<std::string> others;
    for (const std::string &known : frame->order)
      if (lookup(known)->kind == Entity::Kind::Order)
        others.push_back(known);
    error(name.range, fmt::format("unknown order `{}`", name.text),
          index.suggest(
              *frame->module, name.text, [](const Item &i) { return i.order != nullptr; }, others));
    return nullptr;
  }
  if (!item->order) {
    error(name.range, fmt::format("`{}` is {}, not an order", name.text, item->what()));
    return nullptr;
  }
  auto [at, isNew] = orderCache.try_emplace(item->order, nullptr);
  if (!isNew)
    return at->second;
  Diagnostics ignored; // `checkModules` has said it
  std::optional<Order> made = makeOrder(*item->order, name.text, ignored);
  if (!made) {
    ++errors;
    return nullptr;
  }
  program.orders.push_back(std::move(*made));
  return orderCache[item->order] = &program.orders.back();
}

bool Analyzer::provablyEqual(const Size *a, const Size *b) {
  if (a == b)
    return true;
  std::optional<Polynomial> more = difference(sizes.polynomial(a), sizes.polynomial(b));
  std::optional<Polynomial> less = difference(sizes.polynomial(b), sizes.polynomial(a));
  return more && less && proves(*more) && proves(*less);
}

bool Analyzer::sameType(const Type &a, const Type &b) {
  if (a.record != b.record || (!a.record && a.scalar != b.scalar) ||
      a.extents.size() != b.extents.size())
    return false;
  for (size_t i = 0; i < a.extents.size(); ++i)
    if (!provablyEqual(a.extents[i].size, b.extents[i].size))
      return false;
  return true;
}

const Expr *Analyzer::expectType(const Expr *value, const Type &type, const std::string &what) {
  if (!value || sameType(value->type, type))
    return value;
  error(value->range,
        fmt::format("{} must be {}, found {}", what, toText(type), toText(value->type)),
        conversionHint(*value, value->type, type));
  return nullptr;
}

std::string Analyzer::conversionHint(const Expr &value, const Type &from, const Type &to) const {
  if (from.record || to.record)
    return {};
  if (from.isRow() != to.isRow())
    return from.isRow() ? "index the row to get one element"
                        : "write a row of it, as in `[i: n] ...`";
  if (from.extents.size() != to.extents.size() || from.scalar == to.scalar)
    return {};
  std::string target(name(to.scalar));
  if (from.scalar == ScalarType::Bool)
    return to.isRow() ? std::string() : "choose between two values: `if ... then ... else ...`";
  if (to.scalar == ScalarType::Bool)
    return "compare it, as in `x != 0`";
  if (isInteger(to.scalar) && !isInteger(from.scalar))
    return "a float becomes an integer only by its bits, `i32.bits` or `i64.bits`";
  std::string text = sourceText(value.range);
  if (to.isRow())
    return fmt::format("convert each element, as in `[i: n] {}(...)`", target);
  if (text.empty() || text.size() > 50)
    text = "...";
  if (text.front() == '(' && text.back() == ')' && text.find(')') == text.size() - 1)
    return fmt::format("convert it: `{}{}`", target, text);
  return fmt::format("convert it: `{}({})`", target, text);
}

const Size *Analyzer::writtenSize(const ast::Expr &size) {
  const Type integer{ScalarType::I64, nullptr, {}};
  const Expr *value = analyze(size, &integer);
  if (!value)
    return nullptr;
  if (value->kind == Expr::Kind::SizeValue)
    return value->size;
  if (isSize(*value))
    return sizes.constant(static_cast<int64_t>(value->bits));
  error(size.range, fmt::format("an extent is made of sizes, found {}", toText(value->type)),
        "sizes are dims, integers, `+ - *` of them, and `/ %` by a positive integer");
  return nullptr;
}

std::optional<Extent> Analyzer::writtenExtent(const ast::Expr &size) {
  if (size.kind == ast::Expr::Kind::Name)
    if (const Entity *entity = lookup(size.text); entity && entity->kind == Entity::Kind::Size)
      return entity->extent;
  const Size *whole = writtenSize(size);
  if (!whole || !checkNotNegative(whole, size.range))
    return std::nullopt;
  Extent extent{whole, {}};
  const ast::Expr *at = &size;
  for (; at->kind == ast::Expr::Kind::Binary && at->text == "*"; at = at->operands[0])
    if (const Size *factor = writtenSize(*at->operands[1]))
      extent.factors.insert(extent.factors.begin(), factor);
  if (const Size *factor = writtenSize(*at))
    extent.factors.insert(extent.factors.begin(), factor);
  return extent;
}

bool Analyzer::checkNotNegative(const Size *size, SourceRange range) {
  const Polynomial &value = sizes.polynomial(size);
  if (size->isConstant() && size->value < 0) {
    error(range, fmt::format("an extent is at least 0, found {}", size->value));
    return false;
  }
  if (proves(value))
    return true;
  std::vector<Note> notes;
  if (std::string known = knownFacts(value); !known.empty())
    notes.push_back({{}, known});
  error(range, fmt::format("cannot show that the extent {} is at least 0", sizes.text(value)),
        "state it with `require`, or guard it with `if`", std::move(notes));
  return false;
}

} // namespace h3
