//===-- runtime/json/Value.cpp - Canonical JSON, read ---------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/json/Value.h"

#include "runtime/json/Utf8.h"

#include <charconv>

namespace h3::json {

std::string_view nameOf(Kind kind) {
  switch (kind) {
  case Kind::Null:
    return "null";
  case Kind::Boolean:
    return "a boolean";
  case Kind::Integer:
    return "a number";
  case Kind::String:
    return "a string";
  case Kind::Array:
    return "an array";
  case Kind::Object:
    return "an object";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

class Reader {
public:
  explicit Reader(std::string_view text) { document.text = text; }

  Result<Document, SyntaxError> run() {
    if (document.text.size() >= UINT32_MAX)
      fail("the text has 4 GiB or more");
    bool isValue = true; // what comes next, in place of a separator or an end
    while (error.empty() && (isValue || !open.empty()))
      isValue = isValue ? readValue() : readBehindValue();
    if (error.empty() && at != document.text.size())
      fail("there is more behind the value");
    if (!error.empty())
      return SyntaxError{error};
    return std::move(document);
  }

private:
  struct Container {
    uint32_t node;
    std::string_view lastKey; ///< into `keys` if it was escaped: see `readKey`
  };

  char peek() const { return at < document.text.size() ? document.text[at] : '\0'; }

  /// The first error counts. Always false.
  bool fail(const std::string &what) {
    if (error.empty())
      error = what + " at byte " + std::to_string(at);
    return false;
  }

  bool isDone() const { return at >= document.text.size(); }

  bool failHere(const char *expected) {
    if (isDone())
      return fail(std::string("the text ends, expected ") + expected);
    return fail(std::string("expected ") + expected);
  }

  Document::Node *add(Kind kind) {
    if (document.nodes.size() >= kMaxValues) {
      fail("more than " + std::to_string(kMaxValues) + " values");
      return nullptr;
    }
    Document::Node &node = document.nodes.emplace_back();
    node.kind = kind;
    node.next = static_cast<uint32_t>(document.nodes.size());
    return &node;
  }

  /// True if a value must follow: an array or object was opened that is not empty.
  bool readValue() {
    const char c = peek();
    if (c == '"')
      return readString() && false;
    if (c == '-' || (c >= '0' && c <= '9'))
      return readInteger() && false;
    if (c == '{' || c == '[')
      return openContainer(c == '{');
    struct Word {
      std::string_view text;
      Kind kind;
      int64_t value;
    };
    static constexpr Word words[] = {
        {"null", Kind::Null, 0}, {"true", Kind::Boolean, 1}, {"false", Kind::Boolean, 0}};
    for (const auto &[word, kind, value] : words)
      if (document.text.substr(at).starts_with(word)) {
        at += word.size();
        if (Document::Node *node = add(kind))
          node->value = value;
        return false;
      }
    return failHere("a value");
  }

  bool openContainer(bool isObject) {
    if (open.size() == kMaxDepth)
      return fail("more than " + std::to_string(kMaxDepth) + " arrays and objects in each other");
    if (!add(isObject ? Kind::Object : Kind::Array))
      return false;
    open.push_back({static_cast<uint32_t>(document.nodes.size() - 1), {}});
    ++at;
    if (peek() == (isObject ? '}' : ']'))
      return false; // `readBehindValue` closes it
    ++document.nodes.back().value;
    return !isObject || readKey();
  }

  /// Behind a value in an array or object, or at once behind its bracket if it is empty. True if a
  /// value must follow.
  bool readBehindValue() {
    Container &inner = open.back();
    Document::Node &node = document.nodes[inner.node];
    const bool isObject = node.kind == Kind::Object;
    const char c = peek();
    if (c == (isObject ? '}' : ']')) {
      ++at;
      node.next = static_cast<uint32_t>(document.nodes.size());
      open.pop_back();
      return false;
    }
    if (c != ',' || node.value == 0)
      return failHere(isObject ? "',' or '}'" : "',' or ']'");
    ++at;
    ++node.value;
    return !isObject || readKey();
  }

  /// A key and its colon.
  bool readKey() {
    const size_t begin = at;
    if (peek() != '"')
      return failHere("a key");
    if (!readString())
      return false;
    const Document::Node &node = document.nodes.back();
    if (node.isEscaped) {
      at = begin;
      return fail("a key with an escape");
    }
    const std::string_view key = document.textOf(node);
    Container &inner = open.back();
    if (document.nodes[inner.node].value > 1 && key <= inner.lastKey) {
      at = begin;
      return fail(key == inner.lastKey ? "the key '" + std::string(key) + "' a second time"
                                       : "the key '" + std::string(key) + "' behind '" +
                                             std::string(inner.lastKey) + "', keys are sorted");
    }
    inner.lastKey = key;
    if (peek() != ':')
      return failHere("':'");
    ++at;
    return true;
  }

  bool readInteger() {
    const char *begin = document.text.data() + at;
    const char *end = document.text.data() + document.text.size();
    int64_t value = 0;
    const auto [stop, code] = std::from_chars(begin, end, value);
    const std::string_view digits(begin, static_cast<size_t>(stop - begin));
    if (code == std::errc::result_out_of_range)
      return fail("a number beyond 64 bits");
    if (code != std::errc() || digits != std::to_string(value))
      return fail("a number that is no integer in its shortest form");
    if (stop != end && (*stop == '.' || *stop == 'e' || *stop == 'E'))
      return fail("a number that is no integer");
    Document::Node *node = add(Kind::Integer);
    if (!node)
      return false;
    node->value = value;
    at += digits.size();
    return true;
  }

  bool readString() {
    const size_t begin = at + 1, firstUnescaped = document.unescaped.size();
    bool isEscaped = false;
    for (++at; peek() != '"' || isDone();) {
      if (isDone())
        return failHere("'\"'");
      const char c = peek();
      if (static_cast<unsigned char>(c) < 0x20)
        return fail("a control character in a string");
      if (c == '\\') {
        if (!isEscaped)
          document.unescaped.append(document.text.substr(begin, at - begin));
        isEscaped = true;
        if (!readEscape())
          return false;
        continue;
      }
      const size_t length = utf8Length(document.text.substr(at));
      if (length == 0)
        return fail("a string that is not UTF-8");
      if (isEscaped)
        document.unescaped.append(document.text.substr(at, length));
      at += length;
    }
    Document::Node *node = add(Kind::String);
    if (!node)
      return false;
    node->isEscaped = isEscaped;
    node->value = static_cast<int64_t>(isEscaped ? firstUnescaped : begin);
    node->length =
        static_cast<uint32_t>(isEscaped ? document.unescaped.size() - firstUnescaped : at - begin);
    ++at;
    return true;
  }

  bool readEscape() {
    const std::string_view rest = document.text.substr(at);
    if (rest.starts_with("\\\"") || rest.starts_with("\\\\")) {
      document.unescaped += rest[1];
      at += 2;
      return true;
    }
    static constexpr std::string_view digits = "0123456789abcdef";
    if (rest.size() >= 6 && rest.starts_with("\\u00") && (rest[4] == '0' || rest[4] == '1') &&
        digits.find(rest[5]) != std::string_view::npos) {
      document.unescaped += static_cast<char>((rest[4] - '0') * 16 + digits.find(rest[5]));
      at += 6;
      return true;
    }
    return fail("an escape other than \\\", \\\\ and \\u000X, \\u001X");
  }

  Document document;
  std::vector<Container> open;
  size_t at = 0;
  std::string error;
};

Result<Document, SyntaxError> Document::parse(std::string_view text) { return Reader(text).run(); }

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

std::string_view Document::textOf(const Node &node) const {
  const std::string_view from = node.isEscaped ? std::string_view(unescaped) : text;
  return from.substr(static_cast<size_t>(node.value), node.length);
}

Kind Value::kind() const { return document->nodes[index].kind; }

std::optional<bool> Value::boolean() const {
  if (kind() != Kind::Boolean)
    return std::nullopt;
  return document->nodes[index].value != 0;
}

std::optional<int64_t> Value::integer() const {
  if (kind() != Kind::Integer)
    return std::nullopt;
  return document->nodes[index].value;
}

std::optional<std::string_view> Value::string() const {
  if (kind() != Kind::String)
    return std::nullopt;
  return document->textOf(document->nodes[index]);
}

size_t Value::size() const {
  const bool hasChildren = kind() == Kind::Array || kind() == Kind::Object;
  return hasChildren ? static_cast<size_t>(document->nodes[index].value) : 0;
}

std::optional<Value> Value::find(std::string_view key) const {
  if (kind() != Kind::Object)
    return std::nullopt;
  for (Iterator i = begin(); i != end(); ++i)
    if (i.key() == key)
      return *i;
  return std::nullopt;
}

Value::Iterator Value::begin() const { return {*document, index + 1, kind() == Kind::Object}; }

Value::Iterator Value::end() const {
  return {*document, document->nodes[index].next, kind() == Kind::Object};
}

Value Value::Iterator::operator*() const { return {*document, hasKeys ? index + 1 : index}; }

std::string_view Value::Iterator::key() const {
  return hasKeys ? document->textOf(document->nodes[index]) : std::string_view();
}

Value::Iterator &Value::Iterator::operator++() {
  index = document->nodes[hasKeys ? index + 1 : index].next;
  return *this;
}

} // namespace h3::json
