//===-- dsl/syntax/ParserImpl.h - The recursive descent --------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Private to Parser*.cpp: one method for each production of the grammar.
//
// After an error the parser is *stuck*: every look at the tokens then shows the end of the text, so
// that all productions run out without a further message, and what they return is thrown away.
// Recovery happens in one place, `recover`, which goes on at the next item.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_SYNTAX_PARSERIMPL_H
#define H3_DSL_SYNTAX_PARSERIMPL_H

#include "dsl/syntax/Ast.h"
#include "dsl/syntax/Lexer.h"

namespace h3 {

class Parser {
public:
  Parser(const TokenList &list, ast::File &file, Diagnostics &diagnostics);

  void parseFile();
  /// The right side of an `order` item, which must be the whole text.
  ast::Order parseOrderText();

private:
  //===--- Tokens and errors (Parser.cpp) ---------------------------------===//

  const Token &peek(size_t ahead = 0) const;
  std::string_view textOf(const Token &token) const { return list.text(token); }
  /// Whether the token at hand is this reserved word or punctuation.
  bool at(std::string_view what) const { return is(peek(), what); }
  bool is(const Token &token, std::string_view what) const;
  bool atName() const { return peek().kind == TokenKind::Name; }
  Token next();
  bool accept(std::string_view what);
  /// Steps over \p what, or fails with "expected 'what' [where], found ...".
  bool expect(std::string_view what, std::string_view where = {}, std::string hint = {});
  /// Steps over the closing bracket of \p open, or fails with a note at \p open. \p others names
  /// what else could have stood there.
  bool close(const Token &open, std::string_view others = {}, std::string hint = {});
  /// Records an error, unless stuck already, and is stuck from here on.
  Diagnostic *fail(SourceRange range, std::string message, std::string hint = {});
  /// "expected ..., found ..." at the token at hand.
  Diagnostic *failExpected(std::string_view expected, std::string hint = {});
  /// The hint for a token that is wrong wherever it stands.
  std::string usualHint() const;
  std::string equalsHint() const;
  std::string describe(const Token &token) const;
  SourceRange rangeOf(const Token &token) const;
  /// From \p begin to the end of the last token stepped over.
  SourceRange rangeFrom(uint32_t begin) const;
  /// Reports the lexical errors of the tokens before \p token that were not reported.
  void reportLexicalErrors(size_t token);
  void recover(size_t itemBegin);
  bool atItem(size_t token) const;

  /// The name of a \p what ("a tensor").
  ast::Name parseName(std::string_view what);
  /// `a.b.c`.
  ast::Name parsePath(std::string_view what);
  void extendPath(std::string &text);
  /// The hint for a reserved word where a name should be. Unless \p certain, only if what follows
  /// it shows that a name was meant.
  std::string reservedHint(bool certain = false) const;
  template <typename Element> void parseList(Element element) {
    do
      element();
    while (accept(","));
  }
  std::string documentationOf(const Token &item) const;
  std::string fileDocumentation() const;
  std::string joinComments(size_t first, size_t last) const;

  //===--- Items (ParserItems.cpp) ----------------------------------------===//

  void parseUse();
  void parseItem();
  ast::Record parseRecord();
  ast::Order parseOrder();
  void parseDigitsAndStages(ast::Order &order);
  ast::Function parseFunction();
  ast::Operator parseOperator();
  std::vector<ast::Generic> parseGenerics();
  std::vector<ast::Param> parseParams(std::string_view emptyHint);
  ast::TypeRef parseType();
  void parseDims(ast::Operator &op);
  void parseTensors(ast::Operator &op);
  void parseTensorClauses(ast::Tensor &tensor);
  std::optional<int64_t> parsePositive(std::string_view what);
  ast::Let parseLet();
  ast::Equation parseEquation();
  ast::For parseFor();
  bool parseStatement(std::vector<ast::Statement> &body, bool insideFor);
  ast::Rhs parseRhs();
  ast::Reduce parseReduce();

  //===--- Expressions (ParserExpressions.cpp) ----------------------------===//

  ast::Expr *parseExpr();
  ast::Expr *parseIf();
  ast::Expr *parseRow();
  ast::Expr *parseOr();
  ast::Expr *parseAnd();
  ast::Expr *parseNot();
  ast::Expr *parseComparison();
  ast::Expr *parseSum();
  ast::Expr *parseProduct();
  ast::Expr *parseUnary();
  ast::Expr *parsePostfix();
  ast::Expr *parseAtom();
  void parseArguments(ast::Expr &call);
  ast::Subscript parseSubscript();
  ast::Binder parseBinder();
  ast::Binder::Digit parseBinderDigit();
  std::vector<ast::Binder> parseBinders();
  ast::Expr *unary(const Token &op, ast::Expr *operand);
  ast::Expr *binary(const Token &op, ast::Expr *left, ast::Expr *right);
  /// Computes the height of a node that has all its parts, and fails if it is too high.
  ast::Expr *finish(ast::Expr *expr);

  /// Counts one level of nesting while it lives.
  class Nesting {
  public:
    explicit Nesting(Parser &parser);
    ~Nesting() { --parser.depth; }
    Nesting(const Nesting &) = delete;
    Nesting &operator=(const Nesting &) = delete;

  private:
    Parser &parser;
  };

  const TokenList &list;
  ast::File &file;
  Diagnostics &diagnostics;
  size_t position = 0;
  bool stuck = false;
  unsigned depth = 0;
  size_t nextLexicalError = 0; ///< index into list.errors
  Token sentinel;              ///< what a stuck parser sees
  ast::Expr *nothing;          ///< what a stuck parser returns
};

} // namespace h3

#endif // H3_DSL_SYNTAX_PARSERIMPL_H
