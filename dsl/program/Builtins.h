//===-- dsl/program/Builtins.h - The closed list of builtins ----*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The builtins that are called by name, and the names that nothing else may have.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_PROGRAM_BUILTINS_H
#define H3_DSL_PROGRAM_BUILTINS_H

#include "dsl/program/Program.h"

#include <span>

namespace h3 {

struct BuiltinFunction {
  enum class Group {
    Float,         ///< operands and result of one type f16, bf16, f32 or f64
    Number,        ///< the same, or i32 or i64
    Shift,         ///< operands and result of one type i32 or i64
    Approximation, ///< f32 to f32
    Conversion,    ///< to `type`
    FromBits,      ///< to `type`, from i32 or i64
    ToBits,        ///< to `type`, i32 or i64
    Index,         ///< `index(e)`
  };
  Group group;
  unsigned arity;
  Builtin op = Builtin::Add;
  Rounding rounding = Rounding::NearestEven;
  bool saturate = false;
  ScalarType type = ScalarType::F32;
};

/// The builtin that is called so: "fma.rm", "f32", "f32.bits", "index". A dotted builtin is one
/// name.
std::optional<BuiltinFunction> builtinNamed(std::string_view name);

/// All names that `builtinNamed` knows, for suggestions.
std::span<const std::string> builtinNames();

/// Whether nothing may be declared with this name: a builtin or a type.
bool isBuiltinName(std::string_view name);

} // namespace h3

#endif // H3_DSL_PROGRAM_BUILTINS_H
