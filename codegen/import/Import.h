//===-- codegen/import/Import.h - Typed program to h3 dialect --*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_IMPORT_IMPORT_H
#define H3_CODEGEN_IMPORT_IMPORT_H

#include "codegen/dialect/H3.h"
#include "dsl/program/Program.h"

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

#include <string>

namespace h3 {

/// A module with one `h3.operator` that computes \p program. The first thing that the dialect
/// cannot express yet is named in \p error (with its place in the spec) and the result is null.
mlir::OwningOpRef<mlir::ModuleOp> importProgram(mlir::MLIRContext &context, const Program &program,
                                                std::string &error);

} // namespace h3

#endif // H3_CODEGEN_IMPORT_IMPORT_H
