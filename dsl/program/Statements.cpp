//===-- dsl/program/Statements.cpp - Lets and reductions ------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Analyzer.h"
#include "dsl/program/Orders.h"

#include <fmt/format.h>

namespace h3 {

std::optional<Let> Analyzer::analyzeLet(const ast::Let &let) {
  // An index that comes from data is not a number: the name stands for a whole subscript.
  if (let.value.expr && isDataIndex(*let.value.expr)) {
    Entity entity;
    std::optional<Let> made;
    if (!let.binders.empty() || let.type) {
      error(let.value.range,
            "`index(...)` is a whole subscript, not a value with a type or indices",
            "name it by a plain `let k = index(e)`");
    } else if (const Expr *data = dataIndex(*let.value.expr)) {
      entity.kind = Entity::Kind::DataIndex;
      entity.value = data;
      if (!isLeaf(*data)) {
        made = Let{addLocal(let.name.text, data->type, data, let.name.range), data};
        entity.value = makeLocal(made->local, let.name.range);
      }
    }
    declare(let.name, std::move(entity));
    return made;
  }

  const Expr *value = nullptr;
  if (!let.binders.empty()) {
    size_t scope = enterScope(), factMark = facts.size();
    std::vector<Binder> binders;
    std::vector<Extent> extents;
    bool good = bind(let.binders, binders, extents);
    const Expr *body = analyzeRhs(let.value, nullptr);
    leaveScope(scope);
    facts.erase(facts.begin() + factMark, facts.end());
    if (good)
      value = makeRow(std::move(binders), std::move(extents), body, let.value.range);
  } else if (let.type) {
    std::optional<Type> type = writtenType(*let.type);
    value = analyzeRhs(let.value, type ? &*type : nullptr);
    if (type)
      value = expectType(value, *type, fmt::format("`{}`", let.name.text));
    else
      value = nullptr;
  } else {
    value = analyzeRhs(let.value, nullptr);
  }
  if (!value) {
    declare(let.name, {});
    return std::nullopt;
  }
  // A condition on sizes stays one wherever it is used, so that a call decides it once.
  bool substituted =
      isLeaf(*value) ||
      (value->type.isScalar() && value->type.scalar == ScalarType::Bool && isUniform(*value));
  if (substituted) {
    declare(let.name, valueEntity(value, {}));
    return std::nullopt;
  }
  unsigned local = addLocal(let.name.text, value->type, value, let.name.range);
  declare(let.name, valueEntity(makeLocal(local, let.name.range), {}));
  return Let{local, value};
}

const Expr *Analyzer::analyzeRhs(const ast::Rhs &rhs, const Type *expected) {
  return rhs.reduce ? analyzeReduce(*rhs.reduce, rhs.range, expected)
                    : analyze(*rhs.expr, expected);
}

bool Analyzer::demand(const Size *larger, const Size *smaller, SourceRange range,
                      const std::string &violation, const std::string &hint) {
  std::optional<Polynomial> room = difference(sizes.polynomial(larger), sizes.polynomial(smaller));
  std::optional<Polynomial> lack = difference(sizes.polynomial(smaller), sizes.polynomial(larger));
  lack = lack ? difference(*lack, Polynomial::constant(1)) : lack;
  if (room && proves(*room))
    return true;
  if (lack && proves(*lack)) {
    error(range, violation, hint);
    return false;
  }
  auto use = [&](const Size *size) {
    return size->isConstant() ? makeLiteral(ScalarType::I64, static_cast<Bits>(size->value), range)
                              : makeSize(size, range);
  };
  const Type boolean{ScalarType::Bool, nullptr, {}};
  bool upper = larger->isConstant(); // said about the size that is not a constant
  const Expr *condition =
      upper ? makeBuiltin(Builtin::LessEqual, boolean, {use(smaller), use(larger)}, range)
            : makeBuiltin(Builtin::GreaterEqual, boolean, {use(larger), use(smaller)}, range);
  std::string text = upper ? toString(*smaller, program) + " <= " + toString(*larger, program)
                           : toString(*larger, program) + " >= " + toString(*smaller, program);
  // Only calls that come here need it.
  for (size_t i = path.size(); i-- > 0;) {
    const Expr *elsewhere = path[i].first;
    if (path[i].second)
      elsewhere = makeBuiltin(Builtin::Not, boolean, {elsewhere}, range);
    condition = makeBuiltin(Builtin::Or, boolean, {elsewhere, condition}, range);
    std::string guard = sourceText(path[i].first->range);
    text += fmt::format(" {} {}{}", i + 1 == path.size() ? "where" : "and",
                        path[i].second ? "" : "not ", path[i].second ? guard : "(" + guard + ")");
  }
  for (const Requirement &known : program.requirements)
    if (known.text == text)
      return true;
  program.requirements.push_back({condition, text, range});
  return true;
}

const Expr *Analyzer::analyzeReduce(const ast::Reduce &reduce, SourceRange range,
                                    const Type *expected) {
  if (joins > 0) {
    error(range, "the join of a reduction contains a reduction",
          "a join is made of scalar operations");
    return nullptr;
  }
  Reduce made;
  bool good = true;
  if (!reduce.anyOrder) {
    made.order = orderNamed(reduce.order);
    good = made.order != nullptr;
  }

  // The seed comes first: it does not see the index.
  Type type;
  if (reduce.hasSeed) {
    std::optional<Type> written;
    if (reduce.stateType) {
      written = namedType(*reduce.stateType);
      good &= written.has_value();
    }
    const Type *context = reduce.stateType ? (written ? &*written : nullptr) : expected;
    bool pointless = reduce.stateType && !written && isUntyped(*reduce.seed);
    made.seed = pointless ? nullptr : analyze(*reduce.seed, context);
    if (written)
      made.seed =
          expectType(made.seed, *written, fmt::format("the seed of `{}`", reduce.state.text));
    if (made.seed)
      type = made.seed->type;
    good &= made.seed != nullptr;
  }

  size_t scope = enterScope(), factMark = facts.size();
  std::vector<Binder> binders;
  std::vector<Extent> extents;
  bool bound = bind({reduce.binder}, binders, extents);
  good &= bound;
  if (reduce.hasSeed) {
    if (reduce.stepState.text != reduce.state.text) {
      error(reduce.stepState.range,
            fmt::format("`step` gives `{}` its new value, found `{}`", reduce.state.text,
                        reduce.stepState.text),
            fmt::format("write `step {} = ...`", reduce.state.text));
      good = false;
    }
    Entity state;
    if (made.seed) {
      made.state = addLocal(reduce.state.text, type, nullptr, reduce.state.range);
      state = valueEntity(makeLocal(made.state, reduce.state.range), {});
    }
    good &= declare(reduce.state, std::move(state));
    if (made.seed)
      made.step = analyzeAs(*reduce.step, type, "the new state");
    good &= made.step != nullptr;
  } else {
    made.element = analyze(*reduce.element, expected);
    if (made.element)
      type = made.element->type;
    good &= made.element != nullptr;
  }
  leaveScope(scope);
  facts.erase(facts.begin() + factMark, facts.end());
  if (type.isRow()) {
    error(reduce.hasSeed ? reduce.seed->range : reduce.element->range,
          fmt::format("a reduction combines scalars or records, found {}", toText(type)),
          "write a row of reductions, as in `let s[j: m] = reduce i: n ...`");
    return nullptr;
  }

  if (made.seed || made.element) {
    made.left = addLocal(reduce.left.text, type, nullptr, reduce.left.range);
    made.right = addLocal(reduce.right.text, type, nullptr, reduce.right.range);
    good &= declare(reduce.left, valueEntity(makeLocal(made.left, reduce.left.range), {}));
    good &= declare(reduce.right, valueEntity(makeLocal(made.right, reduce.right.range), {}));
    ++joins;
    made.join = analyzeAs(*reduce.join, type, "the join");
    --joins;
    good &= made.join != nullptr;
    leaveScope(scope);
  }
  if (!good)
    return nullptr;

  made.binder = std::move(binders[0]);
  const Size *extent = made.binder.extent.size;
  if (reduce.anyOrder && !checkAny(reduce, made, range))
    return nullptr;
  if (!reduce.hasSeed &&
      !demand(extent, sizes.constant(1), range,
              fmt::format("a reduction with `of` needs at least one element, the extent is {}",
                          toString(*extent, program)),
              "`from` a value has a result for an empty row too"))
    return nullptr;
  if (std::optional<int64_t> most = made.order ? capacity(*made.order) : std::nullopt)
    if (!demand(sizes.constant(*most), extent, range,
                fmt::format("order `{}` holds {} elements, the row has {}", made.order->name, *most,
                            toString(*extent, program)),
                "leave out the radix of one digit, which then takes what is left"))
      return nullptr;

  program.reductions.push_back(std::move(made));
  Expr *expr = make(Expr::Kind::Reduce, std::move(type), range);
  expr->reduce = &program.reductions.back();
  return expr;
}

/// Rule 12: the joins for which all trees agree.
bool Analyzer::checkAny(const ast::Reduce &reduce, const Reduce &made, SourceRange range) {
  if (reduce.hasSeed) {
    error(range, "`by any` needs `of`, found `from`",
          "a seed enters once for each slot, so the result depends on the order");
    return false;
  }
  const Expr &join = *made.join;
  bool operands = join.kind == Expr::Kind::Builtin && join.operands.size() == 2 &&
                  join.operands[0]->kind == Expr::Kind::Local &&
                  join.operands[0]->id == made.left &&
                  join.operands[1]->kind == Expr::Kind::Local && join.operands[1]->id == made.right;
  bool agrees = false;
  if (operands)
    switch (join.op) {
    case Builtin::Max:
    case Builtin::Min:
    case Builtin::MaxNum:
    case Builtin::MinNum:
    case Builtin::And:
    case Builtin::Or:
      agrees = true;
      break;
    case Builtin::Add:
      agrees = isInteger(join.type.scalar);
      break;
    default:
      break;
    }
  if (agrees)
    return true;
  error(reduce.join->range,
        fmt::format("`by any` needs a join that gives the same for every tree, found `{}`",
                    sourceText(reduce.join->range)),
        fmt::format("exactly max, min, max.num, min.num, and, or, or `+` of integers, of ({}, {}); "
                    "otherwise name an order",
                    reduce.left.text, reduce.right.text));
  return false;
}

} // namespace h3
