//===-- dsl/explain/Explanation.h - What a spec says, for people - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// `h3gen explain`: what one instance of an operator demands and computes, taken from its typed
// program. The analysis is here; the reports (Report.h) only write it down.
//
// What is listed. A rounding step is an operation whose result is not exact for all operands: the
// float operations + - * / fma sqrt, a conversion to a type that cannot hold every value of the
// other, and a named approximation. What never rounds (sign changes, max, comparisons, choices,
// widening, bit patterns) is no step. Each step stands at the loop level of what it depends on, in
// the order in which its value is needed; a value that is used twice is one step.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_EXPLAIN_EXPLANATION_H
#define H3_DSL_EXPLAIN_EXPLANATION_H

#include "dsl/explain/Amount.h"

namespace h3 {

/// A line of an explanation with what stands below it.
struct ExplainedItem {
  enum class Kind {
    Step,      ///< one operation that rounds
    Loop,      ///< the items happen for each setting of some index variables
    Choice,    ///< items are branches
    Branch,    ///< the items happen where a condition holds
    Reduction, ///< items are its parts
    Seed,      ///< what gives the initial value of every slot
    Element,   ///< what happens for each element (`step`, or `of`)
    Join,      ///< what happens for each join
  };
  Kind kind;
  /// Step: the operation, "f32 fma", "f16 round", "f32 rsqrt.approx". Loop: "i: n". Branch: "i <
  /// n", or "otherwise". Reduction: "i: n by norm.row_vec4".
  std::string title;
  std::vector<ExplainedItem> items;

  // Step.
  unsigned number = 0; ///< from 1, counted in each section
  bool isApproximation = false;
  ScalarType type = ScalarType::F32;
  Rounding rounding = Rounding::NearestEven;
  std::string source{}; ///< the text of the operation, on one line
  SourceRange range{};
  unsigned flops = 0; ///< 2 for fma, 0 for a conversion, else 1

  // Loop, Seed, Element, Join: how often. Branch: in how many iterations of the loop around it, if
  // the condition is about that loop's index.
  std::optional<Amount> times{};
  bool isRow = false; ///< Loop: over rows, see `ExplainedSection`

  // Reduction.
  std::optional<unsigned> tree{}; ///< index into `ExplainedCase::trees`
};

/// What a section reads or writes of one tensor for each row.
struct ExplainedTraffic {
  unsigned tensor;
  Amount bytes;
  bool isGathered = false; ///< which elements depends on an index tensor
  /// The row variables that make no difference: the same bytes for each of their settings.
  std::vector<std::string> sharedBy;
};

/// One equation with its outer indices, or one `for`. A row is one setting of those: of the `for`'s
/// variables; for an equation, of all its places, without the last one if its value is a scalar.
struct ExplainedSection {
  std::vector<std::string> outputs;
  std::string title; ///< "q_out[t, h]" or "for b: batch, t: tokens"
  std::string rows;  ///< how many rows: "tokens * heads_q"
  std::vector<ExplainedItem> items;
  Amount flopsPerRow;
  Amount flopsShared; ///< of steps that do not depend on the row
  std::vector<ExplainedTraffic> reads, writes;
  Amount bytesPerRow; ///< the sum over reads and writes
};

/// The evaluation tree of a reduction.
struct ExplainedTree {
  const Order *order = nullptr; ///< null: `any`
  const Size *extent = nullptr;
  bool hasSeed = false;
  Amount slots;
  std::optional<int64_t> elements; ///< where the extent is a number
  std::optional<int64_t> idle;     ///< slots without an element, where that is known
  /// For what is not known: "with n < 512 some slots are idle"; empty if none can be.
  std::string idleText;
};

/// What happens if the conditions on sizes and parameters have these values.
struct ExplainedCase {
  std::vector<std::pair<std::string, bool>> conditions; ///< in the order met; empty: always
  std::vector<ExplainedSection> sections;
  std::vector<ExplainedTree> trees;
};

struct Explanation {
  const Program *program = nullptr;
  std::vector<std::string> approximations; ///< named ones, in the order met; empty: class `ieee`
  /// Library functions that are called, with the first sentence of their documentation.
  std::vector<std::pair<std::string, std::string>> functions;
  std::vector<ExplainedCase> cases;
  AmountTable amounts; ///< writes the amounts above
};

/// Explains \p program, which must outlive the result.
Explanation explain(const Program &program);

/// "T = f16, R = f32"; empty without type parameters.
std::string typeArgumentsText(const Program &program);

/// A condition or size expression in the operator's own names: "d % 4 == 0".
std::string conditionText(const Expr &condition, const Program &program);

/// Whether every value of \p from is a value of \p to.
bool isExactConversion(ScalarType from, ScalarType to);

} // namespace h3

#endif // H3_DSL_EXPLAIN_EXPLANATION_H
