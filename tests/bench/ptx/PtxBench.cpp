//===-- tests/bench/ptx/PtxBench.cpp - Speed of the PTX interpreter -------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Runs qk_norm_rope's PTX for about one million elements on one core, every variant, and prints the
// time by element and by instruction. Its profile says where it goes: `perf record h3_ptx_bench`,
// or valgrind --tool=callgrind with a small number of tokens.
//
//   h3_ptx_bench [TARGET [TOKENS]]
//
//===----------------------------------------------------------------------===//

#include "backends/Backend.h"
#include "backends/Target.h"
#include "backends/nvptx/Compile.h"
#include "backends/nvptx/ptx/Interpreter.h"
#include "backends/nvptx/ptx/Reader.h"
#include "codegen/driver/Specs.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <random>

using namespace h3;

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static int fail(const std::string &message) {
  fmt::print(stderr, "{}\n", message);
  return 1;
}

int main(int argc, char **argv) {
  const Target *target = findTarget(argc > 1 ? argv[1] : "sm_90");
  int64_t tokens = argc > 2 ? std::atoll(argv[2]) : 245;
  if (!target || tokens <= 0)
    return fail("usage: h3_ptx_bench [TARGET [TOKENS]]");

  LoadedSpec spec;
  Diagnostics diagnostics;
  if (!loadSpec(std::string(H3GEN_SPECS) + "/qk_norm_rope.spec", {}, spec, diagnostics))
    return fail(diagnostics.renderText());
  std::vector<OperatorInstances> operators = instances(spec, diagnostics);
  std::string error;
  auto context = makeContext();
  const Program *programs[] = {operators[0].programs[0].get()};
  auto image = nvptx::compile(*context, programs, *target, {}, error);
  if (!image)
    return fail(error);
  double begin = now();
  auto module = ptx::read(image->text);
  if (!module)
    return fail(module.error().message());
  fmt::print("read {} bytes of PTX in {:.1f} ms\n", image->text.size(), (now() - begin) * 1000);

  const plan::OperatorPlan &plan = image->plans[0];
  std::mt19937_64 random(1);
  std::vector<std::vector<std::byte>> buffers;
  std::vector<plan::Tensor> tensors;
  int64_t elements = 0;
  for (const plan::TensorSpec &tensor : plan.tensors) {
    bool isTable = tensor.name == "cos" || tensor.name == "sin";
    std::vector<int64_t> extents =
        isTable ? std::vector<int64_t>{tokens, 48} : std::vector<int64_t>{tokens, 32, 64};
    int64_t count = extents[0] * extents[1] * (isTable ? 1 : extents[2]);
    elements += tensor.isOutput ? count : 0;
    std::vector<std::byte> &bytes = buffers.emplace_back(static_cast<size_t>(count) * 2);
    for (size_t i = 0; i < bytes.size(); i += 2) {
      bytes[i] = static_cast<std::byte>(random());
      bytes[i + 1] = static_cast<std::byte>((random() & 0x83) | 0x38);
    }
    tensors.push_back(plan::Tensor::contiguous(0x100000000 * tensors.size() + 0x100000000,
                                               tensor.dtype, extents));
  }
  for (const plan::Variant &variant : plan.variants) {
    plan::OperatorPlan only = plan;
    only.variants = {variant};
    auto chosen = plan::evaluate(only, tensors, {});
    if (auto *decline = std::get_if<plan::Decline>(&chosen))
      return fail(plan::describe(only, *decline));
    ptx::LaunchConfig launch(std::get<plan::Launch>(chosen));
    std::vector<ptx::Region> regions;
    for (size_t i = 0; i < buffers.size(); ++i)
      regions.push_back({plan.tensors[i].name, tensors[i].address, buffers[i],
                         plan.tensors[i].isOutput, !plan.tensors[i].isOutput});
    ptx::RunStatistics statistics;
    begin = now();
    if (auto fault = ptx::run(*module, variant.entry, launch, regions, {}, &statistics))
      return fail(fault->message());
    double seconds = now() - begin;
    fmt::print("{}: {} elements in {:.2f} s, {:.0f} ns an element; {} instructions in {} blocks, "
               "{:.1f} ns an instruction\n",
               variant.name, elements, seconds, seconds * 1e9 / static_cast<double>(elements),
               statistics.instructions, statistics.blocks,
               seconds * 1e9 / static_cast<double>(statistics.instructions));
  }
  return 0;
}
