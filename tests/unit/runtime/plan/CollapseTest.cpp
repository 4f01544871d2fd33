//===-- tests/unit/runtime/plan/CollapseTest.cpp - Leading axes merge *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/Plan.h"
#include "tests/unit/runtime/plan/Plans.h"

#include <gtest/gtest.h>

using namespace h3::plan;
using namespace h3::plan::test;

namespace {

/// "[3,32,64]/[6144,192,1]", or the decline, of one tensor bound at the given rank.
std::string bound(unsigned rank, const Tensor &host, bool isOutput = false) {
  const OperatorPlan plan = single(rank, isOutput);
  auto result = bind(plan, std::span(&host, 1), {});
  if (const Decline *decline = std::get_if<Decline>(&result))
    return describe(plan, *decline);
  const BoundTensor &tensor = std::get<Binding>(result).tensors[0];
  std::string extents, strides;
  int64_t elements = 1;
  for (unsigned axis = 0; axis < rank; ++axis) {
    extents += (axis ? "," : "") + std::to_string(tensor.extents[axis]);
    strides += (axis ? "," : "") + std::to_string(tensor.strides[axis]);
    elements *= tensor.extents[axis];
  }
  EXPECT_EQ(tensor.elements, elements);
  EXPECT_EQ(tensor.address, host.address);
  return "[" + extents + "]/[" + strides + "]";
}

Tensor packed(std::initializer_list<int64_t> extents) {
  return Tensor::contiguous(kA, DType::F32, extents);
}

Tensor view(std::initializer_list<int64_t> extents, std::initializer_list<int64_t> strides) {
  return Tensor::strided(kA, DType::F32, extents, strides);
}

TEST(CollapseTest, LeadingAxesMerge) {
  EXPECT_EQ(bound(3, packed({1, 3, 32, 64})), "[3,32,64]/[2048,64,1]");
  EXPECT_EQ(bound(2, packed({1, 3, 1, 48})), "[3,48]/[48,1]");
  EXPECT_EQ(bound(3, packed({2, 195, 32, 64})), "[390,32,64]/[2048,64,1]");
  EXPECT_EQ(bound(1, packed({2, 3, 4})), "[24]/[1]");
  EXPECT_EQ(bound(2, packed({2, 3})), "[2,3]/[3,1]");
  EXPECT_EQ(bound(2, packed({2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3})), "[32768,3]/[3,1]");
}

TEST(CollapseTest, ChunkOfAWiderProjectionMerges) { // S27
  EXPECT_EQ(bound(3, view({2, 195, 32, 64}, {195 * 6144, 6144, 192, 1})),
            "[390,32,64]/[6144,192,1]");
}

TEST(CollapseTest, TransposedHeadsKeepTheirStrides) { // S27: head stride above token stride
  EXPECT_EQ(bound(3, view({1, 195, 32, 64}, {0, 64, 195 * 64, 1})), "[195,32,64]/[64,12480,1]");
}

TEST(CollapseTest, TrailingAxesNeverMerge) {
  EXPECT_EQ(bound(3, view({4, 5, 6}, {1000, 7, 100})), "[4,5,6]/[1000,7,100]");
}

TEST(CollapseTest, GapBetweenLeadingAxesIsDeclined) {
  EXPECT_EQ(bound(2, view({2, 3, 4}, {100, 4, 1})),
            "declined: stride: axes 0 and 1 of the tensor passed as y do not merge into n0: the "
            "stride in axis 0 is 100, merging needs 12");
  EXPECT_EQ(bound(1, view({2, 1, 3, 1}, {4, 77, 1, 77})),
            "declined: stride: axes 0 and 2 of the tensor passed as y do not merge into n0: the "
            "stride in axis 0 is 4, merging needs 3");
  EXPECT_EQ(bound(1, view({2, 3}, {1, 2})),
            "declined: stride: axes 0 and 1 of the tensor passed as y do not merge into n0: the "
            "stride in axis 0 is 1, merging needs 6");
}

TEST(CollapseTest, BroadcastMergesOnlyWithBroadcast) {
  EXPECT_EQ(bound(2, view({5, 6, 7}, {0, 0, 1})), "[30,7]/[0,1]");
  EXPECT_EQ(bound(1, view({5, 6}, {0, 0})), "[30]/[0]");
  EXPECT_EQ(bound(1, view({5, 1, 6}, {0, 9, 0})), "[30]/[0]");
  EXPECT_EQ(bound(2, view({5, 6, 7}, {0, 7, 1})),
            "declined: stride: axes 0 and 1 of the tensor passed as y do not merge into n0: the "
            "stride in axis 0 is 0, merging needs 42");
  EXPECT_EQ(bound(2, view({5, 6, 7}, {7, 0, 1})),
            "declined: stride: axes 0 and 1 of the tensor passed as y do not merge into n0: the "
            "stride in axis 0 is 7, merging needs 0");
}

TEST(CollapseTest, AxesOfExtentOneAreIgnored) {
  EXPECT_EQ(bound(2, view({1, 3, 1, 4}, {-5, 4, 999, 1})), "[3,4]/[4,1]");
  EXPECT_EQ(bound(1, view({1, 1, 1}, {7, 8, 9})), "[1]/[0]");
  EXPECT_EQ(bound(2, view({1, 1}, {7, -8})), "[1,1]/[0,0]");
  EXPECT_EQ(bound(2, view({3, 1}, {1, 77})), "[3,1]/[1,0]");
}

TEST(CollapseTest, EmptyTensorsMergeFreely) {
  EXPECT_EQ(bound(2, view({0, 3, 4}, {7, 100, 3})), "[0,4]/[0,0]");
  EXPECT_EQ(bound(2, view({2, 3, 0}, {7, 100, 3})), "[6,0]/[0,0]");
  EXPECT_EQ(bound(1, view({2, 0, 3}, {-1, -1, -1})), "[0]/[0]");
  EXPECT_EQ(bound(2, view({INT64_MAX, 0, 4}, {1, 1, 1})), "[0,4]/[0,0]");
  EXPECT_EQ(bound(2, view({INT64_MAX, 2, 0}, {1, 1, 1})),
            "declined: size: y has 2^63 elements or more");
}

TEST(CollapseTest, RankZeroTakesASingleElement) {
  EXPECT_EQ(bound(0, view({}, {})), "[]/[]");
  EXPECT_EQ(bound(0, view({1, 1}, {4, -4})), "[]/[]");
  EXPECT_EQ(bound(0, view({1, 2}, {1, 1})),
            "declined: shape: y has extent 2 in axis 1 of the tensor passed, the contract says a "
            "single element");
  EXPECT_EQ(bound(0, view({0}, {1})),
            "declined: shape: y has extent 0 in axis 0 of the tensor passed, the contract says a "
            "single element");
}

TEST(CollapseTest, LowerRankIsDeclined) {
  EXPECT_EQ(bound(3, packed({32, 64})),
            "declined: shape: y has rank 2, the contract says at least 3");
  EXPECT_EQ(bound(1, packed({})), "declined: shape: y has rank 0, the contract says at least 1");
}

TEST(CollapseTest, RankBeyondTheTypeIsDeclined) {
  Tensor tensor = packed({1});
  tensor.rank = 17;
  EXPECT_EQ(bound(1, tensor), "declined: shape: y has rank 17, the most that can be passed is 16");
}

TEST(CollapseTest, NegativeExtentsAndStridesAreDeclined) {
  EXPECT_EQ(bound(2, view({2, -1, 3}, {1, 1, 1})),
            "declined: shape: y has extent -1 in axis 1 of the tensor passed, the contract says 0 "
            "or more");
  EXPECT_EQ(bound(2, view({2, 2, 3}, {6, 3, -1})),
            "declined: stride: y has stride -1 in axis 2 of the tensor passed, the contract says 0 "
            "or more");
}

TEST(CollapseTest, SizesPastThirtyTwoBitsAreFine) { // S24
  EXPECT_EQ(bound(2, packed({61681, 34816})), "[61681,34816]/[34816,1]");
  EXPECT_EQ(bound(2, packed({1LL << 33, 1LL << 20, 4})), "[9007199254740992,4]/[4,1]");
}

TEST(CollapseTest, SizesPastSixtyThreeBitsAreDeclined) {
  const char *elements = "declined: size: y has 2^63 elements or more";
  const char *span =
      "declined: size: y spans 2^63 bytes or more, or passes the end of the address space";
  EXPECT_EQ(bound(2, view({1LL << 40, 1LL << 40}, {0, 0})), elements);
  EXPECT_EQ(bound(1, packed({1LL << 40, 1LL << 40})), elements);
  EXPECT_EQ(bound(1, view({2}, {INT64_MAX})), span);
  EXPECT_EQ(bound(1, view({2}, {(1LL << 61) - 1})), span) << "2^61 elements of 4 bytes are 2^63";
  Tensor small = view({2}, {(1LL << 61) - 2});
  small.address = 256;
  EXPECT_EQ(bound(1, small), "[2]/[2305843009213693950]");
  Tensor end = packed({4});
  end.address = UINT64_MAX - 15;
  EXPECT_EQ(bound(1, end), "[4]/[1]");
  end.address = UINT64_MAX - 11;
  EXPECT_EQ(bound(1, end), span);
}

TEST(CollapseTest, MergeThatNeedsAStridePastSixtyThreeBitsIsDeclined) {
  Tensor tensor = view({2, 3}, {5, (1LL << 60)});
  tensor.dtype = DType::E4M3;
  tensor.address = 256;
  OperatorPlan plan = single(1, false);
  plan.tensors[0].dtype = DType::E4M3;
  tensor.extents[1] = 8; // 7 * 2^60 bytes are in range, 8 * 2^60 are not
  EXPECT_EQ(outcome(plan, std::span(&tensor, 1)),
            "declined: stride: axes 0 and 1 of the tensor passed as y do not merge into n0: the "
            "stride in axis 0 is 5, merging needs 9223372036854775807");
}

TEST(CollapseTest, ContiguousStrides) {
  const Tensor tensor = packed({2, 0, 3});
  EXPECT_EQ(tensor.strides[2], 1);
  EXPECT_EQ(tensor.strides[1], 3);
  EXPECT_EQ(tensor.strides[0], 3);
}

} // namespace
