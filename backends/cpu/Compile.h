//===-- backends/cpu/Compile.h - From typed programs to object files - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_CPU_COMPILE_H
#define H3_BACKENDS_CPU_COMPILE_H

#include "backends/Image.h"
#include "backends/Target.h"
#include "codegen/kernel/Machine.h"
#include "codegen/kernel/Schedule.h"
#include "dsl/program/Program.h"

#include <mlir/IR/MLIRContext.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace h3::cpu {

/// What a target runs kernels on: a team, and a block, is one thread, and a row lies in its
/// vectors.
Machine machineOf(const Target &target);

/// The variants that \p target gets of an operator's jobs, best first. Empty with \p error set.
std::vector<KernelSchedule> schedulesFor(const Target &target, const std::vector<Job> &jobs,
                                         std::string &error);

/// Compiles the type instances \p programs of one operator for \p target to an object file. Empty
/// with \p error set.
std::optional<Image> compile(mlir::MLIRContext &context, std::span<const Program *const> programs,
                             const Target &target, const ImageOptions &options, std::string &error);

} // namespace h3::cpu

#endif // H3_BACKENDS_CPU_COMPILE_H
