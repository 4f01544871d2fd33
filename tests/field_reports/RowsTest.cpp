//===-- tests/field_reports/RowsTest.cpp - The table, row by row ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// rows.json against every backend. README.md of this folder says what a row holds.
//
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include "runtime/tensor/Safetensors.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <iostream>

namespace h3::test {
namespace {

using Json = nlohmann::json;

const Json &table() {
  static const Json json = [] {
    std::ifstream file(std::string(H3GEN_FIELD_REPORTS) + "/rows.json");
    return Json::parse(file, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  }();
  return json;
}

struct Row {
  const Json *json;
  const Backend *backend;
};
void PrintTo(const Row &row, std::ostream *stream) {
  *stream << row.json->at("name").get<std::string>();
}

std::vector<Row> allRows() {
  std::vector<Row> rows;
  if (table().is_array())
    for (const Json &row : table())
      for (const Backend &backend : backends())
        rows.push_back({&row, &backend});
  return rows;
}

Bits bitsOf(const Json &json) { return std::stoull(json.get<std::string>(), nullptr, 16); }

std::vector<Bits> goldenBits(const Json &json) {
  const char *folder = std::getenv("H3GEN_GOLDEN_DIR");
  std::string path = (folder && *folder ? folder : H3GEN_GOLDEN_DEFAULT) + std::string("/") +
                     json.at("file").get<std::string>();
  auto file = tensor::readSafetensors(path);
  if (!file) {
    ADD_FAILURE() << file.error().message;
    return {};
  }
  const tensor::TensorData *data = file->find(json.at("tensor").get<std::string>());
  if (!data) {
    ADD_FAILURE() << path << " has no tensor " << json.at("tensor");
    return {};
  }
  const size_t width = tensor::bytes(data->type);
  std::vector<Bits> result(data->data.size() / width, 0);
  for (size_t i = 0; i < result.size(); ++i) {
    std::memcpy(&result[i], data->data.data() + i * width, width);
    result[i] = scalar::canonical(scalarTypeOf(data->type), result[i]);
  }
  return result;
}

/// The elements that \p json describes, \p count of them.
std::vector<Bits> elementsOf(const Json &json, tensor::StorageType type, size_t count) {
  std::vector<Bits> result;
  if (json.contains("random")) {
    std::vector<int> range = json.value("exponents", std::vector<int>{-6, 3});
    result =
        randomFloats(scalarTypeOf(type), count, json["random"].get<unsigned>(), range[0], range[1]);
  } else if (json.contains("golden")) {
    result = goldenBits(json["golden"]);
  } else if (json.contains("range")) {
    Bits next = bitsOf(json["range"]["first"]), step = bitsOf(json["range"]["step"]);
    for (size_t i = 0; i < count; ++i, next += step)
      result.push_back(next);
  } else if (json.contains("parts")) {
    for (const Json &part : json["parts"]) {
      std::vector<Bits> more = part.contains("every16")
                                   ? everyPattern16()
                                   : elementsOf(part, type, part.at("count").get<size_t>());
      result.insert(result.end(), more.begin(), more.end());
    }
  } else {
    const Json &bits = json.at("bits");
    for (size_t i = 0; i < count; ++i)
      result.push_back(bitsOf(bits.is_array() ? bits[i % bits.size()] : bits));
  }
  for (const Json &some : json.value("strided", Json::array()))
    for (size_t k = 0; k < some.at("count").get<size_t>(); ++k)
      result.at(some.at("first").get<size_t>() + k * some.value("step", size_t(1))) =
          bitsOf(some.at("bits"));
  EXPECT_EQ(result.size(), count);
  return result;
}

class FieldReports : public testing::TestWithParam<Row> {};

/// The row's tensors bound to an operator, the row's own or a wrong reading of it.
Call callOf(const Json &row, const Json &spec, Outputs *expected) {
  Call call(spec.at("spec"), spec.value("op", ""));
  for (const auto &[name, value] : row.value("set", Json::object()).items())
    call.set(name, value);
  for (const auto &[name, json] : row.at("in").items()) {
    auto type = tensor::storageTypeNamed(json.at("type").get<std::string>()).value();
    std::vector<int64_t> shape = json.at("shape");
    call.input(name, type, shape,
               elementsOf(json, type, size_t(tensor::elementCount(shape).value())));
  }
  for (const auto &[name, json] : row.at("out").items()) {
    auto type = tensor::storageTypeNamed(json.at("type").get<std::string>()).value();
    std::vector<int64_t> shape = json.at("shape");
    call.output(name, type, shape);
    if (expected && json.size() > 2)
      (*expected)[name] = elementsOf(json, type, size_t(tensor::elementCount(shape).value()));
  }
  return call;
}

/// What a wrong reading gives differs, so the row would notice it.
void checkWrongReading(const Json &row, const Json &wrong, const Outputs &expected) {
  Call call = callOf(row, wrong, nullptr);
  SCOPED_TRACE(wrong.dump());
  int64_t different = 0;
  std::optional<Bits> found;
  for (const auto &[name, elements] : referenceOf(call)) {
    const std::vector<Bits> &right = expected.at(name);
    for (size_t i = 0; i < elements.size(); ++i)
      if (elements[i] != right[i]) {
        ++different;
        found = found.value_or(elements[i]);
      }
  }
  EXPECT_GE(different, wrong.value("differs", 1)) << "elements differ from the right ones";
  if (wrong.contains("bits"))
    EXPECT_EQ(found, bitsOf(wrong["bits"]));
}

TEST_P(FieldReports, Row) {
  const Json &row = *GetParam().json;
  const Backend &backend = *GetParam().backend;
  Outputs expected;
  Call call = callOf(row, row, &expected);
  if (row.contains("declined")) {
    RunResult result = call.run(backend);
    EXPECT_EQ(result.code, ExitCode::BadInput);
    EXPECT_TRUE(result.message.starts_with("declined: " + row["declined"].get<std::string>()))
        << result.message;
    return;
  }
  const bool isGiven = !expected.empty();
  if (!isGiven)
    expected = referenceOf(call);
  if (backend.isReference()) {
    // Without given answers the reference has nothing to be compared with but wrong readings.
    EXPECT_TRUE(isGiven || row.contains("wrong")) << "the row claims nothing";
    for (const Json &wrong : row.value("wrong", Json::array()))
      checkWrongReading(row, wrong, expected);
  }
  std::string lacking = expectOutputs(call, backend, expected);
  if (!lacking.empty())
    GTEST_SKIP() << "skipped: " << lacking;
}

// An empty table is a failure: googletest fails a suite that is instantiated with nothing.
INSTANTIATE_TEST_SUITE_P(Table, FieldReports, testing::ValuesIn(allRows()), [](const auto &info) {
  return info.param.json->at("name").template get<std::string>() + "_" + info.param.backend->name;
});

} // namespace
} // namespace h3::test
