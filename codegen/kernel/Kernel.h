//===-- codegen/kernel/Kernel.h - From operator to kernel ----- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_KERNEL_H
#define H3_CODEGEN_KERNEL_KERNEL_H

#include "codegen/kernel/Machine.h"
#include "codegen/kernel/Schedule.h"
#include "runtime/plan/Plan.h"

#include <llvm/ADT/StringRef.h>
#include <mlir/Dialect/GPU/IR/GPUDialect.h>

#include <optional>
#include <string>

namespace h3 {

/// On the kernels of `each` operators: how many bytes their first argument points to. A backend
/// passes those by value.
inline constexpr llvm::StringLiteral kTableBytesAttr = "h3.table_bytes";

/// Emits one variant of \p op as a `gpu.func` named \p entry into \p module, and describes it for
/// the launch plan: guards, grid, block, arguments. Expressions are added to \p contract. All jobs
/// of the operator run in the one launch, each in its own range of blocks. Empty with \p error set
/// if the operator has a form without code generation.
std::optional<plan::Variant> emitKernel(ir::OperatorOp op, const std::vector<Job> &jobs,
                                        const KernelSchedule &schedule, const Machine &machine,
                                        const std::string &entry, mlir::gpu::GPUModuleOp module,
                                        plan::OperatorPlan &contract, std::string &error);

} // namespace h3

#endif // H3_CODEGEN_KERNEL_KERNEL_H
