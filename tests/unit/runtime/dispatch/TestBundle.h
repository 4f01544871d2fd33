//===-- tests/unit/runtime/dispatch/TestBundle.h - A bundle the stub driver can run - -*- C++
//-*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Four operators written by hand, in PTX, for sm_90 and sm_120 (enabled) and sm_89 (not enabled),
// with self-checks whose digests come from plain integer code here, or from dsl/scalar's model of
// rsqrt.approx:
//
//   root            y[n] = rsqrt.approx(x[n]), f32
//   scale<i32>(k=3) y[n] = x[n] * k; variants v4_i32 (16 bytes, neighbours) and v1_i64 (any
//   strides) shift<i32>      y[n] = x[n] + 7; y may alias x twice each      y[n] = x[n] + x[n], in
//   i32; four members a launch
//
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_UNIT_RUNTIME_DISPATCH_TESTBUNDLE_H
#define H3_TESTS_UNIT_RUNTIME_DISPATCH_TESTBUNDLE_H

#include "runtime/bundle/Bundle.h"

#include <string>
#include <vector>

namespace h3::rt::test {

/// What shall be wrong with it.
struct BundleFaults {
  std::string replaceIn;          ///< an image: "shift.sm_90.cubin"
  std::string from, to;           ///< of its text, the first time
  bool hasCubins = true;          ///< else PTX alone
  std::string ptxVersion = "7.8"; ///< of the PTX images
  std::string missing;            ///< an operator that sm_120 lacks
  std::string name = "test";      ///< of the set
};

/// The bundle's bytes; aborts if they are none.
std::string testBundle(const BundleFaults &faults = {});

/// The plan of an operator as JSON, as a host registers its own set: "shift".
std::string contractOf(const std::string &name);

plan::OperatorPlan planOf(const std::string &name, const std::string &target);

/// What `root` gives.
uint32_t rootOf(uint32_t bits);

} // namespace h3::rt::test

#endif // H3_TESTS_UNIT_RUNTIME_DISPATCH_TESTBUNDLE_H
