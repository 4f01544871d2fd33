//===-- dsl/interpreter/Operations.h - Builtins on bits --------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The builtin operations and conversions of language.md §2 on bit patterns: which function of
// dsl/scalar each of them is.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_INTERPRETER_OPERATIONS_H
#define H3_DSL_INTERPRETER_OPERATIONS_H

#include "dsl/program/Program.h"

namespace h3::interpreter {

/// One builtin with everything that its meaning depends on besides its operands.
struct Operation {
  Builtin op;
  ScalarType type;    ///< of the result
  ScalarType operand; ///< of the first operand
  Rounding rounding = Rounding::NearestEven;
};

struct Conversion {
  ScalarType from, to;
  Rounding rounding = Rounding::NearestEven;
  bool saturate = false;
};

unsigned operandCount(Builtin op);

/// \p operands has `operandCount(operation.op)` values.
Bits apply(const Operation &operation, const Bits *operands);

Bits apply(const Conversion &conversion, Bits operand);

/// What an access outside an extent reads (language.md §3.7): NaN, or 0.
Bits nothing(ScalarType type);

} // namespace h3::interpreter

#endif // H3_DSL_INTERPRETER_OPERATIONS_H
