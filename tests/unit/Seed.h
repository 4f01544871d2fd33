//===-- tests/unit/Seed.h - Where random tests begin ---------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_UNIT_SEED_H
#define H3_TESTS_UNIT_SEED_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace h3::test {

/// H3GEN_TEST_SEED of the environment, or always the same; printed either way.
inline uint64_t seed() {
  const char *given = std::getenv("H3GEN_TEST_SEED");
  uint64_t value = given ? std::strtoull(given, nullptr, 0) : 20261130;
  std::printf("H3GEN_TEST_SEED=%llu\n", static_cast<unsigned long long>(value));
  return value;
}

} // namespace h3::test

#endif // H3_TESTS_UNIT_SEED_H
