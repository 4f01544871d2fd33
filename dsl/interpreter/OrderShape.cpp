//===-- dsl/interpreter/OrderShape.cpp - An order over n elements ---------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/interpreter/OrderShape.h"

#include <fmt/core.h>

#include <algorithm>

namespace h3::interpreter {

namespace {

/// a * b for positive factors, or the largest int64 if that is less.
int64_t saturatingProduct(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

} // namespace

std::optional<OrderShape> shapeOf(const Order &order, int64_t n, std::string &error) {
  // Rule 1: the digit without radix gets ceil(n / P), but at least 1.
  int64_t product = 1;
  bool isBounded = true;
  for (const Order::Digit &digit : order.digits) {
    product = saturatingProduct(product, digit.radix.value_or(1));
    isBounded &= digit.radix.has_value();
  }
  if (isBounded && n > product) {
    error = fmt::format("order '{}' holds at most {} elements, found {}", order.name, product, n);
    return std::nullopt;
  }
  int64_t openRadix = std::max<int64_t>(n / product + (n % product != 0), 1);

  OrderShape shape;
  shape.elements = n;
  for (const Order::Digit &digit : order.digits)
    shape.digits.push_back({digit.radix.value_or(openRadix), 0});

  // Rule 2: slots are all tuples of the named digits, the last one the least significant.
  for (size_t d = order.digits.size(); d-- > 0;) {
    if (!order.digits[d].isNamed())
      continue;
    shape.digits[d].slotStride = shape.slots;
    shape.slots = saturatingProduct(shape.slots, shape.digits[d].radix);
  }
  if (shape.slots > MaxSlots) {
    error = fmt::format("order '{}' has {} slots over {} elements, more than the {} that the "
                        "interpreter allows",
                        order.name, shape.slots, n, MaxSlots);
    return std::nullopt;
  }

  // Each stage removes its digit; the settings that it works on are those of the digits still left.
  std::vector<bool> isLeft(order.digits.size());
  for (size_t d = 0; d < order.digits.size(); ++d)
    isLeft[d] = order.digits[d].isNamed();
  for (const Order::Stage &stage : order.stages) {
    isLeft[stage.digit] = false;
    std::vector<int64_t> settings = {0};
    for (size_t d = 0; d < order.digits.size(); ++d) {
      if (!isLeft[d])
        continue;
      std::vector<int64_t> longer;
      for (int64_t setting : settings)
        for (int64_t p = 0; p < shape.digits[d].radix; ++p)
          longer.push_back(setting + p * shape.digits[d].slotStride);
      settings = std::move(longer);
    }
    const OrderShape::Digit &digit = shape.digits[stage.digit];
    shape.stages.push_back({stage.join, digit.radix, digit.slotStride, std::move(settings)});
  }
  return shape;
}

OrderShape singleChain(int64_t n) {
  OrderShape shape;
  shape.elements = n;
  shape.digits.push_back({std::max<int64_t>(n, 1), 0});
  return shape;
}

std::vector<int64_t> digitsOfSlot(const OrderShape &shape, int64_t slot) {
  std::vector<int64_t> digits;
  for (const OrderShape::Digit &digit : shape.digits)
    digits.push_back(digit.slotStride == 0 ? 0 : slot / digit.slotStride % digit.radix);
  return digits;
}

} // namespace h3::interpreter
