//===-- examples/host_app/Plain.cpp - The host's own operations -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Plain.h"

#include <cmath>
#include <cstring>

namespace plain {

float fromHalf(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000) << 16, rest = bits & 0x7fff;
  float value;
  if (rest < 0x400) { // zero and subnormals
    value = static_cast<float>(rest) * 0x1p-24f;
  } else {
    const uint32_t wide =
        rest >= 0x7c00 ? 0x7f800000 | (rest & 0x3ff) << 13 : (rest << 13) + (uint32_t(112) << 23);
    std::memcpy(&value, &wide, 4);
  }
  uint32_t result;
  std::memcpy(&result, &value, 4);
  result |= sign;
  std::memcpy(&value, &result, 4);
  return value;
}

uint16_t toHalf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  bits &= 0x7fffffff;
  if (bits > 0x7f800000)
    return sign | 0x7fff;
  if (bits >= 0x477ff000) // what rounds to 65536 or more
    return sign | 0x7c00;
  if (bits < 0x38800000) { // subnormal: in units of 2^-24, rounded by the addition
    float magnitude;
    std::memcpy(&magnitude, &bits, 4);
    magnitude += 0.5f;
    std::memcpy(&bits, &magnitude, 4);
    return static_cast<uint16_t>(sign | (bits - 0x3f000000));
  }
  bits += 0xfff + (bits >> 13 & 1);
  return static_cast<uint16_t>(sign | ((bits - (uint32_t(112) << 23)) >> 13));
}

void normAndRotate(const uint16_t *x, int64_t stride, int64_t step, const uint16_t *cos,
                   const uint16_t *sin, int64_t tokens, int64_t heads, float eps, uint16_t *out) {
  constexpr int64_t kWidth = 64, kRotated = 48, kHalf = kRotated / 2;
  for (int64_t token = 0; token < tokens; ++token)
    for (int64_t head = 0; head < heads; ++head) {
      const uint16_t *from = x + token * stride + head * step;
      uint16_t *to = out + (token * heads + head) * kWidth;
      float sum = 0, normed[kWidth];
      for (int64_t i = 0; i < kWidth; ++i)
        sum += fromHalf(from[i]) * fromHalf(from[i]);
      const float scale = 1.0f / std::sqrt(sum / kWidth + eps);
      for (int64_t i = 0; i < kWidth; ++i)
        normed[i] = fromHalf(from[i]) * scale;
      for (int64_t i = 0; i < kWidth; ++i) {
        if (i >= kRotated) {
          to[i] = toHalf(normed[i]);
          continue;
        }
        const float other = i < kHalf ? -normed[i + kHalf] : normed[i - kHalf];
        to[i] = toHalf(normed[i] * fromHalf(cos[token * kRotated + i]) +
                       other * fromHalf(sin[token * kRotated + i]));
      }
    }
}

void residualNorm(const float *residual, const uint16_t *branch, const float *scale,
                  const float *weight, int64_t rows, int64_t width, float eps, float *h,
                  uint16_t *y) {
  for (int64_t row = 0; row < rows; ++row) {
    float sum = 0;
    for (int64_t i = row * width; i < (row + 1) * width; ++i) {
      h[i] = residual[i] + fromHalf(branch[i]) * scale[i - row * width];
      sum += h[i] * h[i];
    }
    const float factor = 1.0f / std::sqrt(sum / static_cast<float>(width) + eps);
    for (int64_t i = row * width; i < (row + 1) * width; ++i)
      y[i] = toHalf(h[i] * factor * weight[i - row * width]);
  }
}

void swiglu(const uint16_t *x, int64_t rows, int64_t width, uint16_t *y) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < width; ++i) {
      const float gate = fromHalf(x[row * 2 * width + i]);
      const float gated = fromHalf(x[row * 2 * width + width + i]);
      y[row * width + i] = toHalf(gate / (1.0f + std::exp(-gate)) * gated);
    }
}

} // namespace plain
