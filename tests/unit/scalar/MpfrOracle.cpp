//===-- tests/unit/scalar/MpfrOracle.cpp - Independent oracle -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/scalar/MpfrOracle.h"

#include <cmath>
#include <cstdlib>
#include <string>

#include <gmp.h>

namespace h3::scalar {
namespace {

struct Parameters {
  int width, precision, bias;
  bool hasInfinity;
};

Parameters parametersOf(ScalarType type) {
  switch (type) {
  case ScalarType::F16:
    return {16, 11, 15, true};
  case ScalarType::BF16:
    return {16, 8, 127, true};
  case ScalarType::F32:
    return {32, 24, 127, true};
  case ScalarType::F64:
    return {64, 53, 1023, true};
  case ScalarType::E4M3:
    return {8, 4, 7, false};
  case ScalarType::E5M2:
    return {8, 3, 15, true};
  default:
    std::abort();
  }
}

mpfr_rnd_t mpfrRounding(Rounding rounding) {
  switch (rounding) {
  case Rounding::NearestEven:
    return MPFR_RNDN;
  case Rounding::TowardZero:
    return MPFR_RNDZ;
  case Rounding::Down:
    return MPFR_RNDD;
  case Rounding::Up:
    return MPFR_RNDU;
  }
  std::abort();
}

/// \p out has at least 53 bits.
void decode(mpfr_t out, ScalarType type, Bits a) {
  Parameters p = parametersOf(type);
  int fractionBits = p.precision - 1;
  int exponentBits = p.width - p.precision;
  uint64_t fraction = a % (uint64_t(1) << fractionBits);
  int field = static_cast<int>((a >> fractionBits) % (uint64_t(1) << exponentBits));
  bool negative = ((a >> (p.width - 1)) & 1) != 0;
  bool top = field == (1 << exponentBits) - 1;
  if (p.hasInfinity ? top && fraction != 0 : top && fraction == 7)
    return mpfr_set_nan(out);
  if (p.hasInfinity && top)
    return mpfr_set_inf(out, negative ? -1 : 1);
  if (field == 0 && fraction == 0)
    return mpfr_set_zero(out, negative ? -1 : 1);
  if (field == 0)
    field = 1;
  else
    fraction += uint64_t(1) << fractionBits;
  mpfr_set_ui_2exp(out, fraction, field - p.bias - fractionBits, MPFR_RNDN);
  mpfr_setsign(out, out, negative, MPFR_RNDN);
}

void setExponentRange(mpfr_exp_t least, mpfr_exp_t largest) {
  mpfr_set_emin(least);
  mpfr_set_emax(largest);
}

} // namespace

MpfrOracle::MpfrOracle(ScalarType type) : type(type) {
  Parameters p = parametersOf(type);
  precision = p.precision;
  width = p.width;
  bias = p.bias;
  hasInfinity = p.hasInfinity;
  mpfr_init2(x, 64);
  mpfr_init2(y, 64);
  mpfr_init2(z, 64);
  mpfr_init2(result, precision);
}

MpfrOracle::~MpfrOracle() {
  mpfr_clear(x);
  mpfr_clear(y);
  mpfr_clear(z);
  mpfr_clear(result);
}

Bits MpfrOracle::finish(int ternary, Rounding rounding) {
  // MPFR writes a number as 0.1xxx * 2^e. e4m3 uses the highest exponent field for numbers too.
  int largestExponent = bias + (hasInfinity ? 1 : 2);
  int leastExponent = 3 - bias - precision;
  setExponentRange(leastExponent, largestExponent);
  ternary = mpfr_check_range(result, ternary, mpfrRounding(rounding));
  mpfr_subnormalize(result, ternary, mpfrRounding(rounding));
  setExponentRange(mpfr_get_emin_min(), mpfr_get_emax_max());

  Bits sign = mpfr_signbit(result) != 0 ? Bits(1) << (width - 1) : 0;
  int fractionBits = precision - 1;
  Bits nan = (Bits(1) << (width - 1)) - 1;
  Bits infinity = nan >> fractionBits << fractionBits;
  if (mpfr_nan_p(result))
    return nan;
  // A format without infinity: an overflow rounded towards zero is the largest number.
  if (!hasInfinity && (mpfr_inf_p(result) || mpfr_cmpabs_ui(result, 448) > 0))
    return rounding == Rounding::TowardZero ? sign | 0x7E : nan;
  if (mpfr_inf_p(result))
    return sign | infinity;
  double value = std::fabs(mpfr_get_d(result, MPFR_RNDN));
  if (value == 0)
    return sign;
  int exponent = 0;
  double fraction = std::frexp(value, &exponent); // value = fraction * 2^exponent, fraction < 1
  if (exponent - 1 < 1 - bias) {
    // In units of the smallest subnormal; in two steps, for f64's would leave the range in one.
    double scaled = std::ldexp(std::ldexp(value, bias - 1), fractionBits);
    return sign | static_cast<Bits>(scaled);
  }
  Bits significand = static_cast<Bits>(std::ldexp(fraction, precision));
  return sign | ((static_cast<Bits>(exponent - 2 + bias) << fractionBits) + significand);
}

Bits MpfrOracle::add(Bits a, Bits b, Rounding rounding) {
  decode(x, type, a);
  decode(y, type, b);
  return finish(mpfr_add(result, x, y, mpfrRounding(rounding)), rounding);
}

Bits MpfrOracle::sub(Bits a, Bits b, Rounding rounding) {
  decode(x, type, a);
  decode(y, type, b);
  return finish(mpfr_sub(result, x, y, mpfrRounding(rounding)), rounding);
}

Bits MpfrOracle::mul(Bits a, Bits b, Rounding rounding) {
  decode(x, type, a);
  decode(y, type, b);
  return finish(mpfr_mul(result, x, y, mpfrRounding(rounding)), rounding);
}

Bits MpfrOracle::div(Bits a, Bits b, Rounding rounding) {
  decode(x, type, a);
  decode(y, type, b);
  return finish(mpfr_div(result, x, y, mpfrRounding(rounding)), rounding);
}

Bits MpfrOracle::fma(Bits a, Bits b, Bits c, Rounding rounding) {
  decode(x, type, a);
  decode(y, type, b);
  decode(z, type, c);
  return finish(mpfr_fma(result, x, y, z, mpfrRounding(rounding)), rounding);
}

Bits MpfrOracle::sqrt(Bits a, Rounding rounding) {
  decode(x, type, a);
  return finish(mpfr_sqrt(result, x, mpfrRounding(rounding)), rounding);
}

Bits MpfrOracle::convert(ScalarType from, Bits a, Rounding rounding) {
  decode(x, from, a);
  if (mpfr_inf_p(x) && !hasInfinity)
    mpfr_set_nan(x);
  return finish(mpfr_set(result, x, mpfrRounding(rounding)), rounding);
}

Bits MpfrOracle::convertInteger(int64_t a, Rounding rounding) {
  return finish(mpfr_set_si(result, a, mpfrRounding(rounding)), rounding);
}

MpfrOracle::Decimal MpfrOracle::decimal(const std::string &digits, long exponent) {
  mpq_t quotient;
  mpq_init(quotient);
  mpz_t power;
  mpz_init(power);
  mpz_ui_pow_ui(power, 10, static_cast<unsigned long>(std::labs(exponent)));
  mpz_set_str(mpq_numref(quotient), digits.c_str(), 10);
  if (exponent >= 0)
    mpz_mul(mpq_numref(quotient), mpq_numref(quotient), power);
  else
    mpz_set(mpq_denref(quotient), power);
  mpq_canonicalize(quotient);
  Bits bits = finish(mpfr_set_q(result, quotient, MPFR_RNDN), Rounding::NearestEven);
  decode(x, type, bits);
  bool exact = false;
  if (mpfr_number_p(x)) {
    mpq_t rounded;
    mpq_init(rounded);
    mpfr_get_q(rounded, x);
    exact = mpq_equal(rounded, quotient) != 0;
    mpq_clear(rounded);
  }
  mpz_clear(power);
  mpq_clear(quotient);
  return {bits, exact};
}

} // namespace h3::scalar
