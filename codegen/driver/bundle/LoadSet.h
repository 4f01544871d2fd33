//===-- codegen/driver/bundle/LoadSet.h - An operator set with its specs - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_BUNDLE_LOADSET_H
#define H3_CODEGEN_DRIVER_BUNDLE_LOADSET_H

#include "codegen/driver/Driver.h"
#include "codegen/driver/Specs.h"
#include "codegen/driver/bundle/OperatorSetFile.h"

namespace h3 {

/// Reads the operator-set file at \p path; \p file keeps its text. Nothing after an error, which is
/// printed.
std::optional<OperatorSetFile> loadSetFile(const std::string &path, const SpecOptions &options,
                                           SourceFile &file);

/// Loads the spec of an operator of a set. False after an error, which is printed.
bool loadSetOperator(const OperatorSetFile::Operator &row, const SpecOptions &options,
                     LoadedSpec &spec, OperatorInstances &entry);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_BUNDLE_LOADSET_H
