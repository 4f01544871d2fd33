//===-- dsl/scalar/Format.cpp - Scalar values as text ---------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/scalar/Format.h"

#include "dsl/scalar/Arithmetic.h"
#include "dsl/scalar/Natural.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace h3::scalar {
namespace {

/// 0.digits * 10^pointPosition.
struct DecimalDigits {
  std::string digits;
  int pointPosition;
};

/// All digits of a finite nonzero number, which is its \p significand * 2^exponent.
DecimalDigits exactDigits(uint64_t significand, int exponent) {
  Natural number;
  number.multiplyAdd(0, static_cast<uint32_t>(significand >> 32));
  number.shiftLeft(32);
  number.multiplyAdd(1, static_cast<uint32_t>(significand));
  // A negative power of two is a power of five over one of ten.
  if (exponent >= 0)
    number.shiftLeft(exponent);
  else
    number.multiplyByPowerOfFive(-exponent);

  std::string reversed;
  while (!number.isZero())
    reversed.push_back(static_cast<char>('0' + number.divide(10)));
  int position = static_cast<int>(reversed.size()) + std::min(exponent, 0);
  return {{reversed.rbegin(), reversed.rend()}, position};
}

/// One more in the last place; the digits stay as many.
DecimalDigits incremented(DecimalDigits number) {
  size_t i = number.digits.size();
  while (i > 0 && number.digits[i - 1] == '9')
    number.digits[--i] = '0';
  if (i > 0) {
    ++number.digits[i - 1];
    return number;
  }
  number.digits.front() = '1';
  ++number.pointPosition;
  return number;
}

bool readsBack(ScalarType type, const DecimalDigits &number, Bits a) {
  std::optional<Decimal> value =
      parseDecimal(type, "0." + number.digits + "e" + std::to_string(number.pointPosition));
  return value && value->bits == a;
}

/// The fewest digits that read back as the positive number \p a. With n digits the candidates are
/// the two neighbours of the exact value.
DecimalDigits shortestDigits(ScalarType type, Bits a) {
  Unpacked value = unpack<F64>(convert(type, ScalarType::F64, a));
  int trailingZeros = std::countr_zero(value.significand);
  DecimalDigits exact =
      exactDigits(value.significand >> trailingZeros, value.exponent - 63 + trailingZeros);
  for (size_t n = 1; n < exact.digits.size(); ++n) {
    DecimalDigits below = {exact.digits.substr(0, n), exact.pointPosition};
    DecimalDigits above = incremented(below);
    // The remaining digits against one half of the last place.
    bool aboveIsNearer = exact.digits.compare(n, std::string::npos, "5") > 0;
    if (aboveIsNearer)
      std::swap(below, above);
    if (readsBack(type, below, a))
      return below;
    if (readsBack(type, above, a))
      return above;
  }
  return exact;
}

/// Without exponent from 1e-4 to below 1e16.
std::string layOut(DecimalDigits number) {
  std::string &digits = number.digits;
  while (digits.back() == '0')
    digits.pop_back();
  int count = static_cast<int>(digits.size()), position = number.pointPosition;
  if (position < -3 || position > 16) {
    std::string exponent = "e" + std::to_string(position - 1);
    return count == 1 ? digits + exponent : digits.substr(0, 1) + "." + digits.substr(1) + exponent;
  }
  if (position <= 0)
    return "0." + std::string(static_cast<size_t>(-position), '0') + digits;
  if (position >= count)
    return digits + std::string(static_cast<size_t>(position - count), '0');
  return digits.insert(static_cast<size_t>(position), ".");
}

} // namespace

std::string format(ScalarType type, Bits a) {
  switch (type) {
  case ScalarType::Bool:
    return a != 0 ? "true" : "false";
  case ScalarType::I32:
    return std::to_string(static_cast<int32_t>(a));
  case ScalarType::I64:
    return std::to_string(static_cast<int64_t>(a));
  default:
    break;
  }
  if (isNaN(type, a))
    return "nan";
  std::string sign = signBit(type, a) ? "-" : "";
  if (isInfinity(type, a))
    return sign + "inf";
  if (isZero(type, a))
    return sign + "0";
  return sign + layOut(shortestDigits(type, abs(type, a)));
}

} // namespace h3::scalar
