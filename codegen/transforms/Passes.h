//===-- codegen/transforms/Passes.h - Passes that backends share -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_TRANSFORMS_PASSES_H
#define H3_CODEGEN_TRANSFORMS_PASSES_H

#include <mlir/Pass/Pass.h>

#include <memory>

namespace h3 {

/// `h3-flatten-branches`: an `scf.if` whose branches hold arithmetic alone becomes selects.
std::unique_ptr<mlir::Pass> createFlattenBranchesPass();

/// `h3-flatten-digits`: loops and reductions over several digits or axes get one index each, from
/// which the digits are taken.
std::unique_ptr<mlir::Pass> createFlattenDigitsPass();

/// `h3-fuse-loops`: the loops of a row over the same extent become one, which computes everything
/// and then stores everything.
std::unique_ptr<mlir::Pass> createFuseLoopsPass();

/// `h3-hoist-invariants`: what does not depend on the element leaves loops and reductions.
std::unique_ptr<mlir::Pass> createHoistInvariantsPass();

/// `h3-hoist-loads`: the loads inside an `scf.if` move into an `scf.if` of their own in front of
/// it, so that a schedule can issue them early.
std::unique_ptr<mlir::Pass> createHoistLoadsPass();

/// `h3-hoist-remaps`: the `h3.remap` inside an `scf.if` move in front of it, where every thread
/// takes part in them; those of branches that exclude each other share one.
std::unique_ptr<mlir::Pass> createHoistRemapsPass();

/// `h3-inline-rows`: every `h3.at` of an `h3.row` becomes the row's body at those indices, so that
/// an element is computed where it is used. With \p remap, a use of another element at a constant
/// distance becomes an `h3.remap` instead, if the row costs arithmetic.
std::unique_ptr<mlir::Pass> createInlineRowsPass(bool remap = false);

/// `h3-lower-narrow-floats`: conversions from and to 8-bit floats, and those with a directed
/// rounding, become integer arithmetic.
std::unique_ptr<mlir::Pass> createLowerNarrowFloatsPass();

/// `h3-lower-scalars`: scalar operations of the dialect become `arith` and `llvm` operations
/// without fast-math flags. Directed roundings and named approximations stay: they are the
/// backend's.
std::unique_ptr<mlir::Pass> createLowerScalarsPass();

/// `h3-split-rows`: a loop over rows inside a loop over rows becomes one over both; so does a loop
/// over elements as far as a reduction in it depends on its indices.
std::unique_ptr<mlir::Pass> createSplitRowsPass();

/// `h3-verify-no-fastmath`: fails on any operation that carries a fast-math flag.
std::unique_ptr<mlir::Pass> createVerifyNoFastMathPass();

/// Registers the passes above by name.
void registerTransforms();

} // namespace h3

#endif // H3_CODEGEN_TRANSFORMS_PASSES_H
