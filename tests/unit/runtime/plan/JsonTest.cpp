//===-- tests/unit/runtime/plan/JsonTest.cpp - Canonical JSON ---*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/Plan.h"
#include "tests/unit/runtime/plan/Plans.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace h3::plan;
using namespace h3::plan::test;

namespace {

TEST(JsonTest, WholeText) {
  OperatorPlan p;
  p.name = "op";
  p.typeArguments = {"f16", "f32"};
  ExprBuilder b(p.nodes);
  p.dims = {{"n", {}}, {"d", 64}, {"m", {}}};
  p.parameters = {{"eps", DType::F32, 0x3727c5ac}, {"k", DType::I64, {}}};
  p.tensors.resize(2);
  p.tensors[0] = {"x",     DType::F16, false, {b.mul(b.constant(2), b.dim(0)), b.dim(1)},
                  {{}, 1}, 4,          -1};
  p.tensors[1] = {"y", DType::F16, true, {b.dim(0)}, {}, 1, 0};
  p.bindings = {{BindingStep::Kind::FromExtent, 0, 0, 0, b.constant(2)},
                {BindingStep::Kind::Define, 2, 0, 0, b.add(b.dim(0), b.parameter(1))}};
  p.requirements = {{b.logicalNot(b.lt(b.dim(0), b.constant(1))), "not \"n\" < 1\n"}};
  p.variants.resize(1);
  p.variants[0].name = "v16_i32";
  p.variants[0].entry = "h3_op__sm_90__v16_i32";
  p.variants[0].guards = {{b.alignedTo(b.address(0), 16), "a"}};
  p.variants[0].grid[0] = b.dim(0);
  p.variants[0].arguments = {{ArgumentSpec::Kind::Address, 1},
                             {ArgumentSpec::Kind::I32, b.stride(0, 0)},
                             {ArgumentSpec::Kind::I64, b.constant(-3)},
                             {ArgumentSpec::Kind::Parameter, 0}};
  ASSERT_EQ(verify(p), "");
  EXPECT_EQ(
      toJson(p),
      R"({"bindings":[{"axis":0,"dim":"n","over":2,"tensor":"x"},{"dim":"m","is":["+",["dim","n"],)"
      R"(["parameter","k"]]}],"dims":[{"name":"n"},{"fixed":64,"name":"d"},{"name":"m"}],"name":"op",)"
      R"("parameters":[{"default":"3727c5ac","dtype":"f32","name":"eps"},{"dtype":"i64","name":"k"}],)"
      R"("requirements":[{"expr":["not",["<",["dim","n"],1]],"text":"not \"n\" < 1\u000a"}],)"
      R"("tensors":[{"align":4,"dtype":"f16","extents":[["*",2,["dim","n"]],["dim","d"]],"name":"x",)"
      R"("role":"in","strides":[null,1]},{"align":1,"dtype":"f16","extents":[["dim","n"]],)"
      R"("may_alias":"x","name":"y","role":"out","strides":[]}],"type_arguments":["f16","f32"],)"
      R"("variants":[{"arguments":[["address","y"],["i32",["stride","x",0]],["i64",-3],)"
      R"(["parameter","eps"]],"block":[null,null,null],"entry":"h3_op__sm_90__v16_i32",)"
      R"("grid":[["dim","n"],null,null],"guards":[{"expr":["==",["floormod",["address","x"],16],0],)"
      R"("text":"a"}],"name":"v16_i32","shared_bytes":null}]})");
}

TEST(JsonTest, OnlyVariantsThatWaitSaySo) {
  OperatorPlan plan = swiglu();
  EXPECT_EQ(toJson(plan).find("waits"), std::string::npos);
  plan.variants[0].waits = true;
  ASSERT_EQ(verify(plan), "");
  const nlohmann::json variants = nlohmann::json::parse(toJson(plan))["variants"];
  EXPECT_EQ(variants[0]["waits"], true);
  for (size_t i = 1; i < variants.size(); ++i)
    EXPECT_FALSE(variants[i].contains("waits"));
  EXPECT_EQ(nlohmann::json::parse(toJson(plan)).dump(), toJson(plan));
}

/// Canonical: what a JSON library that sorts keys and writes no spaces makes of it.
TEST(JsonTest, IsCanonical) {
  for (const OperatorPlan &plan :
       {qkNormRope(), swiglu(), residualRmsNorm(), single(0, true), scales()}) {
    const std::string text = toJson(plan);
    EXPECT_EQ(nlohmann::json::parse(text).dump(), text);
  }
}

TEST(JsonTest, ListsSayWhatMembersHave) {
  const OperatorPlan plan = scales();
  const auto json = nlohmann::json::parse(toJson(plan));
  EXPECT_EQ(json["each"], true);
  const auto &variant = json["variants"][0];
  EXPECT_EQ(variant["member_arguments"].dump(),
            R"([["address","x"],["address","y"],["i32",["dim","n"]]])");
  EXPECT_EQ(variant["member_capacity"], plan.variants[0].memberCapacity);
  EXPECT_EQ(variant["arguments"].dump(), R"([["parameter","scale"]])");
  const auto other = nlohmann::json::parse(toJson(swiglu()));
  EXPECT_FALSE(other.contains("each"));
  EXPECT_FALSE(other["variants"][0].contains("member_capacity"));
}

TEST(JsonTest, EveryOperatorHasItsName) {
  OperatorPlan p = single(2, false);
  ExprBuilder b(p.nodes);
  const ExprId m = b.dim(0), n = b.dim(1);
  const std::pair<ExprOp, const char *> rows[] = {{ExprOp::Add, "+"},
                                                  {ExprOp::Sub, "-"},
                                                  {ExprOp::Mul, "*"},
                                                  {ExprOp::FloorDiv, "floordiv"},
                                                  {ExprOp::FloorMod, "floormod"},
                                                  {ExprOp::Min, "min"},
                                                  {ExprOp::Max, "max"},
                                                  {ExprOp::Eq, "=="},
                                                  {ExprOp::Ne, "!="},
                                                  {ExprOp::Lt, "<"},
                                                  {ExprOp::Le, "<="},
                                                  {ExprOp::Gt, ">"},
                                                  {ExprOp::Ge, ">="}};
  for (auto [op, text] : rows) {
    p.variants[0].grid[0] = b.binary(op, m, n);
    const auto json = nlohmann::json::parse(toJson(p));
    EXPECT_EQ(json["variants"][0]["grid"][0].dump(),
              std::string("[\"") + text + R"(",["dim","n0"],["dim","n1"]])");
  }
  const ExprId c = b.lt(m, n), e = b.lt(n, m);
  p.requirements = {{b.logicalAnd(c, e), "a"}, {b.logicalOr(c, e), "o"}};
  const auto json = nlohmann::json::parse(toJson(p));
  EXPECT_EQ(json["requirements"][0]["expr"][0], "and");
  EXPECT_EQ(json["requirements"][1]["expr"][0], "or");
}

TEST(JsonTest, EqualPlansGiveEqualTextAndOthersDoNot) {
  const OperatorPlan plan = swiglu();
  EXPECT_EQ(toJson(plan), toJson(swiglu()));
  OperatorPlan other = plan;
  other.tensors[0].align = 2;
  EXPECT_NE(toJson(plan), toJson(other));
}

} // namespace
