//===-- tests/ptx/CoverageTest.cpp - Every emitted instruction is tested --===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Compiles every operator of specs/ for every target and reads the PTX: each form of instruction in
// it, opcode with modifiers, must occur in a kernel of the instruction table that the interpreter
// runs, and each special register likewise.
//
//===----------------------------------------------------------------------===//

#include "backends/Target.h"
#include "backends/nvptx/ptx/Reader.h"
#include "tests/ptx/Recording.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

namespace h3::ptxtest {
namespace {

namespace fs = std::filesystem;

/// "add.rn.f16", "%tid.x": what a kernel must have tests for.
void collect(const ptx::Module &module, std::set<std::string> &forms) {
  for (const ptx::Kernel &kernel : module.kernels)
    for (const ptx::Instruction &instruction : kernel.instructions) {
      std::string form(ptx::text(instruction.opcode));
      for (ptx::Modifier modifier : instruction.modifiers)
        form += "." + std::string(ptx::text(modifier));
      forms.insert(form);
      for (const ptx::Operand &operand : instruction.operands)
        if (operand.kind == ptx::Operand::Kind::Special)
          forms.insert(std::string(ptx::text(static_cast<ptx::Special>(operand.index))));
    }
}

/// The tests that differences.def lists as not run at all.
std::set<std::string> notRun() {
  constexpr struct {
    std::string_view kind, test;
  } rows[] = {
#define H3_PTX_DIFFERENCE(kind, test, reason) {#kind, test},
#include "tests/ptx/differences.def"
  };
  std::set<std::string> result;
  for (const auto &row : rows)
    for (const InstructionTest &test : table().tests) {
      bool fits = row.test.ends_with('*')
                      ? test.name.starts_with(row.test.substr(0, row.test.size() - 1))
                      : test.name == row.test;
      if (fits && row.kind == "Refused")
        result.insert(test.name);
    }
  return result;
}

/// A folder that goes away with the test.
struct Folder {
  fs::path path;

  Folder() {
    std::string pattern = (fs::temp_directory_path() / "h3gen-coverage-XXXXXX").string();
    if (mkdtemp(pattern.data()))
      path = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
};

TEST(PtxInstructions, EveryEmittedInstructionIsTested) {
  std::set<std::string> tested;
  std::set<std::string> skipped = notRun();
  for (const InstructionTest &test : table().tests)
    if (!skipped.contains(test.name)) {
      auto module = ptx::read(test.module("sm_90"));
      ASSERT_TRUE(module) << test.name << ": " << module.error().message();
      collect(*module, tested);
    }

  Folder folder;
  ASSERT_FALSE(folder.path.empty());
  // All operators for the target of the recording, and the first three for every target.
  std::string start =
      fmt::format("'{}' --ptx-only --no-cache --out-dir '{}'", H3GEN_PROGRAM, folder.path.string());
  std::string every = start + " --sm 90", first = start + " --sm all";
  size_t specs = 0;
  for (const fs::directory_entry &entry : fs::directory_iterator(H3GEN_SPECS))
    if (entry.path().extension() == ".spec") {
      every += fmt::format(" '{}'", entry.path().string());
      ++specs;
    }
  for (const char *name : {"qk_norm_rope", "swiglu", "scaled_residual"})
    first += fmt::format(" '{}/{}.spec'", H3GEN_SPECS, name);
  ASSERT_GT(specs, 0u);
  for (const std::string &command : {every, first})
    ASSERT_EQ(std::system((command + " > /dev/null").c_str()), 0) << command;

  size_t files = 0;
  std::set<std::string> emitted;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder.path))
    if (entry.path().extension() == ".ptx") {
      ++files;
      std::ifstream file(entry.path());
      std::stringstream text;
      text << file.rdbuf();
      auto module = ptx::read(text.str());
      ASSERT_TRUE(module) << entry.path().filename() << ": " << module.error().message();
      std::set<std::string> forms;
      collect(*module, forms);
      for (const std::string &form : forms)
        EXPECT_TRUE(tested.contains(form))
            << form << " in " << entry.path().filename()
            << " has no instruction test; add one to tests/ptx/table.py and record it";
      emitted.merge(forms);
    }
  EXPECT_GE(files, specs + 3 * (targets().size() - 1));
  EXPECT_GT(emitted.size(), 30u);
  std::cout << fmt::format("{} forms in {} files\n", emitted.size(), files);
}

} // namespace
} // namespace h3::ptxtest
