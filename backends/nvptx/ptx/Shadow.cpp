//===-- backends/nvptx/ptx/Shadow.cpp - Who touched which byte ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Shadow.h"

#include <algorithm>
#include <bit>

namespace h3::ptx {

void Knowledge::reset(unsigned count) {
  if (threads != count)
    rows.clear();
  threads = count;
  last = 1;
  base = 0;
  exitClocks.assign(count, UINT32_MAX);
  rowBase.assign(count, UINT32_MAX);
}

uint32_t Knowledge::known(unsigned thread, unsigned other) const {
  return rowBase[thread] == base ? std::max(base, rows[thread * threads + other]) : base;
}

std::vector<uint32_t> Knowledge::rowOf(unsigned thread) const {
  std::vector<uint32_t> row(threads);
  for (unsigned other = 0; other < threads; ++other)
    row[other] = known(thread, other);
  return row;
}

void Knowledge::synchronize(const std::vector<uint16_t> &members, uint32_t clock,
                            const std::vector<std::vector<uint32_t>> &givers) {
  if (rows.empty())
    rows.assign(static_cast<size_t>(threads) * threads, 0);
  std::vector<uint32_t> joined(threads, base);
  for (const std::vector<uint32_t> &row : givers)
    for (unsigned other = 0; other < threads; ++other)
      joined[other] = std::max(joined[other], row[other]);
  for (uint16_t member : members)
    if (rowBase[member] == base)
      for (unsigned other = 0; other < threads; ++other)
        joined[other] = std::max(joined[other], rows[member * threads + other]);
  for (uint16_t member : members)
    joined[member] = clock;
  for (uint16_t member : members) {
    std::copy(joined.begin(), joined.end(), rows.begin() + member * threads);
    rowBase[member] = base;
  }
}

void Shadow::reset(uint64_t bytes, bool initialised) {
  flags.assign(bytes, initialised ? Initialised : 0);
  lineIndex.assign(bytes / lineBytes + 1, 0);
  lines.clear();
  touched.clear();
  groupsUsed = 0;
}

Conflict Shadow::access(const Access &access, uint64_t offset, unsigned bytes,
                        const Knowledge &order) {
  for (uint64_t place = offset, end = offset + bytes; place < end;) {
    uint64_t line = place / lineBytes;
    if (lineIndex[line] == 0) {
      lines.emplace_back();
      touched.push_back(line);
      lineIndex[line] = static_cast<uint32_t>(lines.size());
    }
    Line &cells = lines[lineIndex[line] - 1];
    for (; place < end && place / lineBytes == line; ++place) {
      Conflict conflict = accessByte(access, flags[place], cells[place % lineBytes], order);
      if (conflict.kind != Conflict::Kind::None) [[unlikely]] {
        conflict.offset = place;
        return conflict;
      }
    }
  }
  return {};
}

Conflict Shadow::checkReaders(const Access &access, const Cell &cell,
                              const Knowledge &order) const {
  Conflict conflict{Conflict::Kind::Race, 0, false, false, cell.reader, cell.readOp};
  if (cell.reader != several)
    return cell.reader == access.thread ||
                   order.isBefore(cell.reader, cell.readClock, access.thread)
               ? Conflict()
               : conflict;
  for (const Readers &readers : groups[cell.readClock])
    for (unsigned word = 0; word < readers.threads.size(); ++word)
      for (uint64_t rest = readers.threads[word]; rest != 0; rest &= rest - 1) {
        unsigned thread = word * 64 + static_cast<unsigned>(std::countr_zero(rest));
        if (thread == access.thread || order.isBefore(thread, readers.clock, access.thread))
          continue;
        conflict.otherThread = static_cast<uint16_t>(thread);
        return conflict;
      }
  return {};
}

void Shadow::addReader(Group &group, unsigned thread, uint32_t clock) {
  auto it = std::find_if(group.begin(), group.end(),
                         [&](const Readers &readers) { return readers.clock == clock; });
  if (it == group.end())
    it = group.insert(it, Readers{clock, {}});
  it->threads[thread / 64] |= uint64_t(1) << (thread % 64);
}

void Shadow::recordRead(const Access &access, Cell &cell, const Knowledge &order) {
  if (cell.reader == several) {
    addReader(groups[cell.readClock], access.thread, access.clock);
    return;
  }
  if (cell.reader == nobody || cell.reader == access.thread ||
      order.isBefore(cell.reader, cell.readClock, access.thread)) {
    cell.reader = access.thread;
    cell.readClock = access.clock;
    cell.readOp = access.op;
    return;
  }
  if (groupsUsed == groups.size())
    groups.emplace_back();
  Group &group = groups[groupsUsed];
  group.clear();
  addReader(group, cell.reader, cell.readClock);
  addReader(group, access.thread, access.clock);
  cell.reader = several;
  cell.readClock = static_cast<uint32_t>(groupsUsed++);
}

Conflict Shadow::accessByte(const Access &access, uint8_t &flag, Cell &cell,
                            const Knowledge &order) {
  bool reads = !access.write || access.atomic;
  if (reads && (flag & Initialised) == 0) [[unlikely]]
    return {Conflict::Kind::Uninitialised};
  if (access.nonCoherent ? (flag & Written) != 0 : access.write && (flag & ReadNonCoherently) != 0)
      [[unlikely]] {
    Conflict conflict{Conflict::Kind::NonCoherent};
    conflict.otherWrote = access.nonCoherent;
    conflict.otherBlock = cell.writer == nobody;
    conflict.otherThread = cell.writer;
    conflict.otherOp = cell.writeOp;
    return conflict;
  }
  // An earlier block's accesses have no order with this one's.
  uint8_t against = WrittenBefore;
  if (!access.atomic)
    against |= AtomicBefore;
  if (access.write)
    against |= ReadBefore;
  if ((flag & against) != 0) [[unlikely]]
    return {Conflict::Kind::Race, 0, true, (flag & (WrittenBefore | AtomicBefore)) != 0};

  bool againstWriter =
      cell.writer != nobody && cell.writer != access.thread && !(access.atomic && cell.atomicWrite);
  if (againstWriter && !order.isBefore(cell.writer, cell.writeClock, access.thread)) [[unlikely]]
    return {Conflict::Kind::Race, 0, false, true, cell.writer, cell.writeOp};
  if (access.write) {
    if (cell.reader != nobody)
      if (Conflict conflict = checkReaders(access, cell, order);
          conflict.kind != Conflict::Kind::None)
        return conflict;
    cell.writer = access.thread;
    cell.writeClock = access.clock;
    cell.writeOp = access.op;
    cell.atomicWrite = access.atomic;
    cell.reader = nobody;
    flag |= Initialised | Written;
    return {};
  }
  if (access.nonCoherent)
    flag |= ReadNonCoherently;
  recordRead(access, cell, order);
  return {};
}

void Shadow::endBlock() {
  for (size_t i = 0; i < touched.size(); ++i) {
    uint64_t first = touched[i] * lineBytes;
    for (unsigned j = 0; j < lineBytes && first + j < flags.size(); ++j) {
      const Cell &cell = lines[i][j];
      if (cell.writer != nobody)
        flags[first + j] |= cell.atomicWrite ? AtomicBefore : WrittenBefore;
      if (cell.reader != nobody)
        flags[first + j] |= ReadBefore;
    }
    lineIndex[touched[i]] = 0;
  }
  lines.clear();
  touched.clear();
  groupsUsed = 0;
}

} // namespace h3::ptx
