//===-- dsl/explain/Amount.cpp - Counts as expressions in dims ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/explain/Amount.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3 {

std::optional<int64_t> Amount::asNumber() const {
  return tooLarge ? std::nullopt : value.asConstant();
}

namespace {

Amount made(std::optional<Polynomial> value, bool tooLarge) {
  if (!value || tooLarge)
    return {{}, true};
  return {std::move(*value), false};
}

} // namespace

Amount operator+(const Amount &a, const Amount &b) {
  return made(sum(a.value, b.value), a.tooLarge || b.tooLarge);
}
Amount operator-(const Amount &a, const Amount &b) {
  return made(difference(a.value, b.value), a.tooLarge || b.tooLarge);
}
Amount operator*(const Amount &a, const Amount &b) {
  return made(product(a.value, b.value), a.tooLarge || b.tooLarge);
}

Amount atLeastBoth(const Amount &a, const Amount &b) {
  Amount more = a - b;
  auto hasSign = [&](bool negative) {
    return std::any_of(more.value.terms.begin(), more.value.terms.end(),
                       [&](const auto &term) { return (term.second < 0) == negative; });
  };
  if (more.tooLarge || (hasSign(true) && hasSign(false)))
    return a + b;
  return hasSign(true) ? b : a;
}

Amount AmountTable::of(const Size &size) {
  switch (size.kind) {
  case Size::Kind::Constant:
    return Amount::of(size.value);
  case Size::Kind::Dim:
    return {Polynomial::atom({Atom::Kind::Dim, size.dim}), false};
  case Size::Kind::Add:
    return of(*size.lhs) + of(*size.rhs);
  case Size::Kind::Sub:
    return of(*size.lhs) - of(*size.rhs);
  case Size::Kind::Mul:
    return of(*size.lhs) * of(*size.rhs);
  case Size::Kind::Div:
  case Size::Kind::Mod:
    return node("(" + toString(size, program) + ")");
  }
  __builtin_unreachable();
}

Amount AmountTable::ceilDiv(const Amount &a, int64_t divisor) {
  if (divisor == 1 || a.tooLarge)
    return a;
  if (std::optional<int64_t> number = a.asNumber())
    return Amount::of(*number / divisor + (*number % divisor != 0));
  return node(fmt::format("ceil({} / {})", text(a), divisor));
}

Amount AmountTable::node(const std::string &text) {
  auto at = std::find(nodes.begin(), nodes.end(), text);
  uint32_t id = static_cast<uint32_t>(at - nodes.begin());
  if (at == nodes.end())
    nodes.push_back(text);
  return {Polynomial::atom({Atom::Kind::Node, id}), false};
}

std::string AmountTable::text(const Amount &amount) const {
  if (amount.tooLarge)
    return "too large";
  std::vector<std::pair<Monomial, int64_t>> terms(amount.value.terms.begin(),
                                                  amount.value.terms.end());
  std::stable_sort(terms.begin(), terms.end(),
                   [](const auto &a, const auto &b) { return a.first.size() > b.first.size(); });
  std::string out;
  for (const auto &[monomial, coefficient] : terms) {
    std::string term;
    uint64_t size = coefficient < 0 ? -uint64_t(coefficient) : uint64_t(coefficient);
    if (size != 1 || monomial.empty())
      term = std::to_string(size);
    for (const Atom &atom : monomial)
      term += (term.empty() ? "" : " * ") +
              (atom.kind == Atom::Kind::Dim ? program.dims[atom.id].name : nodes[atom.id]);
    if (out.empty())
      out = (coefficient < 0 ? "-" : "") + term;
    else
      out += (coefficient < 0 ? " - " : " + ") + term;
  }
  return out.empty() ? "0" : out;
}

} // namespace h3
