//===-- tests/golden/GoldenTest.cpp - Bits of the reference, case by case -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Run.h"
#include "runtime/tensor/Safetensors.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>

namespace h3 {
namespace {

using Json = nlohmann::json;

/// One row of the table: a case of a suite.
struct GoldenCase {
  const Json *suite;
  std::string prefix;
};

void PrintTo(const GoldenCase &row, std::ostream *stream) { *stream << row.prefix; }

std::string dataFolder() {
  const char *folder = std::getenv("H3GEN_GOLDEN_DIR");
  return folder && *folder ? folder : H3GEN_GOLDEN_DEFAULT;
}

const Json &table() {
  static const Json json = [] {
    std::ifstream file(std::string(H3GEN_GOLDEN_DEFAULT) + "/cases.json");
    return Json::parse(file, nullptr, /*allow_exceptions=*/false);
  }();
  return json;
}

std::vector<GoldenCase> allCases() {
  std::vector<GoldenCase> cases;
  if (table().is_object())
    for (const Json &suite : table()["suites"])
      for (const std::string prefix : suite["cases"])
        cases.push_back({&suite, prefix});
  return cases;
}

/// Each file is read once.
tensor::TensorFile *goldenFile(const std::string &name) {
  static std::map<std::string, tensor::TensorFile> files;
  auto known = files.find(name);
  if (known == files.end()) {
    auto read = tensor::readSafetensors(dataFolder() + "/" + name);
    if (!read) {
      ADD_FAILURE() << read.error().message;
      return nullptr;
    }
    known = files.emplace(name, std::move(*read)).first;
  }
  return &known->second;
}

class Golden : public testing::TestWithParam<GoldenCase> {
protected:
  std::string expand(std::string text) const {
    size_t at = text.find("{case}");
    return at == std::string::npos ? text : text.replace(at, 6, GetParam().prefix);
  }

  BoundView select(tensor::TensorFile &file, const std::string &reference) {
    auto view = tensor::select(file, reference);
    if (!view) {
      ADD_FAILURE() << view.error().message;
      return {};
    }
    return {&file.tensors[view->tensor - file.tensors.data()], view->view};
  }

  /// Parts laid end to end, as one row.
  BoundView assemble(tensor::TensorFile &file, const Json &parts) {
    std::vector<std::byte> bytes;
    auto row = std::make_unique<tensor::TensorData>();
    for (const Json &part : parts) {
      if (part.is_string()) {
        BoundView view = select(file, expand(part));
        if (!view.storage)
          return {};
        row->type = view.storage->type;
        std::vector<std::byte> packed = tensor::TensorView{view.storage, view.view}.packed();
        bytes.insert(bytes.end(), packed.begin(), packed.end());
        continue;
      }
      uint64_t bits = std::stoull(part["bits"].get<std::string>(), nullptr, 16);
      for (int64_t i = 0; i < part["count"].get<int64_t>(); ++i) {
        const auto *raw = reinterpret_cast<const std::byte *>(&bits);
        bytes.insert(bytes.end(), raw, raw + tensor::bytes(row->type));
      }
    }
    row->shape = {1, static_cast<int64_t>(bytes.size() / tensor::bytes(row->type))};
    row->data = *tensor::AlignedBuffer::allocate(bytes.size());
    std::memcpy(row->data.data(), bytes.data(), bytes.size());
    assembled.push_back(std::move(row));
    return {assembled.back().get(), tensor::wholeView(assembled.back()->shape)};
  }

  void check(const std::string &backend);
  void compare(const Json &suite, tensor::TensorFile &file, RunResult &result);

  std::vector<std::unique_ptr<tensor::TensorData>> assembled;
};

/// Runs the case and compares every output.
void Golden::check(const std::string &backend) {
  const Json &suite = *GetParam().suite;
  LoadedSpec spec;
  Diagnostics diagnostics;
  ASSERT_TRUE(loadSpec(std::string(H3GEN_SPECS) + "/" + suite["spec"].get<std::string>(), {}, spec,
                       diagnostics))
      << diagnostics.renderText();
  tensor::TensorFile *file = goldenFile(suite["file"]);
  ASSERT_TRUE(file);

  RunRequest request;
  request.spec = &spec;
  request.backend = backend;
  request.op = suite["operator"];
  for (const auto &[name, binding] : suite["bind"].items()) {
    request.tensors[name] =
        binding.is_string() ? select(*file, expand(binding)) : assemble(*file, binding);
    ASSERT_TRUE(request.tensors[name].storage) << name;
  }
  for (const auto &[name, value] : suite.value("set", Json::object()).items())
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

void Golden::compare(const Json &suite, tensor::TensorFile &file, RunResult &result) {
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

TEST_P(Golden, ReferenceInterpreterHasTheBits) { check("reference"); }
TEST_P(Golden, PtxInterpreterHasTheBits) { check("ptx"); }
TEST_P(Golden, CudaDeviceHasTheBits) { check("cuda"); }

std::string caseName(const testing::TestParamInfo<GoldenCase> &info) {
  return (*info.param.suite)["operator"].get<std::string>() + "_" + info.param.prefix;
}

// An empty table is a failure: googletest fails a suite that is instantiated with nothing.
INSTANTIATE_TEST_SUITE_P(Eager, Golden, testing::ValuesIn(allCases()), caseName);

} // namespace
} // namespace h3
