//===-- tests/prove/OperatorsTest.cpp - Every operator is proved ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Proofs of all operators for sm_90, and of the operators of the H3 set for each of its targets.
// One instance of each: the first of its types on sm_90, the last on others. With H3GEN_PROVE=all
// every instance, every operator for sm_100 too, and what takes long. What cannot be proved is in
// unproved.def with the reason; a row there that is out of date fails.
//
//===----------------------------------------------------------------------===//

#include "backends/nvptx/Compile.h"
#include "backends/nvptx/NanFacts.h"
#include "backends/nvptx/prove/Prover.h"
#include "backends/nvptx/ptx/Reader.h"
#include "codegen/driver/Specs.h"

#include <gtest/gtest.h>
#include <mlir/IR/MLIRContext.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace h3 {
namespace {

struct Case {
  std::string file, op, target;
  bool operator<(const Case &other) const {
    return std::tie(op, target) < std::tie(other.op, other.target);
  }
};

void PrintTo(const Case &one, std::ostream *stream) { *stream << one.op << " " << one.target; }

/// The words that follow \p word at the beginning of a line of the file, with their first letters.
std::vector<std::string> named(const std::filesystem::path &path, const std::string &word) {
  std::vector<std::string> names;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(word + " ")) {
      size_t begin = word.size() + 1, end = begin;
      while (end < line.size() && (std::isalnum(line[end]) || line[end] == '_'))
        ++end;
      names.push_back(line.substr(begin, end - begin));
    }
  return names;
}

bool provesAll() {
  const char *value = std::getenv("H3GEN_PROVE");
  return value && std::string_view(value) == "all";
}

std::vector<Case> allCases() {
  const std::filesystem::path set = std::string(H3GEN_SPECS) + "/h3_vae.opset";
  const std::vector<std::string> inSet = named(set, "operator"), ofSet = named(set, "target");
  std::set<Case> cases;
  for (const auto &entry : std::filesystem::directory_iterator(H3GEN_SPECS)) {
    if (entry.path().extension() != ".spec")
      continue;
    for (const std::string &op : named(entry.path(), "op")) {
      std::set<std::string> targets = {"sm_90"};
      if (provesAll())
        targets.insert("sm_100");
      if (std::ranges::find(inSet, op) != inSet.end())
        targets.insert(ofSet.begin(), ofSet.end());
      for (const std::string &target : targets)
        cases.insert({entry.path().string(), op, target});
    }
  }
  return {cases.begin(), cases.end()};
}

/// A row of unproved.def: some variant is not proved, and its problem says this.
struct Unproved {
  std::string op, problem;
};
const std::vector<Unproved> unproved = {
#define H3_UNPROVED(op, problem, reason) {op, problem},
#include "tests/prove/unproved.def"
};
/// Operators whose proofs take longer than the suite may.
const std::vector<std::pair<std::string, std::string>> slow = {
#define H3_SLOW(op, seconds) {op, seconds},
#include "tests/prove/unproved.def"
};

class Operators : public testing::TestWithParam<Case> {
protected:
  void prove(const Program &program, const Target &target);
};

void Operators::prove(const Program &program, const Target &target) {
  std::unique_ptr<mlir::MLIRContext> context = nvptx::makeContext();
  const Program *programs[] = {&program};
  std::string error;
  auto image = nvptx::compile(*context, programs, target, {}, error);
  ASSERT_TRUE(image) << error;
  auto module = ptx::read(image->text);
  ASSERT_TRUE(module) << module.error().message();
  prove::Subject subject;
  subject.program = &program;
  subject.plan = &image->plans.front();
  subject.module = &*module;
  subject.canonicalNaN = [&](std::string_view instruction) {
    return nvptx::givesCanonicalNaN(instruction, target);
  };
  subject.hasAllVariants = true;
  const prove::Proof proof = prove::prove(subject);
  EXPECT_EQ(proof.unserved, "");
  auto row = std::ranges::find_if(
      unproved, [&](const Unproved &listed) { return listed.op == GetParam().op; });
  for (const prove::KernelProof &kernel : proof.kernels) {
    if (kernel.verdict == prove::Verdict::Proved) {
      EXPECT_FALSE(kernel.calls.empty()) << kernel.entry;
      continue;
    }
    bool isListed = row != unproved.end() && kernel.problem.find(row->problem) != std::string::npos;
    EXPECT_TRUE(isListed) << kernel.entry << ": " << kernel.problem;
  }
  if (row != unproved.end() && GetParam().target == "sm_90")
    EXPECT_NE(proof.verdict(), prove::Verdict::Proved)
        << "it is proved: its row in unproved.def is out of date";
}

TEST_P(Operators, AreProved) {
  const Case &one = GetParam();
  if (!provesAll())
    for (const auto &[op, seconds] : slow)
      if (op == one.op)
        GTEST_SKIP() << "skipped: takes " << seconds << " s, H3GEN_PROVE=all runs it";
  LoadedSpec spec;
  Diagnostics diagnostics;
  ASSERT_TRUE(loadSpec(one.file, {}, spec, diagnostics)) << diagnostics.renderText();
  const std::vector<OperatorInstances> all = instances(spec, diagnostics);
  auto found = std::ranges::find_if(
      all, [&](const OperatorInstances &each) { return each.op->name.text == one.op; });
  ASSERT_NE(found, all.end());
  ASSERT_FALSE(found->programs.empty());
  const Target *target = findTarget(one.target);
  ASSERT_NE(target, nullptr);
  if (provesAll())
    for (const std::unique_ptr<Program> &program : found->programs)
      prove(*program, *target);
  else
    prove(one.target == "sm_90" ? *found->programs.front() : *found->programs.back(), *target);
}

INSTANTIATE_TEST_SUITE_P(Prove, Operators, testing::ValuesIn(allCases()),
                         [](const auto &info) { return info.param.op + "_" + info.param.target; });

/// A row names an operator that is there.
TEST(ProveList, NamesOperators) {
  std::set<std::string> names;
  for (const Case &one : allCases())
    names.insert(one.op);
  EXPECT_GE(names.size(), 62u);
  for (const Unproved &row : unproved)
    EXPECT_TRUE(names.count(row.op)) << row.op;
  for (const auto &[op, seconds] : slow)
    EXPECT_TRUE(names.count(op)) << op;
}

} // namespace
} // namespace h3
