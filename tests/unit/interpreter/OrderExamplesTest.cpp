//===-- tests/unit/interpreter/OrderExamplesTest.cpp ----------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Sums whose bits depend on the order, through whole specs.
//
//===----------------------------------------------------------------------===//

#include "SpecCall.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

using namespace h3;
using namespace h3::test;

namespace {

/// The sum over a row of n elements: `from`, with \p step, or if that is empty `of f32(x[i])`.
Bits sum(const std::string &order, const std::vector<Bits> &row, const std::string &type,
         const std::string &step, const std::string &seed = "0.0",
         const std::string &join = "a + b") {
  std::string how =
      step.empty() ? "of f32(x[t, i])" : fmt::format("from s: f32 = {} step s = {}", seed, step);
  bool isLibrary = order.find('.') != std::string::npos, isAny = order == "any";
  Spec spec(fmt::format("{}\n"
                        "op total {{\n  dim rows, n\n  require n >= 1\n"
                        "  in x: {}[rows, n]\n  out y: f32[rows]\n"
                        "  for t: rows {{\n    let r = reduce i: n by {} {} join (a, b) = {}\n"
                        "    y[t] = r\n  }}\n}}\n",
                        isLibrary ? "use eager.norm"
                        : isAny   ? ""
                                  : "order o = " + order,
                        type, isLibrary || isAny ? order : "o", how, join));
  SpecCall call(spec, {{"rows", 1}, {"n", int64_t(row.size())}});
  call.fill("x", row);
  call.run();
  return call.get("y")[0];
}

const char *const SquareFused = "fma(f32(x[t, i]), f32(x[t, i]), s)";
const char *const SquareRounded = "s + f32(x[t, i]) * f32(x[t, i])";

// Sum of the squares of 4096 and 63 ones: each declared order has its own answer.
TEST(OrderExamples, FourOrdersFourAnswers) {
  std::vector<Bits> row = repeat(64, f16("1.0"));
  row[0] = f16("4096.0");
  EXPECT_EQ(sum("(_)", row, "f16", SquareRounded), 0x4B800000u);
  // Descending: the chain is a serial join that takes each new element on the left of the rest, so
  // the row is turned round instead, which changes nothing else.
  std::vector<Bits> reversed(row.rbegin(), row.rend());
  EXPECT_EQ(sum("(_)", reversed, "f16", SquareRounded), 0x4B800020u);
  EXPECT_EQ(sum("(lane: 64) then adjacent lane", row, "f16", SquareRounded), 0x4B80001Fu);
  EXPECT_EQ(sum("(_, lane: 32) then halving lane", row, "f16", SquareRounded), 0x4B80001Fu);
  // A chain of named slots joined in series is the ascending chain.
  EXPECT_EQ(sum("(lane) then serial lane", row, "f16", SquareRounded), 0x4B800000u);
}

// A seed of 1.0 enters once for every slot, idle or not.
TEST(OrderExamples, SeedOfASumAddsTheNumberOfSlots) {
  std::vector<Bits> row = {f32("2.0"), f32("3.0")};
  EXPECT_EQ(sum("(_)", row, "f32", "s + x[t, i]", "1.0"), f32("6.0"));
  EXPECT_EQ(sum("(_, lane: 32) then halving lane", row, "f32", "s + x[t, i]", "1.0"), f32("37.0"));
  EXPECT_EQ(sum("(_, warp: 4, lane: 8, _: 4) then adjacent lane then serial warp", row, "f32",
                "s + x[t, i]", "1.0"),
            f32("37.0"));
}

// 41 elements leave the second of two lanes idle. Whether it is merged shows in Welford's state:
// the mean is multiplied by n * (1/n), which for 41 is not 1.
TEST(OrderExamples, IdleSlotTakesPartInAFromReduction) {
  std::vector<std::string> heads = {"(lane: 2, _: 41) then halving lane", "(_)"};
  std::vector<std::vector<Bits>> means;
  constexpr int64_t Rows = 200, N = 41;
  std::vector<Bits> rows = randomFloats(ScalarType::F32, Rows * N, 41);
  for (const std::string &head : heads) {
    Spec spec("use eager.norm\norder o = " + head + R"(
op mean {
  dim rows, n
  in x: f32[rows, n]
  out y: f32[rows]
  for t: rows {
    let m = reduce i: n by o
      from s: norm.Moments = norm.Moments(mean = 0.0, m2 = 0.0, n = 0.0)
      step s = norm.push(s, x[t, i])
      join (a, b) = norm.merge(a, b)
    y[t] = m.mean
  }
})");
    SpecCall call(spec, {{"rows", Rows}, {"n", N}});
    call.fill("x", rows);
    call.run();
    means.push_back(call.get("y"));
  }
  // Merging an empty upper side: mean = fma(0, 0, (n * (1/n)) * mean), all in f32.
  const ScalarType F = ScalarType::F32;
  Bits n = f32("41.0"), share = scalar::mul(F, n, scalar::div(F, f32("1.0"), n));
  EXPECT_NE(share, f32("1.0"));
  int differ = 0;
  for (int64_t t = 0; t < Rows; ++t) {
    EXPECT_EQ(means[0][t], scalar::mul(F, share, means[1][t]));
    differ += means[0][t] != means[1][t];
  }
  EXPECT_EQ(differ, Rows);
}

// With `of`, an idle slot is absent: a product of no elements would be a wrong 0 or NaN.
TEST(OrderExamples, IdleSlotIsAbsentInAnOfReduction) {
  std::vector<Bits> row = {f32("2.0"), f32("3.0"), f32("7.0")};
  EXPECT_EQ(sum("(_, lane: 32) then halving lane", row, "f32", "", "", "a * b"), f32("42.0"));
  EXPECT_EQ(sum("(lane: 2, _: 41) then adjacent lane", row, "f32", "", "", "a * b"), f32("42.0"));
  EXPECT_EQ(sum("any", {f32("-2.0"), 0xFF800000u}, "f32", "", "", "max(a, b)"), f32("-2.0"));
}

// J(a, b) has the lower position on the left.
TEST(OrderExamples, LowerPositionIsTheLeftOperand) {
  std::vector<Bits> row = {f32("1.0"), f32("2.0"), f32("4.0"), f32("8.0")};
  auto difference = [&](const char *order) { return sum(order, row, "f32", "", "", "a - b"); };
  EXPECT_EQ(difference("(_)"), f32("-13.0")); // ((1-2)-4)-8
  EXPECT_EQ(difference("(lane: 4) then serial lane"), f32("-13.0"));
  EXPECT_EQ(difference("(lane: 4) then halving lane"), f32("3.0"));        // (1-4)-(2-8)
  EXPECT_EQ(difference("(lane: 4) then adjacent lane"), f32("3.0"));       // (1-2)-(4-8)
  EXPECT_EQ(difference("(lane: 2, _: 2) then adjacent lane"), f32("3.0")); // (1-2)-(4-8)
  EXPECT_EQ(difference("(_: 2, lane: 2) then adjacent lane"), f32("3.0")); // (1-4)-(2-8)
  EXPECT_EQ(difference("(lane: 4, _: 1) then serial lane"), f32("-13.0"));
}

// Sums of squares pinned by a simulation of the reference's kernels that shares no code with this
// project: x[i] = (float)(int32)((i + 1 + 7919 k) * 2654435761 mod 2^32) * 2^-31.
struct PinnedSum {
  int64_t n;
  uint32_t k;
  Bits first, second, last;
  Bits fused, descending, ascending;
};
class PinnedSums : public testing::TestWithParam<PinnedSum> {};

TEST_P(PinnedSums, EveryKernelHasItsOwnBits) {
  const PinnedSum &pinned = GetParam();
  Bits scale = scalar::div(ScalarType::F32, f32("1.0"), f32("2147483648.0"));
  std::vector<Bits> row;
  for (int64_t i = 0; i < pinned.n; ++i) {
    uint32_t number = (uint32_t(i) + 1 + 7919 * pinned.k) * 2654435761u;
    row.push_back(scalar::mul(ScalarType::F32,
                              scalar::convert(ScalarType::I32, ScalarType::F32, number), scale));
  }
  ASSERT_EQ(row[0], pinned.first);
  ASSERT_EQ(row[1], pinned.second);
  ASSERT_EQ(row.back(), pinned.last);
  bool isShort = pinned.n < 128;
  EXPECT_EQ(sum("norm.row_vec4", row, "f32", SquareFused), pinned.fused);
  EXPECT_EQ(sum(isShort ? "norm.sum_short" : "norm.sum_vec4", row, "f32", SquareRounded),
            pinned.descending);
  EXPECT_EQ(sum(isShort ? "norm.sum_short_asc" : "norm.sum_vec4_asc", row, "f32", SquareRounded),
            pinned.ascending);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PinnedSums,
                         testing::Values(PinnedSum{64, 25, 0xbe53d5b1, 0xbf788679, 0xbeab4f0e,
                                                   0x41a90b00, 0x41a90aff, 0x41a90afe},
                                         PinnedSum{128, 79, 0x3f18aca6, 0xbe2b9199, 0xbed89138,
                                                   0x4229f024, 0x4229f025, 0x4229f026},
                                         PinnedSum{2048, 11, 0xbdf35a5a, 0xbf61fc58, 0x3de6068b,
                                                   0x442aa12b, 0x442aa12a, 0x442aa12c}),
                         [](const testing::TestParamInfo<PinnedSum> &info) {
                           return "n" + std::to_string(info.param.n);
                         });

} // namespace
