//===-- tests/mutants/Subject.cpp - An operator and the checks of what was made of it -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Subject.h"

#include "backends/Backend.h"
#include "backends/nvptx/Compile.h"
#include "backends/nvptx/NanFacts.h"
#include "backends/nvptx/prove/Prover.h"
#include "backends/nvptx/ptx/Reader.h"

#include <mlir/IR/MLIRContext.h>

namespace h3::test {

static const Target &target() { return *findTarget("sm_90"); }

Subject::Subject(const std::string &spec, const std::string &op)
    : instances(instancesOf({spec, op})) {
  constexpr size_t count = 8;
  for (size_t k = 0; k < count; ++k) {
    DrawLimits limits;
    limits.longest = k % 2 ? 700 : 60;
    limits.hasRows = k > 0;
    calls.push_back(prepare(instances.list.front(), seedOf(op) + k, limits));
    EXPECT_EQ(calls.back().error, "") << op;
  }
}

std::optional<Image> Subject::compile(std::string &error) const {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  const Program *programs[] = {instances.list.front().program};
  return nvptx::compile(*context, programs, target(), {}, error);
}

std::string Subject::proofOf(const Image &image) const {
  auto module = ptx::read(image.text);
  if (!module)
    return module.error().message();
  prove::Subject subject;
  subject.program = instances.list.front().program;
  subject.plan = &image.plans.front();
  subject.module = &*module;
  subject.canonicalNaN = [](std::string_view instruction) {
    return nvptx::givesCanonicalNaN(instruction, target());
  };
  for (const prove::KernelProof &kernel : prove::prove(subject).kernels)
    if (kernel.verdict != prove::Verdict::Proved)
      return kernel.variant + ": " + kernel.problem;
  return {};
}

/// Every variant whose guards hold, on every call.
std::string Subject::run(const Image &image) const {
  const Instance &instance = instances.list.front();
  std::string error;
  std::unique_ptr<Machine> machine = makePtxMachine(image, target(), error);
  if (!machine)
    return error;
  for (const Expected &expected : calls) {
    if (!expected.call)
      continue;
    const std::vector<uint64_t> addresses = machine->place(*expected.call, error);
    const std::vector<plan::Tensor> tensors = forPlan(instance, *expected.call, addresses);
    for (size_t k = 0; k < machine->plan().variants.size() && error.empty(); ++k) {
      std::optional<plan::Launch> launch =
          launchOf(machine->plan(), k, tensors, expected.call->parameters, error);
      if (!launch)
        continue;
      error = machine->restore(*expected.call);
      if (error.empty())
        error = machine->launch(*launch);
      if (error.empty()) {
        const Memory memory = machine->fetch(*expected.call, error);
        if (error.empty())
          error = firstDifference(instance, *expected.call, memory, expected.memory);
      }
      if (!error.empty())
        return machine->plan().variants[k].name + ": " + error;
    }
    if (!error.empty())
      return error;
  }
  return {};
}

Findings Subject::check(Image image, const std::string &variant) const {
  if (!variant.empty())
    std::erase_if(image.plans.front().variants,
                  [&](const plan::Variant &one) { return one.name != variant; });
  EXPECT_FALSE(image.plans.front().variants.empty()) << variant;
  Findings findings;
  findings.prover = proofOf(image);
  findings.runs = run(image);
  findings.isRace = findings.runs.find("race") != std::string::npos;
  return findings;
}

Findings Subject::findings() const {
  Findings findings;
  std::optional<Image> image = compile(findings.compiler);
  return image ? check(std::move(*image)) : findings;
}

} // namespace h3::test
