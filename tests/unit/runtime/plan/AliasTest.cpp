//===-- tests/unit/runtime/plan/AliasTest.cpp - What outputs may share *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/Plan.h"
#include "tests/unit/runtime/plan/Plans.h"

#include <gtest/gtest.h>

using namespace h3::plan;
using namespace h3::plan::test;

namespace {

/// residual_rms_norm at 3 rows; h may alias residual.
struct Residual {
  OperatorPlan plan = residualRmsNorm();
  Tensor residual = Tensor::contiguous(kA, DType::F32, {3, 2048});
  Tensor branch = Tensor::contiguous(kB, DType::F16, {3, 2048});
  Tensor scale = Tensor::contiguous(kC, DType::F32, {2048});
  Tensor weight = Tensor::contiguous(kD, DType::F32, {2048});
  Tensor h = Tensor::contiguous(kE, DType::F32, {3, 2048});
  Tensor y = Tensor::contiguous(kF, DType::F16, {3, 2048});

  std::string text() const {
    const Tensor tensors[] = {residual, branch, scale, weight, h, y};
    return outcome(plan, tensors);
  }
};

TEST(AliasTest, ApartIsServed) { EXPECT_EQ(Residual().text(), "served"); }

TEST(AliasTest, TheSameViewIsServedWhereTheSpecSaysSo) {
  Residual call;
  call.h = call.residual;
  EXPECT_EQ(call.text(), "served");
  call.h = Tensor::contiguous(kA, DType::F32, {1, 3, 1, 2048});
  EXPECT_EQ(call.text(), "served") << "another shape at the host, the same view";
}

TEST(AliasTest, AnotherViewOfTheAliasIsDeclined) {
  const char *text = "declined: alias: h overlaps residual in part, the contract says the same "
                     "address, extents and strides or none in common";
  Residual call;
  call.h.address = kA + 4;
  EXPECT_EQ(call.text(), text);
  call.h.address = kA + 2048 * 4;
  EXPECT_EQ(call.text(), text) << "one row further";
  call.h.address = kA + 3 * 2048 * 4;
  EXPECT_EQ(call.text(), "served") << "behind it";
  call.h.address = kA;
  call.h.strides[0] = 4096;
  EXPECT_EQ(call.text(), text);
}

TEST(AliasTest, OtherOverlapsAreDeclined) {
  Residual call;
  call.y.address = kB;
  EXPECT_EQ(call.text(), "declined: alias: y overlaps branch, the contract keeps them apart");
  call = {};
  call.y.address = kA;
  EXPECT_EQ(call.text(), "declined: alias: y overlaps residual, the contract keeps them apart");
  call = {};
  call.y.address = kE + 2048 * 4 * 3 - 2;
  EXPECT_EQ(call.text(), "declined: alias: h overlaps y, the contract keeps them apart");
  call = {};
  call.scale.address = kE + 4;
  EXPECT_EQ(call.text(), "declined: alias: h overlaps scale, the contract keeps them apart");
  call = {};
  call.h = call.residual;
  call.scale.address = kA;
  EXPECT_EQ(call.text(), "declined: alias: h overlaps scale, the contract keeps them apart")
      << "the alias is with residual only";
}

TEST(AliasTest, OneRowMayAliasWhateverItsRowStride) {
  Residual call;
  call.residual = Tensor::strided(kA, DType::F32, {1, 2048}, {77, 1});
  call.branch = Tensor::contiguous(kB, DType::F16, {1, 2048});
  call.h = Tensor::contiguous(kA, DType::F32, {1, 2048});
  call.y = Tensor::contiguous(kF, DType::F16, {1, 2048});
  EXPECT_EQ(call.text(), "served");
}

TEST(AliasTest, EmptyTensorsShareNothing) {
  Residual call;
  for (Tensor *t : {&call.residual, &call.branch, &call.h, &call.y}) {
    t->address = kA + 1;
    t->extents[0] = 0;
  }
  EXPECT_EQ(call.text(), "served");
}

TEST(AliasTest, OutputsThatShareAnAddressWithinAreDeclined) {
  const char *text =
      "declined: alias: elements of h share an address, an output needs one for each";
  Residual call;
  call.h.strides[0] = 0;
  EXPECT_EQ(call.text(), text);
  call.h.strides[0] = 2047;
  EXPECT_EQ(call.text(), text);
  call.h.strides[0] = 2049;
  EXPECT_EQ(call.text(), "served");
  call.h.strides[1] = 0;
  EXPECT_EQ(call.text(), text);
  call.h.strides = {1, 3};
  EXPECT_EQ(call.text(), "served") << "transposed";
  call.h.strides = {1, 2};
  EXPECT_EQ(call.text(), text);
}

TEST(AliasTest, BroadcastResidualCannotBeAliased) {
  Residual call;
  call.residual.strides[0] = 0;
  EXPECT_EQ(call.text(), "served");
  call.h = call.residual;
  EXPECT_EQ(call.text(),
            "declined: alias: elements of h share an address, an output needs one for each");
}

/// One output `y` beside one f32 input `x`, both of free extents.
std::string pair(const Tensor &y, const Tensor &x) {
  const unsigned rank = y.rank;
  OperatorPlan plan = single(rank, true);
  plan.tensors.push_back(single(x.rank, false).tensors[0]);
  ExprBuilder b(plan.nodes);
  plan.tensors[1].name = "x";
  for (unsigned axis = 0; axis < x.rank; ++axis) {
    const auto dim = static_cast<uint16_t>(plan.dims.size());
    plan.dims.push_back({"m" + std::to_string(axis), {}});
    plan.bindings.push_back(
        {BindingStep::Kind::FromExtent, dim, 1, static_cast<uint16_t>(axis), kNoExpr});
    plan.tensors[1].extents[axis] = b.dim(dim);
  }
  EXPECT_EQ(verify(plan), "");
  const Tensor tensors[] = {y, x};
  return outcome(plan, tensors);
}

Tensor f32(int64_t offset, std::initializer_list<int64_t> extents,
           std::initializer_list<int64_t> strides) {
  return Tensor::strided(kA + static_cast<uint64_t>(4 * offset), DType::F32, extents, strides);
}

TEST(AliasTest, InterleavedViewsAreApart) {
  const char *overlap = "declined: alias: y overlaps x, the contract keeps them apart";
  // Two chunks of the last axis of one wider buffer.
  EXPECT_EQ(pair(f32(0, {195, 32, 64}, {6144, 192, 1}), f32(64, {195, 32, 64}, {6144, 192, 1})),
            "served");
  EXPECT_EQ(pair(f32(0, {195, 32, 65}, {6144, 192, 1}), f32(64, {195, 32, 64}, {6144, 192, 1})),
            overlap);
  // Every second element, every third of other phases.
  EXPECT_EQ(pair(f32(0, {1000000}, {2}), f32(1, {1000000}, {2})), "served");
  EXPECT_EQ(pair(f32(0, {1000000}, {2}), f32(2, {1000000}, {2})), overlap);
  EXPECT_EQ(pair(f32(0, {1000000}, {6}), f32(1, {1500000}, {4})), "served") << "even and odd";
  EXPECT_EQ(pair(f32(0, {1000000}, {6}), f32(2, {1500000}, {4})), overlap);
  // A column beside the rows of the same buffer.
  EXPECT_EQ(pair(f32(0, {500000, 64}, {65, 1}), f32(64, {500000}, {65})), "served");
  EXPECT_EQ(pair(f32(0, {500000, 64}, {65, 1}), f32(63, {500000}, {65})), overlap);
  // Transposed halves.
  EXPECT_EQ(pair(f32(0, {64, 500000}, {1, 128}), f32(64, {500000, 64}, {128, 1})), "served");
  // A broadcast input read from the gap between rows.
  EXPECT_EQ(pair(f32(0, {100, 64}, {65, 1}), f32(64, {100, 5}, {0, 0})), "served");
  EXPECT_EQ(pair(f32(0, {100, 64}, {65, 1}), f32(66, {100, 5}, {0, 0})), overlap);
}

TEST(AliasTest, TouchingIntervalsAreApart) {
  EXPECT_EQ(pair(f32(0, {100}, {1}), f32(100, {100}, {1})), "served");
  EXPECT_EQ(pair(f32(100, {100}, {1}), f32(0, {100}, {1})), "served");
  EXPECT_EQ(pair(f32(0, {100}, {1}), f32(99, {100}, {1})),
            "declined: alias: y overlaps x, the contract keeps them apart");
}

TEST(AliasTest, LargeViewsAreDecided) {
  const int64_t wide = 1LL << 33;
  EXPECT_EQ(pair(f32(0, {1LL << 20, 64}, {wide, 1}), f32(64, {1LL << 20, 64}, {wide, 1})),
            "served");
  EXPECT_EQ(pair(f32(0, {1LL << 20, 65}, {wide, 1}), f32(64, {1LL << 20, 64}, {wide, 1})),
            "declined: alias: y overlaps x, the contract keeps them apart");
}

} // namespace
