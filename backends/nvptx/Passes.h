//===-- backends/nvptx/Passes.h - Passes of the NVPTX backend - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PASSES_H
#define H3_BACKENDS_NVPTX_PASSES_H

#include "backends/Target.h"

#include <mlir/Pass/Pass.h>

#include <memory>

namespace h3::nvptx {

/// `h3-nvptx-lower-scalars`: named approximations, directed roundings and, where \p target has
/// them, conversions to 8-bit floats become the NVVM intrinsics of the PTX instructions with those
/// names.
std::unique_ptr<mlir::Pass> createLowerScalarsPass(const Target &target);

/// `h3-nvptx-canonical-nan`: an `h3.to_bits` of a value whose NaN \p target makes canonical itself
/// becomes a move.
std::unique_ptr<mlir::Pass> createCanonicalNaNPass(const Target &target);

/// `h3-nvptx-dependent-launch`: kernels wait for the grids in front of them before they access
/// memory. On functions of the llvm dialect, before `h3-nvptx-stream-accesses`.
std::unique_ptr<mlir::Pass> createDependentLaunchPass();

/// `h3-nvptx-stream-accesses`: `llvm.load` and `llvm.store` of global memory that are not temporal
/// become `ld.global.L1::no_allocate`, `.nc` where they are invariant, and `st.global.cs`.
std::unique_ptr<mlir::Pass> createStreamAccessesPass();

void registerPasses();

} // namespace h3::nvptx

#endif // H3_BACKENDS_NVPTX_PASSES_H
