//===-- codegen/kernel/OrderBits.h - An order's digits as bits of the index - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_ORDERBITS_H
#define H3_CODEGEN_KERNEL_ORDERBITS_H

#include "codegen/dialect/H3.h"

#include <optional>
#include <string>
#include <vector>

namespace h3 {

/// The digits of an order as fields of the element index' bits. It exists when every digit but the
/// most significant has a radix that is a power of two, which holds for every tree that a GPU's
/// shuffles build.
struct OrderBits {
  struct Digit {
    bool isNamed;
    int64_t radix;         ///< the digit without radix has got its own
    unsigned first, count; ///< bits [first, first + count) of the index
  };
  std::vector<Digit> digits; ///< most significant first, as in the order

  /// Empty with \p error set if the order has no such form, or cannot hold \p extent elements.
  static std::optional<OrderBits> of(ir::OrderAttr order, int64_t extent, std::string &error);
};

} // namespace h3

#endif // H3_CODEGEN_KERNEL_ORDERBITS_H
