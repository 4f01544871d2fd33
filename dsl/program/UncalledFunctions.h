//===-- dsl/program/UncalledFunctions.h - Names in functions that nothing calls --*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A function is checked where it is called, with the types and extents of the call. What can be
// said of one that no operator calls is whether its names mean something.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_PROGRAM_UNCALLEDFUNCTIONS_H
#define H3_DSL_PROGRAM_UNCALLEDFUNCTIONS_H

#include "dsl/program/Names.h"

namespace h3 {

/// Reports unknown names in those functions of the root module that no operator of it reaches.
void checkUncalledFunctions(const ModuleIndex &index, Diagnostics &diagnostics);

} // namespace h3

#endif // H3_DSL_PROGRAM_UNCALLEDFUNCTIONS_H
