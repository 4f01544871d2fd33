//===-- backends/nvptx/prove/Affine.cpp - Quotients of integers that grow -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/Affine.h"

#include <algorithm>
#include <bit>

namespace h3::prove {
namespace {

/// The bits of the magnitude.
unsigned bitLength(Wide value) {
  __extension__ using Unsigned = unsigned __int128;
  Unsigned magnitude = value < 0 ? -Unsigned(value) : Unsigned(value);
  uint64_t high = static_cast<uint64_t>(magnitude >> 64);
  return high ? 64 + std::bit_width(high) : std::bit_width(static_cast<uint64_t>(magnitude));
}

/// Magnitudes up to this many bits are multiplied and summed without overflow: a sum has one
/// product for each symbol and its base.
constexpr unsigned mostBits = 122;

std::optional<Wide> product(Wide a, Wide b) {
  if (bitLength(a) + bitLength(b) > mostBits)
    return std::nullopt;
  return a * b;
}

/// Whether base + slopes * symbols lies in 0 .. \p end - 1 everywhere in \p range.
bool staysBelow(Wide base, const std::array<Wide, symbolCount> &slopes, Wide end,
                const SymbolRange &range) {
  if (bitLength(base) > mostBits)
    return false;
  for (const auto &vertex : range.vertices) {
    Wide value = base;
    for (unsigned i = 0; i < symbolCount; ++i) {
      std::optional<Wide> part = product(slopes[i], vertex[i]);
      if (!part)
        return false;
      value += *part;
    }
    if (value < 0 || value >= end)
      return false;
  }
  return true;
}

} // namespace

Quotient quotientOf(uint64_t base, const Slopes &growth, unsigned shift) {
  Quotient result;
  result.base = base;
  for (unsigned i = 0; i < symbolCount; ++i)
    result.slopes[i] = growth[i];
  result.shift = shift;
  return result;
}

std::optional<Quotient> plusProduct(const Quotient &quotient, uint64_t a, const Slopes &growthA,
                                    uint64_t b, const Slopes &growthB, const SymbolRange &range) {
  if (!isZero(growthA) && !isZero(growthB))
    return std::nullopt;
  const Wide factor = isZero(growthA) ? a : b;
  const Slopes &growth = isZero(growthA) ? growthB : growthA;
  const Wide unit = Wide(1) << quotient.shift;
  Quotient result = quotient;
  // x + floor(n / 2^k) = floor((x * 2^k + n) / 2^k) for integers.
  auto add = [&](Wide &to, Wide number) {
    std::optional<Wide> whole = product(factor, number);
    std::optional<Wide> scaled = whole ? product(*whole, unit) : std::nullopt;
    if (!scaled || bitLength(to) > mostBits)
      return false;
    to += *scaled;
    return true;
  };
  if (!add(result.base, isZero(growthA) ? b : a))
    return std::nullopt;
  for (unsigned i = 0; i < symbolCount; ++i)
    if (!add(result.slopes[i], growth[i]))
      return std::nullopt;
  // 2^64 * 2^k may be beyond 128 bits; nothing that large is summed here.
  const unsigned endBits = std::min(64 + quotient.shift, mostBits + 1);
  if (!staysBelow(result.base, result.slopes, Wide(1) << endBits, range))
    return std::nullopt;
  return result;
}

std::optional<Slopes> linearSlopes(const Quotient &quotient, const SymbolRange &range) {
  const Wide unit = Wide(1) << quotient.shift;
  Slopes slopes{};
  std::array<Wide, symbolCount> left{};
  for (unsigned i = 0; i < symbolCount; ++i) {
    Wide nearest = (quotient.slopes[i] + unit / 2) >> quotient.shift;
    if (bitLength(nearest) > 63)
      return std::nullopt;
    slopes[i] = static_cast<int64_t>(nearest);
    left[i] = quotient.slopes[i] - nearest * unit;
  }
  if (!staysBelow(quotient.base & (unit - 1), left, unit, range))
    return std::nullopt;
  return slopes;
}

} // namespace h3::prove
