//===-- backends/nvptx/ptx/Block.h - One block of threads -------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Private to the interpreter: the memory of a launch, and one block that runs.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PTX_BLOCK_H
#define H3_BACKENDS_NVPTX_PTX_BLOCK_H

#include "backends/nvptx/ptx/Machine.h"
#include "backends/nvptx/ptx/Shadow.h"

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace h3::ptx {

/// Bytes that threads share, with their shadow.
struct SharedBytes {
  std::string name;
  uint64_t address = 0;
  std::span<std::byte> bytes;
  bool writable = false;
  bool tracked = false; ///< written by nobody and initialised: no shadow is needed
  Shadow shadow;
};

/// The memory that outlives a block.
struct GridMemory {
  std::deque<SharedBytes> regions;
  SharedBytes *lastHit = nullptr;
  std::vector<std::byte> parameters;
  std::vector<std::byte> constants;

  /// The region that holds the address, or null.
  SharedBytes *find(uint64_t address);
};

/// A small generator, the same everywhere (splitmix64).
struct Random {
  uint64_t state = 0;

  uint64_t next();
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(((next() >> 32) * bound) >> 32); }
};

class BlockRun;

/// Executes the threads of a block in another way than by bits, such as by terms. Scheduling,
/// meeting of lanes, barriers, shared memory and its checks stay the block's.
class ThreadRunner {
public:
  virtual ~ThreadRunner() = default;
  /// The threads of the block are in their first state.
  virtual void begin(BlockRun &block) = 0;
  /// As BlockRun::runThread.
  virtual bool run(BlockRun &block, Thread &thread, uint32_t steps) = 0;
  /// The lanes that meet at a `.sync` instruction, all of those in \p mask.
  virtual void meet(BlockRun &block, std::span<Thread *const> lanes, uint32_t mask,
                    const Op &op) = 0;
};

class BlockRun {
public:
  BlockRun(const Code &code, const LaunchConfig &launch, GridMemory &memory, uint64_t budget,
           ThreadRunner *runner = nullptr);

  /// Runs one block to its end. False after a fault.
  bool run(std::array<uint32_t, 3> block, Random &random);

  /// The bytes of an access of `count` elements of `op.bytes`, or null after a fault.
  enum class AccessKind : uint8_t { Read, Write, Atomic };
  std::byte *access(Thread &thread, const Op &op, AccessKind kind);
  /// The space and the address in it that a generic address means.
  static Space resolve(uint64_t &address);

  // Called by handlers: the thread stops before the instruction until the others have come.
  void waitForWarp(Thread &thread, uint32_t mask, const Op &op);
  void waitAtBarrier(Thread &thread, const Op &op);
  void exit(Thread &thread);
  /// activemask: the lane waits until no lane of its warp can go on; those that have come to the
  /// same instruction then go on together, and the mask names them.
  void gather(Thread &thread);
  /// bar.warp.sync: orders the lanes' accesses.
  void orderLanes(std::span<Thread *const> lanes);

  Thread *laneOf(const Thread &thread, unsigned lane);
  void fault(Thread &thread, FaultKind kind, std::string text);
  void unsetRegister(Thread &thread, const Op &op);
  void reportConflict(Thread &thread, const SharedBytes &memory, const Conflict &conflict,
                      AccessKind kind);
  const Knowledge &knowledge() const { return order; }
  unsigned size() const { return threadCount; } ///< threads

  std::optional<Fault> found;
  uint64_t instructions = 0;

private:
  struct Barrier {
    std::vector<uint16_t> waiting;
    std::vector<std::vector<uint32_t>> givers; ///< what threads knew at bar.arrive
    std::vector<uint16_t> arrivals;            ///< threads of bar.arrive
    uint32_t expected = 0;                     ///< threads; 0: all that have not ended
  };

  void begin();
  void setSpecials(Thread &thread);
  bool runThread(Thread &thread, uint32_t steps);
  void afterStep(Thread &thread);
  void tryWarp(Thread &thread);
  void tryGather(unsigned warp);
  void tryBarrier(unsigned index);
  bool isComplete(const Barrier &barrier) const;
  bool checkAligned(const Barrier &barrier);
  void release(unsigned index);
  void makeRunnable(Thread &thread, bool advance);
  void reportDeadlock();
  std::array<uint32_t, 3> threadPosition(unsigned index) const;
  std::string threadText(unsigned index) const;
  uint32_t maskOfWarp(unsigned warp) const; ///< lanes that exist and have not ended
  std::byte *accessLocal(Thread &thread, const Op &op, uint64_t address, unsigned bytes,
                         AccessKind kind);

  const Code &code;
  const LaunchConfig &launch;
  GridMemory &memory;
  uint64_t budget;
  ThreadRunner *runner; ///< null: by bits
  unsigned threadCount;
  std::array<uint32_t, 3> block{};
  std::vector<Thread> threads;
  std::vector<uint64_t> files;
  std::vector<uint8_t> sets;
  std::vector<uint16_t> runnable;
  unsigned live = 0;
  unsigned gathering = 0; ///< threads at an activemask
  std::array<Barrier, 16> barriers;
  Knowledge order;
  std::vector<std::byte> sharedData;
  SharedBytes shared;
  std::vector<std::byte> localData;
  std::vector<uint8_t> localSet;
};

} // namespace h3::ptx

#endif // H3_BACKENDS_NVPTX_PTX_BLOCK_H
