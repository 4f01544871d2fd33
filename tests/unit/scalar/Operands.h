//===-- tests/unit/scalar/Operands.h - Test operands ------------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Operands that reach the hard places of float arithmetic: exponents close together, results next
// to a rounding boundary, subnormals, the ends of the range.
//
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_UNIT_SCALAR_OPERANDS_H
#define H3_TESTS_UNIT_SCALAR_OPERANDS_H

#include "dsl/scalar/Scalar.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ios>
#include <ostream>
#include <random>
#include <utility>
#include <vector>

namespace h3::scalar {

inline constexpr std::array<Rounding, 4> allRoundings = {
    Rounding::NearestEven, Rounding::TowardZero, Rounding::Down, Rounding::Up};
inline constexpr std::array<ScalarType, 4> arithmeticTypes = {ScalarType::F16, ScalarType::BF16,
                                                              ScalarType::F32, ScalarType::F64};
inline constexpr std::array<ScalarType, 6> floatTypes = {ScalarType::F16,  ScalarType::BF16,
                                                         ScalarType::F32,  ScalarType::F64,
                                                         ScalarType::E4M3, ScalarType::E5M2};

inline const char *roundingName(Rounding rounding) {
  constexpr std::array<const char *, 4> names = {"nearest", "rz", "rm", "rp"};
  return names[static_cast<size_t>(rounding)];
}

/// Width and explicit fraction bits of a float encoding.
struct Layout {
  unsigned width;
  unsigned fractionBits;

  explicit Layout(ScalarType type);
  unsigned exponentBits() const { return width - 1 - fractionBits; }
  Bits signMask() const { return Bits(1) << (width - 1); }
  Bits mask() const { return signMask() | (signMask() - 1); }
  Bits fractionMask() const { return (Bits(1) << fractionBits) - 1; }
  int maxField() const { return (1 << exponentBits()) - 1; }
  Bits make(bool negative, int field, Bits fraction) const {
    return (negative ? signMask() : 0) | (static_cast<Bits>(field) << fractionBits) |
           (fraction & fractionMask());
  }
};

inline Layout::Layout(ScalarType type) : width(bitWidth(type)) {
  switch (type) {
  case ScalarType::F16:
    fractionBits = 10;
    break;
  case ScalarType::BF16:
    fractionBits = 7;
    break;
  case ScalarType::F32:
    fractionBits = 23;
    break;
  case ScalarType::F64:
    fractionBits = 52;
    break;
  case ScalarType::E4M3:
    fractionBits = 3;
    break;
  default:
    fractionBits = 2;
    break;
  }
}

/// Zeros, ones, the ends of the subnormal and the normal range, infinities and NaNs, both signs.
inline std::vector<Bits> specials(ScalarType type) {
  Layout layout(type);
  int top = layout.maxField();
  int bias = top / 2;
  std::vector<Bits> values;
  for (bool negative : {false, true})
    for (auto [field, fraction] : {std::pair<int, Bits>{0, 0},
                                   {0, 1},
                                   {0, 2},
                                   {0, layout.fractionMask() / 2},
                                   {0, layout.fractionMask()},
                                   {1, 0},
                                   {1, 1},
                                   {2, 0},
                                   {bias - 1, 0},
                                   {bias - 1, layout.fractionMask()},
                                   {bias, 0},
                                   {bias, 1},
                                   {bias + 1, 0},
                                   {top - 1, 0},
                                   {top - 1, layout.fractionMask()},
                                   {top, 0},
                                   {top, 1},
                                   {top, layout.fractionMask()}})
      values.push_back(layout.make(negative, field, fraction));
  return values;
}

class Operands {
public:
  Operands(ScalarType type, uint64_t seed) : layout(type), values(specials(type)), random(seed) {}

  /// Any encoding: uniform, special, subnormal, or with a fraction of few ones or few zeros.
  Bits any() {
    switch (random() % 8) {
    case 0:
      return values[random() % values.size()];
    case 1:
      return layout.make(random() & 1, 0, random());
    case 2:
    case 3:
      return layout.make(random() & 1, field(), sparse());
    default:
      return random() & layout.mask();
    }
  }

  /// An operand whose exponent is within \p distance of that of \p a.
  Bits near(Bits a, int distance) {
    int f = fieldOf(a) + static_cast<int>(random() % (2 * distance + 1)) - distance;
    Bits fraction = random() & 1 ? random() : sparse();
    return layout.make(random() & 1, std::clamp(f, 0, layout.maxField() - 1), fraction);
  }

  /// The encoding \p a moved by at most two, sign kept or turned: cancels nearly everything.
  Bits neighbour(Bits a) {
    Bits moved = (a & (layout.signMask() - 1)) + random() % 5;
    return std::min(moved < 2 ? 0 : moved - 2, layout.signMask() - 1) |
           (random() & layout.signMask());
  }

  /// An operand with which the product of \p a lies at the lower (or upper) end of the range.
  Bits productAtEnd(Bits a, bool lower) {
    int bias = layout.maxField() / 2;
    int end = lower ? -static_cast<int>(layout.fractionBits) : layout.maxField();
    int f = end + bias - fieldOf(a) + static_cast<int>(random() % 5) - 2 +
            (lower ? static_cast<int>(random() % (layout.fractionBits + 2)) : 0);
    return layout.make(random() & 1, std::clamp(f, 0, layout.maxField() - 1),
                       random() & 1 ? random() : sparse());
  }

  uint64_t next() { return random(); }

private:
  Layout layout;
  std::vector<Bits> values;
  std::mt19937_64 random;

  int field() { return static_cast<int>(random() % (layout.maxField() + 1)); }
  int fieldOf(Bits a) const {
    return static_cast<int>((a >> layout.fractionBits) & static_cast<Bits>(layout.maxField()));
  }
  Bits sparse() {
    Bits fraction = 0;
    for (uint64_t ones = random() % 4; ones > 0; --ones)
      fraction ^= Bits(1) << (random() % layout.fractionBits);
    if (random() & 1)
      fraction = -fraction;
    return random() & 1 ? fraction : ~fraction;
  }
};

/// "0x3c01", for messages.
struct Hex {
  Bits value;
  friend std::ostream &operator<<(std::ostream &out, Hex hex) {
    return out << "0x" << std::hex << hex.value << std::dec;
  }
};

} // namespace h3::scalar

#endif // H3_TESTS_UNIT_SCALAR_OPERANDS_H
