//===-- backends/nvptx/audit/PtxRole.cpp - What a PTX instruction asks for -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/audit/Roles.h"

#include <algorithm>

namespace h3::audit {
namespace {

using ptx::Modifier;
using ptx::Opcode;

/// ".rz", ".ftz", ".sat", as SassRole.cpp says them. Nearest is nothing.
std::string suffixOf(const ptx::Instruction &instruction) {
  std::string suffix;
  for (auto [modifier, text] : {std::pair(Modifier::Rz, ".rz"),
                                {Modifier::Rm, ".rm"},
                                {Modifier::Rp, ".rp"},
                                {Modifier::Ftz, ".ftz"},
                                {Modifier::Sat, ".sat"},
                                {Modifier::Relu, ".relu"}})
    if (instruction.has(modifier))
      suffix += text;
  return suffix;
}

/// The scalar type of a possibly packed one.
std::string typeOf(Modifier type) {
  switch (type) {
  case Modifier::F16x2:
    return "f16";
  case Modifier::Bf16x2:
    return "bf16";
  default:
    return std::string(ptx::text(type));
  }
}

unsigned valuesOf(Modifier type) {
  return type == Modifier::F16x2 || type == Modifier::Bf16x2 || type == Modifier::F32x2 ? 2 : 1;
}

PtxRole conversion(const ptx::Instruction &instruction, PtxRole role) {
  Modifier to = instruction.type(0), from = instruction.type(1);
  bool isFloat = isFloatType(to) || isFloatType(from) || to == Modifier::E4m3x2 ||
                 to == Modifier::E5m2x2 || from == Modifier::E4m3x2 || from == Modifier::E5m2x2;
  if (!isFloat)
    return role;
  bool isHalf = to == Modifier::F16 || to == Modifier::F16x2 || to == Modifier::Bf16 ||
                to == Modifier::Bf16x2;
  if (isHalf && from == Modifier::F32 && instruction.has(Modifier::Rn)) {
    role.kind = PtxRole::Kind::Direct;
    role.values = valuesOf(to);
    role.role = "cvt." + typeOf(to) + ".f32" + suffixOf(instruction);
    return role;
  }
  bool isWidening = to == Modifier::F32 && (from == Modifier::F16 || from == Modifier::Bf16);
  if (!isWidening || !suffixOf(instruction).empty())
    role.kind = PtxRole::Kind::Expansion;
  return role;
}

} // namespace

std::string formOf(const ptx::Instruction &instruction) {
  std::string form(ptx::text(instruction.opcode));
  for (Modifier modifier : instruction.modifiers)
    form += "." + std::string(ptx::text(modifier));
  return form;
}

PtxRole roleOf(const ptx::Instruction &instruction) {
  PtxRole role;
  role.form = formOf(instruction);
  auto direct = [&](const char *operation, PtxRole::Kind kind = PtxRole::Kind::Direct) {
    // Of mixed precision: "add.rn.f32.f16".
    Modifier type = instruction.type(0);
    role.kind = kind;
    role.values = valuesOf(type);
    role.role = std::string(operation) + "." + typeOf(type);
    if (instruction.hasType(1) && isFloatType(instruction.type(1)))
      role.role += "." + typeOf(instruction.type(1));
  };
  bool isFloat = instruction.hasType(0) && isFloatType(instruction.type(0));
  switch (instruction.opcode) {
  case Opcode::Add:
  case Opcode::Sub:
    if (isFloat) {
      direct("add");
      role.role += suffixOf(instruction);
    }
    break;
  case Opcode::Mul:
    if (isFloat) {
      direct("mul");
      role.role += suffixOf(instruction);
    }
    break;
  case Opcode::Fma:
  case Opcode::Mad:
    if (isFloat) {
      direct("fma");
      role.role += suffixOf(instruction);
    }
    break;
  case Opcode::Min:
  case Opcode::Max:
    if (isFloat) {
      direct("minmax");
      role.role += (instruction.has(Modifier::NanWins) ? ".nan" : "") + suffixOf(instruction);
    }
    break;
  case Opcode::Set:
  case Opcode::Setp: {
    bool isCompare = std::any_of(instruction.modifiers.begin(), instruction.modifiers.end(),
                                 [](Modifier modifier) { return isFloatType(modifier); });
    if (isCompare) {
      role.kind = PtxRole::Kind::Optional;
      for (Modifier modifier : instruction.modifiers)
        if (isFloatType(modifier))
          role.role = "compare." + typeOf(modifier);
      role.role += suffixOf(instruction);
    }
    break;
  }
  case Opcode::Cvt:
    return conversion(instruction, role);
  case Opcode::Div:
  case Opcode::Rem:
  case Opcode::Rcp:
  case Opcode::Rsqrt:
  case Opcode::Ex2:
  case Opcode::Lg2:
  case Opcode::Sin:
  case Opcode::Cos:
  case Opcode::Tanh:
  case Opcode::Sqrt:
  case Opcode::Testp:
    role.kind = PtxRole::Kind::Expansion;
    break;
  default:
    // abs, neg, copysign, selp, mov and memory round nothing; what has a float's type and is none
    // of these is not known.
    break;
  }
  return role;
}

} // namespace h3::audit
