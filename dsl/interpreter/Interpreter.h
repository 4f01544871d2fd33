//===-- dsl/interpreter/Interpreter.h - The reference ----------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Runs a program on tensors in memory, one IEEE operation after the other. What this computes is
// the meaning of a spec (language.md §4); everything else is compared with it.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_INTERPRETER_INTERPRETER_H
#define H3_DSL_INTERPRETER_INTERPRETER_H

#include "dsl/program/Program.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace h3 {

/// A tensor of one call: little-endian elements of the type that the program says, `byteWidth`
/// bytes each, without any demand on alignment. Its extents follow from the dims.
struct TensorView {
  std::byte *data = nullptr;    ///< an input is only read; may be null if there are no elements
  int64_t offset = 0;           ///< of the element with all indices 0, in elements
  std::vector<int64_t> strides; ///< in elements, one for each axis
};

/// One call. The caller has checked the operator's contract: dims are what the extents give (a
/// fixed dim has its value, a defined one its product), `require`s hold, outputs overlap only what
/// they may alias.
struct Arguments {
  std::vector<int64_t> dims;       ///< one for each of `Program::dims`, >= 0
  std::vector<Bits> parameters;    ///< one for each of `Program::parameters`
  std::vector<TensorView> tensors; ///< one for each of `Program::tensors`
};

/// Computes all outputs. Extents of 0 are legal. Inputs are read as they were before the call, also
/// where an output shares their memory. NaNs are made canonical when read and when written.
///
/// Returns one line that says what is wrong, if anything is: an argument count that does not fit
/// the program, a size beyond 64 bits, an order that cannot hold its elements, `of` over no
/// elements. After an error outputs may have been written in part.
std::optional<std::string> interpret(const Program &program, const Arguments &arguments);

} // namespace h3

#endif // H3_DSL_INTERPRETER_INTERPRETER_H
