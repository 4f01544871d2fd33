//===-- backends/nvptx/prove/Affine.h - Integers that grow with the rows - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A proof for all row counts. A run has the numbers of one call; beside an integer stand the slopes
// with which it grows when the call does, in a few symbols that are not negative: how many whole
// periods of rows lie before the block, how many further rows there are, by how much earlier jobs
// have grown, how far an index tensor's value lies from the one of the run. An instruction on such
// an integer is exact if its result is again of this form and nothing wraps around for any admitted
// size; a comparison holds if it holds for all of them. What is not so ends the proof.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PROVE_AFFINE_H
#define H3_BACKENDS_NVPTX_PROVE_AFFINE_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace h3::prove {

__extension__ using Wide = __int128;

inline constexpr unsigned symbolCount = 8;
enum Symbol : unsigned {
  PeriodsBefore, ///< whole periods of rows before those of this block
  RowsBehind,    ///< leading rows more than in the run
  FirstGrowth,   ///< by how much the second job's first block is behind its place
  SecondGrowth,
  ThirdGrowth,
  IndexInside, ///< an index within its extent is by so much larger
  IndexBelow,  ///< one that is negative is by so much smaller
  IndexAbove,  ///< one beyond the extent is by so much larger
};

using Slopes = std::array<int64_t, symbolCount>;

inline bool isZero(const Slopes &slopes) { return slopes == Slopes{}; }

/// The values that the symbols may have together: those between these vertices.
struct SymbolRange {
  std::vector<std::array<int64_t, symbolCount>> vertices;

  /// base + slopes * symbols at a vertex.
  static Wide at(Wide base, const Slopes &slopes, const std::array<int64_t, symbolCount> &vertex) {
    Wide value = base;
    for (unsigned i = 0; i < symbolCount; ++i)
      value += Wide(slopes[i]) * vertex[i];
    return value;
  }
  /// Whether the sum lies in \p low .. \p high everywhere.
  bool stays(Wide base, const Slopes &slopes, Wide low, Wide high) const {
    for (const auto &vertex : vertices)
      if (Wide value = at(base, slopes, vertex); value < low || value > high)
        return false;
    return true;
  }
};

/// floor((base + slopes * symbols) / 2^shift), which is never negative: an integer that need not be
/// linear. A product with a reciprocal passes through such numbers; the whole is a quotient of a
/// number of elements by the length of a row, which is linear again.
struct Quotient {
  Wide base = 0;
  std::array<Wide, symbolCount> slopes{};
  unsigned shift = 0;
};

inline constexpr unsigned mostQuotientShift = 62;

/// \p base + \p growth * symbols over 2^\p shift, at most \c mostQuotientShift. Not negative in
/// \p range, as the caller knows.
Quotient quotientOf(uint64_t base, const Slopes &growth, unsigned shift);

/// \p quotient + a * b, where each of a and b is base + growth * symbols, an integer of 64 bits
/// that is not negative in \p range, and one of them does not grow. Empty where the sum may be 2^64
/// or more, or where its numbers are too large to tell.
std::optional<Quotient> plusProduct(const Quotient &quotient, uint64_t a, const Slopes &growthA,
                                    uint64_t b, const Slopes &growthB, const SymbolRange &range);

/// The slopes of \p quotient if it is linear in all of \p range: what the nearest multiples of
/// 2^shift leave of base and slopes stays below 2^shift, so that rounding down never drops a one.
std::optional<Slopes> linearSlopes(const Quotient &quotient, const SymbolRange &range);

} // namespace h3::prove

#endif // H3_BACKENDS_NVPTX_PROVE_AFFINE_H
