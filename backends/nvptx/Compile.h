//===-- backends/nvptx/Compile.h - From typed programs to PTX - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_COMPILE_H
#define H3_BACKENDS_NVPTX_COMPILE_H

#include "backends/Image.h"
#include "backends/Target.h"
#include "dsl/program/Program.h"
#include "runtime/plan/Plan.h"

#include <mlir/IR/MLIRContext.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace h3 {
struct PreparedOperator; // codegen/kernel/Prepare.h
}

namespace h3::nvptx {

/// What a target runs kernels on.
Machine machineOf(const Target &target);

/// The variants that \p target gets of an operator's jobs, best first: those that were measured
/// (tuned.def), the others by the estimate. Empty with \p error set.
std::vector<KernelSchedule> schedulesFor(const Program &program, const Target &target,
                                         const std::vector<Job> &jobs, std::string &error);

/// Compiles the type instances \p programs of one operator for \p target. The PTX is checked (see
/// PtxCheck.h) before it is returned. Empty with \p error set.
std::optional<Image> compile(mlir::MLIRContext &context, std::span<const Program *const> programs,
                             const Target &target, const ImageOptions &options, std::string &error);

/// One variant alone: case \p number of \p prepared, which was made in \p context from \p program,
/// by \p schedule. The plan declines calls of the other cases. Empty with \p error set, also for a
/// schedule that turns out to be impossible when its code is made.
std::optional<Image> compileVariant(mlir::MLIRContext &context, const Program &program,
                                    const PreparedOperator &prepared, size_t number,
                                    const KernelSchedule &schedule, const Target &target,
                                    std::string &error);

} // namespace h3::nvptx

#endif // H3_BACKENDS_NVPTX_COMPILE_H
