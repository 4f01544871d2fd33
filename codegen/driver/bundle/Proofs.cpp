//===-- codegen/driver/bundle/Proofs.cpp - Proofs of a bundle's images ----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/bundle/Proofs.h"

#include "backends/nvptx/ptx/Reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace h3 {

/// Nothing is proved of PTX that cannot be read.
static bundle::Proof notProvable(const ProofJob &job, const std::string &problem) {
  prove::Proof proof;
  for (const plan::Variant &variant : job.instance->plan.variants) {
    prove::KernelProof &kernel = proof.kernels.emplace_back();
    kernel.variant = variant.name;
    kernel.entry = variant.entry;
    kernel.verdict = prove::Verdict::NotProvable;
    kernel.problem = problem;
  }
  return makeProofRecord(*job.program, *job.target, *job.ptx, *job.spec, std::move(proof))
      .forBundle();
}

size_t proveInstances(const std::vector<ProofJob> &jobs, size_t threads, Cache *cache) {
  std::vector<std::string> lines(jobs.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < jobs.size();) {
      const ProofJob &job = jobs[i];
      const auto module = ptx::read(*job.ptx);
      if (!module) {
        job.instance->proof = notProvable(job, module.error().message());
        lines[i] = fmt::format("{} {}: not proved: {}", programText(*job.program), job.target->name,
                               module.error().message());
        continue;
      }
      const ProofRecord record =
          proofOfImage(*job.program, *job.target, *job.spec, *module, *job.ptx, job.instance->plan,
                       VariantsOf::Choice, cache);
      job.instance->proof = record.forBundle();
      lines[i] = record.summary();
    }
  };
  {
    if (threads == 0)
      threads = std::thread::hardware_concurrency();
    std::vector<std::jthread> workers;
    for (size_t i = 0; i < std::clamp<size_t>(threads, 1, jobs.size()); ++i)
      workers.emplace_back(work);
  }
  for (const std::string &line : lines)
    fmt::print("{}\n", line);
  return static_cast<size_t>(std::ranges::count_if(
      jobs, [](const ProofJob &job) { return !job.instance->proof->isProved(); }));
}

} // namespace h3
