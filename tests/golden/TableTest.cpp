//===-- tests/golden/TableTest.cpp - The table covers all golden tensors --===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/golden/GoldenTable.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

namespace h3::golden {
namespace {

/// Adds the names of the tensors that a binding or an expectation refers to.
void collect(const GoldenCase &row, const Json &binding, std::set<std::string> &names) {
  if (binding.is_string()) {
    std::string reference = row.expand(binding);
    names.insert(reference.substr(0, reference.find('[')));
  } else if (binding.is_object() && binding.contains("parts")) {
    for (const Json &part : binding["parts"])
      collect(row, part, names);
  }
}

/// The tensors that the cases use, by file.
std::map<std::string, std::set<std::string>> usedTensors() {
  std::map<std::string, std::set<std::string>> used;
  for (const GoldenCase &row : allCases())
    for (const char *kind : {"bind", "expect"})
      for (const Json &binding : (*row.suite)[kind])
        collect(row, binding, used[(*row.suite)["file"]]);
  return used;
}

TEST(GoldenTable, NoTensorOfAFileIsUnused) {
  auto used = usedTensors();
  EXPECT_FALSE(used.empty());
  for (const auto &[name, tensors] : used) {
    std::string error;
    tensor::TensorFile *file = goldenFile(name, error);
    ASSERT_TRUE(file) << error;
    EXPECT_FALSE(file->tensors.empty()) << name;
    for (const tensor::TensorData &tensor : file->tensors)
      EXPECT_TRUE(tensors.count(tensor.name)) << name << ": " << tensor.name << " is not used";
  }
}

TEST(GoldenTable, NoFileOfAFolderIsUnused) {
  auto used = usedTensors();
  unsigned found = 0;
  for (const std::string &folder : {folderOf(""), std::string(H3GEN_GOLDEN_DEFAULT)})
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".safetensors") {
        EXPECT_TRUE(used.count(entry.path().filename())) << entry.path();
        ++found;
      }
  EXPECT_GT(found, 0u);
}

} // namespace
} // namespace h3::golden
