//===-- runtime/json/Writer.cpp - Canonical JSON, written -----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/json/Writer.h"

namespace h3::json {

static constexpr char kDigits[] = "0123456789abcdef";

void Writer::string(std::string_view text) {
  out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kDigits[c >> 4];
      out += kDigits[c & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void Writer::hex(uint64_t value) {
  std::string text;
  do
    text.insert(text.begin(), kDigits[value & 15]);
  while (value >>= 4);
  string(text);
}

} // namespace h3::json
