//===-- tests/unit/runtime/plan/DeclineTest.cpp - Calls that are declined *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/Plan.h"
#include "tests/unit/runtime/plan/Plans.h"

#include <gtest/gtest.h>

#include <set>

using namespace h3::plan;
using namespace h3::plan::test;

namespace {

/// x and y of swiglu, [4, 64] and [4, 32].
struct Swiglu {
  OperatorPlan plan = swiglu();
  Tensor x = Tensor::contiguous(kA, DType::F16, {4, 64});
  Tensor y = Tensor::contiguous(kB, DType::F16, {4, 32});

  std::string text() const {
    const Tensor tensors[] = {x, y};
    return outcome(plan, tensors);
  }
};

TEST(DeclineTest, ReasonsHaveNamesAndMeanings) {
  std::set<std::string_view> names, meanings;
  for (unsigned i = 0; i < kDeclineReasonCount; ++i) {
    names.insert(name(static_cast<DeclineReason>(i)));
    meanings.insert(meaning(static_cast<DeclineReason>(i)));
  }
  EXPECT_EQ(names.size(), kDeclineReasonCount);
  EXPECT_EQ(meanings.size(), kDeclineReasonCount);
  EXPECT_FALSE(names.count("unknown"));
  EXPECT_EQ(name(DeclineReason::NoOperatorSet), "no_operator_set");
  EXPECT_EQ(static_cast<int>(DeclineReason::NoOperatorSet), 0);
  EXPECT_EQ(static_cast<int>(DeclineReason::SelfcheckFailed), 14) << "values are part of the ABI";
}

TEST(DeclineTest, RuntimeReasonsSpeakForThemselves) {
  const struct {
    DeclineReason reason;
    const char *text;
  } rows[] = {
      {DeclineReason::NoOperatorSet,
       "declined: no_operator_set: no operator set exists for this device"},
      {DeclineReason::RequiresGrad,
       "declined: requires_grad: a tensor takes part in differentiation"},
      {DeclineReason::Compiling, "declined: compiling: the host is tracing or compiling"},
      {DeclineReason::CaptureNeedsPreload, "declined: capture_needs_preload: a stream is capturing "
                                           "and the operator has not been loaded"},
      {DeclineReason::SelfcheckFailed,
       "declined: selfcheck_failed: the operator failed its check on this device"},
  };
  const OperatorPlan plan = swiglu();
  for (auto &row : rows)
    EXPECT_EQ(describe(plan, {.reason = row.reason}), row.text);
}

TEST(DeclineTest, TheCallItselfIsGood) { EXPECT_EQ(Swiglu().text(), "served"); }

TEST(DeclineTest, Arguments) {
  const Swiglu call;
  const Tensor one[] = {call.x}, three[] = {call.x, call.y, call.y};
  EXPECT_EQ(outcome(call.plan, one), "declined: arguments: swiglu takes 2 tensors, found 1");
  EXPECT_EQ(outcome(call.plan, three), "declined: arguments: swiglu takes 2 tensors, found 3");
  const Tensor two[] = {call.x, call.y};
  const ParameterValue parameter[1] = {};
  EXPECT_EQ(outcome(call.plan, two, parameter),
            "declined: arguments: swiglu takes 0 parameters, found 1");
}

TEST(DeclineTest, DType) { // S30: a table in another type is not cast
  Swiglu call;
  call.x.dtype = DType::F32;
  EXPECT_EQ(call.text(), "declined: dtype: x is f32, the contract says f16");
  call.x.dtype = DType::Other;
  EXPECT_EQ(call.text(),
            "declined: dtype: x is of a type that no operator has, the contract says f16");
}

TEST(DeclineTest, ExtentMismatch) {
  Swiglu call;
  call.y = Tensor::contiguous(kB, DType::F16, {5, 32});
  EXPECT_EQ(call.text(), "declined: shape: y has extent 5 in axis 0, the contract says rows = 4");
  OperatorPlan plan = single(1, true);
  plan.tensors[0].extents = {ExprBuilder(plan.nodes).constant(48)};
  const Tensor y[] = {Tensor::contiguous(kA, DType::F32, {47})};
  EXPECT_EQ(outcome(plan, y), "declined: shape: y has extent 47 in axis 0, the contract says 48");
}

TEST(DeclineTest, OddProduct) {
  Swiglu call;
  call.x = Tensor::contiguous(kA, DType::F16, {4, 65});
  EXPECT_EQ(call.text(),
            "declined: shape: x has extent 65 in axis 1, the contract says 2 * d, a multiple of 2");
}

TEST(DeclineTest, StrideClause) {
  const OperatorPlan plan = qkNormRope();
  Tensor tensors[] = {Tensor::contiguous(kA, DType::F16, {3, 32, 64}),
                      Tensor::contiguous(kB, DType::F16, {3, 32, 64}),
                      Tensor::contiguous(kC, DType::F16, {3, 48}),
                      Tensor::contiguous(kD, DType::F16, {3, 48}),
                      Tensor::contiguous(kE, DType::F16, {3, 32, 64}),
                      Tensor::contiguous(kF, DType::F16, {3, 32, 64})};
  tensors[0] = Tensor::strided(kA, DType::F16, {3, 32, 64}, {4096, 128, 2});
  EXPECT_EQ(outcome(plan, tensors),
            "declined: stride: q has stride 2 in axis 2, the contract says 1");
  const auto decline = declineOf(plan, tensors);
  EXPECT_EQ(*decline,
            (Decline{DeclineReason::Stride, DeclineDetail::StrideClause, 0, 2, -1, 2, 1}));
  tensors[0].strides[2] = 0;
  EXPECT_EQ(outcome(plan, tensors),
            "declined: stride: q has stride 0 in axis 2, the contract says 1");
}

TEST(DeclineTest, StrideClauseAsksNothingOfOneElement) {
  Swiglu call;
  call.x = Tensor::strided(kA, DType::F16, {4, 2}, {2, 1});
  call.y = Tensor::strided(kB, DType::F16, {4, 1}, {1, 999});
  EXPECT_EQ(call.text(), "served");
  const Tensor tensors[] = {call.x, call.y};
  EXPECT_EQ(std::get<Binding>(bind(call.plan, tensors, {})).tensors[1].strides[1], 1)
      << "the clause's own number";
}

TEST(DeclineTest, ElementAlignment) {
  Swiglu call;
  call.x.address = kA + 1;
  EXPECT_EQ(call.text(), "declined: alignment: x has address 0x7f0000000001, f16 needs a multiple "
                         "of 2 bytes");
}

TEST(DeclineTest, AlignClause) {
  Swiglu call;
  call.plan.tensors[0].align = 4;
  EXPECT_EQ(call.text(), "served");
  call.x.address = kA + 8;
  EXPECT_EQ(call.text(), "served");
  call.x.address = kA + 10;
  EXPECT_EQ(call.text(), "declined: alignment: x has address 0x7f000000000a, the contract says "
                         "align(4), a multiple of 8 bytes");
}

TEST(DeclineTest, Requirement) {
  Swiglu call;
  ExprBuilder b(call.plan.nodes);
  const ExprId d = b.dim(1);
  call.plan.requirements = {
      {b.ge(d, b.constant(1)), "d >= 1"},
      {b.le(b.mul(d, b.constant(1LL << 58)), b.constant(INT64_MAX)), "d small"}};
  ASSERT_EQ(verify(call.plan), "");
  EXPECT_EQ(call.text(), "declined: requirement: d small does not hold") << "32 * 2^58 overflows";
  call.x = Tensor::contiguous(kA, DType::F16, {4, 62});
  call.y = Tensor::contiguous(kB, DType::F16, {4, 31});
  EXPECT_EQ(call.text(), "served");
  call.x = Tensor::contiguous(kA, DType::F16, {4, 0});
  call.y = Tensor::contiguous(kB, DType::F16, {4, 0});
  EXPECT_EQ(call.text(), "declined: requirement: d >= 1 does not hold");
}

TEST(DeclineTest, Parameters) {
  OperatorPlan plan = single(0, false);
  plan.parameters = {{"floor", DType::F32, {}}, {"n", DType::I64, 7}};
  ASSERT_EQ(verify(plan), "");
  const Tensor y[] = {Tensor::contiguous(kA, DType::F32, {})};
  EXPECT_EQ(outcome(plan, y), "declined: parameter: floor is not given and has no default");
  ParameterValue values[] = {{true, DType::F64, 0}, {}};
  EXPECT_EQ(outcome(plan, y, values), "declined: parameter: floor is f64, the contract says f32");
  values[0] = {true, DType::F32, 0x100000000};
  EXPECT_EQ(outcome(plan, y, values),
            "declined: parameter: floor has bits 0x100000000, more than f32 holds");
  values[0].bits = 0xffffffff;
  EXPECT_EQ(outcome(plan, y, values), "served");
  values[1] = {true, DType::I64, UINT64_MAX};
  EXPECT_EQ(outcome(plan, y, values), "served");
}

TEST(DeclineTest, ContractSizesThatOverflow) {
  OperatorPlan plan = single(1, false);
  ExprBuilder b(plan.nodes);
  plan.tensors.push_back(plan.tensors[0]);
  plan.tensors[1].name = "z";
  plan.tensors[1].extents = {b.mul(b.dim(0), b.constant(1LL << 40))};
  plan.tensors[1].isOutput = false;
  ASSERT_EQ(verify(plan), "");
  const Tensor tensors[] = {Tensor::strided(kA, DType::F32, {1LL << 23}, {0}),
                            Tensor::contiguous(kB, DType::F32, {0})};
  EXPECT_EQ(outcome(plan, tensors), "declined: size: n0 * 1099511627776, the extent of z in axis "
                                    "0, overflows 64 bits");

  OperatorPlan defined = single(1, false);
  ExprBuilder e(defined.nodes);
  defined.dims.push_back({"cube", {}});
  defined.bindings.push_back(
      {BindingStep::Kind::Define, 1, 0, 0, e.mul(e.dim(0), e.mul(e.dim(0), e.dim(0)))});
  ASSERT_EQ(verify(defined), "");
  const Tensor y[] = {Tensor::strided(kA, DType::F32, {1LL << 21}, {0})};
  EXPECT_EQ(outcome(defined, y), "declined: size: the value of cube overflows 64 bits");
}

/// One variant with the given launch expressions over n0.
struct Launching {
  OperatorPlan plan = single(1, false);
  ExprBuilder b{plan.nodes};
  ExprId n = b.dim(0);
  Variant &v = plan.variants[0];

  std::string text(int64_t extent) {
    EXPECT_EQ(verify(plan), "");
    const Tensor y[] = {Tensor::strided(kA, DType::F32, {extent}, {0})};
    return outcome(plan, y);
  }
};

TEST(DeclineTest, Grid) {
  Launching x;
  x.v.grid[0] = x.n;
  EXPECT_EQ(x.text(2147483647), "served");
  EXPECT_EQ(x.text(2147483648), "declined: size: the grid's x extent of variant v4_i64 is "
                                "2147483648, the launch allows 0 to 2147483647");
  Launching z;
  z.v.grid[2] = z.n;
  EXPECT_EQ(z.text(65535), "served");
  EXPECT_EQ(z.text(65536), "declined: size: the grid's z extent of variant v4_i64 is 65536, the "
                           "launch allows 0 to 65535");
  Launching negative;
  negative.v.grid[1] = negative.b.sub(negative.n, negative.b.constant(5));
  EXPECT_EQ(negative.text(4), "declined: size: the grid's y extent of variant v4_i64 is -1, the "
                              "launch allows 0 to 65535");
}

TEST(DeclineTest, Block) {
  Launching x;
  x.v.block[0] = x.n;
  EXPECT_EQ(x.text(1024), "served");
  EXPECT_EQ(x.text(1025), "declined: size: the block's x extent of variant v4_i64 is 1025, the "
                          "launch allows 1 to 1024");
  EXPECT_EQ(x.text(0), "declined: size: the block's x extent of variant v4_i64 is 0, the launch "
                       "allows 1 to 1024");
  x.v.block[1] = x.b.constant(2);
  EXPECT_EQ(x.text(512), "served");
  EXPECT_EQ(x.text(513),
            "declined: size: a block of variant v4_i64 has 1026 threads, the launch allows 1024");
}

TEST(DeclineTest, SharedMemory) {
  Launching x;
  x.v.sharedBytes = x.n;
  EXPECT_EQ(x.text(232448), "served");
  EXPECT_EQ(x.text(232449), "declined: size: the shared memory of variant v4_i64 is 232449 bytes, "
                            "the launch allows 0 to 232448");
}

TEST(DeclineTest, KernelArguments) {
  Launching x;
  x.v.arguments = {{ArgumentSpec::Kind::I64, x.n}, {ArgumentSpec::Kind::I32, x.n}};
  EXPECT_EQ(x.text(INT32_MAX), "served");
  EXPECT_EQ(x.text(1LL << 31),
            "declined: size: argument 1 of variant v4_i64 is 2147483648, more than i32 holds");
  x.v.arguments = {{ArgumentSpec::Kind::I64, x.b.mul(x.n, x.b.constant(1LL << 40))}};
  EXPECT_EQ(x.text(1 << 22), "served");
  EXPECT_EQ(x.text(1 << 23),
            "declined: size: a launch size or argument of variant v4_i64 overflows 64 bits");
}

TEST(DeclineTest, NegativeI32ArgumentsAreExtendedInFourBytes) {
  Launching x;
  x.v.arguments = {{ArgumentSpec::Kind::I32, x.b.sub(x.b.constant(0), x.n)},
                   {ArgumentSpec::Kind::I64, x.b.sub(x.b.constant(0), x.n)}};
  ASSERT_EQ(x.text(2), "served");
  const Tensor y[] = {Tensor::contiguous(kA, DType::F32, {2})};
  const auto launch = std::get<Launch>(evaluate(x.plan, y, {}));
  EXPECT_EQ(launch.args()[0].bits, 0xfffffffeu);
  EXPECT_EQ(launch.args()[1].bits, 0xfffffffffffffffeu);
}

TEST(DeclineTest, NoVariant) {
  Launching x;
  x.v.guards = {{x.b.lt(x.n, x.b.constant(4)), "n0 < 4"},
                {x.b.gt(x.b.mul(x.n, x.b.constant(INT64_MAX)), x.b.constant(0)), "overflows"}};
  EXPECT_EQ(x.text(1), "served");
  EXPECT_EQ(x.text(2), "declined: no_variant: no variant of single admits this call");
  EXPECT_EQ(x.text(4), "declined: no_variant: no variant of single admits this call");
}

TEST(DeclineTest, FirstVariantWhoseGuardsHoldWins) {
  Launching x;
  Variant general = x.v;
  x.v.guards = {{x.b.alignedTo(x.n, 8), "n0 % 8 == 0"}};
  Variant middle = x.v;
  middle.guards = {{x.b.alignedTo(x.n, 4), "n0 % 4 == 0"}};
  x.plan.variants = {x.v, middle, general};
  ASSERT_EQ(verify(x.plan), "");
  const struct {
    int64_t n;
    uint32_t variant;
  } rows[] = {{8, 0}, {12, 1}, {13, 2}, {0, 0}};
  for (auto &row : rows) {
    const Tensor y[] = {Tensor::contiguous(kA, DType::F32, {row.n})};
    EXPECT_EQ(std::get<Launch>(evaluate(x.plan, y, {})).variant, row.variant) << row.n;
  }
}

} // namespace
