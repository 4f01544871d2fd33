//===-- codegen/kernel/Specialise.h - One operator for each case of its sizes - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_SPECIALISE_H
#define H3_CODEGEN_KERNEL_SPECIALISE_H

#include "codegen/kernel/Guards.h"
#include "codegen/kernel/Job.h"

#include <mlir/IR/OwningOpRef.h>

namespace h3 {

/// An operator in which conditions on sizes are decided, with the guard that says how.
struct SpecialCase {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<plan::Condition> guards;

  ir::OperatorOp op() const {
    return *mlir::ModuleOp(module.get()).getOps<ir::OperatorOp>().begin();
  }
};

/// A condition made of sizes and integer parameters alone that chooses between reductions is
/// decided for each call (language.md 3.15): the operator becomes one for each outcome. Guard
/// expressions are added to \p contract. An operator without such conditions comes back alone.
/// Empty with
/// \p error set for a condition that the launch plan cannot express, or too many of them.
std::vector<SpecialCase> specialCases(mlir::OwningOpRef<mlir::ModuleOp> module,
                                      plan::OperatorPlan &contract, std::string &error);

/// Notes in the phases of \p jobs which vectors can fill a row in this case: where the case is that
/// the extent is no multiple of 4, those of 2. Expressions are added to \p contract.
void limitVectors(const SpecialCase &special, std::vector<Job> &jobs, plan::OperatorPlan &contract);

} // namespace h3

#endif // H3_CODEGEN_KERNEL_SPECIALISE_H
