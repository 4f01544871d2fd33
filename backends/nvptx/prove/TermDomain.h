//===-- backends/nvptx/prove/TermDomain.h - A spec's values as terms - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The domain that makes the reference interpreter (dsl/interpreter/Evaluator.h) compute terms: the
// specification's side of a proof.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PROVE_TERMDOMAIN_H
#define H3_BACKENDS_NVPTX_PROVE_TERMDOMAIN_H

#include "backends/nvptx/prove/Term.h"
#include "dsl/interpreter/Operations.h"

#include <optional>
#include <unordered_map>
#include <vector>

namespace h3::prove {

struct TermDomain {
  using Value = TermId;

  TermStore &terms;
  const Program &program;
  /// Of each tensor that is an output: the term of each element, by its offset.
  std::vector<std::unordered_map<int64_t, TermId>> outputs{};
  /// Of each tensor that holds indices: what they are in this run, by offset; empty for others.
  std::vector<std::unordered_map<int64_t, int64_t>> indices{};
  const char *problem = nullptr; ///< an operation on data that has no term

  TermId literal(ScalarType type, Bits bits) { return terms.constant(bitWidth(type), bits); }
  TermId parameter(unsigned id) {
    return terms.parameter(id, bitWidth(program.parameters[id].type));
  }
  TermId load(unsigned tensor, int64_t offset);
  void store(unsigned tensor, int64_t offset, TermId value);
  TermId operation(const interpreter::Operation &operation, const TermId *operands);
  TermId convert(const interpreter::Conversion &conversion, TermId operand);
  TermId select(ScalarType, TermId condition, TermId then, TermId otherwise) {
    return terms.select(condition, then, otherwise);
  }
  std::optional<bool> decide(TermId condition) {
    if (!terms.isConstant(condition))
      return std::nullopt;
    return terms[condition].imm != 0;
  }
  std::optional<int64_t> integer(ScalarType type, TermId value);
};

} // namespace h3::prove

#endif // H3_BACKENDS_NVPTX_PROVE_TERMDOMAIN_H
