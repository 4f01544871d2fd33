//===-- dsl/scalar/SpecialFunctions.cpp - Named approximations ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/scalar/SpecialFunctions.h"

#include "dsl/scalar/Arithmetic.h"
#include "dsl/scalar/FloatFormat.h"
#include "dsl/scalar/SpecialFunctionTables.h"

#include <bit>
#include <cstdlib>

namespace h3::scalar {
namespace {

constexpr Bits infinityBits = F32::overflow;
template <int Exponent> constexpr Bits twoTo = Bits(F32::bias + Exponent) << F32::fractionBits;
constexpr Bits one = twoTo<0>, smallestNormal = twoTo<-126>;
constexpr Bits minus126 = std::bit_cast<uint32_t>(-126.0f),
               minus24 = std::bit_cast<uint32_t>(-24.0f);

/// x * x without the partial products of weight below 2^18, in units of 2^19. \p x has at most 17
/// bits. Bits i and j of x meet in both orders, and each is cut on its own; above bit 8 nothing is
/// cut, so that part is a plain square.
constexpr int64_t square(uint32_t x) {
  uint32_t high = x >> 9;
  auto lowTerm = [=](unsigned i) { return (0 - ((x >> i) & 1)) & (high >> (9 - i)); };
  return ((high * high) >> 1) + lowTerm(2) + lowTerm(3) + lowTerm(4) + lowTerm(5) + lowTerm(6) +
         lowTerm(7) + lowTerm(8);
}

/// The polynomial of one function: how the argument splits, and the places of the terms.
struct Polynomial {
  unsigned xBits;
  unsigned squareScale; ///< x is shifted left by this before it is squared
  unsigned shift0;
  unsigned shift2;
  int64_t rounding;
  unsigned shift;
};

constexpr Polynomial rsqrtPolynomial = {17, 0, 14, 2, 0x7FFF, 16};
constexpr Polynomial ex2Polynomial = {17, 0, 13, 0, 0x77E2, 15};
constexpr Polynomial rcpPolynomial = {16, 1, 13, 0, 0x47E7, 15};
constexpr Polynomial sqrtPolynomial = {17, 0, 15, 1, 0x7FFF, 17};

constexpr Polynomial lg2Polynomial = {17, 0, 12, 1, 0x3345, 2};

/// The polynomial for the reduced argument \p f.
template <size_t N>
int64_t evaluate64(const Polynomial &p, const std::array<Segment, N> &segments, uint32_t f) {
  const Segment &c = segments[f >> p.xBits];
  uint32_t x = f & ((uint32_t(1) << p.xBits) - 1);
  int64_t y = (int64_t(c.c0) << p.shift0) + int64_t(c.c1) * x +
              int64_t(c.c2) * square(x << p.squareScale) * (int64_t(1) << p.shift2) + p.rounding;
  return y >> p.shift;
}

/// Of the functions whose polynomial is the significand y itself.
template <size_t N>
uint32_t evaluate(const Polynomial &p, const std::array<Segment, N> &segments, uint32_t f) {
  return static_cast<uint32_t>(evaluate64(p, segments, f));
}

/// Joins a biased exponent, 0 allowed, and a significand; y == 2^24 carries into the exponent.
constexpr Bits assemble(int exponent, uint32_t y) {
  return static_cast<Bits>((int64_t(exponent) << 23) + int64_t(y) - 0x800000);
}

/// A positive finite number as m * 2^(2 * half), and f = the place of m in [1, 4): the lowest bit
/// of the exponent, then the 23 fraction bits.
struct RootArgument {
  int half;
  uint32_t f;
};

RootArgument splitForRoot(Bits a) {
  Unpacked x = unpack<F32>(a);
  auto fraction = static_cast<uint32_t>(x.significand >> 40) & 0x7FFFFF;
  return {x.exponent >> 1, (static_cast<uint32_t>(x.exponent & 1) << 23) | fraction};
}

} // namespace

Bits rsqrtApprox(Bits a) {
  if (isNaN<F32>(a)) [[unlikely]]
    return F32::nan;
  if (isZero<F32>(a)) [[unlikely]]
    return withSign<F32>(infinityBits, isNegative<F32>(a));
  if (isNegative<F32>(a)) [[unlikely]]
    return F32::nan;
  if (a == infinityBits) [[unlikely]]
    return 0;
  RootArgument argument = splitForRoot(a);
  // The polynomial alone would give 2^24 - 1 for an even power of two; the unit gives it exactly.
  if (argument.f == 0) [[unlikely]]
    return assemble(127 - argument.half, 0x800000);
  return assemble(126 - argument.half, evaluate(rsqrtPolynomial, rsqrtSegments, argument.f));
}

Bits sqrtApprox(Bits a) {
  if (isNaN<F32>(a)) [[unlikely]]
    return F32::nan;
  if (isZero<F32>(a)) [[unlikely]]
    return a;
  if (isNegative<F32>(a)) [[unlikely]]
    return F32::nan;
  if (a == infinityBits) [[unlikely]]
    return a;
  RootArgument argument = splitForRoot(a);
  return assemble(127 + argument.half, evaluate(sqrtPolynomial, sqrtSegments, argument.f));
}

Bits rcpApproxFtz(Bits a) {
  bool negative = isNegative<F32>(a);
  if (isNaN<F32>(a)) [[unlikely]]
    return F32::nan;
  if (magnitude<F32>(a) == infinityBits) [[unlikely]]
    return withSign<F32>(0, negative);
  int field = static_cast<int>(magnitude<F32>(a) >> 23);
  if (field == 0) [[unlikely]]
    return withSign<F32>(infinityBits, negative);
  Bits result = assemble(253 - field, evaluate(rcpPolynomial, rcpSegments,
                                               static_cast<uint32_t>(a & F32::fractionMask)));
  // Below the smallest normal number, also where the exponent came out negative.
  if (static_cast<int64_t>(result) < 0x800000) [[unlikely]]
    result = 0;
  return withSign<F32>(result, negative);
}

Bits ex2ApproxFtz(Bits a) {
  bool negative = isNegative<F32>(a);
  if (isNaN<F32>(a)) [[unlikely]]
    return F32::nan;
  int field = static_cast<int>(magnitude<F32>(a) >> 23);
  if (field >= 134) [[unlikely]]
    return negative ? 0 : infinityBits;

  // |a| in units of 2^-23, cut. Subnormals vanish here like all that is below one unit.
  uint32_t fixed = static_cast<uint32_t>(a & F32::fractionMask) | 0x800000;
  if (field >= 127)
    fixed <<= field - 127;
  else
    fixed = field > 127 - 24 ? fixed >> (127 - field) : 0;

  int whole = static_cast<int>(fixed >> 23);
  uint32_t f = fixed & 0x7FFFFF;
  if (negative) {
    // Ones' complement of the fraction: one unit below the exact difference.
    if (f != 0) {
      whole = -whole - 1;
      f = 0x7FFFFF - f;
    } else {
      whole = -whole;
    }
  }
  int exponent = whole + 127;
  if (exponent <= 0) [[unlikely]]
    return 0;
  return assemble(exponent, evaluate(ex2Polynomial, ex2Segments, f));
}

Bits lg2ApproxFtz(Bits a) {
  if (isNaN<F32>(a)) [[unlikely]]
    return F32::nan;
  const int field = static_cast<int>(magnitude<F32>(a) >> 23);
  if (field == 0) [[unlikely]]
    return withSign<F32>(infinityBits, true);
  if (isNegative<F32>(a)) [[unlikely]]
    return F32::nan;
  if (a == infinityBits) [[unlikely]]
    return a;
  if (a == one) [[unlikely]]
    return 0;
  // In units of 2^-36.
  int64_t sum =
      evaluate64(lg2Polynomial, lg2Segments, static_cast<uint32_t>(a & F32::fractionMask)) +
      (int64_t(field - F32::bias) << 36);
  const bool negative = sum < 0;
  if (negative)
    sum = ~sum;
  if (sum == 0) [[unlikely]]
    return withSign<F32>(0, negative);
  const int width = std::bit_width(static_cast<uint64_t>(sum));
  const uint64_t significand = static_cast<uint64_t>(sum) << (64 - width) >> 40;
  return withSign<F32>(assemble(F32::bias + width - 37, static_cast<uint32_t>(significand)),
                       negative);
}

Bits rcpApprox(Bits a) {
  const Bits size = magnitude<F32>(a);
  const Bits scale = size < smallestNormal ? twoTo<24> : size > twoTo<126> ? twoTo<-2> : one;
  return mul<F32>(scale, rcpApproxFtz(mul<F32>(a, scale)));
}

Bits ex2Approx(Bits a) {
  if (isNaN<F32>(a) || compare<F32>(a, minus126) != Ordering::Less)
    return ex2ApproxFtz(a);
  const Bits root = ex2ApproxFtz(mul<F32>(a, twoTo<-1>));
  return mul<F32>(root, root);
}

Bits lg2Approx(Bits a) {
  if (magnitude<F32>(a) >= smallestNormal)
    return lg2ApproxFtz(a);
  return add<F32>(lg2ApproxFtz(mul<F32>(a, twoTo<24>)), minus24);
}

Bits approximate(Approximation function, Bits a) {
  switch (function) {
  case Approximation::RsqrtApprox:
    return rsqrtApprox(a);
  case Approximation::Ex2ApproxFtz:
    return ex2ApproxFtz(a);
  case Approximation::RcpApproxFtz:
    return rcpApproxFtz(a);
  case Approximation::SqrtApprox:
    return sqrtApprox(a);
  }
  std::abort();
}

} // namespace h3::scalar
