//===-- runtime/plan/OperatorNames.cpp - Operations of expressions in JSON -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/OperatorNames.h"

#include <array>

namespace h3::plan {

namespace {
constexpr std::array<std::string_view, 21> kNames = {
    "constant", "dim",      "stride",   "address", "parameter", "+",  "-",
    "*",        "floordiv", "floormod", "min",     "max",       "==", "!=",
    "<",        "<=",       ">",        ">=",      "and",       "or", "not"};
static_assert(kNames.size() == static_cast<size_t>(ExprOp::Not) + 1);
} // namespace

std::string_view jsonName(ExprOp op) { return kNames[static_cast<size_t>(op)]; }

std::optional<ExprOp> opNamed(std::string_view name) {
  for (size_t i = 1; i < kNames.size(); ++i)
    if (kNames[i] == name)
      return static_cast<ExprOp>(i);
  return std::nullopt;
}

} // namespace h3::plan
