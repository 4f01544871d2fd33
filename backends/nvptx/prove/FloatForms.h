//===-- backends/nvptx/prove/FloatForms.h - What a format of floats is - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Facts of the float types that several rewrites ask for.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PROVE_FLOATFORMS_H
#define H3_BACKENDS_NVPTX_PROVE_FLOATFORMS_H

#include "dsl/scalar/FloatFormat.h"
#include "dsl/scalar/Scalar.h"

namespace h3::prove {

inline uint64_t signMask(ScalarType type) { return uint64_t(1) << (bitWidth(type) - 1); }

/// Rounding that does not look at the sign.
inline bool isSymmetric(Rounding rounding) {
  return rounding == Rounding::NearestEven || rounding == Rounding::TowardZero;
}

inline unsigned fractionBits(ScalarType type) {
  switch (type) {
  case ScalarType::F16:
    return scalar::F16::fractionBits;
  case ScalarType::BF16:
    return scalar::BF16::fractionBits;
  case ScalarType::F32:
    return scalar::F32::fractionBits;
  default:
    return scalar::F64::fractionBits;
  }
}

/// Every value of \p narrow is one of \p wide, which is another type.
inline bool widens(ScalarType narrow, ScalarType wide) {
  if (wide == ScalarType::F64)
    return narrow == ScalarType::F16 || narrow == ScalarType::BF16 || narrow == ScalarType::F32;
  return wide == ScalarType::F32 && (narrow == ScalarType::F16 || narrow == ScalarType::BF16);
}

inline uint64_t oneOf(ScalarType type) { return scalar::convert(ScalarType::I32, type, 1); }

} // namespace h3::prove

#endif // H3_BACKENDS_NVPTX_PROVE_FLOATFORMS_H
