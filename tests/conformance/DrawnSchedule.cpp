//===-- tests/conformance/DrawnSchedule.cpp - Random schedules ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DrawnSchedule.h"

#include <llvm/Support/MathExtras.h>

#include <algorithm>

namespace h3::test {
namespace {

using Place = LayoutDigit::Place;

constexpr unsigned mostThreadBits = 8;

/// Digits least significant first while they are drawn.
struct Draft {
  int64_t mostRegisters = 16;
  std::vector<LayoutDigit> digits;
  unsigned threadBits = 0;
  int64_t registers = 1, covered = 1;

  bool add(Place place, int64_t radix) {
    if (place == Place::Thread) {
      if (threadBits + llvm::Log2_64(radix) > mostThreadBits)
        place = Place::Register;
      else
        threadBits += llvm::Log2_64(radix);
    }
    if (place == Place::Register) {
      registers *= radix;
      if (registers > mostRegisters)
        return false;
    }
    digits.push_back({place, radix, 0});
    covered *= radix;
    return true;
  }
};

/// The bits of the order's digits: of a named one each is a thread or a register, of a walked one
/// registers.
bool drawByOrder(Draft &draft, ir::OrderAttr order, int64_t length, Engine &engine) {
  llvm::ArrayRef<ir::OrderDigit> digits = order.getDigits();
  for (size_t i = digits.size(); i-- > 0 && draft.covered < length;) {
    int64_t radix = digits[i].radix;
    if (!radix)
      return true; // what is left, which the caller places
    bool isNamed = static_cast<bool>(digits[i].name);
    if (!llvm::isPowerOf2_64(radix)) {
      if (!draft.add(Place::Register, radix))
        return false;
      continue;
    }
    bool threadsFirst = once(engine, 2); // most digits stay in one piece
    for (; radix > 1 && draft.covered < length; radix /= 2) {
      bool isThread = isNamed && (threadsFirst ? !once(engine, 4) : once(engine, 2));
      if (!draft.add(isThread ? Place::Thread : Place::Register, 2))
        return false;
    }
  }
  return true;
}

bool drawFreely(Draft &draft, int64_t length, Engine &engine) {
  unsigned bits = below(engine, 8);
  for (unsigned bit = 0; bit < bits && draft.covered < length; ++bit)
    if (!draft.add(once(engine, 3) ? Place::Register : Place::Thread, 2))
      return false;
  return true;
}

/// Which bit of the thread's number each thread digit has, in any order; some numbers may be
/// nobody's, so that threads repeat each other.
void numberThreads(Draft &draft, Engine &engine) {
  std::vector<unsigned> numbers;
  unsigned spare = once(engine, 4) ? 1 : 0;
  for (unsigned bit = 0; bit < std::min(draft.threadBits + spare, 10u); ++bit)
    numbers.push_back(bit);
  if (once(engine, 2))
    for (size_t i = numbers.size(); i > 1; --i)
      std::swap(numbers[i - 1], numbers[below(engine, i)]);
  size_t next = 0;
  for (LayoutDigit &digit : draft.digits)
    if (digit.place == Place::Thread)
      digit.threadBit = numbers[next++];
}

std::optional<Layout> drawLayout(const Phase &phase, bool isHeld, Engine &engine, int64_t length) {
  int64_t extent = phase.constantExtent().value_or(length);
  Draft draft;
  if (once(engine, 6))
    draft.mostRegisters = 64; // costs time
  ir::ReduceOp reduce = phase.reduce();
  bool good = reduce && reduce.getOrder() ? drawByOrder(draft, *reduce.getOrder(), extent, engine)
                                          : drawFreely(draft, extent, engine);
  if (!good)
    return {};
  int64_t left = std::max<int64_t>(1, llvm::divideCeil(extent, draft.covered));
  bool isOpen = !isHeld && !once(engine, 4); // a loop over what is left
  if (isHeld) {
    if (left > 1 && !draft.add(Place::Register, left))
      return {};
  } else if (isOpen) {
    int64_t unroll = 1 + below(engine, 3);
    if (unroll > 1 && !draft.add(Place::Register, unroll))
      return {};
  } else {
    // A loop of a length of its own, with registers above it where that divides.
    int64_t above = left % 2 == 0 && once(engine, 2) ? 2 : 1;
    draft.add(Place::Loop, left / above);
    if (above > 1 && !draft.add(Place::Register, above))
      return {};
  }
  numberThreads(draft, engine);

  // The least significant registers may be a vector.
  Layout layout;
  int64_t vector = 1, widest = int64_t(1) << below(engine, 4);
  std::vector<LayoutDigit> &digits = draft.digits;
  size_t first = 0;
  while (first < digits.size() && digits[first].place == Place::Register &&
         llvm::isPowerOf2_64(digits[first].radix) && vector * digits[first].radix <= widest &&
         (!phase.constantExtent() || extent % (vector * digits[first].radix) == 0))
    vector *= digits[first++].radix;
  if (isOpen)
    layout.digits.push_back({Place::Loop, 0, 0});
  for (size_t i = digits.size(); i-- > first;)
    layout.digits.push_back(digits[i]);
  if (vector > 1)
    layout.digits.push_back({Place::Vector, vector, 0});
  return layout;
}

std::optional<JobSchedule> drawJob(const Job &job, Engine &engine, int64_t length) {
  JobSchedule schedule;
  if (!job.hasReduction() && (job.phases.empty() || !once(engine, 3))) {
    schedule.kind = JobSchedule::Kind::Spread;
    Layout layout;
    if (int64_t vector = int64_t(1) << below(engine, 4); vector > 1 && !job.phases.empty())
      layout.digits.push_back({Place::Vector, vector, 0});
    schedule.layouts.push_back(layout);
    return schedule;
  }
  bool isHeld = job.commonExtent() && !once(engine, 3);
  schedule.kind = isHeld ? JobSchedule::Kind::Hold : JobSchedule::Kind::Loop;
  if (isHeld) {
    // The layout of the phase with the most to say.
    const Phase *leading = &job.phases.front();
    for (const Phase &phase : job.phases)
      if (ir::ReduceOp reduce = phase.reduce(); reduce && reduce.getOrder())
        leading = &phase;
    std::optional<Layout> layout = drawLayout(*leading, true, engine, length);
    if (!layout)
      return {};
    schedule.layouts.push_back(*layout);
    schedule.rows = once(engine, 4) ? 1 + below(engine, 3) : 1;
    return schedule;
  }
  for (const Phase &phase : job.phases) {
    std::optional<Layout> layout = drawLayout(phase, false, engine, length);
    if (!layout)
      return {};
    schedule.layouts.push_back(*layout);
  }
  return schedule;
}

/// A row held by threads of one warp, each with elements that are neighbours: what shuffles of
/// other elements need.
std::optional<JobSchedule> drawNeighbours(const Job &job, Engine &engine) {
  std::optional<int64_t> extent;
  if (job.commonExtent())
    extent = job.phases.front().constantExtent();
  if (!extent)
    return {};
  int64_t threads = int64_t(2) << below(engine, 5);
  int64_t held = std::max<int64_t>(1, static_cast<int64_t>(llvm::PowerOf2Ceil(*extent)) / threads);
  int64_t vector = std::min<int64_t>(held, int64_t(1) << below(engine, 4));
  JobSchedule how;
  how.kind = JobSchedule::Kind::Hold;
  Layout layout;
  layout.digits.push_back({LayoutDigit::Place::Thread, threads, 0});
  if (held > vector)
    layout.digits.push_back({LayoutDigit::Place::Register, held / vector, 0});
  if (vector > 1)
    layout.digits.push_back({LayoutDigit::Place::Vector, vector, 0});
  how.layouts.push_back(std::move(layout));
  how.rows = once(engine, 3) ? 2 : 1;
  return how;
}

} // namespace

std::optional<KernelSchedule> drawSchedule(const std::vector<Job> &jobs, Engine &engine,
                                           int64_t length) {
  for (unsigned attempt = 0; attempt < 200; ++attempt) {
    KernelSchedule schedule;
    schedule.accessBytes = pick(engine, std::vector<unsigned>{0, 0, 2, 4, 8, 16, 16});
    schedule.indexBits = once(engine, 4) ? 64 : 32;
    schedule.streamsLoads = once(engine, 2);
    schedule.streamsStores = once(engine, 2);
    schedule.remapsByShuffle = jobs.front().remapped && once(engine, 2);
    unsigned threads = 32;
    for (const Job &job : jobs) {
      std::optional<JobSchedule> how =
          schedule.remapsByShuffle ? drawNeighbours(job, engine) : drawJob(job, engine, length);
      if (!how)
        break;
      threads = std::max(threads, how->threads());
      schedule.jobs.push_back(std::move(*how));
    }
    if (schedule.jobs.size() != jobs.size())
      continue;
    schedule.blockThreads = std::min(1024u, threads << below(engine, 3));
    if (refusal(jobs, schedule, Machine()).empty())
      return schedule;
  }
  return {};
}

} // namespace h3::test
