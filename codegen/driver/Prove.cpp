//===-- codegen/driver/Prove.cpp - h3gen prove ----------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/Backend.h"
#include "backends/nvptx/Compile.h"
#include "backends/nvptx/prove/Prover.h"
#include "backends/nvptx/ptx/Reader.h"
#include "codegen/driver/Cache.h"
#include "codegen/driver/Driver.h"
#include "codegen/driver/ForeignKernel.h"
#include "codegen/driver/ProofRecord.h"
#include "codegen/driver/Specs.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <llvm/Support/MemoryBuffer.h>
#include <mlir/IR/MLIRContext.h>

#include <chrono>

namespace h3 {
namespace {

struct ProveOptions {
  std::string path;
  InstanceChoice choice;
  SpecOptions specs;
  std::vector<std::string> targets;
  std::string variant;
  std::string ptx; ///< of elsewhere
  ForeignKernel foreign;
  std::string record; ///< where the records are written
  bool isVerbose = false, noCache = false;
};

class ProveCommand {
public:
  explicit ProveCommand(const ProveOptions &options) : options(options) {}
  ExitCode run();

private:
  bool proveInstance(const Program &program, const Target &target);
  std::optional<ProofRecord> proofOf(const Program &program, const Target &target);
  std::optional<ProofRecord> proofOfForeign(const Program &program, const Target &target);
  void print(const ProofRecord &record, double seconds) const;
  void fail(const std::string &message) {
    printError(message);
    outcome = worse(outcome, ExitCode::BadInput);
  }

  const ProveOptions &options;
  LoadedSpec spec;
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<Cache> cache;
  std::string records;
  ExitCode outcome = ExitCode::Good;
};

std::optional<ProofRecord> ProveCommand::proofOf(const Program &program, const Target &target) {
  if (!context)
    context = makeContext();
  const Program *programs[] = {&program};
  std::string error;
  std::optional<Image> image = nvptx::compile(*context, programs, target, {}, error);
  if (!image) {
    fail(error);
    return std::nullopt;
  }
  std::string text = image->text;
  if (!options.ptx.empty()) { // our naming, in a file
    auto file = llvm::MemoryBuffer::getFile(options.ptx);
    if (!file) {
      fail(fmt::format("cannot read '{}': {}", options.ptx, file.getError().message()));
      return std::nullopt;
    }
    text = (*file)->getBuffer().str();
  }
  auto module = ptx::read(text);
  if (!module) {
    fail(module.error().message());
    return std::nullopt;
  }
  plan::OperatorPlan plan = image->plans.front();
  if (!options.variant.empty()) {
    std::erase_if(plan.variants,
                  [&](const plan::Variant &variant) { return variant.name != options.variant; });
    if (plan.variants.empty()) {
      fail(fmt::format("'{}' has no variant '{}'", programText(program), options.variant));
      return std::nullopt;
    }
  }
  const VariantsOf variants = options.variant.empty() ? VariantsOf::Image : VariantsOf::Choice;
  return proofOfImage(program, target, spec, *module, text, plan, variants, cache.get());
}

std::optional<ProofRecord> ProveCommand::proofOfForeign(const Program &program,
                                                        const Target &target) {
  auto file = llvm::MemoryBuffer::getFile(options.ptx);
  if (!file) {
    fail(fmt::format("cannot read '{}': {}", options.ptx, file.getError().message()));
    return std::nullopt;
  }
  std::string text = (*file)->getBuffer().str(), error;
  auto module = ptx::read(text);
  if (!module) {
    fail(fmt::format("'{}': {}", options.ptx, module.error().message()));
    return std::nullopt;
  }
  ForeignKernel kernel = options.foreign;
  if (kernel.entry.empty() && module->kernels.size() == 1)
    kernel.entry = module->kernels.front().name;
  std::optional<plan::OperatorPlan> plan = planOf(program, *module, kernel, error);
  if (!plan) {
    fail(error);
    return std::nullopt;
  }
  return proofOfImage(program, target, spec, *module, text, *plan, VariantsOf::Choice, cache.get());
}

void ProveCommand::print(const ProofRecord &record, double seconds) const {
  if (options.isVerbose || !record.isProved())
    for (const prove::KernelProof &kernel : record.proof.kernels) {
      bool isProved = kernel.verdict == prove::Verdict::Proved;
      if (isProved && !options.isVerbose)
        continue;
      fmt::print("{}: {}\n", kernel.entry, isProved ? "proved" : kernel.problem);
      if (!options.isVerbose)
        continue;
      for (const std::string &rows : kernel.allRows)
        fmt::print("  all numbers of {}\n", rows);
      for (const std::string &rows : kernel.notAllRows)
        fmt::print("  not all numbers of {}\n", rows);
      for (const std::string &call : kernel.calls)
        fmt::print("  {}\n", call);
    }
  if (!record.proof.unserved.empty())
    fmt::print("{}\n", record.proof.unserved);
  fmt::print("{}\n", record.summary());
  fmt::print("  {}{:.1f} s\n", record.fromCache ? "cached, " : "", seconds);
}

bool ProveCommand::proveInstance(const Program &program, const Target &target) {
  auto start = std::chrono::steady_clock::now();
  bool isForeign = !options.ptx.empty() && !options.foreign.binding.empty();
  std::optional<ProofRecord> record =
      isForeign ? proofOfForeign(program, target) : proofOf(program, target);
  if (!record)
    return false;
  print(*record, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  records += record->json() + "\n";
  if (!record->isProved())
    outcome = worse(outcome, ExitCode::Different);
  return true;
}

ExitCode ProveCommand::run() {
  std::vector<OperatorInstances> all =
      loadInstances(options.path, options.specs, options.choice, spec);
  if (all.empty())
    return ExitCode::BadInput;
  const std::vector<const Target *> targets = targetsNamed(options.targets);
  if (targets.empty())
    return ExitCode::BadInput;
  std::string error;
  if (!options.noCache)
    cache = Cache::fromEnvironment(error);
  if (!error.empty()) {
    fail(error);
    return outcome;
  }
  for (const Target *target : targets)
    for (const OperatorInstances &entry : all)
      for (const std::unique_ptr<Program> &program : entry.programs)
        proveInstance(*program, *target);
  if (cache)
    cache->trim();
  if (!options.record.empty() && !writeFile(options.record, records))
    outcome = ExitCode::BadInput;
  return outcome;
}

} // namespace

void registerProve(CLI::App &app, Outcome outcome) {
  auto options = std::make_shared<ProveOptions>();
  CLI::App *command =
      app.add_subcommand("prove", "Prove that the PTX computes exactly the spec's terms");
  command->add_option("SPEC", options->path, "Spec file")->required();
  command->add_option("--target,--sm", options->targets, "Targets: 90, sm_100, ... in a list")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("TARGET")
      ->required();
  command->add_option("--variant", options->variant, "The only variant to prove");
  command->add_flag("-v,--verbose", options->isVerbose,
                    "Say which calls each variant is proved for");
  command->add_flag("--no-cache", options->noCache, "Neither use nor keep proofs of earlier calls");
  command->add_option("--record", options->record, "Write the proof records, one a line")
      ->type_name("FILE");
  auto *ptx =
      command->add_option("--ptx", options->ptx, "The PTX to prove, instead of h3gen's own");
  ptx->type_name("FILE");
  command->add_option("--entry", options->foreign.entry, "Its kernel, if it has several")
      ->needs(ptx);
  auto *bind =
      command->add_option("--bind", options->foreign.binding,
                          "What its parameters are, in order: a tensor, a dim, TENSOR.AXIS "
                          "for a stride, a parameter, '_' for one that is not read");
  bind->delimiter(',')->allow_extra_args(false)->type_name("NAMES")->needs(ptx);
  command->add_option("--grid", options->foreign.grid, "Its blocks: DIM * DIM / N, rounded up")
      ->needs(bind);
  command->add_option("--block", options->foreign.block, "Its threads a block")->needs(bind);
  command->add_option("--align", options->foreign.align, "What divides every address, in bytes")
      ->needs(bind);
  options->choice.addTo(*command);
  options->specs.addTo(*command);
  command->callback([options, outcome] {
    if (!options->foreign.binding.empty() && options->foreign.block == 0)
      throw CLI::RequiredError("--block");
    *outcome = ProveCommand(*options).run();
  });
}

} // namespace h3
