//===-- tests/golden/GoldenTest.cpp - Bits of the reference, case by case -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Run.h"
#include "codegen/driver/plugin/PluginBackend.h"
#include "tests/golden/GoldenTable.h"

#include <gtest/gtest.h>

#include <cstring>
#include <iostream>

namespace h3::golden {

void PrintTo(const GoldenCase &row, std::ostream *stream) { *stream << row.prefix; }

namespace {

/// All backends run the same rows: a test runs one case, or all cases of a suite, which share a
/// compiled image.
class GoldenCalls {
protected:
  std::string expand(const std::string &text) const { return current.expand(text); }

  BoundView select(tensor::TensorFile &file, const std::string &reference) {
    auto view = tensor::select(file, reference);
    if (!view) {
      ADD_FAILURE() << view.error().message;
      return {};
    }
    return {&file.tensors[view->tensor - file.tensors.data()], view->view};
  }

  /// What `{"parts": [...], "shape": [...]}` binds: parts laid end to end.
  BoundView assemble(tensor::TensorFile &file, const Json &binding);

  void check(const GoldenCase &row, const std::string &backend, const std::string &target = {});
  void compare(const Json &suite, tensor::TensorFile &file, RunResult &result);

  GoldenCase current;
  std::vector<std::unique_ptr<tensor::TensorData>> assembled;
};

BoundView GoldenCalls::assemble(tensor::TensorFile &file, const Json &binding) {
  std::vector<std::byte> bytes;
  auto row = std::make_unique<tensor::TensorData>();
  auto append = [&](uint64_t bits) {
    const auto *raw = reinterpret_cast<const std::byte *>(&bits);
    bytes.insert(bytes.end(), raw, raw + tensor::bytes(row->type));
  };
  for (const Json &part : binding["parts"]) {
    if (part.is_string()) {
      BoundView view = select(file, expand(part));
      if (!view.storage)
        return {};
      row->type = view.storage->type;
      std::vector<std::byte> packed = tensor::TensorView{view.storage, view.view}.packed();
      bytes.insert(bytes.end(), packed.begin(), packed.end());
    } else if (part.contains("pattern")) {
      row->type = part["pattern"] == "f16" ? tensor::StorageType::F16 : tensor::StorageType::BF16;
      for (uint64_t bits = 0; bits < 0x10000; ++bits)
        append(bits);
    } else {
      uint64_t bits = std::stoull(part["bits"].get<std::string>(), nullptr, 16);
      for (int64_t i = 0; i < part["count"].get<int64_t>(); ++i)
        append(bits);
    }
  }
  auto count = static_cast<int64_t>(bytes.size() / tensor::bytes(row->type));
  row->shape = binding.value("shape", std::vector<int64_t>{1, count});
  if (tensor::elementCount(row->shape) != count) {
    ADD_FAILURE() << "the shape does not have the parts' " << count << " elements";
    return {};
  }
  row->data = *tensor::AlignedBuffer::allocate(bytes.size());
  std::memcpy(row->data.data(), bytes.data(), bytes.size());
  assembled.push_back(std::move(row));
  return {assembled.back().get(), tensor::wholeView(assembled.back()->shape)};
}

/// Runs the case and compares every output.
void GoldenCalls::check(const GoldenCase &row, const std::string &backend,
                        const std::string &target) {
  current = row;
  assembled.clear();
  const Json &suite = *row.suite;
  LoadedSpec spec;
  Diagnostics diagnostics;
  ASSERT_TRUE(loadSpec(std::string(H3GEN_SPECS) + "/" + suite["spec"].get<std::string>(), {}, spec,
                       diagnostics))
      << diagnostics.renderText();
  std::string error;
  tensor::TensorFile *file = goldenFile(suite["file"], error);
  ASSERT_TRUE(file) << error;

  RunRequest request;
  request.spec = &spec;
  request.backend = backend;
  request.target = target;
  request.op = suite["operator"];
  for (const auto &[name, binding] : suite["bind"].items()) {
    request.tensors[name] =
        binding.is_string() ? select(*file, expand(binding)) : assemble(*file, binding);
    ASSERT_TRUE(request.tensors[name].storage) << name;
  }
  const Json settings = suite.value("set", Json::object());
  for (const auto &[name, value] : settings.items())
    request.settings[name] = value;

  RunResult result = runOperator(request);
  if (backend != "reference" && result.code == ExitCode::Lacking)
    GTEST_SKIP() << "skipped: " << result.message;
  compare(suite, *file, result);

  // The first variant that can serve did; the others have the same bits.
  unsigned served = 1;
  for (const std::string &variant : result.variants) {
    request.variant = variant;
    RunResult other = runOperator(request);
    if (other.code != ExitCode::Good) {
      EXPECT_NE(other.message.find("no_variant"), std::string::npos) << other.message;
      continue;
    }
    SCOPED_TRACE(variant);
    compare(suite, *file, other);
    ++served;
  }
  if (!result.variants.empty())
    std::cout << result.report << "; " << served - 1 << " of " << result.variants.size()
              << " variants served\n";
}

void GoldenCalls::compare(const Json &suite, tensor::TensorFile &file, RunResult &result) {
  ASSERT_EQ(result.code, ExitCode::Good) << result.message;
  int64_t compared = 0;
  for (const auto &[name, reference] : suite["expect"].items()) {
    BoundView expected = select(file, expand(reference));
    ASSERT_TRUE(expected.storage) << name;
    ASSERT_TRUE(result.outputs.count(name)) << name;
    Comparison comparison = compareBits(result.outputs[name], expected);
    EXPECT_TRUE(comparison.sameShape) << name;
    EXPECT_EQ(comparison.different, 0) << name << ": " << comparison.first;
    compared += comparison.elements;
  }
  EXPECT_GT(compared, 0) << "nothing was compared";
}

class Golden : public testing::TestWithParam<GoldenCase>, protected GoldenCalls {};
class GoldenSuite : public testing::TestWithParam<std::vector<GoldenCase>>, protected GoldenCalls {
protected:
  void checkAll(const std::string &backend, const std::string &target = {}) {
    for (const GoldenCase &row : GetParam()) {
      SCOPED_TRACE(row.prefix);
      check(row, backend, target);
      if (IsSkipped())
        return;
    }
  }
};

TEST_P(Golden, ReferenceInterpreterHasTheBits) { check(GetParam(), "reference"); }
TEST_P(GoldenSuite, PtxInterpreterHasTheBits) { checkAll("ptx"); }
/// Images for a processor may take a minute to compile: the usual run has those of the H3 set.
class GoldenProcessor : public GoldenSuite {
protected:
  void check(const char *target) {
    const std::string spec = (*GetParam().front().suite)["spec"];
    const char *wanted = std::getenv("H3GEN_CPU");
    const bool isUsual = spec == "qk_norm_rope.spec" || spec == "swiglu.spec" ||
                         spec == "scaled_residual.spec" || spec == "residual_rms_norm.spec";
    if (!isUsual && !(wanted && std::string_view(wanted) == "all"))
      GTEST_SKIP() << "skipped: takes long to compile; H3GEN_CPU=all runs it";
    checkAll("cpu", target);
  }
};

TEST_P(GoldenProcessor, X86V2HasTheBits) { check("x86-64-v2"); }
TEST_P(GoldenProcessor, X86V3HasTheBits) { check("x86-64-v3"); }
TEST_P(GoldenSuite, CpuOfX86V4HasTheBits) { checkAll("cpu", "x86-64-v4"); }
TEST_P(GoldenSuite, CudaDeviceHasTheBits) { checkAll("cuda"); }

/// The backend of a plugin in H3GEN_PLUGINS that H3GEN_GOLDEN_BACKEND names.
TEST_P(GoldenSuite, PluginHasTheBits) {
  const char *name = std::getenv("H3GEN_GOLDEN_BACKEND");
  if (!name)
    GTEST_SKIP() << "skipped: H3GEN_GOLDEN_BACKEND names no backend";
  ASSERT_EQ(loadPluginsOfEnvironment(), "");
  checkAll(name);
}

std::string suiteName(const Json &suite) {
  return suite.value("name", suite["operator"].get<std::string>());
}

std::string caseName(const testing::TestParamInfo<GoldenCase> &info) {
  return suiteName(*info.param.suite) + "_" + info.param.prefix;
}

std::vector<std::vector<GoldenCase>> allSuites() {
  std::vector<std::vector<GoldenCase>> suites;
  for (const GoldenCase &row : allCases()) {
    if (suites.empty() || suites.back().front().suite != row.suite)
      suites.emplace_back();
    suites.back().push_back(row);
  }
  return suites;
}

// An empty table is a failure: googletest fails a suite that is instantiated with nothing.
INSTANTIATE_TEST_SUITE_P(Eager, Golden, testing::ValuesIn(allCases()), caseName);
const auto nameOfSuite = [](const testing::TestParamInfo<std::vector<GoldenCase>> &info) {
  return suiteName(*info.param.front().suite) + "_" + std::to_string(info.index);
};
INSTANTIATE_TEST_SUITE_P(Eager, GoldenSuite, testing::ValuesIn(allSuites()), nameOfSuite);
INSTANTIATE_TEST_SUITE_P(Eager, GoldenProcessor, testing::ValuesIn(allSuites()), nameOfSuite);

} // namespace
} // namespace h3::golden
