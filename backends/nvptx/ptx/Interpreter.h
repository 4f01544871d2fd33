//===-- backends/nvptx/ptx/Interpreter.h - PTX on the CPU -------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Runs the kernels of a PTX module on the CPU, whole grids, and reports what a device would let
// pass silently.
//
// Order. Every lane has its own program counter. Blocks run one after the other in an order that
// the seed decides; within a block the lanes of all warps are interleaved, each for a random number
// of instructions at a time. The same seed gives the same run. Lanes meet only where the PTX says
// so: at `.sync` instructions (by mask) and at barriers.
//
// Memory order. `bar.sync` and its kin order the accesses of the threads that take part,
// `bar.warp.sync` those of its mask; shuffles and votes order nothing. Two accesses to one byte by
// different threads, one of them a write and not ordered so, are a race, whatever the run's order
// was. Between blocks any such pair is a race.
//
// Values. Float arithmetic is dsl/scalar's: each instruction rounds once as its modifiers say. A
// NaN that an instruction computes is the canonical one (see NanResult.h for exceptions); moves,
// loads, stores, selections and shuffles keep every bit.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PTX_INTERPRETER_H
#define H3_BACKENDS_NVPTX_PTX_INTERPRETER_H

#include "backends/nvptx/ptx/Module.h"
#include "runtime/Result.h"
#include "runtime/plan/Plan.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace h3::ptx {

enum class FaultKind : uint8_t {
  Launch,           ///< no such entry, wrong arguments or sizes, regions that overlap
  Unsupported,      ///< an instruction that can be read but not run
  UnsetRegister,    ///< a register is read that nothing has written
  OutOfBounds,      ///< an access outside every region, variable or stack
  ReadOnly,         ///< a store to memory that is not writable
  Misaligned,       ///< an address that is no multiple of the access's bytes
  Uninitialised,    ///< bytes are read that nothing has written
  Race,             ///< conflicting accesses without order
  NonCoherent,      ///< an `.nc` load of memory that the launch writes
  InactiveLane,     ///< a shuffle reads a lane that does not take part
  DivergentSync,    ///< lanes of one warp at different `.sync` instructions, or a wrong mask
  DivergentBarrier, ///< an aligned barrier that not all lanes of a warp execute together
  Deadlock,         ///< threads wait for what cannot come
  Budget,           ///< more instructions than allowed
  Trap,             ///< `trap` was executed
  DivisionByZero,   ///< an integer division or remainder whose result PTX leaves open
};

/// The kind's name as messages print it: "unset register", "race".
std::string_view name(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::Launch;
  unsigned line = 0;                ///< in the PTX text; 0 for faults of the launch
  std::string instruction;          ///< as printed; empty for faults of the launch
  std::array<uint32_t, 3> block{};  ///< %ctaid
  std::array<uint32_t, 3> thread{}; ///< %tid
  std::string text;                 ///< what happened

  /// `PTX line 12, block (0,0,0), thread (3,0,0): race: ... [st.shared.b32 [%r1], %r2]`.
  std::string message() const;
};

/// Global memory that a launch may touch. The device sees `bytes` at `address`; the regions of one
/// launch do not overlap, except that two regions which are both not writable may.
struct Region {
  std::string name; ///< for messages
  uint64_t address = 0;
  std::span<std::byte> bytes;
  bool writable = false;
  /// False for an output: bytes that the launch reads before it has written them are a fault.
  bool initialised = true;
};

struct LaunchConfig {
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  uint32_t sharedBytes = 0; ///< dynamic shared memory
  /// The kernel's parameters in their order. A parameter that is an array of bytes takes several
  /// arguments, which follow each other at their natural alignment.
  std::vector<plan::Argument> arguments;

  LaunchConfig() = default;
  explicit LaunchConfig(const plan::Launch &launch);
};

struct RunOptions {
  uint64_t seed = 0;
  /// Instructions of all threads together.
  uint64_t budget = uint64_t(1) << 40;
};

/// What a run did.
struct RunStatistics {
  uint64_t instructions = 0; ///< executed, over all threads; those switched off by a guard count
  uint64_t blocks = 0;
};

/// A kernel made ready to run. The module must outlive it.
class Executable {
public:
  static Result<Executable, Fault> make(const Module &module, std::string_view entry);

  Executable(Executable &&) noexcept;
  Executable &operator=(Executable &&) noexcept;
  ~Executable();

  /// Runs a whole grid. Returns the first fault, or nothing; after a fault the writable regions
  /// hold what the threads had stored until then.
  std::optional<Fault> run(const LaunchConfig &launch, std::span<const Region> regions,
                           const RunOptions &options = {}, RunStatistics *statistics = nullptr);

private:
  struct Impl;
  explicit Executable(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// Both steps.
std::optional<Fault> run(const Module &module, std::string_view entry, const LaunchConfig &launch,
                         std::span<const Region> regions, const RunOptions &options = {},
                         RunStatistics *statistics = nullptr);

} // namespace h3::ptx

#endif // H3_BACKENDS_NVPTX_PTX_INTERPRETER_H
