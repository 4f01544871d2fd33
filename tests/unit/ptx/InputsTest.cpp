//===-- tests/unit/ptx/InputsTest.cpp - PTX of other compilers ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Runs the sample kernels of Inputs and compares their outputs with the same operations in the same
// order, computed with dsl/scalar.
//
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Interpreter.h"
#include "backends/nvptx/ptx/Reader.h"
#include "dsl/scalar/Scalar.h"

#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <random>
#include <sstream>

namespace h3::ptxtest {
namespace {

constexpr ScalarType f16 = ScalarType::F16, f32 = ScalarType::F32;

ptx::Module readInput(const std::string &name) {
  std::ifstream file(std::string(H3_PTX_INPUTS) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  auto module = ptx::read(text.str());
  if (!module) {
    ADD_FAILURE() << name << ": " << module.error().message();
    return {};
  }
  return std::move(*module);
}

template <class T> std::vector<T> randomBits(size_t count, T mask, T bits) {
  std::mt19937_64 random(11);
  std::vector<T> values(count);
  for (T &value : values)
    value = static_cast<T>((random() & mask) | bits);
  return values;
}

template <class T>
ptx::Region region(const char *name, uint64_t address, std::vector<T> &values, bool writable) {
  return {name, address, std::as_writable_bytes(std::span(values)), writable, !writable};
}

uint32_t add(uint32_t a, uint32_t b) { return static_cast<uint32_t>(scalar::add(f32, a, b)); }

/// The butterfly over lanes: every lane ends with the same sum of a tree.
uint32_t butterfly(std::vector<uint32_t> lanes) {
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    std::vector<uint32_t> next(32);
    for (unsigned lane = 0; lane < 32; ++lane)
      next[lane] = add(lanes[lane], lanes[lane ^ distance]);
    lanes = next;
  }
  return lanes[0];
}

class PtxNvcc : public testing::TestWithParam<const char *> {};

TEST_P(PtxNvcc, RowSum) {
  ptx::Module module = readInput(GetParam());
  constexpr unsigned rows = 3, columns = 301, threads = 96;
  std::vector<uint32_t> x = randomBits<uint32_t>(rows * columns, 0x83FFFFFF, 0x3C000000);
  std::vector<uint32_t> out(rows), expected(rows);
  for (unsigned row = 0; row < rows; ++row) {
    std::vector<uint32_t> warps;
    for (unsigned warp = 0; warp < threads / 32; ++warp) {
      std::vector<uint32_t> lanes(32);
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = warp * 32 + lane; i < columns; i += threads)
          lanes[lane] = add(lanes[lane], x[row * columns + i]);
      warps.push_back(butterfly(lanes));
    }
    expected[row] = add(add(warps[0], warps[1]), warps[2]);
  }
  ptx::LaunchConfig launch;
  launch.grid = {rows, 1, 1};
  launch.block = {threads, 1, 1};
  launch.arguments = {{0x10000, 8}, {0x20000, 8}, {columns, 4}};
  for (uint64_t seed = 0; seed < 4; ++seed) {
    std::fill(out.begin(), out.end(), 0);
    ptx::Region regions[] = {region("x", 0x10000, x, false), region("out", 0x20000, out, true)};
    ptx::RunOptions options;
    options.seed = seed;
    auto fault = ptx::run(module, "rowSum", launch, regions, options);
    ASSERT_FALSE(fault) << fault->message();
    EXPECT_EQ(out, expected);
  }
}

TEST_P(PtxNvcc, ScaleHalves) {
  ptx::Module module = readInput(GetParam());
  constexpr unsigned n = 77, threads = 32;
  constexpr uint16_t a = 0x3E66, b = 0xB99A;
  constexpr uint32_t weights[] = {0x3F800000, 0x40000000, 0x3F000000, 0x3E800000};
  std::vector<uint16_t> x = randomBits<uint16_t>(n, 0xFFFF, 0), y(n), expected(n);
  for (unsigned i = 0; i < n; ++i) {
    Bits value = scalar::add(f16, scalar::mul(f16, x[i], a), b);
    Bits wide = scalar::mul(f32, scalar::convert(f16, f32, value), weights[i / 2 % 4]);
    expected[i] = static_cast<uint16_t>(scalar::convert(f32, f16, wide));
  }
  ptx::LaunchConfig launch;
  launch.grid = {2, 1, 1};
  launch.block = {threads, 1, 1};
  launch.arguments = {{0x10000, 8}, {0x20000, 8}, {a, 2}, {b, 2}, {n, 4}};
  ptx::Region regions[] = {region("x", 0x10000, x, false), region("y", 0x20000, y, true)};
  auto fault = ptx::run(module, "scaleHalves", launch, regions);
  ASSERT_FALSE(fault) << fault->message();
  EXPECT_EQ(y, expected);
}

TEST_P(PtxNvcc, Rotate) {
  ptx::Module module = readInput(GetParam());
  std::vector<uint32_t> x = randomBits<uint32_t>(256, 7, 0), out(32), expected(32);
  constexpr uint32_t from = 3, to = 6;
  uint32_t count = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    count += x[lane * 8 + from] > 3;
  for (unsigned lane = 0; lane < 32; ++lane) {
    std::vector<uint32_t> held(x.begin() + lane * 8, x.begin() + lane * 8 + 8);
    held[to] = held[from] + count;
    for (unsigned i = 0; i < 8; ++i)
      expected[lane] = expected[lane] * 31 + held[(i + lane) & 7];
  }
  ptx::LaunchConfig launch;
  launch.block = {32, 1, 1};
  launch.arguments = {{0x10000, 8}, {0x20000, 8}, {from, 4}, {to, 4}};
  ptx::Region regions[] = {region("x", 0x10000, x, false), region("out", 0x20000, out, true)};
  auto fault = ptx::run(module, "rotate", launch, regions);
  ASSERT_FALSE(fault) << fault->message();
  EXPECT_EQ(out, expected);
}

INSTANTIATE_TEST_SUITE_P(Samples, PtxNvcc, testing::Values("reduce.ptx", "reduce_debug.ptx"),
                         [](const auto &info) {
                           return std::string(info.index ? "sm_80" : "sm_90");
                         });

TEST(PtxTriton, SumAndSquare) {
  ptx::Module module = readInput("triton_style.ptx");
  constexpr unsigned rows = 2, n = 212;
  std::vector<uint32_t> x = randomBits<uint32_t>(rows * n, 0x83FFFFFF, 0x3C000000);
  std::vector<uint32_t> out(rows), y(rows * n), expectedOut(rows), expectedY(rows * n);
  for (unsigned row = 0; row < rows; ++row) {
    auto at = [&](unsigned i) { return i < n ? x[row * n + i] : 0; };
    std::vector<uint32_t> warps;
    for (unsigned warp = 0; warp < 2; ++warp) {
      std::vector<uint32_t> lanes(32);
      for (unsigned lane = 0; lane < 32; ++lane) {
        unsigned i = (warp * 32 + lane) * 4;
        lanes[lane] = add(add(at(i), at(i + 1)), add(at(i + 2), at(i + 3)));
      }
      warps.push_back(butterfly(lanes));
    }
    expectedOut[row] = add(warps[0], warps[1]);
  }
  for (unsigned i = 0; i < rows * n; ++i)
    expectedY[i] = static_cast<uint32_t>(scalar::mul(f32, x[i], x[i]));
  ptx::LaunchConfig launch;
  launch.grid = {rows, 1, 1};
  launch.block = {64, 1, 1};
  launch.sharedBytes = 8;
  launch.arguments = {{0x10000, 8}, {0x20000, 8}, {0x30000, 8}, {n, 4}};
  ptx::Region regions[] = {region("x", 0x10000, x, false), region("out", 0x20000, out, true),
                           region("y", 0x30000, y, true)};
  auto fault = ptx::run(module, "_kernel", launch, regions);
  ASSERT_FALSE(fault) << fault->message();
  EXPECT_EQ(out, expectedOut);
  EXPECT_EQ(y, expectedY);
}

// A kernel as Triton printed it: it reads, prints and reads again, and what has no model is named.
TEST(PtxTriton, PrintedKernelIsReadAndItsDivisionNamed) {
  ptx::Module module = readInput("triton_row_norm.ptx");
  auto again = ptx::read(ptx::print(module));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(ptx::print(*again), ptx::print(module));
  auto executable = ptx::Executable::make(module, "row_norm");
  ASSERT_FALSE(executable);
  EXPECT_NE(executable.error().message().find("div.full.f32"), std::string::npos)
      << executable.error().message();
}

} // namespace
} // namespace h3::ptxtest
