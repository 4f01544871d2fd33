//===-- dsl/syntax/Lexer.h - From text to tokens ---------------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The tokens of a spec: names, reserved words, numbers, punctuation. Whitespace only separates;
// comments are kept beside the tokens, because those above an item are its documentation.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_SYNTAX_LEXER_H
#define H3_DSL_SYNTAX_LEXER_H

#include "dsl/syntax/Diagnostic.h"

#include <optional>
#include <span>

namespace h3 {

/// The largest spec that is read.
constexpr size_t maxSpecBytes = 4u << 20;

/// The message for a spec of \p bytes bytes, which are too many.
std::string tooLargeMessage(size_t bytes);

enum class TokenKind : uint8_t {
  Name,
  Reserved,    ///< a word that the grammar quotes
  Integer,     ///< digits; at most 2^63 - 1
  Decimal,     ///< digits with `.` between digits, an exponent, or both
  Hex,         ///< `0x` and digits; at most 64 bits
  Punctuation, ///< one of ( ) [ ] { } < > , : . | = + - * / % _ <= >= == != ->
  Error,       ///< what is no token; `TokenList::errors` says why
  End,         ///< after the last token, an empty range
};

struct Token {
  TokenKind kind;
  bool listed; ///< of `(`: a comma stands directly inside, so it may take an index apart
  uint32_t begin, end;
  uint32_t line; ///< from 1
};

struct Comment {
  uint32_t begin, end; ///< from `//` to before the end of the line
  uint32_t line;       ///< from 1
  bool alone;          ///< nothing but whitespace stands before it in its line
};

/// The tokens of one text; `source` must outlive it.
struct TokenList {
  struct Error {
    size_t token; ///< index of the Error token
    std::string message, hint;
  };

  const SourceFile *source;
  std::vector<Token> tokens; ///< the last one is End
  std::vector<Comment> comments;
  std::vector<Error> errors; ///< one for each Error token, in order

  std::string_view text(const Token &token) const {
    return std::string_view(source->text).substr(token.begin, token.end - token.begin);
  }
};

bool isReserved(std::string_view word);

/// The words that the grammar quotes, sorted.
std::span<const std::string_view> reservedWordList();

/// Null, with one diagnostic, if the text is larger than `maxSpecBytes`, not UTF-8, or has a NUL
/// byte. What is wrong with a part of the text becomes an Error token, whose message is left to the
/// parser, so that errors are shown in the order of the text; after 20 of them the list ends.
std::optional<TokenList> lex(const SourceFile &source, Diagnostics &diagnostics);

} // namespace h3

#endif // H3_DSL_SYNTAX_LEXER_H
