//===-- backends/nvptx/audit/Learn.cpp - Kernels to learn expansions from -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/audit/Learn.h"

#include <fmt/format.h>

#include <vector>

namespace h3::audit {
namespace {

/// An instruction with its types' widths.
struct Form {
  std::string name;  ///< "div.rn.f32"
  unsigned to, from; ///< bits of the result and of an operand
  unsigned operands;
  bool isFloat; ///< of the operands
};

/// Instructions that exist from \p capability (times 10) on.
std::vector<Form> formsOf(const Target &target) {
  std::vector<Form> forms;
  int capability = target.major * 10 + target.minor;
  auto add = [&](std::string name, unsigned to, unsigned from, unsigned operands, bool isFloat,
                 int lowest = 80) {
    if (capability >= lowest)
      forms.push_back({std::move(name), to, from, operands, isFloat});
  };
  for (const char *type : {"u16", "s16", "u32", "s32", "u64", "s64"}) {
    unsigned bits = std::stoul(type + 1);
    add(fmt::format("div.{}", type), bits, bits, 2, false);
    add(fmt::format("rem.{}", type), bits, bits, 2, false);
    for (const char *rounding : {"rn", "rz", "rm", "rp"}) {
      add(fmt::format("cvt.{}.f32.{}", rounding, type), 32, bits, 1, false);
      add(fmt::format("cvt.{}.f16.{}", rounding, type), 16, bits, 1, false);
      add(fmt::format("cvt.{}.bf16.{}", rounding, type), 16, bits, 1, false, 90);
      add(fmt::format("cvt.{}.f64.{}", rounding, type), 64, bits, 1, false);
      add(fmt::format("cvt.{}i.{}.f32", rounding, type), bits, 32, 1, true);
      add(fmt::format("cvt.{}i.{}.f16", rounding, type), bits, 16, 1, true);
      add(fmt::format("cvt.{}i.{}.f64", rounding, type), bits, 64, 1, true);
    }
  }
  for (const char *rounding : {"rn", "rz", "rm", "rp"}) {
    for (unsigned bits : {32u, 64u}) {
      add(fmt::format("div.{}.f{}", rounding, bits), bits, bits, 2, true);
      add(fmt::format("rcp.{}.f{}", rounding, bits), bits, bits, 1, true);
      add(fmt::format("sqrt.{}.f{}", rounding, bits), bits, bits, 1, true);
      add(fmt::format("cvt.{}i.f{}.f{}", rounding, bits, bits), bits, bits, 1, true);
    }
    add(fmt::format("cvt.{}.f32.f64", rounding), 32, 64, 1, true);
    add(fmt::format("cvt.{}.f16.f64", rounding), 16, 64, 1, true);
    add(fmt::format("cvt.{}.bf16.f64", rounding), 16, 64, 1, true, 90);
    add(fmt::format("cvt.{}i.f16.f16", rounding), 16, 16, 1, true);
  }
  add("cvt.f64.f32", 64, 32, 1, true);
  add("cvt.f64.f16", 64, 16, 1, true);
  add("cvt.f64.bf16", 64, 16, 1, true, 90);
  for (const char *type : {"f16", "bf16"}) {
    add(fmt::format("cvt.rz.{}.f32", type), 16, 32, 1, true);
    add(fmt::format("cvt.rz.{}x2.f32", type), 32, 32, 2, true);
  }
  for (const char *type : {"e4m3x2", "e5m2x2"}) {
    add(fmt::format("cvt.rn.satfinite.{}.f32", type), 16, 32, 2, true, 89);
    add(fmt::format("cvt.rn.satfinite.{}.f16x2", type), 16, 32, 1, true, 89);
    add(fmt::format("cvt.rn.f16x2.{}", type), 32, 16, 1, true, 89);
  }
  for (const char *name : {"rsqrt", "ex2", "lg2", "rcp", "sqrt", "sin", "cos"})
    for (const char *flush : {"", ".ftz"})
      add(fmt::format("{}.approx{}.f32", name, flush), 32, 32, 1, true);
  add("tanh.approx.f32", 32, 32, 1, true);
  return forms;
}

/// A kernel's text, built line by line.
class KernelWriter {
public:
  KernelWriter(const Form &form, const std::string &name) : form(form) {
    text =
        fmt::format(".visible .entry {}(.param .u64 p, .param .b{} x, .param .b{} y, .param .b{} "
                    "z, .param .b32 n)\n{{\n\t.reg .pred %q<2>;\n\t.reg .b16 %h<16>;\n\t.reg "
                    ".b32 %r<16>;\n\t.reg .b64 %d<16>;\n",
                    name, form.from, form.from, form.from);
    line("ld.param.b64 %d0, [p]");
    line("mov.u32 %r0, %tid.x");
    line("mul.wide.u32 %d1, %r0, 8");
    line("add.s64 %d0, %d0, %d1");
  }

  void line(const std::string &instruction) { text += "\t" + instruction + ";\n"; }
  static std::string reg(unsigned bits, unsigned index) {
    return fmt::format("%{}{}", bits == 16 ? 'h' : bits == 32 ? 'r' : 'd', index);
  }
  std::string fromMemory(unsigned index) {
    std::string name = reg(form.from, index);
    line(fmt::format("ld.global.b{} {}, [%d0+{}]", form.from, name, 2048 * index));
    return name;
  }
  std::string fromParameter(unsigned index) {
    std::string name = reg(form.from, index);
    line(fmt::format("ld.param.b{} {}, [{}]", form.from, name, "xyz"[index % 3]));
    return name;
  }
  /// A number below 1024, which ptxas knows.
  std::string fromThread(unsigned index) {
    std::string name = reg(form.from, index);
    if (form.from == 32)
      line("mov.b32 " + name + ", %r0");
    else
      line(fmt::format("cvt.u{}.u32 {}, %r0", form.from, name));
    return name;
  }
  /// The instruction with its result in memory.
  void compute(const std::string &a, const std::string &b, unsigned at = 0) {
    std::string result = reg(form.to, 8 + at);
    line(form.operands == 1 ? fmt::format("{} {}, {}", form.name, result, a)
                            : fmt::format("{} {}, {}, {}", form.name, result, a, b));
    line(fmt::format("st.global.b{} [%d0+{}], {}", form.to, 65536 + 2048 * at, result));
  }
  std::string finish() { return text + "\tret;\n}\n"; }

  std::string text;

private:
  const Form &form;
};

/// Numbers as operands: powers of two, others, extremes.
std::vector<std::string> constantsOf(const Form &form) {
  if (form.isFloat && form.from == 32)
    return {"0f3F800000", "0f40400000", "0f42800000", "0f3DCCCCCD", "0f00000001", "0f7F000000"};
  if (form.isFloat && form.from == 64)
    return {"0d3FF0000000000000", "0d4008000000000000", "0d4050000000000000"};
  if (form.isFloat)
    return {};
  return {"3", "7", "10", "64", "1000", "65535"};
}

/// All kernels of a form. Their names begin with \p prefix.
std::string kernelsOf(const Form &form, const std::string &prefix) {
  std::string text;
  unsigned count = 0;
  auto kernel = [&](auto body) {
    KernelWriter writer(form, fmt::format("{}_{}", prefix, count++));
    body(writer);
    text += writer.finish();
  };
  using Writer = KernelWriter;
  kernel([](Writer &k) { k.compute(k.fromMemory(2), k.fromMemory(3)); });
  kernel([](Writer &k) { k.compute(k.fromParameter(2), k.fromParameter(3)); });
  kernel([](Writer &k) { // behind a branch
    k.line("setp.lt.u32 %q0, %r0, 17");
    k.line("@%q0 bra $end");
    k.compute(k.fromMemory(2), k.fromMemory(3));
    k.text += "$end:\n";
  });
  kernel([](Writer &k) { // in a loop
    k.line("ld.param.b32 %r1, [n]");
    k.text += "$again:\n";
    k.line("add.s64 %d0, %d0, 8192");
    k.compute(k.fromMemory(2), k.fromMemory(3));
    k.line("add.s32 %r1, %r1, -1");
    k.line("setp.ne.s32 %q0, %r1, 0");
    k.line("@%q0 bra $again");
  });
  if (!form.isFloat)
    kernel([](Writer &k) { k.compute(k.fromThread(2), k.fromParameter(3)); });
  if (form.operands == 1)
    return text;
  kernel([](Writer &k) { k.compute(k.fromMemory(2), k.fromParameter(3)); });
  kernel([](Writer &k) { k.compute(k.fromParameter(2), k.fromMemory(3)); });
  kernel([](Writer &k) { // twice, an operand in common
    std::string a = k.fromMemory(2), b = k.fromMemory(3), c = k.fromMemory(4);
    k.compute(a, b, 0);
    k.compute(c, b, 1);
    k.compute(a, c, 2);
  });
  if (!form.isFloat) {
    kernel([](Writer &k) { k.compute(k.fromMemory(2), k.fromThread(3)); });
    kernel([&](Writer &k) { // quotient and remainder
      std::string a = k.fromMemory(2), b = k.fromMemory(3);
      k.compute(a, b);
      std::string other = (form.name.starts_with("div") ? "rem" : "div") + form.name.substr(3);
      k.line(fmt::format("{} {}, {}, {}", other, Writer::reg(form.to, 9), a, b));
      k.line(fmt::format("st.global.b{} [%d0+69632], {}", form.to, Writer::reg(form.to, 9)));
    });
  }
  for (const std::string &number : constantsOf(form)) {
    kernel([&](Writer &k) { k.compute(k.fromMemory(2), number); });
    kernel([&](Writer &k) { k.compute(number, k.fromMemory(2)); });
  }
  return text;
}

} // namespace

std::string learningPtx(const Target &target) {
  // A version that has everything; what ptxas makes of an instruction does not depend on it.
  std::string text = fmt::format(".version 9.0\n.target {}\n.address_size 64\n\n", target.name);
  unsigned count = 0;
  for (const Form &form : formsOf(target))
    text += kernelsOf(form, fmt::format("k{}", count++));
  return text;
}

} // namespace h3::audit
