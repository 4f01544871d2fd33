//===-- dsl/program/LinearFacts.cpp - Proofs of index ranges --------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/LinearFacts.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace h3 {

namespace {

constexpr size_t maxRows = 600;     ///< inequalities at a time
constexpr size_t maxUnknowns = 200; ///< monomials in one question
constexpr size_t manyFacts = 60;    ///< from here on, only related facts are used
constexpr unsigned maxCases = 64;   ///< combinations of alternatives

using Wide = __int128;

/// coefficients . unknowns + constant >= 0.
struct Row {
  std::vector<int64_t> coefficients;
  int64_t constant;
  auto operator<=>(const Row &) const = default;
};

Wide magnitude(Wide a) { return a < 0 ? -a : a; }

bool fits(Wide a) { return a >= INT64_MIN && a <= INT64_MAX; }

/// Divides by the common divisor of the coefficients; empty if a number leaves 64 bits.
std::optional<Row> tightened(const std::vector<Wide> &coefficients, Wide constant) {
  Wide divisor = 0;
  for (Wide c : coefficients) { // Euclid
    Wide rest = magnitude(c);
    while (rest != 0) {
      Wide remainder = divisor % rest;
      divisor = rest;
      rest = remainder;
    }
  }
  if (divisor > 1) {
    Wide q = constant / divisor;
    constant = q * divisor > constant ? q - 1 : q;
  } else {
    divisor = 1;
  }
  Row row{{}, 0};
  row.coefficients.reserve(coefficients.size());
  for (Wide c : coefficients) {
    if (!fits(c / divisor))
      return std::nullopt;
    row.coefficients.push_back(static_cast<int64_t>(c / divisor));
  }
  if (!fits(constant))
    return std::nullopt;
  row.constant = static_cast<int64_t>(constant);
  return row;
}

/// Whether the rows have no integer solution, as far as elimination within the limit can tell.
bool contradictory(std::vector<Row> rows, size_t unknowns) {
  std::vector<bool> eliminated(unknowns, false);
  while (true) {
    // Of rows with the same coefficients, the one with the least constant implies the others; it
    // comes first after sorting.
    std::sort(rows.begin(), rows.end());
    rows.erase(
        std::unique(rows.begin(), rows.end(),
                    [](const Row &a, const Row &b) { return a.coefficients == b.coefficients; }),
        rows.end());
    std::vector<size_t> positive(unknowns, 0), negative(unknowns, 0);
    for (const Row &row : rows) {
      bool constantOnly = true;
      for (size_t i = 0; i < unknowns; ++i) {
        positive[i] += row.coefficients[i] > 0;
        negative[i] += row.coefficients[i] < 0;
        constantOnly &= row.coefficients[i] == 0;
      }
      if (constantOnly && row.constant < 0)
        return true;
    }
    size_t best = unknowns, bestProduct = 0;
    for (size_t i = 0; i < unknowns; ++i) {
      size_t made = positive[i] * negative[i];
      if (!eliminated[i] && positive[i] + negative[i] > 0 &&
          (best == unknowns || made < bestProduct))
        best = i, bestProduct = made;
    }
    if (best == unknowns)
      return false;
    if (rows.size() + bestProduct > maxRows)
      return false;
    eliminated[best] = true;
    std::vector<Row> next, above, below;
    for (Row &row : rows) {
      int64_t c = row.coefficients[best];
      (c == 0 ? next : c > 0 ? below : above).push_back(std::move(row));
    }
    for (const Row &lower : below)
      for (const Row &upper : above) {
        Wide p = upper.coefficients[best], q = lower.coefficients[best];
        std::vector<Wide> coefficients(unknowns);
        for (size_t i = 0; i < unknowns; ++i)
          coefficients[i] = q * upper.coefficients[i] - p * lower.coefficients[i];
        // A row that is too large is dropped: fewer facts, never a wrong one.
        if (auto row = tightened(coefficients, q * upper.constant - p * lower.constant))
          next.push_back(std::move(*row));
      }
    rows = std::move(next);
  }
}

/// One question: facts without alternatives, and what is always known of their atoms.
class Problem {
public:
  explicit Problem(SizeTable &sizes) : sizes(sizes) {}

  void add(const Polynomial &inequality) {
    inequalities.push_back(inequality);
    for (const auto &[monomial, coefficient] : inequality.terms)
      addMonomial(monomial);
  }

  bool isContradictory() const {
    if (inequalities.size() > maxRows || unknowns.size() > maxUnknowns)
      return false;
    std::vector<Row> rows;
    std::vector<Wide> coefficients;
    for (const Polynomial &inequality : inequalities) {
      coefficients.assign(unknowns.size(), 0);
      Wide constant = 0;
      for (const auto &[monomial, coefficient] : inequality.terms)
        (monomial.empty() ? constant : coefficients[unknowns.at(monomial)]) = coefficient;
      if (auto row = tightened(coefficients, constant))
        rows.push_back(std::move(*row));
    }
    return contradictory(std::move(rows), unknowns.size());
  }

private:
  void addMonomial(const Monomial &monomial) {
    if (monomial.empty() || !unknowns.try_emplace(monomial, unknowns.size()).second)
      return;
    if (std::all_of(monomial.begin(), monomial.end(), [&](Atom a) { return isNonNegative(a); })) {
      Polynomial self;
      self.terms[monomial] = 1;
      inequalities.push_back(self);
    }
    for (Atom atom : monomial)
      if (atom.kind == Atom::Kind::Node)
        addNode(atom);
  }

  /// For q = s / c: s - c*q >= 0 and c*q + c - 1 - s >= 0. For r = s % c the quotient joins in:
  /// s = c*q + r and 0 <= r < c.
  void addNode(Atom atom) {
    if (!described.insert(atom).second)
      return;
    const Size *node = sizes.node(atom.id);
    const Polynomial dividend = sizes.polynomial(node->lhs);
    std::optional<Polynomial> q = sizes.quotient(dividend, node->value);
    std::optional<Polynomial> multiple =
        q ? product(Polynomial::constant(node->value), *q) : std::nullopt;
    std::optional<Polynomial> rest = multiple ? difference(dividend, *multiple) : std::nullopt;
    if (!rest)
      return;
    std::optional<Polynomial> room = difference(Polynomial::constant(node->value - 1), *rest);
    if (!room)
      return;
    add(*rest);
    add(*room);
    if (node->kind != Size::Kind::Mod)
      return;
    Polynomial self = Polynomial::atom(atom);
    std::optional<Polynomial> less = difference(*rest, self), more = difference(self, *rest);
    if (less && more) {
      add(*less);
      add(*more);
    }
  }

  bool isNonNegative(Atom atom) const {
    if (atom.kind == Atom::Kind::Dim)
      return true;
    if (atom.kind == Atom::Kind::Index)
      return false; // said by the fact of its range
    const Size *node = sizes.node(atom.id);
    if (node->kind == Size::Kind::Mod)
      return true;
    for (const auto &[monomial, coefficient] : sizes.polynomial(node->lhs).terms) {
      if (coefficient < 0)
        return false;
      for (Atom inner : monomial)
        if (!isNonNegative(inner))
          return false;
    }
    return true;
  }

  SizeTable &sizes;
  std::vector<Polynomial> inequalities;
  std::map<Monomial, size_t> unknowns;
  std::set<Atom> described;
};

/// Tries every combination of alternatives, the facts from \p next on.
bool followsInCases(SizeTable &sizes, std::span<const Fact *const> choices, Problem problem,
                    unsigned &cases) {
  if (problem.isContradictory())
    return true;
  if (choices.empty() || cases >= maxCases)
    return false;
  for (const Inequalities &alternative : choices.front()->alternatives) {
    ++cases;
    Problem extended = problem;
    for (const Polynomial &inequality : alternative)
      extended.add(inequality);
    if (!followsInCases(sizes, choices.subspan(1), std::move(extended), cases))
      return false;
  }
  return true;
}

/// The atoms of \p value, with those inside its quotients.
void collectAtoms(const SizeTable &sizes, const Polynomial &value, std::set<Atom> &atoms) {
  for (const auto &[monomial, coefficient] : value.terms)
    for (Atom atom : monomial)
      if (atoms.insert(atom).second && atom.kind == Atom::Kind::Node)
        collectAtoms(sizes, sizes.polynomial(sizes.node(atom.id)->lhs), atoms);
}

/// a >= b, with what is taken away written on the other side.
std::string inequalityText(const SizeTable &sizes, const Polynomial &inequality) {
  Polynomial left, right;
  int64_t constant = 0;
  for (const auto &[monomial, coefficient] : inequality.terms) {
    if (monomial.empty())
      constant = coefficient;
    else if (coefficient > 0)
      left.terms[monomial] = coefficient;
    else if (coefficient != INT64_MIN)
      right.terms[monomial] = -coefficient;
  }
  // `left + constant >= right` is `right < left + constant + 1` where that is the usual way to say
  // it.
  auto plus = [](const Polynomial &a, int64_t b) {
    return sum(a, Polynomial::constant(b)).value_or(a);
  };
  if (left.terms.empty() || (!right.terms.empty() && constant < 0))
    return sizes.text(right) + " < " + sizes.text(plus(left, constant + 1));
  if (constant > 0)
    return sizes.text(plus(left, constant)) + " >= " + sizes.text(right);
  return sizes.text(left) + " >= " + sizes.text(plus(right, -constant));
}

/// The range of an index variable, "0 <= i < n", if the two say that.
std::string rangeText(const SizeTable &sizes, const Polynomial &low, const Polynomial &high) {
  if (low.terms.size() != 1 || low.terms.begin()->second != 1 ||
      low.terms.begin()->first.size() != 1 ||
      low.terms.begin()->first.front().kind != Atom::Kind::Index)
    return {};
  std::optional<Polynomial> extent = sum(high, low);
  extent = extent ? sum(*extent, Polynomial::constant(1)) : extent;
  if (!extent || extent->terms.contains(low.terms.begin()->first))
    return {};
  return "0 <= " + sizes.text(low) + " < " + sizes.text(*extent);
}

} // namespace

bool follows(SizeTable &sizes, std::span<const Fact> facts, const Polynomial &goal) {
  if (std::optional<int64_t> value = goal.asConstant(); value && *value >= 0)
    return true;
  std::vector<const Fact *> used;
  for (const Fact &fact : facts) {
    if (fact.alternatives.empty())
      return true;
    used.push_back(&fact);
  }
  if (used.size() > manyFacts)
    used = related(sizes, facts, goal);
  Problem problem(sizes);
  std::vector<const Fact *> choices;
  for (const Fact *fact : used) {
    if (fact->alternatives.size() > 1) {
      choices.push_back(fact);
      continue;
    }
    for (const Polynomial &inequality : fact->alternatives.front())
      problem.add(inequality);
  }
  // The goal's negation: goal <= -1.
  std::optional<Polynomial> negation = difference(Polynomial::constant(-1), goal);
  if (!negation)
    return false;
  problem.add(*negation);
  unsigned cases = 0;
  return followsInCases(sizes, choices, std::move(problem), cases);
}

std::string text(const SizeTable &sizes, const Fact &fact) {
  std::string out;
  // a - b - 1 >= 0 or b - a - 1 >= 0.
  if (fact.alternatives.size() == 2 && fact.alternatives[0].size() == 1 &&
      fact.alternatives[1].size() == 1 &&
      sum(fact.alternatives[0][0], fact.alternatives[1][0]) == Polynomial::constant(-2)) {
    out = inequalityText(sizes, *sum(fact.alternatives[1][0], Polynomial::constant(1)));
    if (size_t at = out.find(">="); at != std::string::npos)
      return out.replace(at, 2, "!=");
    out.clear();
  }
  for (const Inequalities &alternative : fact.alternatives) {
    if (!out.empty())
      out += " or ";
    std::string all;
    for (size_t i = 0; i < alternative.size(); ++i) {
      // a - b >= 0 and b - a >= 0.
      bool equal =
          i + 1 < alternative.size() && sum(alternative[i], alternative[i + 1]) == Polynomial();
      std::string one = inequalityText(sizes, alternative[i]);
      if (i + 1 < alternative.size())
        if (std::string both = rangeText(sizes, alternative[i], alternative[i + 1]);
            !both.empty()) {
          all += (all.empty() ? "" : " and ") + both;
          ++i;
          continue;
        }
      if (size_t at = equal ? one.find('=') : std::string::npos; at != std::string::npos)
        one.replace(at - 1, 2, "==");
      all += (all.empty() ? "" : " and ") + one;
      i += equal;
    }
    out += all;
  }
  return out;
}

std::vector<const Fact *> related(const SizeTable &sizes, std::span<const Fact> facts,
                                  const Polynomial &about) {
  std::set<Atom> reached;
  collectAtoms(sizes, about, reached);
  std::vector<const Fact *> found;
  std::vector<bool> taken(facts.size(), false);
  for (bool grew = true; grew;) {
    grew = false;
    for (size_t i = 0; i < facts.size(); ++i) {
      if (taken[i])
        continue;
      std::set<Atom> atoms;
      for (const Inequalities &alternative : facts[i].alternatives)
        for (const Polynomial &inequality : alternative)
          collectAtoms(sizes, inequality, atoms);
      if (std::any_of(atoms.begin(), atoms.end(), [&](Atom a) { return reached.contains(a); })) {
        reached.insert(atoms.begin(), atoms.end());
        taken[i] = grew = true;
      }
    }
  }
  for (size_t i = 0; i < facts.size(); ++i)
    if (taken[i])
      found.push_back(&facts[i]);
  return found;
}

} // namespace h3
