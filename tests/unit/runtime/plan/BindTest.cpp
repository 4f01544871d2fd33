//===-- tests/unit/runtime/plan/BindTest.cpp - Calls that are served *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/Plan.h"
#include "tests/unit/runtime/plan/Plans.h"

#include <gtest/gtest.h>

using namespace h3::plan;
using namespace h3::plan::test;

namespace {

/// The arguments of qk_norm_rope at a shape, packed, [batch, tokens, heads, d] as a model has them.
struct Call {
  Call(int64_t batch, int64_t tokens, int64_t headsQ, int64_t headsK)
      : q(Tensor::contiguous(kA, DType::F16, {batch, tokens, headsQ, 64})),
        k(Tensor::contiguous(kB, DType::F16, {batch, tokens, headsK, 64})),
        cos(Tensor::contiguous(kC, DType::F16, {batch, tokens, 1, 48})),
        sin(Tensor::contiguous(kD, DType::F16, {batch, tokens, 1, 48})),
        qOut(Tensor::contiguous(kE, DType::F16, {batch, tokens, headsQ, 64})),
        kOut(Tensor::contiguous(kF, DType::F16, {batch, tokens, headsK, 64})) {}

  Launch launch(const OperatorPlan &plan, std::span<const ParameterValue> parameters = {}) const {
    const Tensor tensors[] = {q, k, cos, sin, qOut, kOut};
    auto result = evaluate(plan, tensors, parameters);
    if (const Decline *decline = std::get_if<Decline>(&result)) {
      ADD_FAILURE() << describe(plan, *decline);
      return {};
    }
    return std::get<Launch>(result);
  }

  Tensor q, k, cos, sin, qOut, kOut;
};

const OperatorPlan &qk() {
  static const OperatorPlan plan = qkNormRope();
  return plan;
}

TEST(BindTest, ProductionShape) {
  const Launch launch = Call(2, 1797, 32, 32).launch(qk());
  EXPECT_EQ(qk().variants[launch.variant].name, "v16_i32");
  EXPECT_EQ(launch.grid, (std::array<uint32_t, 3>{(2 * 1797 * 64 + 31) / 32, 1, 1}));
  EXPECT_EQ(launch.block, (std::array<uint32_t, 3>{256, 1, 1}));
  EXPECT_EQ(launch.sharedBytes, 0u);
  EXPECT_FALSE(launch.isEmpty());
  const struct {
    uint64_t bits;
    unsigned bytes;
  } expected[] = {{kA, 8}, {kB, 8},   {kC, 8},   {kD, 8},        {kE, 8},
                  {kF, 8}, {3594, 4}, {2048, 4}, {0x3727c5ac, 4}};
  ASSERT_EQ(launch.args().size(), std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(launch.args()[i].bits, expected[i].bits) << i;
    EXPECT_EQ(launch.args()[i].bytes, expected[i].bytes) << i;
  }
}

TEST(BindTest, DimsFollowFromExtents) {
  const Call call(1, 3, 32, 8);
  const Tensor tensors[] = {call.q, call.k, call.cos, call.sin, call.qOut, call.kOut};
  auto result = bind(qk(), tensors, {});
  const Binding *binding = std::get_if<Binding>(&result);
  ASSERT_TRUE(binding);
  const int64_t expected[] = {3, 32, 8, 64, 48};
  for (unsigned d = 0; d < 5; ++d)
    EXPECT_EQ(binding->dims[d], expected[d]) << qk().dims[d].name;
  EXPECT_EQ(binding->parameters[0], 0x3727c5acu);
  EXPECT_EQ(evaluateExpr(qk(), qk().variants[0].grid[0], *binding), 4);
}

TEST(BindTest, ZeroRowsAreServedWithoutALaunch) { // S25
  EXPECT_TRUE(Call(1, 0, 32, 32).launch(qk()).isEmpty());
  EXPECT_TRUE(Call(0, 195, 32, 32).launch(qk()).isEmpty());
  EXPECT_TRUE(Call(1, 195, 0, 0).launch(qk()).isEmpty());
  const Launch half = Call(1, 2, 0, 32).launch(qk());
  EXPECT_EQ(half.grid[0], 2u) << "no q, but there is k to do";
}

TEST(BindTest, EmptyTensorsMayHaveAnyAddress) {
  Call call(1, 0, 32, 32);
  call.q.address = call.k.address = call.qOut.address = call.kOut.address = 1;
  EXPECT_TRUE(call.launch(qk()).isEmpty());
}

TEST(BindTest, ChunksOfOneProjection) { // S27
  Call call(2, 195, 32, 32);
  call.q = Tensor::strided(kA, DType::F16, {2, 195, 32, 64}, {195 * 6144, 6144, 192, 1});
  call.k = Tensor::strided(kA + 128, DType::F16, {2, 195, 32, 64}, {195 * 6144, 6144, 192, 1});
  const Launch launch = call.launch(qk());
  EXPECT_EQ(launch.variant, 0u);
  EXPECT_EQ(launch.args()[1].bits, kA + 128);
  EXPECT_EQ(launch.args()[7].bits, 6144u);
}

TEST(BindTest, TransposedHeads) { // S27
  Call call(1, 195, 32, 32);
  call.q = Tensor::strided(kA, DType::F16, {1, 195, 32, 64}, {1, 64, 195 * 64, 1});
  call.qOut = Tensor::strided(kE, DType::F16, {1, 195, 32, 64}, {1, 64, 195 * 64, 1});
  const Launch launch = call.launch(qk());
  EXPECT_EQ(launch.variant, 0u);
  EXPECT_EQ(launch.args()[7].bits, 64u);
}

TEST(BindTest, MisalignedAddressesTakeTheScalarVariant) { // S26
  for (uint64_t elements = 1; elements < 8; ++elements)
    for (Tensor Call::*which :
         {&Call::q, &Call::k, &Call::cos, &Call::sin, &Call::qOut, &Call::kOut}) {
      Call call(1, 3, 32, 32);
      (call.*which).address += 2 * elements;
      const Launch launch = call.launch(qk());
      EXPECT_EQ(qk().variants[launch.variant].name, "v2_i64");
      EXPECT_EQ(launch.args()[6].bytes, 8);
    }
  Call call(1, 3, 32, 32);
  call.q.address += 16;
  EXPECT_EQ(call.launch(qk()).variant, 0u);
}

TEST(BindTest, OddStridesTakeTheScalarVariant) {
  Call call(1, 3, 32, 32);
  call.q = Tensor::strided(kA, DType::F16, {1, 3, 32, 64}, {0, 65 * 32, 65, 1});
  EXPECT_EQ(call.launch(qk()).variant, 1u);
}

TEST(BindTest, StridesThatDoNotMatterSatisfyAnyGuard) {
  Call call(1, 1, 1, 1);
  call.q = Tensor::strided(kA, DType::F16, {1, 1, 1, 64}, {7, -3, 5, 1});
  const Launch launch = call.launch(qk());
  EXPECT_EQ(launch.variant, 0u);
  EXPECT_EQ(launch.args()[7].bits, 0u) << "a stride over one row is bound as 0";
}

TEST(BindTest, InputsMayBroadcastAndOverlap) {
  Call call(1, 3, 32, 32);
  call.cos = Tensor::strided(kC, DType::F16, {1, 3, 1, 48}, {0, 0, 0, 1});
  call.sin = call.cos;
  call.k = call.q;
  EXPECT_EQ(call.launch(qk()).variant, 0u);
}

TEST(BindTest, ParametersAreTakenOrDefaulted) {
  const Call call(1, 3, 32, 32);
  const ParameterValue set[] = {{true, DType::F32, 0x358637bd}};
  EXPECT_EQ(call.launch(qk(), set).args()[8].bits, 0x358637bdu);
  const ParameterValue unset[] = {{false, DType::F64, 0x358637bd}};
  EXPECT_EQ(call.launch(qk(), unset).args()[8].bits, 0x3727c5acu);
}

TEST(BindTest, ProductExtentsGiveTheirFactor) {
  const OperatorPlan plan = swiglu();
  const Tensor tensors[] = {Tensor::contiguous(kA, DType::F16, {1, 17, 16384}),
                            Tensor::contiguous(kB, DType::F16, {1, 17, 8192})};
  auto result = bind(plan, tensors, {});
  const Binding *binding = std::get_if<Binding>(&result);
  ASSERT_TRUE(binding);
  EXPECT_EQ(binding->dims[0], 17);
  EXPECT_EQ(binding->dims[1], 8192);
  auto launch = std::get<Launch>(selectVariant(plan, *binding));
  EXPECT_EQ(launch.grid[0], 3u) << "17 rows in blocks of 8";
  EXPECT_EQ(launch.block, (std::array<uint32_t, 3>{32, 8, 1}));
}

TEST(BindTest, OffsetsPastThirtyTwoBitsTakeTheWideVariant) { // S24
  const OperatorPlan plan = swiglu();
  auto variant = [&](int64_t rows) {
    const Tensor tensors[] = {Tensor::contiguous(kA, DType::F16, {rows, 34816}),
                              Tensor::contiguous(kB, DType::F16, {rows, 17408})};
    return std::get<Launch>(evaluate(plan, tensors, {})).variant;
  };
  EXPECT_EQ(variant(61680), 0u);
  EXPECT_EQ(variant(61681), 1u) << "61681 * 34816 is just above 2^31";
}

/// `dim row = heads * pairs * 2` over x[tokens, row], cos[tokens, pairs]: pairs stands alone, row
/// then gives heads, and row itself is defined.
OperatorPlan wan() {
  OperatorPlan p;
  p.name = "wan";
  ExprBuilder b(p.nodes);
  p.dims = {{"tokens", {}}, {"heads", {}}, {"pairs", {}}, {"row", {}}};
  const ExprId factors = b.mul(b.dim(2), b.constant(2));
  p.tensors.resize(2);
  p.tensors[0].name = "x";
  p.tensors[0].dtype = DType::BF16;
  p.tensors[0].extents = {b.dim(0), b.dim(3)};
  p.tensors[1].name = "cos";
  p.tensors[1].dtype = DType::F32;
  p.tensors[1].extents = {b.dim(0), b.dim(2)};
  p.bindings = {{BindingStep::Kind::FromExtent, 0, 0, 0, kNoExpr},
                {BindingStep::Kind::FromExtent, 2, 1, 1, kNoExpr},
                {BindingStep::Kind::FromExtent, 1, 0, 1, factors},
                {BindingStep::Kind::Define, 3, 0, 0, b.mul(b.dim(1), factors)}};
  p.variants.resize(1);
  p.variants[0].name = p.variants[0].entry = "v2_i64";
  EXPECT_EQ(verify(p), "");
  return p;
}

TEST(BindTest, DefinedDimsHaveTheirDigits) {
  const OperatorPlan plan = wan();
  const Tensor tensors[] = {Tensor::contiguous(kA, DType::BF16, {5, 40 * 64 * 2}),
                            Tensor::contiguous(kB, DType::F32, {5, 64})};
  auto result = bind(plan, tensors, {});
  const Binding *binding = std::get_if<Binding>(&result);
  ASSERT_TRUE(binding);
  EXPECT_EQ(binding->dims[1], 40);
  EXPECT_EQ(binding->dims[2], 64);
  EXPECT_EQ(binding->dims[3], 5120);
}

TEST(BindTest, FactorsThatDoNotDetermineADimAreDeclined) {
  const OperatorPlan plan = wan();
  const Tensor zero[] = {Tensor::contiguous(kA, DType::BF16, {5, 0}),
                         Tensor::contiguous(kB, DType::F32, {5, 0})};
  EXPECT_EQ(outcome(plan, zero), "declined: shape: x has extent 0 in axis 1, from which heads "
                                 "cannot be found: the other factors of row are 0");
  const Tensor wide[] = {Tensor::contiguous(kA, DType::BF16, {0, 5}),
                         Tensor::contiguous(kB, DType::F32, {0, 1LL << 62})};
  EXPECT_EQ(outcome(plan, wide),
            "declined: size: row, the extent of x in axis 1, overflows 64 bits");
}

TEST(BindTest, EvaluationIsBindingThenSelection) {
  const Call call(1, 195, 32, 32);
  const Tensor tensors[] = {call.q, call.k, call.cos, call.sin, call.qOut, call.kOut};
  const auto bound = std::get<Binding>(bind(qk(), tensors, {}));
  const auto one = std::get<Launch>(selectVariant(qk(), bound));
  const auto two = std::get<Launch>(evaluate(qk(), tensors, {}));
  EXPECT_EQ(one.variant, two.variant);
  EXPECT_EQ(one.grid, two.grid);
  EXPECT_EQ(one.argumentCount, two.argumentCount);
}

} // namespace
