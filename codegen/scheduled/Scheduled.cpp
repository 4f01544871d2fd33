//===-- codegen/scheduled/Scheduled.cpp - From programs to scheduled kernels -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/scheduled/Scheduled.h"

#include "codegen/kernel/Candidates.h"
#include "codegen/kernel/Prepare.h"

#include <llvm/ADT/StringExtras.h>

using namespace mlir;

namespace h3 {
namespace {

class Scheduler {
public:
  Scheduler(const SchedulingOptions &options, std::string &error)
      : options(options), error(error) {}

  bool add(const Program &program, const PreparedOperator &prepared);

  ScheduledOperator result;

private:
  std::vector<KernelSchedule> schedulesOf(const std::vector<Job> &jobs);
  bool addVariant(const Program &program, const PreparedOperator &prepared, size_t number,
                  const KernelSchedule &schedule, plan::OperatorPlan &contract);

  const SchedulingOptions &options;
  std::string &error;
  std::string refused; ///< why the given schedule is not legal in one of the cases
};

/// The schedules of one case of the sizes: the one that was asked for, if it is legal there, or
/// those that are chosen.
std::vector<KernelSchedule> Scheduler::schedulesOf(const std::vector<Job> &jobs) {
  if (options.schedule.empty())
    return schedulesFor(jobs, options.machine, error);
  std::optional<KernelSchedule> schedule = KernelSchedule::parse(options.schedule, error);
  if (!schedule)
    return {};
  refused = schedule->accessBytes > options.machine.widestAccess
                ? options.target + " has no accesses of " + std::to_string(schedule->accessBytes) +
                      " bytes"
                : refusal(jobs, *schedule, options.machine);
  return refused.empty() ? std::vector{*schedule} : std::vector<KernelSchedule>();
}

bool Scheduler::add(const Program &program, const PreparedOperator &prepared) {
  plan::OperatorPlan contract = prepared.contract;
  for (size_t number = 0; number < prepared.cases.size(); ++number) {
    std::vector<KernelSchedule> schedules = schedulesOf(prepared.jobs[number]);
    if (!error.empty())
      return false;
    for (const KernelSchedule &schedule : schedules)
      if (!addVariant(program, prepared, number, schedule, contract))
        return false;
  }
  if (contract.variants.empty() && !refused.empty())
    error = "the schedule is not legal: " + refused;
  else if (std::string wrong = plan::verify(contract); !wrong.empty())
    error = "internal error: launch plan: " + wrong;
  result.plans.push_back(std::move(contract));
  return error.empty();
}

bool Scheduler::addVariant(const Program &program, const PreparedOperator &prepared, size_t number,
                           const KernelSchedule &schedule, plan::OperatorPlan &contract) {
  const SpecialCase &special = prepared.cases[number];
  std::string name;
  for (const auto &[parameter, type] : program.typeArguments)
    name += std::string(h3::name(type)) + "_";
  name += schedule.name();
  if (prepared.cases.size() > 1)
    name += "_c" + std::to_string(number);
  std::string entry = "h3_" + program.name + "__" + options.target + "__" + name;
  for (char &c : entry)
    if (!llvm::isAlnum(c))
      c = '_';
  std::optional<plan::Variant> variant =
      emitKernel(special.op(), prepared.jobs[number], schedule, options.machine, entry,
                 result.kernels(), contract, error);
  if (!variant)
    return false;
  variant->name = name;
  result.schedules.emplace(variant->entry, schedule);
  variant->guards.insert(variant->guards.begin(), special.guards.begin(), special.guards.end());
  contract.variants.push_back(std::move(*variant));
  return true;
}

} // namespace

std::vector<KernelSchedule> schedulesFor(const std::vector<Job> &jobs, const Machine &machine,
                                         std::string &error) {
  std::vector<KernelSchedule> schedules = chooseSchedules(jobs, machine, error);
  if (machine.hasThreads() || machine.alignsAccesses)
    return schedules;
  auto isWide = [](const KernelSchedule &one) { return one.indexBits == 64; };
  if (llvm::any_of(schedules, isWide))
    llvm::erase_if(schedules, [&](const KernelSchedule &one) { return !isWide(one); });
  return schedules;
}

std::optional<ScheduledOperator> scheduleOperator(MLIRContext &context,
                                                  std::span<const Program *const> programs,
                                                  const SchedulingOptions &options,
                                                  std::string &error) {
  Scheduler scheduler(options, error);
  scheduler.result.module = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder builder(scheduler.result.module->getBodyRegion());
  gpu::GPUModuleOp::create(builder, builder.getUnknownLoc(), "kernels");
  for (const Program *program : programs) {
    std::optional<PreparedOperator> prepared =
        prepareOperator(context, *program, options.printAfterPasses, error);
    if (!prepared || !scheduler.add(*program, *prepared))
      return {};
  }
  return std::move(scheduler.result);
}

} // namespace h3
