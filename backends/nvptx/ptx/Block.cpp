//===-- backends/nvptx/ptx/Block.cpp - One block of threads ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Block.h"

#include "backends/nvptx/ptx/Reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace h3::ptx {
namespace {

/// A thread runs at most so many instructions before another may.
constexpr uint32_t longestTurn = 256;

} // namespace

uint64_t Random::next() {
  state += 0x9E3779B97F4A7C15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

BlockRun::BlockRun(const Code &code, const LaunchConfig &launch, GridMemory &memory,
                   uint64_t budget, ThreadRunner *runner)
    : code(code), launch(launch), memory(memory), budget(budget), runner(runner),
      threadCount(launch.block[0] * launch.block[1] * launch.block[2]) {
  threads.resize(threadCount);
  files.resize(size_t(threadCount) * code.slots());
  sets.resize(size_t(threadCount) * code.slots());
  sharedData.resize(code.layout.sharedBytes + launch.sharedBytes);
  shared.name = "shared memory";
  shared.bytes = sharedData;
  shared.writable = shared.tracked = true;
  localData.resize(threadCount * code.layout.localBytes);
  localSet.resize(localData.size());
}

void BlockRun::begin() {
  for (unsigned i = 0; i < threadCount; ++i) {
    Thread &thread = threads[i];
    thread = Thread();
    thread.r = files.data() + size_t(i) * code.slots();
    thread.set = sets.data() + size_t(i) * code.slots();
    thread.index = static_cast<uint16_t>(i);
    thread.block = this;
    thread.extra = code.extra.data();
    std::memcpy(thread.r, code.values.data(), code.slots() * sizeof(uint64_t));
    std::memcpy(thread.set, code.set.data(), code.slots());
    setSpecials(thread);
  }
  runnable.resize(threadCount);
  for (unsigned i = 0; i < threadCount; ++i)
    runnable[i] = static_cast<uint16_t>(i);
  live = threadCount;
  gathering = 0;
  for (Barrier &barrier : barriers)
    barrier = {};
  order.reset(threadCount);
  std::fill(localSet.begin(), localSet.end(), 0);
  shared.shadow.reset(sharedData.size(), false);
  if (runner)
    runner->begin(*this);
}

std::array<uint32_t, 3> BlockRun::threadPosition(unsigned index) const {
  uint32_t x = launch.block[0], y = launch.block[1];
  return {index % x, index / x % y, index / x / y};
}

std::string BlockRun::threadText(unsigned index) const {
  auto [x, y, z] = threadPosition(index);
  return fmt::format("thread ({},{},{})", x, y, z);
}

void BlockRun::setSpecials(Thread &thread) {
  auto position = threadPosition(thread.index);
  auto offset = [](Special special, Special first) {
    return static_cast<size_t>(special) - static_cast<size_t>(first);
  };
  uint32_t lane = thread.lane(), bit = uint32_t(1) << lane;
  for (auto [slot, special] : code.specials) {
    uint32_t value = 0;
    switch (special) {
    case Special::TidX:
    case Special::TidY:
    case Special::TidZ:
      value = position[offset(special, Special::TidX)];
      break;
    case Special::NtidX:
    case Special::NtidY:
    case Special::NtidZ:
      value = launch.block[offset(special, Special::NtidX)];
      break;
    case Special::CtaidX:
    case Special::CtaidY:
    case Special::CtaidZ:
      value = block[offset(special, Special::CtaidX)];
      break;
    case Special::NctaidX:
    case Special::NctaidY:
    case Special::NctaidZ:
      value = launch.grid[offset(special, Special::NctaidX)];
      break;
    case Special::Laneid:
      value = lane;
      break;
    case Special::Warpid:
      value = thread.warp();
      break;
    case Special::Nwarpid:
      value = (threadCount + 31) / 32;
      break;
    case Special::LanemaskEq:
      value = bit;
      break;
    case Special::LanemaskLe:
      value = bit | (bit - 1);
      break;
    case Special::LanemaskLt:
      value = bit - 1;
      break;
    case Special::LanemaskGe:
      value = ~(bit - 1);
      break;
    case Special::LanemaskGt:
      value = ~(bit | (bit - 1));
      break;
    case Special::DynamicSmemSize:
      value = launch.sharedBytes;
      break;
    case Special::TotalSmemSize:
      value = static_cast<uint32_t>(sharedData.size());
      break;
    }
    thread.r[slot] = value;
  }
}

void Thread::fault(FaultKind kind, std::string text) { block->fault(*this, kind, std::move(text)); }

void BlockRun::fault(Thread &thread, FaultKind kind, std::string text) {
  thread.state = Thread::State::Faulted;
  if (found)
    return;
  Fault fault;
  fault.kind = kind;
  const Kernel &kernel = *code.kernel;
  uint32_t index = code.ops[thread.pc].instruction;
  if (index < kernel.instructions.size()) {
    fault.line = kernel.instructions[index].line.number;
    fault.instruction = print(*code.module, kernel, kernel.instructions[index]);
  }
  fault.block = block;
  fault.thread = threadPosition(thread.index);
  fault.text = std::move(text);
  found = std::move(fault);
}

void BlockRun::unsetRegister(Thread &thread, const Op &op) {
  std::vector<Slot> slots = {op.guard};
  if ((thread.r[op.guard] & 1) == op.guardValue) {
    slots.insert(slots.end(), {op.a, op.b, op.c});
    slots.insert(slots.end(), code.extra.begin() + op.extra,
                 code.extra.begin() + op.extra + op.extraSources);
  }
  for (Slot slot : slots) {
    if (thread.set[slot] == setWhole)
      continue;
    std::string name =
        slot == slotCarry
            ? "the carry flag"
            : fmt::format("register '{}'", code.kernel->registers[slot - firstRegister].name);
    fault(thread, FaultKind::UnsetRegister,
          name + (thread.set[slot] == 0 ? " is read, and nothing has written it"
                                        : " is read, and only a part of it was written"));
    return;
  }
}

bool BlockRun::runThread(Thread &thread, uint32_t steps) {
  if (runner)
    return runner->run(*this, thread, steps);
  const Op *ops = code.ops.data();
  const Slot *extra = code.extra.data();
  for (; steps != 0; --steps) {
    const Op &op = ops[thread.pc];
    if (instructions == budget) {
      fault(thread, FaultKind::Budget,
            fmt::format("the launch has not ended after {} instructions", budget));
      return false;
    }
    ++instructions;
    if ((thread.r[op.guard] & 1) != op.guardValue && thread.set[op.guard]) {
      ++thread.pc;
      continue;
    }
    unsigned set = thread.set[op.guard] & thread.set[op.a] & thread.set[op.b] & thread.set[op.c];
    for (unsigned i = 0; i < op.extraSources; ++i)
      set &= thread.set[extra[op.extra + i]];
    if (set != setWhole) [[unlikely]] {
      if (!thread.set[op.guard] ||
          !runPartial(thread, op, code.kernel->instructions[op.instruction])) {
        unsetRegister(thread, op);
        return false;
      }
      ++thread.pc;
      continue;
    }
    op.handler(thread, op);
    if (thread.state != Thread::State::Running) [[unlikely]]
      return thread.state != Thread::State::Faulted;
    // A branch has set the counter to one less than its target.
    ++thread.pc;
  }
  return true;
}

bool BlockRun::run(std::array<uint32_t, 3> place, Random &random) {
  block = place;
  begin();
  while (live != 0) {
    if (runnable.empty()) {
      reportDeadlock();
      return false;
    }
    uint32_t choice = random.below(static_cast<uint32_t>(runnable.size()));
    Thread &thread = threads[runnable[choice]];
    uint32_t steps = 1 + random.below(longestTurn);
    bool good = runThread(thread, steps);
    if (!good || found)
      return false;
    if (thread.state != Thread::State::Running) {
      runnable[choice] = runnable.back();
      runnable.pop_back();
      afterStep(thread);
      if (found)
        return false;
    }
  }
  shared.shadow.endBlock();
  for (SharedBytes &region : memory.regions)
    if (region.tracked)
      region.shadow.endBlock();
  return true;
}

// ---- Threads that meet.

uint32_t BlockRun::maskOfWarp(unsigned warp) const {
  uint32_t mask = 0;
  for (unsigned lane = 0; lane < 32 && warp * 32 + lane < threadCount; ++lane)
    if (threads[warp * 32 + lane].state != Thread::State::Exited)
      mask |= uint32_t(1) << lane;
  return mask;
}

Thread *BlockRun::laneOf(const Thread &thread, unsigned lane) {
  unsigned index = thread.warp() * 32 + lane;
  return index < threadCount ? &threads[index] : nullptr;
}

void BlockRun::gather(Thread &thread) {
  thread.state = Thread::State::Gathering;
  ++gathering;
}

void BlockRun::tryGather(unsigned warp) {
  std::vector<Thread *> waiting;
  for (unsigned i = warp * 32; i < std::min(threadCount, warp * 32 + 32); ++i) {
    if (threads[i].state == Thread::State::Running)
      return;
    if (threads[i].state == Thread::State::Gathering)
      waiting.push_back(&threads[i]);
  }
  // Of lanes at different places, those at the first go on.
  std::erase_if(waiting, [pc = waiting.empty() ? 0 : waiting.front()->pc](const Thread *thread) {
    return thread->pc != pc;
  });
  uint32_t mask = 0;
  for (const Thread *thread : waiting)
    mask |= uint32_t(1) << thread->lane();
  for (Thread *thread : waiting) {
    thread->write(code.ops[thread->pc].d, mask);
    makeRunnable(*thread, true);
    --gathering;
  }
}

void BlockRun::waitForWarp(Thread &thread, uint32_t mask, const Op &) {
  if ((mask >> thread.lane() & 1) == 0) {
    thread.fault(
        FaultKind::DivergentSync,
        fmt::format("lane {} executes it and is not in its mask {:#010x}", thread.lane(), mask));
    return;
  }
  thread.state = Thread::State::AtWarpSync;
  thread.mask = mask;
}

void BlockRun::makeRunnable(Thread &thread, bool advance) {
  thread.state = Thread::State::Running;
  thread.pc += advance ? 1 : 0;
  runnable.push_back(thread.index);
}

void BlockRun::afterStep(Thread &thread) {
  switch (thread.state) {
  case Thread::State::AtWarpSync:
    tryWarp(thread);
    break;
  case Thread::State::AtBarrier:
    tryBarrier(thread.barrier);
    break;
  case Thread::State::Exited: {
    // Others may have waited for this one alone.
    for (unsigned lane = 0; lane < 32 && !found; ++lane)
      if (Thread *other = laneOf(thread, lane); other && other->state == Thread::State::AtWarpSync)
        tryWarp(*other);
    for (unsigned i = 0; i < barriers.size() && !found; ++i)
      tryBarrier(i);
    break;
  }
  default:
    break;
  }
  if (gathering != 0)
    tryGather(thread.warp());
}

/// Lets the lanes that \p thread waits for go on if all have come to the same instruction.
void BlockRun::tryWarp(Thread &thread) {
  std::array<Thread *, 32> lanes;
  size_t count = 0;
  uint32_t mask = thread.mask & maskOfWarp(thread.warp());
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    Thread &other = threads[thread.warp() * 32 + static_cast<unsigned>(std::countr_zero(rest))];
    if (other.state != Thread::State::AtWarpSync || other.pc != thread.pc ||
        other.mask != thread.mask)
      return;
    lanes[count++] = &other;
  }
  const Op &op = code.ops[thread.pc];
  std::span<Thread *const> members(lanes.data(), count);
  if (runner)
    runner->meet(*this, members, mask, op);
  else
    op.warpHandler(*this, members, mask, op);
  if (found)
    return;
  for (Thread *member : members)
    makeRunnable(*member, true);
}

void BlockRun::orderLanes(std::span<Thread *const> lanes) {
  uint32_t clock = order.newClock();
  std::vector<uint16_t> members;
  for (Thread *lane : lanes) {
    members.push_back(lane->index);
    lane->clock = clock;
  }
  order.synchronize(members, clock);
}

void BlockRun::exit(Thread &thread) {
  thread.state = Thread::State::Exited;
  order.exitAt(thread.index, thread.clock);
  --live;
}

} // namespace h3::ptx
