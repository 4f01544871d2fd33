//===-- backends/nvptx/ptx/ExchangeOps.cpp - Between lanes and warps ------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Block.h"
#include "backends/nvptx/ptx/Exchange.h"
#include "backends/nvptx/ptx/Machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace h3::ptx {
namespace {

using Lanes = std::span<Thread *const>;

bool predicateOf(const Thread &thread, const Op &op) {
  return ((thread.r[op.a] & 1) != 0) != op.is(FlagNegateA);
}

// ---- Arrival: each lane waits with the mask it names.

template <Slot Op::*Mask> void waitWithMask(Thread &t, const Op &op) {
  t.block->waitForWarp(t, static_cast<uint32_t>(t.r[op.*Mask]), op);
}

/// shfl has its mask as the fourth source.
void waitForShuffle(Thread &t, const Op &op) {
  t.block->waitForWarp(t, static_cast<uint32_t>(t.further(op, 0)), op);
}

void waitAtBarrier(Thread &t, const Op &op) { t.block->waitAtBarrier(t, op); }

void activeMask(Thread &t, const Op &) { t.block->gather(t); }

// ---- What happens when all have arrived.

/// The lane that `lane` reads, and whether it is in range. c holds the clamp value in its low five
/// bits and the segment mask in bits 8 to 12.
struct Source {
  unsigned lane;
  bool inRange;
};

Source sourceOf(Modifier mode, unsigned lane, uint64_t b, uint64_t c) {
  unsigned offset = b & 31, clamp = c & 31, segment = c >> 8 & 31;
  unsigned most = (lane & segment) | (clamp & ~segment), least = lane & segment;
  switch (mode) {
  case Modifier::Up:
    return {lane - offset,
            static_cast<int>(lane) - static_cast<int>(offset) >= static_cast<int>(most)};
  case Modifier::Down:
    return {lane + offset, lane + offset <= most};
  case Modifier::Bfly:
    return {lane ^ offset, (lane ^ offset) <= most};
  default: {
    unsigned source = least | (offset & ~segment);
    return {source, source <= most};
  }
  }
}

void shuffle(BlockRun &block, Lanes lanes, uint32_t mask, const Op &op) {
  std::array<uint64_t, 32> values{};
  for (Thread *lane : lanes)
    values[lane->lane()] = lane->r[op.a];
  std::array<Source, 32> sources{};
  for (size_t i = 0; i < lanes.size(); ++i) {
    Thread &lane = *lanes[i];
    sources[i] = sourceOf(static_cast<Modifier>(op.kind), lane.lane(), lane.r[op.b], lane.r[op.c]);
    if (!sources[i].inRange)
      sources[i].lane = lane.lane();
    if ((mask >> sources[i].lane & 1) == 0) {
      const Thread *source = block.laneOf(lane, sources[i].lane);
      block.fault(lane, FaultKind::InactiveLane,
                  fmt::format("lane {} reads lane {}, which {}", lane.lane(), sources[i].lane,
                              !source                                  ? "the block does not have"
                              : source->state == Thread::State::Exited ? "has ended"
                                                                       : "is not in the mask"));
      return;
    }
  }
  for (size_t i = 0; i < lanes.size(); ++i) {
    lanes[i]->write(op.d, values[sources[i].lane]);
    lanes[i]->write(op.d2, sources[i].inRange);
  }
}

void vote(BlockRun &, Lanes lanes, uint32_t mask, const Op &op) {
  uint32_t ballot = 0;
  for (Thread *lane : lanes)
    ballot |= static_cast<uint32_t>(predicateOf(*lane, op)) << lane->lane();
  uint64_t result = ballot;
  switch (static_cast<Modifier>(op.kind)) {
  case Modifier::All:
    result = ballot == mask;
    break;
  case Modifier::Any:
    result = ballot != 0;
    break;
  case Modifier::Uni:
    result = ballot == mask || ballot == 0;
    break;
  default:
    break;
  }
  for (Thread *lane : lanes)
    lane->write(op.d, result);
}

void match(BlockRun &, Lanes lanes, uint32_t mask, const Op &op) {
  std::array<uint64_t, 32> values{};
  for (size_t i = 0; i < lanes.size(); ++i)
    values[i] = lanes[i]->r[op.a];
  for (size_t i = 0; i < lanes.size(); ++i) {
    uint32_t same = 0;
    for (size_t j = 0; j < lanes.size(); ++j)
      same |= static_cast<uint32_t>(values[i] == values[j]) << lanes[j]->lane();
    bool all = same == mask;
    lanes[i]->write(op.d, static_cast<Modifier>(op.kind) == Modifier::Any ? same : all ? mask : 0);
    lanes[i]->write(op.d2, all);
  }
}

void reduce(BlockRun &, Lanes lanes, uint32_t, const Op &op) {
  uint64_t result = lanes.front()->r[op.a];
  for (Thread *lane : lanes.subspan(1)) {
    uint64_t value = lane->r[op.a];
    bool isLess =
        op.type == Modifier::S32 ? signExtend(value, 32) < signExtend(result, 32) : value < result;
    switch (static_cast<Modifier>(op.kind)) {
    case Modifier::Add:
      result = (result + value) & 0xFFFFFFFF;
      break;
    case Modifier::Min:
      result = isLess ? value : result;
      break;
    case Modifier::Max:
      result = isLess ? result : value;
      break;
    case Modifier::And:
      result &= value;
      break;
    case Modifier::Or:
      result |= value;
      break;
    default:
      result ^= value;
      break;
    }
  }
  for (Thread *lane : lanes)
    lane->write(op.d, result);
}

/// elect: PTX leaves the lane open; the lowest is taken, as the hardware does.
void elect(BlockRun &, Lanes lanes, uint32_t mask, const Op &op) {
  auto leader = static_cast<unsigned>(std::countr_zero(mask));
  for (Thread *lane : lanes) {
    lane->write(op.d, leader);
    lane->write(op.d2, lane->lane() == leader);
  }
}

void synchronizeLanes(BlockRun &block, Lanes lanes, uint32_t, const Op &) {
  block.orderLanes(lanes);
}

uint8_t kindOf(const Instruction &instruction, std::initializer_list<Modifier> kinds) {
  for (Modifier kind : kinds)
    if (instruction.has(kind))
      return static_cast<uint8_t>(kind);
  return static_cast<uint8_t>(*(kinds.end() - 1));
}

void selectBarrier(const Instruction &instruction, Op &op) {
  if (instruction.has(Modifier::Warp)) {
    op.handler = waitWithMask<&Op::a>;
    op.warpHandler = synchronizeLanes;
    return;
  }
  BarrierKind kind = instruction.has(Modifier::Arrive) ? BarrierKind::Arrive
                     : instruction.has(Modifier::Popc) ? BarrierKind::Popc
                     : instruction.has(Modifier::And)  ? BarrierKind::And
                     : instruction.has(Modifier::Or)   ? BarrierKind::Or
                                                       : BarrierKind::Sync;
  op.kind = static_cast<uint8_t>(kind);
  size_t uncounted = kind == BarrierKind::Sync || kind == BarrierKind::Arrive ? 1 : 3;
  if (instruction.operands.size() > uncounted)
    op.kind2 = BarrierCounted;
  // `bar` is `barrier` with .aligned.
  if (instruction.opcode == Opcode::Bar || instruction.has(Modifier::Aligned))
    op.flags |= FlagAligned;
  op.handler = waitAtBarrier;
}

} // namespace

bool selectExchange(const Instruction &instruction, Op &op, std::string &) {
  switch (instruction.opcode) {
  case Opcode::Bar:
  case Opcode::Barrier:
    selectBarrier(instruction, op);
    return true;
  case Opcode::Shfl:
    op.kind = kindOf(instruction, {Modifier::Up, Modifier::Down, Modifier::Bfly, Modifier::Idx});
    op.handler = waitForShuffle;
    op.warpHandler = shuffle;
    return true;
  case Opcode::Vote:
    op.kind = kindOf(instruction, {Modifier::All, Modifier::Any, Modifier::Uni, Modifier::Ballot});
    op.handler = waitWithMask<&Op::b>;
    op.warpHandler = vote;
    return true;
  case Opcode::Match:
    op.kind = kindOf(instruction, {Modifier::Any, Modifier::All});
    op.handler = waitWithMask<&Op::b>;
    op.warpHandler = match;
    return true;
  case Opcode::Redux:
    op.kind = kindOf(instruction, {Modifier::Add, Modifier::Min, Modifier::Max, Modifier::And,
                                   Modifier::Or, Modifier::Xor});
    op.handler = waitWithMask<&Op::b>;
    op.warpHandler = reduce;
    return true;
  case Opcode::Elect:
    op.handler = waitWithMask<&Op::a>;
    op.warpHandler = elect;
    return true;
  case Opcode::Activemask:
    op.handler = activeMask;
    return true;
  default:
    return false;
  }
}

} // namespace h3::ptx
