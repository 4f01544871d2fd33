//===-- tests/portable/Exact.h - The functions that specs approximate - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Exact values to measure errors against. Sweeps use the host's f64 functions, whose relative error
// is below `Slack`: some 2^-50 for the functions themselves, at most 2^-44 once an argument such as
// x^2 / 2 <= 200 is rounded. In ulps of f32 that is less than 2^-19. MPFR, with 200 bits, has the
// last word on the worst arguments found and wherever f64 cannot decide a rounding.
//
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_PORTABLE_EXACT_H
#define H3_TESTS_PORTABLE_EXACT_H

#include "dsl/scalar/Scalar.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <mpfr.h>

namespace h3::test {

constexpr double Slack = 0x1p-43;

/// One function of the library. At an infinity both give the limit, with its sign if it is zero.
struct Exact {
  std::string_view name;
  double (*value)(double x);
  void (*rounded)(mpfr_t result, mpfr_t x); ///< to the precision of `result`; x is finite
  bool increasing;                          ///< wherever it is not NaN
};

std::span<const Exact> exactFunctions();

/// |result - exact| in units of the last place that an f32 next to \p exact has: 2^(e - 23) for
/// 2^e <= |exact| < 2^(e+1), at least 2^-149. An infinity counts as 2^128, and as right where
/// rounding to nearest gives it. Infinite where one is NaN and the other not, where infinities or
/// signs differ, the sign of a zero included.
double ulps(float result, double exact);
/// The same, exact value by MPFR.
double ulpsByMpfr(const Exact &function, float x, float result);

/// \p function at \p x, rounded once to f16 or bf16.
Bits correctlyRounded(const Exact &function, ScalarType type, float x);

/// The worst of many arguments.
struct Worst {
  uint64_t count = 0;
  double error = 0; ///< ulps, by f64
  float at = 0;

  /// Compares \p outputs, bits of f32, with the function at \p inputs.
  void measure(const Exact &function, std::span<const uint32_t> inputs,
               std::span<const uint32_t> outputs);
};

} // namespace h3::test

#endif // H3_TESTS_PORTABLE_EXACT_H
