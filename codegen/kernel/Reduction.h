//===-- codegen/kernel/Reduction.h - Code for a reduction within a team - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_REDUCTION_H
#define H3_CODEGEN_KERNEL_REDUCTION_H

#include "codegen/kernel/Walk.h"

#include <string>

namespace h3 {

/// Emits a reduction and binds its results, which all threads of the team then have. Digits that
/// are registers are joined in the thread, lanes by butterfly shuffles (after one both lanes have
/// both states, and each joins them with the lower position left), warps through shared memory. \p
/// held are the row's leaves if it is held in registers; otherwise the walk makes them. Returns
/// what has no code generation, or an empty string.
std::string emitReduction(mlir::OpBuilder &builder, Elements &elements, Exchange &exchange,
                          const Machine &machine, const Team &team, const Phase &phase, Walk &walk,
                          std::vector<Leaf> *held);

} // namespace h3

#endif // H3_CODEGEN_KERNEL_REDUCTION_H
