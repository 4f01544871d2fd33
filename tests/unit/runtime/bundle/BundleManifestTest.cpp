//===-- tests/unit/runtime/bundle/BundleManifestTest.cpp - What a bundle says of itself -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/bundle/Manifest.h"
#include "runtime/json/Value.h"
#include "tests/unit/runtime/bundle/SmallBundle.h"
#include "tests/unit/runtime/plan/Plans.h"

#include <gtest/gtest.h>

using namespace h3;
using namespace h3::bundle;
using namespace h3::bundle::test;

namespace {

TEST(BundleManifest, WhatIsWrittenIsRead) {
  const std::string file = smallBundle();
  EXPECT_EQ(smallBundle(), file);
  const auto bundle = Bundle::open(std::as_bytes(std::span(file)));
  ASSERT_TRUE(bundle) << bundle.error().message;
  const Contents expected = smallContents(), &read = bundle->contents();
  EXPECT_EQ(read.name, expected.name);
  EXPECT_EQ(read.compiler, expected.compiler);
  EXPECT_EQ(read.assembler, expected.assembler);
  EXPECT_EQ(read.operators, expected.operators);
  EXPECT_EQ(read.probes, expected.probes);
  ASSERT_EQ(read.sets.size(), expected.sets.size());
  for (size_t i = 0; i < read.sets.size(); ++i) {
    EXPECT_EQ(read.sets[i].target, expected.sets[i].target);
    EXPECT_EQ(read.sets[i].missing, expected.sets[i].missing);
    EXPECT_EQ(read.sets[i].enabled, expected.sets[i].enabled);
    ASSERT_EQ(read.sets[i].operators.size(), expected.sets[i].operators.size());
    for (size_t k = 0; k < read.sets[i].operators.size(); ++k) {
      const Operator &a = read.sets[i].operators[k], &b = expected.sets[i].operators[k];
      EXPECT_EQ(a.cubin, b.cubin);
      EXPECT_EQ(a.ptx, b.ptx);
      EXPECT_EQ(a.probes, b.probes);
      for (size_t n = 0; n < a.instances.size(); ++n) {
        EXPECT_EQ(plan::toJson(a.instances[n].plan), plan::toJson(b.instances[n].plan));
        EXPECT_EQ(a.instances[n].checksOfVariant, b.instances[n].checksOfVariant);
      }
    }
  }
  ASSERT_EQ(read.images.size(), expected.images.size());
  for (size_t i = 0; i < read.images.size(); ++i) {
    EXPECT_EQ(read.images[i].name, expected.images[i].name);
    EXPECT_EQ(read.images[i].digest, expected.images[i].digest);
    EXPECT_TRUE(std::ranges::equal(read.images[i].bytes, expected.images[i].bytes));
    const size_t offset =
        size_t(read.images[i].bytes.data() - std::as_bytes(std::span(file)).data());
    EXPECT_EQ(offset % kAlignment, 0u);
    if (read.images[i].kind == ImageKind::Ptx) {
      EXPECT_EQ(file[offset + read.images[i].bytes.size()], '\0');
    }
  }
  EXPECT_EQ(bundle->manifest(), writeManifest(expected));
}

/// A manifest that is canonical JSON and whose digest fits, but says what cannot be.
TEST(BundleManifest, WhatCannotBeIsRefused) {
  const std::string file = smallBundle();
  // Quotes have a backslash in the header.
  const auto error = [&](std::string from, std::string to) {
    for (std::string *text : {&from, &to})
      for (size_t at = 0; (at = text->find('"', at)) != std::string::npos; at += 2)
        text->insert(at, "\\");
    return errorOf(withHeader(file, from, to));
  };
  const auto expect = [&](const std::string &from, const std::string &to, std::string_view text) {
    const std::string found = error(from, to);
    EXPECT_NE(found.find(text), std::string::npos) << from << " -> " << to << ": " << found;
  };
  expect("\"format\":2", "\"format\":3", "'format' is 3, expected 2 to 2");
  expect("\"compiler\"", "\"comqiler\"", "expected the field 'compiler', found 'comqiler'");
  expect("\"kind\":\"ptx\"", "\"kind\":\"elf\"", "there is no kind 'elf'");
  expect("\"bytes\":14", "\"bytes\":13", "padding is not zero");
  expect("\"bytes\":14", "\"bytes\":64", "64 bytes do not fit its tensor of 64");
  expect("\"bytes\":16", "\"bytes\":0", "0 bytes do not fit");
  expect("\"name\":\"scales.sm_90.cubin\"", "\"name\":\"scalfs.sm_90.cubin\"",
         "there is no tensor for it");
  expect("\"capability\":[10,0]", "\"capability\":[9,0]", "its capability is that of sm_100");
  expect("\"capability\":[10,0]", "\"capability\":[10]", "no pair");
  expect("\"missing\":[\"scales\"]", "\"missing\":[]", "are not all of the bundle's");
  expect("\"missing\":[]", "\"missing\":[\"swiglu\"]", "are not all of the bundle's");
  expect("\"approximations\":[\"rcp.approx\"]", "\"approximations\":[\"sin.approx\"]",
         "there is no probe of sin.approx");
  expect("\"approximations\":[]", "\"approximations\":[\"b\",\"a\"]", "not sorted");
  expect("\"cubin\":true", "\"cubin\":false", "an image belongs to no operator");
  expect("\"cubin\":false", "\"cubin\":true", "there is no image swiglu.sm_100.cubin");
  expect("\"checks\":[[0],[1]]", "\"checks\":[[0],[2]]", "no increasing numbers below 2");
  expect("\"checks\":[[0],[1]]", "\"checks\":[[0],[]]", "it has no check");
  expect("\"checks\":[[0],[1]]", "\"checks\":[[0]]", "2 variants and checks for 1");
  expect("\"checks\":[[0],[0,1]]", "\"checks\":[[0],[1,0]]", "no increasing numbers");
  // The guards of v16_i32 do not hold for the second check.
  expect("\"checks\":[[0],[1]]", "\"checks\":[[1],[1]]",
         "variant v16_i32, check 1: declined: no_variant");
  expect("\"elements\":136", "\"elements\":127", "is not in its buffer");
  expect("\"elements\":136", "\"elements\":67108864", "has more than 67108864 bytes");
  expect("\"extents\":[4,32]", "\"extents\":[0,32]", "the contract says rows = 0");
  expect("\"extents\":[4,32]", "\"extents\":[4,31]", "declined");
  expect("\"strides\":[32,1]", "\"strides\":[32]", "is not in its buffer");
  expect("\"seed\":\"1\"", "\"seed\":\"01\"", "shortest form");
  expect("\"values\":\"mixed\"", "\"values\":\"finite\"", "'values' is no distribution");
  expect("\"values\":\"mixed\"", "\"values\":\"index\"", "go together");
  expect("[\"f32\",\"3f800000\"]", "[\"f16\",\"3f800000\"]", "declined: parameter");
  expect("\"type_arguments\":[\"f16\"]", "\"type_arguments\":[\"f32\"]", "of other types");
  expect("\"axis\":0", "\"axis\":8", "'axis' is 8");
  expect("[\"dim\",\"d\"]", "[\"dim\",\"e\"]", "there is no dim 'e'");
  expect("\"floordiv\"", "\"floordib\"", "expected an expression");
  expect("\"entry\":\"", "\"entry\":7,\"g\":\"", "'entry' is a number");
}

/// Proofs and audits come back as they were, and are of the very images of the bundle.
TEST(BundleManifest, ProofsAndAuditsAreOfTheBundlesImages) {
  const std::string file = smallBundle();
  const auto bundle = Bundle::open(std::as_bytes(std::span(file)));
  ASSERT_TRUE(bundle) << bundle.error().message;
  Contents contents = bundle->contents();
  Operator *op = nullptr;
  for (OperatorSet &set : contents.sets)
    for (Operator &each : set.operators)
      if (each.cubin && each.ptx)
        op = &each;
  ASSERT_TRUE(op);
  Proof proof;
  proof.prover = 1;
  proof.spec = sha256({});
  proof.ptx = contents.images[*op->ptx].digest;
  proof.allRows = {"heads", "tokens"};
  for (const plan::Variant &variant : op->instances[0].plan.variants)
    proof.variants.push_back({variant.name, 31, ""});
  proof.variants.back().problem = "a \"reason\"";
  proof.rewrites = {{"commute", 12}, {"half", 3}};
  op->instances[0].proof = proof;
  Audit audit;
  audit.auditor = 1;
  audit.cubin = contents.images[*op->cubin].digest;
  audit.ptx = proof.ptx;
  audit.assembler = "13.0.88";
  audit.disassembler = "13.2.51";
  audit.kernels = 6;
  audit.instructions = 2310;
  audit.operations = {{"add.f32", 92}};
  audit.expansions = {{"div.rn.f32", 2}};
  op->audit = audit;
  EXPECT_FALSE(op->instances[0].proof->isProved());
  const auto written = write(contents);
  ASSERT_TRUE(written) << written.error().message;
  const auto again = Bundle::open(std::as_bytes(std::span(*written)));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->contents().sets, contents.sets);

  const auto expect = [&](std::string_view text) {
    const auto refused = write(contents);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find(text), std::string::npos) << refused.error().message;
  };
  op->audit->cubin = proof.ptx;
  expect("audit: it is of other images than the bundle's");
  op->audit.reset();
  op->instances[0].proof->ptx = proof.spec;
  expect("proof: it is of other PTX than the bundle's");
  op->instances[0].proof = proof;
  op->instances[0].proof->variants.pop_back();
  expect("proof: its variants are not the plan's");
  op->instances[0].proof = proof;
  op->instances[0].proof->allRows = {"tokens", "heads"};
  expect("'all_rows' is not sorted");
}

TEST(BundleManifest, PlansAreReadAsTheyWereWritten) {
  for (const plan::OperatorPlan &plan :
       {plan::test::qkNormRope(), plan::test::swiglu(), plan::test::residualRmsNorm(),
        plan::test::scales(), plan::test::single(3, true)}) {
    const std::string text = plan::toJson(plan);
    const auto document = json::Document::parse(text);
    ASSERT_TRUE(document) << document.error().message;
    const auto read = plan::fromJson(document->root());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(plan::toJson(*read), text);
    EXPECT_EQ(plan::verify(*read), "");
  }
}

TEST(BundleManifest, MissingFieldsOfPlansAreNamed) {
  const std::string text = plan::toJson(plan::test::qkNormRope());
  for (std::string_view key : {"bindings", "dims", "name", "parameters", "requirements", "tensors",
                               "type_arguments", "variants"}) {
    std::string changed = text;
    // The keys of the plan itself are the first ones of their names, but for `name`.
    const std::string quoted =
        key == "name" ? "\"name\":\"qk_norm_rope\"" : "\"" + std::string(key) + "\":";
    const size_t at = changed.find(quoted);
    ASSERT_NE(at, std::string::npos);
    changed[at + key.size()] = '~';
    const auto document = json::Document::parse(changed);
    if (!document)
      continue; // no longer sorted
    const auto read = plan::fromJson(document->root());
    ASSERT_FALSE(read) << key;
    EXPECT_NE(read.error().message.find("'" + std::string(key) + "'"), std::string::npos)
        << read.error().message;
  }
}

} // namespace
