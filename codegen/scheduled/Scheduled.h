//===-- codegen/scheduled/Scheduled.h - From programs to scheduled kernels - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_SCHEDULED_SCHEDULED_H
#define H3_CODEGEN_SCHEDULED_SCHEDULED_H

#include "codegen/kernel/Kernel.h"
#include "codegen/kernel/Schedule.h"
#include "dsl/program/Program.h"
#include "runtime/plan/Plan.h"

#include <llvm/ADT/STLFunctionalExtras.h>
#include <mlir/IR/OwningOpRef.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace h3 {

/// The kernels of one operator before anything of a target's own code generation: `gpu.func`s of
/// the h3 dialect's scalar operations, `arith`, `scf` and `llvm` loads and stores.
struct ScheduledOperator {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< with one `gpu.module`
  std::vector<plan::OperatorPlan> plans;    ///< one for each type instance, variants filled in
  std::map<std::string, KernelSchedule> schedules; ///< of the variants, by entry

  mlir::gpu::GPUModuleOp kernels() const {
    return *mlir::ModuleOp(module.get()).getOps<mlir::gpu::GPUModuleOp>().begin();
  }
};

struct SchedulingOptions {
  std::string target; ///< its name becomes a part of the entries'
  Machine machine;
  std::string schedule;          ///< the only one, where it is legal; empty: they are chosen
  bool printAfterPasses = false; ///< to standard error
};

/// The variants that an operator's jobs get on \p machine, best first. A thread alone that may
/// access anything anywhere gains too little by narrow indices and narrow accesses to have more
/// than the two variants with 64-bit indices. Empty with \p error set.
std::vector<KernelSchedule> schedulesFor(const std::vector<Job> &jobs, const Machine &machine,
                                         std::string &error);

/// Schedules the type instances \p programs of one operator. Entries are
/// `h3_OPERATOR__TARGET__VARIANT` (backends/README.md); what a symbol cannot have becomes `_`.
/// Empty with \p error set.
std::optional<ScheduledOperator> scheduleOperator(mlir::MLIRContext &context,
                                                  std::span<const Program *const> programs,
                                                  const SchedulingOptions &options,
                                                  std::string &error);

/// The kernels as text of one form (README.md): the same bytes for the same kernels. What is
/// computed twice in \p kernels becomes one; \p plans name the parameters. Empty with \p error set,
/// an internal one, for an operation that is not on the list.
std::optional<std::string> serialise(mlir::gpu::GPUModuleOp kernels,
                                     std::span<const plan::OperatorPlan> plans,
                                     std::string_view target, std::string &error);

/// The number of that form, which changes with the meaning of anything in it.
inline constexpr unsigned kScheduledForm = 1;

} // namespace h3

#endif // H3_CODEGEN_SCHEDULED_SCHEDULED_H
