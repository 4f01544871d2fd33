//===-- tests/unit/runtime/bundle/SmallBundle.cpp - A bundle made by hand -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/runtime/bundle/SmallBundle.h"

#include "tests/unit/runtime/plan/Plans.h"

#include <gtest/gtest.h>

namespace h3::bundle::test {

namespace {

CheckTensor tensor(std::vector<int64_t> extents, uint64_t offset = 0) {
  CheckTensor result;
  int64_t next = 1;
  result.strides.resize(extents.size());
  for (size_t axis = extents.size(); axis-- > 0; next *= extents[axis])
    result.strides[axis] = next;
  result.elements = static_cast<uint64_t>(next) + offset + 8;
  result.extents = std::move(extents);
  result.offset = offset;
  return result;
}

Digest someDigest(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }

DefinedInstance instance(std::vector<std::string> types, std::vector<SelfCheck> checks) {
  return {std::move(types), someDigest("computes"), std::move(checks)};
}

/// x -> y with one variant.
plan::OperatorPlan probePlan() {
  plan::OperatorPlan p = plan::test::swiglu();
  p.name = "probe_rcp";
  p.typeArguments.clear();
  p.variants.resize(1);
  p.variants[0].guards.clear();
  return p;
}

Image image(const std::string &name, std::string_view bytes) {
  Image result;
  result.name = name;
  result.kind = name.ends_with(".ptx") ? ImageKind::Ptx : ImageKind::Cubin;
  result.bytes = std::as_bytes(std::span(bytes));
  result.digest = sha256(result.bytes);
  result.ptxVersion = 78;
  return result;
}

} // namespace

Contents smallContents() {
  Contents contents;
  contents.name = "small";
  contents.compiler = "0.1.0";
  contents.assembler = "13.0.88";
  const SelfCheck neat{1, {tensor({4, 32}), tensor({4, 16})}, {}, someDigest("neat")};
  SelfCheck odd{2, {tensor({3, 10}, 1), tensor({3, 5}, 1)}, {}, someDigest("odd")};
  odd.tensors[0].values = Values::Mixed;
  SelfCheck list{0xFFFFFFFFFFFFFFFF,
                 {tensor({5}), tensor({5}), tensor({7}), tensor({7})},
                 {{true, plan::DType::F32, 0x3F800000}},
                 someDigest("list")};
  contents.operators = {{"scales", {}, {instance({}, {list})}},
                        {"swiglu", {"rcp.approx"}, {instance({"f16"}, {neat, odd})}}};
  contents.probes = {{"probe_rcp", {"rcp.approx"}, {instance({}, {neat})}}};

  OperatorSet sm90{"sm_90", "nvptx", 9, 0, true, {}, {}, {}};
  sm90.operators = {{0, {{plan::test::scales(), {{0}, {0}}}}, 2, 3, {}},
                    {1, {{plan::test::swiglu(), {{0}, {0, 1}}}}, 5, 6, {0}}};
  sm90.probes = {{0, {{probePlan(), {{0}}}}, 1, std::nullopt, {}}};
  OperatorSet sm100{"sm_100", "nvptx", 10, 0, false, {}, {}, {"scales"}};
  sm100.operators = {{1, {{plan::test::swiglu(), {{0}, {1}}}}, std::nullopt, 4, {0}}};
  sm100.probes = {{0, {{probePlan(), {{0}}}}, std::nullopt, 0, {}}};
  // Names in the order of their bytes: sm_100 before sm_90.
  contents.sets = {sm100, sm90};
  contents.images = {
      image("probe_rcp.sm_100.ptx", "ptx of a probe"),
      image("probe_rcp.sm_90.cubin", "cubin of a probe"),
      image("scales.sm_90.cubin", std::string_view("\0cubin\0", 7)),
      image("scales.sm_90.ptx", "ptx"),
      image("swiglu.sm_100.ptx", "sixty-three bytes and a NUL fill one line of 64 bytes, as here."),
      image("swiglu.sm_90.cubin",
            "sixty-four bytes without a NUL fill one line of 64 bytes, as so."),
      image("swiglu.sm_90.ptx", "another ptx")};
  return contents;
}

std::string smallBundle() {
  auto file = write(smallContents());
  EXPECT_TRUE(file) << file.error().message;
  return file ? *file : "";
}

std::string sealed(std::string file) {
  const std::string_view covered = std::string_view(file).substr(0, file.size() - 32);
  const Digest digest = sha256(std::as_bytes(std::span(covered)));
  std::copy(digest.bytes.begin(), digest.bytes.end(), file.end() - 32);
  return file;
}

std::string withHeader(const std::string &file, std::string_view from, std::string_view to) {
  uint64_t length = 0;
  for (unsigned i = 0; i < 8; ++i)
    length |= uint64_t(uint8_t(file[i])) << (8 * i);
  std::string header = file.substr(8, length);
  header.erase(header.find_last_not_of(' ') + 1);
  const size_t at = header.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos)
    header.replace(at, from.size(), to);
  header.resize((8 + header.size() + 63) / 64 * 64 - 8, ' ');
  std::string result;
  for (unsigned i = 0; i < 8; ++i)
    result += static_cast<char>(header.size() >> (8 * i));
  return sealed(result + header + file.substr(8 + length));
}

std::string errorOf(std::string_view file) {
  const auto bundle = Bundle::open(std::as_bytes(std::span(file)));
  return bundle ? "good" : bundle.error().message;
}

} // namespace h3::bundle::test
