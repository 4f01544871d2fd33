//===-- tests/unit/runtime/plan/VerifyTest.cpp - Ill-formed plans *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/Plan.h"
#include "tests/unit/runtime/plan/Plans.h"

#include <gtest/gtest.h>

#include <functional>

using namespace h3::plan;
using namespace h3::plan::test;

namespace {

TEST(VerifyTest, NamesWhatIsWrong) {
  using Edit = std::function<void(OperatorPlan &, ExprBuilder &)>;
  const struct {
    const char *message;
    Edit edit;
  } rows[] = {
      {"", [](OperatorPlan &, ExprBuilder &) {}},
      {"the plan has no operator name", [](OperatorPlan &p, ExprBuilder &) { p.name.clear(); }},
      {"more than 32 dims", [](OperatorPlan &p, ExprBuilder &) { p.dims.resize(33); }},
      {"more than 24 tensors", [](OperatorPlan &p, ExprBuilder &) { p.tensors.resize(25); }},
      {"more than 16 parameters", [](OperatorPlan &p, ExprBuilder &) { p.parameters.resize(17); }},
      {"x has a rank above 8",
       [](OperatorPlan &p, ExprBuilder &) { p.tensors[0].extents.resize(9); }},
      {"expression 0 names a dim that is not there",
       [](OperatorPlan &p, ExprBuilder &) { p.nodes[0] = {ExprOp::Dim, 2, 0, 0}; }},
      {"expression 0 names a stride that is not there",
       [](OperatorPlan &p, ExprBuilder &) { p.nodes[0] = {ExprOp::Stride, 0, 2, 0}; }},
      {"expression 0 names a stride that is not there",
       [](OperatorPlan &p, ExprBuilder &) { p.nodes[0] = {ExprOp::Stride, 2, 0, 0}; }},
      {"expression 0 names a tensor that is not there",
       [](OperatorPlan &p, ExprBuilder &) { p.nodes[0] = {ExprOp::Address, 2, 0, 0}; }},
      {"expression 0 names a parameter that is not there or no integer",
       [](OperatorPlan &p, ExprBuilder &) { p.nodes[0] = {ExprOp::Parameter, 0, 0, 0}; }},
      {"expression 0 names a parameter that is not there or no integer",
       [](OperatorPlan &p, ExprBuilder &) {
         p.parameters = {{"eps", DType::F32, {}}};
         p.nodes[0] = {ExprOp::Parameter, 0, 0, 0};
       }},
      {"expression 0 has an unknown operation",
       [](OperatorPlan &p, ExprBuilder &) { p.nodes[0].op = static_cast<ExprOp>(99); }},
      {"expression 0 stands before its operand",
       [](OperatorPlan &p, ExprBuilder &) { p.nodes[0] = {ExprOp::Not, 0, 0, 0}; }},
      {"expression 1 stands before its operand",
       [](OperatorPlan &p, ExprBuilder &) { p.nodes[1] = {ExprOp::Add, 0, 1, 0}; }},
      {"expression 1 combines something that is not a condition",
       [](OperatorPlan &p, ExprBuilder &) { p.nodes[1] = {ExprOp::Not, 0, 0, 0}; }},
      {"dim rows is negative", [](OperatorPlan &p, ExprBuilder &) { p.dims[0].fixed = -1; }},
      {"the binding of dim rows is not the only one",
       [](OperatorPlan &p, ExprBuilder &) { p.dims[0].fixed = 4; }},
      {"the binding of dim rows is not the only one",
       [](OperatorPlan &p, ExprBuilder &) { p.bindings.push_back(p.bindings[0]); }},
      {"a binding step names a dim that is not there",
       [](OperatorPlan &p, ExprBuilder &) { p.bindings[0].dim = 7; }},
      {"the binding of dim rows names an extent that is not there",
       [](OperatorPlan &p, ExprBuilder &) { p.bindings[0].axis = 2; }},
      {"the binding of dim rows uses what is not known before it",
       [](OperatorPlan &p, ExprBuilder &b) { p.bindings[0].expr = b.dim(1); }},
      {"the binding of dim rows uses what is not known before it",
       [](OperatorPlan &p, ExprBuilder &b) { p.bindings[0].expr = b.stride(0, 0); }},
      {"the binding of dim rows has no expression",
       [](OperatorPlan &p, ExprBuilder &) { p.bindings[0].kind = BindingStep::Kind::Define; }},
      {"dim d is never bound", [](OperatorPlan &p, ExprBuilder &) { p.bindings.pop_back(); }},
      {"x has no type of the language",
       [](OperatorPlan &p, ExprBuilder &) { p.tensors[0].dtype = DType::Other; }},
      {"x has a stride clause of another rank",
       [](OperatorPlan &p, ExprBuilder &) { p.tensors[0].strides.pop_back(); }},
      {"x has a negative stride clause",
       [](OperatorPlan &p, ExprBuilder &) { p.tensors[0].strides[0] = -1; }},
      {"x has an impossible alignment",
       [](OperatorPlan &p, ExprBuilder &) { p.tensors[0].align = 0; }},
      {"x has an impossible alignment",
       [](OperatorPlan &p, ExprBuilder &) { p.tensors[0].align = INT64_MAX; }},
      {"an extent of x has no expression",
       [](OperatorPlan &p, ExprBuilder &) { p.tensors[0].extents[1] = kNoExpr; }},
      {"an extent of x is not a size",
       [](OperatorPlan &p, ExprBuilder &b) { p.tensors[0].extents[1] = b.address(0); }},
      {"y may alias what is no input of its type",
       [](OperatorPlan &p, ExprBuilder &) { p.tensors[1].mayAlias = 1; }},
      {"y may alias what is no input of its type",
       [](OperatorPlan &p, ExprBuilder &) { p.tensors[1].mayAlias = 2; }},
      {"y may alias what is no input of its type",
       [](OperatorPlan &p, ExprBuilder &) {
         p.tensors[1].mayAlias = 0;
         p.tensors[1].dtype = DType::F32;
       }},
      {"x may alias what is no input of its type",
       [](OperatorPlan &p, ExprBuilder &) { p.tensors[0].mayAlias = 0; }},
      {"requirement 'r' has no expression",
       [](OperatorPlan &p, ExprBuilder &) { p.requirements = {{kNoExpr, "r"}}; }},
      {"requirement 'r' is not a condition",
       [](OperatorPlan &p, ExprBuilder &b) { p.requirements = {{b.dim(0), "r"}}; }},
      {"n has no type of the language",
       [](OperatorPlan &p, ExprBuilder &) { p.parameters = {{"n", DType::Other, {}}}; }},
      {"n has a default wider than its type",
       [](OperatorPlan &p, ExprBuilder &) { p.parameters = {{"n", DType::F16, 0x10000}}; }},
      {"variant v16_i32 has no entry symbol",
       [](OperatorPlan &p, ExprBuilder &) { p.variants[0].entry.clear(); }},
      {"variant v16_i32 guard '16-byte vectors' is not a condition",
       [](OperatorPlan &p, ExprBuilder &b) { p.variants[0].guards[0].expr = b.dim(0); }},
      {"variant v16_i32 has a size that is not there",
       [](OperatorPlan &p, ExprBuilder &) { p.variants[0].block[2] = 9999; }},
      {"variant v16_i32 has too many arguments",
       [](OperatorPlan &p, ExprBuilder &) { p.variants[0].arguments.resize(129); }},
      {"variant v16_i32 has an argument that is not there",
       [](OperatorPlan &p, ExprBuilder &) {
         p.variants[0].arguments = {{ArgumentSpec::Kind::Address, 2}};
       }},
      {"variant v16_i32 has an argument that is not there",
       [](OperatorPlan &p, ExprBuilder &) {
         p.variants[0].arguments = {{ArgumentSpec::Kind::Parameter, 0}};
       }},
      {"variant v16_i32 has an argument that is not there",
       [](OperatorPlan &p, ExprBuilder &) {
         p.variants[0].arguments = {{ArgumentSpec::Kind::I64, kNoExpr}};
       }},
  };
  for (size_t i = 0; i < std::size(rows); ++i) {
    OperatorPlan plan = swiglu();
    ExprBuilder builder(plan.nodes);
    rows[i].edit(plan, builder);
    EXPECT_EQ(verify(plan), rows[i].message) << "row " << i;
  }
}

TEST(VerifyTest, NamesWhatIsWrongWithLists) {
  using Edit = std::function<void(OperatorPlan &, ExprBuilder &)>;
  const struct {
    const char *message;
    Edit edit;
  } rows[] = {
      {"", [](OperatorPlan &, ExprBuilder &) {}},
      {"", [](OperatorPlan &p, ExprBuilder &) { p.variants[0].memberCapacity = 1; }},
      {"variant v4_i32 has arguments of members, the operator takes no list",
       [](OperatorPlan &p, ExprBuilder &) { p.each = false; }},
      {"variant v4_i32 has a parameter that members have for themselves",
       [](OperatorPlan &p, ExprBuilder &) {
         p.variants[0].memberArguments[0] = {ArgumentSpec::Kind::Parameter, 0};
       }},
      {"variant v4_i32 has an argument that members share and that is no parameter",
       [](OperatorPlan &p, ExprBuilder &) {
         p.variants[0].arguments = {{ArgumentSpec::Kind::Address, 0}};
       }},
      {"variant v4_i32 has an argument that is not there",
       [](OperatorPlan &p, ExprBuilder &) {
         p.variants[0].memberArguments[0] = {ArgumentSpec::Kind::Address, 2};
       }},
      {"variant v4_i32 has too many arguments",
       [](OperatorPlan &p, ExprBuilder &) { p.variants[0].memberArguments.resize(128); }},
      {"variant v4_i32 has a grid of several directions, members need one",
       [](OperatorPlan &p, ExprBuilder &b) { p.variants[0].grid[1] = b.constant(1); }},
      {"variant v4_i32 has a block or shared memory that members would not have in common",
       [](OperatorPlan &p, ExprBuilder &b) { p.variants[0].block[0] = b.dim(0); }},
      {"variant v4_i32 has a block or shared memory that members would not have in common",
       [](OperatorPlan &p, ExprBuilder &b) { p.variants[0].sharedBytes = b.dim(0); }},
      {"variant v4_i32 takes a number of members that its parameters cannot hold",
       [](OperatorPlan &p, ExprBuilder &) { p.variants[0].memberCapacity = 0; }},
      {"variant v4_i32 takes a number of members that its parameters cannot hold",
       [](OperatorPlan &p, ExprBuilder &) { ++p.variants[0].memberCapacity; }},
      {"members of a list have no tensors",
       [](OperatorPlan &p, ExprBuilder &) {
         p.tensors.clear();
         p.nodes.clear();
         p.bindings.clear();
         p.dims.clear();
         p.variants.clear();
       }},
  };
  for (size_t i = 0; i < std::size(rows); ++i) {
    OperatorPlan plan = scales();
    ExprBuilder builder(plan.nodes);
    rows[i].edit(plan, builder);
    EXPECT_EQ(verify(plan), rows[i].message) << "row " << i;
  }
}

TEST(VerifyTest, ExpressionsStaySmall) {
  OperatorPlan plan = single(1, false);
  ExprBuilder b(plan.nodes);
  ExprId deep = b.dim(0);
  for (int i = 0; i < 511; ++i)
    deep = b.add(deep, b.constant(i + 2));
  EXPECT_EQ(verify(plan), "");
  b.add(deep, b.constant(9999));
  EXPECT_NE(verify(plan).find("is too large"), std::string::npos);

  OperatorPlan wide = single(1, false);
  ExprBuilder w(wide.nodes);
  ExprId doubled = w.dim(0);
  for (int i = 0; i < 40; ++i) // 41 nodes that are 2^40 as a tree
    doubled = w.mul(doubled, doubled);
  EXPECT_NE(verify(wide).find("is too large"), std::string::npos);
}

} // namespace
