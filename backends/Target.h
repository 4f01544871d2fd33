//===-- backends/Target.h - The target table ------------------ -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_TARGET_H
#define H3_BACKENDS_TARGET_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace h3 {

/// What code generation may ask of a target before LLVM is called.
enum class Capability : uint32_t {
  None = 0,
  /// bf16 add, subtract and multiply as instructions; elsewhere they are exact forms of fma.
  Bf16Arithmetic = 1u << 0,
  /// Conversion to and from 8-bit floats.
  ConvertFp8 = 1u << 1,
  /// Bulk copies between global and shared memory.
  BulkCopy = 1u << 2,
  /// Accesses of 32 bytes (PTX 8.8).
  Access32Bytes = 1u << 3,
  /// Packed f32x2 arithmetic exists, and the assembler fuses it: it must be kept out.
  PackedF32 = 1u << 4,
  /// A grid may be started before the one in front of it has ended, and waits itself.
  DependentLaunch = 1u << 5,
  /// Of a CPU: the instruction set is AArch64's.
  Aarch64 = 1u << 6,
  /// f16 to and from f32, with the rounding to nearest.
  ConvertF16 = 1u << 7,
  FusedMultiplyAdd = 1u << 8,
  /// Vectors of 32 bytes or more.
  Vectors32Bytes = 1u << 9,
  X86V3 = ConvertF16 | FusedMultiplyAdd | Vectors32Bytes,
  Armv8 = Aarch64 | ConvertF16 | FusedMultiplyAdd,
  Hopper = Bf16Arithmetic | ConvertFp8 | BulkCopy | DependentLaunch,
  Blackwell = Hopper | Access32Bytes | PackedF32,
};

struct Target {
  std::string_view name;    ///< "sm_90a"
  std::string_view backend; ///< "nvptx"
  /// Compute capability, matched exactly; 0.0 of a CPU, of a plugin a pair of its own.
  int major, minor;
  std::string_view suffix; ///< "", "a" or "f"
  unsigned ptxVersion;     ///< lowest, times 10; 0 of a CPU
  Capability capabilities;

  bool has(Capability asked) const {
    return (static_cast<uint32_t>(capabilities) & static_cast<uint32_t>(asked)) ==
           static_cast<uint32_t>(asked);
  }
};

/// All rows of targets.def, in its order, and behind them those that were added.
std::span<const Target> targets();

/// Adds targets of a backend that was added (Backend.h). Their texts must live as long as the
/// process; what `targets` and `findTarget` gave before stays valid. Not while another thread asks
/// for targets.
void addTargets(std::span<const Target> added);

/// By name ("sm_90"), or null.
const Target *findTarget(std::string_view name);

/// The names of all targets, separated by ", ".
std::string targetNames();

} // namespace h3

#endif // H3_BACKENDS_TARGET_H
