//===-- codegen/kernel/Reduction.h - Code for a reduction within a team - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_REDUCTION_H
#define H3_CODEGEN_KERNEL_REDUCTION_H

#include "codegen/kernel/Elements.h"
#include "codegen/kernel/Schedule.h"

#include <string>

namespace h3 {

/// Where a thread stands in its team.
struct Team {
  Layout layout;
  mlir::Value lane;                     ///< in the kernel's index type
  llvm::SmallVector<mlir::Value> bases; ///< first element of each chunk
};

/// Emits \p op for a team that holds the whole row, and binds its results, which all lanes then
/// have. Bits of the index that are registers are joined in the thread, lane bits by butterfly
/// shuffles: after one both lanes have both states, and each joins them with the lower position
/// left. Returns what has no code generation yet, or an empty string.
std::string emitReduction(mlir::OpBuilder &builder, Elements &elements, ir::ReduceOp op,
                          int64_t extent, const Team &team);

} // namespace h3

#endif // H3_CODEGEN_KERNEL_REDUCTION_H
