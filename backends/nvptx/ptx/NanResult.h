//===-- backends/nvptx/ptx/NanResult.h - The NaN of a result ----*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Which bits an instruction's NaN result has. PTX does not say. The rules are what an H200 (sm_90)
// was seen to do in every recorded case; the recordings are in tests/ptx/data, and a test compares
// each of their bits with the interpreter's. A device of another capability may differ: code must
// not depend on any but the rules that backends/nvptx/nan.def lists as canonical for its target.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PTX_NANRESULT_H
#define H3_BACKENDS_NVPTX_PTX_NANRESULT_H

#include "backends/nvptx/ptx/Module.h"
#include "dsl/scalar/FloatFormat.h"

namespace h3::ptx {

enum class NanRule : uint8_t {
  Canonical,   ///< sign 0, all other bits 1
  SecondFirst, ///< the second, else the third, else the first operand that is one, made quiet
  FirstFirst,  ///< the first, else the second, made quiet
  Payload,     ///< of a conversion: sign and leading payload, made quiet
  Bits,        ///< of a conversion: the bits themselves, as far as they fit
};

/// The rule for an instruction that computes floats. Moves, loads, selections and shuffles have
/// none: they keep every bit.
NanRule nanRule(const Instruction &instruction);

/// What f64 arithmetic gives where no operand is a NaN: the quiet NaN of sign 1 without payload.
inline constexpr uint64_t invalidF64 = 0xFFF8'0000'0000'0000;

template <class F> constexpr uint64_t makeQuiet(uint64_t a) {
  return a | (uint64_t(1) << (F::fractionBits - 1));
}

/// A NaN result of operands \p a, \p b, \p c; those that are not there are not NaN.
template <class F> uint64_t nanResult(NanRule rule, uint64_t a, uint64_t b, uint64_t c) {
  if (rule == NanRule::Canonical)
    return F::nan;
  if (rule == NanRule::FirstFirst && scalar::isNaN<F>(a))
    return makeQuiet<F>(a);
  for (uint64_t operand : {b, c, a})
    if (scalar::isNaN<F>(operand))
      return makeQuiet<F>(operand);
  return invalidF64;
}

/// A NaN \p a converted.
template <class From, class To> uint64_t nanConverted(NanRule rule, uint64_t a) {
  if (rule == NanRule::Canonical)
    return To::nan;
  constexpr unsigned from = From::fractionBits, to = To::fractionBits;
  uint64_t payload = a & From::fractionMask;
  payload = from <= to ? payload << (to - from) : payload >> (from - to);
  uint64_t result = scalar::withSign<To>((To::magnitudeMask & ~To::fractionMask) | payload,
                                         scalar::isNegative<From>(a));
  return rule == NanRule::Payload ? makeQuiet<To>(result) : result;
}

} // namespace h3::ptx

#endif // H3_BACKENDS_NVPTX_PTX_NANRESULT_H
