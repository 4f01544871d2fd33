//===-- codegen/kernel/Schedule.cpp - Where and when ----------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Schedule.h"

#include "codegen/kernel/OrderAtoms.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/MathExtras.h>
#include <mlir/IR/Matchers.h>

using namespace mlir;

namespace h3 {

using Place = LayoutDigit::Place;

unsigned JobSchedule::threads() const {
  unsigned most = 1;
  for (const Layout &layout : layouts)
    most = std::max(most, layout.threads());
  return most;
}

std::string JobSchedule::text() const {
  if (kind == Kind::Spread) {
    unsigned vector = layouts.empty() ? 1 : layouts.front().vector();
    return "spread(v:" + std::to_string(vector) + ")";
  }
  std::string result = kind == Kind::Hold ? "hold" : "loop";
  for (const Layout &layout : layouts) {
    std::string inner = layout.text();
    result += (&layout == &layouts.front() ? "(" : "; ") + inner.substr(1, inner.size() - 2);
  }
  result += ")";
  if (rows > 1)
    result += " rows:" + std::to_string(rows);
  return result;
}

std::string KernelSchedule::name() const {
  std::string access = accessBytes ? "v" + std::to_string(accessBytes) : "s";
  return access + "_i" + std::to_string(indexBits) +
         (longestRow ? "_n" + std::to_string(longestRow) : "");
}

std::string KernelSchedule::text() const {
  std::string result = "access=" + std::to_string(std::max(1u, accessBytes)) +
                       " index=" + std::to_string(indexBits) +
                       " block=" + std::to_string(blockThreads) +
                       (remapsByShuffle ? " remap=shuffle" : "");
  if (streamsLoads || streamsStores)
    result += std::string(" hints=") + (streamsLoads ? "loads" : "") +
              (streamsLoads && streamsStores ? "+" : "") + (streamsStores ? "stores" : "");
  for (const JobSchedule &job : jobs)
    result += " | " + job.text();
  return result;
}

/// `loads`, `stores` or `loads+stores`.
static bool parseHints(StringRef text, KernelSchedule &schedule) {
  SmallVector<StringRef> hints;
  text.split(hints, '+');
  for (StringRef hint : hints) {
    if (hint != "loads" && hint != "stores")
      return false;
    bool &flag = hint == "loads" ? schedule.streamsLoads : schedule.streamsStores;
    if (flag)
      return false;
    flag = true;
  }
  return true;
}

static std::optional<JobSchedule> parseJob(StringRef text, std::string &error) {
  JobSchedule job;
  StringRef rest = text;
  if (rest.consume_front("hold("))
    job.kind = JobSchedule::Kind::Hold;
  else if (rest.consume_front("loop("))
    job.kind = JobSchedule::Kind::Loop;
  else if (rest.consume_front("spread("))
    job.kind = JobSchedule::Kind::Spread;
  else {
    error = "'" + text.str() +
            "' is no schedule of a job: expected hold(...), loop(...) or "
            "spread(v:N)";
    return {};
  }
  auto [inner, behind] = rest.split(')');
  SmallVector<StringRef> layouts;
  inner.split(layouts, ';');
  for (StringRef layout : layouts) {
    std::optional<Layout> parsed = Layout::parse("(" + layout.trim().str() + ")", error);
    if (!parsed)
      return {};
    job.layouts.push_back(*parsed);
  }
  behind = behind.trim();
  if (behind.consume_front("rows:") &&
      (behind.getAsInteger(10, job.rows) || job.rows < 1 || job.rows > 64)) {
    error = "expected 1 to 64 rows";
    return {};
  }
  if (job.rows == 1 && !behind.empty()) {
    error = "'" + behind.str() + "' behind the schedule of a job";
    return {};
  }
  return job;
}

std::optional<KernelSchedule> KernelSchedule::parse(std::string_view text, std::string &error) {
  KernelSchedule schedule;
  SmallVector<StringRef> parts;
  StringRef(text).split(parts, '|');
  SmallVector<StringRef> settings;
  parts.front().split(settings, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef setting : settings) {
    auto [key, value] = setting.split('=');
    unsigned number = 0;
    if (setting == "remap=shuffle") {
      schedule.remapsByShuffle = true;
      continue;
    }
    if (key == "hints") {
      if (parseHints(value, schedule))
        continue;
      error = "'" + setting.str() + "': expected hints=loads, hints=stores or hints=loads+stores";
      return {};
    }
    if (value.getAsInteger(10, number)) {
      error = "'" + setting.str() +
              "' is no setting: expected access=N, index=N, block=N, remap=shuffle or hints=...";
      return {};
    }
    if (key == "access" && llvm::isPowerOf2_32(number) && number <= 32) {
      schedule.accessBytes = number == 1 ? 0 : number;
    } else if (key == "index" && (number == 32 || number == 64)) {
      schedule.indexBits = number;
    } else if (key == "block" && llvm::isPowerOf2_32(number) && number <= 1024) {
      schedule.blockThreads = number;
    } else {
      error = "'" + setting.str() +
              "': expected access=1, 2, 4, 8, 16 or 32, index=32 or 64, "
              "block=1 to 1024, a power of two";
      return {};
    }
  }
  for (StringRef part : ArrayRef(parts).drop_front()) {
    std::optional<JobSchedule> job = parseJob(part.trim(), error);
    if (!job)
      return {};
    schedule.jobs.push_back(*job);
  }
  return schedule;
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// Whether the order's open digit is named, is a loop of the layout, and can be joined as the loop
/// goes: serially, in one piece.
static bool runsOnline(ir::OrderAttr order, const OrderAtoms &atoms) {
  for (const ir::OrderStage &stage : order.getStages()) {
    const OrderAtoms::Digit &digit = atoms.digits[stage.digit];
    for (unsigned atom : digit.atoms)
      if (atoms.atoms[atom].place == Place::Loop)
        return stage.join == ir::Join::Serial && digit.atoms.size() == 1 && atom == 0 &&
               (digit.populated == 0 || digit.populated == digit.radix);
  }
  return false;
}

static std::string phaseRefusal(const Phase &phase, const Layout &layout, bool holdsRow,
                                bool isPartial, const Machine &machine) {
  if (std::string wrong = layout.invalid(); !wrong.empty())
    return wrong;
  if (layout.registers() > machine.mostHeld)
    return "a thread holds more than " + std::to_string(machine.mostHeld) + " elements";
  std::optional<int64_t> extent = phase.constantExtent();
  std::optional<int64_t> capacity = layout.capacity();
  if (holdsRow && extent && capacity && *capacity < *extent)
    return "the layout " + layout.text() + " holds " + std::to_string(*capacity) +
           " elements, the row has " + std::to_string(*extent);
  if (extent && layout.vector() > 1 && *extent % layout.vector() != 0 && !isPartial)
    return "rows of " + std::to_string(*extent) + " elements have no whole vectors of " +
           std::to_string(layout.vector());
  if (layout.vector() > phase.widestVector && !isPartial)
    return "rows of this case have no whole vectors of " + std::to_string(layout.vector());
  ir::ReduceOp reduce = phase.reduce();
  if (!reduce || !reduce.getOrder())
    return {};
  std::string error;
  std::optional<OrderAtoms> atoms =
      OrderAtoms::of(*reduce.getOrder(), extent, layout, machine, error);
  if (!atoms)
    return layout.text() + ": " + error;
  for (const OrderAtoms::Digit &digit : atoms->digits)
    for (unsigned atom : digit.atoms)
      if (digit.isNamed && atoms->atoms[atom].place == Place::Loop &&
          !runsOnline(*reduce.getOrder(), *atoms))
        return layout.text() + ": a digit that makes slots would be a loop";
  return {};
}

std::string refusal(const Job &job, const JobSchedule &how, unsigned accessBytes,
                    const Machine &machine) {
  size_t expected = how.kind == JobSchedule::Kind::Loop ? job.phases.size() : 1;
  if (how.layouts.size() != expected)
    return "the job has " + std::to_string(job.phases.size()) + " phases, the schedule " +
           std::to_string(how.layouts.size()) + " layouts";
  if (how.rows > 1 &&
      (how.kind != JobSchedule::Kind::Hold || ir::ForallOp(job.rows).getIndices().empty()))
    return "a team takes several rows only where it holds them";
  switch (how.kind) {
  case JobSchedule::Kind::Spread:
    if (job.hasReduction())
      return "a job with a reduction cannot be spread";
    if (!job.phases.empty() && !job.commonExtent())
      return "rows of different extents cannot be spread";
    if (how.layouts.front().registers() != how.layouts.front().vector() ||
        how.layouts.front().threads() != 1 || how.layouts.front().hasLoop())
      return "a spread job has a vector and nothing else";
    if (job.aliasReads != AliasReads::None)
      return "an input that may be overwritten is read elsewhere in the row: a team has to have it";
    break;
  case JobSchedule::Kind::Hold:
    if (!job.commonExtent())
      return "a held job has one extent in all its phases";
    if (how.layouts.front().hasLoop())
      return "a held row has no loop";
    break;
  case JobSchedule::Kind::Loop:
    if (job.aliasReads == AliasReads::Elsewhere)
      return "an input that may be overwritten is read elsewhere in the row: it has to be held";
    break;
  }
  for (auto [index, phase] : llvm::enumerate(job.phases))
    if (std::string wrong = phaseRefusal(phase, how.layout(index),
                                         /*holdsRow=*/how.kind != JobSchedule::Kind::Spread,
                                         /*isPartial=*/machine.masksVectors && !accessBytes &&
                                             how.kind != JobSchedule::Kind::Spread,
                                         machine);
        !wrong.empty())
      return wrong;
  return {};
}

/// Whether \p condition on a row's \p element is the same for all of a thread's \p held elements.
static bool agrees(Value condition, Value element, int64_t held) {
  Operation *op = condition.getDefiningOp();
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return agrees(op->getOperand(0), element, held) && agrees(op->getOperand(1), element, held);
  auto comparison = dyn_cast_or_null<arith::CmpIOp>(op);
  APInt bound;
  if (!comparison || comparison.getLhs() != element ||
      !matchPattern(comparison.getRhs(), m_ConstantInt(&bound)))
    return matchPattern(condition, m_Constant());
  switch (comparison.getPredicate()) {
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
  case arith::CmpIPredicate::sge:
  case arith::CmpIPredicate::uge:
    return bound.srem(held) == 0;
  default:
    return false;
  }
}

/// Whether \p index is in the same place of another thread as \p element is in its own, where a
/// thread has \p held elements that are neighbours.
static bool keepsPlace(Value index, Value element, int64_t held) {
  if (index == element)
    return true;
  Operation *op = index.getDefiningOp();
  APInt distance;
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return keepsPlace(op->getOperand(0), element, held) &&
           matchPattern(op->getOperand(1), m_ConstantInt(&distance)) && distance.srem(held) == 0;
  auto choice = dyn_cast_or_null<arith::SelectOp>(op);
  return choice && agrees(choice.getCondition(), element, held) &&
         keepsPlace(choice.getTrueValue(), element, held) &&
         keepsPlace(choice.getFalseValue(), element, held);
}

/// Why \p how cannot fetch the elements that \p job uses of others by shuffles; empty if it can.
static std::string remapRefusal(const Job &job, const JobSchedule &how, const Machine &machine) {
  for (auto [number, phase] : llvm::enumerate(job.phases))
    for (auto remap : phase.body().getOps<ir::RemapOp>()) {
      const Layout &layout = how.layout(number);
      bool isPlain = how.kind == JobSchedule::Kind::Hold && layout.threads() <= machine.waveThreads;
      for (auto [place, digit] : llvm::enumerate(layout.digits))
        isPlain &= (digit.place == Place::Thread) == (place == 0) && digit.threadBit == 0;
      if (!isPlain)
        return "remaps are shuffled where a row is held by threads of one warp, each of which has "
               "elements that are neighbours";
      if (!keepsPlace(remap.getIndex(), phase.element(), layout.registers()))
        return "an element is used whose distance is no multiple of the " +
               std::to_string(layout.registers()) + " elements of a thread";
    }
  return {};
}

std::string refusal(const std::vector<Job> &jobs, const KernelSchedule &schedule,
                    const Machine &machine) {
  if (jobs.size() != schedule.jobs.size())
    return "the operator has " + std::to_string(jobs.size()) + " jobs, the schedule " +
           std::to_string(schedule.jobs.size());
  if (schedule.blockThreads > machine.mostThreads)
    return "a block has at most " + std::to_string(machine.mostThreads) + " threads";
  if (schedule.remapsByShuffle && machine.waveThreads == 1)
    return "there are no shuffles";
  for (auto [job, how] : llvm::zip(jobs, schedule.jobs)) {
    if (how.threads() > schedule.blockThreads)
      return "a team of " + std::to_string(how.threads()) + " threads does not fit in a block of " +
             std::to_string(schedule.blockThreads);
    if (schedule.remapsByShuffle && !job.remapped)
      return "no element is used that another thread may hold: there is nothing to shuffle";
    const Job &form = schedule.remapsByShuffle ? *job.remapped : job;
    std::string wrong = refusal(form, how, schedule.accessBytes, machine);
    if (wrong.empty() && schedule.remapsByShuffle)
      wrong = remapRefusal(form, how, machine);
    if (!wrong.empty())
      return wrong;
  }
  return {};
}

} // namespace h3
