//===-- dsl/program/Calls.cpp - Calls and records -------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Analyzer.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3 {

/// What the parameters of a function are in one call.
struct Analyzer::Arguments {
  std::string callee;                   ///< as written
  std::vector<const ast::Expr *> exprs; ///< one for each parameter
  std::vector<const Expr *> values;     ///< null for an order
  Frame frame;                          ///< of the function
};

const Expr *Analyzer::analyzeCall(const ast::Expr &call, const Type *expected) {
  std::string name = call.operands[0]->text;
  SourceRange range = call.operands[0]->range;
  size_t dot = name.find('.');
  if (const Entity *entity = lookup(name.substr(0, dot))) {
    if (entity->kind == Entity::Kind::Poison)
      return nullptr;
    if (entity->kind == Entity::Kind::Type) {
      // `T(x)`, `T.bits(x)`: the builtin of the type that T stands for.
      std::string instance =
          std::string(h3::name(entity->type)) + (dot == std::string::npos ? "" : name.substr(dot));
      if (std::optional<BuiltinFunction> builtin = builtinNamed(instance))
        return analyzeBuiltin(call, instance, *builtin, expected);
      error(range, fmt::format("there is no builtin `{}`, which `{}` is here", instance, name));
      return nullptr;
    }
    if (!builtinNamed(name)) {
      bool row = entity->kind == Entity::Kind::Value && entity->value->type.isRow();
      error(range, fmt::format("`{}` is not a function", name),
            row ? fmt::format("an index stands in brackets: `{}[...]`", name) : "");
      return nullptr;
    }
  }
  if (std::optional<BuiltinFunction> builtin = builtinNamed(name))
    return analyzeBuiltin(call, name, *builtin, expected);
  const Item *item = index.find(*frame->module, name);
  if (item && item->function)
    return expand(call, *item);
  if (item && item->record)
    return makeRecord(call, *item);
  if (item)
    error(range, fmt::format("`{}` is {}, not a function", name, item->what()));
  else if (scalarTypeNamed(name))
    error(range, fmt::format("there is no conversion to {}", name), "compare, as in `x != 0`");
  else
    unknownName(
        range, name, "function", [](const Item &i) { return i.function || i.record; }, false);
  return nullptr;
}

std::vector<const ast::Expr *>
Analyzer::matchArguments(const ast::Expr &call, const std::string &callee,
                         const std::vector<const ast::Name *> &params, std::string_view what) {
  size_t count = call.operands.size() - 1;
  std::string all;
  for (const ast::Name *param : params)
    all += (all.empty() ? "" : ", ") + param->text;
  if (call.argNames.empty()) {
    if (count != params.size()) {
      error(call.range,
            fmt::format("`{}` has {} {}{}, found {}", callee, params.size(), what,
                        params.size() == 1 ? "" : "s", count),
            fmt::format("it takes ({})", all));
      return {};
    }
    return {call.operands.begin() + 1, call.operands.end()};
  }
  std::vector<const ast::Expr *> matched(params.size(), nullptr);
  bool failed = false;
  for (size_t i = 0; i < count; ++i) {
    const ast::Name &name = call.argNames[i];
    size_t at = 0;
    while (at < params.size() && params[at]->text != name.text)
      ++at;
    if (at == params.size())
      error(name.range, fmt::format("`{}` has no {} `{}`", callee, what, name.text),
            fmt::format("it has {}", all));
    else if (matched[at])
      error(name.range, fmt::format("`{}` is given twice", name.text));
    else
      matched[at] = call.operands[i + 1];
    failed |= at == params.size() || matched[at] != call.operands[i + 1];
  }
  if (failed)
    return {};
  std::string missing;
  for (size_t i = 0; i < params.size(); ++i)
    if (!matched[i])
      missing += fmt::format("{}`{}`", missing.empty() ? "" : ", ", params[i]->text);
  if (!missing.empty()) {
    error(call.range, fmt::format("`{}` is missing {}", callee, missing),
          fmt::format("it takes ({})", all));
    return {};
  }
  return matched;
}

const Expr *Analyzer::makeRecord(const ast::Expr &call, const Item &item) {
  const std::string &callee = call.operands[0]->text;
  const RecordType *type = recordType(item, callee);
  if (!type) {
    ++errors; // `checkModules` has said what
    return nullptr;
  }
  std::vector<const ast::Name *> fields;
  for (const ast::Record::Field &field : item.record->fields)
    fields.push_back(&field.name);
  if (call.argNames.empty()) {
    std::string all;
    for (const ast::Name *field : fields)
      all += fmt::format("{}{} = ...", all.empty() ? "" : ", ", field->text);
    error(call.range,
          fmt::format("a record is made with the names of its fields, found values alone"),
          fmt::format("write `{}({})`", callee, all));
    return nullptr;
  }
  std::vector<const ast::Expr *> exprs = matchArguments(call, callee, fields, "field");
  std::vector<const Expr *> values;
  for (size_t i = 0; i < exprs.size(); ++i)
    if (const Expr *value =
            analyzeAs(*exprs[i], Type{type->fields[i].type, nullptr, {}},
                      fmt::format("field `{}` of {}", type->fields[i].name, callee)))
      values.push_back(value);
  if (exprs.empty() || values.size() != exprs.size())
    return nullptr;
  Expr *record = make(Expr::Kind::Record, Type{ScalarType::F32, type, {}}, call.range);
  record->operands = std::move(values);
  return record;
}

const Expr *Analyzer::expand(const ast::Expr &call, const Item &item) {
  const ast::Function &function = *item.function;
  Arguments arguments;
  arguments.callee = call.operands[0]->text;
  arguments.frame.module = item.module;
  std::vector<const ast::Name *> params;
  for (const ast::Param &param : function.params)
    params.push_back(&param.name);
  arguments.exprs = matchArguments(call, arguments.callee, params, "parameter");
  if (arguments.exprs.empty() || !analyzeArguments(call, item, arguments) || tooLarge)
    return nullptr;

  program.calls.push_back({call.range, arguments.callee, this->call, item.function->documentation});
  int outerCall = std::exchange(this->call, static_cast<int>(program.calls.size() - 1));
  Frame *outerFrame = std::exchange(frame, &arguments.frame);
  std::string outerHint = std::exchange(inexactHint, {});
  const Expr *value = nullptr;
  std::vector<Let> lets;
  if (bindExtents(function, arguments) && bindParameters(function, arguments, lets))
    value = expandBody(function, arguments.callee, std::move(lets), call.range);
  inexactHint = std::move(outerHint);
  frame = outerFrame;
  this->call = outerCall;
  return value;
}

bool Analyzer::analyzeArguments(const ast::Expr &call, const Item &item, Arguments &arguments) {
  const ast::Function &function = *item.function;
  arguments.values.resize(function.params.size(), nullptr);
  bool good = true;
  auto inFunction = [&](auto step) {
    Frame *outer = std::exchange(frame, &arguments.frame);
    auto result = step();
    frame = outer;
    return result;
  };

  for (size_t i = 0; i < function.params.size(); ++i) {
    const ast::Param &param = function.params[i];
    const ast::Expr &expr = *arguments.exprs[i];
    if (param.type.name.text == "order") {
      if (expr.kind != ast::Expr::Kind::Name) {
        error(expr.range,
              fmt::format("parameter `{}` of `{}` is an order, found a value", param.name.text,
                          arguments.callee),
              "give the name of an order");
        good = false;
        continue;
      }
      Entity entity;
      entity.kind = Entity::Kind::Order;
      entity.order = orderNamed({expr.text, expr.range});
      good = good && entity.order &&
             inFunction([&] { return declare(param.name, std::move(entity)); });
    } else if (!isUntyped(expr)) {
      arguments.values[i] = analyze(expr, nullptr);
      good =
          good && arguments.values[i] && inferType(param, arguments.values[i], function, arguments);
    }
  }
  if (!good)
    return false;
  for (const ast::Generic &generic : function.generics)
    if (!arguments.frame.names.contains(generic.name.text)) {
      error(call.range,
            fmt::format("the type `{}` of `{}` does not follow from the arguments",
                        generic.name.text, arguments.callee),
            "a literal takes its type from the parameter; convert it, as in `f32(1.0)`");
      return false;
    }
  for (size_t i = 0; i < function.params.size(); ++i) {
    const ast::Param &param = function.params[i];
    if (param.type.name.text == "order")
      continue;
    // Extents may be unknown still; a literal needs the type of an element only.
    std::optional<Type> type = inFunction([&] { return namedType(param.type.name); });
    if (!type)
      return false;
    if (!arguments.values[i])
      arguments.values[i] = analyze(*arguments.exprs[i], &*type);
    const Expr *value = arguments.values[i];
    if (!value)
      return false;
    if (value->type.extents.size() != param.type.extents.size() ||
        value->type.record != type->record ||
        (!type->record && value->type.scalar != type->scalar)) {
      std::string wanted = toText(*type), sizesText;
      for (const ast::Expr *size : param.type.extents)
        sizesText += (sizesText.empty() ? "[" : ", ") + sourceText(size->range);
      Type target = *type;
      target.extents = value->type.extents;
      error(value->range,
            fmt::format("parameter `{}` of `{}` is {}{}, found {}", param.name.text,
                        arguments.callee, wanted, sizesText + (sizesText.empty() ? "" : "]"),
                        toText(value->type)),
            value->type.extents.size() == param.type.extents.size()
                ? conversionHint(*value, value->type, target)
                : "");
      return false;
    }
  }
  return true;
}

bool Analyzer::inferType(const ast::Param &param, const Expr *value, const ast::Function &function,
                         Arguments &arguments) {
  const std::string &name = param.type.name.text;
  auto generic = std::find_if(function.generics.begin(), function.generics.end(),
                              [&](const ast::Generic &g) { return g.name.text == name; });
  if (generic == function.generics.end())
    return true;
  ScalarType type = value->type.scalar;
  if (value->type.record) {
    error(value->range, fmt::format("the type `{}` of `{}` is a scalar, found {}", name,
                                    arguments.callee, toText(value->type)));
    return false;
  }
  if (auto known = arguments.frame.names.find(name); known != arguments.frame.names.end()) {
    if (known->second.type == type)
      return true;
    error(value->range,
          fmt::format("the type `{}` of `{}` is {} by an earlier argument, found {}", name,
                      arguments.callee, h3::name(known->second.type), h3::name(type)),
          conversionHint(*value, value->type,
                         Type{known->second.type, nullptr, value->type.extents}));
    return false;
  }
  bool listed = generic->types.empty();
  std::string all;
  for (const ast::Name &one : generic->types) {
    listed |= scalarTypeNamed(one.text) == type;
    all += (all.empty() ? "" : ", ") + one.text;
  }
  if (!listed) {
    error(value->range, fmt::format("the type `{}` of `{}` is one of {}, found {}", name,
                                    arguments.callee, all, h3::name(type)));
    return false;
  }
  Entity entity;
  entity.kind = Entity::Kind::Type;
  entity.type = type;
  Frame *outer = std::exchange(frame, &arguments.frame);
  bool good = declare(generic->name, std::move(entity));
  frame = outer;
  return good;
}

/// Rule 4: the extents of row parameters bind the names they are made of, and where a name is bound
/// already, demand that the extents are equal.
bool Analyzer::bindExtents(const ast::Function &function, Arguments &arguments) {
  auto declareSize = [&](const ast::Expr &name, Extent extent) {
    Entity entity;
    entity.kind = Entity::Kind::Size;
    entity.extent = std::move(extent);
    return declare({name.text, name.range}, std::move(entity));
  };
  auto isUnknown = [&](const ast::Expr &size) {
    return size.kind == ast::Expr::Kind::Name && !lookup(size.text) &&
           size.text.find('.') == std::string::npos;
  };
  // An integer that is a size can stand in extents.
  for (size_t i = 0; i < function.params.size(); ++i)
    if (const Expr *value = arguments.values[i]; value && isSize(*value))
      if (!declare(function.params[i].name, valueEntity(value, {})))
        return false;
  for (size_t i = 0; i < function.params.size(); ++i)
    for (size_t axis = 0; axis < function.params[i].type.extents.size(); ++axis)
      if (const ast::Expr &size = *function.params[i].type.extents[axis]; isUnknown(size))
        if (!declareSize(size, arguments.values[i]->type.extents[axis]))
          return false;
  // A product binds names by its factors, if the argument has as many.
  for (size_t i = 0; i < function.params.size(); ++i)
    for (size_t axis = 0; axis < function.params[i].type.extents.size(); ++axis) {
      std::vector<const ast::Expr *> factors;
      const ast::Expr *at = function.params[i].type.extents[axis];
      for (; at->kind == ast::Expr::Kind::Binary && at->text == "*"; at = at->operands[0])
        factors.insert(factors.begin(), at->operands[1]);
      factors.insert(factors.begin(), at);
      const Extent extent = arguments.values[i]->type.extents[axis];
      if (factors.size() < 2 || factors.size() != extent.factors.size())
        continue;
      for (size_t k = 0; k < factors.size(); ++k)
        if (isUnknown(*factors[k]) &&
            !declareSize(*factors[k], {extent.factors[k], {extent.factors[k]}}))
          return false;
    }
  return true;
}

bool Analyzer::bindParameters(const ast::Function &function, Arguments &arguments,
                              std::vector<Let> &lets) {
  for (size_t i = 0; i < function.params.size(); ++i) {
    const ast::Param &param = function.params[i];
    const Expr *value = arguments.values[i];
    if (!value || isSize(*value))
      continue;
    // The parameter has the extents that are written, with their factors.
    Type type = value->type;
    for (size_t axis = 0; axis < param.type.extents.size(); ++axis) {
      const ast::Expr &size = *param.type.extents[axis];
      std::optional<Extent> extent = writtenExtent(size);
      if (!extent)
        return false;
      if (!provablyEqual(extent->size, value->type.extents[axis].size)) {
        error(size.range,
              fmt::format("extent `{}` of `{}` is {}, but argument `{}` has {}",
                          sourceText(size.range), param.name.text, toString(*extent->size, program),
                          sourceText(arguments.exprs[i]->range),
                          toString(*value->type.extents[axis].size, program)));
        return false;
      }
      type.extents[axis] = std::move(*extent);
    }
    const Expr *use;
    if (isLeaf(*value)) {
      Expr *copy = make(value->kind, std::move(type), value->range);
      copy->bits = value->bits;
      copy->id = value->id;
      copy->size = value->size;
      use = copy;
    } else {
      unsigned local = addLocal(param.name.text, std::move(type), value, param.name.range);
      lets.push_back({local, value});
      use = makeLocal(local, param.name.range);
    }
    if (!declare(param.name, valueEntity(use, {})))
      return false;
  }
  return true;
}

const Expr *Analyzer::expandBody(const ast::Function &function, const std::string &callee,
                                 std::vector<Let> lets, SourceRange range) {
  std::optional<Type> type = writtenType(function.result);
  if (!type)
    return nullptr;
  for (const ast::Let &let : function.lets)
    if (std::optional<Let> made = analyzeLet(let))
      lets.push_back(*made);
  const Expr *value = analyzeRhs(function.value, &*type);
  value = expectType(value, *type, fmt::format("the result of `{}`", callee));
  if (!value)
    return nullptr;
  bool sameFactors = true;
  for (size_t i = 0; i < type->extents.size(); ++i)
    sameFactors &= type->extents[i].factors == value->type.extents[i].factors;
  if (lets.empty() && sameFactors)
    return value;
  Expr *block = make(Expr::Kind::Block, std::move(*type), range);
  block->lets = std::move(lets);
  block->operands = {value};
  return block;
}

} // namespace h3
