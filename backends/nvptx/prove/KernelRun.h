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
#include "backends/nvptx/prove/TermDomain.h"
#include "backends/nvptx/prove/TermMachine.h"
#include "backends/nvptx/ptx/Reader.h"
#include "runtime/plan/List.h"

#include <map>
#include <memory>
#include <optional>

namespace h3::prove {

struct Outcome {
  Verdict verdict = Verdict::Proved;
  std::string problem;
};

struct RowOutcome {
  bool isNotAdmitted = false; ///< the variant does not serve such calls
  bool isTooLarge = false;    ///< the period of rows and blocks is too long to go through
  int64_t threads = 0;        ///< that have to run
  int64_t upTo = 0;           ///< it holds for so many rows and fewer; 0: for all
  Outcome outcome;
};

class KernelRun {
public:
  static std::unique_ptr<KernelRun> make(const Subject &subject, size_t variant, TermStore &terms,
                                         std::string &problem);

  const ptx::Kernel &kernel() const { return *code.kernel; }
  bool admits(const Call &call) const;
  /// Every block of the call.
  Outcome prove(const Call &call);
  /// The calls that differ from \p call in the dim \p dim alone, whatever its value. With
  /// \p onlyAsk nothing is run: what it would take is said.
  RowOutcome proveAllRows(const Call &call, unsigned dim, bool onlyAsk);

  // ---- What was reached.
  bool isCovered() const { return unreached().empty(); }
  uint64_t reached() const;
  std::vector<unsigned> unreached() const; ///< PTX lines
  uint64_t steps() const { return machine->steps; }

private:
  KernelRun(const Subject &subject, size_t variant, TermStore &terms, ptx::Code decoded);

  /// One call bound and planned.
  struct Bound {
    plan::Binding binding;
    plan::Launch launch;
    std::shared_ptr<plan::ListCall> list; ///< of an `each` operator: holds the launch's table
  };
  std::optional<Bound> bind(const Call &call) const;
  std::optional<Outcome> evaluateSpec(const Bound &bound, unsigned variation, TermDomain &domain);
  void fillIndices(const Bound &bound, unsigned variation, TermDomain &domain, TermMemory *memory);
  Outcome prove(const Call &call, const Bound &bound, unsigned variation);
  /// Rows from \p rows on are not looked at.
  Outcome compare(const Call &call, TermMemory &memory, TermDomain &spec, int64_t rows);
  std::optional<Outcome> setParameters(const Bound &bound, ptx::GridMemory &grid);
  Outcome faultOf(const Call &call, const ptx::Fault &fault) const;
  std::string callText(const Call &call) const;
  void setIndexRange(std::vector<std::array<int64_t, symbolCount>> &vertices) const;
  unsigned variations() const { return picked.empty() ? 1 : 3; }

  // ---- Families (RowFamily.cpp).
  struct Family;
  std::optional<Outcome> runFamily(const Call &call, Family &family);

  const Subject &subject;
  plan::OperatorPlan only; ///< the plan with this variant alone
  TermStore &terms;
  ptx::Code code;
  std::unique_ptr<TermMachine> machine;
  DeadCode dead;
  TermNames names;
  std::vector<Picked> picked;
  int64_t pickedExtent = 0; ///< of the current call
};

} // namespace h3::prove

#endif // H3_BACKENDS_NVPTX_PROVE_KERNELRUN_H
