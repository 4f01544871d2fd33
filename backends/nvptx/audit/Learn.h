//===-- backends/nvptx/audit/Learn.h - Kernels to learn expansions from - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_AUDIT_LEARN_H
#define H3_BACKENDS_NVPTX_AUDIT_LEARN_H

#include "backends/Target.h"

#include <string>

namespace h3::audit {

/// PTX with one kernel for each way to write each instruction that ptxas may expand on \p target:
/// operands from memory, from parameters, from the thread's number, constants; alone, twice with an
/// operand in common, behind a branch and in a loop.
std::string learningPtx(const Target &target);

} // namespace h3::audit

#endif // H3_BACKENDS_NVPTX_AUDIT_LEARN_H
