//===-- dsl/syntax/ParserExpressions.cpp - Expressions --------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/syntax/ParserImpl.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3 {

using ast::Expr;
using Kind = Expr::Kind;

namespace {
constexpr unsigned maxDepth = 200;
constexpr unsigned maxHeight = 1000;
} // namespace

Parser::Nesting::Nesting(Parser &parser) : parser(parser) {
  if (++parser.depth > maxDepth)
    parser.fail(parser.rangeOf(parser.peek()),
                fmt::format("expression nested deeper than {}", maxDepth),
                "name a part of it with 'let'");
}

Expr *Parser::finish(Expr *expr) {
  unsigned below = 0;
  auto include = [&](const Expr *part) { below = std::max(below, part->height); };
  for (const Expr *operand : expr->operands)
    include(operand);
  for (const ast::Binder &binder : expr->binders)
    for (const ast::Binder::Digit &digit : binder.digits)
      include(digit.size);
  for (const ast::Subscript &subscript : expr->subscripts)
    for (const Expr *digit : subscript.digits)
      include(digit);
  expr->height = below + 1;
  if (expr->height > maxHeight)
    fail({expr->range.file, expr->range.begin, expr->range.begin},
         fmt::format("expression in which more than {} operations build on each other", maxHeight),
         "name a part of it with 'let'");
  return expr;
}

Expr *Parser::unary(const Token &op, Expr *operand) {
  Expr *expr = file.make(Kind::Unary, rangeFrom(op.begin));
  expr->text = textOf(op);
  expr->operands = {operand};
  return finish(expr);
}

Expr *Parser::binary(const Token &op, Expr *left, Expr *right) {
  Expr *expr = file.make(Kind::Binary, rangeFrom(left->range.begin));
  expr->text = textOf(op);
  expr->operands = {left, right};
  return finish(expr);
}

Expr *Parser::parseExpr() {
  Nesting nesting(*this);
  if (stuck)
    return nothing;
  if (at("if"))
    return parseIf();
  if (at("["))
    return parseRow();
  return parseOr();
}

/// A chain of `else if` is as deep as one `if`.
Expr *Parser::parseIf() {
  struct Branch {
    uint32_t begin;
    Expr *condition, *value;
  };
  std::vector<Branch> branches;
  const std::string hint = "an 'if' is written 'if condition then value else value'";
  do {
    Branch branch;
    branch.begin = next().begin;
    branch.condition = parseExpr();
    expect("then", "after the condition", at("=") ? equalsHint() : hint);
    branch.value = parseExpr();
    expect("else", "after the value of 'then'", "every 'if' has a value, so it has an 'else'");
    branches.push_back(branch);
  } while (at("if"));
  Expr *expr = parseExpr();
  for (size_t i = branches.size(); i-- > 0 && !stuck;) {
    Expr *chosen = file.make(Kind::If, rangeFrom(branches[i].begin));
    chosen->operands = {branches[i].condition, branches[i].value, expr};
    expr = finish(chosen);
  }
  return expr;
}

Expr *Parser::parseRow() {
  uint32_t begin = peek().begin;
  std::vector<ast::Binder> binders = parseBinders();
  Expr *body = parseExpr();
  Expr *row = file.make(Kind::Row, rangeFrom(begin));
  row->binders = std::move(binders);
  row->operands = {body};
  return stuck ? nothing : finish(row);
}

Expr *Parser::parseOr() {
  Expr *left = parseAnd();
  while (at("or")) {
    Token op = next();
    left = binary(op, left, parseAnd());
  }
  return left;
}

Expr *Parser::parseAnd() {
  Expr *left = parseNot();
  while (at("and")) {
    Token op = next();
    left = binary(op, left, parseNot());
  }
  return left;
}

Expr *Parser::parseNot() {
  if (!at("not"))
    return parseComparison();
  Nesting nesting(*this);
  Token op = next();
  return unary(op, parseNot());
}

Expr *Parser::parseComparison() {
  auto atComparison = [&] {
    for (std::string_view op : {"<", "<=", ">", ">=", "==", "!="}) {
      if (at(op))
        return true;
    }
    return false;
  };
  Expr *left = parseSum();
  if (!atComparison())
    return left;
  Token op = next();
  Expr *compared = binary(op, left, parseSum());
  if (atComparison())
    fail(rangeOf(peek()), "comparisons do not chain", "write 'a < b and b < c'");
  return compared;
}

Expr *Parser::parseSum() {
  Expr *left = parseProduct();
  while (at("+") || at("-")) {
    Token op = next();
    left = binary(op, left, parseProduct());
  }
  return left;
}

Expr *Parser::parseProduct() {
  Expr *left = parseUnary();
  while (at("*") || at("/") || at("%")) {
    Token op = next();
    left = binary(op, left, parseUnary());
  }
  return left;
}

Expr *Parser::parseUnary() {
  if (!at("-"))
    return parsePostfix();
  Nesting nesting(*this);
  Token op = next();
  return unary(op, parseUnary());
}

Expr *Parser::parsePostfix() {
  Expr *expr = parseAtom();
  while (!stuck) {
    uint32_t begin = expr->range.begin;
    if (at("[")) {
      Token open = next();
      Expr *index = file.make(Kind::Index, {});
      index->operands = {expr};
      parseList([&] { index->subscripts.push_back(parseSubscript()); });
      close(open, "','", equalsHint());
      index->range = rangeFrom(begin);
      expr = stuck ? nothing : finish(index);
    } else if (at(".")) {
      if (expr->kind == Kind::Name) {
        extendPath(expr->text);
        expr->range = rangeFrom(begin);
        continue;
      }
      next();
      Expr *member = file.make(Kind::Member, {});
      member->operands = {expr};
      if (!atName())
        failExpected("the name of a field after '.'", reservedHint(/*certain=*/true));
      member->text = textOf(next());
      member->range = rangeFrom(begin);
      expr = finish(member);
    } else if (at("(")) {
      if (expr->kind != Kind::Name) {
        fail(rangeOf(peek()), "only a name can be called",
             "an index is written in brackets, a product with '*'");
        return nothing;
      }
      Expr *call = file.make(Kind::Call, {});
      call->operands = {expr};
      parseArguments(*call);
      call->range = rangeFrom(begin);
      expr = stuck ? nothing : finish(call);
    } else {
      break;
    }
  }
  return expr;
}

void Parser::parseArguments(Expr &call) {
  Token open = next();
  if (at(")")) {
    failExpected("an argument", "every function has at least one parameter");
    return;
  }
  bool named = atName() && is(peek(1), "=");
  parseList([&] {
    if (named) {
      call.argNames.push_back(parseName("an argument"));
      expect("=", "after the name of an argument",
             "either all arguments of a call have names or none");
    } else if (atName() && is(peek(1), "=")) {
      fail(rangeOf(peek(1)), "expected an argument without a name, as those before it, found '='",
           "either all arguments of a call have names or none; '==' compares");
    }
    call.operands.push_back(parseExpr());
  });
  close(open, "','", equalsHint());
}

ast::Subscript Parser::parseSubscript() {
  uint32_t begin = peek().begin;
  ast::Subscript subscript;
  if (at("(") && peek().listed) {
    Token open = next();
    parseList([&] { subscript.digits.push_back(parseExpr()); });
    close(open, "','");
    if (!stuck && !at(",") && !at("]"))
      failExpected("',' or ']' after the digits of an index",
                   "an index written by its digits is not part of a larger expression");
  } else {
    subscript.digits.push_back(parseExpr());
  }
  subscript.range = rangeFrom(begin);
  return subscript;
}

ast::Binder::Digit Parser::parseBinderDigit() {
  ast::Binder::Digit digit;
  digit.name = parseName("an index");
  std::string hint;
  if (at("in"))
    hint =
        fmt::format("write '{}: n' for every {} from 0 to n - 1", digit.name.text, digit.name.text);
  else
    hint = "an index is written with its extent, as in 'i: n'";
  expect(":", fmt::format("after '{}'", digit.name.text), std::move(hint));
  digit.size = parseSum();
  return digit;
}

ast::Binder Parser::parseBinder() {
  uint32_t begin = peek().begin;
  ast::Binder binder;
  if (at("(")) {
    Token open = next();
    parseList([&] { binder.digits.push_back(parseBinderDigit()); });
    close(open, "','");
  } else {
    binder.digits.push_back(parseBinderDigit());
  }
  binder.range = rangeFrom(begin);
  return binder;
}

std::vector<ast::Binder> Parser::parseBinders() {
  std::vector<ast::Binder> binders;
  Token open = next();
  parseList([&] { binders.push_back(parseBinder()); });
  close(open, "','");
  return binders;
}

Expr *Parser::parseAtom() {
  const Token token = peek();
  auto leaf = [&](Kind kind, bool keepText) {
    next();
    Expr *expr = file.make(kind, rangeOf(token));
    if (keepText)
      expr->text = textOf(token);
    return expr;
  };
  switch (token.kind) {
  case TokenKind::Name:
    return leaf(Kind::Name, true);
  case TokenKind::Integer:
    return leaf(Kind::Integer, true);
  case TokenKind::Decimal:
    return leaf(Kind::Decimal, true);
  case TokenKind::Hex:
    return leaf(Kind::Hex, true);
  default:
    break;
  }
  if (at("inf"))
    return leaf(Kind::Infinity, false);
  if (at("nan"))
    return leaf(Kind::NotANumber, false);
  if (at("true"))
    return leaf(Kind::True, false);
  if (at("false"))
    return leaf(Kind::False, false);
  if (at("(")) {
    Token open = next();
    Expr *expr = parseExpr();
    if (at(",")) {
      fail(rangeOf(peek()), "expected ')', found ','",
           "a list in parentheses stands only in an index, as its digits");
      return nothing;
    }
    close(open, {}, equalsHint());
    if (stuck)
      return nothing;
    expr->range = rangeFrom(open.begin);
    return expr;
  }

  std::string hint;
  if (at("if") || at("not"))
    hint = fmt::format("put the '{}' in parentheses", textOf(token));
  else if (at("["))
    hint = "put the row in parentheses";
  else if (at("reduce"))
    hint = "a reduction stands alone after '=' or 'return'; name it with 'let'";
  else if (at("_"))
    hint = "'_' stands only in orders and strides";
  else if (at("*") && position > 0 && is(list.tokens[position - 1], "*"))
    hint = "there is no power operator; write a product";
  else if (at(")") && position > 0 && is(list.tokens[position - 1], ","))
    hint = "leave out the ',' before it";
  else if (token.kind == TokenKind::Reserved && !at("then") && !at("else") && !at("join"))
    hint = reservedHint();
  failExpected("a value", std::move(hint));
  return nothing;
}

} // namespace h3
