//===-- codegen/contract/Contract.h - The contract of an operator -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_CONTRACT_CONTRACT_H
#define H3_CODEGEN_CONTRACT_CONTRACT_H

#include "dsl/program/Program.h"
#include "runtime/plan/Plan.h"

#include <optional>
#include <string>

namespace h3 {

/// The launch plan of \p program without variants: how tensors bind, what a call must satisfy. It
/// is all that the reference interpreter needs; a backend adds its variants. Dim k, tensor k and
/// parameter k of the program are dim k, tensor k and parameter k of the plan. Empty with \p error
/// set if a requirement cannot be expressed, or a limit of the plan is passed.
std::optional<plan::OperatorPlan> contractOf(const Program &program, std::string &error);

/// \p size as an expression of the plan.
plan::ExprId planExpr(const Size &size, plan::ExprBuilder &builder);

/// The element type in a plan; empty for bool, which no tensor has.
std::optional<plan::DType> planType(ScalarType type);

/// The type of the language that an element type of a plan is.
ScalarType scalarType(plan::DType type);

} // namespace h3

#endif // H3_CODEGEN_CONTRACT_CONTRACT_H
