//===-- runtime/plan/Checked.h - Checked 64-bit arithmetic ------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_PLAN_CHECKED_H
#define H3_RUNTIME_PLAN_CHECKED_H

#include <cstdint>
#include <optional>

namespace h3::plan {

/// The result, or nullopt if it does not fit 64 signed bits.
inline std::optional<int64_t> checkedAdd(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional<int64_t>(result);
}

inline std::optional<int64_t> checkedSub(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional<int64_t>(result);
}

inline std::optional<int64_t> checkedMul(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional<int64_t>(result);
}

} // namespace h3::plan

#endif // H3_RUNTIME_PLAN_CHECKED_H
