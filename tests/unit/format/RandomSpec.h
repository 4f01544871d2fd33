//===-- tests/unit/format/RandomSpec.h - Specs that parse, at random - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_UNIT_FORMAT_RANDOMSPEC_H
#define H3_TESTS_UNIT_FORMAT_RANDOMSPEC_H

#include <random>
#include <string>
#include <vector>

namespace h3::test {

/// The tokens of a spec that the grammar allows, whatever it may mean.
std::vector<std::string> randomSpec(std::mt19937_64 &random);

/// The tokens with spaces, newlines and comments between them, as a careless author has them.
std::string scattered(const std::vector<std::string> &tokens, std::mt19937_64 &random);

} // namespace h3::test

#endif // H3_TESTS_UNIT_FORMAT_RANDOMSPEC_H
