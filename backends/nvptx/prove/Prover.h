//===-- backends/nvptx/prove/Prover.h - PTX against a spec ---- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Proves that kernels compute exactly a spec's terms: backends/nvptx/prove/README.md says what that
// covers and what it trusts.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PROVE_PROVER_H
#define H3_BACKENDS_NVPTX_PROVE_PROVER_H

#include "backends/nvptx/prove/Term.h"
#include "backends/nvptx/ptx/Module.h"
#include "dsl/program/Program.h"
#include "runtime/plan/Plan.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace h3::prove {

/// One type instance of an operator and its kernels.
struct Subject {
  const Program *program = nullptr;
  const plan::OperatorPlan *plan = nullptr; ///< with all its variants
  const ptx::Module *module = nullptr;      ///< with their entries
  /// Whether each call that the contract admits must have a variant.
  bool hasAllVariants = false;
  /// Whether every NaN of an instruction ("add.rn.f16x2") is recorded as canonical on the target.
  std::function<bool(std::string_view)> canonicalNaN;
};

struct Limits {
  /// Steps of PTX instructions in search of what small calls and families have not reached.
  uint64_t steps = 4'000'000;
  int64_t elements = 40'000;     ///< of all tensors of one call
  int64_t rowElements = 100'000; ///< likewise, of one that is to reach what small ones do not
  int64_t rowThreads = 40'000;   ///< that one family of row counts may take
  size_t terms = 4'000'000;      ///< beyond so many a further kernel begins with none
};

enum class Verdict : uint8_t {
  Proved,
  NotEqual,    ///< an element differs
  Fault,       ///< the kernel does what no kernel may: a race, an access outside, ...
  NotProvable, ///< something has no term, or part of the kernel was never reached
};

/// What is known of one kernel.
struct KernelProof {
  std::string variant, entry;
  Verdict verdict = Verdict::Proved;
  std::string problem; ///< why not Proved; several lines
  /// For which dims every count is covered, each with the sizes of the others.
  std::vector<std::string> allRows;
  /// Where a family of row counts was tried and is not linear, and why.
  std::vector<std::string> notAllRows;
  std::vector<std::string> calls;  ///< the sized calls
  std::vector<unsigned> unreached; ///< PTX lines of instructions or branches
  uint64_t steps = 0;
};

/// What is known of all of them.
struct Proof {
  std::vector<KernelProof> kernels;
  std::string unserved; ///< a call that the contract admits and no variant takes
  uint64_t terms = 0, steps = 0;
  std::array<uint64_t, rewriteCount> rewrites{};

  Verdict verdict() const;
};

Proof prove(const Subject &subject, const Limits &limits = {});

} // namespace h3::prove

#endif // H3_BACKENDS_NVPTX_PROVE_PROVER_H
