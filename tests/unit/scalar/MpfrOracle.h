//===-- tests/unit/scalar/MpfrOracle.h - Independent oracle -----*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The float operations of dsl/scalar, computed by MPFR: exact to the format's precision with an
// unbounded exponent, then brought into the format's exponent range by mpfr_check_range and
// mpfr_subnormalize. Shares no code with what it checks.
//
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_UNIT_SCALAR_MPFRORACLE_H
#define H3_TESTS_UNIT_SCALAR_MPFRORACLE_H

#include "dsl/scalar/Scalar.h"

#include <string>

#include <mpfr.h>

namespace h3::scalar {

class MpfrOracle {
public:
  explicit MpfrOracle(ScalarType type);
  ~MpfrOracle();
  MpfrOracle(const MpfrOracle &) = delete;
  MpfrOracle &operator=(const MpfrOracle &) = delete;

  Bits add(Bits a, Bits b, Rounding rounding);
  Bits sub(Bits a, Bits b, Rounding rounding);
  Bits mul(Bits a, Bits b, Rounding rounding);
  Bits div(Bits a, Bits b, Rounding rounding);
  Bits fma(Bits a, Bits b, Bits c, Rounding rounding);
  Bits sqrt(Bits a, Rounding rounding);

  /// From any float type.
  Bits convert(ScalarType from, Bits a, Rounding rounding);
  Bits convertInteger(int64_t a, Rounding rounding);
  struct Decimal {
    Bits bits;
    bool exact;
  };
  /// digits * 10^exponent, computed as an exact rational and rounded once, to nearest even.
  Decimal decimal(const std::string &digits, long exponent);

private:
  ScalarType type;
  int precision;
  int width;
  int bias;
  bool hasInfinity;
  mpfr_t x, y, z, result;

  Bits finish(int ternary, Rounding rounding);
};

} // namespace h3::scalar

#endif // H3_TESTS_UNIT_SCALAR_MPFRORACLE_H
