//===-- dsl/scalar/FloatFormat.h - Float encodings --------------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The six float encodings as types, and the two steps that every operation consists of: take an
// encoding apart, and round a significand into an encoding. Everything is an inline template over
// the format, so that hot callers pay for no dispatch.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_SCALAR_FLOATFORMAT_H
#define H3_DSL_SCALAR_FLOATFORMAT_H

#include "dsl/scalar/Scalar.h"

#include <bit>
#include <cstdint>

namespace h3::scalar {

/// A binary encoding: sign, exponent field, fraction field, from the highest bit down. \p Precision
/// counts the implicit leading bit. Without infinities (e4m3) the highest exponent holds ordinary
/// numbers too, and only the magnitude with all bits 1 is NaN.
template <ScalarType Type, unsigned Width, unsigned Precision, bool HasInfinity = true>
struct FloatFormat {
  static constexpr ScalarType type = Type;
  static constexpr unsigned width = Width;
  static constexpr unsigned precision = Precision;
  static constexpr bool hasInfinity = HasInfinity;
  static constexpr unsigned fractionBits = Precision - 1;
  static constexpr unsigned exponentBits = Width - Precision;
  static constexpr int bias = (1 << (exponentBits - 1)) - 1;

  static constexpr Bits signMask = Bits(1) << (Width - 1);
  static constexpr Bits magnitudeMask = signMask - 1;
  static constexpr Bits fractionMask = (Bits(1) << fractionBits) - 1;
  /// The format's one NaN, and the largest of all magnitudes.
  static constexpr Bits nan = magnitudeMask;
  /// The largest finite magnitude.
  static constexpr Bits largest = HasInfinity ? (magnitudeMask & ~fractionMask) - 1 : nan - 1;
  /// What a value beyond the largest becomes: infinity, or NaN where there is none.
  static constexpr Bits overflow = largest + 1;
  /// The largest magnitude that is not a NaN.
  static constexpr Bits largestOrdered = HasInfinity ? overflow : largest;
};

using F16 = FloatFormat<ScalarType::F16, 16, 11>;
using BF16 = FloatFormat<ScalarType::BF16, 16, 8>;
using F32 = FloatFormat<ScalarType::F32, 32, 24>;
using F64 = FloatFormat<ScalarType::F64, 64, 53>;
using E4M3 = FloatFormat<ScalarType::E4M3, 8, 4, /*HasInfinity=*/false>;
using E5M2 = FloatFormat<ScalarType::E5M2, 8, 3>;

template <class F> constexpr Bits magnitude(Bits a) { return a & F::magnitudeMask; }
template <class F> constexpr bool isNegative(Bits a) { return (a & F::signMask) != 0; }
template <class F> constexpr bool isFinite(Bits a) { return magnitude<F>(a) <= F::largest; }
template <class F> constexpr bool isNaN(Bits a) { return magnitude<F>(a) > F::largestOrdered; }
template <class F> constexpr bool isZero(Bits a) { return magnitude<F>(a) == 0; }
template <class F> constexpr bool isInfinity(Bits a) {
  return F::hasInfinity && magnitude<F>(a) == F::overflow;
}
template <class F> constexpr Bits withSign(Bits magnitude, bool negative) {
  return magnitude | (negative ? F::signMask : 0);
}

/// A finite nonzero number: (-1)^negative * significand * 2^(exponent - 63), where bit 63 of the
/// significand is set. So 2^exponent <= |number| < 2^(exponent + 1).
struct Unpacked {
  bool negative;
  int exponent;
  uint64_t significand;

  bool operator==(const Unpacked &) const = default;
};

/// \p a is finite and not zero.
template <class F> constexpr Unpacked unpack(Bits a) {
  Bits fraction = a & F::fractionMask;
  int field = static_cast<int>(magnitude<F>(a) >> F::fractionBits);
  if (field != 0) [[likely]]
    return {isNegative<F>(a), field - F::bias,
            (fraction | (F::fractionMask + 1)) << (64 - F::precision)};
  int zeros = std::countl_zero(fraction);
  return {isNegative<F>(a), 1 - F::bias - static_cast<int>(F::fractionBits) + 63 - zeros,
          fraction << zeros};
}

/// The nearest encoding of the number whose leading 64 bits are \p significand (bit 63 set), in the
/// sense of \p rounding. If nonzero bits follow those 64, bit 0 must be set ("sticky"): with at
/// most 53 bits kept it lies below the rounding position, and any 1 there has the same effect.
///
/// A finite number beyond the largest one becomes `F::overflow`, or the largest number where the
/// rounding points towards zero.
template <class F>
constexpr Bits roundAndPack(bool negative, int exponent, uint64_t significand, Rounding rounding) {
  static_assert(F::precision <= 62);
  int field = exponent + F::bias;
  unsigned dropped = 64 - F::precision;
  if (field <= 0) [[unlikely]] {
    // Subnormal: fewer bits are kept, down to none at all.
    unsigned extra = static_cast<unsigned>(1 - field);
    if (extra > F::precision) {
      significand = 1;
      dropped = 63;
    } else {
      dropped += extra;
      if (dropped == 64) {
        significand = (significand >> 1) | (significand & 1);
        dropped = 63;
      }
    }
    field = 1;
  }

  Bits kept = significand >> dropped;
  uint64_t rest = significand << (64 - dropped);
  constexpr uint64_t half = uint64_t(1) << 63;
  bool up;
  if (rounding == Rounding::NearestEven) [[likely]]
    up = static_cast<bool>(static_cast<unsigned>(rest > half) |
                           (static_cast<unsigned>(rest == half) & static_cast<unsigned>(kept & 1)));
  else
    up = rest != 0 && rounding == (negative ? Rounding::Down : Rounding::Up);

  // `kept` has its leading bit at the place of the exponent field's lowest bit, unless the number
  // is subnormal; a carry out of the fraction raises the exponent by itself.
  Bits result = (static_cast<Bits>(field - 1) << F::fractionBits) + kept + (up ? 1 : 0);
  if (field > (1 << F::exponentBits) || result > F::largest) [[unlikely]] {
    bool awayFromZero =
        rounding == Rounding::NearestEven || rounding == (negative ? Rounding::Down : Rounding::Up);
    if (!awayFromZero)
      return withSign<F>(F::largest, negative);
    return F::hasInfinity ? withSign<F>(F::overflow, negative) : F::nan;
  }
  return withSign<F>(result, negative);
}

} // namespace h3::scalar

#endif // H3_DSL_SCALAR_FLOATFORMAT_H
