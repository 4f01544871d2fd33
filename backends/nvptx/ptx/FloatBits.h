//===-- backends/nvptx/ptx/FloatBits.h - What modifiers do ------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The modifiers that change a float value before or after an operation.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PTX_FLOATBITS_H
#define H3_BACKENDS_NVPTX_PTX_FLOATBITS_H

#include "backends/nvptx/ptx/Machine.h"
#include "dsl/scalar/Arithmetic.h"

namespace h3::ptx {

/// .ftz: a subnormal becomes the zero of its sign, before an operation and after it. Whether a
/// result is subnormal is asked after rounding.
template <class F> Bits flush(Bits a) {
  return scalar::magnitude<F>(a) <= F::fractionMask ? a & F::signMask : a;
}

/// .sat: into [0, 1]; NaN and -0 become +0.
template <class F> Bits saturate(Bits a) {
  constexpr Bits one = static_cast<Bits>(F::bias) << F::fractionBits;
  if (scalar::isNaN<F>(a) || scalar::isNegative<F>(a))
    return 0;
  return a > one ? one : a;
}

/// .relu: what is below zero, and -0, becomes +0; NaN stays.
template <class F> Bits relu(Bits a) {
  return scalar::isNegative<F>(a) && !scalar::isNaN<F>(a) ? 0 : a;
}

/// All that an operation's modifiers do to its result.
template <class F> Bits finish(const Op &op, Bits a) {
  if (op.is(FlagFtz))
    a = flush<F>(a);
  if (op.is(FlagSat))
    a = saturate<F>(a);
  if (op.is(FlagRelu))
    a = relu<F>(a);
  return a;
}

} // namespace h3::ptx

#endif // H3_BACKENDS_NVPTX_PTX_FLOATBITS_H
