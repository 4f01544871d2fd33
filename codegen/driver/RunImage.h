//===-- codegen/driver/RunImage.h - The image that a call runs - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_RUNIMAGE_H
#define H3_CODEGEN_DRIVER_RUNIMAGE_H

#include "backends/nvptx/Compile.h"
#include "codegen/driver/Backends.h"

namespace h3 {

/// Compiles the operator of \p call for \p target. The launch plan keeps only the variant that the
/// request names, if it names one; the names of all are in \p result. Empty after an error, which
/// is in \p result.
std::optional<nvptx::Image> compileForRun(const BoundCall &call, const Target &target,
                                          RunResult &result);

/// The launch that \p plan chooses when the buffer of each bound tensor lies at
/// `addressOf(storage)`. Adds the variant's name to the report. Empty after a decline, which is in
/// \p result.
std::optional<plan::Launch>
planLaunch(const BoundCall &call, const plan::OperatorPlan &plan,
           llvm::function_ref<uint64_t(tensor::TensorData *storage)> addressOf, RunResult &result);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_RUNIMAGE_H
