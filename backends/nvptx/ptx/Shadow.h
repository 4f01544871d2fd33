//===-- backends/nvptx/ptx/Shadow.h - Who touched which byte ----*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The race detector's memory. Happens-before within a block is kept by clocks: a block counts its
// synchronisations, a thread's clock is the number of the last it took part in, and a thread knows
// of each other thread up to which clock that one's accesses come before its own. An access by u
// at clock c comes before what t does now if t knows u beyond c.
//
// A byte has a flag byte for the whole launch, and while a block touches it a cell: its last write
// and the reads since then. Blocks run one after the other, so when a block ends its cells fold
// into the flags.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PTX_SHADOW_H
#define H3_BACKENDS_NVPTX_PTX_SHADOW_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace h3::ptx {

/// What the threads of a block know of each other.
class Knowledge {
public:
  void reset(unsigned threads);

  uint32_t newClock() { return ++last; }
  /// Every thread that has not ended learns all that happened before \p clock.
  void synchronizeAll(uint32_t clock) { base = clock; }
  /// The threads \p members learn what they and the threads \p givers did and knew.
  void synchronize(const std::vector<uint16_t> &members, uint32_t clock,
                   const std::vector<std::vector<uint32_t>> &givers = {});
  /// What \p thread knows of every thread.
  std::vector<uint32_t> rowOf(unsigned thread) const;
  void exitAt(unsigned thread, uint32_t clock) { exitClocks[thread] = clock; }

  /// Does the access of \p other at \p clock come before what \p thread does now?
  bool isBefore(unsigned other, uint32_t clock, unsigned thread) const {
    if (clock >= exitClocks[other])
      return false;
    return clock < base || (rowBase[thread] == base && clock < rows[thread * threads + other]);
  }

private:
  uint32_t known(unsigned thread, unsigned other) const;

  unsigned threads = 0;
  uint32_t last = 1;
  uint32_t base = 0;
  std::vector<uint32_t> exitClocks;
  std::vector<uint32_t> rowBase; ///< a row counts only if this is `base`
  std::vector<uint32_t> rows;    ///< threads x threads, made when first needed
};

/// An access, as the detector sees it.
struct Access {
  uint16_t thread = 0;
  uint32_t clock = 0;
  uint32_t op = 0;
  bool write = false;
  bool atomic = false;
  bool nonCoherent = false;
};

/// What is wrong with an access.
struct Conflict {
  enum class Kind : uint8_t { None, Uninitialised, Race, NonCoherent };
  Kind kind = Kind::None;
  uint64_t offset = 0; ///< of the byte
  bool otherBlock = false;
  bool otherWrote = false;
  uint16_t otherThread = 0;
  uint32_t otherOp = 0;
};

class Shadow {
public:
  void reset(uint64_t bytes, bool initialised);

  /// Records an access to [offset, offset + bytes), or says what is wrong with it. The range lies
  /// in the memory, and `offset` is a multiple of `bytes` or of 16.
  Conflict access(const Access &access, uint64_t offset, unsigned bytes, const Knowledge &order);

  void endBlock();

private:
  enum : uint8_t {
    Initialised = 1,
    WrittenBefore = 2, ///< by an earlier block
    ReadBefore = 4,
    AtomicBefore = 8,
    ReadNonCoherently = 16, ///< by any block
    Written = 32,           ///< by any block
  };
  static constexpr unsigned lineBytes = 16;
  static constexpr uint16_t nobody = UINT16_MAX;
  static constexpr uint16_t several = UINT16_MAX - 1;

  struct Cell {
    uint32_t writeClock = 0, writeOp = 0;
    uint32_t readClock = 0; ///< several readers: index of `groups`
    uint32_t readOp = 0;
    uint16_t writer = nobody, reader = nobody;
    bool atomicWrite = false;
  };
  using Line = std::array<Cell, lineBytes>;
  /// Several unordered readers: threads by the clock of their read.
  struct Readers {
    uint32_t clock;
    std::array<uint64_t, 16> threads;
  };
  using Group = std::vector<Readers>;

  Conflict accessByte(const Access &access, uint8_t &flag, Cell &cell, const Knowledge &order);
  Conflict checkReaders(const Access &access, const Cell &cell, const Knowledge &order) const;
  void recordRead(const Access &access, Cell &cell, const Knowledge &order);
  static void addReader(Group &group, unsigned thread, uint32_t clock);

  std::vector<uint8_t> flags;
  std::vector<uint32_t> lineIndex; ///< one more than the index of `lines`, or 0
  std::vector<Line> lines;
  std::vector<uint64_t> touched;
  std::vector<Group> groups;
  std::size_t groupsUsed = 0;
};

} // namespace h3::ptx

#endif // H3_BACKENDS_NVPTX_PTX_SHADOW_H
