//===-- backends/nvptx/Compile.h - From typed programs to PTX - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_COMPILE_H
#define H3_BACKENDS_NVPTX_COMPILE_H

#include "backends/Target.h"
#include "codegen/kernel/Schedule.h"
#include "dsl/program/Program.h"
#include "runtime/plan/Plan.h"

#include <mlir/IR/MLIRContext.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace h3 {
struct PreparedOperator; // codegen/kernel/Prepare.h
}

namespace h3::nvptx {

/// The stages that can be looked at, in order.
enum class Stage {
  H3,   ///< the h3 dialect as imported
  Mlir, ///< the scheduled kernels in gpu, scf, arith and h3 scalars
  Llvm, ///< LLVM IR as handed to the code generator
  Ptx,
};

struct Options {
  Stage stage = Stage::Ptx;
  bool printAfterPasses = false; ///< to standard error
  /// As codegen/kernel/Schedule.h writes it: the only variant, of each case of the sizes in which
  /// it is legal. Empty: variants are chosen.
  std::string schedule;
  /// The kernels wait for the grids in front of them themselves (DependentLaunch.cpp), and their
  /// plans say so. They may be launched in the common way too. Needs a target with it.
  bool dependentLaunch = false;
};

/// One operator on one target: all its type instances and variants.
struct Image {
  std::string text;                      ///< of the stage asked for; PTX by default
  unsigned ptxVersion = 0;               ///< times 10
  std::vector<plan::OperatorPlan> plans; ///< one for each type instance, variants filled in
  std::map<std::string, KernelSchedule> schedules; ///< of the variants, by entry
  double milliseconds = 0;
};

/// A context with everything loaded that `compile` needs. Making one takes some milliseconds; it
/// serves any number of calls, one at a time.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// The variants that \p target gets of an operator's jobs, best first: those that were measured
/// (tuned.def), the others by the estimate. Empty with \p error set.
std::vector<KernelSchedule> schedulesFor(const Program &program, const Target &target,
                                         const std::vector<Job> &jobs, std::string &error);

/// Compiles the type instances \p programs of one operator for \p target. The PTX is checked (see
/// PtxCheck.h) before it is returned. Empty with \p error set.
std::optional<Image> compile(mlir::MLIRContext &context, std::span<const Program *const> programs,
                             const Target &target, const Options &options, std::string &error);

/// One variant alone: case \p number of \p prepared, which was made in \p context from \p program,
/// by \p schedule. The plan declines calls of the other cases. Empty with \p error set, also for a
/// schedule that turns out to be impossible when its code is made.
std::optional<Image> compileVariant(mlir::MLIRContext &context, const Program &program,
                                    const PreparedOperator &prepared, size_t number,
                                    const KernelSchedule &schedule, const Target &target,
                                    std::string &error);

} // namespace h3::nvptx

#endif // H3_BACKENDS_NVPTX_COMPILE_H
