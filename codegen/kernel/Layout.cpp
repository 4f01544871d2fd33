//===-- codegen/kernel/Layout.cpp - Where the elements of a row live ------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Layout.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>

namespace h3 {

using Place = LayoutDigit::Place;

std::optional<int64_t> Layout::capacity() const {
  int64_t product = 1;
  for (const LayoutDigit &digit : digits) {
    if (digit.radix == 0)
      return {};
    product *= digit.radix;
  }
  return product;
}

unsigned Layout::threads() const {
  unsigned bits = 0;
  for (const LayoutDigit &digit : digits)
    if (digit.place == Place::Thread)
      bits = std::max(bits, digit.threadBit + llvm::Log2_64(digit.radix));
  return 1u << bits;
}

unsigned Layout::vector() const {
  return digits.empty() || digits.back().place != Place::Vector ? 1 : digits.back().radix;
}

int64_t Layout::registers() const {
  int64_t product = 1;
  for (const LayoutDigit &digit : digits)
    if (digit.place == Place::Register || digit.place == Place::Vector)
      product *= digit.radix;
  return product;
}

bool Layout::hasLoop() const {
  return llvm::any_of(digits, [](const LayoutDigit &digit) { return digit.place == Place::Loop; });
}

int64_t Layout::threadsBesideVector() const {
  for (const LayoutDigit &digit : llvm::reverse(digits))
    if (digit.place != Place::Vector)
      return digit.place == Place::Thread && digit.threadBit == 0 ? digit.radix : 1;
  return 1;
}

std::string Layout::invalid() const {
  constexpr int64_t mostRegisters = 8192, mostThreads = 1024, mostElements = int64_t(1) << 40;
  uint64_t threadBits = 0;
  unsigned loops = 0;
  int64_t product = 1;
  for (const LayoutDigit &digit : digits) {
    bool isFirst = &digit == &digits.front(), isLast = &digit == &digits.back();
    if (digit.radix < 0 || (digit.radix == 0 && (!isFirst || digit.place != Place::Loop)))
      return "only the most significant digit, a loop, may be without a radix";
    if (digit.place == Place::Loop && ++loops > 1)
      return "there is more than one loop";
    if (digit.place == Place::Vector && (!isLast || !llvm::isPowerOf2_64(digit.radix)))
      return "'v' is the least significant digit and a power of two";
    if (digit.place == Place::Thread) {
      if (!llvm::isPowerOf2_64(digit.radix))
        return "the radix of threads is not a power of two";
      uint64_t bits = static_cast<uint64_t>(digit.radix - 1) << digit.threadBit;
      if (digit.threadBit >= 10 || bits >= mostThreads)
        return "there are more than " + std::to_string(mostThreads) + " threads";
      if (threadBits & bits)
        return "a bit of the thread's number is used twice";
      threadBits |= bits;
    }
    if (digit.radix && llvm::MulOverflow(product, digit.radix, product))
      return "the radices overflow";
  }
  if (product > mostElements)
    return "the radices overflow";
  if (registers() > mostRegisters)
    return "a thread holds more than " + std::to_string(mostRegisters) + " elements";
  return {};
}

std::string Layout::text() const {
  std::string result = "(";
  for (const LayoutDigit &digit : digits) {
    if (result.size() > 1)
      result += ", ";
    switch (digit.place) {
    case Place::Loop:
      result += digit.radix ? "loop:" + std::to_string(digit.radix) : "loop";
      break;
    case Place::Register:
      result += "r:" + std::to_string(digit.radix);
      break;
    case Place::Vector:
      result += "v:" + std::to_string(digit.radix);
      break;
    case Place::Thread:
      result += "t" + std::to_string(digit.threadBit) + ":" + std::to_string(digit.radix);
      break;
    }
  }
  return result + ")";
}

std::optional<Layout> Layout::parse(std::string_view text, std::string &error) {
  llvm::StringRef rest = llvm::StringRef(text).trim();
  Layout layout;
  if (!rest.consume_front("(") || !rest.consume_back(")")) {
    error = "a layout stands in parentheses, e.g. (loop, t0:32, v:4)";
    return {};
  }
  llvm::SmallVector<llvm::StringRef> parts;
  if (!rest.trim().empty())
    rest.split(parts, ',');
  for (llvm::StringRef part : parts) {
    auto [place, number] = part.trim().split(':');
    LayoutDigit digit;
    bool good = true;
    if (place == "loop")
      digit.place = Place::Loop;
    else if (place == "r")
      digit.place = Place::Register;
    else if (place == "v")
      digit.place = Place::Vector;
    else if (place.consume_front("t") && !place.getAsInteger(10, digit.threadBit))
      digit.place = Place::Thread;
    else
      good = false;
    bool isOpen = digit.place == Place::Loop && number.empty();
    if (isOpen)
      digit.radix = 0;
    else if (number.getAsInteger(10, digit.radix) || digit.radix < 1)
      good = false;
    if (!good) {
      error = "'" + part.trim().str() +
              "' is no digit of a layout: expected loop, loop:R, r:R, "
              "v:R or tB:R";
      return {};
    }
    layout.digits.push_back(digit);
  }
  error = layout.invalid();
  if (!error.empty())
    return {};
  return layout;
}

} // namespace h3
