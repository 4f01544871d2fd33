//===-- codegen/driver/evidence/EvidenceCommand.cpp - h3gen evidence ------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/contract/Contract.h"
#include "codegen/driver/bundle/LoadSet.h"
#include "codegen/driver/bundle/SelfChecks.h"
#include "codegen/driver/evidence/Prepare.h"
#include "runtime/evidence/Tool.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <thread>

namespace h3 {
namespace {

struct PrepareOptions {
  SpecOptions specs;
  std::string path, output;
  size_t cases = evidence::kLeastCases;
  unsigned threads = 0; ///< 0: one for each of the machine's
};

class PrepareCommand {
public:
  explicit PrepareCommand(const PrepareOptions &options) : options(options) {}
  ExitCode run();

private:
  struct Part {
    LoadedSpec spec;
    OperatorInstances entry;
  };
  struct Instance {
    const Program *program;
    plan::OperatorPlan contract;
    double seconds = 0; ///< of one core
  };
  struct Job {
    size_t instance, number;
    uint64_t bytes; ///< of the call: what it costs
  };

  bool draw(const OperatorSetFile &set);
  bool interpretAll();

  const PrepareOptions &options;
  std::deque<Part> parts;
  std::vector<Instance> instances;
  evidence::CaseList list; ///< an operator for each of `instances`
};

bool PrepareCommand::draw(const OperatorSetFile &set) {
  for (const OperatorSetFile::Operator &row : set.operators) {
    Part &part = parts.emplace_back();
    if (!loadSetOperator(row, options.specs, part.spec, part.entry))
      return false;
    std::vector<ProductionShape> shapes;
    for (const OperatorSetFile::Shape &shape : set.shapes)
      if (shape.op == row.name)
        shapes.emplace_back(shape.dims.begin(), shape.dims.end());
    for (const auto &program : part.entry.programs) {
      std::string error;
      const std::optional<plan::OperatorPlan> contract = contractOf(*program, error);
      std::vector<evidence::Case> cases;
      if (contract)
        cases = drawCases(*program, *contract, shapes, options.cases, error);
      if (cases.empty()) {
        printError(error);
        return false;
      }
      instances.push_back({program.get(), *contract});
      list.operators.push_back(
          {evidence::nameOf(*contract), meaningOf(*program), "interpreter", std::move(cases)});
    }
  }
  return true;
}

/// The largest first, so that all threads end together.
bool PrepareCommand::interpretAll() {
  std::vector<Job> jobs;
  for (size_t i = 0; i < instances.size(); ++i)
    for (size_t k = 0; k < list.operators[i].cases.size(); ++k)
      jobs.push_back(
          {i, k, layoutOf(instances[i].contract, list.operators[i].cases[k].call).bytes});
  std::ranges::stable_sort(jobs, std::greater(), &Job::bytes);
  std::atomic<size_t> next = 0;
  std::atomic<bool> isGood = true;
  std::vector<std::vector<double>> seconds;
  auto work = [&](std::vector<double> &own) {
    for (size_t i; isGood && (i = next++) < jobs.size();) {
      const Job &job = jobs[i];
      const Instance &instance = instances[job.instance];
      evidence::Case &one = list.operators[job.instance].cases[job.number];
      const auto begin = std::chrono::steady_clock::now();
      std::string error;
      if (!interpretCheck(*instance.program, instance.contract, one.call, error) &&
          isGood.exchange(false))
        printError(list.operators[job.instance].name + ", " + one.what + ": " + error);
      own[job.instance] +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
  };
  const size_t threads = options.threads ? options.threads : std::thread::hardware_concurrency();
  seconds.assign(std::clamp<size_t>(threads, 1, jobs.size()),
                 std::vector<double>(instances.size()));
  {
    std::vector<std::jthread> workers;
    for (std::vector<double> &own : seconds)
      workers.emplace_back([&] { work(own); });
  }
  for (size_t i = 0; i < instances.size(); ++i)
    for (const std::vector<double> &own : seconds)
      instances[i].seconds += own[i];
  return isGood;
}

ExitCode PrepareCommand::run() {
  SourceFile file;
  const std::optional<OperatorSetFile> set = loadSetFile(options.path, options.specs, file);
  if (!set || !draw(*set) || !interpretAll())
    return ExitCode::BadInput;
  list.set = set->name;
  if (!writeFile(options.output, evidence::writeCases(list) + "\n"))
    return ExitCode::BadInput;
  for (size_t i = 0; i < instances.size(); ++i)
    fmt::print("{}: {} calls, {:.1f} s\n", list.operators[i].name, list.operators[i].cases.size(),
               instances[i].seconds);
  return ExitCode::Good;
}

void registerPrepare(CLI::App &app, Outcome outcome) {
  auto options = std::make_shared<PrepareOptions>();
  CLI::App *command = app.add_subcommand(
      "prepare", "Compute what the reference gives for the stress matrix of an operator set");
  command->add_option("SET", options->path, "Operator-set file (*.opset)")->required();
  command->add_option("-o,--output", options->output, "The cases")->required()->type_name("FILE");
  command->add_option("--cases", options->cases, "Calls of each operator")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command->add_option("-j,--jobs", options->threads, "Threads; as many as the machine runs")
      ->type_name("N");
  options->specs.addTo(*command);
  command->callback([options, outcome] { *outcome = PrepareCommand(*options).run(); });
}

void registerRunEvidence(CLI::App &app, Outcome outcome) {
  auto options = std::make_shared<evidence::RunOptions>();
  CLI::App *command =
      app.add_subcommand("run", "Run the stress matrix of a bundle's operators on a device");
  command->add_option("BUNDLE", options->bundle, "The bundle")->required();
  command->add_option("--digests", options->cases, "What 'evidence prepare' wrote")
      ->required()
      ->type_name("FILE");
  command->add_option("-o,--output", options->output, "The record")->required()->type_name("FILE");
  command->add_option("--device", options->device, "The device: cuda:0");
  command->add_option("--driver", options->library, "Another CUDA driver library")
      ->type_name("FILE");
  command->add_flag("--allow-ptx", options->allowPtx,
                    "Run PTX that the driver assembles too; it validates nothing");
  command->callback(
      [options, outcome] { *outcome = static_cast<ExitCode>(evidence::run(*options)); });
}

void registerCheckEvidence(CLI::App &app, Outcome outcome) {
  auto options = std::make_shared<evidence::CheckOptions>();
  CLI::App *command =
      app.add_subcommand("check", "Say what a record of evidence means to a bundle");
  command->add_option("RECORD", options->record, "The record")->required();
  command->add_option("BUNDLE", options->bundle, "The bundle")->required();
  command->add_option("--cases", options->leastCases, "Calls of each operator that validate it")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command->callback(
      [options, outcome] { *outcome = static_cast<ExitCode>(evidence::check(*options)); });
}

} // namespace

void registerEvidence(CLI::App &app, Outcome outcome) {
  CLI::App *command =
      app.add_subcommand("evidence", "Compare a bundle with the reference on real hardware");
  command->require_subcommand(1);
  registerPrepare(*command, outcome);
  registerRunEvidence(*command, outcome);
  registerCheckEvidence(*command, outcome);
}

} // namespace h3
