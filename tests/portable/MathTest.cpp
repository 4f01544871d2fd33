//===-- tests/portable/MathTest.cpp - Claims of portable.math -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Library.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace h3::test {
namespace {

class PortableMath : public testing::TestWithParam<std::string_view> {
protected:
  const Exact &function = *std::ranges::find(exactFunctions(), GetParam(), &Exact::name);
  const Columns columns = columnsOf(function.name);
  const Claim claim = claims()[std::string(function.name)];

  std::vector<uint32_t> results(const std::vector<uint32_t> &inputs) const {
    std::vector<uint32_t> outputs(inputs.size());
    columns.run(inputs, outputs);
    return outputs;
  }
  void expectWithinBound(const std::vector<uint32_t> &inputs) const {
    std::vector<uint32_t> outputs = results(inputs);
    Worst worst;
    worst.measure(function, inputs, outputs);
    EXPECT_LE(worst.error, claim.ulps) << "ulps at " << worst.at;
    RecordProperty("ulps", std::to_string(worst.error));
    // MPFR agrees where it is worst, and at some others.
    for (size_t i = 0; i < inputs.size(); i += inputs.size() / 64) {
      float x = std::bit_cast<float>(inputs[i]), y = std::bit_cast<float>(outputs[i]);
      EXPECT_NEAR(ulps(y, function.value(x)), ulpsByMpfr(function, x, y), 0x1p-18) << x;
    }
    uint32_t at = std::bit_cast<uint32_t>(worst.at);
    EXPECT_NEAR(worst.error, ulpsByMpfr(function, worst.at, std::bit_cast<float>(results({at})[0])),
                0x1p-18);
  }
};

/// Every value of a 16-bit type: the f32 result is within the bound, and as many results as claimed
/// are another number of that type than the exact one rounded.
int64_t wrongRoundings(const Exact &function, ScalarType type, const std::vector<uint32_t> &inputs,
                       const std::vector<uint32_t> &outputs) {
  int64_t wrong = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    wrong += scalar::convert(ScalarType::F32, type, outputs[i]) !=
             correctlyRounded(function, type, std::bit_cast<float>(inputs[i]));
  return wrong;
}

TEST_P(PortableMath, EveryF16IsWithinTheBound) {
  std::vector<uint32_t> inputs = everyValue(ScalarType::F16);
  ASSERT_EQ(inputs.size(), 65536u - 2046);
  expectWithinBound(inputs);
  EXPECT_EQ(wrongRoundings(function, ScalarType::F16, inputs, results(inputs)), claim.f16);
}

TEST_P(PortableMath, EveryBf16IsWithinTheBound) {
  std::vector<uint32_t> inputs = everyValue(ScalarType::BF16);
  ASSERT_EQ(inputs.size(), 65536u - 254);
  expectWithinBound(inputs);
  EXPECT_EQ(wrongRoundings(function, ScalarType::BF16, inputs, results(inputs)), claim.bf16);
}

// 2^20 patterns of f32, evenly spaced; h3_portable_sweep takes more.
TEST_P(PortableMath, SampledF32IsWithinTheBound) {
  std::vector<uint32_t> inputs(size_t(1) << 20);
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = uint32_t(i * 4096 + i * 2654435761u % 4096);
  expectWithinBound(inputs);
}

TEST_P(PortableMath, ColumnsAreTheInterpreter) {
  std::vector<uint32_t> inputs = everyValue(ScalarType::F16);
  for (uint64_t bits = 12345; bits >> 32 == 0; bits += 65521)
    inputs.push_back(uint32_t(bits));
  EXPECT_EQ(interpreted(*loadFunction(function.name).program, inputs), results(inputs));
}

TEST_P(PortableMath, UsesNoApproximation) {
  EXPECT_FALSE(loadFunction(function.name).program->usesApproximation);
}

TEST_P(PortableMath, IsMonotonicOverF16AndBf16) {
  for (ScalarType type : {ScalarType::F16, ScalarType::BF16}) {
    std::vector<uint32_t> inputs = everyValue(type), outputs = results(inputs);
    std::vector<std::pair<float, float>> points;
    for (size_t i = 0; i < inputs.size(); ++i)
      points.emplace_back(std::bit_cast<float>(inputs[i]), std::bit_cast<float>(outputs[i]));
    std::ranges::sort(points, {}, &std::pair<float, float>::first);
    if (function.name == "rsqrt") // falls from inf
      std::erase_if(points, [](auto &point) { return !(point.first > 0); });
    else if (!function.increasing) // falls to a minimum near -1
      std::erase_if(points, [](auto &point) { return point.first < -0.5f; });
    int64_t against = 0;
    for (size_t i = 1; i < points.size(); ++i)
      against += function.name == "rsqrt" ? points[i].second > points[i - 1].second
                                          : points[i].second < points[i - 1].second;
    EXPECT_EQ(against, 0) << name(type);
    EXPECT_GT(points.size(), 30000u);
  }
}

TEST_P(PortableMath, NaNGivesTheOneNaN) {
  EXPECT_EQ(results({0x7FC00000, 0xFFC00001, 0x7F800001}), (std::vector<uint32_t>(3, 0x7FFFFFFF)));
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> result;
  for (const Exact &function : exactFunctions())
    result.push_back(function.name);
  return result;
}
INSTANTIATE_TEST_SUITE_P(Functions, PortableMath, testing::ValuesIn(names()),
                         [](const auto &info) { return std::string(info.param); });

// Arguments and results as f32 bits: zeros, infinities, the last results before overflow, the first
// and last subnormal ones, what underflows.
struct Special {
  const char *function;
  uint32_t argument, result;
};

constexpr uint32_t Zero = 0, MinusZero = 0x80000000, One = 0x3F800000, Inf = 0x7F800000,
                   MinusInf = 0xFF800000, NaN = 0x7FFFFFFF, Least = 0x00000001, Most = 0x7F7FFFFF,
                   MinusMost = 0xFF7FFFFF;

constexpr Special specials[] = {
    {"exp", Zero, One},
    {"exp", MinusZero, One},
    {"exp", Inf, Inf},
    {"exp", MinusInf, Zero},
    {"exp", Least, One},
    {"exp", Most, Inf},
    {"exp", MinusMost, Zero},
    {"exp", 0x42B17217, 0x7F7FFF84}, // 88.722832: finite
    {"exp", 0x42B17218, Inf},        // 88.72284
    {"exp", 0xC2CFF1B4, Least},      // -103.97208: just above 2^-150
    {"exp", 0xC2CFF1B5, Zero},       // -103.97209
    {"log", Zero, MinusInf},
    {"log", MinusZero, MinusInf},
    {"log", One, Zero},
    {"log", Inf, Inf},
    {"log", MinusInf, NaN},
    {"log", 0x80000001, NaN},
    {"log", Least, 0xC2CE8ED0}, // -149 ln 2
    {"log", Most, 0x42B17218},
    {"rsqrt", Zero, Inf},
    {"rsqrt", MinusZero, MinusInf},
    {"rsqrt", Inf, Zero},
    {"rsqrt", 0xBF800000, NaN},
    {"rsqrt", 0x40800000, 0x3F000000},
    {"tanh", Zero, Zero},
    {"tanh", MinusZero, MinusZero},
    {"tanh", Least, Least},
    {"tanh", 0x80000001, 0x80000001},
    {"tanh", Inf, One},
    {"tanh", MinusInf, 0xBF800000},
    {"tanh", 0x41200000, One},
    {"erf", Zero, Zero},
    {"erf", MinusZero, MinusZero},
    {"erf", Least, Least}, // 1.128 times it
    {"erf", Inf, One},
    {"erf", MinusInf, 0xBF800000},
    {"sigmoid", Zero, 0x3F000000},
    {"sigmoid", Inf, One},
    {"sigmoid", MinusInf, Zero},
    {"sigmoid", 0xC2CFF1B4, Least},
    {"sigmoid", MinusMost, Zero},
    {"silu", Zero, Zero},
    {"silu", MinusZero, MinusZero},
    {"silu", Inf, Inf},
    {"silu", MinusInf, MinusZero},
    {"silu", Most, Most},
    {"silu", MinusMost, MinusZero},
    {"gelu_erf", Zero, Zero},
    {"gelu_erf", MinusZero, MinusZero},
    {"gelu_erf", Inf, Inf},
    {"gelu_erf", MinusInf, MinusZero},
    {"gelu_erf", Most, Most},
    {"gelu_erf", MinusMost, MinusZero},
    {"gelu_tanh", Zero, Zero},
    {"gelu_tanh", MinusZero, MinusZero},
    {"gelu_tanh", Inf, Inf},
    {"gelu_tanh", MinusInf, MinusZero},
    {"gelu_tanh", Most, Most},
    {"gelu_tanh", MinusMost, MinusZero},
};

TEST(PortableMathSpecials, AreRight) {
  for (const Special &special : specials) {
    uint32_t result;
    columnsOf(special.function).run({&special.argument, 1}, {&result, 1});
    EXPECT_EQ(result, special.result)
        << special.function << " of 0x" << std::hex << special.argument;
  }
}

TEST(PortableMathClaims, EveryFunctionHasOne) {
  std::map<std::string, Claim> table = claims();
  EXPECT_EQ(table.size(), exactFunctions().size());
  for (const Exact &function : exactFunctions()) {
    EXPECT_GT(table[std::string(function.name)].ulps, 0.5) << function.name;
    EXPECT_LT(table[std::string(function.name)].ulps, 5) << function.name;
  }
}

// The measure itself: one step away from the nearest is between half an ulp and one and a half.
TEST(PortableMathMeasure, SeesOneUlp) {
  for (const Exact &function : exactFunctions())
    for (float x : {0.25f, 0.75f, 3.0f, 7.5f}) {
      float nearest = float(function.value(x));
      EXPECT_LE(ulps(nearest, function.value(x)), 0.5) << function.name << " " << x;
      double off = ulps(std::nextafterf(nearest, 0), function.value(x));
      EXPECT_GE(off, 0.25) << function.name << " " << x; // below a power of two steps are halves
      EXPECT_LE(off, 1.5) << function.name << " " << x;
    }
  EXPECT_EQ(ulps(-0.0f, 0.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(ulps(1.0f, std::nan("")), std::numeric_limits<double>::infinity());
  EXPECT_EQ(ulps(0x1p-149f, 0x1p-150), 0.5);
}

} // namespace
} // namespace h3::test
