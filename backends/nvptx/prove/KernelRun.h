//===-- backends/nvptx/prove/KernelRun.h - One kernel over terms - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Runs one kernel for single calls and for families of calls, and compares what it stores with the
// spec's terms.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PROVE_KERNELRUN_H
#define H3_BACKENDS_NVPTX_PROVE_KERNELRUN_H

#include "backends/nvptx/prove/Calls.h"
#include "backends/nvptx/prove/DeadCode.h"
#include "backends/nvptx/prove/Prover.h"
#include "backends/nvptx/prove/SpecTerms.h"
#include "backends/nvptx/prove/TermMachine.h"
#include "backends/nvptx/ptx/Reader.h"
#include "runtime/plan/List.h"

#include <map>
#include <memory>
#include <optional>

namespace h3::prove {

/// What all kernels of an instance compute the same of.
struct SharedTerms {
  explicit SharedTerms(const Program &program) : spec(terms, program) {}

  TermStore terms;
  SpecTerms spec;
  Operations operations;
};

struct Outcome {
  Verdict verdict = Verdict::Proved;
  std::string problem;
};

struct RowOutcome {
  int64_t upTo = 0;   ///< it holds for so many rows and fewer; 0: for all
  std::string beyond; ///< why not for more
  Outcome outcome;
};

/// With so many rows more there are so many blocks more in each part of the grid.
struct RowPeriod {
  int64_t rows = 0;
  std::vector<int64_t> blocks;
  int64_t threads = 0; ///< that have to run for a proof
};

class KernelRun {
public:
  static std::unique_ptr<KernelRun> make(const Subject &subject, size_t variant,
                                         SharedTerms &shared, std::string &problem);

  const ptx::Kernel &kernel() const { return *code.kernel; }
  bool admits(const Call &call) const;
  /// Constants that the code compares with sizes.
  const std::vector<uint64_t> &comparedSizes() const { return dead.compared; }
  /// Every block of the call.
  Outcome prove(const Call &call);
  /// Empty if there is none, or one too long to go through.
  std::optional<RowPeriod> periodOf(const Call &call, unsigned dim);
  /// The calls that differ from \p call in the dim \p dim alone, whatever its value.
  RowOutcome proveAllRows(const Call &call, unsigned dim);

  // ---- What was reached.
  bool isCovered() const { return unreached().empty(); }
  uint64_t reached() const;
  std::vector<unsigned> unreached() const; ///< PTX lines
  uint64_t steps() const { return machine->steps; }

private:
  KernelRun(const Subject &subject, size_t variant, SharedTerms &shared, ptx::Code decoded);

  /// One call bound and planned.
  struct Bound {
    plan::Binding binding;
    plan::Launch launch;
    std::shared_ptr<plan::ListCall> list; ///< of an `each` operator: holds the launch's table
  };
  std::optional<Bound> bind(const Call &call) const;
  /// What tensors of integers hold in a call; \p memory gets it.
  IndexPattern indicesOf(const Bound &bound, unsigned variation) const;
  void fillIndices(const Bound &bound, const IndexPattern &indices, TermMemory &memory);
  Outcome prove(const Call &call, const Bound &bound, unsigned variation);
  Outcome compare(const Call &call, TermMemory &memory, const SpecTerms::Outputs &outputs);
  std::optional<Outcome> setParameters(const Bound &bound, ptx::GridMemory &grid);
  Outcome faultOf(const Call &call, const ptx::Fault &fault) const;
  std::string callText(const Call &call) const;
  void setIndexRange(const IndexPattern &indices,
                     std::vector<std::array<int64_t, symbolCount>> &vertices) const;
  unsigned variations() const { return picked.empty() ? 1 : 3; }

  // ---- Families (RowFamily.cpp).
  struct Family;
  const SpecTerms::Outputs &specOf(const Call &call, const Family &family, const Bound &window,
                                   const IndexPattern &indices);
  bool takeStrides(const Call &whole, const Family &family, Bound &bound) const;
  std::optional<Outcome> runFamily(const Call &call, Family &family);

  const Subject &subject;
  plan::OperatorPlan only; ///< the plan with this variant alone
  TermStore &terms;
  SpecTerms &spec;
  ptx::Code code;
  std::unique_ptr<TermMachine> machine;
  DeadCode dead;
  TermNames names;
  std::vector<Picked> picked;
  std::map<std::vector<int64_t>, std::optional<RowPeriod>> periods; ///< by dims and the row dim
};

} // namespace h3::prove

#endif // H3_BACKENDS_NVPTX_PROVE_KERNELRUN_H
