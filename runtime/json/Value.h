//===-- runtime/json/Value.h - Canonical JSON, read ----------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// JSON of which there is one text for each value, so that equal things have equal bytes:
//
//   * no white space; keys in increasing order of their bytes, none twice;
//   * numbers are integers of 64 bits with sign, in the shortest decimal form (no `-0`, no `1.0`);
//   * strings are UTF-8; `"` and `\` have a backslash in front, bytes below 0x20 are \u00XX in
//   lower
//     case, and nothing else is escaped.
//
// Anything else is refused with the byte at which it stands, and so is what is too deep or too
// large. Reading never recurses and needs memory in proportion to the text.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_JSON_VALUE_H
#define H3_RUNTIME_JSON_VALUE_H

#include "runtime/Result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace h3::json {

/// An object or an array in `kMaxDepth` others is too deep.
inline constexpr unsigned kMaxDepth = 32;

/// Values and keys of one document.
inline constexpr size_t kMaxValues = size_t(1) << 22;

enum class Kind : uint8_t { Null, Boolean, Integer, String, Array, Object };

/// "an array": for messages.
std::string_view nameOf(Kind kind);

/// One line: what is wrong, and at which byte of the text.
struct SyntaxError {
  std::string message;
};

class Document;

/// A value of a document. Small; valid as long as the document and the text it was read from.
class Value {
public:
  Kind kind() const;
  bool isNull() const { return kind() == Kind::Null; }

  /// Empty if the value is something else.
  std::optional<bool> boolean() const;
  std::optional<int64_t> integer() const;
  std::optional<std::string_view> string() const;

  /// Of an array its elements, of an object its members; else 0.
  size_t size() const;

  /// The value of a key. Empty if there is none, or if this is no object.
  std::optional<Value> find(std::string_view key) const;

  /// The elements of an array or the members of an object, in order. Empty for all else.
  class Iterator;
  Iterator begin() const;
  Iterator end() const;

private:
  friend class Document;
  Value(const Document &document, uint32_t index) : document(&document), index(index) {}

  const Document *document;
  uint32_t index;
};

/// `*i` is the value, `i.key()` its key in an object.
class Value::Iterator {
public:
  Value operator*() const;
  std::string_view key() const;
  Iterator &operator++();
  bool operator!=(const Iterator &other) const { return index != other.index; }
  bool operator==(const Iterator &other) const { return index == other.index; }

private:
  friend class Value;
  Iterator(const Document &document, uint32_t index, bool hasKeys)
      : document(&document), index(index), hasKeys(hasKeys) {}

  const Document *document;
  uint32_t index;
  bool hasKeys;
};

class Document {
public:
  /// Reads all of \p text, which must outlive the document: strings without an escape point into
  /// it.
  static Result<Document, SyntaxError> parse(std::string_view text);

  Value root() const { return Value(*this, 0); }

private:
  friend class Value;
  friend class Reader;

  /// Values in the order of the text; a key stands in front of its value as a string of its own.
  struct Node {
    Kind kind = Kind::Null;
    bool isEscaped = false; ///< the text is in `unescaped`
    uint32_t next = 0;      ///< behind this value and all that is in it
    /// An integer or boolean; the number of children; of a string where its text begins.
    int64_t value = 0;
    uint32_t length = 0; ///< of a string, in bytes
  };

  std::string_view textOf(const Node &node) const;

  std::string_view text;
  std::string unescaped;
  std::vector<Node> nodes;
};

} // namespace h3::json

#endif // H3_RUNTIME_JSON_VALUE_H
