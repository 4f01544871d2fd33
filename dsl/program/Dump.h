//===-- dsl/program/Dump.h - The typed program as text ----------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// For `h3gen --emit program`, tests and debugging: one line a statement, expressions in prefix
// form.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_PROGRAM_DUMP_H
#define H3_DSL_PROGRAM_DUMP_H

#include "dsl/program/Program.h"

namespace h3 {

/// The whole program. Locals are written `%0`, index variables by name and number (`i.2`); each
/// literal with its type and value. The text is stable from run to run.
std::string dump(const Program &program);
std::string dump(const Expr &expr, const Program &program);

} // namespace h3

#endif // H3_DSL_PROGRAM_DUMP_H
