//===-- tests/unit/runtime/plan/ListTest.cpp - Calls with a list *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/List.h"
#include "tests/unit/runtime/plan/Plans.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace h3::plan;
using namespace h3::plan::test;

namespace {

/// `size` bytes of the table at `offset`, as a number.
uint64_t at(const Launch &launch, size_t offset, size_t size) {
  uint64_t value = 0;
  std::memcpy(&value, launch.members.data() + offset, size);
  return value;
}

/// A list of scales: member k has k-th extents, at addresses of its own.
struct List {
  OperatorPlan plan = scales();
  std::vector<Tensor> tensors;
  ListCall call;

  void add(int64_t n, uint64_t misaligned = 0) {
    const uint64_t apart = tensors.size() * 0x1000000;
    tensors.push_back(Tensor::contiguous(kA + apart + misaligned, DType::F32, {n}));
    tensors.push_back(Tensor::contiguous(kB + apart + misaligned, DType::F32, {n}));
  }
  std::string text() {
    auto decline = call.evaluate(plan, tensors, {});
    return decline ? describe(plan, *decline) : "served";
  }
  std::span<const Launch> launches() {
    EXPECT_EQ(text(), "served");
    return call.launches();
  }
};

TEST(ListTest, AnEmptyListAndEmptyMembersLaunchNothing) {
  List list;
  EXPECT_TRUE(list.launches().empty());
  list.add(0);
  list.add(0);
  EXPECT_TRUE(list.launches().empty());
}

TEST(ListTest, TheTableHoldsWhatMembersHave) {
  List list;
  list.add(1000); // 4 blocks of 256
  list.add(0);
  list.add(256); // 1 block
  list.add(257); // 2 blocks
  ASSERT_EQ(list.launches().size(), 1u);
  const Launch &launch = list.launches().front();
  const MemberTable table = memberTable(list.plan.variants[0]);
  EXPECT_EQ(table.recordBytes, 24u); // two addresses, an i32, padding
  EXPECT_EQ(table.records, 8u * ((4 * list.plan.variants[0].memberCapacity + 7) / 8));
  EXPECT_EQ(launch.variant, 0u);
  EXPECT_EQ(launch.grid, (std::array<uint32_t, 3>{7, 1, 1}));
  EXPECT_EQ(launch.block, (std::array<uint32_t, 3>{256, 1, 1}));
  ASSERT_EQ(launch.members.size(), table.bytes);
  const size_t members[] = {0, 2, 3};
  const uint64_t firsts[] = {0, 4, 5}, extents[] = {1000, 256, 257};
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(at(launch, 4 * k, 4), firsts[k]);
    const size_t record = table.records + k * table.recordBytes;
    EXPECT_EQ(at(launch, record, 8), list.tensors[2 * members[k]].address);
    EXPECT_EQ(at(launch, record + 8, 8), list.tensors[2 * members[k] + 1].address);
    EXPECT_EQ(at(launch, record + 16, 4), extents[k]);
  }
  for (size_t k = 3; k < list.plan.variants[0].memberCapacity; ++k)
    EXPECT_EQ(at(launch, 4 * k, 4), uint64_t(INT32_MAX));
  // The parameter is passed once.
  ASSERT_EQ(launch.argumentCount, 1u);
  EXPECT_EQ(launch.args()[0].bits, 0x3f800000u);
  EXPECT_EQ(launch.args()[0].bytes, 4);
}

TEST(ListTest, LongListsTakeSeveralLaunches) {
  List list;
  const uint32_t most = list.plan.variants[0].memberCapacity;
  for (uint32_t k = 0; k < 2 * most + 3; ++k)
    list.add(1 + k);
  ASSERT_EQ(list.launches().size(), 3u);
  EXPECT_EQ(at(list.launches()[1], 0, 4), 0u) << "block numbers begin anew";
  EXPECT_EQ(at(list.launches()[2], 8, 4), 2u * ((2 * most + 1 + 255) / 256));
  EXPECT_EQ(at(list.launches()[2], 12, 4), uint64_t(INT32_MAX));
}

TEST(ListTest, BlocksThatNoGridHoldsTakeSeveralLaunches) {
  List list;
  for (int k = 0; k < 3; ++k) {
    list.tensors.push_back(Tensor::strided(kA, DType::F32, {256 * (int64_t(1) << 30)}, {0}));
    list.tensors.push_back(
        Tensor::contiguous(uint64_t(k + 1) << 44, DType::F32, {256 * (int64_t(1) << 30)}));
  }
  list.plan.variants.erase(list.plan.variants.begin()); // that for small sizes
  ASSERT_EQ(list.launches().size(), 3u);
  for (const Launch &launch : list.launches())
    EXPECT_EQ(launch.grid[0], uint32_t(1) << 30);
}

TEST(ListTest, EachVariantHasItsLaunch) {
  List list;
  list.add(8);
  list.add(8, 4);
  list.add(16);
  list.add(16, 4);
  ASSERT_EQ(list.launches().size(), 2u);
  EXPECT_EQ(list.launches()[0].variant, 0u);
  EXPECT_EQ(list.launches()[1].variant, 1u);
  const MemberTable table = memberTable(list.plan.variants[1]);
  EXPECT_EQ(at(list.launches()[1], table.records, 8), list.tensors[2].address);
  EXPECT_EQ(at(list.launches()[1], table.records + table.recordBytes, 8), list.tensors[6].address);
}

TEST(ListTest, OneMemberDeclinesTheCall) {
  List list;
  list.add(8);
  list.add(8);
  list.tensors[3].extents[0] = 9;
  EXPECT_EQ(list.text(), "declined: shape: member 1: y has extent 9 in axis 0, the contract says "
                         "n = 8");
  EXPECT_TRUE(list.call.launches().empty());
  list.tensors.pop_back();
  EXPECT_EQ(list.text(), "declined: arguments: member 1: scales takes 2 tensors, found 1");
  list.tensors.pop_back();
  EXPECT_EQ(list.text(), "served");
  list.plan.variants.clear();
  EXPECT_EQ(list.text(), "declined: no_variant: member 0: no variant of scales admits this call");
  EXPECT_TRUE(list.call.launches().empty());
}

TEST(ListTest, MembersAreApart) {
  List list;
  for (int k = 0; k < 4; ++k)
    list.add(64);
  list.tensors[7].address = list.tensors[3].address + 252; // the last element of y of member 1
  EXPECT_EQ(list.text(),
            "declined: alias: y of member 1 overlaps y of member 3, the contract keeps "
            "members apart");
  list.tensors[7].address += 4;
  EXPECT_EQ(list.text(), "served");
  list.tensors[4].address = list.tensors[7].address - 16; // x of 2 on y of 1 and of 3
  EXPECT_NE(list.text().find("declined: alias: y of member "), std::string::npos) << list.text();
  list.tensors[4] = list.tensors[0]; // inputs may be one
  EXPECT_EQ(list.text(), "served");
  list.tensors[4].extents[0] = list.tensors[5].extents[0] = 0; // nothing shares with no element
  list.tensors[4].address = list.tensors[7].address;
  EXPECT_EQ(list.text(), "served");
}

/// Columns of one buffer: apart, though their intervals overlap.
TEST(ListTest, InterleavedOutputsAreApart) {
  List list;
  for (uint64_t k = 0; k < 8; ++k) {
    list.tensors.push_back(Tensor::contiguous(kA, DType::F32, {100}));
    list.tensors.push_back(Tensor::strided(kB + 4 * k, DType::F32, {100}, {8}));
  }
  EXPECT_EQ(list.text(), "served");
  list.tensors[15].strides[0] = 7;
  EXPECT_NE(list.text().find("overlaps y of member 7"), std::string::npos) << list.text();
}

TEST(ListTest, CapacityIsWhatTheParametersHold) {
  OperatorPlan plan = scales();
  Variant &variant = plan.variants[0];
  EXPECT_EQ(memberCapacity(plan, variant), kMaxMembers);
  variant.memberArguments.assign(8, {ArgumentSpec::Kind::Address, 0});
  EXPECT_EQ(memberCapacity(plan, variant), 60u); // 240 + 60 * 64 bytes, and 4 of the parameter
  variant.memberCapacity = 60;
  EXPECT_EQ(memberTable(variant).bytes, 4080u);
  EXPECT_EQ(verify(plan), "");
  ++variant.memberCapacity;
  EXPECT_NE(verify(plan), "");
  variant.memberArguments.resize(kMaxArguments);
  EXPECT_EQ(memberCapacity(plan, variant), 0u);
}

} // namespace
