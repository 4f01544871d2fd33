//===-- tests/unit/driver/PluginTest.cpp - Backends behind the C interface -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Specs.h"
#include "codegen/driver/plugin/PluginBackend.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace h3 {
namespace {

/// A device with memory of its own, which computes y[i] = x[i] + x[i] whatever the kernels say.
struct FakeDevice {
  std::map<const void *, std::vector<std::byte>> memory; ///< by the buffer that lies there
  unsigned loads = 0, launches = 0;
};
FakeDevice device;

int32_t ability(const char *, int32_t, const char *, const h3_backend_reply *) { return 0; }

int32_t emit(const char *, const char *scheduled, size_t length, const char *,
             const h3_backend_reply *reply) {
  reply->bytes(reply->user, scheduled, length / 2);
  reply->bytes(reply->user, scheduled + length / 2, length - length / 2);
  return 0;
}

int32_t load(const char *, const void *, size_t, const h3_backend_reply *reply, void **loaded) {
  ++device.loads;
  *loaded = &device;
  reply->text(reply->user, "a device");
  reply->text(reply->user, " of this test");
  return 0;
}

void unload(void *) { --device.loads; }

int32_t place(void *, const h3_backend_buffer *buffers, size_t count, uint64_t *addresses,
              const h3_backend_reply *) {
  for (size_t k = 0; k < count; ++k) {
    std::vector<std::byte> &copy = device.memory[buffers[k].bytes];
    copy.resize(buffers[k].length);
    if (buffers[k].is_read)
      std::memcpy(copy.data(), buffers[k].bytes, copy.size());
    addresses[k] = reinterpret_cast<uint64_t>(copy.data());
  }
  return 0;
}

int32_t launch(void *, const h3_backend_launch *launch, const h3_backend_reply *reply) {
  if (launch->argument_count < 2) {
    reply->text(reply->user, "too few\narguments");
    return 1;
  }
  ++device.launches;
  const float *x;
  float *y;
  std::memcpy(&x, launch->arguments[0], sizeof x);
  std::memcpy(&y, launch->arguments[1], sizeof y);
  for (int i = 0; i < 5; ++i)
    y[i] = x[i] + x[i];
  return 0;
}

int32_t fetch(void *, const h3_backend_buffer *buffers, size_t count, const h3_backend_reply *) {
  for (size_t k = 0; k < count; ++k)
    if (buffers[k].is_written)
      std::memcpy(buffers[k].bytes, device.memory.at(buffers[k].bytes).data(), buffers[k].length);
  return 0;
}

h3_backend_target targetNamed(const char *name) {
  return {sizeof(h3_backend_target), name, H3_BACKEND_MACHINE_ONE_THREAD, ".fake", nullptr};
}

h3_backend backendOf(const char *name, const h3_backend_target &target) {
  return {sizeof(h3_backend),
          H3_BACKEND_INTERFACE,
          name,
          1,
          &target,
          ability,
          emit,
          nullptr,
          load,
          unload,
          place,
          launch,
          fetch};
}

TEST(Plugins, ADeviceWithMemoryOfItsOwnGetsTheBuffersAndGivesThemBack) {
  static const h3_backend_target row = targetNamed("fake-1");
  static const h3_backend plugin = backendOf("fake", row);
  ASSERT_EQ(addPlugin(&plugin, "a file"), "");
  EXPECT_EQ(pluginFileOf("fake"), "a file");
  EXPECT_EQ(pluginFileOf("nvptx"), "");
  const Target &target = *findTarget("fake-1");
  const Backend &backend = h3::backendOf(target);
  ASSERT_EQ(&backend, findBackend("fake"));

  LoadedSpec spec;
  Diagnostics diagnostics;
  ASSERT_TRUE(loadSpecText("op twice {\n  dim n\n  in x : f32[n]\n  out y : f32[n]\n"
                           "  y[i] = x[i] + x[i]\n}\n",
                           {}, spec, diagnostics));
  std::vector<OperatorInstances> operators = instances(spec, diagnostics);
  const Program *programs[] = {operators.at(0).programs.at(0).get()};
  std::string error, report;
  std::optional<Image> image = backend.compile(*makeContext(), programs, target, {}, error);
  ASSERT_TRUE(image) << error;
  EXPECT_TRUE(image->text.starts_with("{\"h3_scheduled\":1,\"target\":\"fake-1\""));

  std::vector<float> x = {1, -2, 3, 0.5, 8}, y(5, 77);
  const Buffer buffers[] = {{"x", std::as_writable_bytes(std::span(x)), true, false},
                            {"y", std::as_writable_bytes(std::span(y)), false, true}};
  plan::Launch chosen;
  auto launches = [&](std::span<const uint64_t> addresses) {
    EXPECT_NE(addresses[0], reinterpret_cast<uint64_t>(x.data()));
    const plan::Tensor tensors[] = {plan::Tensor::contiguous(addresses[0], plan::DType::F32, {5}),
                                    plan::Tensor::contiguous(addresses[1], plan::DType::F32, {5})};
    chosen = std::get<plan::Launch>(plan::evaluate(image->plans[0], tensors, {}));
    return std::span<const plan::Launch>(&chosen, 1);
  };
  for (unsigned call = 1; call <= 2; ++call) {
    auto problem = backend.execute(*image, target, {image->plans[0], buffers, launches}, report);
    EXPECT_EQ(problem.value_or(""), "");
    EXPECT_EQ(device.loads, 1u) << "an image is loaded once";
    EXPECT_EQ(device.launches, call);
  }
  EXPECT_EQ(report, "a device of this test");
  EXPECT_EQ(y, (std::vector<float>{2, -4, 6, 1, 16}));

  // A failure is one line.
  auto without = [&](std::span<const uint64_t> addresses) {
    launches(addresses);
    chosen.argumentCount = 0;
    return std::span<const plan::Launch>(&chosen, 1);
  };
  EXPECT_EQ(backend.execute(*image, target, {image->plans[0], buffers, without}, report).value(),
            "the plugin fake: too few arguments");
  image.reset();
  EXPECT_EQ(device.loads, 0u);
}

TEST(Plugins, WhatIsWrongWithADescriptionIsSaidAndNothingIsAdded) {
  const size_t backendsBefore = backends().size(), targetsBefore = targets().size();
  auto refusalOf = [](const char *name, const char *target, auto change) {
    h3_backend_target row = targetNamed(target);
    h3_backend plugin = backendOf(name, row);
    plugin.targets = &row;
    change(plugin, row);
    return addPlugin(&plugin, "");
  };
  auto nothing = [](h3_backend &, h3_backend_target &) {};
  EXPECT_EQ(refusalOf("nvptx", "t", nothing), "there is a backend 'nvptx'");
  EXPECT_EQ(refusalOf("cuda", "t", nothing), "there is a backend 'cuda'");
  EXPECT_EQ(refusalOf("a", "sm_90", nothing), "target 'sm_90': there is one of that name");
  EXPECT_EQ(refusalOf("A b", "t", nothing), "it has no name of small letters, digits, '_' and '-'");
  EXPECT_EQ(refusalOf("a", "t", [](auto &plugin, auto &) { plugin.interface = 41; }),
            "it was built for version 41 of the backend interface, and this h3gen has version 1; "
            "build it against this h3gen's h3_backend.h");
  EXPECT_EQ(refusalOf("a", "t", [](auto &plugin, auto &) { plugin.size = 8; }),
            "its description has a size that is too small");
  EXPECT_EQ(refusalOf("a", "t", [](auto &plugin, auto &) { plugin.fetch = nullptr; }),
            "it has one of 'place' and 'fetch'");
  EXPECT_EQ(refusalOf("a", "t", [](auto &, auto &row) { row.assembly_ending = ".so"; }),
            "target 't': 'assemble' and assembly_ending go together");
  EXPECT_EQ(refusalOf("a", "t", [](auto &, auto &row) { row.image_ending = "fake"; }),
            "target 't': an ending is not of the form '.name'");
  EXPECT_EQ(refusalOf("a", "t", [](auto &, auto &row) { row.machine.wave_threads = 3; }),
            "target 't': wave_threads is no power of two from 1 to 64");
  EXPECT_EQ(refusalOf("a", "t", [](auto &, auto &row) { row.machine.widest_access = 8; }),
            "target 't': widest_access is neither 16 nor 32");
  EXPECT_EQ(addPlugin(nullptr, ""), "it has no backend for version 1 of the interface");
  EXPECT_EQ(backends().size(), backendsBefore);
  EXPECT_EQ(targets().size(), targetsBefore);
}

} // namespace
} // namespace h3
