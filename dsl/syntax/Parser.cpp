//===-- dsl/syntax/Parser.cpp - Files, tokens, errors and recovery --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/syntax/Parser.h"

#include "dsl/syntax/ParserImpl.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3 {

/// After so many items with errors, what follows is not read: it is no spec.
static constexpr unsigned maxFailedItems = 100;
/// Paths stand in messages.
static constexpr size_t maxPathCharacters = 1000;

Parser::Parser(const TokenList &list, ast::File &file, Diagnostics &diagnostics)
    : list(list), file(file), diagnostics(diagnostics), sentinel(list.tokens.back()),
      nothing(file.make(ast::Expr::Kind::False, {})) {}

const Token &Parser::peek(size_t ahead) const {
  if (stuck)
    return sentinel;
  return list.tokens[std::min(position + ahead, list.tokens.size() - 1)];
}

bool Parser::is(const Token &token, std::string_view what) const {
  return (token.kind == TokenKind::Reserved || token.kind == TokenKind::Punctuation) &&
         textOf(token) == what;
}

Token Parser::next() {
  Token token = peek();
  if (!stuck && position + 1 < list.tokens.size())
    ++position;
  return token;
}

bool Parser::accept(std::string_view what) {
  if (!at(what))
    return false;
  next();
  return true;
}

bool Parser::expect(std::string_view what, std::string_view where, std::string hint) {
  if (accept(what))
    return true;
  failExpected(fmt::format("'{}'{}{}", what, where.empty() ? "" : " ", where), std::move(hint));
  return false;
}

bool Parser::close(const Token &open, std::string_view others, std::string hint) {
  std::string_view bracket = textOf(open);
  std::string_view closing = bracket == "("   ? ")"
                             : bracket == "[" ? "]"
                             : bracket == "{" ? "}"
                                              : ">";
  if (accept(closing))
    return true;
  Diagnostic *made = failExpected(
      fmt::format("{}{}'{}'", others, others.empty() ? "" : " or ", closing), std::move(hint));
  if (made)
    made->notes.push_back({rangeOf(open), fmt::format("the '{}' is here", bracket)});
  return false;
}

Diagnostic *Parser::fail(SourceRange range, std::string message, std::string hint) {
  if (stuck)
    return nullptr;
  stuck = true;
  return &diagnostics.error(range, std::move(message), std::move(hint));
}

Diagnostic *Parser::failExpected(std::string_view expected, std::string hint) {
  if (stuck)
    return nullptr;
  const Token &found = peek();
  if (found.kind == TokenKind::Error) {
    reportLexicalErrors(position + 1);
    stuck = true;
    return nullptr;
  }
  if (hint.empty())
    hint = usualHint();
  // What is missing at the end of a line is missing there, not where the next line begins.
  SourceRange range = rangeOf(found);
  if (position > 0 && list.tokens[position - 1].line != found.line)
    range.begin = range.end = list.tokens[position - 1].end;
  return fail(range, fmt::format("expected {}, found {}", expected, describe(found)),
              std::move(hint));
}

std::string Parser::usualHint() const {
  return at("|") ? "'|' stands only between types; write 'or'" : "";
}

/// The hint where an expression has just ended and `=` cannot follow.
std::string Parser::equalsHint() const {
  return at("=") ? "two values are compared with '=='" : "";
}

std::string Parser::describe(const Token &token) const {
  if (token.kind == TokenKind::End)
    return "the end of the text";
  std::string_view text = textOf(token);
  bool cut = text.size() > 40;
  return fmt::format("'{}{}'", text.substr(0, 40), cut ? "..." : "");
}

SourceRange Parser::rangeOf(const Token &token) const {
  return {list.source, token.begin, token.end};
}

SourceRange Parser::rangeFrom(uint32_t begin) const {
  uint32_t end = position > 0 ? list.tokens[position - 1].end : 0;
  return {list.source, begin, std::max(begin, end)};
}

void Parser::reportLexicalErrors(size_t token) {
  for (; nextLexicalError < list.errors.size(); ++nextLexicalError) {
    const TokenList::Error &error = list.errors[nextLexicalError];
    if (error.token >= token)
      return;
    // Said once: a `;` after every line is one mistake.
    bool said = std::any_of(list.errors.begin(), list.errors.begin() + nextLexicalError,
                            [&](const auto &other) { return other.message == error.message; });
    if (!said)
      diagnostics.error(rangeOf(list.tokens[error.token]), error.message, error.hint);
  }
}

/// Whether an item, or a `use`, begins at this token. `order` is a type, too.
bool Parser::atItem(size_t token) const {
  const Token &word = list.tokens[token];
  for (std::string_view item : {"use", "record", "fn", "op"}) {
    if (is(word, item))
      return true;
  }
  return is(word, "order") && list.tokens[token + 1].kind == TokenKind::Name;
}

void Parser::recover(size_t itemBegin) {
  stuck = false;
  position = std::max(position, std::min(itemBegin + 1, list.tokens.size() - 1));
  while (list.tokens[position].kind != TokenKind::End && !atItem(position))
    ++position;
  reportLexicalErrors(position);
}

std::string Parser::reservedHint(bool certain) const {
  if (peek().kind != TokenKind::Reserved)
    return "";
  std::string hint =
      fmt::format("'{0}' is a reserved word; choose another name, such as '{0}_'", textOf(peek()));
  if (certain)
    return hint;
  const Token &after = peek(1);
  for (std::string_view follows : {":", "=", ",", "[", "]", "(", ")",  "{",  "<",  ">",
                                   ".", "+", "-", "*", "/", "%", "==", "!=", "<=", ">="}) {
    if (is(after, follows))
      return hint;
  }
  return "";
}

ast::Name Parser::parseName(std::string_view what) {
  if (atName()) {
    Token token = next();
    return {std::string(textOf(token)), rangeOf(token)};
  }
  std::string hint = reservedHint();
  bool ended = peek().kind == TokenKind::Reserved || at(")") || at("]") || at("}") || at(">");
  if (hint.empty() && ended && position > 0 && is(list.tokens[position - 1], ","))
    hint = "leave out the ',' before it";
  failExpected(fmt::format("the name of {}", what), std::move(hint));
  return {};
}

ast::Name Parser::parsePath(std::string_view what) {
  ast::Name name = parseName(what);
  if (at(".")) {
    extendPath(name.text);
    name.range = rangeFrom(name.range.begin);
  }
  return name;
}

/// Appends `.b.c` to a name.
void Parser::extendPath(std::string &text) {
  while (accept(".")) {
    if (!atName()) {
      failExpected("a name after '.'", reservedHint(/*certain=*/true));
      return;
    }
    text += '.';
    text += textOf(next());
    if (text.size() > maxPathCharacters) {
      fail(rangeOf(list.tokens[position - 1]),
           fmt::format("a path of more than {} characters", maxPathCharacters));
      return;
    }
  }
}

//===--- Documentation ----------------------------------------------------===//

/// The text of comments [first, last), without `//` and one space after it.
std::string Parser::joinComments(size_t first, size_t last) const {
  std::string out;
  for (size_t i = first; i < last; ++i) {
    const Comment &comment = list.comments[i];
    std::string_view line = std::string_view(list.source->text)
                                .substr(comment.begin + 2, comment.end - comment.begin - 2);
    if (line.starts_with(' '))
      line.remove_prefix(1);
    if (i > first)
      out += '\n';
    out += line;
  }
  return out;
}

/// The comment lines directly above an item that begins its line.
std::string Parser::documentationOf(const Token &item) const {
  auto token = std::lower_bound(list.tokens.begin(), list.tokens.end(), item.begin,
                                [](const Token &t, uint32_t begin) { return t.begin < begin; });
  if (token != list.tokens.begin() && (token - 1)->line == item.line)
    return "";
  auto after = std::lower_bound(list.comments.begin(), list.comments.end(), item.begin,
                                [](const Comment &c, uint32_t begin) { return c.begin < begin; });
  size_t last = static_cast<size_t>(after - list.comments.begin()), first = last;
  uint32_t line = item.line;
  while (first > 0 && list.comments[first - 1].alone && list.comments[first - 1].line + 1 == line) {
    --first;
    --line;
  }
  return joinComments(first, last);
}

/// The first run of comment lines, if nothing stands before it.
std::string Parser::fileDocumentation() const {
  const std::vector<Comment> &comments = list.comments;
  if (comments.empty() || comments.front().begin > list.tokens.front().begin)
    return "";
  size_t last = 1;
  while (last < comments.size() && comments[last].alone &&
         comments[last].line == comments[last - 1].line + 1)
    ++last;
  return joinComments(0, last);
}

//===--- Entry points -----------------------------------------------------===//

void Parser::parseFile() {
  file.documentation = fileDocumentation();
  for (unsigned failed = 0; peek().kind != TokenKind::End && failed < maxFailedItems;) {
    size_t begin = position;
    parseItem();
    if (stuck) {
      ++failed;
      recover(begin);
    }
  }
  reportLexicalErrors(list.tokens.size());
}

std::unique_ptr<ast::File> parse(const SourceFile &source, Diagnostics &diagnostics) {
  size_t before = diagnostics.size();
  std::optional<TokenList> tokens = lex(source, diagnostics);
  if (!tokens)
    return nullptr;
  auto file = std::make_unique<ast::File>();
  file->source = &source;
  Parser(*tokens, *file, diagnostics).parseFile();
  if (diagnostics.size() != before)
    return nullptr;
  return file;
}

std::optional<ast::Order> parseOrder(const SourceFile &source, Diagnostics &diagnostics) {
  size_t before = diagnostics.size();
  std::optional<TokenList> tokens = lex(source, diagnostics);
  if (!tokens)
    return std::nullopt;
  ast::File file;
  ast::Order order = Parser(*tokens, file, diagnostics).parseOrderText();
  if (diagnostics.size() != before)
    return std::nullopt;
  return order;
}

} // namespace h3
