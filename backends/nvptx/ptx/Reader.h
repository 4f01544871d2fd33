//===-- backends/nvptx/ptx/Reader.h - PTX text to a module ------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PTX_READER_H
#define H3_BACKENDS_NVPTX_PTX_READER_H

#include "backends/nvptx/ptx/Module.h"
#include "runtime/Result.h"

#include <string>
#include <string_view>

namespace h3::ptx {

struct ReadError {
  unsigned line = 0;
  std::string text;

  /// `PTX line 12: unknown instruction 'frobnicate.f32'`.
  std::string message() const;
};

/// Reads PTX text. Every instruction is checked against Forms.def: opcode, modifiers and their
/// order, number and kind of operands, width of registers. What is not known is an error that names
/// it; nothing is skipped but comments and debug information (.file, .loc, .section).
Result<Module, ReadError> read(std::string_view text);

/// The module as PTX text, which reads back as an equal module.
std::string print(const Module &module);

/// One instruction with its guard, as `print` writes it, without the semicolon.
std::string print(const Module &module, const Kernel &kernel, const Instruction &instruction);

} // namespace h3::ptx

#endif // H3_BACKENDS_NVPTX_PTX_READER_H
