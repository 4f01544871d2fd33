//===-- runtime/plan/OperatorNames.h - Operations of expressions in JSON - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_PLAN_OPERATORNAMES_H
#define H3_RUNTIME_PLAN_OPERATORNAMES_H

#include "runtime/plan/Expr.h"

#include <optional>
#include <string_view>

namespace h3::plan {

/// "dim", "+", "floordiv": the first element of an expression in JSON.
std::string_view jsonName(ExprOp op);

/// The operation of that name, `Constant` excepted, which is a plain number.
std::optional<ExprOp> opNamed(std::string_view name);

} // namespace h3::plan

#endif // H3_RUNTIME_PLAN_OPERATORNAMES_H
