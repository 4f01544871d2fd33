//===-- dsl/interpreter/BitsDomain.h - Values as bit patterns --*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The domain of the reference interpreter: every value is known, tensors are memory.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_INTERPRETER_BITSDOMAIN_H
#define H3_DSL_INTERPRETER_BITSDOMAIN_H

#include "dsl/interpreter/Operations.h"

#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

namespace h3::interpreter {

static_assert(std::endian::native == std::endian::little, "tensors are little-endian");

struct BitsDomain {
  using Value = Bits;

  struct Memory {
    std::byte *first; ///< the element with all indices 0
    ScalarType type;
    int64_t bytes = byteWidth(type);
  };
  const std::vector<Bits> &parameters;
  std::vector<Memory> tensors;

  Bits literal(ScalarType, Bits bits) const { return bits; }
  Bits parameter(unsigned id) const { return parameters[id]; }
  Bits operation(const Operation &operation, const Bits *operands) const {
    return apply(operation, operands);
  }
  Bits convert(const Conversion &conversion, Bits operand) const {
    return apply(conversion, operand);
  }
  Bits select(ScalarType, Bits condition, Bits then, Bits otherwise) const {
    return condition ? then : otherwise;
  }
  std::optional<bool> decide(Bits condition) const { return condition != 0; }
  std::optional<int64_t> integer(ScalarType type, Bits bits) const {
    return type == ScalarType::I32 ? int64_t(int32_t(uint32_t(bits))) : int64_t(bits);
  }

  Bits load(unsigned tensor, int64_t offset) const {
    const Memory &memory = tensors[tensor];
    Bits bits = 0;
    copyElement(memory.first + offset * memory.bytes, reinterpret_cast<std::byte *>(&bits),
                memory.bytes);
    if (memory.type == ScalarType::Bool)
      return bits != 0;
    return scalar::canonical(memory.type, bits);
  }
  void store(unsigned tensor, int64_t offset, Bits value) {
    const Memory &memory = tensors[tensor];
    Bits bits = scalar::canonical(memory.type, value);
    copyElement(reinterpret_cast<const std::byte *>(&bits), memory.first + offset * memory.bytes,
                memory.bytes);
  }

private:
  /// Widths that the compiler knows make a single move of each.
  static void copyElement(const std::byte *from, std::byte *to, int64_t bytes) {
    switch (bytes) {
    case 1:
      std::memcpy(to, from, 1);
      return;
    case 2:
      std::memcpy(to, from, 2);
      return;
    case 4:
      std::memcpy(to, from, 4);
      return;
    default:
      std::memcpy(to, from, 8);
      return;
    }
  }
};

} // namespace h3::interpreter

#endif // H3_DSL_INTERPRETER_BITSDOMAIN_H
