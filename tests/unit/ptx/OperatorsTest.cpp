//===-- tests/unit/ptx/OperatorsTest.cpp - Emitted PTX against the reference -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Every variant of the repository's operators on three targets: its PTX in the interpreter against
// the reference interpreter, bit for bit, on random bits (NaN, infinities and subnormals occur),
// under several seeds of the scheduler.
//
//===----------------------------------------------------------------------===//

#include "backends/Backend.h"
#include "backends/Target.h"
#include "backends/nvptx/Compile.h"
#include "backends/nvptx/ptx/Interpreter.h"
#include "backends/nvptx/ptx/Reader.h"
#include "codegen/driver/Specs.h"
#include "dsl/interpreter/Interpreter.h"
#include "runtime/plan/Plan.h"

#include <gtest/gtest.h>

#include <random>

namespace h3 {
namespace {

struct Shape {
  std::string spec;
  std::vector<std::vector<int64_t>> extents; ///< by tensor of the operator
};

class PtxOperators : public testing::TestWithParam<std::string> {
protected:
  void check(const Shape &shape);
  void checkProgram(const Program &program, const plan::OperatorPlan &plan,
                    const ptx::Module &module, const Shape &shape);
  unsigned compared = 0;
};

/// Random bits, a third of them small numbers of the type as fresh kernels see them.
void fill(std::vector<std::byte> &bytes, std::mt19937_64 &random) {
  for (size_t i = 0; i < bytes.size(); i += 2) {
    auto value = static_cast<uint16_t>(random());
    if (random() % 3 != 0)
      value = static_cast<uint16_t>((value & 0x83FF) | (12 + random() % 6) << 10);
    std::memcpy(&bytes[i], &value, 2);
  }
}

void PtxOperators::checkProgram(const Program &program, const plan::OperatorPlan &plan,
                                const ptx::Module &module, const Shape &shape) {
  std::mt19937_64 random(7);
  std::vector<std::vector<std::byte>> buffers;
  std::vector<plan::Tensor> tensors;
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    int64_t elements = 1;
    for (int64_t extent : shape.extents[i])
      elements *= extent;
    std::vector<std::byte> &bytes =
        buffers.emplace_back(static_cast<size_t>(elements) * byteWidth(program.tensors[i].type));
    if (!plan.tensors[i].isOutput)
      fill(bytes, random);
    tensors.push_back(
        plan::Tensor::contiguous(0x100000000 * (i + 1), plan.tensors[i].dtype, shape.extents[i]));
  }

  auto bound = plan::bind(plan, tensors, {});
  ASSERT_TRUE(std::holds_alternative<plan::Binding>(bound))
      << plan::describe(plan, std::get<plan::Decline>(bound));
  const plan::Binding &binding = std::get<plan::Binding>(bound);

  // What the spec means.
  std::vector<std::vector<std::byte>> expected = buffers;
  Arguments arguments;
  arguments.dims.assign(binding.dims.begin(), binding.dims.begin() + program.dims.size());
  arguments.parameters.assign(binding.parameters.begin(),
                              binding.parameters.begin() + program.parameters.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    TensorView view;
    view.data = expected[i].data();
    view.strides.assign(binding.tensors[i].strides.begin(),
                        binding.tensors[i].strides.begin() + program.tensors[i].extents.size());
    arguments.tensors.push_back(view);
  }
  ASSERT_EQ(interpret(program, arguments).value_or(""), "");

  for (const plan::Variant &variant : plan.variants) {
    plan::OperatorPlan only = plan;
    only.variants = {variant};
    auto chosen = plan::evaluate(only, tensors, {});
    ASSERT_TRUE(std::holds_alternative<plan::Launch>(chosen)) << variant.entry;
    ptx::LaunchConfig launch(std::get<plan::Launch>(chosen));
    for (uint64_t seed : {1u, 2u}) {
      std::vector<std::vector<std::byte>> got = buffers;
      std::vector<ptx::Region> regions;
      for (size_t i = 0; i < got.size(); ++i)
        regions.push_back({plan.tensors[i].name, tensors[i].address, got[i],
                           plan.tensors[i].isOutput, !plan.tensors[i].isOutput});
      ptx::RunOptions options;
      options.seed = seed;
      auto fault = ptx::run(module, variant.entry, launch, regions, options);
      ASSERT_FALSE(fault) << variant.entry << ": " << fault->message();
      for (size_t i = 0; i < got.size(); ++i) {
        if (!plan.tensors[i].isOutput)
          continue;
        EXPECT_EQ(got[i], expected[i]) << variant.entry << ", " << plan.tensors[i].name;
        ++compared;
      }
    }
  }
}

void PtxOperators::check(const Shape &shape) {
  LoadedSpec spec;
  Diagnostics diagnostics;
  ASSERT_TRUE(loadSpec(std::string(H3GEN_SPECS) + "/" + shape.spec, {}, spec, diagnostics))
      << diagnostics.renderText();
  const Target *target = findTarget(GetParam());
  ASSERT_TRUE(target);
  for (const OperatorInstances &instance : instances(spec, diagnostics)) {
    std::vector<const Program *> programs;
    for (const auto &program : instance.programs)
      programs.push_back(program.get());
    std::string error;
    auto context = makeContext();
    auto image = nvptx::compile(*context, programs, *target, {}, error);
    ASSERT_TRUE(image) << error;
    auto module = ptx::read(image->text);
    ASSERT_TRUE(module) << module.error().message();
    auto again = ptx::read(ptx::print(*module));
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_TRUE(*module == *again);
    ASSERT_EQ(programs.size(), image->plans.size());
    for (size_t i = 0; i < programs.size(); ++i)
      checkProgram(*programs[i], image->plans[i], *again, shape);
  }
  EXPECT_GT(compared, 0u);
}

TEST_P(PtxOperators, QkNormRope) {
  check({"qk_norm_rope.spec",
         {{1, 5, 3, 64}, {1, 5, 2, 64}, {5, 48}, {5, 48}, {1, 5, 3, 64}, {1, 5, 2, 64}}});
}
TEST_P(PtxOperators, ScaledResidual) {
  check({"scaled_residual.spec", {{3, 2048}, {3, 2048}, {2048}, {3, 2048}}});
}
TEST_P(PtxOperators, Swiglu) { check({"swiglu.spec", {{2, 5632}, {2, 2816}}}); }

INSTANTIATE_TEST_SUITE_P(Targets, PtxOperators, testing::Values("sm_80", "sm_90", "sm_120"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace h3
