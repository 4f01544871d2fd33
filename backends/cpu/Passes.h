//===-- backends/cpu/Passes.h - Passes of the CPU backend ----- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_CPU_PASSES_H
#define H3_BACKENDS_CPU_PASSES_H

#include "backends/Target.h"
#include "codegen/dialect/H3.h"

#include <mlir/IR/BuiltinOps.h>
#include <mlir/Pass/Pass.h>

#include <memory>

namespace h3::cpu {

/// `h3-cpu-lower-scalars`: named approximations become the integer models of
/// dsl/scalar/SpecialFunctions.h, directed roundings a rounding to nearest and a step back. Their
/// tables are globals of the module.
std::unique_ptr<mlir::Pass> createLowerScalarsPass(const Target &target);

/// `h3-cpu-lower-halves`: `arith` and `llvm` operations on f16 and bf16 become operations on f32 or
/// f64 with one rounding to the narrow type; fused multiply-adds that \p target lacks become exact
/// f64 arithmetic; so that LLVM calls no library.
std::unique_ptr<mlir::Pass> createLowerHalvesPass(const Target &target);

/// The value of \p function, one of the named approximations, at the f32 \p operand or each element
/// of it: integer code. Tables are made in \p module where they are first used.
mlir::Value emitApproximation(mlir::OpBuilder &builder, mlir::Location loc,
                              ir::Approximation function, mlir::Value operand,
                              mlir::Operation *module);

/// a * b + c in f64, rounded to odd: the exact sum if f64 has it, else the one of its two
/// neighbours whose last bit is 1. Rounding that again to a type with at most 51 bits of
/// significand rounds the exact sum. a * b is exact in f64 and finite where a and b are: both have
/// at most 26 bits of significand and exponents far from f64's limits. A null \p b stands for 1.
mlir::Value sumToOdd(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b,
                     mlir::Value c);

/// a * b + c, each an f64, to nearest: integer code, for targets without the instruction.
mlir::Value emitFusedMultiplyAdd(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a,
                                 mlir::Value b, mlir::Value c);

/// The value of an operation on single elements, emitted by \p emit, for each element of the
/// vectors
/// \p operands, or at once if they are none.
mlir::Value forEachElement(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type result,
                           mlir::ValueRange operands,
                           llvm::function_ref<mlir::Value(mlir::ValueRange)> emit);

/// Makes of the kernels in \p kernels, `gpu.func`s whose blocks are one thread, functions
///
///     void entry(const uint64_t *arguments, uint64_t firstBlock, uint64_t lastBlock)
///
/// that run the blocks firstBlock <= b < lastBlock, one after the other, in a new module. Each
/// argument lies in the low bytes of its own eight; the first of a kernel with a table of members
/// is its address. The floating-point environment is saved, set to the default one, and restored.
mlir::OwningOpRef<mlir::ModuleOp> makeEntryPoints(mlir::gpu::GPUModuleOp kernels,
                                                  const Target &target);

void registerPasses();

} // namespace h3::cpu

#endif // H3_BACKENDS_CPU_PASSES_H
