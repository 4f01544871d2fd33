//===-- tests/unit/ptx/InstructionsTest.cpp - Values by hand --------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Per family of instructions, results computed by hand from the PTX ISA. The recordings of a device
// (tests/ptx) hold many more.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/ptx/Launcher.h"

namespace h3::ptxtest {
namespace {

/// One instruction: `{}` is the destination. `out` is 16, 32 or 64 bits wide, or a predicate.
struct Value {
  const char *text; ///< of the body; the result is in %h0, %r0, %d0 or %p0 as `kind` says
  char kind;        ///< 'h', 'r', 'd', 'p'
  uint64_t expected;
};

void PrintTo(const Value &value, std::ostream *stream) { *stream << value.text; }

const Value values[] = {
    // Integers.
    {"add.s32 %r0, 0x7FFFFFFF, 1;", 'r', 0x80000000},
    {"add.sat.s32 %r0, 0x7FFFFFFF, 1;", 'r', 0x7FFFFFFF},
    {"sub.sat.s32 %r0, -2147483648, 1;", 'r', 0x80000000},
    {"sub.u16 %h0, 1, 2;", 'h', 0xFFFF},
    {"mul.lo.u16 %h0, 0xFFFF, 0xFFFF;", 'h', 1},
    {"mul.hi.s32 %r0, -2, 3;", 'r', 0xFFFFFFFF},
    {"mul.hi.u64 %d0, 0xFFFFFFFFFFFFFFFF, 2;", 'd', 1},
    {"mul.wide.s32 %d0, -2, 3;", 'd', 0xFFFFFFFFFFFFFFFA},
    {"mul.wide.u16 %r0, 0xFFFF, 2;", 'r', 0x1FFFE},
    {"mad.lo.s32 %r0, 3, -4, 5;", 'r', 0xFFFFFFF9},
    {"mad.wide.u32 %d0, 0xFFFFFFFF, 2, 5;", 'd', 0x200000003},
    {"mad.hi.u32 %r0, 0x80000000, 6, 7;", 'r', 10},
    {"div.s32 %r0, -7, 2;", 'r', 0xFFFFFFFD},
    {"rem.s32 %r0, -7, 2;", 'r', 0xFFFFFFFF},
    {"div.s32 %r0, -2147483648, -1;", 'r', 0x80000000},
    {"rem.s64 %d0, 0x8000000000000000, -1;", 'd', 0},
    {"min.s16 %h0, -1, 1;", 'h', 0xFFFF},
    {"max.u32 %r0, -1, 1;", 'r', 0xFFFFFFFF},
    {"abs.s32 %r0, -2147483648;", 'r', 0x80000000},
    {"neg.s64 %d0, 5;", 'd', 0xFFFFFFFFFFFFFFFB},
    {"sad.u32 %r0, 3, 10, 100;", 'r', 107},
    {"mov.u32 %r1, -1;\nadd.cc.u32 %r2, %r1, 1;\naddc.u32 %r0, 5, 6;", 'r', 12},
    {"sub.cc.u32 %r2, 0, 1;\nsubc.u32 %r0, 9, 1;", 'r', 7},
    {"mad.lo.cc.u32 %r2, 0x10000, 0x10000, -1;\nmadc.hi.u32 %r0, 0x10000, 0x10000, 0;", 'r', 1},
    {"mul24.lo.s32 %r0, 0xFFFFFF, 2;", 'r', 0xFFFFFFFE},
    {"dp4a.s32.u32 %r0, 0x01FF0203, 0x01010101, 10;", 'r', 15},
    {"add.u16x2 %r0, 0x0001FFFF, 0x00010001;", 'r', 0x00020000},
    // Bits.
    {"and.b32 %r0, 0xFF00FF00, 0x0FF00FF0;", 'r', 0x0F000F00},
    {"not.b16 %h0, 0x00FF;", 'h', 0xFF00},
    {"shl.b32 %r0, 1, 32;", 'r', 0},
    {"shr.s32 %r0, -8, 40;", 'r', 0xFFFFFFFF},
    {"shr.u16 %h0, 0x8000, 15;", 'h', 1},
    {"shf.l.wrap.b32 %r0, 0x80000000, 1, 33;", 'r', 3},
    {"shf.r.clamp.b32 %r0, 1, 2, 40;", 'r', 2},
    {"lop3.b32 %r0, 0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA, 0x96;", 'r', 0x96969696},
    {"bfe.u32 %r0, 0x12345678, 8, 8;", 'r', 0x56},
    {"bfe.s32 %r0, 0x0000F000, 8, 8;", 'r', 0xFFFFFFF0},
    {"bfe.s32 %r0, 0x80000000, 40, 4;", 'r', 0xFFFFFFFF},
    {"bfi.b32 %r0, 0xAB, 0x11111111, 8, 8;", 'r', 0x1111AB11},
    {"bfind.u32 %r0, 0x00010000;", 'r', 16},
    {"bfind.shiftamt.s32 %r0, -2;", 'r', 31},
    {"bfind.u32 %r0, 0;", 'r', 0xFFFFFFFF},
    {"brev.b32 %r0, 1;", 'r', 0x80000000},
    {"clz.b64 %r0, 1;", 'r', 63},
    {"popc.b32 %r0, 0xF0F0;", 'r', 8},
    {"prmt.b32 %r0, 0x33221100, 0x77665544, 0x7531;", 'r', 0x77553311},
    {"prmt.b32 %r0, 0x33228100, 0x77665544, 0x9991;", 'r', 0xFFFFFF81},
    {"prmt.b32.rc16 %r0, 0x33221100, 0, 1;", 'r', 0x33223322},
    // Moves.
    {"mov.b32 %r0, {0x1234, 0x5678};", 'r', 0x56781234},
    {"mov.b64 {%r1, %r0}, 0x1122334455667788;", 'r', 0x11223344},
    {"mov.b64 %d0, {1, 2};", 'd', 0x200000001},
    {"mov.b32 {_, %h0}, 0x12345678;", 'h', 0x1234},
    {"mov.f32 %r0, 1.0;", 'r', 0x3F800000},
    {"mov.f64 %d0, 0f3F800000;", 'd', 0x3FF0000000000000},
    {"setp.eq.u32 %p1, 1, 1;\nselp.b32 %r0, 5, 6, %p1;", 'r', 5},
    {"slct.s32.f32 %r0, 5, 6, 0f80000000;", 'r', 5},
    {"slct.s32.s32 %r0, 5, 6, -1;", 'r', 6},
    {"mov.u32 %r0, %ntid.x;", 'r', 1},
    {"mov.u32 %r0, %lanemask_ge;", 'r', 0xFFFFFFFF},
    // Float arithmetic.
    {"add.rn.f32 %r0, 0f3F800000, 0f33800000;", 'r', 0x3F800000},
    {"add.rp.f32 %r0, 0f3F800000, 0f33800000;", 'r', 0x3F800001},
    {"add.rz.f32 %r0, 0fBF800000, 0fB3800000;", 'r', 0xBF800000},
    {"add.rm.f32 %r0, 0fBF800000, 0fB3800000;", 'r', 0xBF800001},
    {"sub.rm.f32 %r0, 0f3F800000, 0f3F800000;", 'r', 0x80000000},
    {"add.f32 %r0, 0f00000001, 0f00000001;", 'r', 2},
    {"add.ftz.f32 %r0, 0f80000001, 0f80000001;", 'r', 0x80000000},
    {"add.sat.f32 %r0, 0f3F800000, 0f3F800000;", 'r', 0x3F800000},
    {"mul.sat.f32 %r0, 0fBF800000, 0f3F800000;", 'r', 0},
    {"sub.sat.f32 %r0, 0f7F800000, 0f7F800000;", 'r', 0},
    {"mul.rn.f32 %r0, 0f7F800000, 0f00000000;", 'r', 0x7FFFFFFF},
    {"mul.rn.ftz.f32 %r0, 0f00800000, 0fBF000000;", 'r', 0x80000000},
    {"fma.rn.f32 %r0, 0f3F800001, 0f3F800001, 0fBF800002;", 'r', 0x28800000},
    {"fma.rn.f64 %d0, 0d3FF0000000000000, 0d4000000000000000, 0d4008000000000000;", 'd',
     0x4014000000000000},
    {"fma.rn.relu.f16 %h0, 0x3C00, 0xBC00, 0x0000;", 'h', 0},
    {"mul.rn.f16x2 %r0, 0x40003C00, 0x42004400;", 'r', 0x46004400},
    {"add.rn.bf16x2 %r0, 0x3F803F80, 0x40003F80;", 'r', 0x40404000},
    {"mov.b16 %h1, 0x3C01;\nfma.rn.f32.f16 %r0, %h1, %h1, 0f00000000;", 'r', 0x3F804008},
    {"mov.b16 %h1, 0x3F80;\nadd.rn.f32.bf16 %r0, %h1, 0f3F800000;", 'r', 0x40000000},
    {"mov.b16 %h1, 0x3C00;\nsub.rn.f32.f16 %r0, %h1, 0f40000000;", 'r', 0xBF800000},
    {"div.rn.f32 %r0, 0f3F800000, 0f40400000;", 'r', 0x3EAAAAAB},
    {"div.rz.f32 %r0, 0f3F800000, 0f40400000;", 'r', 0x3EAAAAAA},
    {"rcp.rp.f32 %r0, 0f40400000;", 'r', 0x3EAAAAAB},
    {"sqrt.rn.f32 %r0, 0f40000000;", 'r', 0x3FB504F3},
    {"sqrt.rp.f64 %d0, 0d4000000000000000;", 'd', 0x3FF6A09E667F3BCD},
    {"sqrt.rm.f64 %d0, 0d4000000000000000;", 'd', 0x3FF6A09E667F3BCC},
    {"min.f32 %r0, 0f7FC00000, 0f3F800000;", 'r', 0x3F800000},
    {"min.NaN.f32 %r0, 0f7FC00000, 0f3F800000;", 'r', 0x7FFFFFFF},
    {"max.f32 %r0, 0f80000000, 0f00000000;", 'r', 0},
    {"min.f32 %r0, 0f00000000, 0f80000000;", 'r', 0x80000000},
    {"max.xorsign.abs.f32 %r0, 0fC0000000, 0f3F800000;", 'r', 0xC0000000},
    {"max.f32 %r0, 0f3F800000, 0f40000000, 0f40400000;", 'r', 0x40400000},
    {"neg.f32 %r0, 0fFFC00001;", 'r', 0x7FFFFFFF},
    {"abs.f16x2 %r0, 0x80000001;", 'r', 1},
    {"copysign.f32 %r0, 0f80000000, 0f7FC01234;", 'r', 0xFFC01234},
    {"testp.subnormal.f32 %p0, 0f00000001;", 'p', 1},
    {"testp.finite.f32 %p0, 0f7F800000;", 'p', 0},
    {"testp.normal.f32 %p0, 0f00000000;", 'p', 1},
    // Approximations, by their special values.
    {"rsqrt.approx.f32 %r0, 0f40800000;", 'r', 0x3F000000},
    {"rsqrt.approx.ftz.f32 %r0, 0f00000001;", 'r', 0x7F800000},
    {"ex2.approx.ftz.f32 %r0, 0f40000000;", 'r', 0x40800000},
    {"rcp.approx.ftz.f32 %r0, 0f00000001;", 'r', 0x7F800000},
    {"sqrt.approx.f32 %r0, 0f80000000;", 'r', 0x80000000},
    // Comparisons.
    {"setp.lt.f32 %p0, 0f80000000, 0f00000000;", 'p', 0},
    {"setp.ne.f32 %p0, 0f7FC00000, 0f00000000;", 'p', 0},
    {"setp.neu.f32 %p0, 0f7FC00000, 0f00000000;", 'p', 1},
    {"setp.num.f64 %p0, 0d3FF0000000000000, 0d7FF8000000000000;", 'p', 0},
    {"setp.nan.f16 %p0, 0x7E00, 0;", 'p', 1},
    {"setp.eq.ftz.f32 %p0, 0f00000001, 0f80000001;", 'p', 1},
    {"setp.lt.s32 %p0, -1, 0;", 'p', 1},
    {"setp.lo.u32 %p0, -1, 0;", 'p', 0},
    {"setp.hs.u64 %p0, -1, 5;", 'p', 1},
    {"setp.lt.s16 %p0, 0x8000, 0;", 'p', 1},
    {"setp.eq.s32 %p1, 1, 2;\nsetp.lt.or.s32 %p0, 5, 4, !%p1;", 'p', 1},
    {"setp.eq.s32 %p1, 1, 2;\nsetp.lt.and.s32 %p2|%p0, 5, 4, !%p1;", 'p', 1},
    {"setp.eq.s32 %p1, 1, 1;\nsetp.lt.xor.s32 %p0, 3, 4, %p1;", 'p', 0},
    {"setp.lt.f16x2 %p1|%p0, 0x3C000000, 0x40000000;", 'p', 1},
    {"set.gt.u32.f32 %r0, 0f40000000, 0f3F800000;", 'r', 0xFFFFFFFF},
    {"set.gt.f32.s32 %r0, 3, 2;", 'r', 0x3F800000},
    {"setp.eq.u32 %p1, 0, 0;\nxor.pred %p0, %p1, !%p1;", 'p', 1},
    {"setp.eq.u32 %p1, 0, 0;\nnot.pred %p0, %p1;", 'p', 0},
    // Conversions.
    {"mov.u32 %r1, 0x180;\ncvt.u8.u32 %r0, %r1;", 'r', 0x80},
    {"mov.u32 %r1, 0x180;\ncvt.s8.u32 %r0, %r1;", 'r', 0xFFFFFF80},
    {"mov.u32 %r1, 0x180;\ncvt.sat.u8.u32 %r0, %r1;", 'r', 0xFF},
    {"cvt.sat.u32.s32 %r0, -5;", 'r', 0},
    {"cvt.s64.s32 %d0, -5;", 'd', 0xFFFFFFFFFFFFFFFB},
    {"cvt.u64.u32 %d0, -5;", 'd', 0xFFFFFFFB},
    {"cvt.rni.s32.f32 %r0, 0f40200000;", 'r', 2},
    {"cvt.rzi.s32.f32 %r0, 0fC0200000;", 'r', 0xFFFFFFFE},
    {"cvt.rmi.s32.f32 %r0, 0fC0200000;", 'r', 0xFFFFFFFD},
    {"cvt.rpi.u32.f32 %r0, 0f40200000;", 'r', 3},
    {"cvt.rzi.s32.f32 %r0, 0f7F800000;", 'r', 0x7FFFFFFF},
    {"cvt.rzi.u32.f32 %r0, 0fBF800000;", 'r', 0},
    {"cvt.rni.s32.f32 %r0, 0f7FC00000;", 'r', 0},
    {"cvt.rni.s64.f32 %d0, 0f7FC00000;", 'd', 0x8000000000000000},
    {"cvt.rmi.f32.f32 %r0, 0fBF000000;", 'r', 0xBF800000},
    {"cvt.rpi.f32.f32 %r0, 0fBF000000;", 'r', 0x80000000},
    {"cvt.rn.f32.s32 %r0, -16777217;", 'r', 0xCB800000},
    {"cvt.rp.f32.u32 %r0, 16777217;", 'r', 0x4B800001},
    {"cvt.rn.f32.u64 %r0, 0xFFFFFFFFFFFFFFFF;", 'r', 0x5F800000},
    {"cvt.rn.f16.f32 %h0, 0f47800000;", 'h', 0x7C00},
    {"cvt.rz.f16.f32 %h0, 0f47800000;", 'h', 0x7BFF},
    {"cvt.rn.satfinite.f16.f32 %h0, 0f47800000;", 'h', 0x7BFF},
    {"cvt.rn.relu.f16.f32 %h0, 0fBF800000;", 'h', 0},
    {"cvt.f32.f16 %r0, 0x0001;", 'r', 0x33800000},
    {"cvt.rn.bf16.f32 %h0, 0f3F808000;", 'h', 0x3F80},
    {"cvt.rn.bf16.f32 %h0, 0f3F818000;", 'h', 0x3F82},
    {"cvt.rn.f32.f64 %r0, 0d3FF0000010000000;", 'r', 0x3F800000},
    {"cvt.sat.f32.f32 %r0, 0f40000000;", 'r', 0x3F800000},
    {"cvt.rn.f16x2.f32 %r0, 0f3F800000, 0f40000000;", 'r', 0x3C004000},
    {"cvt.rn.bf16x2.f32 %r0, 0f3F800000, 0f40000000;", 'r', 0x3F804000},
    {"cvt.rn.satfinite.e4m3x2.f32 %h0, 0f43F00000, 0f3F800000;", 'h', 0x7E38},
    {"cvt.rn.satfinite.e5m2x2.f32 %h0, 0f7F800000, 0f3F800000;", 'h', 0x7B3C},
    {"mov.b16 %h1, 0x7E38;\ncvt.rn.f16x2.e4m3x2 %r0, %h1;", 'r', 0x5F003C00},
    // Memory and addresses.
    {".local .align 8 .b8 l[16];\nst.local.s8 [l+1], -3;\nld.local.s8 %r0, [l+1];", 'r',
     0xFFFFFFFD},
    {".local .align 8 .b8 l[16];\nst.local.s8 [l+1], -3;\nld.local.u8 %r0, [l+1];", 'r', 0xFD},
    {".local .align 8 .b8 l[16];\n.reg .b64 %SP;\nmov.u64 %d1, l;\ncvta.local.u64 %SP, %d1;\n"
     "st.u32 [%SP+4], 77;\nld.local.u32 %r0, [l+4];",
     'r', 77},
    {".shared .b32 s;\nmov.u32 %r1, s;\nst.shared.b32 [%r1], 5;\nmov.u64 %d1, s;\n"
     "cvta.shared.u64 %d2, %d1;\nld.u32 %r0, [%d2];",
     'r', 5},
    {".shared .b32 s;\nmov.u64 %d1, s;\ncvta.shared.u64 %d2, %d1;\nisspacep.shared %p0, %d2;", 'p',
     1},
    {"isspacep.global %p0, %out;", 'p', 1},
    {".shared .b32 s;\nst.shared.b32 [s], 5;\natom.shared.add.u32 %r1, [s], 7;\n"
     "atom.shared.cas.b32 %r2, [s], 12, 30;\nld.shared.u32 %r0, [s];",
     'r', 30},
    {"st.global.v2.b64 [%out+16], {0x1111, 0x2222};\nld.global.b64 %d0, [%out+24];", 'd', 0x2222},
};

class PtxValues : public testing::TestWithParam<Value> {};

TEST_P(PtxValues, AreThoseOfTheIsa) {
  const Value &value = GetParam();
  std::string store = value.kind == 'h'   ? "\nst.global.b16 [%out], %h0;"
                      : value.kind == 'r' ? "\nst.global.b32 [%out], %r0;"
                      : value.kind == 'd'
                          ? "\nst.global.b64 [%out], %d0;"
                          : "\nselp.b32 %r9, 1, 0, %p0;\nst.global.b32 [%out], %r9;";
  Launcher launcher;
  ASSERT_EQ(launcher.message(value.text + store), "");
  uint64_t got = launcher.out[0] | static_cast<uint64_t>(launcher.out[1]) << 32;
  EXPECT_EQ(got, value.expected) << std::hex << got;
}

INSTANTIATE_TEST_SUITE_P(All, PtxValues, testing::ValuesIn(values));

TEST(PtxVariables, GlobalAndConstHoldTheirValues) {
  Launcher launcher;
  ASSERT_EQ(launcher.message("ld.const.u32 %r0, [c+4];\nld.global.u32 %r1, [g+8];\n"
                             "mov.u64 %d0, g;\nld.u32 %r2, [%d0];\nadd.u32 %r0, %r0, %r1;\n"
                             "add.u32 %r0, %r0, %r2;\nst.global.u32 [g], 9;\n"
                             "st.global.u32 [%out], %r0;",
                             ".const .align 4 .u32 c[2] = {1, 2};\n.global .u32 g[3] = {10};\n"),
            "");
  EXPECT_EQ(launcher.out[0], 12u);
}

TEST(PtxVariables, DynamicSharedMemoryLiesBehindTheStatic) {
  Launcher launcher;
  launcher.launch.sharedBytes = 8;
  std::string before = ".shared .align 4 .b8 s[4];\n.extern .shared .align 16 .b8 dynamic[];\n";
  ASSERT_EQ(launcher.message("st.shared.u32 [dynamic+4], 3;\nmov.u32 %r0, dynamic;\n"
                             "mov.u32 %r1, %dynamic_smem_size;\n"
                             "st.global.v2.u32 [%out], {%r0, %r1};",
                             before),
            "");
  EXPECT_EQ(launcher.out[0], 16u);
  EXPECT_EQ(launcher.out[1], 8u);
  EXPECT_NE(launcher.message("st.shared.u32 [dynamic+8], 3;", before), "");
}

TEST(PtxLaunch, ParametersByValueTakeSeveralArguments) {
  auto module =
      ptx::read(".version 8.0\n.target sm_90\n.address_size 64\n"
                ".entry k(.param .align 8 .b8 p[16], .param .u64 out, .param .u16 h)\n{\n"
                ".reg .b64 %d<4>;\n.reg .b32 %r<4>;\n.reg .b16 %h<2>;\n"
                "ld.param.u64 %d0, [out];\nld.param.u32 %r0, [p];\n"
                "ld.param.u64 %d1, [p+8];\nld.param.u16 %h0, [h];\ncvt.u32.u16 %r1, %h0;\n"
                "cvt.u32.u64 %r2, %d1;\nst.global.v4.b32 [%d0], {%r0, %r1, %r2, 0};\n}\n");
  ASSERT_TRUE(module) << module.error().message();
  std::vector<uint32_t> out(4);
  ptx::Region region{"out", 0x1000, std::as_writable_bytes(std::span(out)), true, false};
  ptx::LaunchConfig launch;
  launch.arguments = {{7, 4}, {9, 8}, {0x1000, 8}, {5, 2}};
  auto fault = ptx::run(*module, "k", launch, std::span(&region, 1));
  ASSERT_FALSE(fault) << fault->message();
  EXPECT_EQ(out, (std::vector<uint32_t>{7, 5, 9, 0}));
}

} // namespace
} // namespace h3::ptxtest
