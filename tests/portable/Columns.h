//===-- tests/portable/Columns.h - Specs on blocks of elements - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Runs a function of f32 on many elements at host speed. The interpreter's own evaluator runs it
// once, over a domain that records each operation instead of computing it; the record, a straight
// line without branches, is then carried out on blocks of elements with the host's IEEE arithmetic
// and std::fma. The bits are those of the interpreter, which a test checks.
//
// f32, i32 and bool only, rounding to nearest even only.
//
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_PORTABLE_COLUMNS_H
#define H3_TESTS_PORTABLE_COLUMNS_H

#include "dsl/interpreter/Operations.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace h3::test {

class Columns {
public:
  /// Of an operator with one dim, one f32 input and one f32 output of that length, which computes
  /// each element from the one in the same place. Empty, with \p error set, if it has anything that
  /// is not listed above.
  static std::optional<Columns> record(const Program &program, std::string &error);

  /// Bits of the results, NaNs canonical.
  void run(std::span<const uint32_t> inputs, std::span<uint32_t> outputs) const;

  size_t operations() const { return steps.size(); }

private:
  friend struct Recorder;
  /// Column `k` is the input for k = 0, then each step's result.
  struct Step {
    enum class Kind : uint8_t { Literal, Builtin, Convert, Select };
    Kind kind;
    Builtin op{};
    ScalarType operand = ScalarType::F32; ///< Builtin: type of the first operand
    uint32_t bits = 0;                    ///< Literal
    uint32_t columns[3] = {};

    bool operator==(const Step &) const = default;
  };
  static void carryOut(const Step &step, const std::vector<uint32_t *> &columns, uint32_t *result,
                       size_t count);

  std::vector<Step> steps;
  uint32_t result = 0; ///< a column
};

} // namespace h3::test

#endif // H3_TESTS_PORTABLE_COLUMNS_H
