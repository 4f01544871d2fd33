//===-- codegen/driver/CompilerBuild.h - Which h3gen this is -- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_COMPILERBUILD_H
#define H3_CODEGEN_DRIVER_COMPILERBUILD_H

#include "codegen/driver/Cache.h"

#include <optional>
#include <string>

namespace h3 {

/// Text that differs between any two builds of the running program and of the shared libraries that
/// are loaded into it: the build ids that the linker made of their contents, or, of what has none,
/// the digest of the file. Empty if such a file cannot be read.
std::optional<std::string> compilerBuild(Cache &cache);

/// The path of the running program.
std::string programPath();

} // namespace h3

#endif // H3_CODEGEN_DRIVER_COMPILERBUILD_H
