//===-- dsl/interpreter/OrderShape.h - An order over n elements -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The digit arithmetic of language.md §4.3, rules 1 and 2: which radices an order has over n
// elements, which slot an element belongs to, and which slots a stage joins.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_INTERPRETER_ORDERSHAPE_H
#define H3_DSL_INTERPRETER_ORDERSHAPE_H

#include "dsl/program/Program.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace h3::interpreter {

/// An order whose radices are all known. Slots are numbered: the tuple of named digits, read as a
/// mixed-radix number, first digit most significant. A digit of a slot is changed by one by adding
/// its `slotStride` to the number.
struct OrderShape {
  struct Digit {
    int64_t radix;
    int64_t slotStride; ///< 0 for `_`: walking it stays inside the slot
  };
  struct Stage {
    Order::Join join;
    int64_t radix, slotStride; ///< of the digit that this stage removes
    /// Every setting of the other digits that are left: the slot with that setting whose own digit
    /// is 0. Digits removed by earlier stages are 0 in it, for that is where their results are.
    std::vector<int64_t> settings;
  };
  int64_t elements = 0;
  int64_t slots = 1;
  std::vector<Digit> digits; ///< most significant first
  std::vector<Stage> stages; ///< in the order written
};

/// More slots than this are refused: an interpreter would not live to see the result.
inline constexpr int64_t MaxSlots = int64_t(1) << 28;

/// \p order over \p n >= 0 elements. Empty, with \p error set, if every radix is written and their
/// product is less than n, or if there are more than `MaxSlots` slots.
std::optional<OrderShape> shapeOf(const Order &order, int64_t n, std::string &error);

/// What `any` and an order without named digits are: one slot that walks all n elements.
OrderShape singleChain(int64_t n);

/// The digits of a slot number, one for each digit of the order (0 for `_`).
std::vector<int64_t> digitsOfSlot(const OrderShape &shape, int64_t slot);

/// The digits of an element number, counting up from element 0, and its slot.
class ElementCounter {
public:
  explicit ElementCounter(const OrderShape &shape) : shape(shape), digits(shape.digits.size(), 0) {}

  int64_t slot() const { return currentSlot; }

  /// On to the next element: the last digit counts up; one that overflows returns to 0 and carries.
  void next() {
    for (size_t d = digits.size(); d-- > 0;) {
      const OrderShape::Digit &digit = shape.digits[d];
      currentSlot += digit.slotStride;
      if (++digits[d] < digit.radix)
        return;
      currentSlot -= digits[d] * digit.slotStride;
      digits[d] = 0;
    }
  }

private:
  const OrderShape &shape;
  std::vector<int64_t> digits;
  int64_t currentSlot = 0;
};

} // namespace h3::interpreter

#endif // H3_DSL_INTERPRETER_ORDERSHAPE_H
