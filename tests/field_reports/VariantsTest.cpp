//===-- tests/field_reports/VariantsTest.cpp - Targets and variants -------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// S19, S22, S24: what may not differ between targets, the PTX version that a target asks for, and
// tensors with more elements than 32 bits count.
//
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include "backends/Backend.h"
#include "backends/Target.h"
#include "backends/nvptx/Compile.h"
#include "backends/nvptx/ptx/Interpreter.h"
#include "backends/nvptx/ptx/Reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <regex>
#include <sstream>

namespace h3::test {
namespace {

/// Every operator of a spec, compiled; by \p schedule alone if there is one.
std::vector<Image> imagesOf(const std::string &spec, std::string_view target,
                            const std::string &schedule = "") {
  static const std::unique_ptr<mlir::MLIRContext> context = makeContext();
  std::vector<Image> images;
  Diagnostics diagnostics;
  for (const OperatorInstances &instance : instances(specNamed(spec), diagnostics)) {
    std::vector<const Program *> programs;
    for (const auto &program : instance.programs)
      programs.push_back(program.get());
    std::string error;
    ImageOptions options;
    options.schedule = schedule;
    auto image = nvptx::compile(*context, programs, *findTarget(target), options, error);
    EXPECT_TRUE(image) << spec << ", " << target << ": " << error;
    if (image)
      images.push_back(std::move(*image));
  }
  EXPECT_TRUE(diagnostics.empty()) << diagnostics.renderText();
  EXPECT_FALSE(images.empty());
  return images;
}

/// How often each operation that rounds stands in an entry; a packed one counts twice.
using Roundings = std::map<std::string, unsigned>;

/// By entry.
std::map<std::string, Roundings> roundingsOf(const Image &image) {
  static const std::regex operation(
      R"(^\s*(?:@!?%\w+\s+)?((?:add|sub|mul|fma|div|sqrt|cvt|rsqrt|ex2|rcp)(?:\.\w+)*?)(x2)?[\s;])");
  static const std::regex entry(R"(\.entry\s+(\w+))");
  std::map<std::string, Roundings> result;
  std::istringstream lines(image.text);
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, entry)) {
      name = match[1];
      result[name];
    }
    if (!std::regex_search(line, match, operation))
      continue;
    std::string text = match[1];
    // A sum of mixed types, which newer targets have, widens exactly and rounds as the one of f32.
    for (std::string_view mixed : {".f32.f16", ".f32.bf16"})
      if (!text.starts_with("cvt") && text.ends_with(mixed))
        text.erase(text.size() - mixed.size() + 4);
    if (text.find(".rn") != std::string::npos || text.find(".rz") != std::string::npos ||
        text.find(".approx") != std::string::npos)
      result[name][text] += match[2].matched ? 2 : 1;
  }
  return result;
}

/// What of a schedule decides which operations a thread executes: not how it comes to its elements.
/// Sm_90 has no accesses of 32 bytes.
std::string operationsOf(KernelSchedule schedule) {
  schedule.accessBytes = std::min(schedule.accessBytes, 16u);
  schedule.streamsLoads = schedule.streamsStores = false;
  return schedule.text();
}

/// The entries of an instance of an operator: by schedule, as operationsOf has it.
using Entries = std::map<std::string, Roundings>;

std::vector<Entries> entriesOf(const Image &image) {
  const auto roundings = roundingsOf(image);
  std::vector<Entries> result;
  for (const plan::OperatorPlan &plan : image.plans) {
    Entries &entries = result.emplace_back();
    for (const plan::Variant &variant : plan.variants) {
      auto [known, isNew] = entries.emplace(operationsOf(image.schedules.at(variant.entry)),
                                            roundings.at(variant.entry));
      EXPECT_EQ(known->second, roundings.at(variant.entry)) << variant.entry;
    }
  }
  return result;
}

// S19: newer targets have packed f32 instructions, and wider accesses; neither may change what is
// rounded. A schedule has the same operations, as often, on every target. Targets may differ in the
// schedules that they choose: what one has of its own is compiled for sm_90 too.
TEST(PtxFieldReportsVariants, S19_TargetsRoundTheSameOperations) {
  for (const char *spec : {"qk_norm_rope.spec", "residual_rms_norm.spec", "scaled_residual.spec",
                           "swiglu.spec", "linear_weight_f16.spec"}) {
    std::vector<std::vector<Entries>> expected;
    for (const Image &image : imagesOf(spec, "sm_90"))
      expected.push_back(entriesOf(image));
    for (const char *target : {"sm_100", "sm_103", "sm_120"}) {
      SCOPED_TRACE(std::string(spec) + ", " + target);
      std::vector<Image> images = imagesOf(spec, target);
      ASSERT_EQ(images.size(), expected.size());
      unsigned compared = 0;
      for (size_t k = 0; k < images.size(); ++k) {
        std::vector<Entries> entries = entriesOf(images[k]);
        ASSERT_EQ(entries.size(), expected[k].size());
        for (size_t instance = 0; instance < entries.size(); ++instance)
          for (const auto &[schedule, roundings] : entries[instance]) {
            if (!expected[k][instance].contains(schedule)) {
              std::vector<Image> same = imagesOf(spec, "sm_90", schedule);
              ASSERT_EQ(same.size(), images.size());
              expected[k][instance].merge(entriesOf(same[k])[instance]);
            }
            EXPECT_EQ(roundings, expected[k][instance].at(schedule)) << schedule;
            EXPECT_FALSE(roundings.empty()) << schedule;
            ++compared;
          }
      }
      EXPECT_GE(compared, 6u);
    }
  }
}

// S22: a driver refuses PTX of a version that it does not know, so the text asks for the one in
// which the target appeared (PTX ISA, "Release notes"), or its accesses of 32 bytes (8.8), and no
// later one.
TEST(PtxFieldReportsVariants, S22_PtxHasTheTargetsFirstVersion) {
  const std::pair<const char *, std::string> versions[] = {
      {"sm_80", "7.0"},   {"sm_86", "7.1"},  {"sm_87", "7.4"},  {"sm_89", "7.8"},
      {"sm_90", "7.8"},   {"sm_90a", "8.0"}, {"sm_100", "8.6"}, {"sm_100a", "8.6"},
      {"sm_100f", "8.8"}, {"sm_103", "8.8"}, {"sm_110", "9.0"}, {"sm_120", "8.7"},
      {"sm_121", "8.8"}};
  for (const auto &[target, version] : versions)
    for (const char *spec : {"swiglu.spec", "qk_norm_rope.spec"})
      for (const Image &image : imagesOf(spec, target)) {
        const size_t at = image.text.find(".version ");
        ASSERT_NE(at, std::string::npos);
        const bool isWide = image.text.find(".v8.b32") != std::string::npos;
        EXPECT_EQ(isWide, spec == std::string("swiglu.spec") &&
                              findTarget(target)->has(Capability::Access32Bytes))
            << target << ", " << spec;
        EXPECT_EQ(image.text.substr(at + 9, image.text.find('\n', at) - at - 9),
                  isWide ? std::max(version, std::string("8.8")) : version)
            << target << ", " << spec;
      }
}

//===----------------------------------------------------------------------===//
// S24
//===----------------------------------------------------------------------===//

/// The plan of swiglu for f16 on sm_90.
const Image &swiglu() {
  static const Image image = std::move(imagesOf("swiglu.spec", "sm_90").front());
  return image;
}

std::string variantFor(std::initializer_list<int64_t> x, std::initializer_list<int64_t> xStrides,
                       std::initializer_list<int64_t> y, std::initializer_list<int64_t> yStrides) {
  const plan::OperatorPlan &plan = swiglu().plans.front();
  const plan::Tensor tensors[] = {
      plan::Tensor::strided(uint64_t(1) << 40, plan::DType::F16, x, xStrides),
      plan::Tensor::strided(uint64_t(2) << 40, plan::DType::F16, y, yStrides)};
  auto chosen = plan::evaluate(plan, tensors, {});
  if (const plan::Decline *decline = std::get_if<plan::Decline>(&chosen))
    return plan::describe(plan, *decline);
  return plan.variants[std::get<plan::Launch>(chosen).variant].name;
}

// 61,681 rows of 34,816 are the first that have 2^31 elements; strides reach there earlier.
TEST(PtxFieldReportsVariants, S24_LargeTensorsHaveWideIndices) {
  constexpr int64_t Row = 34816, Out = Row / 2;
  EXPECT_NE(variantFor({61680, Row}, {Row, 1}, {61680, Out}, {Out, 1}).find("_i32"),
            std::string::npos);
  for (const std::string &variant :
       {variantFor({61681, Row}, {Row, 1}, {61681, Out}, {Out, 1}),
        variantFor({3, 128}, {int64_t(1) << 31, 1}, {3, 64}, {64, 1}),
        variantFor({3, 128}, {128, 1}, {3, 64}, {int64_t(1) << 31, 1}),
        variantFor({3, 128}, {1100000000, 1}, {3, 64}, {64, 1}),
        variantFor({200000, 128}, {128 * 1024, 1}, {200000, 64}, {64, 1})})
    EXPECT_NE(variant.find("_i64"), std::string::npos) << variant;
}

// Three rows so far apart that the offset of the last one passes 2^31 elements, run as they are:
// the memory between them does not exist, so a wrapped offset is an access outside all memory.
TEST(PtxFieldReportsVariants, S24_RowsFarApart) {
  constexpr int64_t Rows = 3, Width = 72, Stride = 1100000000;
  const plan::OperatorPlan &plan = swiglu().plans.front();
  std::vector<Bits> x = randomFloats(ScalarType::F16, Rows * 2 * Width, 24);
  Call compact("swiglu.spec", "swiglu");
  compact.set("T", "f16");
  compact.input("x", tensor::StorageType::F16, {Rows, 2 * Width}, x);
  compact.output("y", tensor::StorageType::F16, {Rows, Width});
  const std::vector<Bits> expected = referenceOf(compact).at("y");

  const uint64_t in = uint64_t(1) << 40, out = uint64_t(2) << 40;
  std::vector<std::vector<std::byte>> memory;
  std::vector<ptx::Region> regions;
  for (int64_t row = 0; row < Rows; ++row)
    for (bool isOutput : {false, true}) {
      const int64_t count = isOutput ? Width : 2 * Width;
      std::vector<std::byte> &bytes = memory.emplace_back(size_t(count) * 2);
      for (int64_t k = 0; k < count && !isOutput; ++k)
        std::memcpy(&bytes[size_t(k) * 2], &x[size_t(row * count + k)], 2);
      ptx::Region region;
      region.name = isOutput ? "y" : "x";
      region.address = (isOutput ? out : in) + uint64_t(row * Stride) * 2;
      region.writable = isOutput;
      region.initialised = !isOutput;
      regions.push_back(region);
    }
  for (size_t k = 0; k < regions.size(); ++k)
    regions[k].bytes = memory[k];
  const plan::Tensor tensors[] = {
      plan::Tensor::strided(in, plan::DType::F16, {Rows, 2 * Width}, {Stride, 1}),
      plan::Tensor::strided(out, plan::DType::F16, {Rows, Width}, {Stride, 1})};
  auto chosen = plan::evaluate(plan, tensors, {});
  ASSERT_TRUE(std::holds_alternative<plan::Launch>(chosen));
  const plan::Launch &launch = std::get<plan::Launch>(chosen);
  auto module = ptx::read(swiglu().text);
  ASSERT_TRUE(module) << module.error().message();
  auto fault =
      ptx::run(*module, plan.variants[launch.variant].entry, ptx::LaunchConfig(launch), regions);
  ASSERT_FALSE(fault) << fault->message();
  for (int64_t k = 0; k < Rows * Width; ++k) {
    uint16_t got = 0;
    std::memcpy(&got, &memory[size_t(k / Width * 2 + 1)][size_t(k % Width) * 2], 2);
    ASSERT_EQ(got, expected[size_t(k)]) << "y[" << k / Width << ", " << k % Width << "]";
  }
}

/// Runs swiglu over rows first .. first + count - 1 of two buffers.
RunResult runRows(const char *backend, tensor::TensorData &x, tensor::TensorData &y, int64_t width,
                  int64_t first, int64_t count, int64_t inFront, int64_t outFront) {
  RunRequest request;
  request.spec = &specNamed("swiglu.spec");
  request.settings["T"] = "f16";
  request.backend = backend;
  request.tensors["x"] = {&x, {inFront + first * 2 * width, {count, 2 * width}, {2 * width, 1}}};
  request.tensors["y"] = {&y, {outFront + first * width, {count, width}, {width, 1}}};
  return runOperator(request);
}

// The call of the report, on real memory: 4.3 GB in, 2.1 GB out.
TEST(CudaFieldReportsVariants, S24_LastRowOfALargeTensor) {
  constexpr int64_t Rows = 61681, Width = 17408, Guard = 4096;
  tensor::TensorData x, y;
  auto make = [](tensor::TensorData &data, const char *name, int64_t count) {
    data.name = name;
    data.type = tensor::StorageType::F16;
    data.shape = {count};
    auto buffer = tensor::AlignedBuffer::allocate(size_t(count) * 2);
    if (buffer)
      data.data = std::move(*buffer);
    return buffer.has_value();
  };
  {
    // A small call first: where there is no GPU, nothing large is made.
    tensor::TensorData smallX, smallY;
    ASSERT_TRUE(make(smallX, "x", 128) && make(smallY, "y", 64));
    RunResult result = runRows("cuda", smallX, smallY, 64, 0, 1, 0, 0);
    if (result.code == ExitCode::Lacking)
      GTEST_SKIP() << "skipped: " << result.message;
    ASSERT_EQ(result.code, ExitCode::Good) << result.message;
  }
  if (!make(x, "x", Rows * 2 * Width) || !make(y, "y", Rows * Width + 2 * Guard))
    GTEST_SKIP() << "skipped: not enough memory";
  uint64_t state = 24;
  for (size_t at = 0; at + 8 <= x.data.size(); at += 8) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t bits = state ^ state >> 29;
    std::memcpy(x.data.data() + at, &bits, 8);
  }
  std::memset(y.data.data(), 0x5A, y.data.size());
  RunResult result = runRows("cuda", x, y, Width, 0, Rows, 0, Guard);
  ASSERT_EQ(result.code, ExitCode::Good) << result.message;
  EXPECT_NE(result.report.find("_i64"), std::string::npos) << result.report;
  for (size_t k = 0; k < size_t(Guard) * 2; ++k) {
    ASSERT_EQ(y.data.data()[k], std::byte{0x5A}) << "before the first row";
    ASSERT_EQ(y.data.data()[y.data.size() - 1 - k], std::byte{0x5A}) << "behind the last row";
  }
  for (int64_t row : {int64_t(0), Rows / 2, Rows - 2, Rows - 1})
    for (const char *backend : {"reference", "cuda"}) {
      SCOPED_TRACE(std::string(backend) + ", row " + std::to_string(row));
      tensor::TensorData rowX, rowY;
      ASSERT_TRUE(make(rowX, "x", 2 * Width) && make(rowY, "y", Width));
      std::memcpy(rowX.data.data(), x.data.data() + size_t(row * 2 * Width) * 2, rowX.data.size());
      RunResult one = runRows(backend, rowX, rowY, Width, 0, 1, 0, 0);
      ASSERT_EQ(one.code, ExitCode::Good) << one.message;
      EXPECT_EQ(std::memcmp(rowY.data.data(), y.data.data() + size_t(Guard + row * Width) * 2,
                            rowY.data.size()),
                0);
    }
}

} // namespace
} // namespace h3::test
