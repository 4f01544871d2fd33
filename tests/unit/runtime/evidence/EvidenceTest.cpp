//===-- tests/unit/runtime/evidence/EvidenceTest.cpp - Taking evidence and judging it -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// `evidence run` and `evidence check` on the stub driver. The cases are the self-checks of the
// dispatch tests' bundle, so that their digests are known.
//
//===----------------------------------------------------------------------===//

#include "runtime/api/Create.h"
#include "runtime/evidence/Cases.h"
#include "runtime/evidence/Tool.h"
#include "tests/unit/runtime/dispatch/TestBundle.h"
#include "tests/unit/runtime/stub/Stub.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

namespace {

using namespace h3;
using namespace h3::evidence;
using rt::test::BundleFaults;
using rt::test::testBundle;

struct RuntimeEvidence : testing::Test {
  RuntimeEvidence() {
    static const stub::Control control(H3_STUB_CUDA);
    control.reset();
    folder = testing::TempDir() + "evidence." +
             testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder);
    write("bundle", testBundle());
    write("cases", writeCases(casesOf(testBundle())));
  }
  ~RuntimeEvidence() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const { return folder + "/" + name; }
  void write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }

  /// The self-checks of every operator.
  static CaseList casesOf(const std::string &file) {
    const auto bundle = bundle::Bundle::open(std::as_bytes(std::span(file)));
    CaseList list;
    list.set = bundle->contents().name;
    for (const bundle::Definition &op : bundle->contents().operators) {
      OperatorCases &own = list.operators.emplace_back();
      std::string types;
      for (const std::string &type : op.instances[0].typeArguments)
        types += (types.empty() ? "<" : ",") + type;
      own.name = op.name + (types.empty() ? "" : types + ">");
      own.meaning = op.instances[0].digest;
      own.reference = "the test";
      for (const bundle::SelfCheck &check : op.instances[0].checks)
        own.cases.push_back({"call", own.cases.empty(), check});
    }
    return list;
  }

  /// Writes the record of a good run, which is made once.
  void takeGood() const {
    static const std::optional<std::string> taken = [&] {
      EXPECT_EQ(runOn("cuda:1"), 0);
      return readFile(path("record"));
    }();
    write("record", taken.value_or(""));
  }

  int runOn(const std::string &device, const std::string &library = H3_STUB_CUDA) const {
    RunOptions options;
    options.bundle = path("bundle");
    options.cases = path("cases");
    options.output = path("record");
    options.device = device;
    options.library = library;
    return run(options);
  }
  int judge(size_t leastCases = 1) const {
    return check({path("record"), path("bundle"), leastCases});
  }
  Record record() const {
    auto read = readRecordFile(path("record"));
    EXPECT_TRUE(read) << read.error().message;
    return read ? *read : Record();
  }

  std::string folder;
};

TEST_F(RuntimeEvidence, ARunValidatesTheBundleItWasTakenOf) {
  takeGood();
  EXPECT_EQ(judge(), 0);
  // Fewer calls than it takes.
  EXPECT_EQ(judge(kLeastCases), 1);
  const Record taken = record();
  EXPECT_EQ(taken.target, "sm_90");
  EXPECT_EQ(taken.machine.major, 9);
  ASSERT_EQ(taken.operators.size(), 4u);
  for (const OperatorRecord &op : taken.operators) {
    EXPECT_EQ(op.cases.size(), op.name == "twice" ? 1u : 2u) << op.name;
    EXPECT_GT(op.declines.size(), 15u) << op.name;
    EXPECT_EQ(op.figures.size(), 1u) << op.name;
    EXPECT_FALSE(op.variants.empty()) << op.name;
  }
  EXPECT_EQ(writeRecord(taken) + "\n", readFile(path("record")));
}

TEST_F(RuntimeEvidence, OtherBitsAreWrongAndValidateNothing) {
  CaseList list = casesOf(testBundle());
  list.operators[1].cases[0].call.outputs.bytes[5] ^= 1;
  write("cases", writeCases(list));
  EXPECT_EQ(runOn("cuda:1"), 1);
  EXPECT_EQ(record().operators[1].failures,
            std::vector<std::string>{"call: the bits are not the reference's"});
  EXPECT_TRUE(record().operators[0].failures.empty());
  EXPECT_EQ(judge(), 1);
}

TEST_F(RuntimeEvidence, ACallThatIsNotServedIsWrong) {
  CaseList list = casesOf(testBundle());
  list.operators[2].cases[0].call.tensors[1].extents[0] -= 1;
  write("cases", writeCases(list));
  EXPECT_EQ(runOn("cuda:1"), 1);
  ASSERT_EQ(record().operators[2].failures.size(), 1u);
  EXPECT_TRUE(record().operators[2].failures[0].starts_with("call: declined: shape: "));
}

TEST_F(RuntimeEvidence, OfAnotherImageItIsStale) {
  takeGood();
  BundleFaults faults;
  faults.replaceIn = "shift.sm_90.cubin";
  faults.from = "\n";
  faults.to = "\n\n";
  const std::string other = testBundle(faults);
  write("bundle", other);
  EXPECT_EQ(judge(), 1);
  const auto bundle = bundle::Bundle::open(std::as_bytes(std::span(other)));
  const bundle::Contents &contents = bundle->contents();
  const std::vector<Record> records = {record()};
  EXPECT_EQ(text(standingOf(contents, contents.sets[2], records, 1), true),
            "enabled; evidence is for other images");
  // One that no record is about.
  EXPECT_EQ(text(standingOf(contents, contents.sets[0], records, 1), true),
            "enabled, not validated");
}

TEST_F(RuntimeEvidence, PtxThatTheDriverAssemblesIsNeverValidated) {
  BundleFaults faults;
  faults.hasCubins = false;
  write("bundle", testBundle(faults));
  RunOptions options{path("bundle"), path("cases"), path("record"), "cuda:1", H3_STUB_CUDA, true};
  EXPECT_EQ(run(options), 0);
  EXPECT_EQ(judge(), 1);
  options.allowPtx = false;
  EXPECT_EQ(run(options), 1);
}

TEST_F(RuntimeEvidence, WhatCannotBeRunSaysSo) {
  EXPECT_EQ(runOn("cuda:1", folder + "/libnone.so"), 3);
  EXPECT_EQ(runOn("cuda:9"), 3);
  EXPECT_EQ(runOn("cuda:3"), 3); // sm_121
  EXPECT_EQ(runOn("cuda:"), 2);
  EXPECT_EQ(runOn("cpu"), 2);
  EXPECT_FALSE(std::filesystem::exists(path("record")));
  CaseList list = casesOf(testBundle());
  list.operators[0].meaning.bytes[0] ^= 1;
  write("cases", writeCases(list));
  EXPECT_EQ(runOn("cuda:1"), 2);
  write("cases", "{}");
  EXPECT_EQ(runOn("cuda:1"), 2);
  write("record", "{\"cases\":1}");
  EXPECT_EQ(judge(), 2);
}

TEST_F(RuntimeEvidence, CasesAndRecordsComeBackAsTheyWere) {
  const CaseList list = casesOf(testBundle());
  const auto cases = readCases(writeCases(list));
  ASSERT_TRUE(cases) << cases.error().message;
  EXPECT_EQ(*cases, list);
  takeGood();
  Record full = record();
  full.machine = {"product", 9, 0, "580", "13.0", "2.11", "3.5"};
  full.operators[0].failures = {"a \"line\""};
  full.operators[0].unreached = {"s_i64"};
  const auto again = readRecord(writeRecord(full));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, full);
}

TEST_F(RuntimeEvidence, ARuntimeTakesAFile) {
  takeGood();
  Record taken = record();
  for (OperatorRecord &op : taken.operators)
    op.cases.resize(kLeastCases);
  taken.operators[3].failures = {"wrong"};
  write("record", writeRecord(taken));
  h3rt_runtime *runtime = nullptr;
  ASSERT_EQ(rt::create(nullptr, H3_STUB_CUDA, &runtime), H3RT_OK);
  EXPECT_EQ(h3rt_add_evidence_file(runtime, path("none").c_str()), H3RT_INVALID_ARGUMENT);
  EXPECT_EQ(h3rt_add_evidence_file(runtime, path("bundle").c_str()), H3RT_INVALID_ARGUMENT);
  ASSERT_EQ(h3rt_add_evidence_file(runtime, path("record").c_str()), H3RT_OK) << h3rt_last_error();
  ASSERT_EQ(h3rt_open_bundle(runtime, path("bundle").c_str()), H3RT_OK) << h3rt_last_error();
  std::map<std::string, int32_t> standing;
  for (size_t i = 0; i < h3rt_row_count(runtime); ++i) {
    h3rt_row row{};
    row.size = sizeof(row);
    ASSERT_EQ(h3rt_get_row(runtime, i, &row), H3RT_OK);
    standing[std::string(row.operator_name) + " " + row.target] = row.validation;
  }
  for (const OperatorRecord &op : taken.operators) {
    EXPECT_EQ(standing[op.name + " sm_90"],
              op.name == taken.operators[3].name ? H3RT_NOT_VALIDATED : H3RT_VALIDATED);
    EXPECT_EQ(standing[op.name + " sm_120"], H3RT_NOT_VALIDATED);
  }
  h3rt_destroy(runtime);
}

} // namespace
