//===-- tests/unit/runtime/tensor/SliceTest.cpp - References and slices *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/tensor/Slice.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace h3::tensor;

namespace {

/// "offset [extents]/[strides]" of a reference into a tensor of this shape, or the error.
std::string view(std::vector<int64_t> shape, const std::string &text) {
  auto reference = parseReference(text);
  if (!reference)
    return reference.error().message;
  auto result = slice(shape, reference->subscripts);
  if (!result)
    return result.error().message;
  auto list = [](const std::vector<int64_t> &numbers) {
    std::string line = "[";
    for (size_t i = 0; i < numbers.size(); ++i)
      line += (i ? "," : "") + std::to_string(numbers[i]);
    return line + "]";
  };
  return std::to_string(result->offset) + " " + list(result->extents) + "/" + list(result->strides);
}

const std::vector<int64_t> kQkv = {1, 3, 32, 192};

TEST(SliceTest, ChunksOfTheLastAxis) {
  EXPECT_EQ(view(kQkv, "qkv"), "0 [1,3,32,192]/[18432,6144,192,1]");
  EXPECT_EQ(view(kQkv, "1x3_normal.qkv[..., 0:64]"), "0 [1,3,32,64]/[18432,6144,192,1]");
  EXPECT_EQ(view(kQkv, "qkv[...,64:128]"), "64 [1,3,32,64]/[18432,6144,192,1]");
  EXPECT_EQ(view(kQkv, "qkv[..., -64:]"), "128 [1,3,32,64]/[18432,6144,192,1]");
  EXPECT_EQ(view(kQkv, "qkv[:, :, :, :64]"), "0 [1,3,32,64]/[18432,6144,192,1]");
}

TEST(SliceTest, IntegersDropTheirAxis) {
  EXPECT_EQ(view(kQkv, "q[0]"), "0 [3,32,192]/[6144,192,1]");
  EXPECT_EQ(view(kQkv, "q[0, 2]"), "12288 [32,192]/[192,1]");
  EXPECT_EQ(view(kQkv, "q[0, -1, 31, 191]"), "18431 []/[]");
  EXPECT_EQ(view(kQkv, "q[..., 5]"), "5 [1,3,32]/[18432,6144,192]");
  EXPECT_EQ(view(kQkv, "q[0, ..., -192]"), "0 [3,32]/[6144,192]");
  EXPECT_EQ(view(kQkv, "q[+0,...]"), "0 [3,32,192]/[6144,192,1]");
}

TEST(SliceTest, Steps) {
  EXPECT_EQ(view({10}, "x[::2]"), "0 [5]/[2]");
  EXPECT_EQ(view({10}, "x[1::2]"), "1 [5]/[2]");
  EXPECT_EQ(view({10}, "x[1:8:3]"), "1 [3]/[3]");
  EXPECT_EQ(view({10}, "x[::9223372036854775807]"), "0 [1]/[1]");
  EXPECT_EQ(view({10}, "x[ 2 : 5 : ]"), "2 [3]/[1]");
}

TEST(SliceTest, RangesClamp) {
  EXPECT_EQ(view({10}, "x[5:100]"), "5 [5]/[1]");
  EXPECT_EQ(view({10}, "x[-100:3]"), "0 [3]/[1]");
  EXPECT_EQ(view({10}, "x[100:]"), "0 [0]/[1]");
  EXPECT_EQ(view({10}, "x[7:3]"), "0 [0]/[1]");
  EXPECT_EQ(view({10}, "x[:-100]"), "0 [0]/[1]");
  EXPECT_EQ(view({10}, "x[-9223372036854775808:9223372036854775807]"), "0 [10]/[1]");
  EXPECT_EQ(view({4, 10}, "x[2:, 3:3]"), "0 [2,0]/[10,1]");
}

TEST(SliceTest, EmptyTensors) {
  EXPECT_EQ(view({0, 10}, "x[:, 2:4]"), "0 [0,2]/[0,0]");
  EXPECT_EQ(view({0, 10}, "x[..., 3]"), "0 [0]/[0]");
  EXPECT_EQ(view({1LL << 40, 1LL << 40, 0}, "x[5, 1099511627775]"), "0 [0]/[0]");
  EXPECT_EQ(view({0, 10}, "x[0]"), "index 0 is out of range for axis 0 of shape [0, 10]");
}

TEST(SliceTest, Scalars) {
  EXPECT_EQ(view({}, "x"), "0 []/[]");
  EXPECT_EQ(view({}, "x[...]"), "0 []/[]");
  EXPECT_EQ(view({}, "x[0]"), "1 subscripts are too many for shape []");
}

TEST(SliceTest, TrailingCommaAsInPython) { EXPECT_EQ(view({4, 5}, "x[1,]"), "5 [5]/[1]"); }

TEST(SliceTest, Errors) {
  EXPECT_EQ(view({3, 4}, "x[3]"), "index 3 is out of range for axis 0 of shape [3, 4]");
  EXPECT_EQ(view({3, 4}, "x[..., -5]"), "index -5 is out of range for axis 1 of shape [3, 4]");
  EXPECT_EQ(view({3, 4}, "x[0, 0, 0]"), "3 subscripts are too many for shape [3, 4]");
  EXPECT_EQ(view({3, 4}, "x[::-1]"), "'x[::-1]': the range '::-1' has a negative step: a view "
                                     "cannot run backwards, a step is 1 or more");
  EXPECT_EQ(view({3, 4}, "x[0:2:0]"),
            "'x[0:2:0]': the range '0:2:0' has the step 0, a step is 1 or more");
  EXPECT_EQ(view({3, 4}, "x[1:2:3:4]"),
            "'x[1:2:3:4]': the range '1:2:3:4' has more than three parts");
  EXPECT_EQ(view({3, 4}, "x[a]"), "'x[a]': found 'a', expected an integer, a range 'from:to:step' "
                                  "or '...'");
  EXPECT_EQ(view({3, 4}, "x[1.5]"), "'x[1.5]': found '1.5', expected an integer, a range "
                                    "'from:to:step' or '...'");
  EXPECT_EQ(view({3, 4}, "x[0, , 1]"), "'x[0, , 1]': found '', expected an integer, a range "
                                       "'from:to:step' or '...'");
  EXPECT_EQ(view({3, 4}, "x[0:b]"), "'x[0:b]': found 'b' in the range '0:b', expected an integer");
  EXPECT_EQ(view({3, 4}, "x[9223372036854775808:]"),
            "'x[9223372036854775808:]': found '9223372036854775808' in the range "
            "'9223372036854775808:', expected an integer");
  EXPECT_EQ(view({3, 4}, "x[..., ...]"), "'x[..., ...]': '...' stands twice, once is enough");
  EXPECT_EQ(view({3, 4}, "x[]"), "'x[]': there is nothing between the brackets");
  EXPECT_EQ(view({3, 4}, "x[0"), "'x[0': the bracket is not closed at the end");
  EXPECT_EQ(view({3, 4}, "x[0]y"), "'x[0]y': the bracket is not closed at the end");
  EXPECT_EQ(view({3, 4}, "[0]"), "'[0]' names no tensor");
  EXPECT_EQ(view({3, 4}, ""), "'' names no tensor");
}

TensorData iota(std::string name, std::vector<int64_t> shape) {
  TensorData tensor;
  tensor.name = std::move(name);
  tensor.type = StorageType::I32;
  tensor.shape = std::move(shape);
  const auto count = static_cast<size_t>(*elementCount(tensor.shape));
  tensor.data = std::move(*AlignedBuffer::allocate(4 * count));
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<int32_t>(i);
    std::memcpy(tensor.data.data() + 4 * i, &value, 4);
  }
  return tensor;
}

TEST(SliceTest, SelectGivesAViewForThePlan) {
  TensorFile file;
  file.tensors.push_back(iota("qkv", {2, 3, 8}));
  auto selected = select(file, " qkv[1, :, 2:8:3] ");
  ASSERT_TRUE(selected) << selected.error().message;
  const h3::plan::Tensor tensor = selected->forPlan();
  const auto base = reinterpret_cast<uintptr_t>(file.tensors[0].data.data());
  EXPECT_EQ(tensor.address, base + 4 * 26);
  EXPECT_EQ(tensor.dtype, h3::plan::DType::I32);
  EXPECT_EQ(tensor.rank, 2);
  EXPECT_EQ(tensor.extents[0], 3);
  EXPECT_EQ(tensor.extents[1], 2);
  EXPECT_EQ(tensor.strides[0], 8);
  EXPECT_EQ(tensor.strides[1], 3);
  EXPECT_EQ(selected->forPlan(1 << 20).address, (1u << 20) + 4 * 26);
  EXPECT_EQ(select(file, "k").error().message, "there is no tensor 'k' in the file");
  EXPECT_EQ(select(file, "qkv[7]").error().message,
            "'qkv[7]': index 7 is out of range for axis 0 of shape [2, 3, 8]");
}

TEST(SliceTest, MoreAxesThanAPlanTakes) {
  TensorFile file;
  file.tensors.push_back(iota("deep", std::vector<int64_t>(17, 1)));
  EXPECT_EQ(select(file, "deep").error().message,
            "'deep': it has 17 axes, the most that can be passed is 16");
  EXPECT_TRUE(select(file, "deep[0]"));
}

/// Slices of a counted tensor against a walk over all its indices.
TEST(SliceTest, PackedElementsAreTheOnesSelected) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const unsigned rank = random() % 4;
    std::vector<int64_t> shape;
    for (unsigned axis = 0; axis < rank; ++axis)
      shape.push_back(random() % 5);
    const TensorData tensor = iota("t", shape);
    std::vector<Subscript> subscripts;
    std::vector<std::vector<int64_t>> taken; // the indices taken of each axis
    for (unsigned axis = 0; axis < rank; ++axis) {
      const int64_t n = shape[axis];
      Subscript s;
      std::vector<int64_t> indices;
      if (n > 0 && random() % 3 == 0) {
        const auto index = static_cast<int64_t>(random() % n);
        s.index = random() % 2 ? index : index - n;
        indices = {index};
      } else {
        s.kind = Subscript::Kind::Range;
        if (random() % 2)
          s.from = static_cast<int64_t>(random() % 13) - 6;
        if (random() % 2)
          s.to = static_cast<int64_t>(random() % 13) - 6;
        s.step = 1 + random() % 3;
        // Python's definition: clamp, then walk.
        auto end = [&](std::optional<int64_t> e, int64_t otherwise) {
          if (!e)
            return otherwise;
          int64_t v = *e < 0 ? *e + n : *e;
          return v < 0 ? 0 : v > n ? n : v;
        };
        for (int64_t i = end(s.from, 0); i < end(s.to, n); i += s.step)
          indices.push_back(i);
      }
      subscripts.push_back(s);
      taken.push_back(indices);
    }
    auto result = slice(shape, subscripts);
    ASSERT_TRUE(result) << result.error().message;
    std::vector<int32_t> expected = {0};
    for (unsigned axis = 0; axis < rank; ++axis) {
      std::vector<int32_t> next;
      for (int32_t base : expected)
        for (int64_t index : taken[axis])
          next.push_back(static_cast<int32_t>(base * shape[axis] + index));
      expected = next;
    }
    TensorView selected{&tensor, *result};
    const auto packed = selected.packed();
    ASSERT_EQ(packed.size(), 4 * expected.size()) << round;
    if (packed.empty())
      continue;
    ASSERT_EQ(std::memcmp(packed.data(), expected.data(), packed.size()), 0) << round;
  }
}

} // namespace
