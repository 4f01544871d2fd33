//===-- tests/portable/Exact.cpp - The functions that specs approximate ---===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Exact.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace h3::test {

namespace {

constexpr mpfr_prec_t Precision = 200;

struct Number {
  mpfr_t value;
  Number() { mpfr_init2(value, Precision); }
  ~Number() { mpfr_clear(value); }
  Number(const Number &) = delete;
  Number &operator=(const Number &) = delete;
  operator mpfr_ptr() { return value; }
};

double logistic(double y, double v) {
  return v < 0 ? y * std::exp(v) / (1 + std::exp(v)) : y / (1 + std::exp(-v));
}
/// y / (1 + e^-v)
void logistic(mpfr_t result, mpfr_t y, mpfr_t v) {
  Number d;
  mpfr_neg(d, v, MPFR_RNDN);
  mpfr_exp(d, d, MPFR_RNDN);
  mpfr_add_ui(d, d, 1, MPFR_RNDN);
  mpfr_div(result, y, d, MPFR_RNDN);
}

bool isBelowAll(double x) { return x == -std::numeric_limits<double>::infinity(); }

double reciprocalRoot(double x) { return 1 / std::sqrt(x); }
void reciprocalRoot(mpfr_t result, mpfr_t x) {
  if (mpfr_zero_p(x))
    mpfr_set_inf(result, mpfr_signbit(x) ? -1 : 1); // as 1 / sqrt(-0)
  else
    mpfr_rec_sqrt(result, x, MPFR_RNDN);
}

double sigmoid(double x) { return logistic(1, x); }
void sigmoid(mpfr_t result, mpfr_t x) {
  Number one;
  mpfr_set_ui(one, 1, MPFR_RNDN);
  logistic(result, one, x);
}

double silu(double x) { return isBelowAll(x) ? -0.0 : logistic(x, x); }
void silu(mpfr_t result, mpfr_t x) { logistic(result, x, x); }

double geluErf(double x) {
  return isBelowAll(x) ? -0.0 : x * (0.5 * std::erfc(-x * 0.70710678118654752440));
}
void geluErf(mpfr_t result, mpfr_t x) {
  Number root;
  mpfr_sqrt_ui(root, 2, MPFR_RNDN);
  mpfr_div(root, x, root, MPFR_RNDN);
  mpfr_neg(root, root, MPFR_RNDN);
  mpfr_erfc(root, root, MPFR_RNDN);
  mpfr_div_ui(root, root, 2, MPFR_RNDN);
  mpfr_mul(result, root, x, MPFR_RNDN);
}

double geluTanh(double x) {
  if (isBelowAll(x))
    return -0.0;
  double v = x * (1.5957691216057307117597842397375 + 0.0713548162726009 * (x * x));
  return logistic(x, v);
}
void geluTanh(mpfr_t result, mpfr_t x) {
  Number v, factor;
  mpfr_sqr(v, x, MPFR_RNDN);
  mpfr_mul_ui(v, v, 44715, MPFR_RNDN);
  mpfr_div_ui(v, v, 1000000, MPFR_RNDN);
  mpfr_add_ui(v, v, 1, MPFR_RNDN);
  mpfr_mul(v, v, x, MPFR_RNDN);
  mpfr_const_pi(factor, MPFR_RNDN);
  mpfr_ui_div(factor, 8, factor, MPFR_RNDN);
  mpfr_sqrt(factor, factor, MPFR_RNDN);
  mpfr_mul(v, v, factor, MPFR_RNDN);
  logistic(result, x, v);
}

/// One of MPFR's own.
template <int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)> void plain(mpfr_t result, mpfr_t x) {
  function(result, x, MPFR_RNDN);
}

constexpr Exact functions[] = {
    {"exp", std::exp, plain<mpfr_exp>, true},
    {"log", std::log, plain<mpfr_log>, true},
    {"rsqrt", reciprocalRoot, reciprocalRoot, false},
    {"tanh", std::tanh, plain<mpfr_tanh>, true},
    {"erf", std::erf, plain<mpfr_erf>, true},
    {"sigmoid", sigmoid, sigmoid, true},
    {"silu", silu, silu, false},
    {"gelu_erf", geluErf, geluErf, false},
    {"gelu_tanh", geluTanh, geluTanh, false},
};

int exponentOfUlp(int exponent) { return std::clamp(exponent, -126, 127) - 23; }

constexpr double Wrong = std::numeric_limits<double>::infinity();

} // namespace

std::span<const Exact> exactFunctions() { return functions; }

double ulps(float result, double exact) {
  if (std::isnan(result) || std::isnan(exact))
    return std::isnan(result) && std::isnan(exact) ? 0 : Wrong;
  if (std::signbit(result) != std::signbit(exact))
    return Wrong;
  double magnitude = std::abs(exact), ours = std::abs(double(result));
  if (std::isinf(exact))
    return std::isinf(result) ? 0 : Wrong;
  if (std::isinf(result)) {
    ours = 0x1p128;
    if (magnitude >= 0x1p128 - 0x1p103)
      return 0;
  }
  int exponent = magnitude == 0 ? -126 : std::ilogb(magnitude);
  return std::ldexp(std::abs(ours - magnitude), -exponentOfUlp(exponent));
}

double ulpsByMpfr(const Exact &function, float x, float result) {
  if (!std::isfinite(x))
    return ulps(result, function.value(x));
  Number argument, exact;
  mpfr_set_flt(argument, x, MPFR_RNDN);
  function.rounded(exact, argument);
  if (mpfr_nan_p(exact.value) || mpfr_inf_p(exact.value) || mpfr_zero_p(exact.value) ||
      std::isinf(result))
    return ulps(result, mpfr_get_d(exact, MPFR_RNDN));
  if (std::isnan(result) || std::signbit(result) != bool(mpfr_signbit(exact.value)))
    return Wrong;
  int exponent = exponentOfUlp(int(std::max<mpfr_exp_t>(mpfr_get_exp(exact.value) - 1, -200)));
  Number difference;
  mpfr_set_flt(difference, result, MPFR_RNDN);
  mpfr_sub(difference, difference, exact, MPFR_RNDN);
  mpfr_abs(difference, difference, MPFR_RNDN);
  mpfr_mul_2si(difference, difference, -exponent, MPFR_RNDN);
  return mpfr_get_d(difference, MPFR_RNDN);
}

Bits correctlyRounded(const Exact &function, ScalarType type, float x) {
  auto narrow = [&](double value) {
    return scalar::convert(ScalarType::F64, type, std::bit_cast<uint64_t>(value));
  };
  double value = function.value(x);
  Bits low = narrow(value * (1 - Slack)), high = narrow(value * (1 + Slack));
  if (low == high || !std::isfinite(x))
    return narrow(value);
  // Near the middle of two, or such a value itself. To 53 bits, the last one set if anything was
  // cut off: what follows rounds like the exact value.
  Number argument, exact;
  mpfr_set_flt(argument, x, MPFR_RNDN);
  function.rounded(exact, argument);
  uint64_t bits = std::bit_cast<uint64_t>(mpfr_get_d(exact, MPFR_RNDZ));
  if (mpfr_cmp_d(exact, std::bit_cast<double>(bits)) != 0)
    bits |= 1;
  return scalar::convert(ScalarType::F64, type, bits);
}

void Worst::measure(const Exact &function, std::span<const uint32_t> inputs,
                    std::span<const uint32_t> outputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    float x = std::bit_cast<float>(inputs[i]);
    double now = ulps(std::bit_cast<float>(outputs[i]), function.value(x));
    if (now > error) {
      error = now;
      at = x;
    }
  }
  count += inputs.size();
}

} // namespace h3::test
