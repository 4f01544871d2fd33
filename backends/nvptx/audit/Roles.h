//===-- backends/nvptx/audit/Roles.h - What instructions compute, on both sides - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A role names what an instruction computes, the same way for PTX and for SASS: "mul.f32",
// "fma.f32.rm", "add.f16", "minmax.f32.nan", "compare.f32", "cvt.f16.f32". Packed instructions have
// the role of their halves and two values.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_AUDIT_ROLES_H
#define H3_BACKENDS_NVPTX_AUDIT_ROLES_H

#include "backends/nvptx/audit/Sass.h"
#include "backends/nvptx/ptx/Module.h"

#include <string>
#include <string_view>
#include <vector>

namespace h3::audit {

struct SassRole {
  enum class Kind {
    NotFloat, ///< integers, memory, control
    Exact,    ///< moves, selects, signs and widens: rounds nothing and flushes nothing
    Float,
    Unknown, ///< an opcode that no list here has
  };
  Kind kind = Kind::Unknown;
  /// What it may stand for. An fma whose multiplier is one is an add as well, one whose addend is
  /// -0 a multiply. Empty: only in an expansion.
  std::vector<std::string> roles;
  unsigned values = 1;   ///< at most so many results; 2: packed
  unsigned clamps = 0;   ///< minima and maxima that a .SAT, a .RELU or a third operand stands for
  std::string clampRole; ///< their role, without ".nan"
};

SassRole roleOf(const SassInstruction &instruction);

/// FSETP and its like, by `SassInstruction::signature`.
bool isComparison(std::string_view signature);

struct PtxRole {
  enum class Kind {
    None,      ///< no float in it, or nothing that is rounded: moves, selects, signs, widenings
    Direct,    ///< one machine operation of `role` for each value
    Optional,  ///< the same, or none: comparisons may be undone or shared
    Expansion, ///< what `Expansions` says of `form`
  };
  Kind kind = Kind::None;
  std::string role;
  unsigned values = 1;
  std::string form; ///< "div.rn.f32"
};

PtxRole roleOf(const ptx::Instruction &instruction);

/// "div.rn.f32": the opcode with its modifiers.
std::string formOf(const ptx::Instruction &instruction);

} // namespace h3::audit

#endif // H3_BACKENDS_NVPTX_AUDIT_ROLES_H
