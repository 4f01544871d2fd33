//===-- examples/host_app/Plain.h - The host's own operations - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the program did before it knew of h3gen, and does wherever a call is declined: plain loops
// over its own memory. f16 is kept as bits.
//
//===----------------------------------------------------------------------===//

#ifndef HOST_APP_PLAIN_H
#define HOST_APP_PLAIN_H

#include <cstdint>

namespace plain {

float fromHalf(uint16_t bits);
uint16_t toHalf(float value); ///< to nearest, ties to even

/// RMSNorm of each head of 64, then rotary embedding of its first 48. `stride` is from one token's
/// heads to the next, `step` from one head to the next, in elements.
void normAndRotate(const uint16_t *x, int64_t stride, int64_t step, const uint16_t *cos,
                   const uint16_t *sin, int64_t tokens, int64_t heads, float eps, uint16_t *out);

/// h = residual + branch * scale; y = RMSNorm(h) * weight.
void residualNorm(const float *residual, const uint16_t *branch, const float *scale,
                  const float *weight, int64_t rows, int64_t width, float eps, float *h,
                  uint16_t *y);

/// y = silu(x[:width]) * x[width:], a row at a time.
void swiglu(const uint16_t *x, int64_t rows, int64_t width, uint16_t *y);

} // namespace plain

#endif // HOST_APP_PLAIN_H
