//===-- tests/unit/nvptx/VariantsTest.cpp - Which variant serves a call ---===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The plans of compiled operators, asked for calls that differ in where their tensors begin, in
// their strides and in their sizes. Nothing runs here; that all variants have the same bits is for
// the conformance suite.
//
//===----------------------------------------------------------------------===//

#include "backends/Backend.h"
#include "backends/nvptx/Compile.h"
#include "codegen/driver/Specs.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace h3 {
namespace {

using plan::DType;
using plan::Tensor;

/// The operators of a spec for a target, without their PTX.
const std::vector<Image> &imagesOf(const std::string &spec, const std::string &target) {
  static std::map<std::string, std::vector<Image>> known;
  static const std::unique_ptr<mlir::MLIRContext> context = makeContext();
  std::vector<Image> &images = known[spec + target];
  if (!images.empty())
    return images;
  LoadedSpec loaded;
  Diagnostics diagnostics;
  EXPECT_TRUE(loadSpec(std::string(H3GEN_SPECS) + "/" + spec + ".spec", {}, loaded, diagnostics));
  for (const OperatorInstances &entry : instances(loaded, diagnostics)) {
    std::vector<const Program *> programs;
    for (const std::unique_ptr<Program> &program : entry.programs)
      programs.push_back(program.get());
    ImageOptions options;
    options.stage = Stage::Mlir;
    std::string error;
    auto image = nvptx::compile(*context, programs, *findTarget(target), options, error);
    EXPECT_TRUE(image) << spec << ", " << target << ": " << error;
    if (image)
      images.push_back(std::move(*image));
  }
  EXPECT_TRUE(diagnostics.empty()) << diagnostics.renderText();
  EXPECT_FALSE(images.empty());
  return images;
}

/// The first operator's plan for its first types: f16 where there is a choice.
const plan::OperatorPlan &planOf(const std::string &spec, const std::string &target = "sm_90") {
  return imagesOf(spec, target).front().plans.front();
}

/// The variant's name without types, or why the call is declined.
std::string chosen(const plan::OperatorPlan &plan, std::span<const Tensor> tensors) {
  auto result = plan::evaluate(plan, tensors, {});
  if (const plan::Decline *decline = std::get_if<plan::Decline>(&result))
    return plan::describe(plan, *decline);
  std::string name = plan.variants[std::get<plan::Launch>(result).variant].name;
  return name.starts_with("f16_") ? name.substr(4) : name;
}

/// A contiguous call with every tensor far from the others, at an address that is a multiple of
/// 256.
std::vector<Tensor> callOf(std::initializer_list<std::pair<DType, std::vector<int64_t>>> shapes) {
  std::vector<Tensor> tensors;
  for (const auto &[dtype, extents] : shapes)
    tensors.push_back(Tensor::contiguous(uint64_t(tensors.size() + 1) << 50, dtype, extents));
  return tensors;
}

std::vector<Tensor> swigluCall(int64_t rows, int64_t width) {
  return callOf({{DType::F16, {rows, 2 * width}}, {DType::F16, {rows, width}}});
}
std::vector<Tensor> residualCall(DType residual) {
  return callOf({{residual, {5, 2048}},
                 {DType::F16, {5, 2048}},
                 {DType::F32, {2048}},
                 {DType::F32, {5, 2048}}});
}

/// What is chosen when tensor \p moved begins so many bytes behind a multiple of 256.
std::string chosenAt(const plan::OperatorPlan &plan, std::vector<Tensor> tensors, size_t moved,
                     uint64_t bytes) {
  tensors[moved].address += bytes;
  return chosen(plan, tensors);
}

struct Aligned {
  uint64_t bytes;
  const char *variant;
};

void expectAt(const plan::OperatorPlan &plan, const std::vector<Tensor> &tensors, size_t moved,
              std::initializer_list<Aligned> expected) {
  for (auto [bytes, variant] : expected)
    EXPECT_EQ(chosenAt(plan, tensors, moved, bytes), variant)
        << plan.name << ", " << plan.tensors[moved].name << " begins at " << bytes;
}

TEST(Variants, TheWidestAccessThatAnAddressAdmits) {
  for (size_t tensor : {0, 1}) {
    expectAt(planOf("swiglu"), swigluCall(3, 64), tensor,
             {{0, "v16_i32"},
              {32, "v16_i32"},
              {16, "v16_i32"},
              {8, "v8_i32"},
              {24, "v8_i32"},
              {4, "v4_i32"},
              {12, "v4_i32"},
              {2, "s_i32"},
              {6, "s_i32"}});
    expectAt(planOf("swiglu", "sm_103"), swigluCall(3, 64), tensor,
             {{0, "v32_i32"},
              {32, "v32_i32"},
              {16, "v16_i32"},
              {8, "v8_i32"},
              {4, "v4_i32"},
              {2, "s_i32"}});
  }
  // A vector has 4 elements: 16 bytes of f32, 8 of f16. With pairs of f16 the f32 come one by one.
  const plan::OperatorPlan &residual = planOf("scaled_residual");
  expectAt(residual, residualCall(DType::F16), 1,
           {{0, "v16_i32"}, {8, "v16_i32"}, {4, "v8_i32"}, {2, "s_i32"}});
  for (size_t tensor : {2, 3})
    expectAt(residual, residualCall(DType::F16), tensor,
             {{0, "v16_i32"}, {8, "v8_i32"}, {4, "v4_i32"}});
  expectAt(planOf("scaled_residual", "sm_103"), residualCall(DType::F16), 2,
           {{0, "v32_i32"}, {16, "v16_i32"}, {8, "v8_i32"}, {4, "v4_i32"}});

  std::vector<Tensor> normed = callOf({{DType::F16, {5, 2048}},
                                       {DType::F16, {5, 2048}},
                                       {DType::F32, {2048}},
                                       {DType::F32, {2048}},
                                       {DType::F32, {5, 2048}},
                                       {DType::F16, {5, 2048}}});
  expectAt(planOf("residual_rms_norm"), normed, 1,
           {{0, "v16_i32"}, {8, "v16_i32"}, {4, "v4_i32"}, {2, "s_i32"}});
  expectAt(planOf("residual_rms_norm"), normed, 4, {{0, "v16_i32"}, {8, "v8_i32"}, {4, "v4_i32"}});

  std::vector<Tensor> heads = callOf({{DType::F16, {3, 32, 64}},
                                      {DType::F16, {3, 32, 64}},
                                      {DType::F16, {3, 48}},
                                      {DType::F16, {3, 48}},
                                      {DType::F16, {3, 32, 64}},
                                      {DType::F16, {3, 32, 64}}});
  for (size_t tensor = 0; tensor < heads.size(); ++tensor)
    expectAt(planOf("qk_norm_rope"), heads, tensor,
             {{0, "v16_i32"}, {16, "v16_i32"}, {8, "v8_i32"}, {4, "v4_i32"}, {2, "s_i32"}});
}

// Rows of bytes have pairs of those too.
TEST(Variants, BytesHaveAccessesOfTwo) {
  const plan::OperatorPlan &plan = planOf("quant_e4m3");
  const plan::ParameterValue floor = {true, DType::F32, 0};
  auto name = [&](int64_t width, uint64_t behind) {
    std::vector<Tensor> call =
        callOf({{DType::F16, {3, width}}, {DType::E4M3, {3, width}}, {DType::F32, {3}}});
    call[1].address += behind;
    auto result = plan::evaluate(plan, call, std::span(&floor, 1));
    const plan::Launch *launch = std::get_if<plan::Launch>(&result);
    return launch ? plan.variants[launch->variant].name : "";
  };
  const std::pair<uint64_t, const char *> expected[] = {{0, "f16_v16_"}, {16, "f16_v16_"},
                                                        {8, "f16_v8_"},  {4, "f16_v4_"},
                                                        {2, "f16_v2_"},  {1, "f16_s_"}};
  for (auto [behind, start] : expected)
    EXPECT_EQ(name(64, behind).rfind(start, 0), 0u) << behind << ": " << name(64, behind);
  for (auto [width, start] : {std::pair(72, "f16_v8_"), std::pair(68, "f16_v4_"),
                              std::pair(66, "f16_v2_"), std::pair(65, "f16_s_")})
    EXPECT_EQ(name(width, 0).rfind(start, 0), 0u) << width << ": " << name(width, 0);
}

// Rows begin where their length allows.
TEST(Variants, TheWidestAccessThatALengthAdmits) {
  for (auto [width, variant] : {std::pair(72, "v16_i32"), std::pair(76, "v8_i32"),
                                std::pair(78, "v4_i32"), std::pair(77, "s_i32")})
    EXPECT_EQ(chosen(planOf("swiglu"), swigluCall(3, width)), variant) << width;
  for (auto [width, variant] : {std::pair(80, "v32_i32"), std::pair(72, "v16_i32")})
    EXPECT_EQ(chosen(planOf("swiglu", "sm_120"), swigluCall(3, width)), variant) << width;
  // rms_norm asks for pairs itself, and takes another tree where the length is no multiple of 4.
  auto norm = [](int64_t width, uint64_t behind) {
    std::vector<Tensor> call = callOf({{DType::F16, {3, width}}, {DType::F16, {3, width}}});
    call[1].address += behind;
    return chosen(planOf("rms_norm"), call);
  };
  EXPECT_EQ(norm(1024, 0), "v16_i32_n1024_c0");
  EXPECT_EQ(norm(1028, 0), "v16_i32_n4096_c0");
  EXPECT_EQ(norm(8192, 0), "v16_i32_c0");
  EXPECT_EQ(norm(8196, 0), "v8_i32_c0");
  EXPECT_EQ(norm(1024, 4), "v4_i32_c0");
  EXPECT_EQ(norm(1024, 2), "s_i32_n2048_c0");
  EXPECT_EQ(norm(1026, 0), "s_i32_n4096_c1");
  EXPECT_EQ(norm(1027, 0), "s_i32_n4096_c1");
  EXPECT_EQ(norm(5002, 0), "v4_i32_c1");
  EXPECT_EQ(norm(5001, 0), "s_i32_c1");
}

TEST(Variants, AStrideInsideARowIsServedElementByElement) {
  std::vector<Tensor> call = residualCall(DType::F16);
  for (int64_t stride : {2, 3, 8}) {
    call[1] = Tensor::strided(call[1].address, DType::F16, {5, 2048}, {2048 * stride, stride});
    EXPECT_EQ(chosen(planOf("scaled_residual"), call), "s_i32") << stride;
  }
  // So are rows that begin at odd places.
  call = residualCall(DType::F16);
  for (auto [row, variant] :
       {std::pair(2052, "v16_i32"), std::pair(2050, "v8_i32"), std::pair(2049, "s_i32")}) {
    call[1] = Tensor::strided(call[1].address, DType::F16, {5, 2048}, {row, 1});
    EXPECT_EQ(chosen(planOf("scaled_residual"), call), variant) << row;
  }
}

TEST(Variants, IndicesAreWideWhereTheyMust) {
  const plan::OperatorPlan &plan = planOf("swiglu");
  EXPECT_EQ(chosen(plan, swigluCall(1 << 17, 8192)), "v16_i32"); // the last is number 2^31 - 1
  EXPECT_EQ(chosen(plan, swigluCall((1 << 17) + 1, 8192)), "v16_i64");
  EXPECT_EQ(chosen(plan, swigluCall(1 << 17, 8193)), "s_i64");
  EXPECT_EQ(chosen(plan, swigluCall(1 << 17, 8196)), "s_i64") << "no narrow vectors there";
}

// Everything is in x, whose limit is 2^31 - 1 blocks; y and z, with 65,535, are not used.
TEST(Variants, GridsAreOfOneAxis) {
  for (const char *spec : {"qk_norm_rope", "swiglu", "scaled_residual", "residual_rms_norm",
                           "linear_weight_f16", "rms_norm", "quant_e4m3"})
    for (const Image &image : imagesOf(spec, "sm_90"))
      for (const plan::OperatorPlan &plan : image.plans)
        for (const plan::Variant &variant : plan.variants)
          for (int axis : {1, 2})
            EXPECT_EQ(variant.grid[axis], plan::kNoExpr) << variant.entry;
  auto gridOf = [](const plan::OperatorPlan &plan, std::span<const Tensor> tensors) {
    auto result = plan::evaluate(plan, tensors, {});
    const plan::Launch *launch = std::get_if<plan::Launch>(&result);
    return launch ? launch->grid : std::array<uint32_t, 3>{};
  };
  using Grid = std::array<uint32_t, 3>;
  // A block has 128 vectors of 8.
  EXPECT_EQ(gridOf(planOf("swiglu"), swigluCall(0, 64)), (Grid{0, 1, 1}));
  EXPECT_EQ(gridOf(planOf("swiglu"), swigluCall(1 << 20, 1024)), (Grid{1 << 20, 1, 1}));
  EXPECT_EQ(gridOf(planOf("swiglu"), swigluCall(1 << 21, 1024 * 1023)),
            (Grid{(1u << 21) * 1023, 1, 1}));
  EXPECT_EQ(chosen(planOf("swiglu"), swigluCall(1 << 21, 1 << 20)),
            "declined: size: the grid's x extent of variant f16_v16_i64 is 2147483648, the launch "
            "allows 0 to 2147483647");
}

TEST(Variants, WideAccessesAskForTheirPtxVersion) {
  const std::pair<const char *, unsigned> versions[] = {
      {"sm_80", 70}, {"sm_90", 78}, {"sm_100", 88}, {"sm_103", 88}, {"sm_110", 90}, {"sm_120", 88}};
  for (auto [target, version] : versions)
    EXPECT_EQ(imagesOf("swiglu", target).front().ptxVersion, version) << target;
  EXPECT_EQ(imagesOf("qk_norm_rope", "sm_100").front().ptxVersion, 86u) << "none has 32 bytes";
}

TEST(Variants, HintsAreForTargetsWhosePtxHasThem) {
  for (auto [target, expected] : {std::pair("sm_80", false), std::pair("sm_86", false),
                                  std::pair("sm_89", true), std::pair("sm_90", true)})
    for (const auto &[entry, schedule] : imagesOf("swiglu", target).front().schedules) {
      EXPECT_EQ(schedule.streamsLoads, expected) << entry;
      EXPECT_EQ(schedule.streamsStores, expected) << entry;
    }
}

// A variant with all guards of one in front of it would never be reached.
TEST(Variants, NoneIsOutOfReach) {
  for (const char *spec : {"qk_norm_rope", "swiglu", "scaled_residual", "residual_rms_norm",
                           "linear_weight_f16", "rms_norm", "layer_norm", "quant_e4m3", "softmax"})
    for (const char *target : {"sm_90", "sm_103"}) {
      for (const Image &image : imagesOf(spec, target))
        for (const plan::OperatorPlan &plan : image.plans) {
          std::vector<std::set<plan::ExprId>> before;
          for (const plan::Variant &variant : plan.variants) {
            std::set<plan::ExprId> guards;
            for (const plan::Condition &guard : variant.guards)
              guards.insert(guard.expr);
            for (size_t k = 0; k < before.size(); ++k)
              EXPECT_FALSE(
                  std::includes(guards.begin(), guards.end(), before[k].begin(), before[k].end()))
                  << variant.entry << " is behind " << plan.variants[k].entry;
            before.push_back(std::move(guards));
          }
        }
      if (std::string_view(spec) != "swiglu")
        break;
    }
}

TEST(Schedules, HintsArePartOfTheText) {
  std::string error;
  const std::pair<const char *, std::pair<bool, bool>> texts[] = {
      {"access=16 index=32 block=128 | spread(v:8)", {false, false}},
      {"access=16 index=32 block=128 hints=loads | spread(v:8)", {true, false}},
      {"access=16 index=32 block=128 hints=stores | spread(v:8)", {false, true}},
      {"access=32 index=64 block=256 hints=loads+stores | spread(v:8)", {true, true}}};
  for (auto [text, hints] : texts) {
    auto schedule = KernelSchedule::parse(text, error);
    ASSERT_TRUE(schedule) << error;
    EXPECT_EQ(std::pair(schedule->streamsLoads, schedule->streamsStores), hints) << text;
    EXPECT_EQ(schedule->text(), text);
  }
  for (const char *hints : {"", "load", "loads+", "loads+loads", "1"}) {
    EXPECT_FALSE(
        KernelSchedule::parse(std::string("access=16 hints=") + hints + " | spread(v:8)", error));
    EXPECT_EQ(error, "'hints=" + std::string(hints) +
                         "': expected hints=loads, hints=stores or hints=loads+stores");
  }
  EXPECT_FALSE(KernelSchedule::parse("access=64 | spread(v:8)", error));
}

} // namespace
} // namespace h3
