//===-- tests/mutants/MutantsTest.cpp - Deliberate faults, and which check finds each -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PtxEdits.h"
#include "Subject.h"

#include "codegen/Mutant.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <set>

namespace h3 {
Mutant activeMutant = Mutant::None;
} // namespace h3

namespace h3::test {
namespace {

struct Switch {
  Mutant mutant;
  const char *name, *kind, *what;
};
constexpr Switch switches[] = {
#define H3_MUTANT(name, kind, what) {Mutant::name, #name, #kind, what},
#include "codegen/Mutants.def"
};

/// The operator that shows a fault, of subjects.spec.
const std::map<Mutant, const char *> shownBy = {
    {Mutant::ContractFlag, "product_and_sum"},
    {Mutant::UnspecifiedFma, "sum_and_fma"},
    {Mutant::ContractedSum, "sum_and_fma"},
    {Mutant::ContractedDifference, "difference_and_fma"},
    {Mutant::SplitFma, "sum_and_fma"},
    {Mutant::LostRounding, "arithmetic"},
    {Mutant::DoubledRounding, "from_double"},
    {Mutant::KeptNaN, "copied_half"},
    {Mutant::InfinityAsNaN, "copied_half"},
    {Mutant::MaxDropsNaN, "larger"},
    {Mutant::UnsignedInteger, "from_integer"},
    {Mutant::HalfAway, "to_byte"},
    {Mutant::NarrowTowardZero, "to_byte"},
    {Mutant::NarrowFlushes, "to_e4m3"},
    {Mutant::NarrowOverflow, "to_e4m3"},
    {Mutant::UncheckedAlignment, "product_and_sum"},
    {Mutant::SwappedLanes, "product_and_sum"},
    {Mutant::LostRemainder, "by_digits"},
    {Mutant::LostStride, "folded_rows"},
    {Mutant::ShiftedWindow, "product_and_sum"},
    {Mutant::SkippedStore, "product_and_sum"},
    {Mutant::DoubledStore, "product_and_sum"},
    {Mutant::AliasedAsConstant, "in_place"},
    {Mutant::ReadsWhatIsGone, "in_place"},
    {Mutant::NoBarrierBeforeStore, "in_place"},
    {Mutant::RowBehindLast, "folded_rows"},
    {Mutant::ElementBehindLast, "folded_rows"},
    {Mutant::NoBarrierBetweenWarps, "summed_by_warps"},
    {Mutant::NoBarrierInLoop, "summed_by_rounds"},
    {Mutant::OtherWarp, "summed_by_warps"},
    {Mutant::StageOrder, "folded_rows"},
    {Mutant::SwappedOperands, "folded_rows"},
    {Mutant::SkippedIdle, "summed_sparsely"},
    {Mutant::IdleSteps, "folded_rows"},
    {Mutant::SkippedStage, "folded_rows"},
    {Mutant::SerialBackwards, "summed_by_warps"},
    {Mutant::OtherLane, "folded_rows"},
};

/// One for each operator; the calls of an operator are drawn once.
const Subject &subjectNamed(const std::string &spec, const std::string &op) {
  static std::map<std::string, std::unique_ptr<Subject>> known;
  std::unique_ptr<Subject> &subject = known[spec + " " + op];
  if (!subject)
    subject = std::make_unique<Subject>(spec, op);
  return *subject;
}

/// What the checks say of an operator without a fault.
const Findings &unmutated(const std::string &op) {
  static std::map<std::string, Findings> known;
  auto found = known.find(op);
  if (found == known.end())
    found = known.emplace(op, subjectNamed("subjects.spec", op).findings()).first;
  return found->second;
}

std::string firstLine(const std::string &text) { return text.substr(0, text.find('\n')); }

/// A row of the table in README.md.
void print(const std::string &name, const std::string &kind, const Findings &findings) {
  std::string by;
  auto add = [&](bool isThere, const char *check) {
    if (isThere)
      by += (by.empty() ? "" : ", ") + std::string(check);
  };
  add(!findings.compiler.empty(), "compiler");
  add(!findings.prover.empty(), "prover");
  add(findings.isRace, "race detector");
  add(!findings.runs.empty() && !findings.isRace, "runs");
  fmt::print("| {} | {} | {} |\n", name, kind, by);
  for (const std::string *text : {&findings.compiler, &findings.prover, &findings.runs})
    if (!text->empty() && std::getenv("H3GEN_MUTANTS_VERBOSE"))
      fmt::print("    {}\n", firstLine(*text));
}

TEST(Mutants, OfTheCompilerAreFound) {
  std::map<std::string, size_t> kinds;
  for (const Switch &row : switches) {
    ASSERT_TRUE(shownBy.contains(row.mutant)) << row.name << " is shown by no operator";
    const Subject &subject = subjectNamed("subjects.spec", shownBy.at(row.mutant));
    activeMutant = row.mutant;
    Findings findings = subject.findings();
    activeMutant = Mutant::None;
    if (!unmutated(shownBy.at(row.mutant)).prover.empty())
      findings.prover.clear(); // it says nothing of the fault
    print(row.name, row.kind, findings);
    EXPECT_TRUE(findings.any()) << row.name << ": nothing finds that " << row.what;
    ++kinds[row.kind];
  }
  EXPECT_GE(std::size(switches), 25u);
  for (const char *kind : {"contraction", "tree", "rounding", "indexing", "memory"})
    EXPECT_GE(kinds[kind], 5u) << kind;
}

/// The prover needs none of the other checks to find these.
TEST(Mutants, OfPtxAreFoundByTheProver) {
  std::map<std::string, Image> images;
  for (const PtxEdit &edit : ptxEdits()) {
    const Subject &subject = subjectNamed(edit.spec, edit.op);
    std::string error;
    Image &image = images[edit.spec + " " + edit.op];
    if (image.text.empty()) {
      std::optional<Image> compiled = subject.compile(error);
      ASSERT_TRUE(compiled) << error;
      image = std::move(*compiled);
    }
    Image mutant = image;
    mutant.text = edited(image, edit);
    ASSERT_TRUE(mutant.text != image.text) << "nothing matches " << edit.name;
    Findings findings = subject.check(std::move(mutant), edit.variant);
    print(edit.name, edit.kind, findings);
    EXPECT_NE(findings.prover, "") << edit.name;
  }
}

TEST(Mutants, NoFaultIsFoundWhereThereIsNone) {
  std::set<std::string> operators;
  for (const auto &[mutant, op] : shownBy)
    operators.insert(op);
  for (const std::string &op : operators) {
    const Findings &findings = unmutated(op);
    EXPECT_EQ(findings.compiler, "") << op;
    // What the prover cannot do yet: a branch of 64-bit division that no size which can be run
    // reaches, and the integer code of conversions to 8-bit floats.
    if (op == "by_digits" || op == "to_byte" || op == "to_e4m3")
      EXPECT_NE(findings.prover, "") << op << " is proved now: take it off this list";
    else
      EXPECT_EQ(findings.prover, "") << op;
    EXPECT_EQ(findings.runs, "") << op;
  }
}

} // namespace
} // namespace h3::test
