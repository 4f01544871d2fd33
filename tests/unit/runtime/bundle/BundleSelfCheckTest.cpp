//===-- tests/unit/runtime/bundle/BundleSelfCheckTest.cpp - Inputs of self-checks -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/bundle/SelfCheck.h"
#include "tests/unit/runtime/plan/Plans.h"

#include <gtest/gtest.h>

#include <set>

using namespace h3;
using namespace h3::bundle;
using plan::DType;

namespace {

plan::OperatorPlan planOf(DType type) {
  plan::OperatorPlan p;
  p.name = "op";
  p.tensors.resize(2);
  p.tensors[0].dtype = p.tensors[1].dtype = type;
  p.tensors[1].isOutput = true;
  return p;
}

SelfCheck checkOf(Values values, uint64_t elements, int64_t below = 0) {
  SelfCheck check;
  check.seed = 77;
  check.tensors.resize(2);
  for (CheckTensor &tensor : check.tensors) {
    tensor.elements = elements;
    tensor.values = values;
    tensor.below = below;
  }
  return check;
}

std::vector<std::byte> bytesOf(DType type, const SelfCheck &check, size_t index = 0) {
  const plan::OperatorPlan p = planOf(type);
  const CheckLayout layout = layoutOf(p, check);
  std::vector<std::byte> memory(layout.bytes);
  fill(p, check, layout, memory);
  const auto begin = memory.begin() + static_cast<ptrdiff_t>(layout.offsets[index]);
  return {begin, begin + static_cast<ptrdiff_t>(bufferBytes(p, check, index))};
}

std::vector<uint64_t> valuesOf(DType type, const SelfCheck &check) {
  const std::vector<std::byte> buffer = bytesOf(type, check);
  std::vector<uint64_t> result;
  const unsigned bytes = plan::bytes(type);
  for (size_t at = 0; at < buffer.size(); at += bytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i)
      value |= uint64_t(buffer[at + i]) << (8 * i);
    result.push_back(value);
  }
  return result;
}

struct FloatType {
  DType type;
  unsigned width, fraction;
};
constexpr FloatType kFloats[] = {{DType::F16, 16, 10}, {DType::BF16, 16, 7}, {DType::F32, 32, 23},
                                 {DType::F64, 64, 52}, {DType::E4M3, 8, 3},  {DType::E5M2, 8, 2}};

/// What bundles of other builds hold digests of: these bytes never change.
TEST(BundleSelfCheck, TheBytesAreFixed) {
  std::string hashes;
  for (const FloatType &f : kFloats)
    for (Values values : {Values::Finite, Values::Mixed, Values::AnyBits})
      hashes += toHex(sha256(bytesOf(f.type, checkOf(values, 5000)))) + "\n";
  for (DType type : {DType::I32, DType::I64})
    hashes += toHex(sha256(bytesOf(type, checkOf(Values::Index, 5000, 12)))) + "\n";
  EXPECT_EQ(toHex(sha256(std::as_bytes(std::span(hashes)))),
            "6381c6a00c09a4223edca617cfd1ea7d073ce7b3bc3413f24b2087cc5fb0a514")
      << hashes;
}

TEST(BundleSelfCheck, FiniteMeansFiniteAndHasZerosAndSubnormals) {
  for (const FloatType &f : kFloats) {
    size_t zeros[2] = {}, subnormals[2] = {}, normals[2] = {};
    const uint64_t exponents = (uint64_t(1) << (f.width - 1 - f.fraction)) - 1;
    for (uint64_t bits : valuesOf(f.type, checkOf(Values::Finite, 20000))) {
      const unsigned sign = bits >> (f.width - 1) & 1;
      const uint64_t exponent = bits >> f.fraction & exponents;
      const uint64_t fraction = bits & ((uint64_t(1) << f.fraction) - 1);
      ASSERT_NE(exponent, exponents);
      ++(exponent ? normals : fraction ? subnormals : zeros)[sign];
    }
    for (unsigned sign : {0, 1}) {
      EXPECT_GT(zeros[sign], 100u) << plan::name(f.type);
      EXPECT_GT(subnormals[sign], 100u) << plan::name(f.type);
      EXPECT_GT(normals[sign], 8000u) << plan::name(f.type);
    }
  }
}

TEST(BundleSelfCheck, MixedHasEveryKindOfNumber) {
  for (const FloatType &f : kFloats) {
    size_t infinities[2] = {}, nans[2] = {}, huge = 0;
    const uint64_t exponents = (uint64_t(1) << (f.width - 1 - f.fraction)) - 1;
    const uint64_t fractions = (uint64_t(1) << f.fraction) - 1;
    const bool hasInfinity = f.type != DType::E4M3;
    std::set<uint64_t> payloads;
    for (uint64_t bits : valuesOf(f.type, checkOf(Values::Mixed, 200000))) {
      const unsigned sign = bits >> (f.width - 1) & 1;
      const uint64_t exponent = bits >> f.fraction & exponents, fraction = bits & fractions;
      if (exponent == exponents && (hasInfinity ? fraction != 0 : fraction == fractions)) {
        ++nans[sign];
        payloads.insert(fraction);
      } else if (exponent == exponents && hasInfinity) {
        ++infinities[sign];
      } else if (exponent + 1 == exponents) {
        ++huge;
      }
    }
    for (unsigned sign : {0, 1}) {
      EXPECT_GT(nans[sign], 40u) << plan::name(f.type);
      EXPECT_EQ(infinities[sign] > 40, hasInfinity) << plan::name(f.type);
    }
    EXPECT_GT(huge, 100u);
    EXPECT_GE(payloads.size(), f.fraction > 3 ? 8u : 1u) << plan::name(f.type);
  }
}

TEST(BundleSelfCheck, AnyBitsOfSixteenBitsAreAllOfThem) {
  for (DType type : {DType::F16, DType::BF16}) {
    std::set<uint64_t> seen;
    for (uint64_t bits : valuesOf(type, checkOf(Values::AnyBits, 65536)))
      seen.insert(bits);
    EXPECT_EQ(seen.size(), 65536u);
  }
}

TEST(BundleSelfCheck, IndicesReachBothEndsAndOneBeyond) {
  for (DType type : {DType::I32, DType::I64}) {
    std::set<int64_t> seen;
    for (uint64_t bits : valuesOf(type, checkOf(Values::Index, 1000, 3)))
      seen.insert(type == DType::I32 ? int32_t(bits) : int64_t(bits));
    EXPECT_EQ(seen, (std::set<int64_t>{-1, 0, 1, 2, 3}));
  }
}

TEST(BundleSelfCheck, OutputsArePoisonedAndDigestedWhole) {
  const plan::OperatorPlan p = planOf(DType::F16);
  const SelfCheck check = checkOf(Values::Finite, 9);
  const CheckLayout layout = layoutOf(p, check);
  std::vector<std::byte> memory(layout.bytes);
  fill(p, check, layout, memory);
  const std::span<std::byte> out =
      std::span(memory).subspan(layout.offsets[1], bufferBytes(p, check, 1));
  for (size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i], std::byte(i % 2 ? 0x7E : 0x5A));
  const auto digest = [&] { return digestOfOutputs(p, check, layout, memory); };
  const Digest before = digest();
  memory[0] ^= std::byte{1};
  EXPECT_EQ(digest(), before);
  for (std::byte &byte : out) {
    byte ^= std::byte{1};
    EXPECT_NE(digest(), before);
    byte ^= std::byte{1};
  }
}

TEST(BundleSelfCheck, APlanOfOneVariantReachesIt) {
  const plan::OperatorPlan p = plan::test::swiglu();
  const auto alone = planOfVariant(p, 1);
  EXPECT_EQ(plan::verify(alone), "");
  const auto launch =
      plan::evaluate(alone,
                     std::vector{plan::Tensor::contiguous(plan::test::kA, DType::F16, {4, 32}),
                                 plan::Tensor::contiguous(plan::test::kB, DType::F16, {4, 16})},
                     {});
  ASSERT_TRUE(std::holds_alternative<plan::Launch>(launch));
  EXPECT_EQ(alone.variants[std::get<plan::Launch>(launch).variant].name, "v2_i64");
}

} // namespace
