//===-- tests/unit/runtime/operators/OperatorsTest.cpp - A compiled bundle through the runtime
//-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The operators of specs/h3_vae.opset as `h3gen bundle` writes them, called through libh3rt's
// interface, on the stub driver that runs their PTX: every self-check passes, and served calls have
// the bits that PyTorch's eager kernels gave on an H200.
//
//===----------------------------------------------------------------------===//

#include "runtime/api/Create.h"
#include "runtime/bundle/Bundle.h"
#include "runtime/include/h3rt.hpp"
#include "runtime/tensor/Safetensors.h"
#include "runtime/tensor/Slice.h"
#include "tests/unit/runtime/stub/Stub.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace {

using namespace h3;

const stub::Control &control() {
  static const stub::Control loaded(H3_STUB_CUDA);
  return loaded;
}

struct RuntimeOperators : testing::Test {
  RuntimeOperators() {
    control().reset();
    h3rt_options options{};
    options.size = sizeof(options);
    options.flags = H3RT_ALLOW_PTX | H3RT_IGNORE_ENVIRONMENT;
    h3rt_runtime *made = nullptr;
    EXPECT_EQ(rt::create(&options, H3_STUB_CUDA, &made), H3RT_OK);
    runtime = h3rt::Runtime(made);
    EXPECT_TRUE(runtime.openBundle(H3_BUNDLE)) << h3rt_last_error();
    stream = control().createStream(control().createContext(1)); // sm_90
  }

  h3rt::Runtime runtime{static_cast<h3rt_runtime *>(nullptr)};
  void *stream = nullptr;
};

/// A tensor of a recording, in memory of the stub's device.
struct Part {
  Part(const tensor::TensorFile &file, std::string reference, bool isOutput) : isOutput(isOutput) {
    auto view = tensor::select(file, reference);
    if (!view) {
      ADD_FAILURE() << reference << ": " << view.error().message;
      return;
    }
    type = tensor::dtype(view->tensor->type);
    shape = view->view.extents;
    strides = view->view.strides;
    uint64_t offset = static_cast<uint64_t>(view->view.offset) * plan::bytes(type);
    if (isOutput) {
      expected = view->packed();
      strides = tensor::wholeView(shape).strides;
      offset = 0;
      address = control().allocate(expected.size());
    } else {
      const auto bytes = view->tensor->data.span();
      address = control().allocate(bytes.size());
      std::memcpy(reinterpret_cast<void *>(address), bytes.data(), bytes.size());
    }
    tensor.data = reinterpret_cast<void *>(address);
    tensor.byte_offset = offset;
    tensor.device = {kDLCUDA, 1};
    tensor.ndim = static_cast<int32_t>(shape.size());
    tensor.dtype = {kDLFloat, static_cast<uint8_t>(8 * plan::bytes(type)), 1};
    tensor.shape = shape.data();
    tensor.strides = strides.data();
  }
  Part(const Part &) = delete;
  ~Part() { control().release(address); }

  /// Any NaN of the recording stands for the one that operators store.
  size_t differences() const {
    const size_t width = plan::bytes(type);
    const uint32_t nan = width == 4 ? 0x7fffffff : 0x7fff;
    const uint32_t infinity = width == 4 ? 0x7f800000 : 0x7c00;
    size_t count = 0;
    for (size_t at = 0; at < expected.size(); at += width) {
      uint32_t want = 0, found = 0;
      std::memcpy(&want, &expected[at], width);
      std::memcpy(&found, reinterpret_cast<const std::byte *>(address) + at, width);
      if ((want & nan) > infinity)
        want = nan;
      count += want != found;
    }
    return count;
  }

  bool isOutput;
  plan::DType type = plan::DType::F16;
  std::vector<int64_t> shape, strides;
  std::vector<std::byte> expected;
  uint64_t address = 0;
  DLTensor tensor{};
};

struct Case {
  const char *op, *file, *prefix;
  std::vector<const char *> in, out;
};

TEST_F(RuntimeOperators, ServedCallsHaveTheBitsOfEager) {
  const std::vector<const char *> sums = {"residual", "branch", "scale"};
  const std::vector<const char *> norms = {"residual", "branch", "scale", "weight"};
  const std::vector<const char *> qk = {"qkv[..., 0:64]", "qkv[..., 64:128]", "cos", "sin"};
  const Case cases[] = {
      {"qk_norm_rope", "qk_norm_rope", "1x3_normal", qk, {"q_out", "k_out"}},
      {"qk_norm_rope", "qk_norm_rope", "1x6_huge", qk, {"q_out", "k_out"}},
      {"swiglu<f16>", "swiglu", "2_tiny", {"x"}, {"y"}},
      {"swiglu<f16>", "swiglu", "3_wide", {"x"}, {"y"}},
      {"scaled_residual<f32>", "scaled_residual", "3_tiny", sums, {"out"}},
      {"residual_rms_norm<f32>", "scaled_residual", "2_huge", norms, {"out", "norm_f16"}},
      {"residual_rms_norm<f32>", "scaled_residual", "5_wide", norms, {"out", "norm_f16"}},
      {"linear_weight_f16", "scaled_residual", "5_wide", {"norm"}, {"norm_f16"}},
  };
  for (const Case &each : cases) {
    SCOPED_TRACE(std::string(each.op) + " " + each.prefix);
    auto file = tensor::readSafetensors(std::string(H3_GOLDEN) + "/" + each.file + ".safetensors");
    ASSERT_TRUE(file) << file.error().message;
    std::vector<std::unique_ptr<Part>> parts;
    std::vector<const DLTensor *> tensors;
    for (const auto *names : {&each.in, &each.out})
      for (const char *name : *names)
        parts.push_back(std::make_unique<Part>(*file, std::string(each.prefix) + "." + name,
                                               names == &each.out));
    for (const auto &part : parts)
      tensors.push_back(&part->tensor);
    const h3rt::Result result = runtime.find(each.op)(stream, tensors.data(), tensors.size());
    ASSERT_TRUE(result.served()) << result.text() << " " << control().lastFault();
    for (const auto &part : parts)
      EXPECT_EQ(part->differences(), 0u);
  }
  // S35: what a model calls is served, every time.
  for (const h3rt::Operator &op : runtime.operators()) {
    const h3rt_counters counters = op.counters();
    EXPECT_EQ(counters.failed, 0u);
    for (uint64_t declined : counters.declined)
      EXPECT_EQ(declined, 0u) << op.name();
  }
}

TEST_F(RuntimeOperators, EverySelfCheckPassesOnEveryTarget) {
  const unsigned before = control().kernelsRun();
  EXPECT_TRUE(runtime.preload({kDLCUDA, 1}, stream)) << h3rt_last_error();
  void *other = control().createStream(control().createContext(0)); // sm_120
  EXPECT_TRUE(runtime.preload({kDLCUDA, 0}, other)) << h3rt_last_error();
  EXPECT_STREQ(control().lastFault(), "");
  EXPECT_GT(control().kernelsRun(), before + 2 * runtime.operators().size());
}

// S20: another constant, 504 for 252 in the argument of exp, in images that are otherwise as they
// were. tests/gpu does the same to cubins.
TEST_F(RuntimeOperators, ADamagedConstantIsFoundByTheSelfChecks) {
  auto bundle = bundle::Bundle::openFile(H3_BUNDLE);
  ASSERT_TRUE(bundle) << bundle.error().message;
  bundle::Contents contents = bundle->contents();
  constexpr std::string_view kScale = "0f437C0000", kOther = "0f43FC0000";
  std::vector<std::string> kept;
  kept.reserve(contents.images.size());
  int found = 0;
  for (bundle::Image &image : contents.images) {
    if (!image.name.starts_with("swiglu."))
      continue;
    std::string &text =
        kept.emplace_back(reinterpret_cast<const char *>(image.bytes.data()), image.bytes.size());
    for (size_t at = text.find(kScale); at != text.npos; at = text.find(kScale, at)) {
      text.replace(at, kScale.size(), kOther);
      ++found;
    }
    image.bytes = std::as_bytes(std::span(text));
  }
  ASSERT_GT(found, 0);
  auto written = bundle::write(contents);
  ASSERT_TRUE(written) << written.error().message;
  h3rt_options options{};
  options.size = sizeof(options);
  options.flags = H3RT_ALLOW_PTX | H3RT_IGNORE_ENVIRONMENT;
  h3rt_runtime *made = nullptr;
  ASSERT_EQ(rt::create(&options, H3_STUB_CUDA, &made), H3RT_OK);
  h3rt::Runtime damaged(made);
  ASSERT_EQ(h3rt_add_bundle(made, written->data(), written->size()), H3RT_OK) << h3rt_last_error();
  EXPECT_FALSE(damaged.preload({kDLCUDA, 1}, stream));

  auto file = tensor::readSafetensors(H3_GOLDEN "/swiglu.safetensors");
  ASSERT_TRUE(file) << file.error().message;
  const Part x(*file, "3_wide.x", false), y(*file, "3_wide.y", true);
  const DLTensor *tensors[] = {&x.tensor, &y.tensor};
  EXPECT_STREQ(damaged.find("swiglu<f16>")(stream, tensors, 2).reason(), "selfcheck_failed");
  EXPECT_TRUE(runtime.find("swiglu<f16>")(stream, tensors, 2).served());
  EXPECT_EQ(y.differences(), 0u);
}

} // namespace
