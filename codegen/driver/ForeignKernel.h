//===-- codegen/driver/ForeignKernel.h - PTX from elsewhere --- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// How a kernel that h3gen has not written meets an operator: which of its parameters is which, and
// how it is launched.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_FOREIGNKERNEL_H
#define H3_CODEGEN_DRIVER_FOREIGNKERNEL_H

#include "backends/nvptx/ptx/Module.h"
#include "dsl/program/Program.h"
#include "runtime/plan/Plan.h"

#include <optional>
#include <string>
#include <vector>

namespace h3 {

struct ForeignKernel {
  std::string entry;
  /// One name for each of the kernel's parameters, in their order: a tensor (its address), a dim,
  /// `TENSOR.N` (its stride in axis N), a parameter, or `_` (the value 0, which is never read).
  std::vector<std::string> binding;
  std::string grid = "1"; ///< blocks in x: names of dims and numbers with * between them, and `/ N`
                          ///< at the end, which rounds up
  unsigned block = 0;     ///< threads
  unsigned align = 16;    ///< bytes that every address is a multiple of; rows are contiguous
};

/// The plan of \p program with the kernel as its only variant. Empty with \p error set.
std::optional<plan::OperatorPlan> planOf(const Program &program, const ptx::Module &module,
                                         const ForeignKernel &kernel, std::string &error);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_FOREIGNKERNEL_H
