//===-- dsl/explain/Costs.h - What an explained section costs - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Internal to dsl/explain: trees, how often a branch is taken, operations and bytes.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_EXPLAIN_COSTS_H
#define H3_DSL_EXPLAIN_COSTS_H

#include "dsl/explain/Dependencies.h"
#include "dsl/explain/Explanation.h"

namespace h3 {

/// A read of an input: an access, or the whole row (null).
struct TensorRead {
  unsigned tensor;
  const std::vector<Subscript> *subscripts;
};

ExplainedTree explainTree(const Order *order, const Size &extent, bool hasSeed,
                          AmountTable &amounts);

/// The range that is left to one index variable in a chain of choices about it. Between sizes that
/// are no numbers a bound is taken to lie inside the range.
class IndexRange {
public:
  struct Split {
    unsigned variable;
    Amount then, otherwise; ///< how many values of the variable
  };
  /// For `i < size` and the like; empty for other conditions, also of another variable than before.
  /// What is left is the range of `otherwise`.
  std::optional<Split> split(const Expr &condition, const Program &program, AmountTable &amounts);

private:
  std::optional<unsigned> variable;
  Amount low, high;
};

/// Numbers the steps in the order in which they stand.
void numberSteps(std::vector<ExplainedItem> &items, unsigned &number);

/// Sets the flops and the traffic of \p section, whose items begin with \p rowLoops nested loops
/// over rows.
void addCosts(ExplainedSection &section, size_t rowLoops, const Program &program,
              const std::vector<const Equation *> &equations,
              const std::vector<unsigned> &rowVariables, const std::vector<TensorRead> &reads,
              Dependencies &dependencies, AmountTable &amounts);

} // namespace h3

#endif // H3_DSL_EXPLAIN_COSTS_H
