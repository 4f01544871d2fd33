//===-- tests/unit/runtime/plan/AllocationTest.cpp - No memory on the warm path *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/List.h"
#include "tests/unit/runtime/plan/Plans.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace {
unsigned long allocations = 0;
}

// Not inlined: the compiler would see a pointer from new end in free and warn.
[[gnu::noinline]] void *operator new(size_t size) {
  ++allocations;
  if (void *memory = std::malloc(size))
    return memory;
  std::abort();
}
[[gnu::noinline]] void operator delete(void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept { std::free(memory); }

using namespace h3::plan;
using namespace h3::plan::test;

namespace {

TEST(AllocationTest, EvaluationAllocatesNothing) {
  const OperatorPlan plan = swiglu();
  const Tensor good[] = {Tensor::contiguous(kA, DType::F16, {4, 64}),
                         Tensor::contiguous(kB, DType::F16, {4, 32})};
  const Tensor interleaved[] = {Tensor::strided(kA, DType::F16, {4, 64}, {96, 1}),
                                Tensor::strided(kA + 128, DType::F16, {4, 32}, {96, 1})};
  const Tensor bad[] = {good[0], Tensor::contiguous(kA, DType::F16, {4, 32})};
  const unsigned long before = allocations;
  const bool served = std::holds_alternative<Launch>(evaluate(plan, good, {}));
  const bool apart = std::holds_alternative<Launch>(evaluate(plan, interleaved, {}));
  const bool declined = std::holds_alternative<Decline>(evaluate(plan, bad, {}));
  const unsigned long after = allocations;
  EXPECT_EQ(after, before);
  EXPECT_TRUE(served);
  EXPECT_TRUE(apart);
  EXPECT_TRUE(declined);

  const OperatorPlan listed = scales();
  std::vector<Tensor> list;
  for (uint64_t k = 0; k < 300; ++k) {
    list.push_back(Tensor::contiguous(kA + 4096 * k + 4 * (k % 2), DType::F32, {8}));
    list.push_back(Tensor::contiguous(kB + 4096 * k, DType::F32, {8}));
  }
  ListCall call;
  EXPECT_FALSE(call.evaluate(listed, list, {}));
  const size_t launches = call.launches().size();
  const unsigned long beforeList = allocations;
  const bool again = !call.evaluate(listed, list, {});
  const bool shorter = !call.evaluate(listed, std::span(list).first(100), {});
  EXPECT_EQ(allocations, beforeList) << "a list as long as an earlier one";
  EXPECT_TRUE(again && shorter);
  EXPECT_GT(launches, 3u);

  const unsigned long beforeText = allocations;
  describe(plan, *declineOf(plan, bad));
  EXPECT_GT(allocations, beforeText) << "the counter counts";
}

} // namespace
