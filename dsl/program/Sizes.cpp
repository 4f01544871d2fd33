//===-- dsl/program/Sizes.cpp - Polynomials over sizes --------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Sizes.h"

#include <algorithm>

namespace h3 {

namespace {

constexpr size_t maxTerms = 64, maxDegree = 16;

/// The terms in the order in which a person writes them: those that are added before those that are
/// taken away, longer products first.
std::vector<std::pair<Monomial, int64_t>> written(const Polynomial &value) {
  std::vector<std::pair<Monomial, int64_t>> terms(value.terms.begin(), value.terms.end());
  std::sort(terms.begin(), terms.end(), [](const auto &a, const auto &b) {
    if ((a.second < 0) != (b.second < 0))
      return b.second < 0;
    if (a.first.size() != b.first.size())
      return a.first.size() > b.first.size();
    return a.first < b.first;
  });
  return terms;
}

/// a + scale * b.
std::optional<Polynomial> combine(const Polynomial &a, const Polynomial &b, int64_t scale) {
  Polynomial result = a;
  for (const auto &[monomial, coefficient] : b.terms) {
    int64_t scaled, total;
    auto [at, isNew] = result.terms.try_emplace(monomial, 0);
    if (__builtin_mul_overflow(coefficient, scale, &scaled) ||
        __builtin_add_overflow(at->second, scaled, &total))
      return std::nullopt;
    at->second = total;
    if (total == 0)
      result.terms.erase(at);
  }
  if (result.terms.size() > maxTerms)
    return std::nullopt;
  return result;
}

} // namespace

Polynomial Polynomial::constant(int64_t value) {
  Polynomial result;
  if (value != 0)
    result.terms[{}] = value;
  return result;
}

Polynomial Polynomial::atom(Atom a) {
  Polynomial result;
  result.terms[{a}] = 1;
  return result;
}

std::optional<int64_t> Polynomial::asConstant() const {
  if (terms.empty())
    return 0;
  if (terms.size() == 1 && terms.begin()->first.empty())
    return terms.begin()->second;
  return std::nullopt;
}

std::optional<Polynomial> sum(const Polynomial &a, const Polynomial &b) { return combine(a, b, 1); }

std::optional<Polynomial> difference(const Polynomial &a, const Polynomial &b) {
  return combine(a, b, -1);
}

std::optional<Polynomial> product(const Polynomial &a, const Polynomial &b) {
  Polynomial result;
  for (const auto &[left, leftCoefficient] : a.terms) {
    Polynomial row;
    for (const auto &[right, rightCoefficient] : b.terms) {
      Monomial monomial(left);
      monomial.insert(monomial.end(), right.begin(), right.end());
      std::sort(monomial.begin(), monomial.end());
      int64_t coefficient;
      if (monomial.size() > maxDegree ||
          __builtin_mul_overflow(leftCoefficient, rightCoefficient, &coefficient))
        return std::nullopt;
      row.terms[monomial] = coefficient;
    }
    std::optional<Polynomial> total = sum(result, row);
    if (!total)
      return std::nullopt;
    result = std::move(*total);
  }
  return result;
}

const Size *SizeTable::make(Size size) {
  program.sizes.push_back(size);
  return &program.sizes.back();
}

const Size *SizeTable::internTerm(const Monomial &monomial, int64_t coefficient) {
  if (monomial.empty())
    return make({Size::Kind::Constant, coefficient});
  Atom atom = monomial.back();
  if (monomial.size() > 1) {
    Polynomial rest;
    rest.terms[Monomial(monomial.begin(), monomial.end() - 1)] = coefficient;
    return make({Size::Kind::Mul, 0, 0, intern(rest), intern(Polynomial::atom(atom))});
  }
  if (coefficient != 1)
    return make({Size::Kind::Mul, 0, 0, constant(coefficient), intern(Polynomial::atom(atom))});
  return atom.kind == Atom::Kind::Dim ? make({Size::Kind::Dim, 0, atom.id}) : nodes[atom.id];
}

const Size *SizeTable::intern(const Polynomial &value) {
  if (auto found = interned.find(value); found != interned.end())
    return found->second;
  const Size *size;
  auto terms = written(value);
  if (terms.empty()) {
    size = make({Size::Kind::Constant});
  } else if (terms.size() == 1) {
    size = internTerm(terms[0].first, terms[0].second);
  } else {
    auto [monomial, coefficient] = terms.back();
    Polynomial rest = value, last;
    rest.terms.erase(monomial);
    // The coefficient of least value cannot change its sign, so it is added as it is.
    bool subtract = coefficient < 0 && coefficient != INT64_MIN;
    last.terms[monomial] = subtract ? -coefficient : coefficient;
    size = make({subtract ? Size::Kind::Sub : Size::Kind::Add, 0, 0, intern(rest), intern(last)});
  }
  interned[value] = size;
  polynomials[size] = value;
  return size;
}

Polynomial SizeTable::nodeAtom(Size::Kind kind, const Polynomial &a, int64_t divisor) {
  auto [at, isNew] = nodeOf.try_emplace({a, {kind, divisor}}, static_cast<uint32_t>(nodes.size()));
  if (isNew)
    nodes.push_back(make({kind, divisor, 0, intern(a)}));
  return Polynomial::atom({Atom::Kind::Node, at->second});
}

std::optional<Polynomial> SizeTable::quotient(const Polynomial &a, int64_t divisor) {
  Polynomial whole, rest;
  for (const auto &[monomial, coefficient] : a.terms) {
    if (int64_t q = scalar::floorDiv(coefficient, divisor))
      whole.terms[monomial] = q;
    if (int64_t r = scalar::floorMod(coefficient, divisor))
      rest.terms[monomial] = r;
  }
  if (rest.asConstant()) // between 0 and divisor - 1
    return whole;
  return sum(whole, nodeAtom(Size::Kind::Div, rest, divisor));
}

std::optional<Polynomial> SizeTable::remainder(const Polynomial &a, int64_t divisor) {
  Polynomial rest;
  for (const auto &[monomial, coefficient] : a.terms)
    if (int64_t r = scalar::floorMod(coefficient, divisor))
      rest.terms[monomial] = r;
  if (rest.asConstant())
    return rest;
  return nodeAtom(Size::Kind::Mod, rest, divisor);
}

std::string SizeTable::text(Atom atom) const {
  if (atom.kind == Atom::Kind::Index)
    return program.indexVariables[atom.id].name;
  if (atom.kind == Atom::Kind::Dim)
    return program.dims[atom.id].name;
  return toString(*nodes[atom.id], program);
}

std::string SizeTable::text(const Polynomial &value) const {
  auto terms = written(value);
  if (terms.empty())
    return "0";
  // A term with an index variable is what the text is about.
  auto isIndex = [](const auto &term) {
    return term.second > 0 && !term.first.empty() && term.first.back().kind == Atom::Kind::Index;
  };
  auto index = std::find_if(terms.begin(), terms.end(), isIndex);
  if (index != terms.end())
    std::rotate(terms.begin(), index, index + 1);
  std::string out;
  for (const auto &[monomial, coefficient] : terms) {
    bool negative = coefficient < 0;
    uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(coefficient) : coefficient;
    if (!out.empty())
      out += negative ? " - " : " + ";
    else if (negative)
      out += "-";
    std::string factors;
    if (magnitude != 1 || monomial.empty())
      factors = std::to_string(magnitude);
    for (Atom atom : monomial) {
      std::string one = text(atom);
      bool grouped = atom.kind == Atom::Kind::Node && !factors.empty();
      factors += (factors.empty() ? "" : " * ") + (grouped ? "(" + one + ")" : one);
    }
    out += factors;
  }
  return out;
}

} // namespace h3
