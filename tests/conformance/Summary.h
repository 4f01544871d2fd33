//===-- tests/conformance/Summary.h - What a suite ran -------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_CONFORMANCE_SUMMARY_H
#define H3_TESTS_CONFORMANCE_SUMMARY_H

#include "Machine.h"

#include <cstdint>
#include <map>
#include <string>

namespace h3::test {

/// What ran of one operator instance on one machine. When it goes it is printed, added to the
/// process' summary, and checked: an instance that ran nothing is a failure.
///
/// The summary of a process is written as JSON to the file that H3GEN_CONFORMANCE_JSON names.
class Tally {
public:
  Tally(std::string suite, std::string instance, std::string device);
  ~Tally();
  Tally(const Tally &) = delete;
  Tally &operator=(const Tally &) = delete;

  /// The image has this variant.
  void knows(const std::string &variant);
  /// A launch of it gave this, and it was right.
  void ran(const std::string &variant, const Memory &memory);
  void note(const std::string &key, int64_t value) { numbers[key] = value; }

private:
  std::string suite, instance, device;
  std::map<std::string, int64_t> launches; ///< by variant
  std::map<std::string, int64_t> numbers;
  int64_t bytes = 0; ///< compared
};

} // namespace h3::test

#endif // H3_TESTS_CONFORMANCE_SUMMARY_H
