//===-- tests/unit/runtime/dispatch/TestBundle.cpp - A bundle the stub driver can run -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/runtime/dispatch/TestBundle.h"

#include "dsl/scalar/SpecialFunctions.h"
#include "runtime/plan/List.h"
#include "tests/unit/runtime/stub/Stub.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

namespace h3::rt::test {

using namespace plan;

uint32_t rootOf(uint32_t bits) { return static_cast<uint32_t>(scalar::rsqrtApprox(bits)); }

// ---- Kernels

/// Threads of a block; each computes one element, of v4_i32 four.
static constexpr int64_t kThreads = 64;

/// A kernel with its index in %i, %n elements and the addresses of its element in %x and %y; `body`
/// turns %v into what is stored.
static std::string kernel(const std::string &entry, const std::string &moreParameters,
                          const std::string &body) {
  return ".visible .entry " + entry +
         "(.param .u64 px, .param .u64 py, .param .u64 pn, .param .u64 psx, .param .u64 psy" +
         moreParameters +
         ")\n{\n"
         ".reg .pred %p;\n.reg .b32 %t, %b, %k, %v, %v1, %v2, %v3;\n"
         ".reg .b64 %x, %y, %n, %i, %s, %a;\n"
         "ld.param.u64 %x, [px];\nld.param.u64 %y, [py];\nld.param.u64 %n, [pn];\n"
         "mov.u32 %t, %tid.x;\nmov.u32 %b, %ctaid.x;\nmad.lo.u32 %b, %b, 64, %t;\n"
         "cvt.u64.u32 %i, %b;\nsetp.ge.u64 %p, %i, %n;\n@%p bra DONE;\n"
         "ld.param.u64 %s, [psx];\nmul.lo.u64 %a, %i, %s;\nshl.b64 %a, %a, 2;\n"
         "add.u64 %x, %x, %a;\n"
         "ld.param.u64 %s, [psy];\nmul.lo.u64 %a, %i, %s;\nshl.b64 %a, %a, 2;\n"
         "add.u64 %y, %y, %a;\n" +
         body + "DONE:\nret;\n}\n";
}

static std::string head(const std::string &target, const std::string &version) {
  return ".version " + version + "\n.target " + target + "\n.address_size 64\n";
}

static std::string twiceKernel(const std::string &entry) {
  // The table: four first blocks, then four records of x, y and n with its padding.
  std::string text = ".visible .entry " + entry +
                     "(.param .align 8 .b8 table[112])\n{\n"
                     ".reg .pred %p;\n.reg .b32 %t, %b, %f, %o, %n, %m, %v;\n"
                     ".reg .b64 %x, %y, %z, %i;\n"
                     "mov.u32 %t, %tid.x;\nmov.u32 %b, %ctaid.x;\n"
                     "ld.param.u32 %o, [table];\nld.param.u64 %x, [table+16];\n"
                     "ld.param.u64 %y, [table+24];\nld.param.u32 %n, [table+32];\n";
  for (int member = 1; member < 4; ++member) {
    const std::string record = std::to_string(16 + 24 * member);
    text += "ld.param.u32 %f, [table+" + std::to_string(4 * member) +
            "];\nsetp.ge.s32 %p, %b, %f;\nselp.b32 %o, %f, %o, %p;\n"
            "ld.param.u64 %z, [table+" +
            record + "];\nselp.b64 %x, %z, %x, %p;\nld.param.u64 %z, [table+" +
            std::to_string(24 + 24 * member) +
            "];\nselp.b64 %y, %z, %y, %p;\nld.param.u32 %m, [table+" +
            std::to_string(32 + 24 * member) + "];\nselp.b32 %n, %m, %n, %p;\n";
  }
  return text + "sub.u32 %b, %b, %o;\nmad.lo.u32 %b, %b, 64, %t;\nsetp.ge.u32 %p, %b, %n;\n"
                "@%p bra DONE;\n"
                "cvt.u64.u32 %i, %b;\nshl.b64 %i, %i, 2;\nadd.u64 %x, %x, %i;\n"
                "add.u64 %y, %y, %i;\n"
                "ld.global.u32 %v, [%x];\nadd.u32 %v, %v, %v;\nst.global.u32 [%y], %v;\n"
                "DONE:\nret;\n}\n";
}

static std::string ptxOf(const std::string &name, const std::string &target,
                         const std::string &version) {
  const std::string load = "ld.global.u32 %v, [%x];\n", store = "st.global.u32 [%y], %v;\n";
  std::string text = head(target, version);
  for (const Variant &variant : planOf(name, target).variants) {
    const bool wide = variant.name == "v4_i32";
    if (name == "twice")
      text += twiceKernel(variant.entry);
    else if (name == "shift")
      text += kernel(variant.entry, "", load + "add.u32 %v, %v, 7;\n" + store);
    else if (name != "scale")
      text +=
          kernel(variant.entry, "",
                 "ld.global.f32 %v, [%x];\nrsqrt.approx.f32 %v, %v;\nst.global.f32 [%y], %v;\n");
    else if (wide)
      text += kernel(variant.entry, ", .param .u32 pk",
                     "ld.param.u32 %k, [pk];\nld.global.v4.u32 {%v, %v1, %v2, %v3}, [%x];\n"
                     "mul.lo.u32 %v, %v, %k;\nmul.lo.u32 %v1, %v1, %k;\n"
                     "mul.lo.u32 %v2, %v2, %k;\nmul.lo.u32 %v3, %v3, %k;\n"
                     "st.global.v4.u32 [%y], {%v, %v1, %v2, %v3};\n");
    else
      text += kernel(variant.entry, ", .param .u32 pk",
                     load + "ld.param.u32 %k, [pk];\nmul.lo.u32 %v, %v, %k;\n" + store);
  }
  return text;
}

// ---- Plans

OperatorPlan planOf(const std::string &name, const std::string &target) {
  OperatorPlan p;
  p.name = name;
  const bool isFloat = name == "root" || name == "probe_rsqrt";
  const DType type = isFloat ? DType::F32 : DType::I32;
  if (name == "scale" || name == "shift")
    p.typeArguments = {"i32"};
  ExprBuilder b(p.nodes);
  p.dims = {{"n", {}}};
  const ExprId n = b.dim(0), one = b.constant(1);
  TensorSpec x, y;
  x.name = "x";
  y.name = "y";
  x.dtype = y.dtype = type;
  x.extents = y.extents = {n};
  y.isOutput = true;
  if (name == "shift")
    y.mayAlias = 0;
  if (name == "twice")
    x.strides = y.strides = {1};
  p.tensors = {x, y};
  p.bindings = {{BindingStep::Kind::FromExtent, 0, 0, 0, kNoExpr}};
  if (name == "scale")
    p.parameters = {{"k", DType::I32, 3}};
  p.each = name == "twice";

  Variant any;
  any.name = "v1_i64";
  any.grid = {b.ceilDiv(n, b.constant(kThreads)), kNoExpr, kNoExpr};
  any.block = {b.constant(kThreads), kNoExpr, kNoExpr};
  any.arguments = {{ArgumentSpec::Kind::Address, 0},
                   {ArgumentSpec::Kind::Address, 1},
                   {ArgumentSpec::Kind::I64, n},
                   {ArgumentSpec::Kind::I64, b.stride(0, 0)},
                   {ArgumentSpec::Kind::I64, b.stride(1, 0)}};
  if (name == "scale")
    any.arguments.push_back({ArgumentSpec::Kind::Parameter, 0});
  if (name == "twice") {
    any.memberArguments = {{ArgumentSpec::Kind::Address, 0},
                           {ArgumentSpec::Kind::Address, 1},
                           {ArgumentSpec::Kind::I32, n}};
    any.arguments.clear();
    any.memberCapacity = 4;
  }
  const std::string types = p.typeArguments.empty() ? "" : p.typeArguments[0] + "_";
  if (name == "scale") {
    Variant fast = any;
    fast.name = "v4_i32";
    const ExprId quarter = b.floorDiv(n, b.constant(4));
    fast.guards = {
        {b.allOf({b.alignedTo(b.address(0), 16), b.alignedTo(b.address(1), 16), b.alignedTo(n, 4),
                  b.eq(b.stride(0, 0), one), b.eq(b.stride(1, 0), one)}),
         "16-byte vectors"}};
    fast.grid[0] = b.ceilDiv(quarter, b.constant(kThreads));
    fast.arguments[2].index = quarter;
    fast.arguments[3].index = fast.arguments[4].index = b.constant(4);
    p.variants = {fast, any};
  } else {
    p.variants = {any};
  }
  for (Variant &variant : p.variants)
    variant.entry = "h3_" + name + "__" + target + "__" + types + variant.name;
  if (const std::string error = verify(p); !error.empty()) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.c_str());
    std::abort();
  }
  return p;
}

std::string contractOf(const std::string &name) { return toJson(planOf(name, "sm_90")); }

// ---- Checks

static bundle::CheckTensor tensor(int64_t n, int64_t stride, uint64_t offset,
                                  bundle::Values values) {
  bundle::CheckTensor result;
  result.extents = {n};
  result.strides = {stride};
  result.offset = offset;
  result.elements = static_cast<uint64_t>(n * stride) + offset + 8;
  result.values = values;
  return result;
}

/// Fills in the digest: the buffers as the operator shall leave them.
static bundle::SelfCheck checked(const std::string &name, bundle::SelfCheck check) {
  const OperatorPlan plan = planOf(name, "sm_90");
  const bundle::CheckLayout layout = bundle::layoutOf(plan, check);
  std::vector<std::byte> memory(layout.bytes);
  bundle::fill(plan, check, layout, memory);
  for (size_t i = 0; i < check.tensors.size(); i += 2) {
    const bundle::CheckTensor &x = check.tensors[i], &y = check.tensors[i + 1];
    const auto at = [&](const bundle::CheckTensor &tensor, size_t index, int64_t element) {
      return &memory[layout.offsets[index] +
                     4 * (tensor.offset + static_cast<uint64_t>(element * tensor.strides[0]))];
    };
    for (int64_t e = 0; e < x.extents[0]; ++e) {
      uint32_t v = 0;
      std::memcpy(&v, at(x, i, e), 4);
      v = name == "scale"   ? v * static_cast<uint32_t>(check.parameters[0].bits)
          : name == "shift" ? v + 7
          : name == "twice" ? v + v
                            : rootOf(v);
      std::memcpy(at(y, i + 1, e), &v, 4);
    }
  }
  check.outputs = bundle::digestOfOutputs(plan, check, layout, memory);
  return check;
}

static std::vector<bundle::SelfCheck> checksOf(const std::string &name) {
  const auto any = bundle::Values::AnyBits;
  bundle::SelfCheck neat{1, {tensor(96, 1, 0, any), tensor(96, 1, 0, any)}, {}, {}};
  bundle::SelfCheck odd{2, {tensor(67, 3, 1, any), tensor(67, 2, 5, any)}, {}, {}};
  if (name == "scale")
    neat.parameters = odd.parameters = {{true, DType::I32, 0x80000005}};
  if (name != "twice")
    return {checked(name, neat), checked(name, odd)};
  bundle::SelfCheck list{3, {}, {}, {}};
  for (int64_t n : {5, 130, 1, 64, 65})
    for (int i = 0; i < 2; ++i)
      list.tensors.push_back(tensor(n, 1, 0, any));
  return {checked(name, list)};
}

static bundle::Digest digestOf(std::string_view text) {
  return bundle::sha256(std::as_bytes(std::span(text)));
}

std::string testBundle(const BundleFaults &faults) {
  bundle::Contents contents;
  contents.name = faults.name;
  contents.compiler = "0.1.0";
  contents.assembler = faults.hasCubins ? "stub" : "";
  const std::vector<std::string> names = {"root", "scale", "shift", "twice"};
  auto define = [&](const std::string &name) {
    return bundle::Definition{
        name,
        name == "root" || name == "probe_rsqrt" ? std::vector<std::string>{"rsqrt.approx"}
                                                : std::vector<std::string>{},
        {{planOf(name, "sm_90").typeArguments, digestOf(name), checksOf(name)}}};
  };
  for (const std::string &name : names)
    contents.operators.push_back(define(name));
  contents.probes = {define("probe_rsqrt")};

  // Images in the order of their names, which the sets refer to by number.
  std::vector<std::pair<std::string, std::string>> images;
  for (const std::string target : {"sm_120", "sm_89", "sm_90"})
    for (const std::string name : {"probe_rsqrt", "root", "scale", "shift", "twice"}) {
      if (target == "sm_120" && name == faults.missing)
        continue;
      // Above the version that the images are of, the parser of the stub need know nothing.
      images.emplace_back(name + "." + target + ".ptx", ptxOf(name, target, faults.ptxVersion));
      if (faults.hasCubins)
        images.emplace_back(name + "." + target + ".cubin",
                            std::string(stub::kCubinHead) + ptxOf(name, target, "7.8") + '\0');
    }
  std::sort(images.begin(), images.end());
  for (auto &[name, text] : images) {
    const size_t at = name == faults.replaceIn ? text.find(faults.from) : std::string::npos;
    if (name == faults.replaceIn && at == std::string::npos)
      std::abort();
    if (at != std::string::npos)
      text.replace(at, faults.from.size(), faults.to);
    bundle::Image image;
    image.name = name;
    image.kind = name.ends_with(".ptx") ? bundle::ImageKind::Ptx : bundle::ImageKind::Cubin;
    image.bytes = std::as_bytes(std::span(text));
    image.ptxVersion = 78;
    contents.images.push_back(image);
  }
  auto numberOf = [&](const std::string &name) -> std::optional<uint32_t> {
    for (uint32_t i = 0; i < images.size(); ++i)
      if (images[i].first == name)
        return i;
    return std::nullopt;
  };
  for (const std::string target : {"sm_120", "sm_89", "sm_90"}) {
    bundle::OperatorSet set;
    set.target = target;
    set.backend = "nvptx";
    set.major = std::stoi(target.substr(3)) / 10;
    set.minor = std::stoi(target.substr(3)) % 10;
    set.enabled = target != "sm_89";
    auto compiled = [&](const std::string &name, uint32_t definition) {
      bundle::Operator op;
      op.definition = definition;
      bundle::Instance instance;
      instance.plan = planOf(name, target);
      // The first check is one for every variant, the second for those without guards.
      const bool hasTwo = checksOf(name).size() > 1;
      for (const Variant &variant : instance.plan.variants)
        instance.checksOfVariant.push_back(hasTwo && variant.guards.empty()
                                               ? std::vector<uint32_t>{0, 1}
                                               : std::vector<uint32_t>{0});
      op.instances = {instance};
      op.cubin = numberOf(name + "." + target + ".cubin");
      op.ptx = numberOf(name + "." + target + ".ptx");
      return op;
    };
    for (uint32_t i = 0; i < names.size(); ++i)
      if (target == "sm_120" && names[i] == faults.missing)
        set.missing.push_back(names[i]);
      else
        set.operators.push_back(compiled(names[i], i));
    set.probes = {compiled("probe_rsqrt", 0)};
    for (bundle::Operator &op : set.operators)
      if (contents.operators[op.definition].name == "root")
        op.probes = {0};
    contents.sets.push_back(std::move(set));
  }
  auto file = bundle::write(contents);
  if (!file) {
    std::fprintf(stderr, "the test's bundle: %s\n", file.error().message.c_str());
    std::abort();
  }
  return *file;
}

} // namespace h3::rt::test
