//===-- tests/bundle/BundleRunTest.cpp - A bundle's kernels pass its checks -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Writes a bundle with `h3gen bundle` and runs the PTX in it on the PTX interpreter, as a runtime
// would on a device: every check of every variant of every instance and probe must give the digest
// that the bundle has of it. H3_BUNDLE names another bundle to run instead, all its targets too.
//
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Interpreter.h"
#include "backends/nvptx/ptx/Parser.h"
#include "runtime/bundle/Bundle.h"
#include "runtime/plan/List.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

using namespace h3;
using namespace h3::bundle;

namespace {

struct Buffer {
  std::unique_ptr<std::byte, decltype(&std::free)> memory{nullptr, &std::free};
  std::span<std::byte> bytes;

  explicit Buffer(uint64_t size)
      : memory(static_cast<std::byte *>(std::aligned_alloc(256, (size + 255) / 256 * 256)),
               &std::free),
        bytes(memory.get(), size) {}
};

/// The memory of a check after the launches of \p variant alone; empty after a failure.
std::optional<Buffer> launch(const ptx::Module &module, const plan::OperatorPlan &plan,
                             size_t variant, const SelfCheck &check, const CheckLayout &layout) {
  Buffer memory(layout.bytes);
  fill(plan, check, layout, memory.bytes);
  const auto address = reinterpret_cast<uint64_t>(memory.memory.get());
  const std::vector<plan::Tensor> tensors = tensorsOf(plan, check, layout, address);
  std::vector<ptx::Region> regions;
  for (size_t i = 0; i < check.tensors.size(); ++i) {
    const size_t first = i - i % plan.tensors.size();
    const plan::TensorSpec &spec = plan.tensors[i - first];
    const bool isShared =
        std::ranges::any_of(std::span(check.tensors).subspan(first, plan.tensors.size()),
                            [&](const CheckTensor &other) {
                              return other.inPlaceOf == static_cast<int16_t>(i - first);
                            });
    if (check.tensors[i].inPlaceOf < 0)
      regions.push_back({spec.name, address + layout.offsets[i],
                         memory.bytes.subspan(layout.offsets[i], bufferBytes(plan, check, i)),
                         spec.isOutput || isShared, !spec.isOutput});
  }
  const plan::OperatorPlan alone = planOfVariant(plan, variant);
  plan::ListCall list;
  std::vector<plan::Launch> launches;
  if (plan.each) {
    EXPECT_FALSE(list.evaluate(alone, tensors, check.parameters));
    launches.assign(list.launches().begin(), list.launches().end());
  } else {
    launches = {std::get<plan::Launch>(plan::evaluate(alone, tensors, check.parameters))};
  }
  EXPECT_FALSE(launches.empty());
  for (const plan::Launch &one : launches)
    if (const auto fault =
            ptx::run(module, alone.variants[0].entry, ptx::LaunchConfig(one), regions)) {
      ADD_FAILURE() << fault->message();
      return std::nullopt;
    }
  return memory;
}

std::span<std::byte> bufferOf(const plan::OperatorPlan &plan, const SelfCheck &check,
                              const CheckLayout &layout, const Buffer &memory, size_t index) {
  return memory.bytes.subspan(layout.offsets[index], bufferBytes(plan, check, index));
}

/// How many different elements the outputs have: a digest of NaNs alone would say little.
size_t differentOutputs(const plan::OperatorPlan &plan, const SelfCheck &check,
                        const CheckLayout &layout, const Buffer &memory) {
  std::set<std::string_view> seen;
  for (size_t t = 0; t < check.tensors.size(); ++t) {
    const plan::TensorSpec &spec = plan.tensors[t % plan.tensors.size()];
    const auto bytes = bufferOf(plan, check, layout, memory, t);
    const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    for (size_t at = 0; spec.isOutput && at < text.size(); at += plan::bytes(spec.dtype))
      seen.insert(text.substr(at, plan::bytes(spec.dtype)));
  }
  return seen.size();
}

/// How many checks were run.
size_t runOperator(const Contents &contents, const Operator &op, const Definition &definition) {
  const Image &image = contents.images[op.ptx.value()];
  auto module = ptx::read(
      std::string(reinterpret_cast<const char *>(image.bytes.data()), image.bytes.size()));
  if (!module) {
    ADD_FAILURE() << image.name << ": " << module.error().message();
    return 0;
  }
  size_t count = 0;
  for (size_t i = 0; i < op.instances.size(); ++i) {
    const Instance &instance = op.instances[i];
    for (size_t v = 0; v < instance.checksOfVariant.size(); ++v)
      for (uint32_t index : instance.checksOfVariant[v]) {
        const SelfCheck &check = definition.instances[i].checks[index];
        SCOPED_TRACE(instance.plan.variants[v].entry + ", check " + std::to_string(index));
        const CheckLayout layout = layoutOf(instance.plan, check);
        const std::optional<Buffer> memory = launch(*module, instance.plan, v, check, layout);
        if (!memory)
          continue;
        const auto digest = [&] {
          return toHex(digestOfOutputs(instance.plan, check, layout, memory->bytes));
        };
        EXPECT_EQ(digest(), toHex(check.outputs));
        EXPECT_GT(differentOutputs(instance.plan, check, layout, *memory), 500u);
        // One wrong bit anywhere is seen.
        for (size_t t = 0; t < check.tensors.size(); ++t)
          if (instance.plan.tensors[t % instance.plan.tensors.size()].isOutput) {
            const auto bytes = bufferOf(instance.plan, check, layout, *memory, t);
            std::byte &byte = bytes[(count * 7919) % bytes.size()];
            byte ^= std::byte(1 << count % 8);
            EXPECT_NE(digest(), toHex(check.outputs));
            byte ^= std::byte(1 << count % 8);
          }
        ++count;
      }
  }
  return count;
}

size_t runSet(const Contents &contents, const OperatorSet &set) {
  size_t count = 0;
  for (const Operator &op : set.operators)
    count += runOperator(contents, op, contents.operators[op.definition]);
  for (const Operator &probe : set.probes)
    count += runOperator(contents, probe, contents.probes[probe.definition]);
  return count;
}

std::string writeBundle(const std::string &folder) {
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/run.opset";
  std::ofstream(path) << "set run\n"
                         "operator linear_weight_f16 from " H3_SPECS "/linear_weight_f16.spec\n"
                         "operator gated_residual_picked from " H3_SPECS
                         "/gated_residual_picked.spec\n"
                         "operator qk_norm_rope from " H3_SPECS "/qk_norm_rope.spec\n"
                         "target sm_90 enabled\n";
  const std::string file = folder + "/run.h3b";
  const std::string command = H3GEN " bundle --ptx-only --no-prove --no-cache " + path + " -o " +
                              file + " >" + folder + "/log 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return file;
}

TEST(BundleRun, EveryVariantPassesItsChecks) {
  const char *named = std::getenv("H3_BUNDLE");
  const std::string file = named ? named : writeBundle(::testing::TempDir() + "bundle_run");
  const auto bundle = Bundle::openFile(file);
  ASSERT_TRUE(bundle) << bundle.error().message;
  for (const OperatorSet &set : bundle->contents().sets) {
    const size_t count = runSet(bundle->contents(), set);
    std::printf("%s: %zu checks\n", set.target.c_str(), count);
    EXPECT_GE(count, 2 * set.operators.size());
  }
}

} // namespace
