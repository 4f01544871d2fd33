//===-- dsl/syntax/Lexer.cpp - From text to tokens ------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/syntax/Lexer.h"

#include "dsl/syntax/Utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace h3 {

namespace {

constexpr size_t maxErrors = 20;
/// Names become names of files and symbols, and stand in messages.
constexpr size_t maxNameCharacters = 255;
/// Enough for every number of f64 written out in full; keeps exact conversion quick.
constexpr size_t maxNumberCharacters = 2000;

constexpr auto reservedWords = [] {
  std::array words = {
      std::string_view("use"),      std::string_view("record"), std::string_view("order"),
      std::string_view("then"),     std::string_view("serial"), std::string_view("halving"),
      std::string_view("adjacent"), std::string_view("fn"),     std::string_view("return"),
      std::string_view("op"),       std::string_view("each"),   std::string_view("dim"),
      std::string_view("require"),  std::string_view("in"),     std::string_view("out"),
      std::string_view("strides"),  std::string_view("align"),  std::string_view("may"),
      std::string_view("alias"),    std::string_view("for"),    std::string_view("let"),
      std::string_view("reduce"),   std::string_view("by"),     std::string_view("any"),
      std::string_view("from"),     std::string_view("step"),   std::string_view("of"),
      std::string_view("join"),     std::string_view("if"),     std::string_view("else"),
      std::string_view("or"),       std::string_view("and"),    std::string_view("not"),
      std::string_view("inf"),      std::string_view("nan"),    std::string_view("true"),
      std::string_view("false"),
  };
  std::sort(words.begin(), words.end());
  return words;
}();

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isHexDigit(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool isWordPart(char c) { return isLetter(c) || isDigit(c) || c == '_'; }

/// What looks like an operator of other languages, and how it is said here.
struct Foreign {
  std::string_view text, message, hint;
};
constexpr Foreign foreign[] = {
    {"&&", "'&&' is not an operator", "write 'and'"},
    {"||", "'||' is not an operator", "write 'or'"},
    {"<<", "'<<' is not an operator", "write 'shl(x, count)'"},
    {">>", "'>>' is not an operator", "write 'shr(x, count)'"},
    {"+=", "'+=' is not an operator", "there is no assignment; each name is defined once"},
    {"-=", "'-=' is not an operator", "there is no assignment; each name is defined once"},
    {"*=", "'*=' is not an operator", "there is no assignment; each name is defined once"},
    {"/=", "'/=' is not an operator", "there is no assignment; each name is defined once"},
    {":=", "':=' is not an operator", "write '='"},
    {"/*", "'/*' does not begin a comment", "a comment begins with '//' and ends with its line"},
    {"!", "'!' is not an operator", "write 'not'"},
    {"&", "'&' is not an operator", "write 'and'"},
    {"?", "'?' is not an operator", "write 'if condition then value else value'"},
    {"^", "'^' is not an operator", "there is no power operator; write a product"},
    {";", "';' is not used in specs", "leave it out: statements end by themselves"},
    {"#", "'#' does not begin a comment", "a comment begins with '//' and ends with its line"},
    {"\"", "there are no strings in specs", ""},
    {"'", "there are no strings in specs", ""},
};

/// Characters that look like something of the language.
struct Lookalike {
  uint32_t code;
  std::string_view hint;
};
constexpr Lookalike lookalikes[] = {
    {0xA0, "write a plain space"},
    {0xB7, "write '*'"},
    {0xD7, "write '*'"},
    {0xF7, "write '/'"},
    {0x2013, "write '-'"},
    {0x2014, "write '-'"},
    {0x2192, "write '->'"},
    {0x2212, "write '-'"},
    {0x221E, "write 'inf'"},
    {0x2260, "write '!='"},
    {0x2264, "write '<='"},
    {0x2265, "write '>='"},
    {0xFEFF, "save the file without a byte order mark"},
};

std::string_view utf8Problem(Utf8Error error) {
  switch (error) {
  case Utf8Error::None:
    break;
  case Utf8Error::Stray:
    return "begins no character";
  case Utf8Error::Truncated:
    return "begins a character that is cut off";
  case Utf8Error::Overlong:
    return "begins an overlong form";
  case Utf8Error::Surrogate:
    return "begins half of a surrogate pair";
  case Utf8Error::TooLarge:
    return "begins a number above U+10FFFF";
  }
  return "";
}

class Lexer {
public:
  Lexer(const SourceFile &source, Diagnostics &diagnostics)
      : text(source.text), diagnostics(diagnostics) {
    list.source = &source;
  }

  std::optional<TokenList> run();

private:
  std::string_view text;
  Diagnostics &diagnostics;
  TokenList list;
  size_t at = 0;
  uint32_t line = 1;
  bool lineHasToken = false;
  std::vector<size_t> openBrackets; ///< indices of tokens

  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }
  bool startsWith(std::string_view what) const { return text.substr(at).starts_with(what); }

  bool checkText();
  void add(TokenKind kind, size_t length);
  void addError(size_t length, std::string message, std::string hint = {});
  void lexComment();
  void lexWord();
  void lexNumber();
  void lexLeadingDot();
  void lexPunctuation();
  void lexUnknown();
  void trackBrackets(std::string_view punctuation);
};

bool Lexer::checkText() {
  auto refuse = [&](size_t begin, size_t end, std::string message, std::string hint) {
    SourceRange range{list.source, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
    diagnostics.error(range, std::move(message), std::move(hint));
    return false;
  };
  if (text.size() > maxSpecBytes)
    return refuse(0, 0, tooLargeMessage(text.size()), "");
  for (size_t i = 0; i < text.size();) {
    Utf8Character c = decodeUtf8(text.substr(i));
    if (c.error != Utf8Error::None)
      return refuse(i, i + 1,
                    fmt::format("the text is not UTF-8: byte 0x{:02X} {}",
                                static_cast<unsigned>(static_cast<unsigned char>(text[i])),
                                utf8Problem(c.error)),
                    "save the file as UTF-8");
    if (c.code == 0)
      return refuse(i, i + 1, "the text has a NUL byte", "save the file as UTF-8");
    i += c.length;
  }
  return true;
}

void Lexer::add(TokenKind kind, size_t length) {
  list.tokens.push_back(
      {kind, false, static_cast<uint32_t>(at), static_cast<uint32_t>(at + length), line});
  lineHasToken = true;
  at += length;
}

void Lexer::addError(size_t length, std::string message, std::string hint) {
  list.errors.push_back({list.tokens.size(), std::move(message), std::move(hint)});
  add(TokenKind::Error, length);
}

void Lexer::lexComment() {
  size_t end = std::min(text.find('\n', at), text.size());
  size_t shown = end > at && text[end - 1] == '\r' ? end - 1 : end;
  list.comments.push_back(
      {static_cast<uint32_t>(at), static_cast<uint32_t>(shown), line, !lineHasToken});
  at = end;
}

void Lexer::lexWord() {
  size_t length = 1;
  while (isWordPart(peek(length)))
    ++length;
  std::string_view word = text.substr(at, length);
  if (word == "_")
    return add(TokenKind::Punctuation, length);
  if (length > maxNameCharacters)
    return addError(length, fmt::format("a name of {} characters; at most {} are allowed", length,
                                        maxNameCharacters));
  if (word.front() == '_')
    return addError(length, fmt::format("'{}' is not a name", word), "a name begins with a letter");
  add(isReserved(word) ? TokenKind::Reserved : TokenKind::Name, length);
}

void Lexer::lexNumber() {
  size_t length = 0;
  auto digits = [&] {
    while (isDigit(peek(length)))
      ++length;
  };
  TokenKind kind = TokenKind::Integer;
  if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
    kind = TokenKind::Hex;
    length = 2;
    while (isHexDigit(peek(length)))
      ++length;
  } else {
    digits();
    if (peek(length) == '.' && isDigit(peek(length + 1))) {
      kind = TokenKind::Decimal;
      ++length;
      digits();
    }
    size_t sign = peek(length + 1) == '+' || peek(length + 1) == '-' ? 1 : 0;
    if ((peek(length) == 'e' || peek(length) == 'E') && isDigit(peek(length + 1 + sign))) {
      kind = TokenKind::Decimal;
      length += 1 + sign;
      digits();
    }
  }
  std::string_view number = text.substr(at, length);

  size_t whole = length;
  while (isWordPart(peek(whole)))
    ++whole;
  std::string_view shown = text.substr(at, std::min<size_t>(whole, 40));
  if (whole > maxNumberCharacters)
    return addError(whole, fmt::format("a number of {} characters; at most {} are read", whole,
                                       maxNumberCharacters));
  if (whole > length || (kind == TokenKind::Hex && length == 2)) {
    std::string_view suffix = text.substr(at + length, whole - length);
    std::string hint;
    if (kind == TokenKind::Hex)
      hint = "a bit pattern is written '0x' and hexadecimal digits";
    else if (suffix == "f" || suffix == "F" || suffix == "h" || suffix == "l" || suffix == "L" ||
             suffix == "u" || suffix == "U")
      hint =
          fmt::format("leave out the '{}': a number takes its type from where it is used", suffix);
    else if (suffix.front() == 'e' || suffix.front() == 'E')
      hint = "an exponent has digits, as in '1e-5'";
    else if (suffix.front() == '_')
      hint = "digits are written without a separator";
    else if (isLetter(suffix.front()) && suffix.size() <= 40)
      hint = fmt::format("write '{} * {}' for a product", number.substr(0, 40), suffix);
    return addError(whole, fmt::format("'{}' is not a number", shown), std::move(hint));
  }
  // `1.` and `1.e5`; a path such as `1.x` is as wrong.
  if (kind == TokenKind::Integer && peek(length) == '.')
    return addError(length + 1, fmt::format("a digit must follow the '.' of '{}.'", shown),
                    fmt::format("write '{}.0'", shown));
  if (kind == TokenKind::Hex) {
    if (number[1] == 'X')
      return addError(length, fmt::format("'{}' is not a number", shown),
                      "write '0x' with a small x");
    std::string_view significant = number.substr(2);
    significant.remove_prefix(std::min(significant.find_first_not_of('0'), significant.size()));
    if (significant.size() > 16)
      return addError(length, fmt::format("'{}' has more than 64 bits", shown));
  }
  if (kind == TokenKind::Integer) {
    int64_t value;
    if (std::from_chars(number.data(), number.data() + number.size(), value).ec != std::errc())
      return addError(length,
                      fmt::format("'{}' is larger than the largest integer, {}", shown, INT64_MAX));
  }
  add(kind, length);
}

void Lexer::lexLeadingDot() {
  size_t length = 1;
  while (isWordPart(peek(length)))
    ++length;
  std::string_view digits = text.substr(at + 1, length - 1);
  bool follows = !list.tokens.empty() && list.tokens.back().end == at &&
                 (isWordPart(text[at - 1]) || text[at - 1] == ')' || text[at - 1] == ']');
  if (follows)
    return addError(length,
                    fmt::format("expected a name after '.', found '{}'", digits.substr(0, 40)));
  addError(length, "a digit must stand before the '.'",
           fmt::format("write '0.{}'", digits.substr(0, 40)));
}

void Lexer::trackBrackets(std::string_view punctuation) {
  char c = punctuation.front();
  if (c == '(' || c == '[' || c == '{') {
    openBrackets.push_back(list.tokens.size());
  } else if (c == ')' || c == ']' || c == '}') {
    if (!openBrackets.empty())
      openBrackets.pop_back();
  } else if (c == ',' && !openBrackets.empty()) {
    list.tokens[openBrackets.back()].listed = true;
  }
}

void Lexer::lexPunctuation() {
  for (std::string_view two : {"<=", ">=", "==", "!=", "->"}) {
    if (startsWith(two))
      return add(TokenKind::Punctuation, 2);
  }
  for (const Foreign &other : foreign) {
    if (startsWith(other.text))
      return addError(other.text.size(), std::string(other.message), std::string(other.hint));
  }
  constexpr std::string_view single = "()[]{}<>,:.|=+-*/%";
  if (single.find(peek()) == std::string_view::npos)
    return lexUnknown();
  trackBrackets(text.substr(at, 1));
  add(TokenKind::Punctuation, 1);
}

void Lexer::lexUnknown() {
  Utf8Character c = decodeUtf8(text.substr(at));
  size_t length = c.length;
  while (at + length < text.size() &&
         text.substr(at + length).starts_with(text.substr(at, c.length)))
    length += c.length;
  if (c.code < 0x20 || c.code == 0x7F)
    return addError(length, fmt::format("control character 0x{:02X} outside a comment", c.code));
  std::string_view shown = text.substr(at, c.length);
  if (c.code < 0x80)
    return addError(length, fmt::format("'{}' is not used in specs", shown));
  auto known = std::find_if(std::begin(lookalikes), std::end(lookalikes),
                            [&](const Lookalike &other) { return other.code == c.code; });
  addError(length, fmt::format("'{}' (U+{:04X}) may only stand in a comment", shown, c.code),
           known == std::end(lookalikes) ? "" : std::string(known->hint));
}

std::optional<TokenList> Lexer::run() {
  if (!checkText())
    return std::nullopt;
  while (at < text.size() && list.errors.size() < maxErrors) {
    char c = peek();
    if (c == '\n') {
      ++line;
      lineHasToken = false;
      ++at;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at;
    } else if (startsWith("//")) {
      lexComment();
    } else if (isDigit(c)) {
      lexNumber();
    } else if (c == '.' && isDigit(peek(1))) {
      lexLeadingDot();
    } else if (isLetter(c) || c == '_') {
      lexWord();
    } else {
      lexPunctuation();
    }
  }
  at = std::min(at, text.size());
  add(TokenKind::End, 0);
  return std::move(list);
}

} // namespace

std::string tooLargeMessage(size_t bytes) {
  return fmt::format("the spec has {} bytes; at most {} (4 MiB) are read", bytes, maxSpecBytes);
}

bool isReserved(std::string_view word) {
  return std::binary_search(reservedWords.begin(), reservedWords.end(), word);
}

std::span<const std::string_view> reservedWordList() { return reservedWords; }

std::optional<TokenList> lex(const SourceFile &source, Diagnostics &diagnostics) {
  return Lexer(source, diagnostics).run();
}

} // namespace h3
