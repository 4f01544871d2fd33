//===-- codegen/kernel/Layout.h - Where the elements of a row live - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A layout takes the index of an element apart into digits, as an order does, and says of each
// where it lives: in the number of the thread, in the registers of one thread, or in a loop that a
// thread runs. Written most significant digit first:
//
//   (loop, t5:4, t0:32, v:4)    four consecutive elements a thread; 32 lanes, then 4 warps beside
//                               each other; a loop over what is left
//   (r:4, t0:32, v:8)           four vectors a thread, all in registers: at most 1024 elements
//
// `tB:R` is R threads, whose number is bits B, B + 1, ... of the thread's number in its team; bits
// from 5 on count warps. `r:R` is R registers; `v:R`, the least significant digit, is a vector.
// `loop` is what is left and stands first; `loop:R` has a radix of its own.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_LAYOUT_H
#define H3_CODEGEN_KERNEL_LAYOUT_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace h3 {

struct LayoutDigit {
  enum class Place : uint8_t { Loop, Register, Vector, Thread };
  Place place = Place::Register;
  int64_t radix = 1;      ///< 0: what is left, for the most significant digit, a loop
  unsigned threadBit = 0; ///< of a Thread digit: the first bit of the thread's number in its team

  bool operator==(const LayoutDigit &) const = default;
};

struct Layout {
  std::vector<LayoutDigit> digits; ///< most significant first

  /// The most elements a row may have; empty: any number.
  std::optional<int64_t> capacity() const;
  /// The threads that are told apart, a power of two.
  unsigned threads() const;
  /// Consecutive elements that are handled as one vector.
  unsigned vector() const;
  /// Elements that a thread holds at once: the product of its registers.
  int64_t registers() const;
  bool hasLoop() const;
  /// How many threads beside each other hold vectors beside each other; 1: they do not.
  int64_t threadsBesideVector() const;

  /// What is wrong with the layout itself; empty if nothing.
  std::string invalid() const;

  std::string text() const;
  /// The inverse of `text`; empty with \p error set for anything else or an invalid layout.
  static std::optional<Layout> parse(std::string_view text, std::string &error);

  bool operator==(const Layout &) const = default;
};

} // namespace h3

#endif // H3_CODEGEN_KERNEL_LAYOUT_H
