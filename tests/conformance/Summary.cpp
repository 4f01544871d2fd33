//===-- tests/conformance/Summary.cpp - What a suite ran ------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Summary.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>

namespace h3::test {
namespace {

using Json = nlohmann::ordered_json;

Json &rows() {
  static Json json = Json::array();
  return json;
}

/// At the end of the process' tests: the file, and the variants that nothing reached.
class Writer : public testing::Environment {
public:
  void TearDown() override {
    const char *path = std::getenv("H3GEN_CONFORMANCE_JSON");
    if (!path || !*path || rows().empty())
      return;
    std::ofstream file(path);
    file << rows().dump(1) << "\n";
    EXPECT_TRUE(file.good()) << path << " cannot be written";
  }
};
const testing::Environment *const writer = testing::AddGlobalTestEnvironment(new Writer);

} // namespace

Tally::Tally(std::string suite, std::string instance, std::string device)
    : suite(std::move(suite)), instance(std::move(instance)), device(std::move(device)) {}

void Tally::knows(const std::string &variant) { launches.try_emplace(variant, 0); }

void Tally::ran(const std::string &variant, const Memory &memory) {
  ++launches[variant];
  for (const std::vector<std::byte> &buffer : memory)
    bytes += static_cast<int64_t>(buffer.size());
}

Tally::~Tally() {
  int64_t all = 0;
  std::vector<std::string> never;
  for (const auto &[variant, count] : launches) {
    all += count;
    if (!count)
      never.push_back(variant);
  }
  EXPECT_GT(all, 0) << suite << ": " << instance << " ran nothing";
  EXPECT_GT(bytes, 0) << suite << ": " << instance << " compared nothing";
  fmt::print("{} on {}: {} launches of {} variants, {} bytes compared{}\n", instance, device, all,
             launches.size() - never.size(), bytes,
             never.empty() ? "" : fmt::format("; never served: {}", fmt::join(never, ", ")));
  Json row = {{"suite", suite},
              {"operator", instance},
              {"device", device},
              {"launches", all},
              {"bytes_compared", bytes},
              {"variants", launches},
              {"passed", !testing::Test::HasFailure()}};
  for (const auto &[key, value] : numbers)
    row[key] = value;
  rows().push_back(std::move(row));
}

} // namespace h3::test
