//===-- backends/cpu/EmitObject.h - LLVM IR to an object file - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_CPU_EMITOBJECT_H
#define H3_BACKENDS_CPU_EMITOBJECT_H

#include "backends/Target.h"

#include <llvm/IR/Module.h>

#include <optional>
#include <string>

namespace h3::cpu {

/// Prepares \p module for \p target: its triple, data layout and the attributes of its functions;
/// then passes that know nothing of floating-point algebra. Empty, or what is wrong.
std::string optimize(llvm::Module &module, const Target &target);

/// The ELF object file of \p module. Empty with \p error set.
std::optional<std::string> emitObject(llvm::Module &module, const Target &target,
                                      std::string &error);

} // namespace h3::cpu

#endif // H3_BACKENDS_CPU_EMITOBJECT_H
