//===-- codegen/kernel/OrderBits.cpp - An order's digits as bits of the index -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/OrderBits.h"

#include <llvm/Support/MathExtras.h>

namespace h3 {

std::optional<OrderBits> OrderBits::of(ir::OrderAttr order, int64_t extent, std::string &error) {
  OrderBits result;
  int64_t others = 1;
  for (const ir::OrderDigit &digit : order.getDigits())
    if (digit.radix && llvm::MulOverflow(others, digit.radix, others)) {
      error = "the order's radices overflow";
      return {};
    }
  bool hasOpenDigit = false;
  for (const ir::OrderDigit &digit : order.getDigits()) {
    hasOpenDigit |= digit.radix == 0;
    int64_t radix =
        digit.radix ? digit.radix : std::max<int64_t>(1, llvm::divideCeil(extent, others));
    result.digits.push_back({static_cast<bool>(digit.name), radix, 0, 0});
  }
  if (!hasOpenDigit && extent > others) {
    error = "the order holds " + std::to_string(others) + " elements, the row has " +
            std::to_string(extent);
    return {};
  }
  unsigned next = 0;
  for (size_t i = result.digits.size(); i-- > 0;) {
    Digit &digit = result.digits[i];
    if (i > 0 && !llvm::isPowerOf2_64(digit.radix)) {
      error = "digit " + std::to_string(i + 1) + " has the radix " + std::to_string(digit.radix) +
              ", which is not a power of two";
      return {};
    }
    digit.first = next;
    digit.count = llvm::Log2_64_Ceil(digit.radix);
    next += digit.count;
  }
  return result;
}

} // namespace h3
