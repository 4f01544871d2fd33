//===-- dsl/scalar/Natural.h - Natural numbers of any size ------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_SCALAR_NATURAL_H
#define H3_DSL_SCALAR_NATURAL_H

#include <algorithm>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace h3::scalar {

/// A natural number of any size: limbs of 32 bits, the lowest first, no zero limb at the top.
class Natural {
public:
  /// this = this * factor + addend
  void multiplyAdd(uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (uint32_t &limb : limbs) {
      carry += uint64_t(limb) * factor;
      limb = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0)
      limbs.push_back(static_cast<uint32_t>(carry));
  }

  void multiplyByPowerOfFive(int64_t exponent) {
    constexpr uint32_t fiveTo13 = 1220703125; // the largest power in one limb
    for (; exponent >= 13; exponent -= 13)
      multiplyAdd(fiveTo13, 0);
    for (; exponent > 0; --exponent)
      multiplyAdd(5, 0);
  }

  bool isZero() const { return limbs.empty(); }

  /// The number of bits; the number is not zero.
  int64_t bitLength() const {
    return static_cast<int64_t>(limbs.size()) * 32 - std::countl_zero(limbs.back());
  }

  void shiftLeft(int64_t count) {
    if (isZero())
      return;
    auto bits = static_cast<unsigned>(count % 32);
    if (bits != 0) {
      uint32_t carry = 0;
      for (uint32_t &limb : limbs) {
        uint32_t next = limb >> (32 - bits);
        limb = (limb << bits) | carry;
        carry = next;
      }
      if (carry != 0)
        limbs.push_back(carry);
    }
    limbs.insert(limbs.begin(), static_cast<size_t>(count / 32), 0);
  }

  /// \p other is not larger.
  void subtract(const Natural &other) {
    uint64_t borrow = 0;
    for (size_t i = 0; i < limbs.size(); ++i) {
      uint64_t difference = uint64_t(limbs[i]) - borrow;
      difference -= i < other.limbs.size() ? other.limbs[i] : 0;
      limbs[i] = static_cast<uint32_t>(difference);
      borrow = (difference >> 32) & 1;
    }
    dropLeadingZeros();
  }

  std::strong_ordering operator<=>(const Natural &other) const {
    if (limbs.size() != other.limbs.size())
      return limbs.size() <=> other.limbs.size();
    return std::lexicographical_compare_three_way(limbs.rbegin(), limbs.rend(),
                                                  other.limbs.rbegin(), other.limbs.rend());
  }

  /// Divides by \p divisor, rounding down, and returns the remainder.
  uint32_t divide(uint32_t divisor) {
    uint64_t remainder = 0;
    for (size_t i = limbs.size(); i-- > 0;) {
      remainder = (remainder << 32) | limbs[i];
      limbs[i] = static_cast<uint32_t>(remainder / divisor);
      remainder %= divisor;
    }
    dropLeadingZeros();
    return static_cast<uint32_t>(remainder);
  }

private:
  std::vector<uint32_t> limbs;

  void dropLeadingZeros() {
    while (!limbs.empty() && limbs.back() == 0)
      limbs.pop_back();
  }
};

} // namespace h3::scalar

#endif // H3_DSL_SCALAR_NATURAL_H
