//===-- codegen/kernel/Schedule.cpp - Where and when ----------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Schedule.h"

#include "codegen/kernel/OrderAtoms.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/MathExtras.h>

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
                       " block=" + std::to_string(blockThreads);
  for (const JobSchedule &job : jobs)
    result += " | " + job.text();
  return result;
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
    if (value.getAsInteger(10, number)) {
      error = "'" + setting.str() + "' is no setting: expected access=N, index=N or block=N";
      return {};
    }
    if (key == "access" && llvm::isPowerOf2_32(number) && number <= 32) {
      schedule.accessBytes = number == 1 ? 0 : number;
    } else if (key == "index" && (number == 32 || number == 64)) {
      schedule.indexBits = number;
    } else if (key == "block" && llvm::isPowerOf2_32(number) && number >= 32 && number <= 1024) {
      schedule.blockThreads = number;
    } else {
      error = "'" + setting.str() +
              "': expected access=1, 2, 4, 8 or 16, index=32 or 64, "
              "block=32 to 1024, a power of two";
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

static std::string phaseRefusal(const Phase &phase, const Layout &layout, bool holdsRow) {
  if (std::string wrong = layout.invalid(); !wrong.empty())
    return wrong;
  std::optional<int64_t> extent = phase.constantExtent();
  std::optional<int64_t> capacity = layout.capacity();
  if (holdsRow && extent && capacity && *capacity < *extent)
    return "the layout " + layout.text() + " holds " + std::to_string(*capacity) +
           " elements, the row has " + std::to_string(*extent);
  if (extent && layout.vector() > 1 && *extent % layout.vector() != 0)
    return "rows of " + std::to_string(*extent) + " elements have no whole vectors of " +
           std::to_string(layout.vector());
  if (layout.vector() > phase.widestVector)
    return "rows of this case have no whole vectors of " + std::to_string(layout.vector());
  ir::ReduceOp reduce = phase.reduce();
  if (!reduce || !reduce.getOrder())
    return {};
  std::string error;
  std::optional<OrderAtoms> atoms = OrderAtoms::of(*reduce.getOrder(), extent, layout, error);
  if (!atoms)
    return layout.text() + ": " + error;
  for (const OrderAtoms::Digit &digit : atoms->digits)
    for (unsigned atom : digit.atoms)
      if (digit.isNamed && atoms->atoms[atom].place == Place::Loop &&
          !runsOnline(*reduce.getOrder(), *atoms))
        return layout.text() + ": a digit that makes slots would be a loop";
  return {};
}

std::string refusal(const Job &job, const JobSchedule &how) {
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
                                         /*holdsRow=*/how.kind != JobSchedule::Kind::Spread);
        !wrong.empty())
      return wrong;
  return {};
}

std::string refusal(const std::vector<Job> &jobs, const KernelSchedule &schedule) {
  if (jobs.size() != schedule.jobs.size())
    return "the operator has " + std::to_string(jobs.size()) + " jobs, the schedule " +
           std::to_string(schedule.jobs.size());
  for (auto [job, how] : llvm::zip(jobs, schedule.jobs)) {
    if (how.threads() > schedule.blockThreads)
      return "a team of " + std::to_string(how.threads()) + " threads does not fit in a block of " +
             std::to_string(schedule.blockThreads);
    if (std::string wrong = refusal(job, how); !wrong.empty())
      return wrong;
  }
  return {};
}

} // namespace h3
