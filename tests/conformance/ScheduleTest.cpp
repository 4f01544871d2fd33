//===-- tests/conformance/ScheduleTest.cpp - Random schedules of every operator -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// No schedule can change a bit: every operator of specs/ by schedules that are drawn at random, on
// the PTX interpreter, compared byte for byte with the reference interpreter.
//
//===----------------------------------------------------------------------===//

#include "DrawnSchedule.h"
#include "Operators.h"
#include "Summary.h"
#include "backends/Backend.h"

#include "codegen/kernel/Prepare.h"

#include <fmt/core.h>
#include <mlir/Pass/PassManager.h>

#include <deque>
#include <map>
#include <set>

namespace h3::test {
namespace {

/// One case of the sizes of one instance, and calls of it with what the reference makes of them.
struct Case {
  const Instance *instance = nullptr;
  const PreparedOperator *prepared = nullptr;
  size_t number = 0;
  std::deque<Expected> calls;
};

/// The elements that rows of a length known at run time may have.
int64_t longestRow(const std::vector<Job> &jobs, const KernelSchedule &schedule) {
  int64_t longest = 700;
  for (size_t job = 0; job < jobs.size(); ++job)
    for (size_t phase = 0; phase < jobs[job].phases.size(); ++phase)
      if (std::optional<int64_t> capacity = schedule.jobs[job].layout(phase).capacity();
          capacity && !jobs[job].phases[phase].constantExtent() &&
          schedule.jobs[job].kind != JobSchedule::Kind::Spread)
        longest = std::min(longest, std::max<int64_t>(16, *capacity));
  return longest;
}

/// What drawing for one operator came to.
struct Drawn {
  std::set<std::string> schedules; ///< by instance, case and text
  std::set<std::string> layouts;   ///< without access, index and block
  std::set<size_t> ptx;            ///< hashes
  size_t ran = 0, mappings = 0;
  std::map<std::string, size_t> impossible; ///< reasons that came to light while code was made
};

class PtxSchedule : public testing::TestWithParam<Operator> {
protected:
  void run(Case &where, const KernelSchedule &schedule, Engine &engine, Tally &tally);
  bool serve(Case &where, Machine &machine, const Expected &expected, Tally &tally);

  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  const Target &target = *findTarget("sm_90");
  Drawn drawn;
};

/// Runs the call if the variant serves it. False if it does not, or launches nothing.
bool PtxSchedule::serve(Case &where, Machine &machine, const Expected &expected, Tally &tally) {
  const Instance &instance = *where.instance;
  const DrawnCall &call = *expected.call;
  std::string error;
  const std::vector<uint64_t> addresses = machine.place(call, error);
  EXPECT_EQ(error, "");
  std::optional<plan::Launch> launch =
      launchOf(machine.plan(), 0, forPlan(instance, call, addresses), call.parameters, error);
  EXPECT_EQ(error, "");
  if (!launch || launch->isEmpty())
    return false;
  SCOPED_TRACE(call.text);
  EXPECT_EQ(machine.launch(*launch), "");
  const Memory memory = machine.fetch(call, error);
  EXPECT_EQ(error, "");
  EXPECT_EQ(firstDifference(instance, call, memory, expected.memory), "");
  tally.ran("drawn", memory);
  return true;
}

void PtxSchedule::run(Case &where, const KernelSchedule &schedule, Engine &engine, Tally &tally) {
  const Instance &instance = *where.instance;
  const std::vector<Job> &jobs = where.prepared->jobs[where.number];
  std::string error;
  std::optional<Image> image = nvptx::compileVariant(*context, *instance.program, *where.prepared,
                                                     where.number, schedule, target, error);
  if (!image) {
    EXPECT_FALSE(error.starts_with("internal error")) << error;
    ++drawn.impossible[error];
    return;
  }
  const size_t hash = std::hash<std::string>()(image->text);
  std::unique_ptr<Machine> machine = makePtxMachine(std::move(*image), target, error);
  ASSERT_TRUE(machine) << error;

  constexpr size_t CallsWanted = 2, DrawsAtMost = 200;
  size_t served = 0;
  for (const Expected &known : where.calls) {
    served += serve(where, *machine, known, tally);
    if (served == CallsWanted || HasFailure())
      break;
  }
  // None of the calls that are known suits: the schedule asks for other lengths or alignments.
  const DrawLimits limits{.elements = 500, .longest = longestRow(jobs, schedule), .hasRows = true};
  for (size_t k = 0; k < DrawsAtMost && !served && !HasFailure(); ++k) {
    Expected fresh;
    fresh.call = drawCall(instance, engine, limits);
    if (!fresh.call)
      continue;
    std::vector<uint64_t> addresses;
    for (size_t buffer = 0; buffer < fresh.call->buffers.size(); ++buffer)
      addresses.push_back((buffer + 1) << 40);
    std::optional<plan::Launch> launch =
        launchOf(machine->plan(), 0, forPlan(instance, *fresh.call, addresses),
                 fresh.call->parameters, error);
    ASSERT_EQ(error, "");
    if (!launch || launch->isEmpty())
      continue;
    fresh.memory = referenceOf(instance, *fresh.call, fresh.error);
    ASSERT_EQ(fresh.error, "");
    ASSERT_EQ(changedOutside(instance, *fresh.call, fresh.memory), "");
    served += serve(where, *machine, fresh, tally);
    where.calls.push_front(std::move(fresh));
  }
  if (!served)
    return;
  ++drawn.ran;
  std::string layouts;
  for (const JobSchedule &job : schedule.jobs)
    layouts += " | " + job.text();
  drawn.mappings += drawn.layouts.insert(layouts).second && drawn.ptx.insert(hash).second;
}

TEST_P(PtxSchedule, DrawnOnesGiveTheBitsOfTheReference) {
  const size_t wanted = size_t(fromEnvironment("H3GEN_SCHEDULES", 200));
  const size_t wantedMappings = (wanted + 4) / 5;
  const Instances all = instancesOf(GetParam());
  ASSERT_FALSE(all.list.empty());
  std::deque<PreparedOperator> prepared;
  std::vector<Case> cases;
  for (const Instance &instance : all.list) {
    std::string error;
    std::optional<PreparedOperator> ready =
        prepareOperator(*context, *instance.program, /*print=*/false, error);
    ASSERT_TRUE(ready) << instance.name << ": " << error;
    prepared.push_back(std::move(*ready));
    for (size_t number = 0; number < prepared.back().cases.size(); ++number)
      cases.push_back({&instance, &prepared.back(), number, {}});
  }

  const std::string name = GetParam().name;
  Engine engine(seedOf(name + " schedules"));
  Tally tally("schedules", name, "PTX interpreter (" + std::string(target.name) + ")");
  const size_t mostDraws = 50 * wanted;
  size_t draws = 0;
  for (; draws < mostDraws && (drawn.ran < wanted || drawn.mappings < wantedMappings); ++draws) {
    Case &where = cases[draws % cases.size()];
    static constexpr int64_t lengths[] = {1, 8, 17, 32, 64, 100, 128, 256, 300, 512, 600};
    std::optional<KernelSchedule> schedule =
        drawSchedule(where.prepared->jobs[where.number], engine, pick(engine, lengths));
    if (!schedule)
      continue;
    const std::string text = schedule->text();
    if (!drawn.schedules.insert(fmt::format("{}", draws % cases.size()) + text).second)
      continue;
    SCOPED_TRACE(where.instance->name + ": " + text);
    std::string error;
    std::optional<KernelSchedule> parsed = KernelSchedule::parse(text, error);
    ASSERT_TRUE(parsed) << error;
    EXPECT_EQ(parsed->text(), text);
    run(where, *schedule, engine, tally);
    if (HasFailure())
      return;
  }
  fmt::print("{}: {} schedules, {} digit mappings, of {} draws{}\n", name, drawn.ran,
             drawn.mappings, draws, draws < mostDraws ? "" : ": there are hardly more legal ones");
  for (const auto &[reason, count] : drawn.impossible)
    fmt::print("  {} times no code: {}\n", count, reason);
  tally.note("schedules", int64_t(drawn.ran));
  tally.note("digit_mappings", int64_t(drawn.mappings));
  tally.note("draws", int64_t(draws));
}

INSTANTIATE_TEST_SUITE_P(Operators, PtxSchedule, testing::ValuesIn(allOperators()), testName);

} // namespace
} // namespace h3::test
