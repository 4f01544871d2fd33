//===-- backends/nvptx/ptx/Forms.h - The table of instructions --*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Forms.def, parsed once.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PTX_FORMS_H
#define H3_BACKENDS_NVPTX_PTX_FORMS_H

#include "backends/nvptx/ptx/Module.h"

#include <string>
#include <vector>

namespace h3::ptx {

struct ModifierSlot {
  std::vector<Modifier> choices;
  bool optional = false;
};

struct OperandForm {
  enum class Kind : uint8_t { Value, Predicate, Move, Memory, Literal, Label };
  enum class Width : uint8_t { Type0, Type1, Double, Fixed };
  Kind kind = Kind::Value;
  Width width = Width::Type0;
  unsigned bits = 0; ///< of Fixed
  bool destination = false;
  bool negatable = false;
  bool wider = false;
  bool vector = false;
  bool pair = false;
  bool optional = false;
};

struct Form {
  Opcode opcode;
  std::vector<ModifierSlot> modifiers;
  std::vector<OperandForm> operands;
};

/// The row for an instruction whose registers are resolved. If none fits, null, and \p problem says
/// what does not fit in the row that comes nearest.
const Form *findForm(const Instruction &instruction, const std::vector<Register> &registers,
                     std::string &problem);

/// The type of an operand as the row says: what an immediate there is converted to.
Modifier operandType(const Instruction &instruction, const OperandForm &form);

} // namespace h3::ptx

#endif // H3_BACKENDS_NVPTX_PTX_FORMS_H
