//===-- runtime/json/Utf8.h - The bytes of a character -------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_JSON_UTF8_H
#define H3_RUNTIME_JSON_UTF8_H

#include <cstddef>
#include <string_view>

namespace h3::json {

/// How many bytes the first character of \p text has as well-formed UTF-8 (Unicode 15, table 3-7:
/// no overlong forms, no surrogates, nothing above U+10FFFF); 0 if it is not well-formed.
inline size_t utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto isNext = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (text.empty())
    return 0;
  if (first < 0x80)
    return 1;
  if (first >= 0xC2 && first <= 0xDF)
    return isNext(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool isShort = first == 0xE0 && second < 0xA0,
               isSurrogate = first == 0xED && second > 0x9F;
    return isNext(1) && isNext(2) && !isShort && !isSurrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool isShort = first == 0xF0 && second < 0x90, isBeyond = first == 0xF4 && second > 0x8F;
    return isNext(1) && isNext(2) && isNext(3) && !isShort && !isBeyond ? 4 : 0;
  }
  return 0;
}

} // namespace h3::json

#endif // H3_RUNTIME_JSON_UTF8_H
