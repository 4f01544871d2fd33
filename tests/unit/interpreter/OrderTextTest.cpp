//===-- tests/unit/interpreter/OrderTextTest.cpp --------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/interpreter/OrderText.h"

#include <gtest/gtest.h>

using namespace h3;

namespace {

using Join = Order::Join;

TEST(OrderText, IdleSlotsAndTheExpression) {
  Order order{"o", {{"lane", 4}, {"", 2}}, {{Join::Halving, 0}}};
  EXPECT_EQ(treeText(order, 6),
            "(lane: 4, _: 2) then halving lane\n"
            "6 elements, digits lane = 4, _ = 2, 4 slots\n"
            "\n"
            "slots, each with the elements that it walks, in order\n"
            "  lane 0: 0 .. 1\n"
            "  lane 1 .. lane 2: likewise, 2 further for each slot\n"
            "  lane 3: none (idle)\n"
            "\n"
            "stage 1, halving lane\n"
            "  s[p] = J(s[p], s[p + 2]), p = 0 .. 1\n"
            "  s[0] = J(s[0], s[1])\n"
            "\n"
            "value, [..] a chain inside a slot, + the join; idle slots absent, as with 'of'\n"
            "  (([0 1] + [4 5]) + [2 3])\n"
            "with 'from' each idle slot holds the seed and takes part\n");
}

TEST(OrderText, RaggedChainsAndStagesInTheOrderWritten) {
  Order order{"o",
              {{"", std::nullopt}, {"warp", 4}, {"lane", 32}, {"", 4}},
              {{Join::Halving, 2}, {Join::Adjacent, 1}}};
  EXPECT_EQ(treeText(order, 2051),
            "(_, warp: 4, lane: 32, _: 4) then halving lane then adjacent warp\n"
            "2051 elements, digits _ = 5, warp = 4, lane = 32, _ = 4, 128 slots\n"
            "\n"
            "slots, each with the elements that it walks, in order\n"
            "  warp 0, lane 0: 0 .. 3, 512 .. 515, 1024 .. 1027, 1536 .. 1539, 2048 .. 2050\n"
            "  warp 0, lane 1: 4 .. 7, 516 .. 519, 1028 .. 1031, 1540 .. 1543\n"
            "  warp 0, lane 2 .. warp 3, lane 31: likewise, 4 further for each slot\n"
            "\n"
            "stage 1, halving lane, for warp 0 .. warp 3\n"
            "  s[p] = J(s[p], s[p + 16]), p = 0 .. 15\n"
            "  s[p] = J(s[p], s[p + 8]), p = 0 .. 7\n"
            "  s[p] = J(s[p], s[p + 4]), p = 0 .. 3\n"
            "  s[p] = J(s[p], s[p + 2]), p = 0 .. 1\n"
            "  s[0] = J(s[0], s[1])\n"
            "\n"
            "stage 2, adjacent warp\n"
            "  s[p] = J(s[2p], s[2p + 1]), p = 0 .. 1\n"
            "  s[0] = J(s[0], s[1])\n");
}

TEST(OrderText, SerialStageAndLongChains) {
  Order order{"o", {{"", std::nullopt}, {"acc", 3}}, {{Join::Serial, 1}}};
  EXPECT_EQ(treeText(order, 65), "(_, acc: 3) then serial acc\n"
                                 "65 elements, digits _ = 22, acc = 3, 3 slots\n"
                                 "\n"
                                 "slots, each with the elements that it walks, in order\n"
                                 "  acc 0: 0, 3, 6, 9, ..., 63 (22 elements)\n"
                                 "  acc 1: likewise, 1 further for each slot\n"
                                 "  acc 2: 2, 5, 8, 11, ..., 62 (21 elements)\n"
                                 "\n"
                                 "stage 1, serial acc\n"
                                 "  s[0] = J(s[0], s[p + 1]), p = 0 .. 1\n");
}

TEST(OrderText, ChainWithoutSlotsOrElements) {
  Order chain{"o", {{"", std::nullopt}}, {}};
  EXPECT_EQ(treeText(chain, 1), "(_)\n"
                                "1 element, digits _ = 1, 1 slot\n"
                                "\n"
                                "slots, each with the elements that it walks, in order\n"
                                "  the one slot: 0\n"
                                "\n"
                                "value, [..] a chain inside a slot, + the join\n"
                                "  [0]\n");
  EXPECT_EQ(treeText(chain, 0), "(_)\n"
                                "0 elements, digits _ = 1, 1 slot\n"
                                "\n"
                                "slots, each with the elements that it walks, in order\n"
                                "  the one slot: none (idle)\n");
}

TEST(OrderText, TooManyElements) {
  Order order{"o", {{"lane", 4}, {"", 2}}, {{Join::Halving, 0}}};
  EXPECT_EQ(treeText(order, 9), "order 'o' holds at most 8 elements, found 9\n");
}

} // namespace
