//===-- tests/ptx/InstructionsTest.cpp - Instructions against a device ----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Runs every kernel of the table on the PTX interpreter and compares every bit of every output with
// the recording. A test of the suite is an opcode with all its forms. What the interpreter does not
// model is listed, with the reason, in differences.def.
//
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Interpreter.h"
#include "backends/nvptx/ptx/Reader.h"
#include "tests/ptx/Recording.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iostream>

namespace h3::ptxtest {
namespace {

enum class Kind { Refused, Counts };

struct Difference {
  Kind kind;
  std::string_view test;
  std::string_view reason;

  bool fits(std::string_view name) const {
    return test.ends_with('*') ? name.starts_with(test.substr(0, test.size() - 1)) : name == test;
  }
};

constexpr Difference differences[] = {
#define H3_PTX_DIFFERENCE(kind, test, reason) {Kind::kind, test, reason},
#include "tests/ptx/differences.def"
};

const Difference *differenceOf(std::string_view name) {
  for (const Difference &difference : differences)
    if (difference.fits(name))
      return &difference;
  return nullptr;
}

constexpr unsigned warp = 32;

/// A column of the recording, cut to some rows.
struct Column {
  unsigned width = 0;
  std::vector<std::byte> bytes;

  size_t rows() const { return bytes.size() / width; }
  std::string hex(size_t row) const {
    std::string text = "0x";
    for (unsigned i = width; i-- > 0;)
      text += fmt::format("{:02x}", static_cast<unsigned>(bytes[row * width + i]));
    return text;
  }
  uint64_t value(size_t row) const {
    uint64_t result = 0;
    std::memcpy(&result, &bytes[row * width], std::min(width, 8u));
    return result;
  }
};

std::vector<std::string> opcodes() {
  std::vector<std::string> result;
  for (const InstructionTest &test : table().tests)
    if (std::find(result.begin(), result.end(), test.opcode()) == result.end())
      result.push_back(test.opcode());
  return result;
}

/// Whether Kind::Counts leaves the row out.
bool hasLargeCount(const InstructionTest &test, const std::vector<Column> &inputs, size_t row) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (test.inputs[i] == "count" && inputs[i].value(row) > 255)
      return true;
  return false;
}

class PtxInstructions : public testing::TestWithParam<std::string> {
protected:
  void check(const InstructionTest &test);
  bool column(const std::string &name, unsigned width, Column &result);
  void keepRows(const std::vector<size_t> &kept, std::vector<Column> &columns);
  void compare(const InstructionTest &test, const std::vector<Column> &inputs,
               const std::vector<Column> &expected, const std::vector<Column> &got);

  size_t comparedTests = 0, comparedValues = 0, listed = 0;
};

bool PtxInstructions::column(const std::string &name, unsigned width, Column &result) {
  const tensor::TensorData *data = recording()->file.find(name);
  if (!data || data->shape != std::vector<int64_t>{data->shape[0], width} ||
      data->shape[0] % warp != 0) {
    ADD_FAILURE() << "the recording has no column " << name << " of whole warps";
    return false;
  }
  result.width = width;
  result.bytes.assign(data->data.span().begin(), data->data.span().end());
  return true;
}

/// The kept rows, and the first of them again until the warp is full.
void PtxInstructions::keepRows(const std::vector<size_t> &kept, std::vector<Column> &columns) {
  for (Column &column : columns) {
    std::vector<std::byte> bytes;
    for (size_t i = 0; i < (kept.size() + warp - 1) / warp * warp; ++i) {
      size_t row = i < kept.size() ? kept[i] : kept[0];
      bytes.insert(bytes.end(), &column.bytes[row * column.width],
                   &column.bytes[row * column.width] + column.width);
    }
    column.bytes = std::move(bytes);
  }
}

void PtxInstructions::compare(const InstructionTest &test, const std::vector<Column> &inputs,
                              const std::vector<Column> &expected, const std::vector<Column> &got) {
  size_t wrong = 0;
  std::string first;
  for (size_t k = 0; k < expected.size(); ++k)
    for (size_t row = 0; row < expected[k].rows(); ++row) {
      ++comparedValues;
      size_t at = row * expected[k].width;
      if (std::memcmp(&expected[k].bytes[at], &got[k].bytes[at], expected[k].width) == 0)
        continue;
      if (wrong++ < 3) {
        first += fmt::format("\n  row {}:", row);
        for (const Column &input : inputs)
          first += " " + input.hex(row);
        first += fmt::format(" -> out{} {}, recorded {}", k, got[k].hex(row), expected[k].hex(row));
      }
    }
  EXPECT_EQ(wrong, 0u) << test.name << ": of " << expected[0].rows() << " rows" << first;
}

void PtxInstructions::check(const InstructionTest &test) {
  const Recording &recorded = *recording();
  auto print = recorded.kernels.find(test.name);
  ASSERT_NE(print, recorded.kernels.end()) << test.name << " is not in the recording";
  ASSERT_EQ(print->second, fingerprint(test.kernel())) << test.name << ": recorded from other PTX";

  const Difference *difference = differenceOf(test.name);
  bool refused = difference && difference->kind == Kind::Refused;
  std::string text = test.module(recorded.target);
  auto module = ptx::read(text);
  if (!module) {
    EXPECT_TRUE(refused) << test.name << ": " << module.error().message();
    listed += refused;
    return;
  }
  auto executable = ptx::Executable::make(*module, test.entry());
  if (!executable) {
    EXPECT_TRUE(refused) << test.name << ": " << executable.error().message();
    listed += refused;
    return;
  }

  const InstructionTest *source = &test;
  if (recorded.absent.contains(test.name) && !test.meaning.empty())
    source = table().find(test.meaning);
  ASSERT_TRUE(source) << test.name << ": no test " << test.meaning;
  ASSERT_FALSE(recorded.absent.contains(source->name))
      << test.name << " runs, but no device has recorded it";

  std::vector<Column> inputs(test.inputs.size()), expected(test.outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    ASSERT_TRUE(column(test.inputColumn(i), widthOf(test.inputs[i]), inputs[i]));
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_TRUE(column(source->outputColumn(i), widthOf(test.outputs[i]), expected[i]));

  if (difference && difference->kind == Kind::Counts) {
    std::vector<size_t> kept;
    for (size_t row = 0; row < expected[0].rows(); ++row)
      if (!hasLargeCount(test, inputs, row))
        kept.push_back(row);
    ASSERT_LT(kept.size(), expected[0].rows()) << test.name << ": nothing was left out";
    ASSERT_FALSE(kept.empty()) << test.name << ": all was left out";
    keepRows(kept, inputs);
    keepRows(kept, expected);
    ++listed;
  }

  std::vector<Column> got = expected;
  std::vector<ptx::Region> regions;
  ptx::LaunchConfig launch;
  launch.grid = {static_cast<uint32_t>(expected[0].rows() / warp), 1, 1};
  launch.block = {warp, 1, 1};
  uint64_t address = 0x7F0000000000;
  auto bind = [&](std::string name, Column &column, bool output) {
    regions.push_back({std::move(name), address, column.bytes, output, !output});
    launch.arguments.push_back({address, 8});
    address += 0x100000;
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    bind(fmt::format("in{}", i), inputs[i], false);
  for (size_t i = 0; i < got.size(); ++i) {
    std::fill(got[i].bytes.begin(), got[i].bytes.end(), std::byte(0xA5));
    bind(fmt::format("out{}", i), got[i], true);
  }
  std::optional<ptx::Fault> fault = executable->run(launch, regions);
  if (fault) {
    EXPECT_TRUE(refused && fault->kind == ptx::FaultKind::Unsupported)
        << test.name << ": " << fault->message();
    listed += refused;
    return;
  }
  EXPECT_FALSE(refused) << test.name << " is listed as refused, but ran";
  compare(test, inputs, expected, got);
  ++comparedTests;
}

TEST_P(PtxInstructions, AgreesWithTheRecording) {
  ASSERT_TRUE(recording()) << "tests/ptx/data/sm_90.safetensors cannot be read";
  for (const InstructionTest &test : table().tests)
    if (test.opcode() == GetParam())
      check(test);
  EXPECT_GT(comparedTests + listed, 0u);
  std::cout << fmt::format("{}: {} tests, {} values equal, {} tests listed in differences.def\n",
                           GetParam(), comparedTests, comparedValues, listed);
}

INSTANTIATE_TEST_SUITE_P(Opcode, PtxInstructions, testing::ValuesIn(opcodes()),
                         [](const auto &info) { return info.param; });

TEST(PtxInstructionTable, EveryDifferenceFitsATest) {
  for (const Difference &difference : differences) {
    bool fits = false;
    for (const InstructionTest &test : table().tests)
      fits |= differenceOf(test.name) == &difference;
    EXPECT_TRUE(fits) << difference.test << ": " << difference.reason;
  }
}

TEST(PtxInstructionTable, EveryRecordedTestIsInTheTable) {
  ASSERT_TRUE(recording());
  EXPECT_GT(table().tests.size(), 1000u);
  EXPECT_EQ(recording()->kernels.size(), table().tests.size());
  for (const auto &[name, print] : recording()->kernels)
    EXPECT_TRUE(table().find(name)) << name;
}

} // namespace
} // namespace h3::ptxtest
