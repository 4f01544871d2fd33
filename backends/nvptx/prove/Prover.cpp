//===-- backends/nvptx/prove/Prover.cpp - PTX against a spec --------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/Prover.h"

#include "backends/nvptx/prove/KernelRun.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace h3::prove {
namespace {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;

/// An operation that the assembler may fuse with another: no one knows what it computes.
bool isContractible(const Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::Add:
  case Opcode::Sub:
  case Opcode::Mul:
    break;
  default:
    return false;
  }
  if (!instruction.hasType(0) || !ptx::isFloatType(instruction.type()))
    return false;
  return std::ranges::none_of(
      std::initializer_list{Modifier::Rn, Modifier::Rz, Modifier::Rm, Modifier::Rp},
      [&](Modifier rounding) { return instruction.has(rounding); });
}

class KernelProver {
public:
  KernelProver(const Subject &subject, const Limits &limits, size_t variant, TermStore &terms)
      : subject(subject), limits(limits), variant(variant), terms(terms),
        divisors(reciprocalsOf(*subject.plan, subject.plan->variants[variant])) {
    proof.variant = subject.plan->variants[variant].name;
    proof.entry = subject.plan->variants[variant].entry;
  }

  KernelProof run();

private:
  bool fail(Verdict verdict, std::string text) {
    proof.verdict = verdict;
    proof.problem = std::move(text);
    return false;
  }
  bool checkInstructions(const ptx::Kernel &kernel);
  bool roundedCall(KernelRun &run, const std::vector<std::vector<int64_t>> &sizes,
                   const std::vector<unsigned> &rowDims, LayoutKind layout, bool inPlace);
  bool sized(KernelRun &run);
  bool allRows(KernelRun &run);
  bool accept(const Outcome &outcome);
  void noteUnreached(const KernelRun &run);
  std::string describeDims(const std::vector<int64_t> &dims, int without) const;

  const Subject &subject;
  const Limits &limits;
  size_t variant;
  TermStore &terms;
  const std::vector<plan::ExprId> divisors; ///< of reciprocals
  KernelProof proof;
};

bool KernelProver::checkInstructions(const ptx::Kernel &kernel) {
  for (const Instruction &instruction : kernel.instructions)
    if (isContractible(instruction))
      return fail(
          Verdict::NotProvable,
          fmt::format("PTX line {}: '{}' has no rounding modifier, so the assembler may fuse "
                      "it with another operation\nwrite .rn",
                      instruction.line.number, ptx::print(*subject.module, kernel, instruction)));
  return true;
}

bool KernelProver::accept(const Outcome &outcome) {
  return outcome.verdict == Verdict::Proved || fail(outcome.verdict, outcome.problem);
}

std::string KernelProver::describeDims(const std::vector<int64_t> &dims, int without) const {
  std::vector<std::string> parts;
  for (size_t dim = 0; dim < dims.size(); ++dim)
    if (static_cast<int>(dim) != without && !subject.program->dims[dim].fixed &&
        !subject.program->dims[dim].definition)
      parts.push_back(fmt::format("{} = {}", subject.program->dims[dim].name, dims[dim]));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The numbers below \p count: a few of the first, then all in an order that soon has been
/// everywhere, the last first.
std::vector<size_t> searchOrder(size_t count) {
  std::vector<size_t> order;
  std::vector<bool> isThere(count, false);
  auto add = [&](size_t index) {
    if (index < count && !isThere[index]) {
      isThere[index] = true;
      order.push_back(index);
    }
  };
  for (size_t i = 0; i < 12; ++i)
    add(i);
  for (size_t parts = 1; parts < 2 * count; parts *= 2)
    for (size_t part = parts; part > 0; --part)
      add((count * part - 1) / parts);
  for (size_t i = 0; i < count; ++i)
    add(i);
  return order;
}

/// Some tensor has no element.
static bool hasNothing(const Program &program, const std::vector<int64_t> &dims) {
  for (const Tensor &tensor : program.tensors)
    for (const Extent &extent : tensor.extents)
      if (evaluate(*extent.size, dims).value_or(0) == 0)
        return true;
  return false;
}

/// The smallest call in which as many quotients by reciprocals round as can.
bool KernelProver::roundedCall(KernelRun &run, const std::vector<std::vector<int64_t>> &sizes,
                               const std::vector<unsigned> &rowDims, LayoutKind layout,
                               bool inPlace) {
  for (size_t rounded = divisors.size(); rounded > 0; --rounded)
    for (const std::vector<int64_t> &dims : sizes) {
      Call call{dims, layout, inPlace};
      bool hasRows = std::ranges::all_of(rowDims, [&](unsigned dim) { return dims[dim] > 1; });
      if (!hasRows || hasNothing(*subject.program, dims) ||
          roundedDivisors(*subject.plan, divisors, dims) != rounded || !run.admits(call))
        continue;
      proof.calls.push_back(fmt::format("{}{}: {}", name(layout), inPlace ? ", in place" : "",
                                        describeDims(dims, -1)));
      return accept(run.prove(call));
    }
  return true;
}

/// Calls in every layout that the variant's guards admit: first the smallest ones, then whatever
/// reaches something new.
bool KernelProver::sized(KernelRun &run) {
  const Program &program = *subject.program;
  std::vector<unsigned> rowDims = rowDimsOf(program);
  auto sizesWith = [&](bool hasReciprocals) {
    return sizesFor(program, *subject.plan, run.kernel(), rowDims, hasReciprocals, limits.elements);
  };
  const std::vector<std::vector<int64_t>> sizes = sizesWith(false);
  const std::vector<std::vector<int64_t>> roundedSizes =
      divisors.empty() ? std::vector<std::vector<int64_t>>() : sizesWith(true);
  bool hasAlias = std::ranges::any_of(
      subject.plan->tensors, [](const plan::TensorSpec &tensor) { return tensor.mayAlias >= 0; });
  for (LayoutKind layout : allLayouts)
    for (bool inPlace : {false, true}) {
      if (inPlace && !hasAlias)
        continue;
      if (!roundedCall(run, roundedSizes, rowDims, layout, inPlace))
        return false;
      unsigned taken = 0, idle = 0;
      for (size_t index : searchOrder(sizes.size())) {
        Call call{sizes[index], layout, inPlace};
        // The smallest ones always; the rest for what they reach.
        bool isNew = taken < 3;
        if (!isNew && (run.isCovered() || idle > 24 || run.steps() > limits.steps))
          break;
        if (!run.admits(call))
          continue;
        uint64_t before = run.reached();
        if (!accept(run.prove(call)))
          return false;
        ++taken;
        bool reachedMore = run.reached() != before;
        idle = reachedMore ? 0 : idle + 1;
        if (isNew || reachedMore)
          proof.calls.push_back(fmt::format("{}{}: {}", name(layout), inPlace ? ", in place" : "",
                                            describeDims(call.dims, -1)));
      }
    }
  return true;
}

/// For each dim that counts rows, and each layout, the sizes of the others that take the least
/// work: once with whole blocks and once with blocks that rows end in.
bool KernelProver::allRows(KernelRun &run) {
  const Program &program = *subject.program;
  std::vector<unsigned> rowDims = rowDimsOf(program);
  std::vector<std::vector<int64_t>> sizes =
      sizesFor(program, *subject.plan, run.kernel(), rowDims, !divisors.empty(), limits.elements);
  for (unsigned dim : rowDims)
    for (LayoutKind layout : allLayouts) {
      std::optional<Call> best;
      // Quotients that round, if there are any, whatever the work.
      for (size_t rounded = divisors.size() + 1; rounded-- > 0 && !best;) {
        int64_t least = limits.rowThreads;
        unsigned asked = 0;
        for (const std::vector<int64_t> &dims : sizes) {
          if (dims[dim] != 1 || asked > 400 || hasNothing(program, dims) ||
              roundedDivisors(*subject.plan, divisors, dims) != rounded)
            continue;
          ++asked;
          Call call{dims, layout, false};
          RowOutcome outcome = run.proveAllRows(call, dim, /*onlyAsk=*/true);
          if (outcome.isTooLarge || outcome.isNotAdmitted || outcome.threads >= least)
            continue;
          best = call;
          least = outcome.threads;
        }
      }
      if (!best)
        continue;
      RowOutcome outcome = run.proveAllRows(*best, dim, /*onlyAsk=*/false);
      // What is not linear in the rows is proved by its sizes alone.
      if (outcome.outcome.verdict == Verdict::NotProvable) {
        proof.notAllRows.push_back(fmt::format("{}, {}: {}", program.dims[dim].name, name(layout),
                                               outcome.outcome.problem));
        continue;
      }
      if (!accept(outcome.outcome))
        return false;
      std::string others = describeDims(best->dims, static_cast<int>(dim));
      std::string most = outcome.upTo ? fmt::format(" up to {}", outcome.upTo) : "";
      proof.allRows.push_back(fmt::format("{}{}, {}{}{}", program.dims[dim].name, most,
                                          name(layout), others.empty() ? "" : ": ", others));
    }
  return true;
}

void KernelProver::noteUnreached(const KernelRun &run) {
  proof.unreached = run.unreached();
  if (proof.unreached.empty() || proof.verdict != Verdict::Proved)
    return;
  proof.verdict = Verdict::NotProvable;
  proof.problem = fmt::format(
      "not reached by any proved size: PTX line{} {}", proof.unreached.size() == 1 ? "" : "s",
      fmt::join(proof.unreached.begin(),
                proof.unreached.begin() + std::min<long>(8, long(proof.unreached.size())), ", "));
  if (proof.unreached.size() > 8)
    proof.problem += fmt::format(" and {} more", proof.unreached.size() - 8);
}

KernelProof KernelProver::run() {
  const ptx::Kernel *kernel = subject.module->findKernel(proof.entry);
  if (!kernel) {
    fail(Verdict::NotProvable, fmt::format("the module has no kernel '{}'", proof.entry));
    return proof;
  }
  if (!checkInstructions(*kernel))
    return proof;
  std::string problem;
  std::unique_ptr<KernelRun> run = KernelRun::make(subject, variant, terms, problem);
  if (!run) {
    fail(Verdict::NotProvable, problem);
    return proof;
  }
  if (sized(*run) && allRows(*run)) {
    if (proof.calls.empty())
      fail(Verdict::NotProvable, "no call within the limits of a proof is admitted");
    noteUnreached(*run);
  }
  proof.steps = run->steps();
  return proof;
}

} // namespace

Verdict Proof::verdict() const {
  if (kernels.empty())
    return Verdict::NotProvable;
  Verdict worst = Verdict::Proved;
  for (const KernelProof &kernel : kernels) {
    if (kernel.verdict == Verdict::Proved)
      continue;
    if (worst == Verdict::Proved || kernel.verdict < worst)
      worst = kernel.verdict;
  }
  return worst;
}

Proof prove(const Subject &subject, const Limits &limits) {
  Proof proof;
  for (size_t variant = 0; variant < subject.plan->variants.size(); ++variant) {
    TermStore terms;
    proof.kernels.push_back(KernelProver(subject, limits, variant, terms).run());
    proof.terms += terms.size();
    proof.steps += proof.kernels.back().steps;
    for (size_t i = 0; i < rewriteCount; ++i)
      proof.rewrites[i] += terms.rewrites()[i];
  }
  return proof;
}

} // namespace h3::prove
