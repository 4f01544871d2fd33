//===-- dsl/format/Tokens.h - Tokens with spaces and comments - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The tokens of a text as the formatter sees them: which are glued to the one before, how wide a
// run of them is on one line, which comments stand before each, and where the author broke lines.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_FORMAT_TOKENS_H
#define H3_DSL_FORMAT_TOKENS_H

#include "dsl/syntax/Lexer.h"

#include <span>

namespace h3::formatter {

/// Index of a token.
using TokenId = uint32_t;

class Tokens {
public:
  explicit Tokens(TokenList list);

  TokenId end() const { return static_cast<TokenId>(list.tokens.size() - 1); }
  const Token &operator[](TokenId token) const { return list.tokens[token]; }
  std::string_view text(TokenId token) const { return list.text(list.tokens[token]); }
  bool is(TokenId token, std::string_view what) const;
  bool isName(TokenId token) const { return list.tokens[token].kind == TokenKind::Name; }

  /// No space before this token. By default so for `) ] , . :` and behind `( [ .`.
  void glue(TokenId token) { glued[token] = true; }
  void separate(TokenId token) { glued[token] = false; }
  bool isGlued(TokenId token) const { return glued[token]; }

  /// Call it when all is glued, before asking for widths.
  void measure();
  /// Columns of the tokens \p first to \p last, both included, on one line.
  unsigned width(TokenId first, TokenId last) const {
    return position[last] + static_cast<unsigned>(text(last).size()) - position[first];
  }

  /// The comments between the token before and \p token.
  std::span<const Comment> commentsBefore(TokenId token) const {
    return std::span(list.comments)
        .subspan(firstComment[token], firstComment[token + 1] - firstComment[token]);
  }
  /// Whether a comment stands between two tokens of the run.
  bool hasComments(TokenId first, TokenId last) const {
    return firstComment[last + 1] > firstComment[first + 1];
  }
  /// Without whitespace at its end.
  std::string_view text(const Comment &comment) const;
  /// Bytes before it in its line.
  unsigned column(const Comment &comment) const;

  /// Whether the author began a line with this token.
  bool startsLine(TokenId token) const {
    return token > 0 && list.tokens[token].line != list.tokens[token - 1].line;
  }

private:
  TokenList list;
  std::vector<bool> glued;
  std::vector<unsigned> position;
  std::vector<size_t> firstComment; ///< by token, and one more
};

} // namespace h3::formatter

#endif // H3_DSL_FORMAT_TOKENS_H
