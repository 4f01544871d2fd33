//===-- codegen/kernel/Prepare.h - From typed program to jobs -- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_PREPARE_H
#define H3_CODEGEN_KERNEL_PREPARE_H

#include "codegen/kernel/Specialise.h"
#include "dsl/program/Program.h"

namespace h3 {

/// Runs passes over \p op and verifies it: without errors, or with what is wrong in \p error.
/// \p print shows the IR after each pass on standard error.
bool runPasses(mlir::Operation *op, llvm::function_ref<void(mlir::PassManager &)> add, bool print,
               std::string &error);

/// One instance of an operator, ready to be scheduled: its contract, and for each case of its sizes
/// the jobs.
struct PreparedOperator {
  plan::OperatorPlan contract; ///< without variants; guards' expressions are in it
  std::vector<SpecialCase> cases;
  std::vector<std::vector<Job>> jobs;         ///< of each case
  mlir::OwningOpRef<mlir::ModuleOp> remapped; ///< what `Job::remapped` points into
};

/// Empty with \p error set for a form that has no code generation.
std::optional<PreparedOperator> prepareOperator(mlir::MLIRContext &context, const Program &program,
                                                bool print, std::string &error);

} // namespace h3

#endif // H3_CODEGEN_KERNEL_PREPARE_H
