//===-- dsl/format/Tokens.cpp - Tokens with spaces and comments -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/format/Tokens.h"

namespace h3::formatter {

Tokens::Tokens(TokenList all) : list(std::move(all)) {
  const std::vector<Token> &tokens = list.tokens;
  firstComment.push_back(0);
  for (size_t comment = 0; const Token &token : tokens) {
    while (comment < list.comments.size() && list.comments[comment].begin < token.begin)
      ++comment;
    firstComment.push_back(token.kind == TokenKind::End ? list.comments.size() : comment);
  }
  for (TokenId token = 0; token < tokens.size(); ++token) {
    bool before =
        is(token, ")") || is(token, "]") || is(token, ",") || is(token, ".") || is(token, ":");
    bool behind = token > 0 && (is(token - 1, "(") || is(token - 1, "[") || is(token - 1, "."));
    // `1 .x` is no number.
    bool number = token > 0 && is(token, ".") && tokens[token - 1].kind != TokenKind::Name &&
                  tokens[token - 1].kind != TokenKind::Punctuation;
    glued.push_back((before || behind) && !number);
  }
}

bool Tokens::is(TokenId token, std::string_view what) const {
  TokenKind kind = list.tokens[token].kind;
  return (kind == TokenKind::Reserved || kind == TokenKind::Punctuation) && text(token) == what;
}

void Tokens::measure() {
  unsigned column = 0;
  for (TokenId token = 0; token < list.tokens.size(); ++token) {
    column += glued[token] ? 0 : 1;
    position.push_back(column);
    column += static_cast<unsigned>(text(token).size());
  }
}

std::string_view Tokens::text(const Comment &comment) const {
  std::string_view shown =
      std::string_view(list.source->text).substr(comment.begin, comment.end - comment.begin);
  return shown.substr(0, shown.find_last_not_of(" \t\r") + 1);
}

unsigned Tokens::column(const Comment &comment) const {
  size_t newline = list.source->text.rfind('\n', comment.begin);
  return comment.begin - (newline == std::string::npos ? 0 : static_cast<unsigned>(newline) + 1);
}

} // namespace h3::formatter
