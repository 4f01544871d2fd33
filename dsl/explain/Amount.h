//===-- dsl/explain/Amount.h - Counts as expressions in dims -- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// How often something happens, or how many bytes it takes: a polynomial over the operator's dims,
// so that `explain` can say "4 * d + 2" where no number is known.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_EXPLAIN_AMOUNT_H
#define H3_DSL_EXPLAIN_AMOUNT_H

#include "dsl/program/Sizes.h"

namespace h3 {

/// A count. One that leaves 64 bits or grows beyond what a person reads is `tooLarge`, and so is
/// everything computed from it.
struct Amount {
  Polynomial value;
  bool tooLarge = false;

  static Amount of(int64_t number) { return {Polynomial::constant(number), false}; }
  std::optional<int64_t> asNumber() const;
  bool isZero() const { return asNumber() == 0; }
  bool operator==(const Amount &) const = default;
};

Amount operator+(const Amount &a, const Amount &b);
Amount operator-(const Amount &a, const Amount &b);
Amount operator*(const Amount &a, const Amount &b);

/// The one that is never smaller, if no coefficient of the difference has the other sign; else the
/// sum, which is larger than both.
Amount atLeastBoth(const Amount &a, const Amount &b);

/// Makes amounts of one program's sizes, and writes them.
class AmountTable {
public:
  explicit AmountTable(const Program &program) : program(program) {}

  Amount of(const Size &size);
  /// ceil(a / divisor), divisor > 0.
  Amount ceilDiv(const Amount &a, int64_t divisor);
  /// "4 * d * heads + 2"; "too large" where it is.
  std::string text(const Amount &amount) const;

private:
  Amount node(const std::string &text);

  const Program &program;
  std::vector<std::string> nodes; ///< texts of quotients and remainders, by atom id
};

} // namespace h3

#endif // H3_DSL_EXPLAIN_AMOUNT_H
