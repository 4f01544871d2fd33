//===-- tests/unit/kernel/RemapsTest.cpp - Elements fetched from other threads ---===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Rows whose elements use other elements, by schedules that fetch them by shuffles, on the PTX
// interpreter, against the reference interpreter; and which schedules cannot.
//
//===----------------------------------------------------------------------===//

#include "codegen/driver/Run.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <random>

namespace h3 {
namespace {

constexpr int64_t rows = 21; // several teams a warp, and teams that are not there

struct RemapCase {
  const char *type;
  int64_t extent, rotated; ///< elements of a row, and of them that are rotated
  const char *schedule;
  const char *refused = ""; ///< part of the reason
};

void PrintTo(const RemapCase &row, std::ostream *stream) {
  *stream << row.type << " " << row.rotated << " of " << row.extent << ", " << row.schedule;
}

/// A norm, so that the row costs arithmetic, then a rotation.
std::string specOf(const RemapCase &row) {
  return fmt::format("use eager.norm\nuse eager.rope\n"
                     "op rotated(eps: f32 = 1e-5) {{ dim rows, n = {0}, r = {1}\n"
                     "  in x: {2}[rows, n] strides(_, 1) in c, s: {2}[rows, r]\n"
                     "  out y: {2}[rows, n]\n"
                     "  y[t] = rope.neox(norm.rms_norm(x[t], eps), c[t], s[t]) }}",
                     row.extent, row.rotated, row.type);
}

tensor::TensorData randomRows(const std::string &name, plan::DType type, int64_t extent) {
  tensor::TensorData data;
  data.name = name;
  data.type = *tensor::storageOf(type);
  data.shape = {rows, extent};
  size_t bytes = static_cast<size_t>(rows * extent) * plan::bytes(type);
  data.data = *tensor::AlignedBuffer::allocate(bytes);
  std::mt19937 random(static_cast<unsigned>(extent));
  for (size_t i = 0; i < bytes; ++i)
    data.data.data()[i] = static_cast<std::byte>(random()); // any bits: NaNs and infinities too
  return data;
}

class PtxRemaps : public testing::TestWithParam<RemapCase> {};

TEST_P(PtxRemaps, GiveTheBitsOfTheReference) {
  const RemapCase &row = GetParam();
  LoadedSpec spec;
  Diagnostics diagnostics;
  ASSERT_TRUE(loadSpecText(specOf(row), {}, spec, diagnostics)) << diagnostics.renderText();
  plan::DType type = *plan::dtypeNamed(row.type);
  tensor::TensorData x = randomRows("x", type, row.extent);
  tensor::TensorData c = randomRows("c", type, row.rotated);
  tensor::TensorData s = randomRows("s", type, row.rotated);
  RunRequest request;
  request.spec = &spec;
  for (tensor::TensorData *data : {&x, &c, &s})
    request.tensors[data->name] = {data, tensor::wholeView(data->shape)};
  RunResult reference = runOperator(request);
  ASSERT_EQ(reference.code, ExitCode::Good) << reference.message;
  request.backend = "ptx";
  request.schedule = row.schedule;
  RunResult result = runOperator(request);
  if (*row.refused) {
    EXPECT_EQ(result.code, ExitCode::BadInput);
    EXPECT_NE(result.message.find(row.refused), std::string::npos) << result.message;
    return;
  }
  ASSERT_EQ(result.code, ExitCode::Good) << result.message;
  EXPECT_NE(result.ptx->find("shfl.sync.idx"), std::string::npos);
  Comparison comparison = compareBits(result.outputs["y"], reference.outputs["y"]);
  EXPECT_TRUE(comparison.sameShape);
  EXPECT_EQ(comparison.different, 0) << comparison.first;
}

constexpr const char *notPlain = "each of which has elements that are neighbours";

INSTANTIATE_TEST_SUITE_P(
    Schedules, PtxRemaps,
    testing::Values(
        RemapCase{"f16", 64, 48, "access=16 index=32 block=128 remap=shuffle | hold(t0:8, v:8)"},
        RemapCase{"f16", 64, 48, "access=8 index=64 block=32 remap=shuffle | hold(t0:16, v:4)"},
        RemapCase{"f16", 64, 32,
                  "access=16 index=32 block=64 remap=shuffle | hold(t0:4, r:2, v:8)"},
        RemapCase{"f16", 64, 48, "access=1 index=32 block=64 remap=shuffle | hold(t0:8, r:8)"},
        RemapCase{"f16", 128, 128, "access=16 index=32 block=64 remap=shuffle | hold(t0:16, v:8)"},
        RemapCase{"bf16", 96, 32, "access=8 index=32 block=64 remap=shuffle | hold(t0:32, v:4)"},
        RemapCase{"f32", 64, 8, "access=16 index=32 block=128 remap=shuffle | hold(t0:16, v:4)"},
        RemapCase{"f32", 128, 96, "access=16 index=32 block=64 remap=shuffle | hold(t0:32, v:4)"},
        RemapCase{"f16", 64, 48,
                  "access=16 index=32 block=64 remap=shuffle | hold(t0:8, v:8) rows:2"},
        RemapCase{"f16", 64, 40, "access=16 index=32 block=128 remap=shuffle | hold(t0:8, v:8)",
                  "no multiple of the 8 elements"},
        RemapCase{"f16", 64, 48, "access=8 index=32 block=64 remap=shuffle | hold(r:2, t0:8, v:4)",
                  notPlain},
        RemapCase{"f16", 256, 128, "access=8 index=32 block=64 remap=shuffle | hold(t0:64, v:4)",
                  notPlain}));

TEST(PtxRemapsOf, NothingAreRefused) {
  LoadedSpec spec;
  Diagnostics diagnostics;
  ASSERT_TRUE(loadSpecText("op t { dim rows, n = 8 in x: f32[rows, n] strides(_, 1)\n"
                           "  out y: f32[rows, n]\n  y[r, i] = x[r, i] + 1.0 }",
                           {}, spec, diagnostics))
      << diagnostics.renderText();
  tensor::TensorData x = randomRows("x", plan::DType::F32, 8);
  RunRequest request;
  request.spec = &spec;
  request.tensors["x"] = {&x, tensor::wholeView(x.shape)};
  request.backend = "ptx";
  request.schedule = "access=16 index=32 block=128 remap=shuffle | spread(v:4)";
  RunResult result = runOperator(request);
  EXPECT_EQ(result.code, ExitCode::BadInput);
  EXPECT_NE(result.message.find("nothing to shuffle"), std::string::npos) << result.message;
}

} // namespace
} // namespace h3
