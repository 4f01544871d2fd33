//===-- codegen/driver/Schedules.cpp - h3gen schedules --------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/Backend.h"
#include "codegen/driver/Driver.h"
#include "codegen/driver/Specs.h"
#include "codegen/kernel/Candidates.h"
#include "codegen/kernel/Prepare.h"

#include <fmt/core.h>

namespace h3 {
namespace {

struct SchedulesOptions {
  SpecOptions specs;
  std::string path, target = "sm_90";
  InstanceChoice choice;
  unsigned access = 16, most = 8;
  int64_t length = 4096;
};

/// What a row of the job is made of, for a reader.
std::string describe(const Job &job) {
  std::string text;
  if (job.phases.empty())
    return "one value a row";
  for (const Phase &phase : job.phases) {
    std::optional<int64_t> extent = phase.constantExtent();
    text += text.empty() ? "" : ", ";
    text += phase.reduce() ? "reduction" : "elements";
    text += extent ? fmt::format(" over {}", *extent) : " over a length known at run time";
  }
  return text;
}

void printJob(const Job &job, const Machine &machine, const SchedulesOptions &options) {
  std::string reason;
  std::vector<Candidate> all =
      candidates(job, options.access == 1 ? 0 : options.access, {options.length}, machine, reason);
  if (all.empty()) {
    fmt::print("    {}\n", reason);
    return;
  }
  fmt::print("    {:>12}  {:>7}  {:>8}  {:>14}  schedule\n", "instructions", "threads", "elements",
             "accesses");
  for (const Candidate &candidate :
       std::span(all).first(std::min<size_t>(all.size(), options.most)))
    fmt::print("    {:>12.0f}  {:>7}  {:>8}  {:>5} of {:>3} B  {}\n", candidate.instructions,
               candidate.schedule.threads(), candidate.schedule.layouts.front().registers(),
               candidate.accesses, candidate.accessBytes, candidate.schedule.text());
  if (all.size() > options.most)
    fmt::print("    and {} more (--limit)\n", all.size() - options.most);
}

ExitCode listSchedules(const SchedulesOptions &options) {
  const std::vector<const Target *> targets = targetsNamed({options.target});
  if (targets.empty())
    return ExitCode::BadInput;
  const Target &target = *targets.front();
  LoadedSpec spec;
  std::vector<OperatorInstances> operators =
      loadInstances(options.path, options.specs, options.choice, spec);
  if (operators.empty())
    return ExitCode::BadInput;

  fmt::print(
      "Estimates are instructions of all threads for one row (of {} elements, where the\n"
      "length is known at run time): elements, accesses, exchanges between threads, and what\n"
      "a thread costs by itself; more where a thread holds so much that few fit.\n",
      options.length);
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  for (const OperatorInstances &chosen : operators)
    for (const auto &program : chosen.programs) {
      std::string error, types;
      for (const auto &[name, type] : program->typeArguments)
        types += fmt::format(" {}={}", name, h3::name(type));
      std::optional<PreparedOperator> prepared = prepareOperator(*context, *program, false, error);
      if (!prepared) {
        printError(program->name + ": " + error);
        return ExitCode::BadInput;
      }
      fmt::print("\n{}{} for {}\n", program->name, types, target.name);
      for (size_t number = 0; number < prepared->cases.size(); ++number) {
        for (const plan::Condition &guard : prepared->cases[number].guards)
          fmt::print("  where {}\n", guard.text);
        const std::vector<Job> &jobs = prepared->jobs[number];
        for (auto [index, job] : llvm::enumerate(jobs)) {
          fmt::print("  job {} of {}: {}\n", index + 1, jobs.size(), describe(job));
          printJob(job, backendOf(target).machine(target), options);
        }
        fmt::print("  variants\n");
        for (const KernelSchedule &schedule :
             backendOf(target).schedules(*program, target, jobs, error))
          fmt::print("    {:<16} {}\n", schedule.name(), schedule.text());
      }
    }
  return ExitCode::Good;
}

} // namespace

void registerSchedules(CLI::App &app, Outcome outcome) {
  auto options = std::make_shared<SchedulesOptions>();
  CLI::App *command = app.add_subcommand(
      "schedules", "List the legal schedules of an operator with the estimate behind the choice");
  command->add_option("SPEC", options->path, "The spec")->required();
  command->add_option("--target,--sm", options->target, "The target")->type_name("TARGET");
  options->choice.addTo(*command);
  command->add_option("--access", options->access, "The widest access in bytes; 1: single elements")
      ->check(CLI::IsMember({1, 2, 4, 8, 16, 32}));
  command->add_option("--length", options->length, "Elements of a row of unknown length")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20));
  command->add_option("--limit", options->most, "Candidates shown for each job");
  addPluginOption(*command);
  options->specs.addTo(*command);
  command->callback([options, outcome] { *outcome = listSchedules(*options); });
}

} // namespace h3
