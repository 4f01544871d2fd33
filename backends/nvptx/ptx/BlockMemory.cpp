//===-- backends/nvptx/ptx/BlockMemory.cpp - Checked accesses -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Block.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3::ptx {
namespace {

std::string_view verb(BlockRun::AccessKind kind) {
  return kind == BlockRun::AccessKind::Read    ? "load"
         : kind == BlockRun::AccessKind::Write ? "store"
                                               : "atomic access";
}

} // namespace

SharedBytes *GridMemory::find(uint64_t address) {
  auto holds = [&](const SharedBytes &region) {
    return address - region.address < region.bytes.size();
  };
  if (lastHit && holds(*lastHit))
    return lastHit;
  for (SharedBytes &region : regions)
    if (holds(region))
      return lastHit = &region;
  return nullptr;
}

Space BlockRun::resolve(uint64_t &address) {
  uint64_t offset = address % windowBytes;
  switch (address - offset) {
  case windowShared:
    address = offset;
    return Space::Shared;
  case windowLocal:
    address = offset;
    return Space::Local;
  case windowParam:
    address = offset;
    return Space::Param;
  case windowConst:
    address = offset;
    return Space::Const;
  default:
    return Space::Global;
  }
}

void BlockRun::reportConflict(Thread &thread, const SharedBytes &region, const Conflict &conflict,
                              AccessKind kind) {
  std::string place = fmt::format("byte {} of {}", conflict.offset, region.name);
  auto lineOf = [&](uint32_t op) { return code.kernel->instructions[op].line.number; };
  std::string other = conflict.otherBlock || conflict.otherThread >= threadCount
                          ? std::string("a thread of another block")
                          : fmt::format("{} at line {}", threadText(conflict.otherThread),
                                        lineOf(conflict.otherOp));
  switch (conflict.kind) {
  case Conflict::Kind::None:
    return;
  case Conflict::Kind::Uninitialised:
    fault(thread, FaultKind::Uninitialised,
          fmt::format("{} is read, and nothing has written it", place));
    return;
  case Conflict::Kind::Race:
    fault(thread, FaultKind::Race,
          fmt::format("{} is {} here and {} by {}, with nothing that orders the two", place,
                      kind == AccessKind::Read ? "read" : "written",
                      conflict.otherWrote ? "written" : "read", other));
    return;
  case Conflict::Kind::NonCoherent:
    fault(
        thread, FaultKind::NonCoherent,
        conflict.otherWrote
            ? fmt::format("{} is loaded with .nc and was written by {} of the same launch", place,
                          other)
            : fmt::format("{} is written here and was loaded with .nc in the same launch", place));
    return;
  }
}

std::byte *BlockRun::accessLocal(Thread &thread, const Op &, uint64_t address, unsigned bytes,
                                 AccessKind kind) {
  uint64_t first = thread.index * code.layout.localBytes + address;
  for (unsigned i = 0; i < bytes; ++i) {
    if (kind == AccessKind::Write) {
      localSet[first + i] = 1;
    } else if (!localSet[first + i]) {
      fault(thread, FaultKind::Uninitialised,
            fmt::format("byte {} of the thread's local memory is read, and nothing has written it",
                        address + i));
      return nullptr;
    }
  }
  return localData.data() + first;
}

std::byte *BlockRun::access(Thread &thread, const Op &op, AccessKind kind) {
  uint64_t address = thread.r[op.a] + op.imm;
  if (op.is(FlagAddress32))
    address &= 0xFFFFFFFF;
  unsigned bytes = unsigned(op.bytes) * op.count;
  Space space = op.space;
  if (space == Space::Generic)
    space = resolve(address);

  if (address % bytes != 0) [[unlikely]] {
    fault(thread, FaultKind::Misaligned,
          fmt::format("{} of {} bytes at address {:#x}", verb(kind), bytes, address));
    return nullptr;
  }
  auto outside = [&](std::string_view what, uint64_t size) {
    fault(thread, FaultKind::OutOfBounds,
          fmt::format("{} of {} bytes at {:#x}, {} has {} bytes", verb(kind), bytes, address, what,
                      size));
    return nullptr;
  };
  auto isInside = [&](uint64_t size) { return size >= bytes && address <= size - bytes; };

  SharedBytes *region = nullptr;
  switch (space) {
  case Space::Param:
    if (!isInside(memory.parameters.size()))
      return outside("the parameter space", memory.parameters.size());
    if (kind != AccessKind::Read) {
      fault(thread, FaultKind::ReadOnly, "parameters cannot be written");
      return nullptr;
    }
    return memory.parameters.data() + address;
  case Space::Const:
    if (!isInside(memory.constants.size()))
      return outside("constant memory", memory.constants.size());
    if (kind != AccessKind::Read) {
      fault(thread, FaultKind::ReadOnly, "constant memory cannot be written");
      return nullptr;
    }
    return memory.constants.data() + address;
  case Space::Local:
    if (!isInside(code.layout.localBytes))
      return outside("the thread's local memory", code.layout.localBytes);
    return accessLocal(thread, op, address, bytes, kind);
  case Space::Shared:
    if (!isInside(sharedData.size()))
      return outside("shared memory", sharedData.size());
    region = &shared;
    break;
  case Space::Global:
  case Space::Generic:
    region = memory.find(address);
    if (!region) {
      fault(thread, FaultKind::OutOfBounds,
            fmt::format("{} of {} bytes at {:#x}, where no memory is", verb(kind), bytes, address));
      return nullptr;
    }
    address -= region->address;
    if (!isInside(region->bytes.size()))
      return outside(region->name, region->bytes.size());
    break;
  }
  if (kind != AccessKind::Read && !region->writable) {
    fault(thread, FaultKind::ReadOnly,
          fmt::format("{} to {}, which the launch may not write", verb(kind), region->name));
    return nullptr;
  }
  if (region->tracked) {
    Access access;
    access.thread = thread.index;
    access.clock = thread.clock;
    access.op = op.instruction;
    access.write = kind != AccessKind::Read;
    access.atomic = kind == AccessKind::Atomic;
    access.nonCoherent = op.is(FlagNonCoherent);
    Conflict conflict = region->shadow.access(access, address, bytes, order);
    if (conflict.kind != Conflict::Kind::None) [[unlikely]] {
      reportConflict(thread, *region, conflict, kind);
      return nullptr;
    }
  }
  return region->bytes.data() + address;
}

} // namespace h3::ptx
