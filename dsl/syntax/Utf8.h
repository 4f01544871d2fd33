//===-- dsl/syntax/Utf8.h - Strict decoding of UTF-8 -----------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One character of UTF-8 as the Unicode Standard defines it (chapter 3, table 3-7): no overlong
// forms, no surrogates, nothing above U+10FFFF.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_SYNTAX_UTF8_H
#define H3_DSL_SYNTAX_UTF8_H

#include <cstdint>
#include <string_view>

namespace h3 {

enum class Utf8Error {
  None,
  Stray,     ///< a byte that begins no character
  Truncated, ///< the character's later bytes are missing
  Overlong,  ///< a shorter form exists
  Surrogate, ///< U+D800 to U+DFFF
  TooLarge,  ///< above U+10FFFF
};

struct Utf8Character {
  Utf8Error error;
  uint32_t code;   ///< meaningful unless error is Stray or Truncated
  unsigned length; ///< bytes to step over, at least 1
};

/// Decodes the first character of \p text, which is not empty.
Utf8Character decodeUtf8(std::string_view text);

} // namespace h3

#endif // H3_DSL_SYNTAX_UTF8_H
