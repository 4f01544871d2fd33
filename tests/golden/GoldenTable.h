//===-- tests/golden/GoldenTable.h - The table of golden cases -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_GOLDEN_GOLDENTABLE_H
#define H3_TESTS_GOLDEN_GOLDENTABLE_H

#include "runtime/tensor/TensorData.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace h3::golden {

using Json = nlohmann::json;

/// One row of the table: a case of a suite.
struct GoldenCase {
  const Json *suite;
  std::string prefix;

  /// \p text with `{case}` replaced by the prefix.
  std::string expand(std::string text) const;
};

/// cases.json of the tree, whatever folder the data come from; null if it cannot be read.
const Json &table();

std::vector<GoldenCase> allCases();

/// The folder of a file of this name: H3GEN_GOLDEN_DIR if that is set and the table does not keep
/// the file in the tree, else the folder of the table.
std::string folderOf(const std::string &name);

/// A file, read once; null with \p error set if that fails.
tensor::TensorFile *goldenFile(const std::string &name, std::string &error);

} // namespace h3::golden

#endif // H3_TESTS_GOLDEN_GOLDENTABLE_H
