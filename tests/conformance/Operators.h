//===-- tests/conformance/Operators.h - What the suites run ---- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_CONFORMANCE_OPERATORS_H
#define H3_TESTS_CONFORMANCE_OPERATORS_H

#include "Machine.h"

#include "codegen/driver/Specs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace h3::test {

/// An operator, for test names and summaries.
struct Operator {
  std::string spec, name;
};
void PrintTo(const Operator &op, std::ostream *stream);

/// Those of specs/ and of forms/ in this folder, in the order of their files' names.
std::vector<Operator> allOperators();

/// The same, those first whose calls take the reference interpreter longest: processes that each
/// take the next one end at about the same time.
std::vector<Operator> longestFirst();

/// `rms_norm_rms_norm_w`: the file's name and the operator's.
std::string testName(const testing::TestParamInfo<Operator> &info);

/// The programs live as long as the result.
struct Instances {
  OperatorInstances owner;
  std::vector<Instance> list; ///< one for each choice of types
};
Instances instancesOf(const Operator &op);

/// The suite's seed (tests/unit/Seed.h) and \p name, mixed.
uint64_t seedOf(const std::string &name);

/// The number in an environment variable, or \p otherwise if it is not set.
int64_t fromEnvironment(const char *variable, int64_t otherwise);

/// A call and what the reference makes of it.
struct Expected {
  std::optional<DrawnCall> call;
  Memory memory;
  std::string error;
};

/// With \p batchDim as in referenceOf.
Expected prepare(const Instance &instance, uint64_t seed, const DrawLimits &limits,
                 std::optional<unsigned> batchDim = {});

} // namespace h3::test

#endif // H3_TESTS_CONFORMANCE_OPERATORS_H
