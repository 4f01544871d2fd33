//===-- backends/nvptx/ptx/BlockBarrier.cpp - Barriers and deadlocks ------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Block.h"
#include "backends/nvptx/ptx/Exchange.h"

#include <fmt/format.h>

#include <bit>

namespace h3::ptx {

void BlockRun::waitAtBarrier(Thread &thread, const Op &op) {
  uint64_t index = thread.r[op.a];
  bool counted = (op.kind2 & BarrierCounted) != 0;
  uint64_t expected = counted ? thread.r[op.b] : 0;
  if (index >= barriers.size()) {
    thread.fault(FaultKind::DivergentBarrier,
                 fmt::format("there is no barrier {}, only 0 to 15", index));
    return;
  }
  if (counted && (expected == 0 || expected % 32 != 0)) {
    thread.fault(
        FaultKind::DivergentBarrier,
        fmt::format("the barrier is for {} threads, which is no multiple of 32", expected));
    return;
  }
  Barrier &barrier = barriers[index];
  bool isFirst = barrier.waiting.empty() && barrier.arrivals.empty();
  if (!isFirst && barrier.expected != expected) {
    thread.fault(FaultKind::DivergentBarrier,
                 fmt::format("threads name different numbers of threads for barrier {}", index));
    return;
  }
  barrier.expected = static_cast<uint32_t>(expected);
  if (op.kind != static_cast<uint8_t>(BarrierKind::Arrive)) {
    thread.state = Thread::State::AtBarrier;
    thread.barrier = static_cast<uint8_t>(index);
    barrier.waiting.push_back(thread.index);
    return;
  }
  // What the thread does from now on does not come before what the waiting ones do after.
  uint32_t clock = order.newClock();
  std::vector<uint32_t> row = order.rowOf(thread.index);
  row[thread.index] = clock;
  thread.clock = clock;
  barrier.arrivals.push_back(thread.index);
  barrier.givers.push_back(std::move(row));
  tryBarrier(static_cast<unsigned>(index));
}

bool BlockRun::isComplete(const Barrier &barrier) const {
  if (barrier.expected == 0)
    return !barrier.waiting.empty() && barrier.waiting.size() + barrier.arrivals.size() == live;
  // Arrivals count by warps.
  std::array<uint32_t, 32> arrived{};
  for (const std::vector<uint16_t> *list : {&barrier.waiting, &barrier.arrivals})
    for (uint16_t index : *list)
      arrived[index / 32] |= uint32_t(1) << (index % 32);
  uint32_t total = 0;
  for (unsigned warp = 0; warp < arrived.size(); ++warp)
    if (arrived[warp] != 0 && (maskOfWarp(warp) & ~arrived[warp]) == 0)
      total += 32;
  return total >= barrier.expected;
}

/// All lanes of a warp execute an aligned barrier, and they execute the same one.
bool BlockRun::checkAligned(const Barrier &barrier) {
  for (uint16_t index : barrier.waiting) {
    Thread &thread = threads[index];
    if (!code.ops[thread.pc].is(FlagAligned))
      continue;
    for (unsigned lane = 0; lane < 32; ++lane) {
      const Thread *other = laneOf(thread, lane);
      if (!other || (other->state == Thread::State::AtBarrier && other->pc == thread.pc))
        continue;
      const Instruction &theirs = code.kernel->instructions[std::min<size_t>(
          code.ops[other->pc].instruction, code.kernel->instructions.size() - 1)];
      fault(thread, FaultKind::DivergentBarrier,
            fmt::format("lane {} of the warp executes it, lane {} {}", thread.lane(), lane,
                        other->state == Thread::State::Exited
                            ? "has ended without it"
                            : fmt::format("is at line {}", theirs.line.number)));
      return false;
    }
  }
  return true;
}

void BlockRun::tryBarrier(unsigned index) {
  const Barrier &barrier = barriers[index];
  if (!barrier.waiting.empty() && isComplete(barrier) && checkAligned(barrier))
    release(index);
}

void BlockRun::release(unsigned index) {
  Barrier barrier = std::move(barriers[index]);
  barriers[index] = {};
  uint32_t clock = order.newClock();
  if (barrier.waiting.size() == live)
    order.synchronizeAll(clock);
  else
    order.synchronize(barrier.waiting, clock, barrier.givers);

  // bar.red: every waiting thread brings a predicate.
  uint32_t trueCount = 0;
  auto valueOf = [&](const Thread &thread, const Op &op) {
    bool counted = (op.kind2 & BarrierCounted) != 0;
    return (thread.r[counted ? op.c : op.b] & 1) ^
           (op.is(counted ? FlagNegateC : FlagNegateB) ? 1 : 0);
  };
  for (uint16_t member : barrier.waiting) {
    const Op &op = code.ops[threads[member].pc];
    if (op.kind >= static_cast<uint8_t>(BarrierKind::Popc))
      trueCount += static_cast<uint32_t>(valueOf(threads[member], op));
  }
  for (uint16_t member : barrier.waiting) {
    Thread &thread = threads[member];
    const Op &op = code.ops[thread.pc];
    thread.clock = clock;
    switch (static_cast<BarrierKind>(op.kind)) {
    case BarrierKind::Popc:
      thread.write(op.d, trueCount);
      break;
    case BarrierKind::And:
      thread.write(op.d, trueCount == barrier.waiting.size());
      break;
    case BarrierKind::Or:
      thread.write(op.d, trueCount != 0);
      break;
    default:
      break;
    }
    makeRunnable(thread, true);
  }
}

/// Nobody can go on. The first thread that waits is named, and what it waits for.
void BlockRun::reportDeadlock() {
  auto lineOf = [&](const Thread &thread) {
    return code.kernel->instructions[code.ops[thread.pc].instruction].line.number;
  };
  Thread *first = nullptr;
  for (Thread &thread : threads) {
    if (thread.state == Thread::State::Exited)
      continue;
    first = first ? first : &thread;
    for (unsigned lane = thread.lane() + 1; lane < 32; ++lane) {
      const Thread *other = laneOf(thread, lane);
      if (!other || other->state == Thread::State::Exited ||
          (other->pc == thread.pc && other->mask == thread.mask))
        continue;
      bool barrier =
          thread.state == Thread::State::AtBarrier || other->state == Thread::State::AtBarrier;
      std::string masks;
      if (!barrier)
        masks = fmt::format(", with masks {:#010x} and {:#010x}", thread.mask, other->mask);
      fault(thread, barrier ? FaultKind::DivergentBarrier : FaultKind::DivergentSync,
            fmt::format("lane {} of the warp waits here, lane {} at line {}{}", thread.lane(), lane,
                        lineOf(*other), masks));
      return;
    }
  }
  unsigned waiting = 0;
  for (const Thread &thread : threads)
    waiting += thread.state != Thread::State::Exited;
  fault(*first, FaultKind::Deadlock,
        fmt::format("{} threads wait and none can go on, {} have ended", waiting,
                    threadCount - waiting));
}

} // namespace h3::ptx
