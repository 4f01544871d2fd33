//===-- codegen/driver/Depfile.h - What a build system must watch - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_DEPFILE_H
#define H3_CODEGEN_DRIVER_DEPFILE_H

#include "codegen/driver/Specs.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace h3 {

/// The files that \p spec was read from, in reading order and once each. Modules that are part of
/// the program have no file: the program stands for them.
std::vector<std::string> filesRead(const LoadedSpec &spec);

/// A rule for make and ninja, "TARGETS: PREREQUISITES", one path a line, escaped as GNU make reads
/// it. Empty if a path has a line break in it, which make cannot read.
std::optional<std::string> depfile(std::span<const std::string> targets,
                                   std::span<const std::string> prerequisites);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_DEPFILE_H
