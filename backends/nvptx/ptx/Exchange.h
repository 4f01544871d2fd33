//===-- backends/nvptx/ptx/Exchange.h - Kinds of .sync ----------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PTX_EXCHANGE_H
#define H3_BACKENDS_NVPTX_PTX_EXCHANGE_H

#include <cstdint>

namespace h3::ptx {

/// Op::kind of the instructions of a barrier; those from Popc on bring a predicate.
enum class BarrierKind : uint8_t { Sync, Arrive, Popc, And, Or };

/// Op::kind2 of a barrier: the number of threads is written.
inline constexpr uint8_t BarrierCounted = 1;

} // namespace h3::ptx

#endif // H3_BACKENDS_NVPTX_PTX_EXCHANGE_H
