//===-- dsl/scalar/Arithmetic.h - Operations by format ----------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The float operations of Scalar.h as templates over the format: `add<F32>(a, b)` is
// `add(ScalarType::F32, a, b)` without the dispatch. Contracts are those of Scalar.h.
//
// Each operation computes the leading bits of the exact result in a 64- or 128-bit integer, ORs
// everything below into the lowest bit, and rounds once.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_SCALAR_ARITHMETIC_H
#define H3_DSL_SCALAR_ARITHMETIC_H

#include "dsl/scalar/FloatFormat.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace h3::scalar {

namespace detail {

__extension__ using Unsigned128 = unsigned __int128;

/// Holds the exact product of two significands, and two spare bits.
template <class F> using Wide = std::conditional_t<F::precision <= 24, uint64_t, Unsigned128>;

template <class W> inline constexpr int wideBits = static_cast<int>(sizeof(W) * 8);

constexpr int leadingZeros(uint64_t x) { return std::countl_zero(x); }
constexpr int leadingZeros(Unsigned128 x) {
  auto high = static_cast<uint64_t>(x >> 64);
  return high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<uint64_t>(x));
}

/// The leading 64 bits, everything below ORed into bit 0.
constexpr uint64_t leading64(uint64_t x) { return x; }
constexpr uint64_t leading64(Unsigned128 x) {
  return static_cast<uint64_t>(x >> 64) | (static_cast<uint64_t>(x) != 0 ? 1 : 0);
}

/// x >> count, the bits shifted out ORed into bit 0. The top bit of \p x is clear, so that a count
/// beyond the width can be cut to the width - 1.
template <class W> constexpr W shiftRightSticky(W x, int count) {
  count = std::min(count, wideBits<W> - 1);
  W kept = x >> count;
  return kept | static_cast<W>((kept << count) != x ? 1 : 0);
}

/// A term of a sum: bit (width - 2) of `magnitude` weighs 2^exponent, the top bit is clear.
template <class W> struct Term {
  bool negative;
  int exponent;
  W magnitude;
};

/// The zero that an exact cancellation gives.
template <class F> constexpr Bits cancelled(Rounding rounding) {
  return rounding == Rounding::Down ? F::signMask : 0;
}

/// a + b rounded once. Both magnitudes have their leading bit in the second or third place from the
/// top, and bit 0 clear.
///
/// The term of lower exponent is shifted right with a sticky bit. Bits are lost only when the
/// exponents are so far apart that the subtraction cancels at most two leading bits; the sticky bit
/// then stays far below the rounding position, and as bit 0 of the other term is clear, it stands
/// for the lost bits in a difference too.
template <class F, class W> constexpr Bits addTerms(Term<W> a, Term<W> b, Rounding rounding) {
  int distance = a.exponent - b.exponent;
  // Which term is higher is as good as random, so no branch decides it.
  W exchange = (a.magnitude ^ b.magnitude) & -static_cast<W>(distance < 0 ? 1 : 0);
  W higher = a.magnitude ^ exchange;
  W lower = shiftRightSticky<W>(b.magnitude ^ exchange, distance < 0 ? -distance : distance);
  int exponent = std::max(a.exponent, b.exponent);

  bool opposite = a.negative != b.negative;
  bool negative = a.negative != (opposite && distance < 0);
  W subtract = -static_cast<W>(opposite ? 1 : 0);
  W sum = higher + ((lower ^ subtract) - subtract);
  // A difference below zero has its top bit set; a sum may have it set as an ordinary bit.
  W flip = -(sum >> (wideBits<W> - 1)) & subtract;
  sum = (sum ^ flip) - flip;
  if (sum == 0) [[unlikely]]
    return cancelled<F>(rounding);
  negative = negative != static_cast<bool>(flip & 1);
  int zeros = leadingZeros(sum);
  return roundAndPack<F>(negative, exponent + 1 - zeros, leading64(static_cast<W>(sum << zeros)),
                         rounding);
}

/// The first \p rootBits digits of the square root of a binary fraction 0.xx..., whose bits \p x
/// holds from bit 63 down and whose first pair is not zero, and whether a remainder is left. Digit
/// by digit: each step takes two bits of x, and then zeros. At most 60 digits.
constexpr std::pair<uint64_t, bool> squareRoot(uint64_t x, int rootBits) {
  uint64_t root = 0, remainder = 0;
  for (; rootBits > 0; --rootBits) {
    remainder = (remainder << 2) | (x >> 62);
    x <<= 2;
    uint64_t trial = (root << 2) | 1;
    uint64_t digit = remainder >= trial ? 1 : 0;
    remainder -= trial & (0 - digit);
    root = (root << 1) | digit;
  }
  return {root, remainder != 0};
}

} // namespace detail

template <class F> constexpr Bits canonical(Bits a) { return isNaN<F>(a) ? F::nan : a; }

template <class F> constexpr Bits add(Bits a, Bits b, Rounding rounding = Rounding::NearestEven) {
  if (!isFinite<F>(a) || !isFinite<F>(b)) [[unlikely]] {
    if (isNaN<F>(a) || isNaN<F>(b))
      return F::nan;
    if (!isInfinity<F>(a))
      return b;
    return isInfinity<F>(b) && a != b ? F::nan : a;
  }
  if (isZero<F>(a) || isZero<F>(b)) [[unlikely]] {
    if (!isZero<F>(a))
      return a;
    if (!isZero<F>(b))
      return b;
    return a == b ? a : detail::cancelled<F>(rounding);
  }
  Unpacked x = unpack<F>(a), y = unpack<F>(b);
  return detail::addTerms<F, uint64_t>({x.negative, x.exponent, x.significand >> 1},
                                       {y.negative, y.exponent, y.significand >> 1}, rounding);
}

template <class F> constexpr Bits sub(Bits a, Bits b, Rounding rounding = Rounding::NearestEven) {
  return add<F>(a, b ^ F::signMask, rounding);
}

template <class F> constexpr Bits mul(Bits a, Bits b, Rounding rounding = Rounding::NearestEven) {
  bool negative = isNegative<F>(a ^ b);
  if (!isFinite<F>(a) || !isFinite<F>(b)) [[unlikely]] {
    if (isNaN<F>(a) || isNaN<F>(b) || isZero<F>(a) || isZero<F>(b))
      return F::nan;
    return withSign<F>(F::overflow, negative);
  }
  if (isZero<F>(a) || isZero<F>(b)) [[unlikely]]
    return withSign<F>(0, negative);
  using W = detail::Wide<F>;
  constexpr int factorBits = detail::wideBits<W> / 2;
  Unpacked x = unpack<F>(a), y = unpack<F>(b);
  W product = static_cast<W>(x.significand >> (64 - factorBits)) *
              static_cast<W>(y.significand >> (64 - factorBits));
  int zeros = 1 - static_cast<int>(product >> (detail::wideBits<W> - 1));
  return roundAndPack<F>(negative, x.exponent + y.exponent + 1 - zeros,
                         detail::leading64(static_cast<W>(product << zeros)), rounding);
}

template <class F> constexpr Bits div(Bits a, Bits b, Rounding rounding = Rounding::NearestEven) {
  bool negative = isNegative<F>(a ^ b);
  if (isNaN<F>(a) || isNaN<F>(b)) [[unlikely]]
    return F::nan;
  if (isInfinity<F>(a)) [[unlikely]]
    return isInfinity<F>(b) ? F::nan : withSign<F>(F::overflow, negative);
  if (isInfinity<F>(b)) [[unlikely]]
    return withSign<F>(0, negative);
  if (isZero<F>(b)) [[unlikely]]
    return isZero<F>(a) ? F::nan : withSign<F>(F::overflow, negative);
  if (isZero<F>(a)) [[unlikely]]
    return withSign<F>(0, negative);
  // The dividend is twice as wide as the divisor; the quotient has at least factorBits bits, which
  // is eight more than the precision.
  using W = detail::Wide<F>;
  constexpr int factorBits = detail::wideBits<W> / 2;
  Unpacked x = unpack<F>(a), y = unpack<F>(b);
  W dividend = static_cast<W>(x.significand >> (64 - factorBits)) << (factorBits - 1);
  W divisor = static_cast<W>(y.significand >> (64 - factorBits));
  auto quotient = static_cast<uint64_t>(dividend / divisor);
  bool exact = dividend % divisor == 0;
  // quotient * 2^(x.exponent - y.exponent - (factorBits - 1)), and 2^(factorBits - 2) < quotient.
  int zeros = std::countl_zero(quotient);
  int exponent = x.exponent - y.exponent - (factorBits - 1) + 63 - zeros;
  return roundAndPack<F>(negative, exponent, (quotient << zeros) | (exact ? 0 : 1), rounding);
}

template <class F>
constexpr Bits fma(Bits a, Bits b, Bits c, Rounding rounding = Rounding::NearestEven) {
  bool productNegative = isNegative<F>(a ^ b);
  if (!isFinite<F>(a) || !isFinite<F>(b) || !isFinite<F>(c)) [[unlikely]] {
    if (isNaN<F>(a) || isNaN<F>(b) || isNaN<F>(c))
      return F::nan;
    if (!isInfinity<F>(a) && !isInfinity<F>(b))
      return c;
    if (isZero<F>(a) || isZero<F>(b))
      return F::nan;
    Bits product = withSign<F>(F::overflow, productNegative);
    return isInfinity<F>(c) && c != product ? F::nan : product;
  }
  if (isZero<F>(a) || isZero<F>(b)) [[unlikely]] {
    if (!isZero<F>(c) || isNegative<F>(c) == productNegative)
      return c;
    return detail::cancelled<F>(rounding);
  }
  if (isZero<F>(c)) [[unlikely]]
    return mul<F>(a, b, rounding);

  using W = detail::Wide<F>;
  constexpr int factorBits = detail::wideBits<W> / 2;
  Unpacked x = unpack<F>(a), y = unpack<F>(b), z = unpack<F>(c);
  W product = static_cast<W>(x.significand >> (64 - factorBits)) *
              static_cast<W>(y.significand >> (64 - factorBits));
  W addend = static_cast<W>(z.significand) << (detail::wideBits<W> - 64);
  // Two significands of p bits have a product of 2p bits, so the low bits are free: the shifts lose
  // nothing.
  return detail::addTerms<F, W>(
      {productNegative, x.exponent + y.exponent + 1, static_cast<W>(product >> 1)},
      {z.negative, z.exponent, static_cast<W>(addend >> 1)}, rounding);
}

template <class F> constexpr Bits sqrt(Bits a, Rounding rounding = Rounding::NearestEven) {
  if (isNaN<F>(a))
    return F::nan;
  if (isZero<F>(a))
    return a;
  if (isNegative<F>(a))
    return F::nan;
  if (isInfinity<F>(a))
    return a;
  // Enough digits that all of the significand is taken in.
  constexpr int rootBits = F::precision + 2;
  Unpacked x = unpack<F>(a);
  // The number is 4^(floor(x.exponent / 2) + 1) times a fraction in [1/4, 1).
  uint64_t fraction = (x.exponent & 1) != 0 ? x.significand : x.significand >> 1;
  auto [root, inexact] = detail::squareRoot(fraction, rootBits);
  return roundAndPack<F>(false, x.exponent >> 1, (root << (64 - rootBits)) | (inexact ? 1 : 0),
                         rounding);
}

template <class F> constexpr Bits neg(Bits a) { return isNaN<F>(a) ? F::nan : a ^ F::signMask; }
template <class F> constexpr Bits abs(Bits a) { return isNaN<F>(a) ? F::nan : magnitude<F>(a); }
template <class F> constexpr Bits copysign(Bits value, Bits sign) {
  return isNaN<F>(value) ? F::nan : magnitude<F>(value) | (sign & F::signMask);
}

/// Orders the values that are not NaN as integers, -0 directly below +0.
template <class F> constexpr int64_t orderKey(Bits a) {
  auto key = static_cast<int64_t>(magnitude<F>(a));
  return isNegative<F>(a) ? -key - 1 : key;
}

template <class F> constexpr Bits maximum(Bits a, Bits b) {
  if (isNaN<F>(a) || isNaN<F>(b)) [[unlikely]]
    return F::nan;
  return orderKey<F>(a) < orderKey<F>(b) ? b : a;
}
template <class F> constexpr Bits minimum(Bits a, Bits b) {
  if (isNaN<F>(a) || isNaN<F>(b)) [[unlikely]]
    return F::nan;
  return orderKey<F>(b) < orderKey<F>(a) ? b : a;
}
template <class F> constexpr Bits maximumNumber(Bits a, Bits b) {
  if (isNaN<F>(a)) [[unlikely]]
    return canonical<F>(b);
  return isNaN<F>(b) ? a : maximum<F>(a, b);
}
template <class F> constexpr Bits minimumNumber(Bits a, Bits b) {
  if (isNaN<F>(a)) [[unlikely]]
    return canonical<F>(b);
  return isNaN<F>(b) ? a : minimum<F>(a, b);
}

template <class F> constexpr Ordering compare(Bits a, Bits b) {
  if (isNaN<F>(a) || isNaN<F>(b)) [[unlikely]]
    return Ordering::Unordered;
  if (a == b || (isZero<F>(a) && isZero<F>(b)))
    return Ordering::Equal;
  return orderKey<F>(a) < orderKey<F>(b) ? Ordering::Less : Ordering::Greater;
}

/// Rounds a finite nonzero number into \p To; with \p saturate never beyond its largest number.
template <class To>
constexpr Bits pack(const Unpacked &x, Rounding rounding, bool saturate = false) {
  Bits result = roundAndPack<To>(x.negative, x.exponent, x.significand, rounding);
  if (saturate && !isFinite<To>(result))
    return withSign<To>(To::largest, x.negative);
  return result;
}

/// Converts what has no exponent: NaN, infinities and zeros.
template <class To>
constexpr Bits packSpecial(bool nan, bool infinity, bool negative, bool saturate) {
  if (nan)
    return To::nan;
  if (!infinity)
    return withSign<To>(0, negative);
  if (saturate)
    return withSign<To>(To::largest, negative);
  return To::hasInfinity ? withSign<To>(To::overflow, negative) : To::nan;
}

template <class From, class To>
constexpr Bits convert(Bits a, Rounding rounding = Rounding::NearestEven, bool saturate = false) {
  if (!isFinite<From>(a) || isZero<From>(a)) [[unlikely]]
    return packSpecial<To>(isNaN<From>(a), isInfinity<From>(a), isNegative<From>(a), saturate);
  return pack<To>(unpack<From>(a), rounding, saturate);
}

/// A nonzero integer as a number.
constexpr Unpacked unpackInteger(int64_t a) {
  uint64_t magnitude = a < 0 ? -static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
  int zeros = std::countl_zero(magnitude);
  return {a < 0, 63 - zeros, magnitude << zeros};
}

template <class To>
constexpr Bits convertInteger(int64_t a, Rounding rounding = Rounding::NearestEven,
                              bool saturate = false) {
  return a == 0 ? 0 : pack<To>(unpackInteger(a), rounding, saturate);
}

} // namespace h3::scalar

#endif // H3_DSL_SCALAR_ARITHMETIC_H
