//===-- tests/unit/driver/SelfChecksTest.cpp - Which checks a variant gets -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/bundle/SelfChecks.h"
#include "codegen/contract/Contract.h"
#include "codegen/driver/Specs.h"

#include <gtest/gtest.h>

using namespace h3;

namespace {

/// The program of the first instance of the one operator in \p text.
struct Loaded {
  LoadedSpec spec;
  std::vector<OperatorInstances> operators;

  explicit Loaded(const std::string &text) {
    Diagnostics diagnostics;
    EXPECT_TRUE(loadSpecText(text, {}, spec, diagnostics)) << diagnostics.renderText();
    operators = instances(spec, diagnostics);
  }
  const Program &program() const { return *operators.at(0).programs.at(0); }
};

/// A plan with a variant for each of \p names: "any" serves all calls, "neat" those at 16 bytes,
/// "never" none.
bundle::Instance instanceOf(const Program &program, std::initializer_list<const char *> names) {
  std::string error;
  bundle::Instance instance{contractOf(program, error).value(), {}};
  plan::ExprBuilder b(instance.plan.nodes);
  for (std::string_view name : names) {
    plan::Variant variant;
    variant.name = name;
    variant.entry = "entry_" + variant.name;
    variant.grid[0] = b.constant(1);
    if (name == "neat")
      variant.guards = {{b.alignedTo(b.address(0), 16), "aligned"}};
    if (name == "never")
      variant.guards = {{b.lt(b.dim(0), b.constant(0)), "less than nothing"}};
    instance.plan.variants.push_back(variant);
  }
  EXPECT_EQ(plan::verify(instance.plan), "");
  return instance;
}

TEST(BundleChecks, EachVariantGetsTheWorstAlignedCallsThatItServes) {
  const Loaded loaded("op twice { dim rows, n in x: f32[rows, n] out y: f32[rows, n] "
                      "y[r, i] = x[r, i] + x[r, i] }");
  bundle::Instance first = instanceOf(loaded.program(), {"neat", "never", "any"}), second = first;
  std::vector<std::string> unreached;
  std::string error;
  std::vector<bundle::Instance *> targets = {&first, &second};
  const auto checks = makeSelfChecks(loaded.program(), targets, unreached, error);
  ASSERT_TRUE(checks) << error;
  EXPECT_EQ(first, second);
  EXPECT_EQ(unreached, (std::vector<std::string>{"entry_never", "entry_never"}));
  ASSERT_EQ(first.plan.variants.size(), 2u);
  EXPECT_EQ(first.plan.variants[0].name, "neat");
  EXPECT_EQ(first.plan.variants[1].name, "any");
  ASSERT_EQ(checks->size(), 4u);
  // "any" has the two that were drawn first: elements apart, at an odd place.
  EXPECT_EQ(first.checksOfVariant, (std::vector<std::vector<uint32_t>>{{2, 3}, {0, 1}}));
  for (size_t i = 0; i < 4; ++i) {
    const bundle::CheckTensor &x = (*checks)[i].tensors[0];
    EXPECT_EQ(x.offset * 4 % 16 == 0, i >= 2) << i;
    EXPECT_EQ(x.strides[1] == 1, i >= 2) << i;
  }
  // One of each pair has finite numbers alone.
  for (size_t i : {0, 2})
    EXPECT_NE((*checks)[i].tensors[0].values == bundle::Values::Finite,
              (*checks)[i + 1].tensors[0].values == bundle::Values::Finite);

  // The same again.
  bundle::Instance again = instanceOf(loaded.program(), {"neat", "never", "any"});
  targets = {&again};
  EXPECT_EQ(makeSelfChecks(loaded.program(), targets, unreached, error), checks);
}

TEST(BundleChecks, WhatServesNothingIsAnError) {
  const Loaded loaded("op f { dim n in x: f32[n] out y: f32[n] y[i] = x[i] + 1.0 }");
  bundle::Instance instance = instanceOf(loaded.program(), {"never"});
  std::vector<bundle::Instance *> targets = {&instance};
  std::vector<std::string> unreached;
  std::string error;
  EXPECT_FALSE(makeSelfChecks(loaded.program(), targets, unreached, error));
  EXPECT_EQ(error, "no variant serves any of 1120 calls that were drawn");
}

TEST(BundleChecks, MeaningIsOfTheProgramAndItsOrders) {
  const auto digest = [](const std::string &text) {
    return bundle::toHex(meaningOf(Loaded(text).program()));
  };
  const std::string head = "op f { dim rows, n in x: f32[rows, n] out y: f32[rows] for r: rows { ";
  const std::string sum = "let s = reduce i: n by o from t: f32 = 0.0 step t = t + x[r, i] "
                          "join (a, b) = a + b y[r] = s } }";
  const std::string four = "order o = (lane: 4, _) then halving lane\n" + head + sum;
  EXPECT_EQ(digest(four), digest("// A comment.\n" + four));
  EXPECT_NE(digest(four), digest("order o = (lane: 8, _) then halving lane\n" + head + sum));
  EXPECT_NE(digest(four), digest("order o = (lane: 4, _) then adjacent lane\n" + head + sum));
  EXPECT_NE(digest(four), digest("order o = (_, lane: 4) then halving lane\n" + head + sum));
}

TEST(BundleChecks, ApproximationsAreNamed) {
  EXPECT_EQ(approximationsOf(Loaded("op f { dim n in x: f32[n] out y: f32[n] "
                                    "y[i] = rsqrt.approx(x[i]) + ex2.approx.ftz(x[i]) }")
                                 .program()),
            (std::vector<std::string>{"ex2.approx.ftz", "rsqrt.approx"}));
  EXPECT_TRUE(approximationsOf(
                  Loaded("op f { dim n in x: f32[n] out y: f32[n] y[i] = sqrt(x[i]) }").program())
                  .empty());
}

} // namespace
