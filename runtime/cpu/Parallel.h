//===-- runtime/cpu/Parallel.h - Blocks over threads ---------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_CPU_PARALLEL_H
#define H3_RUNTIME_CPU_PARALLEL_H

#include "runtime/cpu/Image.h"
#include "runtime/plan/Plan.h"

#include <cstdint>

namespace h3::cpu {

/// Calls \p body(bodyContext, first, last) for ranges that together are 0 .. count - 1, each number
/// once, in any order and on any threads, and returns when all are done. A host may have one of its
/// own; \p context is what it gave with it.
struct ParallelFor {
  using Body = void (*)(void *bodyContext, uint64_t first, uint64_t last);
  void (*run)(void *context, uint64_t count, Body body, void *bodyContext) = nullptr;
  void *context = nullptr;
};

/// As many threads as this process may run on, the caller among them, started with the first call.
/// Calls from several threads take turns; a call from inside one runs on its own thread.
ParallelFor defaultParallelFor();

/// Everything on the caller's thread.
ParallelFor serialFor();

/// Runs \p launch, which is not empty, by \p entry. \p bytes is what the call reads and writes in
/// all, or 0 if that is not known: what is small stays on the caller's thread.
void run(Entry entry, const plan::Launch &launch, const ParallelFor &parallel, uint64_t bytes);

} // namespace h3::cpu

#endif // H3_RUNTIME_CPU_PARALLEL_H
