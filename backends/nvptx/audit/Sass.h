//===-- backends/nvptx/audit/Sass.h - Disassembly as data ----- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What `nvdisasm -c -gp` prints of a cubin. ptxas with -lineinfo keeps the PTX line that each
// instruction was made of; the code is the same with and without (`Cubin.h` compares it).
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_AUDIT_SASS_H
#define H3_BACKENDS_NVPTX_AUDIT_SASS_H

#include "runtime/Result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace h3::audit {

struct SassInstruction {
  unsigned textLine = 0;              ///< of the disassembly, from 1
  unsigned ptxLine = 0;               ///< 0: none is known, as in ptxas' own routines
  uint64_t offset = 0;                ///< in its section, bytes
  std::string opcode;                 ///< "HFMA2"
  std::vector<std::string> modifiers; ///< {"MMA", "BF16_V2"}
  std::vector<std::string> operands;  ///< as printed, without ".reuse"
  std::string text;                   ///< with its predicate, without the semicolon

  bool has(std::string_view modifier) const;
  /// Opcode and modifiers, of uniform instructions without the "U" in front: the same operation.
  std::string signature() const;
};

/// A kernel, or a routine that ptxas added to its section.
struct SassFunction {
  std::string name;   ///< of a routine: without "$__internal_N_$"
  std::string kernel; ///< whose section it is in
  bool isRoutine = false;
  std::vector<SassInstruction> instructions;
};

struct Disassembly {
  std::string target; ///< "sm_90"
  std::vector<SassFunction> functions;
};

/// Reads the disassembly. Every line that holds an instruction is understood or is the error, which
/// names it.
Result<Disassembly, std::string> readSass(std::string_view text);

} // namespace h3::audit

#endif // H3_BACKENDS_NVPTX_AUDIT_SASS_H
