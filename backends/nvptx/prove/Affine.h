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

} // namespace h3::prove

#endif // H3_BACKENDS_NVPTX_PROVE_AFFINE_H
