//===-- tests/golden/GoldenTest.cpp - Bits of the reference, case by case -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Run.h"
#include "tests/golden/GoldenTable.h"

#include <gtest/gtest.h>

#include <cstring>
#include <iostream>

namespace h3::golden {

void PrintTo(const GoldenCase &row, std::ostream *stream) { *stream << row.prefix; }

namespace {

class Golden : public testing::TestWithParam<GoldenCase> {
protected:
  std::string expand(const std::string &text) const { return GetParam().expand(text); }

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

  void check(const std::string &backend);
  void compare(const Json &suite, tensor::TensorFile &file, RunResult &result);

  std::vector<std::unique_ptr<tensor::TensorData>> assembled;
};

BoundView Golden::assemble(tensor::TensorFile &file, const Json &binding) {
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
void Golden::check(const std::string &backend) {
  const Json &suite = *GetParam().suite;
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
  // An operator that code generation refuses still: nothing ran, so there is nothing to compare.
  // The call is good, since the interpreter takes it. Where an image is made, this does not apply.
  if (backend != "reference" && suite.value("codegen", "") == "pending" &&
      result.code == ExitCode::BadInput && result.variants.empty())
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
  const Json &suite = *info.param.suite;
  return suite.value("name", suite["operator"].get<std::string>()) + "_" + info.param.prefix;
}

// An empty table is a failure: googletest fails a suite that is instantiated with nothing.
INSTANTIATE_TEST_SUITE_P(Eager, Golden, testing::ValuesIn(allCases()), caseName);

} // namespace
} // namespace h3::golden
