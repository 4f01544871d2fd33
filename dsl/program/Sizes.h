//===-- dsl/program/Sizes.h - Polynomials over sizes ------------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Sizes and affine indices in one normal form: polynomials with integer coefficients whose atoms
// are dims, index variables, and quotients and remainders of sizes by a literal. Two sizes are the
// same size exactly if their polynomials are equal.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_PROGRAM_SIZES_H
#define H3_DSL_PROGRAM_SIZES_H

#include "dsl/program/Program.h"

#include <map>
#include <unordered_map>

namespace h3 {

/// What a monomial is a product of.
struct Atom {
  enum class Kind : uint32_t {
    Dim,   ///< id: of a dim; at least 0
    Node,  ///< id: of a quotient or remainder, `SizeTable::node`
    Index, ///< id: of an index variable
  };
  Kind kind;
  uint32_t id;
  auto operator<=>(const Atom &) const = default;
};

/// Sorted; empty for the constant term.
using Monomial = std::vector<Atom>;

/// The sum of its terms; no coefficient is 0, so equal polynomials have equal maps.
struct Polynomial {
  std::map<Monomial, int64_t> terms;

  static Polynomial constant(int64_t value);
  static Polynomial atom(Atom a);

  /// The value, if there are no atoms.
  std::optional<int64_t> asConstant() const;
  bool operator==(const Polynomial &) const = default;
  bool operator<(const Polynomial &other) const { return terms < other.terms; }
};

/// Sums and products; empty if a coefficient leaves 64 bits, or if the result has more than 64
/// terms or a term of more than 16 factors.
std::optional<Polynomial> sum(const Polynomial &a, const Polynomial &b);
std::optional<Polynomial> difference(const Polynomial &a, const Polynomial &b);
std::optional<Polynomial> product(const Polynomial &a, const Polynomial &b);

/// Makes the sizes of one program, each once.
class SizeTable {
public:
  explicit SizeTable(Program &program) : program(program) {}

  /// The one node for this polynomial, which has no index variables.
  const Size *intern(const Polynomial &value);
  const Size *constant(int64_t value) { return intern(Polynomial::constant(value)); }
  /// The polynomial of a node that this table made.
  const Polynomial &polynomial(const Size *size) const { return polynomials.at(size); }

  /// `a / divisor` and `a % divisor`, rounding down, divisor > 0. Multiples of the divisor are
  /// taken out, so `(4 * n + 2) / 4` is `n`.
  std::optional<Polynomial> quotient(const Polynomial &a, int64_t divisor);
  std::optional<Polynomial> remainder(const Polynomial &a, int64_t divisor);

  /// The Div or Mod that an atom of kind Node stands for.
  const Size *node(uint32_t id) const { return nodes[id]; }

  /// As a person would write it, with the names of dims and index variables.
  std::string text(const Polynomial &value) const;

private:
  const Size *make(Size size);
  const Size *internTerm(const Monomial &monomial, int64_t coefficient);
  std::string text(Atom atom) const;
  /// The atom for `a / divisor` or `a % divisor`.
  Polynomial nodeAtom(Size::Kind kind, const Polynomial &a, int64_t divisor);

  Program &program;
  std::map<Polynomial, const Size *> interned;
  std::unordered_map<const Size *, Polynomial> polynomials;
  std::vector<const Size *> nodes;
  std::map<std::pair<Polynomial, std::pair<Size::Kind, int64_t>>, uint32_t> nodeOf;
};

} // namespace h3

#endif // H3_DSL_PROGRAM_SIZES_H
