//===-- dsl/scalar/Decimal.cpp - Decimal literals -------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A literal is digits * 10^exponent. The digits, and the power of five on whichever side of the
// fraction it stands, are exact natural numbers; a bit-by-bit division gives the leading 64 bits of
// the quotient and a sticky bit, which is all that rounding needs.
//
//===----------------------------------------------------------------------===//

#include "dsl/scalar/Arithmetic.h"
#include "dsl/scalar/Natural.h"
#include "dsl/scalar/Scalar.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace h3::scalar {
namespace {

/// digits * 10^exponent, the first and last digit not 0; no digits for zero.
struct DecimalDigits {
  std::string digits;
  int64_t exponent = 0;
};

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// The end of the run of digits that begins at \p position.
size_t skipDigits(std::string_view text, size_t position) {
  while (position < text.size() && isDigit(text[position]))
    ++position;
  return position;
}

/// Every midpoint of two neighbours of any of the types has fewer significant digits than this (the
/// longest, below f64's smallest normal number, have 768). So digits beyond it matter only in that
/// there are some.
constexpr size_t maxDigits = 800;

/// Powers of ten beyond this have overflowed or vanished in every type.
constexpr int64_t farExponent = 400;

std::optional<DecimalDigits> scan(std::string_view text) {
  size_t wholeEnd = skipDigits(text, 0);
  if (wholeEnd == 0)
    return std::nullopt;
  std::string_view whole = text.substr(0, wholeEnd), fraction;
  size_t position = wholeEnd;
  bool hasPoint = position < text.size() && text[position] == '.';
  if (hasPoint) {
    size_t end = skipDigits(text, position + 1);
    fraction = text.substr(position + 1, end - position - 1);
    if (fraction.empty())
      return std::nullopt;
    position = end;
  }

  int64_t exponent = 0;
  bool hasExponent = position < text.size() && (text[position] == 'e' || text[position] == 'E');
  if (hasExponent) {
    ++position;
    bool negative = position < text.size() && text[position] == '-';
    if (negative || (position < text.size() && text[position] == '+'))
      ++position;
    size_t end = skipDigits(text, position);
    if (end == position)
      return std::nullopt;
    // Far larger than any number of digits before or after the point: it cannot be compensated.
    constexpr int64_t saturated = int64_t(1) << 60;
    for (char c : text.substr(position, end - position))
      exponent = std::min(exponent * 10 + (c - '0'), saturated / 10);
    if (negative)
      exponent = -exponent;
    position = end;
  }
  if (position != text.size() || (!hasPoint && !hasExponent))
    return std::nullopt;

  // Leading zeros go, then everything beyond maxDigits, then trailing zeros.
  DecimalDigits result;
  exponent -= static_cast<int64_t>(fraction.size());
  auto digitAt = [&](size_t i) { return i < whole.size() ? whole[i] : fraction[i - whole.size()]; };
  size_t count = whole.size() + fraction.size(), first = 0;
  while (first < count && digitAt(first) == '0')
    ++first;
  size_t kept = std::min(count - first, maxDigits);
  for (size_t i = first; i < first + kept; ++i)
    result.digits.push_back(digitAt(i));
  bool moreFollows = false;
  for (size_t i = first + kept; i < count && !moreFollows; ++i)
    moreFollows = digitAt(i) != '0';
  exponent += static_cast<int64_t>(count - first - kept);
  if (moreFollows) {
    result.digits.push_back('1');
    --exponent;
  }
  while (!result.digits.empty() && result.digits.back() == '0') {
    result.digits.pop_back();
    ++exponent;
  }
  result.exponent = exponent;
  return result;
}

/// The leading 64 bits of the number, the rest ORed into bit 0. The number is not zero and its
/// exponent not far.
Unpacked leadingBits(const DecimalDigits &number) {
  Natural numerator, denominator;
  for (char c : number.digits)
    numerator.multiplyAdd(10, static_cast<uint32_t>(c - '0'));
  denominator.multiplyAdd(0, 1);
  Natural &scaled = number.exponent >= 0 ? numerator : denominator;
  scaled.multiplyByPowerOfFive(std::abs(number.exponent));

  // Shift until 1 <= numerator / denominator < 2.
  int64_t exponent = numerator.bitLength() - denominator.bitLength();
  if (exponent >= 0)
    denominator.shiftLeft(exponent);
  else
    numerator.shiftLeft(-exponent);
  if (numerator < denominator) {
    numerator.shiftLeft(1);
    --exponent;
  }

  uint64_t significand = 0;
  for (int bit = 0; bit < 64; ++bit) {
    significand <<= 1;
    if (numerator >= denominator) {
      numerator.subtract(denominator);
      significand |= 1;
    }
    numerator.shiftLeft(1);
  }
  if (!numerator.isZero())
    significand |= 1;
  return {false, static_cast<int>(exponent + number.exponent), significand};
}

template <class F> Decimal roundTo(const Unpacked &number) {
  Bits bits = pack<F>(number, Rounding::NearestEven);
  // A set sticky bit is below the precision of every type, so unpacking cannot give it back.
  bool exact = isFinite<F>(bits) && !isZero<F>(bits) && unpack<F>(bits) == number;
  Bits throughF64 = convert<F64, F>(pack<F64>(number, Rounding::NearestEven));
  return {bits, exact, bits == throughF64};
}

template <class F> Decimal parse(const DecimalDigits &number) {
  if (number.digits.empty())
    return {0, true, true};
  int64_t leadingPower = static_cast<int64_t>(number.digits.size()) + number.exponent;
  if (leadingPower > farExponent)
    return {F::overflow, false, true};
  if (leadingPower < -farExponent)
    return {0, false, true};
  return roundTo<F>(leadingBits(number));
}

} // namespace

std::optional<Decimal> parseDecimal(ScalarType type, std::string_view text) {
  if (!isFloat(type))
    return std::nullopt;
  std::optional<DecimalDigits> number = scan(text);
  if (!number)
    return std::nullopt;
  switch (type) {
  case ScalarType::F16:
    return parse<F16>(*number);
  case ScalarType::BF16:
    return parse<BF16>(*number);
  case ScalarType::F32:
    return parse<F32>(*number);
  case ScalarType::F64:
    return parse<F64>(*number);
  case ScalarType::E4M3:
    return parse<E4M3>(*number);
  default:
    return parse<E5M2>(*number);
  }
}

} // namespace h3::scalar
