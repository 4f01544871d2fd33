//===-- tests/portable/NormTest.cpp - Claims of portable.norm -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The interpreter's f32 results against f64, whose own error, some n 2^-53, is far below the
// bounds.
//
//===----------------------------------------------------------------------===//

#include "Library.h"

#include "dsl/interpreter/Interpreter.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

namespace h3::test {
namespace {

constexpr double U = 0x1p-24, Eps = 0x1.4f8b58p-17; // f32(1e-5)

using Row = std::vector<float>;

/// One row through `norm.<call>`, whose arguments are x, w, b.
Row run(const std::string &call, const Row &x, const Row &w, const Row &b) {
  Loaded loaded = loadText(
      fmt::format("use portable.norm\nop f {{\n  dim n\n  require n >= 1\n  in x, w, b: f32[n]\n"
                  "  out y: f32[n]\n  let eps: f32 = 1e-5\n  y = norm.{}\n}}\n",
                  call));
  EXPECT_FALSE(loaded.program->usesApproximation);
  Row y(x.size());
  Arguments arguments;
  arguments.dims = {int64_t(x.size())};
  for (const Row *row : {&x, &w, &b, static_cast<const Row *>(&y)})
    arguments.tensors.push_back(
        {reinterpret_cast<std::byte *>(const_cast<float *>(row->data())), 0, {1}});
  EXPECT_EQ(interpret(*loaded.program, arguments), std::nullopt);
  return y;
}

constexpr int64_t Sizes[] = {1, 2, 3, 5, 64, 127, 128, 511, 512, 513, 1000, 2048, 4099};

struct Sample {
  Row x, w, b;
  double n, c, mean = 0, meanAbs = 0, meanSquare = 0, variance = 0;

  Sample(int64_t size, double offset, unsigned seed) : n(double(size)), c(std::ceil(n / 512)) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    for (Row *row : {&x, &w, &b})
      std::generate_n(std::back_inserter(*row), size, [&] { return normal(engine); });
    for (float &value : x)
      value += float(offset);
    for (double value : x) {
      mean += value / n;
      meanAbs += std::abs(value) / n;
      meanSquare += value * value / n;
    }
    for (double value : x)
      variance += (value - mean) * (value - mean) / n;
  }
};

template <class Check> void forSamples(const Check &check) {
  unsigned seed = 0;
  for (int64_t size : Sizes)
    for (double offset : {0.0, 3.0, 1000.0}) {
      SCOPED_TRACE(fmt::format("n = {}, offset {}, seed {}", size, offset, seed));
      check(Sample(size, offset, seed++));
    }
}

/// The largest part of the bound that was used: a bound that nothing comes near says little.
struct Use {
  double largest = 0;
  void check(double error, double bound) {
    largest = std::max(largest, error / bound);
    EXPECT_LE(error, bound);
  }
};

TEST(PortableNorm, RmsNormIsWithinTheBound) {
  Use use;
  forSamples([&](const Sample &s) {
    Row plain = run("rms_norm(x, eps)", s.x, s.w, s.b),
        weighted = run("rms_norm_w(x, w, eps)", s.x, s.w, s.b);
    for (size_t i = 0; i < s.x.size(); ++i) {
      double z = s.x[i] / std::sqrt(s.meanSquare + Eps);
      use.check(std::abs(plain[i] - z), (2 * s.c + 8) * U * std::abs(z));
      use.check(std::abs(weighted[i] - s.w[i] * z), (2 * s.c + 9) * U * std::abs(s.w[i] * z));
    }
  });
  EXPECT_GT(use.largest, 0.15);
}

TEST(PortableNorm, LayerNormIsWithinTheBound) {
  Use use;
  forSamples([&](const Sample &s) {
    Row plain = run("layer_norm(x, eps)", s.x, s.w, s.b),
        weighted = run("layer_norm_w(x, w, eps)", s.x, s.w, s.b),
        affine = run("layer_norm_wb(x, w, b, eps)", s.x, s.w, s.b);
    double deviation = std::sqrt(s.variance + Eps);
    double b = (4 * s.c + 8) * U * s.meanAbs / deviation;
    for (size_t i = 0; i < s.x.size(); ++i) {
      double z = (s.x[i] - s.mean) / deviation, wz = s.w[i] * z;
      double bound = b + (b * b + (2 * s.c + 12) * U) * std::abs(z);
      use.check(std::abs(plain[i] - z), bound);
      bound *= std::abs(s.w[i]);
      use.check(std::abs(weighted[i] - wz), bound + U * std::abs(wz));
      use.check(std::abs(affine[i] - (wz + s.b[i])),
                bound + U * std::abs(wz) + U * std::abs(wz + s.b[i]));
    }
  });
  EXPECT_GT(use.largest, 0.1);
}

TEST(PortableNorm, SoftmaxIsWithinTheBound) {
  Use use;
  forSamples([&](Sample s) {
    for (float &value : s.x)
      value *= 20; // also results that are subnormal, or zero
    Row y = run("softmax(x)", s.x, s.w, s.b);
    double top = *std::ranges::max_element(s.x), sum = 0;
    for (double value : s.x)
      sum += std::exp(value - top);
    for (size_t i = 0; i < s.x.size(); ++i) {
      double z = std::exp(s.x[i] - top) / sum;
      use.check(std::abs(y[i] - z), (4 * s.c + 12) * U * z + (z < 0x1p-126 ? 0x1p-149 : 0));
    }
  });
  EXPECT_GT(use.largest, 0.1);
}

TEST(PortableNorm, SpecialRows) {
  const float inf = INFINITY;
  auto bits = [](const Row &row) {
    std::vector<uint32_t> result;
    for (float value : row)
      result.push_back(std::bit_cast<uint32_t>(value));
    return result;
  };
  Row ones(4, 1), zeros = {0.0f, -0.0f, 0.0f, -0.0f};
  EXPECT_EQ(bits(run("rms_norm(x, eps)", zeros, ones, ones)), bits(zeros));
  EXPECT_EQ(bits(run("rms_norm(x, eps)", {1, -1, inf, 2}, ones, ones)),
            (std::vector<uint32_t>{0, 0x80000000, 0x7FFFFFFF, 0}));
  EXPECT_EQ(bits(run("softmax(x)", {0, -inf, -1000, 0}, ones, ones)),
            bits({0.5f, 0.0f, 0.0f, 0.5f}));
  for (const Row &row : {Row{-inf, -inf}, Row{inf, 0}, Row{NAN, 0}})
    EXPECT_TRUE(std::isnan(run("softmax(x)", row, row, row)[0]));
}

} // namespace
} // namespace h3::test
