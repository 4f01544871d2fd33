//===-- codegen/kernel/OrderAtoms.cpp - An order's digits in a layout -----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/OrderAtoms.h"

#include <llvm/Support/MathExtras.h>

#include <algorithm>

namespace h3 {

using Place = LayoutDigit::Place;

/// Adds an atom; one that reaches over the lanes into the warps becomes two.
static void addAtoms(OrderAtoms &result, OrderAtoms::Digit &digit, const LayoutDigit &from,
                     int64_t radix, unsigned threadBit, int64_t weight, unsigned warpBit) {
  auto add = [&](int64_t count, unsigned bit, int64_t step) {
    digit.atoms.push_back(result.atoms.size());
    result.atoms.push_back({from.place, count, bit, step});
  };
  if (from.place == Place::Thread && threadBit < warpBit) {
    int64_t lanes = int64_t(1) << (warpBit - threadBit);
    if (radix > lanes) {
      add(lanes, threadBit, weight);
      add(radix / lanes, warpBit, weight * lanes);
      return;
    }
  }
  add(radix, threadBit, weight);
}

std::optional<OrderAtoms> OrderAtoms::of(ir::OrderAttr order, std::optional<int64_t> extent,
                                         const Layout &layout, const Machine &machine,
                                         std::string &error) {
  OrderAtoms result;
  int64_t others = 1;
  bool hasOpenDigit = false;
  for (const ir::OrderDigit &digit : order.getDigits()) {
    hasOpenDigit |= digit.radix == 0;
    if (digit.radix && llvm::MulOverflow(others, digit.radix, others)) {
      error = "the order's radices overflow";
      return {};
    }
  }
  if (extent && !hasOpenDigit && *extent > others) {
    error = "the order holds " + std::to_string(others) + " elements, the row has " +
            std::to_string(*extent);
    return {};
  }
  for (const ir::OrderDigit &digit : order.getDigits()) {
    int64_t radix = digit.radix;
    if (!radix && extent)
      radix = std::max<int64_t>(1, llvm::divideCeil(*extent, others));
    result.digits.push_back({static_cast<bool>(digit.name), radix, {}, 1});
  }

  // Both from the least significant end. Within a digit atoms are collected that way too.
  size_t at = result.digits.size();
  int64_t left = 1; // of the radix of the order's digit `at`; 0: without bound
  auto nextDigit = [&] {
    while (at > 0 && left == 1) {
      --at;
      bool isOpen = order.getDigits()[at].radix == 0;
      // The most significant digit may be longer in the layout than the row needs it: elements
      // beyond the row do not exist.
      left = isOpen && at == 0 ? 0 : result.digits[at].radix;
    }
    return left != 1;
  };
  for (size_t i = 1; i < result.digits.size(); ++i)
    if (result.digits[i].radix == 0) {
      error =
          "the order's digit without a radix is not the most significant one, and the extent is "
          "known at run time only";
      return {};
    }
  int64_t weight = 1;
  for (size_t i = layout.digits.size(); i-- > 0;) {
    const LayoutDigit &from = layout.digits[i];
    int64_t rest = from.radix; // 0: a loop over what is left
    unsigned threadBit = from.threadBit;
    while (rest != 1) {
      if (!nextDigit()) {
        if (extent && *extent <= weight)
          break; // no element there: the digit is always 0
        error = "the layout holds more elements than the order";
        return {};
      }
      int64_t take;
      if (left == 0)
        take = rest;
      else if (rest == 0)
        take = left;
      else if (left % rest == 0)
        take = rest;
      else if (rest % left == 0)
        take = left;
      else {
        error = "a digit of " + std::to_string(rest) +
                " does not align with the order's digit of " + std::to_string(left);
        return {};
      }
      bool isWhole = take == 0;
      if (rest == 0 && !isWhole && at > 0) {
        error = "a loop over what is left would run over several digits of the order";
        return {};
      }
      Digit &digit = result.digits[at];
      if (from.place == Place::Thread && !digit.isNamed) {
        error = "elements that are walked inside a slot would be spread over threads";
        return {};
      }
      addAtoms(result, digit, from, isWhole ? 0 : take, threadBit, weight, machine.waveBits());
      digit.populated = isWhole ? 0 : digit.populated * take;
      if (isWhole)
        break;
      threadBit += from.place == Place::Thread ? llvm::Log2_64(take) : 0;
      weight *= take;
      left = left == 0 ? 0 : left / take;
      rest = rest == 0 ? 1 : rest / take;
    }
  }

  // Now the most significant first.
  unsigned count = result.atoms.size();
  std::reverse(result.atoms.begin(), result.atoms.end());
  for (Digit &digit : result.digits) {
    std::reverse(digit.atoms.begin(), digit.atoms.end());
    for (unsigned &atom : digit.atoms)
      atom = count - 1 - atom;
  }
  return result;
}

} // namespace h3
