//===-- backends/nvptx/ptx/Machine.h - Decoded code and threads -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Private to the interpreter: the compact form that a kernel is decoded to, and the state of one
// thread.
//
// A thread's register file is one flat array of 64-bit slots: a constant 1, a sink, the carry flag,
// the registers, the special registers in use, the immediates. So every operand is a slot. A
// narrower value is kept zero-extended. Beside the file lies a byte per slot, a bit for each byte
// of the value: whether it was set.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PTX_MACHINE_H
#define H3_BACKENDS_NVPTX_PTX_MACHINE_H

#include "backends/nvptx/ptx/Interpreter.h"
#include "backends/nvptx/ptx/NanResult.h"
#include "dsl/scalar/Scalar.h"

#include <cstdint>
#include <string>
#include <vector>

namespace h3::ptx {

class BlockRun;
struct Thread;
struct Op;

using Slot = uint32_t;
using Handler = void (*)(Thread &, const Op &);
/// Runs a `.sync` instruction for the lanes of one warp that take part, when all have arrived.
using WarpHandler = void (*)(BlockRun &, std::span<Thread *const> lanes, uint32_t mask, const Op &);

inline constexpr Slot slotTrue = 0; ///< holds 1, always set; stands for operands that are not there
inline constexpr Slot slotSink = 1; ///< takes what nobody reads
inline constexpr Slot slotCarry = 2; ///< of add.cc and its kin
inline constexpr Slot firstRegister = 3;

/// All bytes of a slot are set; those above a register's width always are.
inline constexpr uint8_t setWhole = 0xFF;

/// Modifiers that change a value, as bits.
enum OpFlag : uint16_t {
  FlagFtz = 1 << 0,
  FlagSat = 1 << 1,
  FlagRelu = 1 << 2,
  FlagSatfinite = 1 << 3,
  FlagNegateA = 1 << 4, ///< source predicates written with `!`
  FlagNegateB = 1 << 5,
  FlagNegateC = 1 << 6,
  FlagNonCoherent = 1 << 7,
  FlagAddress32 = 1 << 8, ///< the base register of the address has 32 bits
  FlagAligned = 1 << 9,
  FlagSetCarry = 1 << 10,
  FlagUseCarry = 1 << 11,
};

struct Op {
  Handler handler = nullptr;
  WarpHandler warpHandler = nullptr;
  Slot d = slotSink, d2 = slotSink;
  Slot a = slotTrue, b = slotTrue, c = slotTrue;
  Slot guard = slotTrue;
  uint64_t imm = 0;         ///< an address offset, a branch target
  uint32_t extra = 0;       ///< further slots: index of Code::extra
  uint32_t instruction = 0; ///< of the kernel
  uint16_t flags = 0;
  uint8_t extraSources = 0; ///< how many of the further slots are read
  uint8_t count = 1;        ///< elements of a vector
  uint8_t guardValue = 1;   ///< executed if the guard has this value
  Rounding rounding = Rounding::NearestEven;
  Space space = Space::Generic;
  uint8_t bytes = 0; ///< of one element in memory
  NanRule nan = NanRule::Canonical;
  uint8_t kind = 0; ///< an enumeration of the handler's own
  uint8_t kind2 = 0;
  Modifier type = Modifier::B32, type2 = Modifier::B32;
  uint8_t registerBits = 0; ///< of the destination register

  bool is(OpFlag flag) const { return (flags & flag) != 0; }
};

/// Where the variables and parameters lie.
struct Layout {
  std::vector<uint64_t> parameterOffsets;
  uint64_t parameterBytes = 0;
  std::vector<uint64_t> kernelVariables; ///< address in its own space
  std::vector<uint64_t> moduleVariables;
  uint64_t sharedBytes = 0; ///< static; dynamic shared memory follows
  uint64_t sharedAlign = 16;
  uint64_t localBytes = 0; ///< of one thread
  uint64_t globalBytes = 0, constBytes = 0;
};

/// The windows of the generic address space, where no region of a caller may lie.
inline constexpr uint64_t windowShared = 0x00FE'0000'0000'0000;
inline constexpr uint64_t windowLocal = 0x00FD'0000'0000'0000;
inline constexpr uint64_t windowParam = 0x00FC'0000'0000'0000;
inline constexpr uint64_t windowConst = 0x00FB'0000'0000'0000;
inline constexpr uint64_t windowVariables = 0x00FA'0000'0000'0000; ///< .global variables
inline constexpr uint64_t windowBytes = 0x0001'0000'0000'0000;

struct Code {
  const Module *module = nullptr;
  const Kernel *kernel = nullptr;
  std::vector<Op> ops; ///< one an instruction, then one that ends a thread that runs off the end
  std::vector<Slot> extra;
  std::vector<uint64_t> values; ///< what a register file begins with
  std::vector<uint8_t> set;
  std::vector<std::pair<Slot, Special>> specials;
  Layout layout;

  uint32_t slots() const { return static_cast<uint32_t>(values.size()); }
};

/// Decodes a kernel. Names what cannot be run in a fault.
Result<Code, Fault> decode(const Module &module, const Kernel &kernel);

struct Thread {
  enum class State : uint8_t { Running, AtWarpSync, AtBarrier, Gathering, Exited, Faulted };

  uint64_t *r = nullptr;
  uint8_t *set = nullptr;
  const Slot *extra = nullptr; ///< Code::extra
  uint32_t pc = 0;
  State state = State::Running;
  uint16_t index = 0; ///< in the block, x fastest
  BlockRun *block = nullptr;
  uint32_t clock = 1;              ///< the last synchronisation it took part in
  uint32_t exitClock = UINT32_MAX; ///< its clock when it ended
  uint32_t mask = 0;               ///< AtWarpSync: the lanes it waits for
  uint8_t barrier = 0;             ///< AtBarrier

  unsigned lane() const { return index % 32; }
  unsigned warp() const { return index / 32; }
  void write(Slot slot, uint64_t value) {
    r[slot] = value;
    set[slot] = setWhole;
  }
  /// The value of the i-th further slot.
  uint64_t further(const Op &op, unsigned i) const { return r[extra[op.extra + i]]; }
  /// Stops the thread and the run.
  void fault(FaultKind kind, std::string text);
};

constexpr uint64_t maskOf(unsigned bits) {
  return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
}
constexpr int64_t signExtend(uint64_t value, unsigned bits) {
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

/// Runs an instruction with a source that is set in part or not at all, if it only moves bytes: a
/// packing mov whose other half nobody uses is what LLVM makes of an undefined vector element.
/// False if the instruction needs what is not set; nothing has changed then.
bool runPartial(Thread &thread, const Op &op, const Instruction &instruction);

// The families of instructions, one a file. Each sets the handler of an instruction whose operands
// are decoded, and what the handler needs; it returns false if the instruction is not one of its
// own. `problem` says why an instruction of its own cannot be run.
bool selectInteger(const Instruction &instruction, Op &op, std::string &problem);
bool selectBits(const Instruction &instruction, Op &op, std::string &problem);
bool selectFloat(const Instruction &instruction, Op &op, std::string &problem);
bool selectApproximation(const Instruction &instruction, Op &op, std::string &problem);
bool selectCompare(const Instruction &instruction, Op &op, std::string &problem);
bool selectConvert(const Instruction &instruction, Op &op, std::string &problem);
bool selectMemory(const Instruction &instruction, Op &op, std::string &problem);
bool selectControl(const Instruction &instruction, Op &op, std::string &problem);
bool selectExchange(const Instruction &instruction, Op &op, std::string &problem);

} // namespace h3::ptx

#endif // H3_BACKENDS_NVPTX_PTX_MACHINE_H
