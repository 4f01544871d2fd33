//===-- tests/golden/ReadingsTest.cpp - Wrong readings are noticed --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the golden files can see. Each test changes the library in one place, as somebody who
// misreads the reference would write it, and counts where the recorded bits notice.
//
//===----------------------------------------------------------------------===//

#include "codegen/driver/Run.h"
#include "tests/golden/GoldenTable.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace h3::golden {
namespace {

using Edits = std::vector<std::pair<std::string, std::string>>;

std::string readText(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Every occurrence of each left side replaced; a left side that is not there fails the test.
std::string edited(std::string text, const Edits &edits) {
  for (const auto &[from, to] : edits) {
    EXPECT_NE(text.find(from), std::string::npos) << from;
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  }
  return text;
}

/// A spec of the tree, read with \p file changed: itself, or one of the library
/// ("eager/norm.spec").
class Reading {
public:
  Reading(const std::string &spec, const std::string &file, const Edits &edits) {
    std::filesystem::path folder = testing::TempDir() + fmt::format("/reading-{}", getpid());
    std::filesystem::create_directories(folder / "eager");
    std::string text = readText(std::string(H3GEN_SPECS) + "/" + spec);
    if (file == spec)
      text = edited(text, edits);
    else
      std::ofstream(folder / file)
          << edited(readText(std::string(H3GEN_SPECS) + "/" + file), edits);
    Diagnostics diagnostics;
    EXPECT_TRUE(loadSpecText(text, {folder.string()}, loaded, diagnostics))
        << diagnostics.renderText();
    std::filesystem::remove_all(folder);
  }

  /// How many elements of all the outputs differ from the file's.
  int64_t different(const std::string &file, const std::string &op,
                    const std::map<std::string, std::string> &bind,
                    const std::map<std::string, std::string> &settings,
                    const std::map<std::string, std::string> &expect) {
    std::string error;
    tensor::TensorFile *data = goldenFile(file, error);
    if (!data) {
      ADD_FAILURE() << error;
      return 0;
    }
    auto select = [&](const std::string &reference) {
      auto view = tensor::select(*data, reference);
      EXPECT_TRUE(bool(view)) << reference;
      return BoundView{&data->tensors[view->tensor - data->tensors.data()], view->view};
    };
    RunRequest request;
    request.spec = &loaded;
    request.op = op;
    request.settings = settings;
    for (const auto &[name, reference] : bind)
      request.tensors[name] = select(reference);
    RunResult result = runOperator(request);
    EXPECT_EQ(result.code, ExitCode::Good) << result.message;
    int64_t count = 0;
    for (const auto &[name, reference] : expect) {
      Comparison comparison = compareBits(result.outputs[name], select(reference));
      EXPECT_TRUE(comparison.sameShape);
      count += comparison.different;
    }
    return count;
  }

private:
  LoadedSpec loaded;
};

/// Sizes of norms.safetensors at which RMSNorm or LayerNorm without affine differs.
struct Noticed {
  int rms = 0, layer = 0;
};

Noticed sizesThatNotice(const std::string &type, const std::vector<int> &sizes,
                        const Edits &edits) {
  Reading rms("rms_norm.spec", "eager/norm.spec", edits),
      layer("layer_norm.spec", "eager/norm.spec", edits);
  Noticed noticed;
  for (int size : sizes) {
    std::string row = fmt::format("{}_{}.", type, size);
    auto differs = [&](Reading &reading, const std::string &op, const std::string &expected) {
      return reading.different("norms.safetensors", op, {{"x", row + "x"}}, {{"eps", "1e-6"}},
                               {{"y", row + expected}}) > 0;
    };
    noticed.rms += differs(rms, "rms_norm", "rms");
    noticed.layer += differs(layer, "layer_norm", "ln");
  }
  return noticed;
}

const std::vector<int> Fused = {64,   96,   128,  256,  512,  768, 1024,
                                1152, 1536, 2048, 3072, 4096, 5120};
const std::vector<int> Fallback = {7, 33, 130};

/// The chain over a slot's elements in another order: \p index is the element at the digits of the
/// \p binder, k in a vector of 4 and c of the chunks, and t of the threads.
Edits walked(const std::string &binder, const std::string &digits, const std::string &index) {
  auto reduction = [&](const std::string &seed, const std::string &step) {
    return fmt::format("reduce ({}, t: 128) by row_walked\n    {}\n    step s = if {} < n then {} "
                       "else s",
                       binder, seed, index, step);
  };
  std::string at = "f32(x[" + index + "])";
  std::string moments = "from s: Moments = Moments(mean = 0.0, m2 = 0.0, n = 0.0)";
  std::string sum = "from s: f32 = 0.0";
  std::string head = "reduce i: n by row_vec4\n    ";
  return {{"order row_vec4 =", "order row_walked = (" + digits +
                                   ", warp: 4, lane: 32) then halving lane then halving "
                                   "warp\norder row_vec4 ="},
          {head + moments + "\n    step s = push(s, f32(x[i]))",
           reduction(moments, "push(s, " + at + ")")},
          {head + sum + "\n    step s = fma(f32(x[i]), f32(x[i]), s)",
           reduction(sum, "fma(" + at + ", " + at + ", s)")}};
}

struct WrongOrder {
  const char *name;
  Edits edits;
  Noticed f32, f16;
};

void PrintTo(const WrongOrder &order, std::ostream *stream) { *stream << order.name; }

class WrongOrders : public testing::TestWithParam<WrongOrder> {};

TEST_P(WrongOrders, AreNoticedAtTheseSizes) {
  const WrongOrder &wrong = GetParam();
  Noticed f32 = sizesThatNotice("f32", Fused, wrong.edits);
  Noticed f16 = sizesThatNotice("f16", Fused, wrong.edits);
  EXPECT_EQ(f32.rms, wrong.f32.rms);
  EXPECT_EQ(f32.layer, wrong.f32.layer);
  EXPECT_EQ(f16.rms, wrong.f16.rms);
  EXPECT_EQ(f16.layer, wrong.f16.layer);
}

const std::string Joined = "_: 4) then halving lane then halving warp";

INSTANTIATE_TEST_SUITE_P(
    Eager, WrongOrders,
    testing::Values(WrongOrder{"Unchanged", {}, {0, 0}, {0, 0}},
                    WrongOrder{"ElementOutsideChunk",
                               walked("k: 4, c: (n + 511) / 512", "_: 4, _", "c * 512 + t * 4 + k"),
                               {5, 8},
                               {0, 5}},
                    WrongOrder{"ChainFromTheLastElement",
                               walked("c: (n + 511) / 512, k: 4", "_, _: 4",
                                      "((n + 511) / 512 - 1 - c) * 512 + t * 4 + (3 - k)"),
                               {9, 13},
                               {0, 6}},
                    WrongOrder{"WarpsBeforeLanes",
                               {{Joined, "_: 4) then halving warp then halving lane"}},
                               {8, 10},
                               {1, 9}},
                    WrongOrder{"AdjacentForHalving",
                               {{Joined, "_: 4) then adjacent lane then adjacent warp"}},
                               {11, 13},
                               {1, 7}},
                    WrongOrder{"OperandsOfTheJoinSwapped",
                               {{"= merge(lo, hi)", "= merge(hi, lo)"}},
                               {0, 3},
                               {0, 1}},
                    // Nothing that was recorded notices: see IdleSlots.
                    WrongOrder{"IdleSlotsSkipped",
                               {{"return if n > 0.0\n",
                                 "return if hi.n == 0.0 then lo\n    else if n > 0.0\n"}},
                               {0, 0},
                               {0, 0}}),
    [](const testing::TestParamInfo<WrongOrder> &info) { return info.param.name; });

TEST(WrongReadings, OperandsOfTheFallbackSwapped) {
  Edits edits = {{"= merge_512(a, b)", "= merge_512(b, a)"}};
  Noticed f32 = sizesThatNotice("f32", Fallback, edits);
  Noticed f16 = sizesThatNotice("f16", Fallback, edits);
  EXPECT_EQ(f32.rms, 3);
  EXPECT_EQ(f32.layer, 3);
  EXPECT_EQ(f16.rms, 0);
  EXPECT_EQ(f16.layer, 1);
}

// What a compiler does that may contract a product and a sum.
TEST(WrongReadings, ContractedRotation) {
  Reading reading(
      "qk_norm_rope.spec", "eager/rope.spec",
      {{"x[i] * cos[i] + (-x[i + r / 2]) * sin[i]", "fma(x[i], cos[i], (-x[i + r / 2]) * sin[i])"},
       {"x[i] * cos[i] + x[i - r / 2] * sin[i]", "fma(x[i], cos[i], x[i - r / 2] * sin[i])"}});
  std::string row = "1x195_normal.";
  EXPECT_EQ(reading.different("qk_norm_rope.safetensors", "qk_norm_rope",
                              {{"q", row + "qkv[..., 0:64]"},
                               {"k", row + "qkv[..., 64:128]"},
                               {"cos", row + "cos"},
                               {"sin", row + "sin"}},
                              {}, {{"q_out", row + "q_out"}, {"k_out", row + "k_out"}}),
            146479); // of 798,720
}

TEST(WrongReadings, ContractedResidual) {
  Reading reading("scaled_residual.spec", "scaled_residual.spec",
                  {{"f32(residual[r, i]) + f32(branch[r, i]) * scale[i]",
                    "fma(f32(branch[r, i]), scale[i], f32(residual[r, i]))"}});
  std::string row = "64_normal.";
  EXPECT_EQ(
      reading.different(
          "scaled_residual.safetensors", "scaled_residual",
          {{"residual", row + "residual"}, {"branch", row + "branch"}, {"scale", row + "scale"}},
          {}, {{"h", row + "out"}}),
      30718); // of 131,072
}

} // namespace
} // namespace h3::golden
