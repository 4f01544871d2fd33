//===-- runtime/evidence/Tool.h - Taking evidence and judging it - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// `h3gen evidence run` and `h3gen evidence check`, for that command and for a program that is
// carried to a machine with a device. They print what they find; the result is an exit code: 0
// good, 1 a call was wrong, or the evidence does not validate the bundle, 2 bad input, 3 the
// machine lacks something.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_EVIDENCE_TOOL_H
#define H3_RUNTIME_EVIDENCE_TOOL_H

#include "runtime/evidence/Record.h"

namespace h3::evidence {

struct RunOptions {
  std::string bundle;
  std::string cases;             ///< of Cases.h
  std::string output;            ///< the record; written whole or not at all
  std::string device = "cuda:0"; ///< of the driver's list
  std::string library = "libcuda.so.1";
  bool allowPtx = false; ///< also take images that the driver assembles; they validate nothing
};

/// Runs every case of the operators that the bundle has for the device's target through the
/// runtime's dispatch, with calls that must be declined, times those that are to be timed, and
/// writes the record. It is written also if calls were wrong.
int run(const RunOptions &options);

struct CheckOptions {
  std::string record;
  std::string bundle;
  size_t leastCases = kLeastCases;
};

/// Says for each operator set of the bundle what the record means to it. Good if the set of the
/// record's target is validated.
int check(const CheckOptions &options);

} // namespace h3::evidence

#endif // H3_RUNTIME_EVIDENCE_TOOL_H
