//===-- tests/field_reports/GeneralTest.cpp - What holds for all rows and widths -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Reports whose statement is about many calls at once: conversions near every midpoint, splits and
// permutations of a batch, sizes around a block, rotary widths.
//
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace h3::test {
namespace {

using Storage = tensor::StorageType;

class FieldReportsGeneral : public testing::TestWithParam<Backend> {
protected:
  const Backend &backend = GetParam();

  /// Expects it on this backend; whether the backend can run it at all.
  bool expect(Call &call, const Outputs &expected) {
    lacking = expectOutputs(call, backend, expected);
    return lacking.empty();
  }
  std::string lacking;
};

// S08: below, on and above the middle of any two neighbours, also where those are subnormal or the
// upper one is infinity, and for both signs. The right answer needs no arithmetic: it is the lower
// number, the even one, the upper one.
TEST_P(FieldReportsGeneral, S08_ConversionsNearEveryMidpoint) {
  struct Kind {
    ScalarType from, to;
    Storage source, target;
    const char *op, *output;
  };
  for (const Kind &kind :
       {Kind{ScalarType::F64, ScalarType::F16, Storage::F64, Storage::F16, "narrow_f64", "y"},
        {ScalarType::F64, ScalarType::BF16, Storage::F64, Storage::BF16, "narrow_f64_to_bf16", "y"},
        {ScalarType::F32, ScalarType::F16, Storage::F32, Storage::F16, "narrow_f32", "y"},
        {ScalarType::F32, ScalarType::BF16, Storage::F32, Storage::BF16, "narrow_f32", "z"}}) {
    SCOPED_TRACE(std::string(name(kind.from)) + " to " + std::string(name(kind.to)));
    auto wide = [&](Bits bits) { return scalar::convert(kind.to, kind.from, bits); };
    const Bits infinity = scalar::infinity(kind.to), sign = Bits(1) << (bitWidth(kind.from) - 1);
    std::vector<Bits> inputs, answers;
    for (Bits low = 0; low < infinity; ++low) {
      // Exact: the sum of neighbours has one bit more than they, and the last step before infinity
      // is as long as the one before it.
      Bits a = wide(low), b = wide(low + 1),
           half = wide(kind.to == ScalarType::F16 ? 0x3800 : 0x3F00);
      if (low + 1 == infinity)
        b = scalar::add(kind.from, a, scalar::sub(kind.from, a, wide(low - 1)));
      if (scalar::isInfinity(kind.from, b))
        continue; // f32's range ends with bf16's
      Bits middle =
          scalar::add(kind.from, scalar::mul(kind.from, a, half), scalar::mul(kind.from, b, half));
      for (auto [input, answer] :
           {std::pair(middle - 1, low), {middle, low + (low & 1)}, {middle + 1, low + 1}}) {
        inputs.push_back(input);
        answers.push_back(answer);
        inputs.push_back(input | sign);
        answers.push_back(answer | Bits(0x8000));
      }
    }
    EXPECT_GT(inputs.size(), 6 * 31000u);
    Call call("roundings.spec", kind.op);
    const std::vector<int64_t> shape = {int64_t(inputs.size())};
    call.input("x", kind.source, shape, inputs);
    call.output("y", kind.op == std::string("narrow_f64_to_bf16") ? Storage::BF16 : Storage::F16,
                shape);
    Outputs expected = {{kind.output, answers}};
    if (kind.from == ScalarType::F32)
      call.output("z", Storage::BF16, shape);
    if (!expect(call, expected))
      GTEST_SKIP() << "skipped: " << lacking;
  }
}

// S09: the bits of a row do not depend on the rows beside it, on their number or on their order.
TEST_P(FieldReportsGeneral, S09_RowsAreIndependentOfTheBatch) {
  constexpr size_t Rows = 4096, Width = 64;
  const std::vector<Bits> x = randomFloats(ScalarType::F16, Rows * Width, 1);
  auto run = [&](const std::vector<size_t> &rows, Outputs *expected) {
    std::vector<Bits> picked;
    for (size_t row : rows)
      picked.insert(picked.end(), &x[row * Width], &x[row * Width] + Width);
    Call call("specials.spec", "rms_norm");
    const std::vector<int64_t> shape = {int64_t(rows.size()), Width};
    call.input("x", Storage::F16, shape, picked);
    call.output("y", Storage::F16, shape);
    if (expected->empty()) {
      *expected = referenceOf(call);
      return expect(call, *expected);
    }
    std::vector<Bits> wanted;
    for (size_t row : rows)
      wanted.insert(wanted.end(), &(*expected)["y"][row * Width],
                    &(*expected)["y"][row * Width] + Width);
    return expect(call, {{"y", wanted}});
  };
  std::vector<size_t> all(Rows);
  std::iota(all.begin(), all.end(), 0);
  Outputs expected;
  if (!run(all, &expected))
    GTEST_SKIP() << "skipped: " << lacking;
  size_t first = 0;
  for (size_t count : {1, 4, 255, 256, 257, 1000}) {
    SCOPED_TRACE(count);
    std::vector<size_t> some(all.begin() + long(first), all.begin() + long(first + count));
    EXPECT_TRUE(run(some, &expected));
    first += count;
  }
  std::shuffle(all.begin(), all.end(), std::mt19937(1));
  EXPECT_TRUE(run(all, &expected));
}

// S28: heads of 128 of which 64 rotate, on both sides of a block's worth of tokens. What is not
// rotated is the normalised input.
TEST_P(FieldReportsGeneral, S28_PartialRotation) {
  constexpr int64_t Heads = 40, Width = 128, Rotary = 64;
  for (int64_t tokens : {1, 255, 256, 257}) {
    // 40 heads where that is cheap; all are rows of one launch.
    const int64_t heads = tokens == 1 ? Heads : 3;
    SCOPED_TRACE(tokens);
    const std::vector<int64_t> shape = {tokens, heads, Width}, table = {tokens, Rotary};
    const std::vector<Bits> x =
        randomFloats(ScalarType::F16, size_t(tokens * heads * Width), unsigned(tokens));
    Call call("widths.spec", "partial");
    call.input("x", Storage::F16, shape, x);
    call.input("cos", Storage::F16, table,
               randomFloats(ScalarType::F16, size_t(tokens * Rotary), 2));
    call.input("sin", Storage::F16, table,
               randomFloats(ScalarType::F16, size_t(tokens * Rotary), 3));
    call.output("y", Storage::F16, shape);
    Outputs expected = referenceOf(call);
    Call norm("widths.spec", "normed");
    norm.input("x", Storage::F16, shape, x);
    norm.output("y", Storage::F16, shape);
    const std::vector<Bits> normed = referenceOf(norm)["y"];
    size_t rotated = 0;
    for (size_t k = 0; k < normed.size(); ++k)
      if (k % Width >= Rotary)
        ASSERT_EQ(expected["y"][k], normed[k]) << call.placeOf("y", k);
      else
        rotated += expected["y"][k] != normed[k];
    EXPECT_GT(rotated, normed.size() * 9 / 20);
    if (!expect(call, expected))
      GTEST_SKIP() << "skipped: " << lacking;
  }
}

// S29: cos is 0 and every sin another small integer, so a wrong index of the table shows at once; a
// store beyond the row's width meets the next row or a guard.
TEST_P(FieldReportsGeneral, S29_WidthsThatAreNoPowerOfTwo) {
  const ScalarType H = ScalarType::F16;
  struct Width {
    size_t rotary, head;
    const char *op;
  };
  for (auto [r, d, op] : {Width{48, 64, "r48_of_64"},
                          {96, 128, "r96_of_128"},
                          {192, 192, "r192_of_192"},
                          {24, 72, "r24_of_72"}}) {
    SCOPED_TRACE(op);
    const size_t rows = 7, half = r / 2;
    std::vector<Bits> x = randomFloats(H, rows * d, unsigned(d)), sin, expected;
    for (size_t k = 0; k < rows * r; ++k)
      sin.push_back(scalar::convert(ScalarType::I64, H, k % 2000 + 1));
    for (size_t t = 0; t < rows; ++t)
      for (size_t i = 0; i < d; ++i) {
        auto at = [&](size_t k) { return x[t * d + k]; };
        auto product = [&](Bits a) { return scalar::mul(H, a, sin[t * r + i]); };
        Bits none = scalar::mul(H, at(i), 0);
        expected.push_back(i < half ? scalar::add(H, none, product(scalar::neg(H, at(i + half))))
                           : i < r  ? scalar::add(H, none, product(at(i - half)))
                                    : at(i));
      }
    Call call("widths.spec", op);
    call.input("x", Storage::F16, {int64_t(rows), int64_t(d)}, x);
    call.input("cos", Storage::F16, {int64_t(rows), int64_t(r)}, std::vector<Bits>(rows * r, 0));
    call.input("sin", Storage::F16, {int64_t(rows), int64_t(r)}, sin);
    call.output("y", Storage::F16, {int64_t(rows), int64_t(d)});
    if (!expect(call, {{"y", expected}}))
      GTEST_SKIP() << "skipped: " << lacking;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, FieldReportsGeneral,
                         testing::ValuesIn(backends().begin(), backends().end()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace h3::test
