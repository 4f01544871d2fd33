//===-- tests/unit/runtime/plan/Plans.cpp - Plans the tests share *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/runtime/plan/Plans.h"

#include "runtime/plan/List.h"

#include <gtest/gtest.h>

namespace h3::plan::test {

namespace {

BindingStep fromExtent(unsigned dim, unsigned tensor, unsigned axis, ExprId divisor = kNoExpr) {
  return {BindingStep::Kind::FromExtent, static_cast<uint16_t>(dim), static_cast<uint16_t>(tensor),
          static_cast<uint16_t>(axis), divisor};
}

TensorSpec tensor(std::string name, DType dtype, std::vector<ExprId> extents,
                  std::vector<std::optional<int64_t>> strides = {}) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.dtype = dtype;
  spec.extents = std::move(extents);
  spec.strides = std::move(strides);
  return spec;
}

TensorSpec output(TensorSpec spec) {
  spec.isOutput = true;
  return spec;
}

OperatorPlan checked(OperatorPlan plan) {
  EXPECT_EQ(verify(plan), "");
  return plan;
}

} // namespace

OperatorPlan qkNormRope() {
  OperatorPlan p;
  p.name = "qk_norm_rope";
  ExprBuilder b(p.nodes);
  p.dims = {{"tokens", {}}, {"heads_q", {}}, {"heads_k", {}}, {"d", 64}, {"r", 48}};
  const ExprId tokens = b.dim(0), headsQ = b.dim(1), headsK = b.dim(2), d = b.dim(3), r = b.dim(4);
  p.tensors = {tensor("q", DType::F16, {tokens, headsQ, d}, {{}, {}, 1}),
               tensor("k", DType::F16, {tokens, headsK, d}, {{}, {}, 1}),
               tensor("cos", DType::F16, {tokens, r}),
               tensor("sin", DType::F16, {tokens, r}),
               output(tensor("q_out", DType::F16, {tokens, headsQ, d})),
               output(tensor("k_out", DType::F16, {tokens, headsK, d}))};
  p.bindings = {fromExtent(0, 0, 0), fromExtent(1, 0, 1), fromExtent(2, 1, 1)};
  p.parameters = {{"eps", DType::F32, 0x3727c5ac}};

  const ExprId rows = b.mul(tokens, b.add(headsQ, headsK));
  Variant fast;
  fast.name = "v16_i32";
  fast.entry = "h3_qk_norm_rope__sm_90__v16_i32";
  for (unsigned t = 0; t < 6; ++t) {
    fast.guards.push_back({b.alignedTo(b.address(t), 16), p.tensors[t].name + " aligned to 16"});
    for (unsigned axis = 0; axis + 1 < p.tensors[t].rank(); ++axis)
      fast.guards.push_back({b.alignedTo(b.stride(t, axis), 8), "stride a multiple of 8"});
    if (t == 2 || t == 3 || t == 4 || t == 5)
      fast.guards.push_back(
          {b.eq(b.stride(t, p.tensors[t].rank() - 1), b.constant(1)), "last stride 1"});
  }
  fast.guards.push_back({b.lt(rows, b.constant(1 << 24)), "rows below 2^24"});
  fast.grid = {b.ceilDiv(rows, b.constant(32)), kNoExpr, kNoExpr};
  fast.block = {b.constant(256), kNoExpr, kNoExpr};
  for (unsigned t = 0; t < 6; ++t)
    fast.arguments.push_back({ArgumentSpec::Kind::Address, t});
  fast.arguments.push_back({ArgumentSpec::Kind::I32, tokens});
  fast.arguments.push_back({ArgumentSpec::Kind::I32, b.stride(0, 0)});
  fast.arguments.push_back({ArgumentSpec::Kind::Parameter, 0});

  Variant slow = fast;
  slow.name = "v2_i64";
  slow.entry = "h3_qk_norm_rope__sm_90__v2_i64";
  slow.guards.clear();
  for (ArgumentSpec &argument : slow.arguments)
    if (argument.kind == ArgumentSpec::Kind::I32)
      argument.kind = ArgumentSpec::Kind::I64;
  p.variants = {fast, slow};
  return checked(std::move(p));
}

OperatorPlan swiglu() {
  OperatorPlan p;
  p.name = "swiglu";
  p.typeArguments = {"f16"};
  ExprBuilder b(p.nodes);
  p.dims = {{"rows", {}}, {"d", {}}};
  const ExprId rows = b.dim(0), d = b.dim(1), two = b.constant(2);
  p.tensors = {tensor("x", DType::F16, {rows, b.mul(two, d)}, {{}, 1}),
               output(tensor("y", DType::F16, {rows, d}, {{}, 1}))};
  p.bindings = {fromExtent(0, 0, 0), fromExtent(1, 0, 1, two)};
  Variant fast;
  fast.name = "v16_i32";
  fast.entry = "h3_swiglu__sm_90__f16_v16_i32";
  fast.guards = {
      {b.allOf({b.alignedTo(b.address(0), 16), b.alignedTo(b.address(1), 16),
                b.alignedTo(b.stride(0, 0), 8), b.alignedTo(b.stride(1, 0), 8), b.alignedTo(d, 8)}),
       "16-byte vectors"},
      {b.logicalAnd(b.le(b.mul(rows, b.stride(0, 0)), b.constant(INT32_MAX)),
                    b.le(b.mul(rows, b.stride(1, 0)), b.constant(INT32_MAX))),
       "32-bit offsets"}};
  fast.grid = {b.ceilDiv(rows, b.constant(8)), kNoExpr, kNoExpr};
  fast.block = {b.constant(32), b.constant(8), kNoExpr};
  fast.arguments = {
      {ArgumentSpec::Kind::Address, 0},          {ArgumentSpec::Kind::Address, 1},
      {ArgumentSpec::Kind::I32, rows},           {ArgumentSpec::Kind::I32, d},
      {ArgumentSpec::Kind::I32, b.stride(0, 0)}, {ArgumentSpec::Kind::I32, b.stride(1, 0)}};
  Variant slow = fast;
  slow.name = "v2_i64";
  slow.entry = "h3_swiglu__sm_90__f16_v2_i64";
  slow.guards.clear();
  for (unsigned i = 2; i < 6; ++i)
    slow.arguments[i].kind = ArgumentSpec::Kind::I64;
  p.variants = {fast, slow};
  return checked(std::move(p));
}

OperatorPlan residualRmsNorm() {
  OperatorPlan p;
  p.name = "residual_rms_norm";
  p.typeArguments = {"f32"};
  ExprBuilder b(p.nodes);
  p.dims = {{"rows", {}}, {"d", 2048}};
  const ExprId rows = b.dim(0), d = b.dim(1);
  p.tensors = {tensor("residual", DType::F32, {rows, d}, {{}, 1}),
               tensor("branch", DType::F16, {rows, d}, {{}, 1}),
               tensor("scale", DType::F32, {d}),
               tensor("weight", DType::F32, {d}),
               output(tensor("h", DType::F32, {rows, d})),
               output(tensor("y", DType::F16, {rows, d}))};
  p.tensors[4].mayAlias = 0;
  p.bindings = {fromExtent(0, 0, 0)};
  p.parameters = {{"eps", DType::F32, 0x3727c5ac}};
  Variant only;
  only.name = "v2_i64";
  only.entry = "h3_residual_rms_norm__sm_90__f32_v2_i64";
  only.grid = {rows, kNoExpr, kNoExpr};
  only.block = {b.constant(128), kNoExpr, kNoExpr};
  only.sharedBytes = b.constant(16);
  only.arguments = {{ArgumentSpec::Kind::Address, 0}, {ArgumentSpec::Kind::I64, rows}};
  p.variants = {only};
  return checked(std::move(p));
}

OperatorPlan single(unsigned rank, bool isOutput) {
  OperatorPlan p;
  p.name = "single";
  ExprBuilder b(p.nodes);
  std::vector<ExprId> extents;
  for (unsigned axis = 0; axis < rank; ++axis) {
    p.dims.push_back({"n" + std::to_string(axis), {}});
    p.bindings.push_back(fromExtent(axis, 0, axis));
    extents.push_back(b.dim(axis));
  }
  p.tensors = {tensor("y", DType::F32, extents)};
  p.tensors[0].isOutput = isOutput;
  Variant only;
  only.name = "v4_i64";
  only.entry = "h3_single__sm_90__v4_i64";
  p.variants = {only};
  return checked(std::move(p));
}

OperatorPlan scales() {
  OperatorPlan p;
  p.name = "scales";
  p.each = true;
  ExprBuilder b(p.nodes);
  p.dims = {{"n", {}}};
  const ExprId n = b.dim(0);
  p.tensors = {tensor("x", DType::F32, {n}), output(tensor("y", DType::F32, {n}))};
  p.bindings = {fromExtent(0, 0, 0)};
  p.parameters = {{"scale", DType::F32, 0x3f800000}};
  Variant aligned;
  aligned.name = "v4_i32";
  aligned.entry = "h3_scales__sm_90__v4_i32";
  aligned.guards = {{b.alignedTo(b.address(0), 16), "x aligned to 16"},
                    {b.le(n, b.constant(INT32_MAX)), "sizes fit in 31 bits"}};
  aligned.grid = {b.ceilDiv(n, b.constant(256)), kNoExpr, kNoExpr};
  aligned.block = {b.constant(256), kNoExpr, kNoExpr};
  aligned.memberArguments = {{ArgumentSpec::Kind::Address, 0},
                             {ArgumentSpec::Kind::Address, 1},
                             {ArgumentSpec::Kind::I32, n}};
  aligned.arguments = {{ArgumentSpec::Kind::Parameter, 0}};
  Variant any = aligned;
  any.name = "v4_i64";
  any.entry = "h3_scales__sm_90__v4_i64";
  any.guards.clear();
  any.memberArguments[2].kind = ArgumentSpec::Kind::I64;
  p.variants = {aligned, any};
  for (Variant &variant : p.variants)
    variant.memberCapacity = memberCapacity(p, variant);
  return checked(std::move(p));
}

std::optional<Decline> declineOf(const OperatorPlan &plan, std::span<const Tensor> tensors,
                                 std::span<const ParameterValue> parameters) {
  auto result = evaluate(plan, tensors, parameters);
  if (const Decline *decline = std::get_if<Decline>(&result))
    return *decline;
  return std::nullopt;
}

std::string outcome(const OperatorPlan &plan, std::span<const Tensor> tensors,
                    std::span<const ParameterValue> parameters) {
  std::optional<Decline> decline = declineOf(plan, tensors, parameters);
  return decline ? describe(plan, *decline) : "served";
}

} // namespace h3::plan::test
