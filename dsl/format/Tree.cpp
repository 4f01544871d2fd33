//===-- dsl/format/Tree.cpp - What the layout is made from ----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/format/Tree.h"

#include <algorithm>

namespace h3::formatter {

namespace {

using Kind = Node::Kind;

/// A descent along the grammar that trusts the text: `parse` has accepted it.
class Reader {
public:
  explicit Reader(Tokens &tokens) : tokens(tokens) {}

  std::vector<Statement> readFile() {
    std::vector<Statement> items;
    while (at < tokens.end())
      items.push_back(readItem());
    return items;
  }

private:
  Tokens &tokens;
  TokenId at = 0;

  bool is(std::string_view what) const { return tokens.is(at, what); }
  bool accept(std::string_view what) {
    if (!is(what))
      return false;
    next();
    return true;
  }
  void next() {
    if (at < tokens.end())
      ++at;
  }
  /// Steps over a token that the one before it clings to.
  void nextGlued() {
    tokens.glue(at);
    next();
  }

  Node finish(Kind kind, TokenId first, std::vector<Node> parts = {}) const {
    Node node{kind, first, at - 1, std::move(parts)};
    node.isBroken = std::any_of(node.parts.begin(), node.parts.end(),
                                [](const Node &part) { return part.isBroken; });
    return node;
  }

  //===--- Items and statements -------------------------------------------===//

  void readPath() {
    next();
    while (accept("."))
      next();
  }

  Statement readItem() {
    TokenId first = at;
    Statement item{Statement::Kind::Use, first, first};
    if (accept("use")) {
      readPath();
    } else if (accept("record")) {
      item.kind = Statement::Kind::Record;
      next();
      item.mark = at;
      next();
      TokenId fields = at;
      std::vector<Node> parts;
      do {
        TokenId field = at;
        next();
        next();
        readPath();
        parts.push_back(finish(Kind::Flat, field));
      } while (accept(","));
      item.list = finish(Kind::List, fields, std::move(parts));
      next();
    } else if (accept("order")) {
      readOrder(item);
    } else if (accept("fn")) {
      readFunction(item);
    } else {
      next();
      readOperator(item);
    }
    item.last = at - 1;
    return item;
  }

  void readOrder(Statement &item) {
    item.kind = Statement::Kind::Order;
    next();
    item.mark = at;
    next();
    while (!accept(")"))
      next();
    while (is("then")) {
      item.clauses.push_back(at);
      next();
      next();
      next();
    }
  }

  void readGenerics() {
    if (!is("<"))
      return;
    nextGlued();
    tokens.glue(at);
    while (!is(">"))
      next();
    nextGlued();
  }

  Node readParams() {
    TokenId first = at;
    std::vector<Node> parts;
    nextGlued();
    do {
      TokenId param = at;
      next();
      next();
      readType();
      if (accept("="))
        readExpr();
      parts.push_back(finish(Kind::Flat, param));
    } while (accept(","));
    next();
    return finish(Kind::List, first, std::move(parts));
  }

  void readType() {
    if (accept("order"))
      return;
    readPath();
    if (is("["))
      readList([&] { return readSum(); });
  }

  void readFunction(Statement &item) {
    item.kind = Statement::Kind::Function;
    next();
    readGenerics();
    item.list = readParams();
    next();
    readType();
    item.mark = at;
    if (accept("=")) {
      item.value = readRhs();
      return;
    }
    next();
    item.hasBody = true;
    while (is("let"))
      item.body.push_back(readLet());
    Statement result{Statement::Kind::Return, at, at};
    next();
    result.value = readRhs();
    result.last = at - 1;
    item.body.push_back(std::move(result));
    next();
  }

  void readOperator(Statement &item) {
    item.kind = Statement::Kind::Operator;
    item.hasBody = true;
    next();
    readGenerics();
    if (is("("))
      item.list = readParams();
    accept("each");
    item.mark = at;
    next();
    readBlock(item.body);
  }

  /// Up to the `}` and over it.
  void readBlock(std::vector<Statement> &body) {
    while (!accept("}") && at < tokens.end())
      body.push_back(readStatement());
  }

  Statement readStatement() {
    if (is("let"))
      return readLet();
    Statement made{Statement::Kind::Equation, at, at};
    if (is("dim")) {
      made.kind = Statement::Kind::Dim;
      next();
      TokenId first = at;
      std::vector<Node> parts;
      do {
        TokenId dim = at;
        next();
        if (accept("="))
          readSum();
        parts.push_back(finish(Kind::Flat, dim));
      } while (accept(","));
      made.list = finish(Kind::List, first, std::move(parts));
    } else if (is("require")) {
      made.kind = Statement::Kind::Require;
      next();
      made.value = readExpr();
    } else if (is("in") || is("out")) {
      readTensor(made);
    } else if (is("for")) {
      made.kind = Statement::Kind::For;
      made.hasBody = true;
      next();
      do
        readBinderDigit();
      while (accept(","));
      made.mark = at;
      next();
      readBlock(made.body);
    } else {
      next();
      if (is("["))
        readList([&] { return readPlace(); });
      made.mark = at;
      next();
      made.value = readRhs();
    }
    made.last = at - 1;
    return made;
  }

  Node readPlace() {
    TokenId first = at;
    if (is("(")) {
      while (!accept(")"))
        next();
    } else {
      next();
    }
    return finish(Kind::Flat, first);
  }

  void readTensor(Statement &made) {
    made.kind = Statement::Kind::Tensor;
    next();
    do
      next();
    while (accept(","));
    made.mark = at;
    tokens.separate(at);
    next();
    readType();
    while (is("strides") || is("align") || is("may")) {
      made.clauses.push_back(at);
      if (accept("may")) {
        next();
        next();
        continue;
      }
      next();
      tokens.glue(at);
      while (!accept(")"))
        next();
    }
  }

  Statement readLet() {
    Statement let{Statement::Kind::Let, at, at};
    next();
    next();
    if (is("["))
      readBinders();
    else if (accept(":"))
      readType();
    let.mark = at;
    next();
    let.value = readRhs();
    let.last = at - 1;
    return let;
  }

  //===--- Right sides and expressions ------------------------------------===//

  Node readRhs() { return is("reduce") ? readReduce() : readExpr(); }

  Node readReduce() {
    TokenId first = at;
    std::vector<Node> parts;
    next();
    readBinder();
    next();
    if (!accept("any"))
      readPath();
    parts.push_back(finish(Kind::Flat, first));
    bool isBroken = tokens.startsLine(at);
    auto clause = [&] {
      TokenId begin = at;
      bool hasEquals = !is("of");
      while (hasEquals && !is("="))
        next();
      next();
      std::vector<Node> value;
      value.push_back(readExpr());
      parts.push_back(finish(Kind::Clause, begin, std::move(value)));
    };
    if (is("from"))
      clause();
    clause(); // step, or of
    clause(); // join
    Node node = finish(Kind::Reduce, first, std::move(parts));
    node.isBroken |= isBroken;
    return node;
  }

  template <typename Element> Node readList(Element element, bool glued = true) {
    TokenId first = at;
    if (glued)
      tokens.glue(at);
    next();
    std::vector<Node> parts;
    do
      parts.push_back(element());
    while (accept(","));
    next();
    return finish(Kind::List, first, std::move(parts));
  }

  void readBinderDigit() {
    next();
    next();
    readSum();
  }

  Node readBinder() {
    TokenId first = at;
    if (accept("(")) {
      do
        readBinderDigit();
      while (accept(","));
      next();
    } else {
      readBinderDigit();
    }
    return finish(Kind::Flat, first);
  }

  Node readBinders(bool glued = true) {
    return readList([&] { return readBinder(); }, glued);
  }

  Node readExpr() {
    TokenId first = at;
    if (is("if"))
      return readIf();
    if (!is("["))
      return readOr();
    std::vector<Node> parts;
    parts.push_back(readBinders(/*glued=*/tokens.isGlued(at)));
    parts.push_back(readExpr());
    return finish(Kind::Row, first, std::move(parts));
  }

  Node readIf() {
    TokenId first = at;
    std::vector<Node> parts;
    bool isBroken = false;
    do {
      next();
      parts.push_back(readExpr());
      next();
      parts.push_back(readExpr());
      isBroken = tokens.startsLine(at);
      next();
    } while (is("if"));
    parts.push_back(readExpr());
    Node node = finish(Kind::If, first, std::move(parts));
    node.isBroken |= isBroken;
    return node;
  }

  template <typename Operand>
  Node readChain(std::initializer_list<std::string_view> operators, Operand operand) {
    TokenId first = at;
    std::vector<Node> parts;
    parts.push_back(operand());
    auto atOperator = [&] {
      return std::any_of(operators.begin(), operators.end(),
                         [&](std::string_view op) { return is(op); });
    };
    while (atOperator()) {
      next();
      parts.push_back(operand());
    }
    if (parts.size() == 1)
      return std::move(parts.front());
    return finish(Kind::Chain, first, std::move(parts));
  }

  Node readOr() {
    return readChain({"or"}, [&] { return readAnd(); });
  }
  Node readAnd() {
    return readChain({"and"}, [&] { return readNot(); });
  }
  Node readNot() {
    if (!is("not"))
      return readChain({"<", "<=", ">", ">=", "==", "!="}, [&] { return readSum(); });
    TokenId first = at;
    next();
    std::vector<Node> parts;
    parts.push_back(readNot());
    return finish(Kind::Prefix, first, std::move(parts));
  }
  Node readSum() {
    return readChain({"+", "-"}, [&] { return readProduct(); });
  }
  Node readProduct() {
    return readChain({"*", "/", "%"}, [&] { return readUnary(); });
  }
  Node readUnary() {
    if (!is("-"))
      return readPostfix();
    TokenId first = at;
    next();
    tokens.glue(at);
    std::vector<Node> parts;
    parts.push_back(readUnary());
    return finish(Kind::Prefix, first, std::move(parts));
  }

  Node readPostfix() {
    TokenId first = at;
    std::vector<Node> parts;
    if (accept("(")) {
      std::vector<Node> inner;
      inner.push_back(readExpr());
      next();
      parts.push_back(finish(Kind::Paren, first, std::move(inner)));
    } else {
      next();
      parts.push_back(finish(Kind::Flat, first));
    }
    while (is("[") || is("(") || is(".")) {
      TokenId begin = at;
      if (is("[")) {
        parts.push_back(readList([&] { return readSubscript(); }));
      } else if (is("(")) {
        parts.push_back(readList([&] { return readArgument(); }));
        const std::vector<Node> &arguments = parts.back().parts;
        bool broken = arguments.size() > 1 && arguments[0].kind == Kind::Named &&
                      std::any_of(arguments.begin() + 1, arguments.end(),
                                  [&](const Node &each) { return tokens.startsLine(each.first); });
        parts.back().isBroken |= broken;
      } else {
        next();
        next();
        parts.push_back(finish(Kind::Flat, begin));
      }
    }
    if (parts.size() == 1)
      return std::move(parts.front());
    return finish(Kind::Postfix, first, std::move(parts));
  }

  Node readSubscript() {
    if (is("(") && tokens[at].listed)
      return readList([&] { return readExpr(); }, tokens.isGlued(at));
    return readExpr();
  }

  Node readArgument() {
    TokenId first = at;
    if (!tokens.isName(at) || !tokens.is(at + 1, "="))
      return readExpr();
    next();
    next();
    std::vector<Node> value;
    value.push_back(readExpr());
    return finish(Kind::Named, first, std::move(value));
  }
};

} // namespace

std::vector<Statement> readTree(Tokens &tokens) { return Reader(tokens).readFile(); }

} // namespace h3::formatter
