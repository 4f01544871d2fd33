//===-- runtime/plan/DType.cpp - Element types at the boundary --*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/DType.h"

#include <array>

namespace h3::plan {

namespace {
struct Row {
  std::string_view name;
  unsigned bytes;
};
constexpr std::array<Row, 9> kRows = {{{"f16", 2},
                                       {"bf16", 2},
                                       {"f32", 4},
                                       {"f64", 8},
                                       {"i32", 4},
                                       {"i64", 8},
                                       {"e4m3", 1},
                                       {"e5m2", 1},
                                       {"other", 0}}};
static_assert(kRows.size() == static_cast<size_t>(DType::Other) + 1);
} // namespace

std::string_view name(DType dtype) { return kRows[static_cast<size_t>(dtype)].name; }

unsigned bytes(DType dtype) { return kRows[static_cast<size_t>(dtype)].bytes; }

std::optional<DType> dtypeNamed(std::string_view name) {
  for (size_t i = 0; i < static_cast<size_t>(DType::Other); ++i)
    if (kRows[i].name == name)
      return static_cast<DType>(i);
  return std::nullopt;
}

} // namespace h3::plan
