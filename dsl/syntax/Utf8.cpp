//===-- dsl/syntax/Utf8.cpp - Strict decoding of UTF-8 --------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/syntax/Utf8.h"

namespace h3 {

Utf8Character decodeUtf8(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  uint32_t first = byte(0);
  if (first < 0x80)
    return {Utf8Error::None, first, 1};
  if (first < 0xC0 || first >= 0xF8)
    return {Utf8Error::Stray, 0, 1};

  unsigned length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  uint32_t code = first & (0x7Fu >> length);
  for (unsigned i = 1; i < length; ++i) {
    if (i >= text.size() || (byte(i) & 0xC0) != 0x80)
      return {Utf8Error::Truncated, 0, i};
    code = (code << 6) | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < smallest[length])
    return {Utf8Error::Overlong, code, length};
  if (code >= 0xD800 && code <= 0xDFFF)
    return {Utf8Error::Surrogate, code, length};
  if (code > 0x10FFFF)
    return {Utf8Error::TooLarge, code, length};
  return {Utf8Error::None, code, length};
}

} // namespace h3
