//===-- codegen/kernel/Streams.h - Inputs that are read once -- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_STREAMS_H
#define H3_CODEGEN_KERNEL_STREAMS_H

#include "codegen/kernel/Schedule.h"

namespace h3 {

/// Whether a launch of \p schedule is seen to read no element of the input \p tensor twice, so that
/// it need not stay in a cache: one job reads it, at all indices of the row and at the element's
/// own index or one moved by a distance. Where there are several such reads in a row they are of
/// parts that do not meet (the two halves of `x[r, (0, i)]` and `x[r, (1, i)]`), or they are the
/// same and the job holds what it read. False where it cannot be seen.
bool isReadOnce(mlir::Value tensor, const std::vector<Job> &jobs, const KernelSchedule &schedule);

} // namespace h3

#endif // H3_CODEGEN_KERNEL_STREAMS_H
