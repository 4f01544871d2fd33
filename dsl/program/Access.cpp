//===-- dsl/program/Access.cpp - Subscripts and the proof of their ranges -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Analyzer.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3 {

namespace {

/// Of the cases that one condition may have, and of the steps taken to find them.
constexpr size_t maxAlternatives = 16;
constexpr unsigned maxConditionSteps = 4000;

const Type integer{ScalarType::I64, nullptr, {}};

bool hasIndex(const Polynomial &value) {
  for (const auto &[monomial, coefficient] : value.terms)
    for (Atom atom : monomial)
      if (atom.kind == Atom::Kind::Index)
        return true;
  return false;
}

} // namespace

const Expr *Analyzer::analyzeIndex(const ast::Expr &expr) {
  const Expr *row = analyze(*expr.operands[0], nullptr);
  std::string text = sourceText(expr.operands[0]->range);
  if (row && expr.subscripts.size() > row->type.extents.size()) {
    if (!row->type.isRow())
      error(expr.range,
            fmt::format("`{}` is {}, not a row, so it has no index", text, toText(row->type)));
    else
      error(expr.range,
            fmt::format("`{}` is {}, found {} subscripts", text, toText(row->type),
                        expr.subscripts.size()),
            row->type.extents.size() == 1 ? "digits of one index stand in parentheses: `x[(a, b)]`"
                                          : "one subscript for each axis, or fewer");
    row = nullptr;
  }
  std::vector<Subscript> subscripts;
  for (size_t i = 0; i < expr.subscripts.size() && row; ++i)
    if (auto made = analyzeSubscript(expr.subscripts[i], row->type.extents[i], text))
      subscripts.push_back(std::move(*made));
  if (!row || subscripts.size() != expr.subscripts.size())
    return nullptr;
  Type type = row->type.element();
  type.extents.assign(row->type.extents.begin() + subscripts.size(), row->type.extents.end());
  Expr *access = make(Expr::Kind::Access, std::move(type), expr.range);
  if (row->kind == Expr::Kind::Access) { // x[t][i] is x[t, i]
    subscripts.insert(subscripts.begin(), row->subscripts.begin(), row->subscripts.end());
    row = row->operands[0];
  }
  access->operands = {row};
  access->subscripts = std::move(subscripts);
  return access;
}

std::optional<Subscript> Analyzer::analyzeSubscript(const ast::Subscript &subscript,
                                                    const Extent &extent, const std::string &row) {
  Subscript made;
  if (subscript.digits.size() == 1) {
    made.radices = {extent.size};
    made.isData = isDataIndex(*subscript.digits[0]);
  } else {
    made.radices = extent.factors;
    if (subscript.digits.size() != extent.factors.size()) {
      std::string factors;
      for (const Size *factor : extent.factors)
        factors += (factors.empty() ? "" : ", ") + toString(*factor, program);
      error(subscript.range,
            fmt::format("an index of `{}` has {} digit{} here ({}), found {}", row,
                        extent.factors.size(), extent.factors.size() == 1 ? "" : "s", factors,
                        subscript.digits.size()),
            "the digits of an index are the factors of the extent as it is written");
      return std::nullopt;
    }
  }
  for (size_t i = 0; i < subscript.digits.size(); ++i) {
    const ast::Expr &expr = *subscript.digits[i];
    if (!made.isData && isDataIndex(expr)) {
      error(expr.range, "an index that comes from data is a whole subscript, not a digit");
      return std::nullopt;
    }
    const Expr *value = made.isData ? dataIndex(expr) : digit(expr, made.radices[i], row);
    if (!value)
      return std::nullopt;
    made.digits.push_back(value);
  }
  return made;
}

bool Analyzer::isDataIndex(const ast::Expr &expr) const {
  if (expr.kind == ast::Expr::Kind::Call)
    return expr.operands[0]->text == "index";
  if (expr.kind != ast::Expr::Kind::Name)
    return false;
  const Entity *entity = lookup(expr.text);
  return entity && entity->kind == Entity::Kind::DataIndex;
}

const Expr *Analyzer::dataIndex(const ast::Expr &expr) {
  if (expr.kind == ast::Expr::Kind::Name)
    return copyLeaf(lookup(expr.text)->value, expr.range);
  if (expr.operands.size() != 2 || !expr.argNames.empty()) {
    error(expr.range, "`index` takes one operand without a name");
    return nullptr;
  }
  const Expr *value = analyze(*expr.operands[1], nullptr);
  if (!value || !isScalarOperand(value, "index"))
    return nullptr;
  if (!isInteger(value->type.scalar)) {
    error(expr.range, fmt::format("`index` takes i32 or i64, found {}", toText(value->type)));
    return nullptr;
  }
  return value;
}

const Expr *Analyzer::digit(const ast::Expr &expr, const Size *radix, const std::string &row) {
  const Expr *value = analyze(expr, &integer);
  if (!value)
    return nullptr;
  if (!value->type.isScalar() || value->type.scalar != ScalarType::I64) {
    bool data = value->type.isScalar() && value->type.scalar == ScalarType::I32;
    error(
        expr.range,
        fmt::format("an index is made of index variables and sizes, found {}", toText(value->type)),
        data ? fmt::format("data become an index by `index({})`", sourceText(expr.range)) : "");
    return nullptr;
  }
  std::optional<Polynomial> index = affine(*value);
  if (!index) {
    error(expr.range,
          fmt::format("index `{}` is not a sum of index variables, integer multiples of them, and "
                      "sizes",
                      sourceText(expr.range)),
          "an index in mixed radix is written by its digits, `x[(a, b)]`; data become an index by "
          "`index(e)`");
    return nullptr;
  }
  // The usual case: the variable ranges over this extent.
  if (value->kind == Expr::Kind::Index && program.indexVariables[value->id].extent == radix)
    return value;
  if (!proves(*index)) {
    reportRange(expr.range, *index, radix, row, true);
    return nullptr;
  }
  std::optional<Polynomial> room = difference(sizes.polynomial(radix), *index);
  room = room ? difference(*room, Polynomial::constant(1)) : room;
  if (!room || !proves(*room)) {
    reportRange(expr.range, *index, radix, row, false);
    return nullptr;
  }
  return value;
}

void Analyzer::reportRange(SourceRange range, const Polynomial &index, const Size *bound,
                           const std::string &row, bool below) {
  std::string written = sourceText(range), meant = sizes.text(index);
  std::string what = fmt::format("index `{}` of `{}`", written, row);
  if (meant != written)
    what += fmt::format(", which is {},", meant);
  std::string condition =
      below ? "at least 0" : fmt::format("less than the extent {}", toString(*bound, program));
  // What never holds is said so.
  std::optional<Polynomial> violation = below ? difference(Polynomial::constant(-1), index)
                                              : difference(index, sizes.polynomial(bound));
  std::optional<Polynomial> about = difference(index, sizes.polynomial(bound));
  std::vector<Note> notes;
  if (std::string known = about ? knownFacts(below ? index : *about) : ""; !known.empty())
    notes.push_back({{}, known});
  if (violation && proves(*violation)) {
    error(range, fmt::format("{} is never {}", what, condition), {}, std::move(notes));
    return;
  }
  if (notes.empty())
    notes.push_back({{}, "nothing is known here but that dims are at least 0"});
  error(range, fmt::format("cannot show that {} is {}", what, condition),
        "guard the access with an `if` on indices and sizes, or state with `require` what callers "
        "ensure",
        std::move(notes));
}

std::string Analyzer::knownFacts(const Polynomial &about) {
  std::string out;
  for (const Fact *fact : related(sizes, facts, about))
    out += (out.empty() ? "known here: " : "; ") + text(sizes, *fact);
  return out;
}

bool Analyzer::proves(const Polynomial &goal) { return follows(sizes, facts, goal); }

void Analyzer::addRange(unsigned variable) {
  Polynomial self = Polynomial::atom({Atom::Kind::Index, variable});
  std::optional<Polynomial> room =
      difference(sizes.polynomial(program.indexVariables[variable].extent), self);
  room = room ? difference(*room, Polynomial::constant(1)) : room;
  Inequalities range{self};
  if (room)
    range.push_back(std::move(*room));
  facts.push_back({{std::move(range)}});
}

std::optional<Polynomial> Analyzer::affine(const Expr &expr) {
  if (!expr.type.isScalar() || expr.type.scalar != ScalarType::I64)
    return std::nullopt;
  switch (expr.kind) {
  case Expr::Kind::Literal:
    return Polynomial::constant(static_cast<int64_t>(expr.bits));
  case Expr::Kind::SizeValue:
    return sizes.polynomial(expr.size);
  case Expr::Kind::Index:
    return Polynomial::atom({Atom::Kind::Index, expr.id});
  case Expr::Kind::Local:
    return localForms[expr.id];
  case Expr::Kind::Block:
    return affine(*expr.operands[0]);
  case Expr::Kind::Builtin:
    break;
  default:
    return std::nullopt;
  }
  std::optional<Polynomial> left = affine(*expr.operands[0]);
  if (!left)
    return std::nullopt;
  if (expr.op == Builtin::Neg)
    return difference(Polynomial(), *left);
  if (expr.op != Builtin::Add && expr.op != Builtin::Sub && expr.op != Builtin::Mul)
    return std::nullopt;
  std::optional<Polynomial> right = affine(*expr.operands[1]);
  if (!right)
    return std::nullopt;
  if (expr.op == Builtin::Add)
    return sum(*left, *right);
  if (expr.op == Builtin::Sub)
    return difference(*left, *right);
  // Coefficients of index variables are constants.
  if ((hasIndex(*left) && !right->asConstant()) || (hasIndex(*right) && !left->asConstant()))
    return std::nullopt;
  return product(*left, *right);
}

void Analyzer::assume(const Expr &condition, bool holds) {
  if (condition.kind == Expr::Kind::Builtin) {
    bool both = condition.op == (holds ? Builtin::And : Builtin::Or);
    if (both || condition.op == Builtin::Not) {
      for (const Expr *operand : condition.operands)
        assume(*operand, both ? holds : !holds);
      return;
    }
  }
  unsigned steps = 0;
  Fact fact{alternatives(condition, holds, steps)};
  bool saysNothing = std::any_of(fact.alternatives.begin(), fact.alternatives.end(),
                                 [](const Inequalities &all) { return all.empty(); });
  if (!saysNothing)
    facts.push_back(std::move(fact));
}

/// One empty alternative means that nothing is known.
std::vector<Inequalities> Analyzer::alternatives(const Expr &condition, bool holds,
                                                 unsigned &steps) {
  const std::vector<Inequalities> unknown{{}};
  if (++steps > maxConditionSteps)
    return unknown;
  if (condition.kind == Expr::Kind::Literal)
    return (condition.bits != 0) == holds ? unknown : std::vector<Inequalities>();
  if (condition.kind == Expr::Kind::Local && localValues[condition.id])
    return alternatives(*localValues[condition.id], holds, steps);
  if (condition.kind == Expr::Kind::Block)
    return alternatives(*condition.operands[0], holds, steps);
  if (condition.kind != Expr::Kind::Builtin)
    return unknown;
  if (condition.op == Builtin::Not)
    return alternatives(*condition.operands[0], !holds, steps);
  if (condition.op == Builtin::And || condition.op == Builtin::Or) {
    std::vector<Inequalities> left = alternatives(*condition.operands[0], holds, steps);
    std::vector<Inequalities> right = alternatives(*condition.operands[1], holds, steps);
    std::vector<Inequalities> made;
    if ((condition.op == Builtin::And) == holds) {
      for (const Inequalities &a : left)
        for (const Inequalities &b : right) {
          made.push_back(a);
          made.back().insert(made.back().end(), b.begin(), b.end());
        }
    } else {
      made = std::move(left);
      made.insert(made.end(), right.begin(), right.end());
    }
    return made.size() > maxAlternatives ? unknown : made;
  }

  Builtin op = condition.op;
  if (op < Builtin::Less || op > Builtin::NotEqual)
    return unknown;
  std::optional<Polynomial> a = affine(*condition.operands[0]), b = affine(*condition.operands[1]);
  std::optional<Polynomial> more = a && b ? difference(*a, *b) : std::nullopt; // a - b
  std::optional<Polynomial> less = a && b ? difference(*b, *a) : std::nullopt;
  std::optional<Polynomial> above =
      more ? difference(*more, Polynomial::constant(1)) : std::nullopt;
  std::optional<Polynomial> below =
      less ? difference(*less, Polynomial::constant(1)) : std::nullopt;
  if (!above || !below)
    return unknown;
  if (!holds) {
    static const std::pair<Builtin, Builtin> opposite[] = {
        {Builtin::Less, Builtin::GreaterEqual}, {Builtin::LessEqual, Builtin::Greater},
        {Builtin::Greater, Builtin::LessEqual}, {Builtin::GreaterEqual, Builtin::Less},
        {Builtin::Equal, Builtin::NotEqual},    {Builtin::NotEqual, Builtin::Equal}};
    op = std::find_if(std::begin(opposite), std::end(opposite), [&](const auto &pair) {
           return pair.first == op;
         })->second;
  }
  switch (op) {
  case Builtin::Less:
    return {{*below}};
  case Builtin::LessEqual:
    return {{*less}};
  case Builtin::Greater:
    return {{*above}};
  case Builtin::GreaterEqual:
    return {{*more}};
  case Builtin::Equal:
    return {{*more, *less}};
  default:
    return {{*below}, {*above}};
  }
}

} // namespace h3
