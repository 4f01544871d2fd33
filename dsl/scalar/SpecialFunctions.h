//===-- dsl/scalar/SpecialFunctions.h - Named approximations ----*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Integer models of the f32 approximations of NVIDIA's special function unit. They give the bits of
// the instructions for every one of the 2^32 inputs, as measured on an H200.
//
// The unit evaluates one quadratic polynomial per segment of the reduced argument. The top bits of
// the argument are the segment, the rest is x, and with that segment's coefficients
//
//     y = ((C0 << s0) + C1 * x + ((C2 * square(x)) << s2) + r) >> s
//
// is the 24-bit significand of the result, 2^23 <= y <= 2^24. The shifts and the rounding constant
// r are those of the function. The squarer drops partial products: square(x) is x * x without the
// products x_i * x_j of bits with i + j < 18, divided by 2^19 and floored. Around the polynomial
// stand the exponent and the special values; each function below states its own.
//
// Source. The structure was published by envytools (github.com/envytools/envytools, nvhw/sfu.c, MIT
// licence, Copyright (C) 2015 Marcelina Koscielnicka; see LICENSES/envytools-MIT.txt) for the G80's
// unit; the H200's is the same, with sqrt added. tests/golden/mufu holds the recordings.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_SCALAR_SPECIALFUNCTIONS_H
#define H3_DSL_SCALAR_SPECIALFUNCTIONS_H

#include "dsl/scalar/Scalar.h"

namespace h3::scalar {

// All take and return f32 bits. A NaN operand gives NaN.

/// rsqrt.approx.f32, about 1 / sqrt(a). Subnormals are not flushed. Zeros give the infinity of
/// their sign, +infinity gives +0, everything below zero NaN.
Bits rsqrtApprox(Bits a);

/// sqrt.approx.f32, about sqrt(a). Subnormals are not flushed. Zeros and +infinity give themselves,
/// everything below zero NaN.
Bits sqrtApprox(Bits a);

/// rcp.approx.ftz.f32, about 1 / a. Subnormal operands count as zeros and subnormal results become
/// zeros, signs kept. Zeros give infinities, infinities zeros.
Bits rcpApproxFtz(Bits a);

/// ex2.approx.ftz.f32, about 2^a. The operand is cut to a multiple of 2^-23; subnormal results
/// become +0. Operands of 128 and above give +infinity, of -128 and below +0.
Bits ex2ApproxFtz(Bits a);

/// lg2.approx.ftz.f32, about log2(a). The sum of exponent and fraction has 36 bits behind the
/// point, of which the first 24 significant ones are kept; below one it is the ones' complement.
/// Zeros and subnormals give -infinity, +infinity itself, everything below zero NaN.
Bits lg2ApproxFtz(Bits a);

// Without ftz the assembler puts scaling around the unit's instruction (read from its machine code,
// ptxas 13.0). These have no name in the language; the PTX interpreter runs them in PTX from
// elsewhere.

/// rcp.approx.f32: operands below 2^-126 are multiplied by 2^24, those above 2^126 by 2^-2, and so
/// is the result.
Bits rcpApprox(Bits a);

/// ex2.approx.f32: an operand below -126 is halved, and the result squared.
Bits ex2Approx(Bits a);

/// lg2.approx.f32: an operand below 2^-126 is multiplied by 2^24, and 24 subtracted from the
/// result.
Bits lg2Approx(Bits a);

} // namespace h3::scalar

#endif // H3_DSL_SCALAR_SPECIALFUNCTIONS_H
