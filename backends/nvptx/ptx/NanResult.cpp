//===-- backends/nvptx/ptx/NanResult.cpp - The NaN of a result ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/NanResult.h"

namespace h3::ptx {

static NanRule conversionRule(const Instruction &instruction) {
  Modifier to = instruction.type(0), from = instruction.type(1);
  if (from == Modifier::Bf16 && to == Modifier::F32)
    return instruction.has(Modifier::Ftz) ? NanRule::Canonical : NanRule::Bits;
  bool isMove = instruction.modifiers.size() == 2 && bitWidth(to) >= 32;
  if (from == to)
    return isMove ? NanRule::Bits : to == Modifier::F64 ? NanRule::Payload : NanRule::Canonical;
  return from == Modifier::F64 || to == Modifier::F64 ? NanRule::Payload : NanRule::Canonical;
}

NanRule nanRule(const Instruction &instruction) {
  if (!instruction.hasType(0))
    return NanRule::Canonical;
  if (instruction.opcode == Opcode::Cvt)
    return conversionRule(instruction);
  if (instruction.type() != Modifier::F64)
    return NanRule::Canonical;
  return instruction.opcode == Opcode::Div ? NanRule::FirstFirst : NanRule::SecondFirst;
}

} // namespace h3::ptx
