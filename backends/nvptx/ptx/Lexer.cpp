//===-- backends/nvptx/ptx/Lexer.cpp - Tokens of PTX ----------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Lexer.h"

#include "dsl/scalar/Scalar.h"

#include <algorithm>
#include <string>

namespace h3::ptx {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isWordStart(char c) { return isLetter(c) || c == '_' || c == '$' || c == '%'; }
bool isWordPart(char c) { return isLetter(c) || isDigit(c) || c == '_' || c == '$'; }

int digitValue(char c) {
  if (isDigit(c))
    return c - '0';
  char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
}

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}
  std::vector<Token> run();

private:
  char at(size_t offset = 0) const {
    return position + offset < text.size() ? text[position + offset] : '\0';
  }
  bool skipBlank();
  void add(Token::Kind kind, size_t length, uint64_t bits = 0);
  bool fail(std::string_view why);
  bool number();
  bool exactHex(Token::Kind kind, size_t digits);
  bool integer(size_t prefix, unsigned base);
  void word();
  bool next();

  std::string_view text;
  size_t position = 0;
  unsigned line = 1;
  std::vector<Token> tokens;
};

void Lexer::add(Token::Kind kind, size_t length, uint64_t bits) {
  tokens.push_back({kind, text.substr(position, length), line, bits});
  position += length;
}

bool Lexer::fail(std::string_view why) {
  tokens.push_back({Token::Kind::Error, why, line, 0});
  return false;
}

bool Lexer::skipBlank() {
  while (position < text.size()) {
    char c = at();
    if (c == '\n')
      ++line;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ++position;
    } else if (c == '/' && at(1) == '/') {
      position = std::min(text.find('\n', position), text.size());
    } else if (c == '/' && at(1) == '*') {
      size_t end = text.find("*/", position + 2);
      if (end == std::string_view::npos)
        return fail("a comment is not closed");
      line += static_cast<unsigned>(std::count(text.begin() + static_cast<long>(position),
                                               text.begin() + static_cast<long>(end), '\n'));
      position = end + 2;
    } else {
      break;
    }
  }
  return true;
}

bool Lexer::exactHex(Token::Kind kind, size_t digits) {
  uint64_t bits = 0;
  for (size_t i = 0; i < digits; ++i) {
    int value = digitValue(at(2 + i));
    if (value > 15)
      return fail("a float literal has too few digits");
    bits = bits << 4 | static_cast<uint64_t>(value);
  }
  add(kind, 2 + digits, bits);
  return true;
}

bool Lexer::integer(size_t prefix, unsigned base) {
  uint64_t bits = 0;
  size_t length = prefix;
  for (; digitValue(at(length)) < static_cast<int>(base); ++length) {
    auto digit = static_cast<uint64_t>(digitValue(at(length)));
    if (bits > (UINT64_MAX - digit) / base)
      return fail("an integer needs more than 64 bits");
    bits = bits * base + digit;
  }
  if (length == prefix && prefix != 0 && base != 8)
    return fail("an integer has no digits");
  if (at(length) == 'U')
    ++length;
  if (isWordPart(at(length)))
    return fail("a number is followed by a letter or digit that does not belong to it");
  add(Token::Kind::Integer, length, bits);
  return true;
}

bool Lexer::number() {
  if (at() == '0') {
    char mark = static_cast<char>(at(1) | 0x20);
    if (mark == 'f')
      return exactHex(Token::Kind::Single, 8);
    if (mark == 'd')
      return exactHex(Token::Kind::Double, 16);
    if (mark == 'x')
      return integer(2, 16);
    if (mark == 'b')
      return integer(2, 2);
  }
  size_t length = 0;
  while (isDigit(at(length)))
    ++length;
  size_t whole = length;
  if (at(length) == '.')
    for (++length; isDigit(at(length));)
      ++length;
  if ((at(length) | 0x20) == 'e') {
    size_t mark = length++;
    if (at(length) == '-' || at(length) == '+')
      ++length;
    if (!isDigit(at(length)))
      length = mark;
    while (isDigit(at(length)))
      ++length;
  }
  if (length == whole)
    return at() == '0' ? integer(1, 8) : integer(0, 10);
  std::string digits(text.substr(position, length));
  if (size_t dot = digits.find('.'); dot != std::string::npos)
    if (dot + 1 == digits.size() || !isDigit(digits[dot + 1]))
      digits.insert(dot + 1, "0");
  std::optional<scalar::Decimal> decimal = scalar::parseDecimal(ScalarType::F64, digits);
  if (!decimal)
    return fail("a decimal cannot be read");
  add(Token::Kind::Double, length, decimal->bits);
  return true;
}

void Lexer::word() {
  size_t length = 1;
  while (true) {
    char c = at(length);
    if (isWordPart(c) || (c == '.' && isWordPart(at(length + 1))))
      ++length;
    else if (c == ':' && at(length + 1) == ':' && isWordPart(at(length + 2)))
      length += 2;
    else
      break;
  }
  add(Token::Kind::Word, length);
}

bool Lexer::next() {
  char c = at();
  if (isWordStart(c)) {
    word();
    return true;
  }
  if (isDigit(c))
    return number();
  if (c == '.' && isLetter(at(1))) {
    size_t length = 1;
    while (isWordPart(at(length)) || (at(length) == ':' && at(length + 1) == ':'))
      length += at(length) == ':' ? 2 : 1;
    add(Token::Kind::Directive, length);
    return true;
  }
  if (c == '"') {
    size_t end = text.find('"', position + 1);
    if (end == std::string_view::npos)
      return fail("a string is not closed");
    ++position;
    add(Token::Kind::String, end - position);
    ++position;
    return true;
  }
  if (std::string_view("{}[]()<>,;:+-|@!=~").find(c) == std::string_view::npos)
    return fail("a character that PTX does not use");
  add(Token::Kind::Mark, 1);
  return true;
}

std::vector<Token> Lexer::run() {
  while (skipBlank()) {
    if (position == text.size()) {
      tokens.push_back({Token::Kind::End, "the end of the text", line, 0});
      break;
    }
    if (!next())
      break;
  }
  return std::move(tokens);
}

} // namespace

std::vector<Token> tokenize(std::string_view text) { return Lexer(text).run(); }

} // namespace h3::ptx
