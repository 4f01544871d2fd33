//===-- tests/unit/runtime/plan/ExprTest.cpp - Checked expressions *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/Plan.h"
#include "tests/unit/runtime/plan/Plans.h"

#include <gtest/gtest.h>

using namespace h3::plan;
using namespace h3::plan::test;

namespace {

/// Two dims, one tensor of rank 2, one i32 and one i64 parameter, with values of our choice.
struct Fixture : testing::Test {
  Fixture() : b(p.nodes) {
    p.name = "t";
    p.dims = {{"m", 0}, {"n", 0}};
    p.parameters = {{"i", DType::I32, {}}, {"j", DType::I64, {}}};
    p.tensors.resize(1);
    p.tensors[0].name = "x";
    p.tensors[0].extents = {b.constant(1), b.constant(1)};
  }
  std::optional<int64_t> value(ExprId e) { return evaluateExpr(p, e, binding); }

  OperatorPlan p;
  ExprBuilder b;
  Binding binding{};
};
using ExprTest = Fixture;

/// The operation on two dims, so that nothing is folded.
#define BINARY(op, x, y)                                                                           \
  (binding.dims[0] = (x), binding.dims[1] = (y), value(b.op(b.dim(0), b.dim(1))))

TEST_F(ExprTest, ArithmeticHasItsValue) {
  EXPECT_EQ(BINARY(add, 5, -7), -2);
  EXPECT_EQ(BINARY(sub, 5, -7), 12);
  EXPECT_EQ(BINARY(mul, 1LL << 31, 1LL << 31), 1LL << 62);
  EXPECT_EQ(BINARY(min, 5, -7), -7);
  EXPECT_EQ(BINARY(max, 5, -7), 5);
}

TEST_F(ExprTest, DivisionRoundsDown) {
  EXPECT_EQ(BINARY(floorDiv, 7, 2), 3);
  EXPECT_EQ(BINARY(floorDiv, -7, 2), -4);
  EXPECT_EQ(BINARY(floorDiv, -8, 2), -4);
  EXPECT_EQ(BINARY(floorMod, 7, 2), 1);
  EXPECT_EQ(BINARY(floorMod, -7, 4), 1);
  EXPECT_EQ(BINARY(floorMod, -8, 4), 0);
  EXPECT_EQ(BINARY(floorDiv, INT64_MIN, INT64_MAX), -2);
}

TEST_F(ExprTest, DivisionByNonPositiveIsUnsatisfied) {
  for (int64_t divisor : {int64_t(0), int64_t(-1), INT64_MIN}) {
    EXPECT_EQ(BINARY(floorDiv, INT64_MIN, divisor), std::nullopt) << divisor;
    EXPECT_EQ(BINARY(floorMod, INT64_MIN, divisor), std::nullopt) << divisor;
  }
}

TEST_F(ExprTest, OverflowIsUnsatisfied) {
  EXPECT_EQ(BINARY(add, INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(BINARY(sub, INT64_MIN, 1), std::nullopt);
  EXPECT_EQ(BINARY(mul, 1LL << 32, 1LL << 31), std::nullopt);
  EXPECT_EQ(BINARY(add, INT64_MAX, 0), INT64_MAX);
  EXPECT_EQ(BINARY(mul, INT64_MIN, 1), INT64_MIN);
}

TEST_F(ExprTest, ComparisonsGiveOneOrZero) {
  struct {
    int64_t x, y;
    int eq, lt;
  } rows[] = {{1, 1, 1, 0}, {1, 2, 0, 1}, {2, 1, 0, 0}, {INT64_MIN, INT64_MAX, 0, 1}};
  for (auto &row : rows) {
    EXPECT_EQ(BINARY(eq, row.x, row.y), row.eq);
    EXPECT_EQ(BINARY(ne, row.x, row.y), !row.eq);
    EXPECT_EQ(BINARY(lt, row.x, row.y), row.lt);
    EXPECT_EQ(BINARY(ge, row.x, row.y), !row.lt);
    EXPECT_EQ(BINARY(le, row.x, row.y), row.lt || row.eq);
    EXPECT_EQ(BINARY(gt, row.x, row.y), !(row.lt || row.eq));
  }
}

TEST_F(ExprTest, LogicReadsTheRightSideOnlyIfItDecides) {
  const ExprId no = b.lt(b.dim(0), b.constant(0)), yes = b.logicalNot(no);
  const ExprId bad = b.gt(b.add(b.dim(0), b.constant(INT64_MAX)), b.constant(0));
  binding.dims[0] = 1;
  EXPECT_EQ(value(no), 0);
  EXPECT_EQ(value(yes), 1);
  EXPECT_EQ(value(bad), std::nullopt);
  EXPECT_EQ(value(b.logicalAnd(no, bad)), 0);
  EXPECT_EQ(value(b.logicalOr(yes, bad)), 1);
  EXPECT_EQ(value(b.logicalAnd(yes, bad)), std::nullopt);
  EXPECT_EQ(value(b.logicalOr(no, bad)), std::nullopt);
  EXPECT_EQ(value(b.logicalNot(bad)), std::nullopt);
  EXPECT_EQ(value(b.logicalAnd(yes, yes)), 1);
  EXPECT_EQ(value(b.logicalAnd(yes, no)), 0);
  EXPECT_EQ(value(b.logicalOr(no, yes)), 1);
  EXPECT_EQ(value(b.logicalOr(no, no)), 0);
}

TEST_F(ExprTest, LeavesReadTheBinding) {
  binding.dims[1] = 42;
  binding.tensors[0].strides[1] = 192;
  binding.tensors[0].address = 0x7fffffffffffffff;
  binding.parameters[0] = 0xffffffff;
  binding.parameters[1] = 0x80000000;
  EXPECT_EQ(value(b.dim(1)), 42);
  EXPECT_EQ(value(b.stride(0, 1)), 192);
  EXPECT_EQ(value(b.address(0)), INT64_MAX);
  EXPECT_EQ(value(b.parameter(0)), -1) << "i32 keeps its sign";
  EXPECT_EQ(value(b.parameter(1)), 0x80000000);
  binding.tensors[0].address = 0x8000000000000000;
  EXPECT_EQ(value(b.address(0)), std::nullopt);
  EXPECT_EQ(value(b.alignedTo(b.address(0), 16)), std::nullopt);
}

TEST_F(ExprTest, AlignmentAndCeilingDivision) {
  const ExprId aligned = b.alignedTo(b.dim(0), 16), blocks = b.ceilDiv(b.dim(0), b.constant(8));
  struct {
    int64_t n;
    int aligned;
    int64_t blocks;
  } rows[] = {{0, 1, 0}, {1, 0, 1}, {8, 0, 1}, {9, 0, 2}, {16, 1, 2}, {-16, 1, -2}};
  for (auto &row : rows) {
    binding.dims[0] = row.n;
    EXPECT_EQ(value(aligned), row.aligned) << row.n;
    EXPECT_EQ(value(blocks), row.blocks) << row.n;
  }
  binding.dims[0] = INT64_MAX;
  EXPECT_EQ(value(blocks), std::nullopt);
}

TEST_F(ExprTest, BuilderFoldsConstants) {
  auto folded = [&](ExprId e) {
    EXPECT_EQ(p.nodes[e].op, ExprOp::Constant);
    return p.nodes[e].value;
  };
  const ExprId seven = b.constant(7), two = b.constant(2);
  EXPECT_EQ(folded(b.add(seven, two)), 9);
  EXPECT_EQ(folded(b.sub(seven, two)), 5);
  EXPECT_EQ(folded(b.mul(seven, two)), 14);
  EXPECT_EQ(folded(b.floorDiv(b.constant(-7), two)), -4);
  EXPECT_EQ(folded(b.floorMod(b.constant(-7), two)), 1);
  EXPECT_EQ(folded(b.ceilDiv(seven, two)), 4);
  EXPECT_EQ(folded(b.lt(two, seven)), 1);
  EXPECT_EQ(folded(b.logicalNot(b.lt(two, seven))), 0);
  EXPECT_EQ(folded(b.alignedTo(b.constant(48), 16)), 1);
  EXPECT_EQ(folded(b.allOf({})), 1);
  EXPECT_EQ(folded(b.logicalAnd(b.constant(0), b.lt(b.dim(0), two))), 0);
  EXPECT_EQ(folded(b.logicalOr(b.constant(1), b.lt(b.dim(0), two))), 1);
}

TEST_F(ExprTest, BuilderKeepsWhatFoldingWouldChange) {
  const ExprId zero = b.constant(0), one = b.constant(1), max = b.constant(INT64_MAX);
  EXPECT_EQ(value(b.add(max, one)), std::nullopt);
  EXPECT_EQ(value(b.floorDiv(one, zero)), std::nullopt);
  const ExprId bad = b.add(b.dim(0), max);
  binding.dims[0] = 1;
  EXPECT_EQ(value(b.mul(bad, zero)), std::nullopt);
  EXPECT_EQ(value(b.floorMod(bad, one)), std::nullopt);
  EXPECT_EQ(value(b.sub(bad, bad)), std::nullopt);
  EXPECT_EQ(value(b.eq(bad, bad)), std::nullopt);
  EXPECT_EQ(value(b.logicalAnd(b.gt(bad, zero), zero)), std::nullopt);
  EXPECT_EQ(value(b.logicalOr(b.gt(bad, zero), one)), std::nullopt);
}

TEST_F(ExprTest, BuilderDropsNeutralOperandsAndSharesNodes) {
  const ExprId m = b.dim(0), zero = b.constant(0), one = b.constant(1), yes = b.lt(m, one);
  EXPECT_EQ(b.add(m, zero), m);
  EXPECT_EQ(b.add(zero, m), m);
  EXPECT_EQ(b.sub(m, zero), m);
  EXPECT_EQ(b.mul(m, one), m);
  EXPECT_EQ(b.mul(one, m), m);
  EXPECT_EQ(b.floorDiv(m, one), m);
  EXPECT_EQ(b.min(m, m), m);
  EXPECT_EQ(b.logicalAnd(yes, one), yes);
  EXPECT_EQ(b.logicalAnd(one, yes), yes);
  EXPECT_EQ(b.logicalOr(yes, zero), yes);
  EXPECT_EQ(b.logicalOr(zero, yes), yes);
  EXPECT_EQ(b.allOf({yes, one, yes}), b.logicalAnd(yes, yes));
  EXPECT_NE(b.sub(zero, m), m);
  const size_t before = p.nodes.size();
  EXPECT_EQ(b.lt(b.dim(0), b.constant(1)), yes);
  EXPECT_EQ(p.nodes.size(), before);
}

TEST_F(ExprTest, TextHasTheParenthesesItNeeds) {
  const ExprId m = b.dim(0), n = b.dim(1), c = b.constant(8);
  EXPECT_EQ(toText(p, b.ceilDiv(m, c)), "(m + 7) floordiv 8");
  EXPECT_EQ(toText(p, b.sub(m, b.sub(n, c))), "m - (n - 8)");
  EXPECT_EQ(toText(p, b.sub(b.sub(m, n), c)), "m - n - 8");
  EXPECT_EQ(toText(p, b.mul(b.add(m, n), c)), "(m + n) * 8");
  EXPECT_EQ(toText(p, b.add(b.mul(m, n), c)), "m * n + 8");
  EXPECT_EQ(toText(p, b.min(b.add(m, n), b.max(m, c))), "min(m + n, max(m, 8))");
  EXPECT_EQ(toText(p, b.logicalNot(b.logicalOr(b.lt(m, n), b.eq(m, c)))), "not (m < n or m == 8)");
  EXPECT_EQ(toText(p, b.logicalAnd(b.logicalOr(b.le(m, n), b.gt(m, c)), b.ge(m, c))),
            "(m <= n or m > 8) and m >= 8");
  EXPECT_EQ(toText(p, b.alignedTo(b.address(0), 16)), "address(x) floormod 16 == 0");
  EXPECT_EQ(toText(p, b.ne(b.stride(0, 1), b.parameter(1))), "stride(x, 1) != j");
  EXPECT_EQ(toText(p, b.eq(b.lt(m, n), b.constant(1))), "(m < n) == 1");
}

TEST(DTypeTest, NamesAndBytes) {
  struct {
    DType dtype;
    const char *text;
    unsigned width;
  } rows[] = {{DType::F16, "f16", 2},   {DType::BF16, "bf16", 2}, {DType::F32, "f32", 4},
              {DType::F64, "f64", 8},   {DType::I32, "i32", 4},   {DType::I64, "i64", 8},
              {DType::E4M3, "e4m3", 1}, {DType::E5M2, "e5m2", 1}};
  for (auto &row : rows) {
    EXPECT_EQ(name(row.dtype), row.text);
    EXPECT_EQ(bytes(row.dtype), row.width);
    EXPECT_EQ(dtypeNamed(row.text), row.dtype);
    EXPECT_EQ(isInteger(row.dtype), row.text[0] == 'i');
  }
  EXPECT_EQ(name(DType::Other), "other");
  EXPECT_EQ(dtypeNamed("other"), std::nullopt);
  EXPECT_EQ(dtypeNamed("F16"), std::nullopt);
}

} // namespace
