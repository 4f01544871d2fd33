//===-- tests/unit/runtime/plan/OverlapRandomTest.cpp - Against address sets *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

//
// Collapse, self-overlap and disjointness of small random views against the definition: the sets
// of addresses themselves.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Plan.h"
#include "tests/unit/runtime/plan/Plans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

using namespace h3::plan;
using namespace h3::plan::test;

namespace {

/// Element offsets in index order, last axis fastest.
std::vector<int64_t> offsets(std::span<const int64_t> extents, std::span<const int64_t> strides) {
  std::vector<int64_t> result = {0};
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    std::vector<int64_t> next;
    for (int64_t base : result)
      for (int64_t i = 0; i < extents[axis]; ++i)
        next.push_back(base + i * strides[axis]);
    result = std::move(next);
  }
  return result;
}

struct View {
  BoundTensor bound;
  unsigned rank = 0;
  unsigned width = 4;

  BoundView view() const { return {&bound, rank, width}; }
  std::vector<int64_t> bytesTouched() const {
    std::vector<int64_t> touched;
    for (int64_t offset : offsets({bound.extents.data(), rank}, {bound.strides.data(), rank}))
      for (unsigned i = 0; i < width; ++i)
        touched.push_back(static_cast<int64_t>(bound.address) + offset * width + i);
    std::sort(touched.begin(), touched.end());
    return touched;
  }
};

View randomView(std::mt19937 &random) {
  static const unsigned widths[] = {1, 2, 4, 8};
  View v;
  v.rank = random() % 4;
  v.width = widths[random() % 4];
  v.bound.address = 1000 + random() % 64;
  v.bound.elements = 1;
  for (unsigned axis = 0; axis < v.rank; ++axis) {
    v.bound.extents[axis] = random() % 40 == 0 ? 0 : 1 + random() % 5;
    v.bound.strides[axis] = random() % 16;
    v.bound.elements *= v.bound.extents[axis];
  }
  return v;
}

bool intersect(const std::vector<int64_t> &a, const std::vector<int64_t> &b) {
  std::vector<int64_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return !both.empty();
}

TEST(OverlapRandomTest, TwoViewsAreDecidedExactly) {
  std::mt19937 random(1);
  unsigned apart = 0, apartWithin = 0;
  for (unsigned i = 0; i < 60000; ++i) {
    View a = randomView(random), b = randomView(random);
    if (i % 2) { // the same strides and width, as chunks of one buffer have
      b.width = a.width;
      b.rank = a.rank;
      b.bound.strides = a.bound.strides;
      b.bound.elements = 1;
      for (unsigned axis = 0; axis < b.rank; ++axis)
        b.bound.elements *= b.bound.extents[axis] = 1 + random() % 4;
      b.bound.address = a.bound.address + a.width * (random() % 12);
    }
    const auto x = a.bytesTouched(), y = b.bytesTouched();
    const bool expected = intersect(x, y);
    ASSERT_EQ(mayOverlap(a.view(), b.view()), expected) << i;
    ASSERT_EQ(mayOverlap(b.view(), a.view()), expected) << i;
    apart += !expected;
    apartWithin +=
        !expected && !x.empty() && !y.empty() && x.front() <= y.back() && y.front() <= x.back();
  }
  EXPECT_GT(apart, 10000u);
  EXPECT_GT(apartWithin, 2000u) << "views apart inside common intervals must have been met";
}

TEST(OverlapRandomTest, OneViewIsDecidedExactly) {
  std::mt19937 random(2);
  unsigned distinct = 0, distinctNotNested = 0;
  for (unsigned i = 0; i < 60000; ++i) {
    View v = randomView(random);
    v.rank = 1 + random() % 4;
    v.bound.elements = 1;
    for (unsigned axis = 0; axis < v.rank; ++axis) {
      v.bound.extents[axis] = random() % 40 == 0 ? 0 : 1 + random() % 4;
      v.bound.strides[axis] = random() % 24;
      v.bound.elements *= v.bound.extents[axis];
    }
    auto all = offsets({v.bound.extents.data(), v.rank}, {v.bound.strides.data(), v.rank});
    std::sort(all.begin(), all.end());
    const bool expected = std::adjacent_find(all.begin(), all.end()) != all.end();
    ASSERT_EQ(mayOverlapItself(v.view()), expected) << i;
    distinct += !expected;

    std::vector<std::pair<int64_t, int64_t>> steps;
    for (unsigned axis = 0; axis < v.rank; ++axis)
      if (v.bound.extents[axis] > 1)
        steps.push_back({v.bound.strides[axis], v.bound.extents[axis]});
    std::sort(steps.begin(), steps.end());
    int64_t reach = 0;
    bool nested = true;
    for (auto [stride, extent] : steps) {
      nested &= stride > reach;
      reach += stride * (extent - 1);
    }
    distinctNotNested += !expected && !nested && !all.empty();
  }
  EXPECT_GT(distinct, 10000u);
  EXPECT_GT(distinctNotNested, 500u) << "views that are distinct without being nested";
}

TEST(OverlapRandomTest, LongSearchesEndOnTheSafeSide) {
  // Coprime strides over long axes: whatever the answer, it may only err towards "may overlap".
  std::mt19937 random(3);
  for (unsigned i = 0; i < 300; ++i) {
    View v;
    v.rank = 3;
    v.bound.address = 0;
    v.bound.elements = 1;
    for (unsigned axis = 0; axis < 3; ++axis) {
      v.bound.extents[axis] = 2 + random() % 40;
      v.bound.strides[axis] = 1 + random() % 2000;
      v.bound.elements *= v.bound.extents[axis];
    }
    auto all = offsets({v.bound.extents.data(), 3}, {v.bound.strides.data(), 3});
    std::sort(all.begin(), all.end());
    const bool shares = std::adjacent_find(all.begin(), all.end()) != all.end();
    ASSERT_GE(mayOverlapItself(v.view()), shares) << i;
  }
}

TEST(OverlapRandomTest, CollapseKeepsEveryAddressInOrder) {
  std::mt19937 random(4);
  unsigned accepted = 0, declined = 0;
  const OperatorPlan plans[] = {single(0, false), single(1, false), single(2, false),
                                single(3, false)};
  for (unsigned i = 0; i < 60000; ++i) {
    const unsigned rank = 1 + random() % 3, hostRank = rank + random() % 3;
    std::vector<int64_t> extents, strides(hostRank);
    for (unsigned axis = 0; axis < hostRank; ++axis)
      extents.push_back(random() % 30 == 0 ? 0 : 1 + random() % 3);
    // Mostly packed from some stride on, then disturbed, so that both outcomes are common.
    int64_t stride = random() % 3;
    for (unsigned axis = hostRank; axis-- > 0;) {
      strides[axis] = extents[axis] == 1 ? static_cast<int64_t>(random() % 9) - 4 : stride;
      if (random() % 6 == 0)
        strides[axis] = random() % 12;
      stride = strides[axis] < 0 ? stride : strides[axis] * std::max<int64_t>(extents[axis], 1);
    }
    const Tensor host = Tensor::strided(kA, DType::F32, extents, strides);
    const auto expected = offsets(extents, strides);
    auto result = bind(plans[rank], std::span(&host, 1), {});
    if (const Binding *binding = std::get_if<Binding>(&result)) {
      ++accepted;
      const BoundTensor &bound = binding->tensors[0];
      ASSERT_EQ(offsets({bound.extents.data(), rank}, {bound.strides.data(), rank}), expected) << i;
      continue;
    }
    ++declined;
    // A decline must be right too: no stride of one leading axis gives these addresses.
    ASSERT_EQ(std::get<Decline>(result).detail, DeclineDetail::NotCollapsible) << i;
    const unsigned leading = hostRank - rank + 1;
    const auto merged =
        offsets(std::span(extents).first(leading), std::span(strides).first(leading));
    ASSERT_GE(merged.size(), 2u);
    bool linear = true;
    for (size_t k = 0; k < merged.size(); ++k)
      linear &= merged[k] == static_cast<int64_t>(k) * (merged[1] - merged[0]);
    ASSERT_FALSE(linear) << i;
  }
  EXPECT_GT(accepted, 10000u);
  EXPECT_GT(declined, 3000u);
}

} // namespace
