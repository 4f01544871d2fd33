//===-- backends/nvptx/audit/PtxValues.h - What ptxas may leave out - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_AUDIT_PTXVALUES_H
#define H3_BACKENDS_NVPTX_AUDIT_PTXVALUES_H

#include "backends/nvptx/ptx/Module.h"

#include <set>
#include <vector>

namespace h3::audit {

/// For each register of the kernel, which halves of it anything uses that leads to a store, a
/// branch or the like: bit 0 the low one, bit 1 the high one, of one that is not packed both or
/// none. ptxas computes nothing that is not used. With \p present, the PTX lines that some machine
/// instruction was made of: only what is certainly used. What a `selp` alone uses is not, since
/// ptxas may know its condition, nor what a store uses that is not there, since ptxas found it out
/// of reach.
std::vector<unsigned> usedHalves(const ptx::Kernel &kernel,
                                 const std::set<unsigned> *present = nullptr);

/// For each instruction of the kernel a number, the same for two that have the same opcode and the
/// same operands by the same rule, also behind a pack and an unpack of halves: ptxas computes one
/// for both. What is loaded, what is defined twice and what stands under a predicate is the same as
/// nothing else.
std::vector<unsigned> valueNumbers(const ptx::Kernel &kernel);

} // namespace h3::audit

#endif // H3_BACKENDS_NVPTX_AUDIT_PTXVALUES_H
