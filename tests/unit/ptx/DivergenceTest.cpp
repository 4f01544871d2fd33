//===-- tests/unit/ptx/DivergenceTest.cpp - Lanes that part and meet ------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/ptx/Launcher.h"

#include <bit>

namespace h3::ptxtest {
namespace {

const char *storeR0 = "\nmul.wide.u32 %d9, %tid_x, 4;\nadd.u64 %d9, %d9, %out;\n"
                      "st.global.b32 [%d9], %r0;";

/// Runs a body on a warp under many seeds and compares each lane's %r0.
template <class Expected>
void expectLanes(const std::string &body, Expected expected, unsigned threads = 32,
                 const std::string &before = {}) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Launcher launcher(threads);
    launcher.options.seed = seed;
    ASSERT_EQ(launcher.message(body + storeR0, before), "");
    for (unsigned lane = 0; lane < threads; ++lane)
      EXPECT_EQ(launcher.out[lane], static_cast<uint32_t>(expected(lane)))
          << "lane " << lane << ", seed " << seed;
  }
}

TEST(PtxDivergence, LoopsOfDifferentLengthMeetAtASync) {
  expectLanes("mov.u32 %r1, 0;\nLOOP:\nsetp.ge.u32 %p0, %r1, %tid_x;\n@%p0 bra DONE;\n"
              "add.u32 %r1, %r1, 1;\nbra LOOP;\nDONE:\nbar.warp.sync -1;\n"
              "shfl.sync.idx.b32 %r0, %r1, 31, 31, -1;",
              [](unsigned) { return 31; });
}

TEST(PtxDivergence, BranchesWithMasksOfTheirOwn) {
  expectLanes("setp.lt.u32 %p0, %tid_x, 16;\n@%p0 bra LOW;\n"
              "shfl.sync.bfly.b32 %r0, %tid_x, 1, 31, 0xFFFF0000;\nbra JOIN;\nLOW:\n"
              "shfl.sync.bfly.b32 %r0, %tid_x, 2, 31, 0x0000FFFF;\nJOIN:\nbar.warp.sync -1;",
              [](unsigned lane) { return lane < 16 ? lane ^ 2 : lane ^ 1; });
}

TEST(PtxDivergence, LanesThatEndAreNotWaitedFor) {
  Launcher launcher(32);
  ASSERT_EQ(launcher.message(std::string("setp.ge.u32 %p0, %tid_x, 8;\n@%p0 exit;\n"
                                         "vote.sync.ballot.b32 %r0, 1, -1;") +
                             storeR0),
            "");
  EXPECT_EQ(launcher.out[7], 0xFFu);
  EXPECT_EQ(launcher.out[8], 0u);
}

TEST(PtxShuffle, Modes) {
  expectLanes("shfl.sync.up.b32 %r0, %tid_x, 3, 0, -1;",
              [](unsigned lane) { return lane < 3 ? lane : lane - 3; });
  expectLanes("shfl.sync.down.b32 %r0, %tid_x, 3, 31, -1;",
              [](unsigned lane) { return lane + 3 > 31 ? lane : lane + 3; });
  expectLanes("shfl.sync.bfly.b32 %r0, %tid_x, 5, 31, -1;", [](unsigned lane) { return lane ^ 5; });
  // Segments of eight lanes: the mask in bits 8 to 12 of c is 24.
  expectLanes("shfl.sync.idx.b32 %r0, %tid_x, 2, 0x181F, -1;",
              [](unsigned lane) { return (lane & 24) | 2; });
  expectLanes("shfl.sync.down.b32 %r0, %tid_x, 3, 0x181F, -1;",
              [](unsigned lane) { return (lane & 7) + 3 > 7 ? lane : lane + 3; });
}

TEST(PtxShuffle, ThePredicateSaysWhetherTheLaneIsInRange) {
  expectLanes("shfl.sync.down.b32 %r1|%p0, %tid_x, 30, 31, -1;\nselp.b32 %r0, 1, 0, %p0;",
              [](unsigned lane) { return lane < 2; });
  expectLanes("shfl.sync.up.b32 _|%p0, %tid_x, 30, 0, -1;\nselp.b32 %r0, 1, 0, %p0;",
              [](unsigned lane) { return lane >= 30; });
}

TEST(PtxShuffle, BitsOfANaNStay) {
  expectLanes("shfl.sync.bfly.b32 %r0, 0x7F800123, 1, 31, -1;",
              [](unsigned) { return 0x7F800123; });
}

TEST(PtxVote, AllForms) {
  expectLanes("setp.lt.u32 %p0, %tid_x, 4;\nvote.sync.ballot.b32 %r0, !%p0, -1;",
              [](unsigned) { return 0xFFFFFFF0; });
  for (auto [form, low] : {std::pair("any", 1), std::pair("all", 0), std::pair("uni", 0)})
    expectLanes("setp.lt.u32 %p0, %tid_x, 4;\nvote.sync." + std::string(form) +
                    ".pred %p1, %p0, -1;\nselp.b32 %r0, 1, 0, %p1;",
                [low = low](unsigned) { return low; });
}

TEST(PtxVote, MatchReduxElectActivemask) {
  expectLanes("and.b32 %r1, %tid_x, 3;\nmatch.any.sync.b32 %r0, %r1, -1;",
              [](unsigned lane) { return 0x11111111u << (lane & 3); });
  expectLanes("match.all.sync.b32 %r0|%p0, 5, -1;", [](unsigned) { return 0xFFFFFFFF; });
  expectLanes("redux.sync.add.s32 %r0, %tid_x, -1;", [](unsigned) { return 496; });
  expectLanes("sub.s32 %r1, %tid_x, 5;\nredux.sync.min.s32 %r0, %r1, -1;",
              [](unsigned) { return -5; });
  expectLanes("elect.sync _|%p0, -1;\nselp.b32 %r0, 1, 0, %p0;",
              [](unsigned lane) { return lane == 0; });
  expectLanes("mov.u32 %r0, 0;\nsetp.lt.u32 %p0, %tid_x, 5;\n@!%p0 bra JOIN;\n"
              "activemask.b32 %r0;\nJOIN:\nbar.warp.sync -1;",
              [](unsigned lane) { return lane < 5 ? 0x1F : 0; });
}

/// The sum of 64 numbers: a butterfly in each warp, then the warps through shared memory.
std::string blockSum(const char *barrier) {
  return std::string("mov.u32 %r1, %tid_x;\n") +
         "shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;\nadd.u32 %r1, %r1, %r2;\n"
         "shfl.sync.bfly.b32 %r2, %r1, 8, 31, -1;\nadd.u32 %r1, %r1, %r2;\n"
         "shfl.sync.bfly.b32 %r2, %r1, 4, 31, -1;\nadd.u32 %r1, %r1, %r2;\n"
         "shfl.sync.bfly.b32 %r2, %r1, 2, 31, -1;\nadd.u32 %r1, %r1, %r2;\n"
         "shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\nadd.u32 %r1, %r1, %r2;\n"
         "and.b32 %r3, %tid_x, 31;\nsetp.ne.u32 %p0, %r3, 0;\nshr.u32 %r4, %tid_x, 5;\n"
         "shl.b32 %r4, %r4, 2;\nmov.u32 %r5, s;\nadd.u32 %r4, %r4, %r5;\n"
         "@!%p0 st.shared.u32 [%r4], %r1;\n" +
         barrier + "\nld.shared.v2.u32 {%r6, %r7}, [s];\nadd.u32 %r0, %r6, %r7;";
}

TEST(PtxBarrier, SumOverWarps) {
  const char *before = ".shared .align 16 .b8 s[8];\n";
  expectLanes(blockSum("bar.sync 0;"), [](unsigned) { return 2016; }, 64, before);
  expectLanes(blockSum("barrier.sync 3, 64;"), [](unsigned) { return 2016; }, 64, before);
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Launcher launcher(64);
    launcher.options.seed = seed;
    auto fault = launcher.runBody(blockSum("bar.warp.sync -1;") + storeR0, before);
    ASSERT_TRUE(fault);
    EXPECT_TRUE(fault->kind == ptx::FaultKind::Race || fault->kind == ptx::FaultKind::Uninitialised)
        << fault->message();
  }
}

TEST(PtxBarrier, ReductionsOfPredicates) {
  expectLanes(
      "setp.lt.u32 %p0, %tid_x, 10;\nbar.red.popc.u32 %r0, 0, %p0;", [](unsigned) { return 10; },
      64);
  expectLanes(
      "setp.lt.u32 %p0, %tid_x, 10;\nbar.red.and.pred %p1, 0, 64, !%p0;\n"
      "selp.b32 %r0, 1, 0, %p1;",
      [](unsigned) { return 0; }, 64);
  expectLanes(
      "setp.lt.u32 %p0, %tid_x, 10;\nbar.red.or.pred %p1, 0, %p0;\nselp.b32 %r0, 1, 0, %p1;",
      [](unsigned) { return 1; }, 64);
}

/// bar.arrive publishes what came before it and nothing after.
TEST(PtxBarrier, ProducerAndConsumer) {
  std::string before = ".shared .align 16 .b8 s[8];\n";
  auto body = [](const char *late) {
    return std::string(
               "setp.eq.u32 %p0, %tid_x, 0;\nsetp.lt.u32 %p1, %tid_x, 32;\n@%p1 bra FIRST;\n"
               "bar.sync 1, 64;\nld.shared.u32 %r0, [s];\nbra END;\nFIRST:\n"
               "@%p0 st.shared.u32 [s], 7;\nbar.arrive 1, 64;\nmov.u32 %r0, 1;\n") +
           late + "\nEND:\n";
  };
  expectLanes(body(""), [](unsigned lane) { return lane < 32 ? 1 : 7; }, 64, before);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Launcher launcher(64);
    launcher.options.seed = seed;
    auto fault = launcher.runBody(body("@%p0 st.shared.u32 [s], 8;"), before);
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->kind, ptx::FaultKind::Race) << fault->message();
  }
}

TEST(PtxSchedule, TheSeedDecidesAndNothingElse) {
  // Which lane comes last at an atomic exchange depends on the order.
  auto order = [](uint64_t seed) {
    Launcher launcher(32);
    launcher.options.seed = seed;
    EXPECT_EQ(launcher.message(std::string("atom.global.add.u32 %r0, [%out+128], 1;") + storeR0),
              "");
    EXPECT_EQ(launcher.out[32], 32u);
    return launcher.out;
  };
  EXPECT_EQ(order(1), order(1));
  bool differs = false;
  for (uint64_t seed = 2; seed < 6; ++seed)
    differs |= order(seed) != order(1);
  EXPECT_TRUE(differs);
}

TEST(PtxSchedule, EveryBlockOfAGridRunsOnce) {
  Launcher launcher(1);
  launcher.launch.grid = {5, 3, 2};
  ASSERT_EQ(launcher.message("mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ctaid.y;\n"
                             "mov.u32 %r2, %ctaid.z;\nmad.lo.u32 %r3, %r2, 3, %r1;\n"
                             "mad.lo.u32 %r3, %r3, 5, %r0;\nmul.wide.u32 %d0, %r3, 4;\n"
                             "add.u64 %d0, %d0, %out;\nadd.u32 %r3, %r3, 100;\n"
                             "st.global.u32 [%d0], %r3;"),
            "");
  EXPECT_EQ(launcher.statistics.blocks, 30u);
  for (unsigned i = 0; i < 30; ++i)
    EXPECT_EQ(launcher.out[i], i + 100);
}

} // namespace
} // namespace h3::ptxtest
