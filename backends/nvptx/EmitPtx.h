//===-- backends/nvptx/EmitPtx.h - LLVM IR to PTX ------------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_EMITPTX_H
#define H3_BACKENDS_NVPTX_EMITPTX_H

#include "backends/Target.h"

#include <llvm/IR/Module.h>

#include <optional>
#include <string>

namespace h3::nvptx {

/// Cleans \p module up for \p target: common subexpressions, LLVM's peephole rewrites, branches.
/// The kernels are straight-line code already, so that LLVM's default pipeline would only take
/// longer, and merge the code of different jobs. Nothing here may change a bit: there are no
/// fast-math flags to act on, and vectors of f32 are not formed.
void optimize(llvm::Module &module, const Target &target);

/// Prints \p module, which `optimize` has prepared, as PTX of the lowest version for \p target.
/// Empty with \p error set.
std::optional<std::string> emitPtx(llvm::Module &module, const Target &target, std::string &error);

/// How many fused multiply-adds \p module may become in PTX: those it has, and on a target without
/// bf16 arithmetic one for each bf16 add, subtract and multiply, which are exact forms of fma
/// there.
unsigned fusedMultiplyAdds(const llvm::Module &module, const Target &target);

} // namespace h3::nvptx

#endif // H3_BACKENDS_NVPTX_EMITPTX_H
