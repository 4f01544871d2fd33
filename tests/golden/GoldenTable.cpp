//===-- tests/golden/GoldenTable.cpp - The table of golden cases ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/golden/GoldenTable.h"

#include "runtime/tensor/Safetensors.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

namespace h3::golden {

std::string GoldenCase::expand(std::string text) const {
  size_t at = text.find("{case}");
  return at == std::string::npos ? text : text.replace(at, 6, prefix);
}

const Json &table() {
  static const Json json = [] {
    std::ifstream file(std::string(H3GEN_GOLDEN_DEFAULT) + "/cases.json");
    Json parsed = Json::parse(file, nullptr, /*allow_exceptions=*/false);
    return parsed.is_object() ? parsed : Json();
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

std::string folderOf(const std::string &name) {
  const Json &kept = table()["tree"];
  const char *folder = std::getenv("H3GEN_GOLDEN_DIR");
  bool isKept = std::find(kept.begin(), kept.end(), name) != kept.end();
  return folder && *folder && !isKept ? folder : H3GEN_GOLDEN_DEFAULT;
}

tensor::TensorFile *goldenFile(const std::string &name, std::string &error) {
  static std::map<std::string, tensor::TensorFile> files;
  auto known = files.find(name);
  if (known == files.end()) {
    auto read = tensor::readSafetensors(folderOf(name) + "/" + name);
    if (!read) {
      error = read.error().message;
      return nullptr;
    }
    known = files.emplace(name, std::move(*read)).first;
  }
  return &known->second;
}

} // namespace h3::golden
