//===-- runtime/plan/DType.h - Element types at the boundary ----*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The element types a tensor or a parameter can have at a call, their names in the language and
// their widths in memory.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_PLAN_DTYPE_H
#define H3_RUNTIME_PLAN_DTYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace h3::plan {

/// `Other` is any element type the language does not have (a host's u8, bool, complex ...). No
/// contract admits it, so a call that has one is declined with reason `dtype`.
enum class DType : uint8_t { F16, BF16, F32, F64, I32, I64, E4M3, E5M2, Other };

/// "f16", "bf16", ..., "e5m2"; `Other` is "other".
std::string_view name(DType dtype);

/// The type with that name; `Other` has no name to be found by.
std::optional<DType> dtypeNamed(std::string_view name);

/// Bytes of one element: 1, 2, 4 or 8; 0 for `Other`.
unsigned bytes(DType dtype);

inline bool isInteger(DType dtype) { return dtype == DType::I32 || dtype == DType::I64; }

} // namespace h3::plan

#endif // H3_RUNTIME_PLAN_DTYPE_H
