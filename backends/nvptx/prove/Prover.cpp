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
  KernelProver(const Subject &subject, const Limits &limits, size_t variant, SharedTerms &shared)
      : subject(subject), limits(limits), variant(variant), shared(shared),
        divisors(reciprocalsOf(*subject.plan, subject.plan->variants[variant])),
        rowDims(rowDimsOf(*subject.program)),
        hasAlias(std::ranges::any_of(subject.plan->tensors, [](const plan::TensorSpec &tensor) {
          return tensor.mayAlias >= 0;
        })) {
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
  bool roundedCall(KernelRun &run, LayoutKind layout, bool inPlace);
  bool small(KernelRun &run);
  bool compared(KernelRun &run);
  bool unreached(KernelRun &run);
  bool take(KernelRun &run, const Call &call);
  /// Null if none is admitted without gaps.
  const std::vector<int64_t> *smallestCall(const KernelRun &run) const;
  std::vector<std::vector<int64_t>> longRows(const KernelRun &run) const;
  /// A dim that calls choose and that is no count of rows.
  bool isLength(unsigned dim) const {
    const Dim &own = subject.program->dims[dim];
    return !own.fixed && !own.definition && std::ranges::find(rowDims, dim) == rowDims.end();
  }
  bool allRows(KernelRun &run);
  std::optional<Call> cheapestRow(KernelRun &run, unsigned dim, LayoutKind layout);
  /// The sizes for calls in which quotients round, and for all rows.
  const std::vector<std::vector<int64_t>> &rowSizes() const {
    return divisors.empty() ? sizes : roundedSizes;
  }
  bool accept(const Outcome &outcome);
  void noteUnreached(const KernelRun &run);
  std::string describeDims(const std::vector<int64_t> &dims, int without) const;

  const Subject &subject;
  const Limits &limits;
  size_t variant;
  SharedTerms &shared;
  const std::vector<plan::ExprId> divisors; ///< of reciprocals
  const std::vector<unsigned> rowDims;
  const bool hasAlias; ///< some output may alias an input
  std::vector<std::vector<int64_t>> sizes, roundedSizes;
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
bool KernelProver::roundedCall(KernelRun &run, LayoutKind layout, bool inPlace) {
  for (size_t rounded = divisors.size(); rounded > 0; --rounded)
    for (const std::vector<int64_t> &dims : roundedSizes) {
      Call call{dims, layout, inPlace};
      bool hasRows = std::ranges::all_of(rowDims, [&](unsigned dim) { return dims[dim] > 1; });
      if (!hasRows || hasNothing(*subject.program, dims) ||
          roundedDivisors(*subject.plan, divisors, dims) != rounded || !run.admits(call))
        continue;
      return take(run, call);
    }
  return true;
}

bool KernelProver::take(KernelRun &run, const Call &call) {
  proof.calls.push_back(fmt::format("{}{}: {}", name(call.layout), call.inPlace ? ", in place" : "",
                                    describeDims(call.dims, -1)));
  return accept(run.prove(call));
}

/// In every layout that the variant's guards admit the smallest calls: with nothing to compute,
/// with one element or row, and with quotients that round. Without gaps also with several rows.
bool KernelProver::small(KernelRun &run) {
  auto hasSeveral = [&](const std::vector<int64_t> &dims) {
    return std::ranges::all_of(rowDims, [&](unsigned dim) { return dims[dim] > 1; });
  };
  for (LayoutKind layout : allLayouts)
    for (bool inPlace : {false, true}) {
      if (inPlace && !hasAlias)
        continue;
      if (!roundedCall(run, layout, inPlace))
        return false;
      bool isEmptyTaken = false, isOneTaken = false;
      bool areSeveralTaken = rowDims.empty() || layout != LayoutKind::Tight;
      for (const std::vector<int64_t> &dims : sizes) {
        const bool isEmpty = hasNothing(*subject.program, dims);
        const bool isSeveral = !isEmpty && hasSeveral(dims);
        if (isEmpty ? isEmptyTaken : isOneTaken && (areSeveralTaken || !isSeveral))
          continue;
        Call call{dims, layout, inPlace};
        if (!run.admits(call))
          continue;
        if (!take(run, call))
          return false;
        isEmptyTaken |= isEmpty;
        isOneTaken |= !isEmpty;
        areSeveralTaken |= isSeveral;
        if (isOneTaken && areSeveralTaken)
          break;
      }
    }
  return true;
}

const std::vector<int64_t> *KernelProver::smallestCall(const KernelRun &run) const {
  for (const std::vector<int64_t> &dims : sizes)
    if (!hasNothing(*subject.program, dims) && run.admits({dims, LayoutKind::Tight, false}))
      return &dims;
  return nullptr;
}

/// Each dim that is no count of rows at everything that the kernel compares sizes with.
bool KernelProver::compared(KernelRun &run) {
  const Program &program = *subject.program;
  const std::vector<int64_t> *smallest = smallestCall(run);
  const std::set<int64_t> numbers =
      comparedWith(*subject.plan, subject.plan->variants[variant], run.comparedSizes());
  for (unsigned dim = 0; smallest && dim < program.dims.size(); ++dim) {
    if (!isLength(dim))
      continue;
    for (int64_t number : numbers) {
      auto dims = withDim(program, *subject.plan, *smallest, dim, number);
      if (!dims || number == (*smallest)[dim] || elementsOf(program, *dims) > limits.elements)
        continue;
      Call call{*dims, LayoutKind::Tight, false};
      if (run.admits(call) && !take(run, call))
        return false;
    }
  }
  return true;
}

/// As long as something is not reached, calls that reach something new: of all sizes, and of one
/// row of more elements.
bool KernelProver::unreached(KernelRun &run) {
  const uint64_t most = run.steps() + limits.steps;
  auto reachesNew = [&](const Call &call) -> std::optional<bool> {
    uint64_t before = run.reached();
    if (!take(run, call))
      return std::nullopt;
    bool reachedMore = run.reached() != before;
    if (!reachedMore)
      proof.calls.pop_back();
    return reachedMore;
  };
  for (const std::vector<int64_t> &dims : longRows(run)) {
    if (run.isCovered() || run.steps() > most)
      break;
    if (!reachesNew({dims, LayoutKind::Tight, false}))
      return false;
  }
  for (LayoutKind layout : allLayouts)
    for (bool inPlace : {false, true}) {
      if (inPlace && !hasAlias)
        continue;
      unsigned idle = 0;
      for (size_t index : searchOrder(sizes.size())) {
        if (run.isCovered() || idle > 24 || run.steps() > most)
          break;
        Call call{sizes[index], layout, inPlace};
        if (!run.admits(call))
          continue;
        std::optional<bool> isNew = reachesNew(call);
        if (!isNew)
          return false;
        idle = *isNew ? 0 : idle + 1;
      }
    }
  return true;
}

/// Loops take rows apart by threads, registers and vectors: lengths at which each of them ends.
std::vector<std::vector<int64_t>> KernelProver::longRows(const KernelRun &run) const {
  const Program &program = *subject.program;
  std::vector<std::vector<int64_t>> found;
  const std::vector<int64_t> *smallest = smallestCall(run);
  for (unsigned dim = 0; smallest && dim < program.dims.size(); ++dim) {
    if (!isLength(dim))
      continue;
    for (int64_t eighths : {33, 24, 20, 12, 10, 7, 5, 4, 3, 2, 1, 48, 64})
      for (int64_t more : {4, 1, 8, 0, 2}) {
        auto dims = withDim(program, *subject.plan, *smallest, dim, 128 * eighths + more);
        if (dims && elementsOf(program, *dims) <= limits.rowElements &&
            run.admits({*dims, LayoutKind::Tight, false}))
          found.push_back(*dims);
      }
  }
  return found;
}

/// The call in this layout, with one row, that takes the least work to prove for all rows: with
/// quotients that round, if there are any, whatever the work.
std::optional<Call> KernelProver::cheapestRow(KernelRun &run, unsigned dim, LayoutKind layout) {
  const Program &program = *subject.program;
  for (size_t rounded = divisors.size() + 1; rounded-- > 0;) {
    std::optional<Call> best;
    int64_t least = limits.rowThreads;
    unsigned asked = 0;
    for (const std::vector<int64_t> &dims : rowSizes()) {
      if (dims[dim] != 1 || asked > 400 || hasNothing(program, dims) ||
          roundedDivisors(*subject.plan, divisors, dims) != rounded)
        continue;
      ++asked;
      Call call{dims, layout, false};
      std::optional<RowPeriod> period = run.periodOf(call, dim);
      if (!period || period->threads >= least)
        continue;
      Call whole = call;
      whole.dims[dim] = period->rows;
      if (!run.admits(call) || !run.admits(whole))
        continue;
      best = call;
      least = period->threads;
    }
    if (best)
      return best;
  }
  return std::nullopt;
}

/// For each dim that counts rows and for layouts of each kind: without gaps, with the loosest
/// strides and addresses that the variant admits, with broadcasts, and far apart.
bool KernelProver::allRows(KernelRun &run) {
  for (unsigned dim : rowDims) {
    bool isLoose = false;
    for (LayoutKind layout :
         {LayoutKind::Tight, LayoutKind::Strided, LayoutKind::Skewed, LayoutKind::Halved,
          LayoutKind::Padded, LayoutKind::Broadcast, LayoutKind::Far}) {
      bool isOfLoose = layout != LayoutKind::Tight && layout != LayoutKind::Broadcast &&
                       layout != LayoutKind::Far;
      if (isOfLoose && isLoose)
        continue;
      std::optional<Call> best = cheapestRow(run, dim, layout);
      if (!best)
        continue;
      isLoose |= isOfLoose;
      RowOutcome outcome = run.proveAllRows(*best, dim);
      std::string text = fmt::format("{}, {}", subject.program->dims[dim].name, name(layout));
      // What is not linear in the rows is proved by its sizes alone.
      if (outcome.outcome.verdict == Verdict::NotProvable) {
        proof.notAllRows.push_back(fmt::format("{}: {}", text, outcome.outcome.problem));
        continue;
      }
      if (!accept(outcome.outcome))
        return false;
      if (outcome.upTo)
        proof.notAllRows.push_back(
            fmt::format("{} beyond {}: {}", text, outcome.upTo, outcome.beyond));
      std::string others = describeDims(best->dims, static_cast<int>(dim));
      std::string most = outcome.upTo ? fmt::format(" up to {}", outcome.upTo) : "";
      proof.allRows.push_back(fmt::format("{}{}, {}{}{}", subject.program->dims[dim].name, most,
                                          name(layout), others.empty() ? "" : ": ", others));
    }
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
  std::unique_ptr<KernelRun> run = KernelRun::make(subject, variant, shared, problem);
  if (!run) {
    fail(Verdict::NotProvable, problem);
    return proof;
  }
  auto sizesWith = [&](bool hasReciprocals) {
    return sizesFor(*subject.program, *subject.plan, *kernel, rowDims, hasReciprocals,
                    limits.elements);
  };
  sizes = sizesWith(false);
  if (!divisors.empty())
    roundedSizes = sizesWith(true);
  // Where all rows are run there is most often nothing left that needs larger sizes.
  if (small(*run) && compared(*run) && allRows(*run) && unreached(*run)) {
    if (proof.calls.empty())
      fail(Verdict::NotProvable, "no call within the limits of a proof is admitted");
    noteUnreached(*run);
  }
  proof.steps = run->steps();
  return proof;
}

} // namespace

/// Whatever its sizes and layout, a call that satisfies the contract has a variant: the first whose
/// guards hold. Empty, or the call that has none.
static std::string unservedCall(const Subject &subject, const Limits &limits) {
  const Program &program = *subject.program;
  const std::vector<unsigned> rowDims = rowDimsOf(program);
  const std::vector<plan::ParameterValue> parameters = parametersOf(*subject.plan);
  const bool hasAlias = std::ranges::any_of(
      subject.plan->tensors, [](const plan::TensorSpec &tensor) { return tensor.mayAlias >= 0; });
  const ptx::Kernel none;
  for (const std::vector<int64_t> &dims :
       sizesFor(program, *subject.plan, none, rowDims, false, limits.elements))
    for (LayoutKind layout : allLayouts)
      for (bool inPlace : {false, true}) {
        if (inPlace && !hasAlias)
          continue;
        Call call{dims, layout, inPlace};
        auto binding =
            plan::bind(*subject.plan, tensorsOf(program, *subject.plan, call), parameters);
        if (!std::holds_alternative<plan::Binding>(binding))
          continue;
        auto launch = plan::selectVariant(*subject.plan, std::get<plan::Binding>(binding));
        if (const auto *decline = std::get_if<plan::Decline>(&launch)) {
          std::vector<std::string> parts;
          for (size_t dim = 0; dim < dims.size(); ++dim)
            parts.push_back(fmt::format("{} = {}", program.dims[dim].name, dims[dim]));
          return fmt::format("no variant takes the call {}; {}{}: {}", fmt::join(parts, ", "),
                             name(layout), inPlace ? ", in place" : "",
                             plan::describe(*subject.plan, *decline));
        }
      }
  return {};
}

Verdict Proof::verdict() const {
  if (kernels.empty() || !unserved.empty())
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
  // Kernels compute the same terms, so they share them until there are too many.
  auto shared = std::make_unique<SharedTerms>(*subject.program);
  auto count = [&] {
    proof.terms += shared->terms.size();
    for (size_t i = 0; i < rewriteCount; ++i)
      proof.rewrites[i] += shared->terms.rewrites()[i];
  };
  for (size_t variant = 0; variant < subject.plan->variants.size(); ++variant) {
    if (shared->terms.size() > limits.terms) {
      count();
      shared = std::make_unique<SharedTerms>(*subject.program);
    }
    shared->terms.forgetLines();
    proof.kernels.push_back(KernelProver(subject, limits, variant, *shared).run());
    proof.steps += proof.kernels.back().steps;
  }
  count();
  if (subject.hasAllVariants)
    proof.unserved = unservedCall(subject, limits);
  return proof;
}

} // namespace h3::prove
