//===-- dsl/program/LinearFacts.h - Proofs of index ranges ------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Decides whether an inequality over sizes and index variables follows from others. Each monomial
// is taken as one unknown integer, so the arithmetic is linear. What is always known need not be
// said: dims are at least 0, and so are their products; for `q = s / c`, `c*q <= s < c*q + c`; for
// `r = s % c`, `s = c*(s / c) + r` and `0 <= r < c`.
//
// The method is Fourier-Motzkin elimination of the facts and the goal's negation, each inequality
// divided by the greatest common divisor of its coefficients with its constant rounded down
// (H. P. Williams, Fourier-Motzkin elimination extension to integer programming problems, 1976). It
// is sound for integers and not complete: a limit on the work makes an answer "not shown", never a
// wrong proof.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_PROGRAM_LINEARFACTS_H
#define H3_DSL_PROGRAM_LINEARFACTS_H

#include "dsl/program/Sizes.h"

#include <span>

namespace h3 {

/// All of these are >= 0.
using Inequalities = std::vector<Polynomial>;

/// At least one of the alternatives holds. None: this place cannot be reached.
struct Fact {
  std::vector<Inequalities> alternatives;
};

/// Whether `goal >= 0` follows from \p facts.
bool follows(SizeTable &sizes, std::span<const Fact> facts, const Polynomial &goal);

/// The fact as a person would write it: "i < 24", "n >= 1 and n <= 64", "i < 3 or i >= 5".
std::string text(const SizeTable &sizes, const Fact &fact);

/// Those of \p facts that share a dim, a variable or a quotient with \p about, directly or through
/// others: what a message about it should list.
std::vector<const Fact *> related(const SizeTable &sizes, std::span<const Fact> facts,
                                  const Polynomial &about);

} // namespace h3

#endif // H3_DSL_PROGRAM_LINEARFACTS_H
