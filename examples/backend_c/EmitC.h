//===-- examples/backend_c/EmitC.h - Scheduled kernels as C11 - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef BACKEND_C_EMITC_H
#define BACKEND_C_EMITC_H

#include "Kernels.h"

/// One C file: \p header as comment, the functions that the kernels need (c11/), and for each
/// kernel
///
///   void ENTRY(void *const *arguments, uint64_t first_block, uint64_t last_block);
///
/// which runs the blocks first_block <= b < last_block. An exception with one line for an operation
/// that needs more than one thread.
std::string emitC(const std::vector<Kernel> &kernels, const std::string &header);

#endif // BACKEND_C_EMITC_H
