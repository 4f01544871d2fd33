//===-- backends/nvptx/prove/TermDomain.h - A spec's values as terms - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The domain that makes the reference interpreter (dsl/interpreter/Evaluator.h) compute terms: the
// specification's side of a proof. Elements have the offsets that their numbers are (TermMemory.h).
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PROVE_TERMDOMAIN_H
#define H3_BACKENDS_NVPTX_PROVE_TERMDOMAIN_H

#include "backends/nvptx/prove/Term.h"
#include "dsl/interpreter/Operations.h"

#include <optional>
#include <vector>

namespace h3::prove {

/// What the tensors hold with which an operator picks: of any three neighbours one is an index
/// inside its extent, one is negative and one is beyond it. In turn, in three variations, so that
/// each element is each of them.
struct IndexPattern {
  bool isUsed = false; ///< else they are data
  int64_t extent = 0;
  unsigned variation = 0;

  enum class Kind : uint8_t { Inside, Below, Beyond };
  Kind kindAt(int64_t number) const {
    auto kind = static_cast<Kind>((number + variation) % 3);
    return kind == Kind::Inside && insideAt(number) >= extent ? Kind::Below : kind;
  }
  int64_t at(int64_t number) const {
    Kind kind = kindAt(number);
    return kind == Kind::Inside ? insideAt(number) : kind == Kind::Below ? -1 : extent;
  }

private:
  int64_t insideAt(int64_t number) const { return extent > 1 ? number / 3 % 2 : 0; }
};

struct TermDomain {
  using Value = TermId;

  TermStore &terms;
  const Program &program;
  /// Of each tensor that is an output: the term of each element; 0: not stored.
  std::vector<std::vector<TermId>> outputs{};
  IndexPattern indices{};        ///< what tensors of integers hold
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
