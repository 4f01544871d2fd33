//===-- tests/unit/ptx/ReaderTest.cpp - Every construct, every error ------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/ptx/Launcher.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace h3::ptxtest {
namespace {

std::string errorOf(const std::string &text) {
  auto module = ptx::read(text);
  return module ? "" : module.error().message();
}

std::string bodyError(const std::string &body) { return errorOf(kernelText(body)); }

ptx::Module readOrFail(const std::string &text) {
  auto module = ptx::read(text);
  if (!module) {
    ADD_FAILURE() << module.error().message();
    return {};
  }
  return std::move(*module);
}

void expectRoundTrip(const ptx::Module &module) {
  std::string printed = ptx::print(module);
  ptx::Module again = readOrFail(printed);
  EXPECT_TRUE(module == again) << printed;
  EXPECT_EQ(ptx::print(again), printed);
}

std::vector<std::filesystem::path> inputs() {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(H3_PTX_INPUTS))
    if (entry.path().extension() == ".ptx")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string textOf(const std::filesystem::path &path) {
  std::ifstream file(path);
  std::stringstream stream;
  stream << file.rdbuf();
  return stream.str();
}

TEST(PtxReader, Header) {
  ptx::Module module = readOrFail(".version 8.10\n.target sm_90a, debug\n.address_size 64\n");
  EXPECT_EQ(module.versionMajor, 8u);
  EXPECT_EQ(module.versionMinor, 10u);
  EXPECT_EQ(module.target, (std::vector<std::string>{"sm_90a", "debug"}));
  EXPECT_EQ(errorOf(".version 8.0\n"), "PTX line 2: the text has no .target");
  EXPECT_EQ(errorOf(""), "PTX line 1: the text has no .version");
  EXPECT_EQ(errorOf(".version 8.0\n.target sm_80\n.address_size 32\n"),
            "PTX line 3: .address_size 32, only 64 is supported");
}

TEST(PtxReader, KernelsParametersAndDirectives) {
  ptx::Module module = readOrFail(
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".weak .entry a()\n.minnctapersm 2\n.maxnreg 64\n.pragma \"nounroll\";\n{ ret; }\n"
      ".entry b(.param .u64 .ptr .global .align 16 x, .param .align 8 .b8 y[24], .param .f32 z,\n"
      " .param .u64 .ptr w)\n.reqntid 32, 2\n{\n\t.loc 1 2 3, function_name $L_x, inlined_at 4\n"
      "\tret;\n}\n.section .debug_str { .b8 1, 2 }\n.file 1 \"a.cu\"\n");
  ASSERT_EQ(module.kernels.size(), 2u);
  EXPECT_EQ(module.kernels[0].linkage, "weak");
  const ptx::Kernel &kernel = module.kernels[1];
  ASSERT_EQ(kernel.parameters.size(), 4u);
  EXPECT_EQ(kernel.parameters[0].pointeeAlign, 16u);
  EXPECT_EQ(kernel.parameters[0].pointee, ptx::Space::Global);
  EXPECT_EQ(kernel.parameters[1].bytes(), 24u);
  EXPECT_EQ(kernel.parameters[1].alignment(), 8u);
  EXPECT_TRUE(kernel.parameters[3].isPointer);
  EXPECT_EQ(kernel.directives[0].values, (std::vector<uint64_t>{32, 2}));
  expectRoundTrip(module);
}

TEST(PtxReader, VariablesAndScopes) {
  ptx::Module module = readOrFail(kernelText(
      ".shared .align 16 .b8 local_tile[64];\n.local .align 8 .v2 .f32 pair[3];\n"
      "{\n.reg .b32 %r1, t;\n.reg .pred p;\nmov.u32 %r1, %tid.x;\nsetp.eq.s32 p, %r1, -7;\n"
      "@!p bra IN;\nmov.u32 t, WARP_SZ;\nIN: }\n{\n.reg .b32 t;\nIN:\nmov.b32 t, 0f3F800000;\n"
      "bra OUTER;\n}\nOUTER:\n.pragma \"nounroll\";\nst.shared.v2.b32 [local_tile+8], {1, 0x10};\n"
      "mov.b64 {%r2, _}, %in;\nshfl.sync.down.b32 %r3|%p1, %r2, 1, 31, -1;\nret;",
      ".global .align 4 .u32 table[2][2] = {{1, 2}, {3, 4}};\n.const .f32 one = 0f3F800000;\n"
      ".extern .shared .align 16 .b8 dynamic[];\n.visible .global .f64 d[1] = {1.5};\n"));
  ASSERT_EQ(module.variables.size(), 4u);
  EXPECT_EQ(module.variables[0].extents, (std::vector<uint64_t>{2, 2}));
  EXPECT_EQ(module.variables[0].initializer.size(), 4u);
  EXPECT_EQ(module.variables[3].initializer[0].bits, 0x3FF8000000000000u);
  const ptx::Kernel &kernel = module.kernels[0];
  EXPECT_EQ(kernel.variables[1].vector, 2u);
  EXPECT_EQ(kernel.variables[1].bytes(), 24u);
  // The two labels IN are two, each seen from its own braces.
  ASSERT_EQ(kernel.labels.size(), 3u);
  expectRoundTrip(module);
}

TEST(PtxReader, Literals) {
  ptx::Module module = readOrFail(kernelText("mov.b64 %d0, 0xFFFFFFFFFFFFFFFF;\nmov.b64 %d0, "
                                             "0x8000000000000000;\nmov.u32 %r0, 0x1fU;\n"
                                             "mov.u32 %r0, 017;\nmov.u32 %r0, 0b101;\n"
                                             "mov.f64 %d0, 0d3FF8000000000000;\n"
                                             "mov.f64 %d0, 2.5;\nmov.f32 %r0, 1e2;\n"
                                             "mov.s32 %r0, -5;"));
  std::vector<uint64_t> bits;
  for (const ptx::Instruction &instruction : module.kernels[0].instructions)
    bits.push_back(instruction.operands[1].bits);
  bits.erase(bits.begin(), bits.begin() + 3);
  EXPECT_EQ(bits, (std::vector<uint64_t>{~uint64_t(0), uint64_t(1) << 63, 31, 15, 5,
                                         0x3FF8000000000000, 0x4004000000000000, 0x4059000000000000,
                                         static_cast<uint64_t>(-5)}));
  expectRoundTrip(module);
}

TEST(PtxReader, ErrorsNameWhatTheyFound) {
  EXPECT_EQ(bodyError("frobnicate.f32 %r0, %r1;"),
            "PTX line 16: unknown instruction 'frobnicate.f32'");
  EXPECT_EQ(bodyError("call.uni f, (%r0);"), "PTX line 16: unknown instruction 'call.uni'");
  EXPECT_EQ(bodyError("add.fast.f32 %r0, %r1, %r2;"),
            "PTX line 16: unknown modifier '.fast' in 'add.fast.f32'");
  EXPECT_EQ(bodyError("add.ftz.rn.f32 %r0, %r1, %r2;"),
            "PTX line 16: 'add.ftz.rn.f32': modifier '.rn' is not known there");
  EXPECT_EQ(bodyError("add.rn.s32 %r0, %r1, %r2;"),
            "PTX line 16: 'add.rn.s32': modifier '.s32' is not known there");
  EXPECT_EQ(bodyError("fma.f32 %r0, %r1, %r2, %r3;"),
            "PTX line 16: 'fma.f32': modifier '.f32' is not known there");
  EXPECT_EQ(bodyError("fma.rn.f32 %r0, %r1, %r2;"),
            "PTX line 16: 'fma.rn.f32': 3 operands, expected 4");
  EXPECT_EQ(bodyError("add.rn.f32 %r0, %d1, %r2;"),
            "PTX line 16: 'add.rn.f32': register '%d1' is .b64, the operand has 32 bits");
  EXPECT_EQ(bodyError("add.rn.f32 1, %r1, %r2;"),
            "PTX line 16: 'add.rn.f32': the destination is not a register");
  EXPECT_EQ(bodyError("add.s32 %r0, _, 1;"), "PTX line 16: 'add.s32': '_' is not a value");
  EXPECT_EQ(bodyError("add.s32 %r0, %q1, 1;"), "PTX line 16: unknown register '%q1'");
  EXPECT_EQ(bodyError("bra NOWHERE;"), "PTX line 16: unknown name 'NOWHERE'");
  EXPECT_EQ(bodyError("ld.global.u32 %r0, [nothing];"), "PTX line 16: unknown name 'nothing'");
  EXPECT_EQ(bodyError("ld.global.v2.u32 %r0, [%in];"),
            "PTX line 16: 'ld.global.v2.u32': an operand is not a vector of 2 elements");
  EXPECT_EQ(bodyError("ld.global.u32 %r0, %in;"),
            "PTX line 16: 'ld.global.u32': an operand is not an address in brackets");
  EXPECT_EQ(bodyError("ld.global.u32 %r0, [%h1];"),
            "PTX line 16: register '%h1' cannot hold an address");
  EXPECT_EQ(bodyError("ld.global.L2::cache_hint.u32 %r0, [%in];"),
            "PTX line 16: 'ld.global.L2::cache_hint.u32': .L2::cache_hint needs a cache policy");
  EXPECT_EQ(bodyError("mov.b32 %r0, {%h0, %h1, %h2};"),
            "PTX line 16: 'mov.b32': the vector has 48 bits, the type has 32");
  EXPECT_EQ(bodyError("@%r0 mov.b32 %r0, 1;"),
            "PTX line 16: found '%r0', expected a predicate register");
  EXPECT_EQ(bodyError("selp.b32 %r0, 1, 2, %r1;"),
            "PTX line 16: 'selp.b32': an operand is not a predicate register");
  EXPECT_EQ(bodyError("mov.u32 %r0, 1"), "PTX line 17: found '}', expected ';'");
  EXPECT_EQ(bodyError("A:\nA:\nret;"), "PTX line 17: label 'A' is defined twice");
  EXPECT_EQ(bodyError(".reg .b32 %r<3>;"), "PTX line 16: register '%r0' is declared twice");
  EXPECT_EQ(bodyError(".reg .b128 %q<3>;"), "PTX line 16: found '.b128', expected a type");
  EXPECT_EQ(bodyError(".branchtargets A;"),
            "PTX line 16: unknown directive '.branchtargets' in a kernel");
  EXPECT_EQ(bodyError("mov.b32 %r0, 0f123;"), "PTX line 16: a float literal has too few digits");
  EXPECT_EQ(bodyError("mov.b32 %r0, 99999999999999999999;"),
            "PTX line 16: an integer needs more than 64 bits");
  EXPECT_EQ(bodyError("mov.b32 %r0, 12ab;"),
            "PTX line 16: a number is followed by a letter or digit that does not belong to it");
  EXPECT_EQ(bodyError("mov.b32 %r0, #1;"), "PTX line 16: a character that PTX does not use");
  EXPECT_EQ(bodyError("/* open"), "PTX line 16: a comment is not closed");
  std::string header = ".version 8.0\n.target sm_90\n.address_size 64\n";
  EXPECT_EQ(errorOf(header + ".func f() { ret; }"),
            "PTX line 4: functions (.func) are not supported, only kernels");
  EXPECT_EQ(errorOf(header + ".entry a() { ret; }\n.entry a() { ret; }"),
            "PTX line 5: kernel 'a' is defined twice");
  EXPECT_EQ(errorOf(header + ".shared .b32 x = 4;"),
            "PTX line 4: variable 'x' in .shared memory cannot have a value");
  EXPECT_EQ(errorOf(header + ".entry a() {"), "PTX line 4: the text ends, expected an instruction");
}

/// Cutting a text anywhere gives an error or a shorter module, never more.
TEST(PtxReader, EveryPrefixIsHandled) {
  std::string text = textOf(inputs().front());
  for (size_t length = 0; length < text.size(); length += 7)
    ptx::read(text.substr(0, length));
}

class PtxInputs : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(PtxInputs, RoundTrip) {
  ptx::Module module = readOrFail(textOf(GetParam()));
  EXPECT_FALSE(module.kernels.empty());
  expectRoundTrip(module);
}

/// The bytes of a cubin's .text sections.
std::vector<std::string> textSections(const std::string &cubin) {
  auto number = [&](size_t at, size_t bytes) {
    uint64_t value = 0;
    if (at + bytes <= cubin.size())
      std::memcpy(&value, cubin.data() + at, bytes);
    return value;
  };
  std::vector<std::string> result;
  size_t table = number(0x28, 8), size = number(0x3A, 2), count = number(0x3C, 2);
  size_t names = number(table + number(0x3E, 2) * size + 0x18, 8);
  for (size_t i = 0; i < count; ++i) {
    size_t header = table + i * size;
    std::string name = cubin.c_str() + names + number(header, 4);
    if (name.starts_with(".text."))
      result.push_back(name + cubin.substr(number(header + 0x18, 8), number(header + 0x20, 8)));
  }
  return result;
}

std::string assemble(const std::string &ptx, const std::string &target) {
  std::string pattern = (std::filesystem::temp_directory_path() / "h3gen-ptx-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    return {};
  std::ofstream(pattern + "/a.ptx") << ptx;
  std::string program = std::getenv("H3GEN_PTXAS") ? std::getenv("H3GEN_PTXAS") : "ptxas";
  int code = std::system(
      ("'" + program + "' -arch=" + target + " " + pattern + "/a.ptx -o " + pattern + "/a.cubin")
          .c_str());
  std::string cubin = code == 0 ? textOf(pattern + "/a.cubin") : "";
  std::filesystem::remove_all(pattern);
  return cubin;
}

TEST_P(PtxInputs, PrintedTextAssemblesToTheSameCode) {
  std::string program = std::getenv("H3GEN_PTXAS") ? std::getenv("H3GEN_PTXAS") : "ptxas";
  if (std::system(("'" + program + "' --version > /dev/null 2>&1").c_str()) != 0)
    GTEST_SKIP() << "skipped: no ptxas on the PATH; H3GEN_PTXAS may name one";
  std::string text = textOf(GetParam());
  ptx::Module module = readOrFail(text);
  std::vector<std::string> original = textSections(assemble(text, module.target[0]));
  ASSERT_EQ(original.size(), module.kernels.size());
  EXPECT_EQ(original, textSections(assemble(ptx::print(module), module.target[0])));
}

INSTANTIATE_TEST_SUITE_P(Samples, PtxInputs, testing::ValuesIn(inputs()),
                         [](const auto &info) { return info.param.stem().string(); });

} // namespace
} // namespace h3::ptxtest
