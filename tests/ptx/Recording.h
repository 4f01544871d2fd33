//===-- tests/ptx/Recording.h - Instruction tests and their bits *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The table of instruction tests (instructions.json) and what a device gave for each
// (data/sm_90.safetensors). README.md in data/ describes both.
//
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_PTX_RECORDING_H
#define H3_TESTS_PTX_RECORDING_H

#include "runtime/tensor/Safetensors.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace h3::ptxtest {

/// One row of the table.
struct InstructionTest {
  std::string name;
  std::string instruction;          ///< the one under test, with its modifiers
  std::string meaning;              ///< a test with the same bits by definition, or empty
  std::string target;               ///< that has the instruction; empty: sm_90 has it
  std::vector<std::string> inputs;  ///< kinds: "f16", "b32", ...
  std::vector<std::string> outputs; ///< likewise
  std::vector<std::string> declarations;
  std::vector<std::string> body;

  std::string opcode() const { return instruction.substr(0, instruction.find('.')); }
  std::string entry() const;
  /// The names of the input and output columns in the recording.
  std::string inputColumn(size_t index) const;
  std::string outputColumn(size_t index) const;
  /// The kernel: element i of every array belongs to thread i.
  std::string kernel() const;
  /// A module that holds it alone.
  std::string module(std::string_view recordedTarget) const;
};

struct Table {
  std::string ptxVersion;
  std::vector<InstructionTest> tests;

  const InstructionTest *find(std::string_view name) const;
};

/// Empty if the file cannot be read.
const Table &table();

/// Bytes of an element of this kind.
unsigned widthOf(std::string_view kind);

/// 64-bit FNV-1a, in hexadecimal: what a recording keeps of each kernel's text.
std::string fingerprint(std::string_view text);

struct Recording {
  tensor::TensorFile file;
  std::string target;                         ///< "sm_90"
  std::map<std::string, std::string> kernels; ///< fingerprints by test
  std::set<std::string> absent;               ///< tests that the device's target has not
};

/// Null if the file cannot be read.
const Recording *recording();

} // namespace h3::ptxtest

#endif // H3_TESTS_PTX_RECORDING_H
