//===-- codegen/driver/Prove.cpp - h3gen prove ----------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/Compile.h"
#include "backends/nvptx/NanFacts.h"
#include "backends/nvptx/prove/Prover.h"
#include "backends/nvptx/ptx/Reader.h"
#include "codegen/driver/Driver.h"
#include "codegen/driver/Specs.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
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
};

std::string nameOf(const Program &program) {
  std::string types;
  for (const auto &[name, type] : program.typeArguments)
    types += fmt::format("{}{} = {}", types.empty() ? "<" : ", ", name, h3::name(type));
  return program.name + (types.empty() ? "" : types + ">");
}

ExitCode proveInstance(const Program &program, const Target &target, const ProveOptions &options) {
  std::unique_ptr<mlir::MLIRContext> context = nvptx::makeContext();
  const Program *programs[] = {&program};
  std::string error;
  std::optional<nvptx::Image> image = nvptx::compile(*context, programs, target, {}, error);
  if (!image) {
    printError(error);
    return ExitCode::BadInput;
  }
  auto module = ptx::read(image->text);
  if (!module) {
    printError(module.error().message());
    return ExitCode::BadInput;
  }
  plan::OperatorPlan plan = image->plans.front();
  if (!options.variant.empty())
    std::erase_if(plan.variants,
                  [&](const plan::Variant &variant) { return variant.name != options.variant; });
  prove::Subject subject;
  subject.program = &program;
  subject.plan = &plan;
  subject.module = &*module;
  subject.canonicalNaN = [&](std::string_view instruction) {
    return nvptx::givesCanonicalNaN(instruction, target);
  };
  auto start = std::chrono::steady_clock::now();
  prove::Proof proof = prove::prove(subject);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const prove::KernelProof &kernel : proof.kernels) {
    fmt::print("  {}: {}\n", kernel.variant,
               kernel.verdict == prove::Verdict::Proved ? "proved" : kernel.problem);
    for (const std::string &rows : kernel.allRows)
      fmt::print("    all {}\n", rows);
    for (const std::string &rows : kernel.notAllRows)
      fmt::print("    not all {}\n", rows);
    fmt::print("    calls {}, steps {}\n", kernel.calls.size(), kernel.steps);
  }
  std::vector<std::string> rewrites;
  for (size_t i = 0; i < prove::rewriteCount; ++i)
    if (proof.rewrites[i])
      rewrites.push_back(std::string(prove::name(static_cast<prove::Rewrite>(i))));
  bool isProved = proof.verdict() == prove::Verdict::Proved;
  fmt::print("{} {}: {}: {} variants, {:.2f} M terms, {:.1f} M steps, {:.2f} s, rewrites: {}\n",
             nameOf(program), target.name, isProved ? "proved" : "NOT PROVED", proof.kernels.size(),
             double(proof.terms) / 1e6, double(proof.steps) / 1e6, seconds,
             fmt::join(rewrites, " "));
  return isProved ? ExitCode::Good : ExitCode::Different;
}

} // namespace

void registerProve(CLI::App &app, Outcome outcome) {
  auto options = std::make_shared<ProveOptions>();
  CLI::App *command =
      app.add_subcommand("prove", "Prove that the PTX computes exactly the spec's terms");
  command->add_option("SPEC", options->path, "Spec file")->required();
  command->add_option("--sm", options->targets, "Targets: 90, 100, ... in a list")
      ->delimiter(',')
      ->required();
  command->add_option("--variant", options->variant, "The only variant to prove");
  options->choice.addTo(*command);
  options->specs.addTo(*command);
  command->callback([options, outcome] {
    LoadedSpec spec;
    std::vector<OperatorInstances> all =
        loadInstances(options->path, options->specs, options->choice, spec);
    if (all.empty()) {
      *outcome = ExitCode::BadInput;
      return;
    }
    for (const std::string &name : options->targets) {
      const Target *target = findTarget(name.starts_with("sm_") ? name : "sm_" + name);
      if (!target) {
        printError("unknown target '" + name + "'; there are: " + targetNames());
        *outcome = ExitCode::BadInput;
        return;
      }
      for (const OperatorInstances &entry : all)
        for (const std::unique_ptr<Program> &program : entry.programs)
          *outcome = worse(*outcome, proveInstance(*program, *target, *options));
    }
  });
}

} // namespace h3
