//===-- tests/unit/ptx/FaultsTest.cpp - Each fault, and its clean twin ----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/ptx/Launcher.h"

namespace h3::ptxtest {
namespace {

using ptx::FaultKind;

/// A kernel that must fail in one way, and its twin that must not.
struct Pair {
  const char *name;
  unsigned threads, blocks;
  const char *before;
  const char *faulty;
  const char *clean;
  const char *message;
  void (*change)(Launcher &) = nullptr;
};

void PrintTo(const Pair &pair, std::ostream *stream) { *stream << pair.name; }

const char *shared = ".shared .align 16 .b8 s[256];\n";

const Pair pairs[] = {
    {"UnsetRegister", 1, 1, "", "add.s32 %r0, %r1, 1;\nst.global.u32 [%out], %r0;",
     "mov.u32 %r1, 4;\nadd.s32 %r0, %r1, 1;\nst.global.u32 [%out], %r0;",
     "PTX line 16, block (0,0,0), thread (0,0,0): unset register: register '%r1' is read, and "
     "nothing has written it [add.s32 %r0, %r1, 1]"},
    {"UnsetGuard", 1, 1, "", "@!%p3 mov.u32 %r1, 4;",
     "setp.eq.u32 %p3, %tid_x, 0;\n@!%p3 mov.u32 %r1, %r2;",
     "PTX line 16, block (0,0,0), thread (0,0,0): unset register: register '%p3' is read, and "
     "nothing has written it [@!%p3 mov.u32 %r1, 4]"},
    // LLVM packs an undefined element where nobody uses it.
    {"UnsetHalf", 1, 1, "", "mov.u16 %h0, 7;\nmov.b32 %r1, {%h1, %h0};\nadd.s32 %r0, %r1, 1;",
     "mov.u16 %h0, 7;\nmov.b32 %r1, {%h1, %h0};\nshr.u32 %r2, %r1, 16;\nadd.s32 %r0, %r2, 1;\n"
     "mov.b32 {_, %h2}, %r1;\nadd.s16 %h3, %h2, 1;\nand.b32 %r3, %r1, 0xFFFF0000;\n"
     "add.s32 %r3, %r3, 1;",
     "PTX line 18, block (0,0,0), thread (0,0,0): unset register: register '%r1' is read, and only "
     "a part of it was written [add.s32 %r0, %r1, 1]"},
    {"UnsetHalfThroughAShift", 1, 1, "",
     "mov.u16 %h0, 7;\nmov.b32 %r1, {%h1, %h0};\nshr.u32 %r2, %r1, 15;\nadd.s32 %r0, %r2, 1;",
     "mov.u16 %h0, 7;\nmov.b32 %r1, {%h1, %h0};\nshr.u32 %r2, %r1, 17;\nadd.s32 %r0, %r2, 1;",
     "PTX line 19, block (0,0,0), thread (0,0,0): unset register: register '%r2' is read, and only "
     "a part of it was written [add.s32 %r0, %r2, 1]"},
    {"UnsetHalfThroughAPermutation", 1, 1, "",
     "mov.u16 %h0, 7;\nmov.b32 %r1, {%h0, %h1};\nprmt.b32 %r2, %r1, 0, 0x7721;\n"
     "add.s32 %r0, %r2, 1;",
     "mov.u16 %h0, 7;\nmov.b32 %r1, {%h0, %h1};\nprmt.b32 %r2, %r1, 0, 0x77F1;\n"
     "add.s32 %r0, %r2, 1;\nprmt.b32 %r2, 5, %r1, 0x4510;\nadd.s32 %r0, %r2, 1;",
     "PTX line 19, block (0,0,0), thread (0,0,0): unset register: register '%r2' is read, and only "
     "a part of it was written [add.s32 %r0, %r2, 1]"},
    {"UnsetHalfStored", 1, 1, "",
     "mov.u16 %h0, 7;\nmov.b32 %r1, {%h0, %h1};\nst.global.b32 [%out], %r1;",
     "mov.u16 %h0, 7;\nmov.b32 %r1, {%h0, %h1};\nst.global.b16 [%out], %r1;",
     "PTX line 18, block (0,0,0), thread (0,0,0): unset register: register '%r1' is read, and only "
     "a part of it was written [st.global.b32 [%out], %r1]"},
    {"UnsetByteThroughAPermutation", 1, 1, "",
     "mov.u16 %h0, 7;\nmov.b32 %r1, {%h0, %h1};\nprmt.b32 %r2, %r1, 0, 0x7772;\n"
     "add.s32 %r0, %r2, 1;",
     "mov.u16 %h0, 7;\nmov.b32 %r1, {%h0, %h1};\nprmt.b32 %r2, %r1, 0, 0x7771;\n"
     "add.s32 %r0, %r2, 1;\nprmt.b32 %r3, 5, %r1, 0x5041;\nadd.s32 %r0, %r3, 1;",
     "PTX line 19, block (0,0,0), thread (0,0,0): unset register: register '%r2' is read, and only "
     "a part of it was written [add.s32 %r0, %r2, 1]"},
    {"UnsetCarry", 1, 1, "", "addc.u32 %r0, %tid_x, 1;",
     "add.cc.u32 %r1, %tid_x, 1;\naddc.u32 %r0, %tid_x, 1;",
     "PTX line 16, block (0,0,0), thread (0,0,0): unset register: the carry flag is read, and "
     "nothing has written it [addc.u32 %r0, %tid_x, 1]"},
    {"OutOfBounds", 1, 1, "", "ld.global.u32 %r0, [%in+256];", "ld.global.u32 %r0, [%in+252];",
     "PTX line 16, block (0,0,0), thread (0,0,0): out of bounds: load of 4 bytes at 0x10100, where "
     "no memory is [ld.global.u32 %r0, [%in+256]]"},
    {"OutOfBoundsAcrossTheEnd", 1, 1, "",
     "st.global.v4.u32 [%out+240], {1, 2, 3, 4};\nst.global.v2.u64 [%out+256], {1, 2};",
     "st.global.v4.u32 [%out+240], {1, 2, 3, 4};",
     "PTX line 17, block (0,0,0), thread (0,0,0): out of bounds: store of 16 bytes at 0x20100, "
     "where no memory is [st.global.v2.u64 [%out+256], {1, 2}]"},
    {"OutOfSharedMemory", 1, 1, shared, "st.shared.u32 [s+256], 1;", "st.shared.u32 [s+252], 1;",
     "PTX line 17, block (0,0,0), thread (0,0,0): out of bounds: store of 4 bytes at 0x100, shared "
     "memory has 256 bytes [st.shared.u32 [s+256], 1]"},
    {"OutOfLocalMemory", 1, 1, "", ".local .b8 l[8];\nst.local.u32 [l+8], 1;",
     ".local .b8 l[8];\nst.local.u32 [l+4], 1;",
     "PTX line 17, block (0,0,0), thread (0,0,0): out of bounds: store of 4 bytes at 0x8, the "
     "thread's local memory has 8 bytes [st.local.u32 [l+8], 1]"},
    {"ReadOnly", 1, 1, "", "st.global.u32 [%in], 1;", "st.global.u32 [%out], 1;",
     "PTX line 16, block (0,0,0), thread (0,0,0): read-only: store to 'in', which the launch may "
     "not write [st.global.u32 [%in], 1]"},
    {"Misaligned", 1, 1, "", "ld.global.v2.u32 {%r0, %r1}, [%in+4];",
     "ld.global.v2.u32 {%r0, %r1}, [%in+8];",
     "PTX line 16, block (0,0,0), thread (0,0,0): misaligned access: load of 8 bytes at address "
     "0x10004 [ld.global.v2.u32 {%r0, %r1}, [%in+4]]"},
    {"UninitialisedShared", 1, 1, shared, "st.shared.u16 [s], 1;\nld.shared.u32 %r0, [s];",
     "st.shared.u32 [s], 1;\nld.shared.u32 %r0, [s];",
     "PTX line 18, block (0,0,0), thread (0,0,0): uninitialised read: byte 2 of shared memory is "
     "read, and nothing has written it [ld.shared.u32 %r0, [s]]"},
    {"UninitialisedLocal", 1, 1, "", ".local .b8 l[8];\nld.local.u8 %h0, [l+3];",
     ".local .b8 l[8];\nst.local.u8 [l+3], 7;\nld.local.u8 %h0, [l+3];",
     "PTX line 17, block (0,0,0), thread (0,0,0): uninitialised read: byte 3 of the thread's local "
     "memory is read, and nothing has written it [ld.local.u8 %h0, [l+3]]"},
    {"UninitialisedOutput", 1, 1, "", "ld.global.u32 %r0, [%out+8];",
     "st.global.u32 [%out+8], 3;\nld.global.u32 %r0, [%out+8];",
     "PTX line 16, block (0,0,0), thread (0,0,0): uninitialised read: byte 8 of 'out' is read, and "
     "nothing has written it [ld.global.u32 %r0, [%out+8]]",
     [](Launcher &launcher) { launcher.outInitialised = false; }},
    {"NonCoherentLoadAfterStore", 1, 1, "",
     "st.global.u32 [%out], 1;\nld.global.nc.u32 %r0, [%out];",
     "st.global.u32 [%out], 1;\nld.global.nc.u32 %r0, [%out+4];",
     "PTX line 17, block (0,0,0), thread (0,0,0): non-coherent: byte 0 of 'out' is loaded with .nc "
     "and was written by thread (0,0,0) at line 16 of the same launch "
     "[ld.global.nc.u32 %r0, [%out]]"},
    {"NonCoherentStoreAfterLoad", 1, 1, "",
     "ld.global.nc.u32 %r0, [%out];\nst.global.u32 [%out], 1;",
     "ld.global.u32 %r0, [%out];\nst.global.u32 [%out], 1;",
     "PTX line 17, block (0,0,0), thread (0,0,0): non-coherent: byte 0 of 'out' is written here "
     "and "
     "was loaded with .nc in the same launch [st.global.u32 [%out], 1]"},
    {"ShuffleFromALaneOutsideTheMask", 32, 1, "",
     "setp.lt.u32 %p0, %tid_x, 16;\n@!%p0 bra END;\n"
     "shfl.sync.bfly.b32 %r0, %tid_x, 16, 31, 0xFFFF;\nEND:\nret;",
     "setp.lt.u32 %p0, %tid_x, 16;\n@!%p0 bra END;\n"
     "shfl.sync.bfly.b32 %r0, %tid_x, 8, 31, 0xFFFF;\nEND:\nret;",
     "PTX line 18, block (0,0,0), thread (0,0,0): inactive lane: lane 0 reads lane 16, which is "
     "not "
     "in the mask [shfl.sync.bfly.b32 %r0, %tid_x, 16, 31, 65535]"},
    {"ShuffleFromALaneThatEnded", 2, 1, "",
     "setp.eq.u32 %p0, %tid_x, 1;\n@%p0 exit;\nshfl.sync.idx.b32 %r0, %tid_x, 1, 31, 3;",
     "shfl.sync.idx.b32 %r0, %tid_x, 1, 31, 3;\nsetp.eq.u32 %p0, %tid_x, 1;\n@%p0 exit;",
     "PTX line 18, block (0,0,0), thread (0,0,0): inactive lane: lane 0 reads lane 1, which has "
     "ended [shfl.sync.idx.b32 %r0, %tid_x, 1, 31, 3]"},
    {"ShuffleFromALaneTheBlockLacks", 8, 1, "", "shfl.sync.bfly.b32 %r0, 1, 8, 31, -1;",
     "shfl.sync.bfly.b32 %r0, 1, 4, 31, -1;",
     "PTX line 16, block (0,0,0), thread (0,0,0): inactive lane: lane 0 reads lane 8, which the "
     "block does not have [shfl.sync.bfly.b32 %r0, 1, 8, 31, -1]"},
    {"NotInTheOwnMask", 4, 1, "", "bar.warp.sync 7;", "bar.warp.sync 15;",
     "PTX line 16, block (0,0,0), thread (3,0,0): divergent sync: lane 3 executes it and is not in "
     "its mask 0x00000007 [bar.warp.sync 7]"},
    {"DivergentSync", 2, 1, "",
     "setp.eq.u32 %p0, %tid_x, 1;\n@%p0 bra B;\nvote.sync.ballot.b32 %r0, 1, 3;\nret;\nB:\n"
     "vote.sync.ballot.b32 %r0, 1, 3;\nret;",
     "setp.eq.u32 %p0, %tid_x, 1;\n@%p0 bra B;\nB:\nvote.sync.ballot.b32 %r0, 1, 3;\nret;",
     "PTX line 18, block (0,0,0), thread (0,0,0): divergent sync: lane 0 of the warp waits here, "
     "lane 1 at line 21, with masks 0x00000003 and 0x00000003 [vote.sync.ballot.b32 %r0, 1, 3]"},
    {"DivergentBarrier", 2, 1, "",
     "setp.eq.u32 %p0, %tid_x, 1;\n@%p0 bra B;\nbar.sync 0;\nret;\nB:\nbar.sync 0;\nret;",
     "setp.eq.u32 %p0, %tid_x, 1;\n@%p0 bra B;\nB:\nbar.sync 0;\nret;", "divergent barrier: "},
    {"BarrierWithoutALaneThatEnded", 2, 1, "",
     "setp.eq.u32 %p0, %tid_x, 1;\n@%p0 exit;\nbar.sync 0;",
     "setp.eq.u32 %p0, %tid_x, 1;\n@%p0 exit;\nbarrier.sync 0;",
     "PTX line 18, block (0,0,0), thread (0,0,0): divergent barrier: lane 0 of the warp executes "
     "it, lane 1 has ended without it [bar.sync 0]"},
    {"DifferentBarriers", 2, 1, "", "bar.sync %tid_x;", "bar.sync 1;",
     "PTX line 16, block (0,0,0), thread (0,0,0): deadlock: 2 threads wait and none can go on, 0 "
     "have ended [bar.sync %tid_x]"},
    {"Deadlock", 64, 1, "", "setp.ge.u32 %p0, %tid_x, 32;\n@%p0 exit;\nbar.sync 1, 64;",
     "bar.sync 1, 64;",
     "PTX line 18, block (0,0,0), thread (0,0,0): deadlock: 32 threads wait and none can go on, 32 "
     "have ended [bar.sync 1, 64]"},
    {"BarrierCount", 32, 1, "", "bar.sync 1, 33;", "bar.sync 1, 32;",
     "divergent barrier: the barrier is for 33 threads, which is no multiple of 32"},
    {"Budget", 1, 1, "", "A:\nbra A;", "A:\nsetp.eq.u32 %p0, %tid_x, 7;\n@%p0 bra A;",
     "PTX line 17, block (0,0,0), thread (0,0,0): instruction budget: the launch has not ended "
     "after 1000 instructions [bra A]",
     [](Launcher &launcher) { launcher.options.budget = 1000; }},
    {"Trap", 1, 1, "", "trap;", "setp.eq.u32 %p0, %tid_x, 1;\n@%p0 trap;",
     "PTX line 16, block (0,0,0), thread (0,0,0): trap: the thread has executed it [trap]"},
    {"DivisionByZero", 1, 1, "", "div.u32 %r0, 7, %tid_x;", "div.u32 %r0, %tid_x, 7;",
     "PTX line 16, block (0,0,0), thread (0,0,0): division by zero: the divisor is 0 "
     "[div.u32 %r0, 7, %tid_x]"},
};

class PtxFaults : public testing::TestWithParam<Pair> {};

TEST_P(PtxFaults, AreFoundAndTheTwinIsClean) {
  const Pair &pair = GetParam();
  for (uint64_t seed = 0; seed < 8; ++seed) {
    for (bool faulty : {true, false}) {
      Launcher launcher(pair.threads, pair.blocks);
      launcher.options.seed = seed;
      if (pair.change)
        pair.change(launcher);
      std::optional<ptx::Fault> fault =
          launcher.runBody(faulty ? pair.faulty : pair.clean, pair.before);
      ASSERT_EQ(fault.has_value(), faulty) << (fault ? fault->message() : "no fault");
      // Which of several threads meets the fault first is the scheduler's choice.
      if (fault && pair.threads == 1)
        EXPECT_EQ(fault->message(), pair.message);
      else if (fault)
        EXPECT_NE(std::string(pair.message).find(std::string(ptx::name(fault->kind)) + ": "),
                  std::string::npos)
            << fault->message();
    }
  }
}

/// Some order of the threads gives exactly the text.
TEST_P(PtxFaults, SayWhatHappened) {
  const Pair &pair = GetParam();
  std::string last;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    Launcher launcher(pair.threads, pair.blocks);
    launcher.options.seed = seed;
    if (pair.change)
      pair.change(launcher);
    last = launcher.message(pair.faulty, pair.before);
    if (last.find(pair.message) != std::string::npos)
      return;
  }
  FAIL() << "no seed of 64 gives\n  " << pair.message << "\nthe last gave\n  " << last;
}

INSTANTIATE_TEST_SUITE_P(All, PtxFaults, testing::ValuesIn(pairs),
                         [](const auto &info) { return std::string(info.param.name); });

// ---- Races.

/// The kinds of races, and the order that removes each.
struct Race {
  const char *name;
  unsigned threads, blocks;
  const char *racy;
  const char *clean;
  const char *text; ///< part of the message
};

void PrintTo(const Race &race, std::ostream *stream) { *stream << race.name; }

const Race races[] = {
    {"WriteWrite", 64, 1, "st.shared.u32 [s], %tid_x;",
     "mad.lo.u32 %r1, %tid_x, 2, 0;\nmov.u32 %r2, s;\nadd.u32 %r1, %r1, %r2;\n"
     "st.shared.u16 [%r1], 1;",
     "of shared memory is written here and written by thread ("},
    {"ReadAfterWrite", 64, 1,
     "setp.eq.u32 %p0, %tid_x, 0;\n@%p0 st.shared.u32 [s], 5;\nsetp.eq.u32 %p1, %tid_x, 63;\n"
     "@%p1 st.shared.u32 [s+4], 1;\n@%p0 ld.shared.u32 %r0, [s];\nbar.sync 0;\n"
     "@%p0 ld.shared.u32 %r0, [s+4];\n@%p1 st.shared.u32 [s+4], 2;",
     "setp.eq.u32 %p0, %tid_x, 0;\n@%p0 st.shared.u32 [s], 5;\nbar.sync 0;\n"
     "ld.shared.u32 %r0, [s];",
     "of shared memory is "},
    {"WriteAfterManyReads", 64, 1,
     "setp.eq.u32 %p0, %tid_x, 0;\n@%p0 st.shared.u32 [s], 5;\nbar.sync 0;\n"
     "ld.shared.u32 %r0, [s];\n@%p0 st.shared.u32 [s], 6;",
     "setp.eq.u32 %p0, %tid_x, 0;\n@%p0 st.shared.u32 [s], 5;\nbar.sync 0;\n"
     "ld.shared.u32 %r0, [s];\nbar.sync 0;\n@%p0 st.shared.u32 [s], 6;",
     "of shared memory is "},
    {"ShufflesOrderNothing", 2, 1,
     "setp.eq.u32 %p0, %tid_x, 0;\n@%p0 st.shared.u32 [s], 5;\n"
     "shfl.sync.bfly.b32 %r1, %tid_x, 1, 31, 3;\n@!%p0 ld.shared.u32 %r0, [s];",
     "setp.eq.u32 %p0, %tid_x, 0;\n@%p0 st.shared.u32 [s], 5;\nbar.warp.sync 3;\n"
     "@!%p0 ld.shared.u32 %r0, [s];",
     "of shared memory is read here and written by thread (0,0,0) at line 18, with nothing that "
     "orders the two"},
    {"WarpBarrierOrdersItsMaskOnly", 3, 1,
     "setp.eq.u32 %p0, %tid_x, 0;\n@%p0 st.shared.u32 [s], 5;\nsetp.lt.u32 %p1, %tid_x, 2;\n"
     "@%p1 bar.warp.sync 3;\n@!%p1 bar.warp.sync 4;\nbarrier.sync 1;\n@%p0 st.shared.u32 [s+8], "
     "1;\n"
     "@%p1 bar.warp.sync 3;\n@!%p1 ld.shared.u32 %r0, [s+8];\n@%p1 st.shared.u32 [s+8], 1;",
     "setp.eq.u32 %p0, %tid_x, 0;\n@%p0 st.shared.u32 [s], 5;\nbar.warp.sync 7;\n"
     "ld.shared.u32 %r0, [s];",
     "shared memory is "},
    {"ByteNeighboursAreApart", 2, 1,
     "mov.u32 %r2, s;\nadd.u32 %r1, %tid_x, %r2;\nst.shared.u8 [%r1], 1;\nld.shared.u16 %h0, [s];",
     "mov.u32 %r2, s;\nadd.u32 %r1, %tid_x, %r2;\nst.shared.u8 [%r1], 1;\nld.shared.u8 %h0, [%r1];",
     ""},
    {"GlobalInABlock", 2, 1, "st.global.u32 [%out], %tid_x;",
     "mul.wide.u32 %d0, %tid_x, 4;\nadd.u64 %d0, %d0, %out;\nst.global.u32 [%d0], %tid_x;",
     "of 'out' is written here and written by thread ("},
    {"GlobalBetweenBlocks", 1, 2, "st.global.u32 [%out], 1;",
     "mov.u32 %r0, %ctaid.x;\nmul.wide.u32 %d0, %r0, 4;\nadd.u64 %d0, %d0, %out;\n"
     "st.global.u32 [%d0], 1;",
     "of 'out' is written here and written by a thread of another block, with nothing that orders "
     "the two"},
    {"WriteWhatAnotherBlockReads", 1, 2,
     "mov.u32 %r0, %ctaid.x;\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 st.global.u32 [%out], 1;\n"
     "@!%p0 ld.global.u32 %r1, [%out];",
     "ld.global.u32 %r1, [%out];", "by a thread of another block"},
    {"PlainAgainstAtomic", 2, 1,
     "setp.eq.u32 %p0, %tid_x, 0;\n@%p0 st.global.u32 [%out], 1;\n"
     "@!%p0 red.global.add.u32 [%out], 1;",
     "red.global.add.u32 [%out], 1;", "of 'out' is written here and written by thread ("},
};

class PtxRaces : public testing::TestWithParam<Race> {};

/// Found whatever order the scheduler takes.
TEST_P(PtxRaces, AreFoundUnderEverySeed) {
  const Race &race = GetParam();
  for (uint64_t seed = 0; seed < 16; ++seed) {
    Launcher launcher(race.threads, race.blocks);
    launcher.options.seed = seed;
    std::optional<ptx::Fault> fault = launcher.runBody(race.racy, shared);
    ASSERT_TRUE(fault) << "seed " << seed;
    // What one order reads before it is written is uninitialised there.
    if (fault->kind == FaultKind::Uninitialised)
      continue;
    EXPECT_EQ(fault->kind, FaultKind::Race) << fault->message();
    if (std::string_view(race.name) != "ShufflesOrderNothing")
      EXPECT_NE(fault->text.find(race.text), std::string::npos) << fault->message();
    else
      EXPECT_EQ(fault->text, std::string("byte 0 ") + race.text);
  }
}

TEST_P(PtxRaces, OrderRemovesThem) {
  const Race &race = GetParam();
  for (uint64_t seed = 0; seed < 16; ++seed) {
    Launcher launcher(race.threads, race.blocks);
    launcher.options.seed = seed;
    EXPECT_EQ(launcher.message(race.clean, shared), "") << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PtxRaces, testing::ValuesIn(races),
                         [](const auto &info) { return std::string(info.param.name); });

// ---- Faults of the launch.

TEST(PtxLaunchFaults, SayWhatIsWrong) {
  auto message = [](auto change) {
    Launcher launcher;
    change(launcher.launch);
    return launcher.message("ret;");
  };
  EXPECT_EQ(message([](auto &launch) { launch.arguments.pop_back(); }),
            "launch: 1 arguments, parameter 'k_out' has none");
  EXPECT_EQ(message([](auto &launch) { launch.arguments.push_back({1, 4}); }),
            "launch: 3 arguments, the kernel takes 2");
  EXPECT_EQ(message([](auto &launch) { launch.arguments[0].bytes = 4; }),
            "launch: argument 0 has 4 bytes, parameter 'k_in' has 8");
  EXPECT_EQ(message([](auto &launch) { launch.grid[1] = 0; }),
            "launch: a grid of 0 blocks in axis 1");
  EXPECT_EQ(message([](auto &launch) { launch.block = {64, 32, 1}; }),
            "launch: a block of 2048 threads");
  EXPECT_EQ(message([](auto &launch) { launch.sharedBytes = 300000; }),
            "launch: 300000 bytes of shared memory");
  EXPECT_EQ(message([](auto &) {}), "");
}

TEST(PtxLaunchFaults, LimitsOfTheKernelHold) {
  std::string text = kernelText("ret;");
  size_t brace = text.find("\n{");
  auto with = [&](const std::string &directive) {
    std::string changed = text;
    return changed.insert(brace + 1, directive + "\n");
  };
  Launcher launcher(64);
  EXPECT_EQ(launcher.run(with(".maxntid 32, 1, 1"))->message(),
            "launch: a block of 64 threads, .maxntid allows 32");
  EXPECT_EQ(launcher.run(with(".reqntid 32"))->message(),
            "launch: a block of 64 threads in axis 0, .reqntid says otherwise");
  EXPECT_FALSE(launcher.run(with(".maxntid 64, 1, 1")));
}

TEST(PtxLaunchFaults, UnknownEntryAndOverlappingRegions) {
  auto module = ptx::read(kernelText("ret;"));
  ASSERT_TRUE(module);
  Launcher launcher;
  EXPECT_EQ(ptx::run(*module, "other", launcher.launch, {})->message(),
            "launch: the module has no kernel 'other'");
  std::vector<std::byte> bytes(16);
  ptx::Region regions[2] = {{"a", 0x1000, bytes, false, true}, {"b", 0x1008, bytes, true, true}};
  EXPECT_EQ(ptx::run(*module, "k", launcher.launch, regions)->message(),
            "launch: regions 'a' and 'b' overlap");
  regions[1].writable = false;
  EXPECT_FALSE(ptx::run(*module, "k", launcher.launch, regions));
}

TEST(PtxUnsupported, IsNamedBeforeAnythingRuns) {
  Launcher launcher;
  EXPECT_EQ(launcher.message("mov.u32 %r1, 0;\nsin.approx.f32 %r0, %r1;"),
            "PTX line 17: unsupported instruction: the approximation sin.approx.f32 has no model "
            "[sin.approx.f32 %r0, %r1]");
  EXPECT_EQ(launcher.message("mov.b64 %d1, 0;\nadd.rn.f32x2 %d0, %d1, %d1;"),
            "PTX line 17: unsupported instruction: packed f32 arithmetic has no defined rounding: "
            "the assembler may fuse it [add.rn.f32x2 %d0, %d1, %d1]");
  EXPECT_EQ(launcher.message("setp.lo.s32 %p0, 1, 2;"),
            "PTX line 16: unsupported instruction: the comparison is not one of this type "
            "[setp.lo.s32 %p0, 1, 2]");
}

} // namespace
} // namespace h3::ptxtest
