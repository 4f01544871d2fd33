//===-- runtime/json/Writer.h - Canonical JSON, written ------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_JSON_WRITER_H
#define H3_RUNTIME_JSON_WRITER_H

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace h3::json {

/// Writes what Value.h reads, if callers give keys in sorted order and strings as UTF-8.
class Writer {
public:
  std::string take() { return std::move(out); }

  void string(std::string_view text);
  void integer(int64_t value) { out += std::to_string(value); }
  void boolean(bool value) { out += value ? "true" : "false"; }
  void null() { out += "null"; }

  /// A string of hexadecimal digits in lower case, without leading zeros.
  void hex(uint64_t value);

  /// A value that was written already.
  void raw(std::string_view json) { out += json; }

  template <typename Range, typename Function> void array(const Range &range, Function element) {
    open('[');
    for (const auto &value : range) {
      item();
      element(value);
    }
    close(']');
  }

  void open(char bracket) {
    out += bracket;
    isFirst = true;
  }
  void close(char bracket) {
    out += bracket;
    isFirst = false;
  }
  void key(std::string_view name) {
    item();
    string(name);
    out += ':';
  }
  /// The comma in front of an element or a key, except the first after `open`.
  void item() {
    if (!isFirst)
      out += ',';
    isFirst = false;
  }

private:
  std::string out;
  bool isFirst = true;
};

} // namespace h3::json

#endif // H3_RUNTIME_JSON_WRITER_H
