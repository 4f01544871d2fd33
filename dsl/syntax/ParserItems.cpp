//===-- dsl/syntax/ParserItems.cpp - Items and statements -----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/syntax/ParserImpl.h"

#include <fmt/format.h>

#include <charconv>

namespace h3 {

/// Of a type, and so of strides: far more than a tensor has, and few enough that the names of one
/// declaration can each have their own.
static constexpr size_t maxExtents = 64;

void Parser::parseItem() {
  if (at("use"))
    return parseUse();
  if (at("record"))
    return file.records.push_back(parseRecord());
  if (at("order"))
    return file.orders.push_back(parseOrder());
  if (at("fn"))
    return file.functions.push_back(parseFunction());
  if (at("op"))
    return file.operators.push_back(parseOperator());

  std::string hint;
  if (at("let"))
    hint = "a constant is a function or an 'f32.bits(0x...)' where it is used";
  else if (at("}"))
    hint = "this '}' closes nothing";
  else if (at("serial") || at("halving") || at("adjacent"))
    hint = "a stage of an order begins with 'then'";
  else if (position > 0 && at("="))
    hint = equalsHint();
  else if (atName() && position == 0)
    hint = "is this a spec?";
  else if (atName() || at("for") || at("in") || at("out") || at("dim"))
    hint = "statements stand inside an 'op' or a 'fn'; a '}' before this may be one too many";
  failExpected(position == 0 ? "'use', 'record', 'order', 'fn' or 'op'"
                             : "'record', 'order', 'fn' or 'op'",
               std::move(hint));
}

void Parser::parseUse() {
  Token word = next();
  bool late = !file.records.empty() || !file.orders.empty() || !file.functions.empty() ||
              !file.operators.empty();
  if (late)
    fail(rangeOf(word), "'use' after an item", "write every 'use' at the head of the file");
  ast::Name path = parsePath("a module");
  if (!stuck)
    file.uses.push_back(std::move(path));
}

ast::Record Parser::parseRecord() {
  ast::Record record;
  record.documentation = documentationOf(next());
  record.name = parseName("a record");
  Token open = peek();
  expect("{", "after the name of a record");
  parseList([&] {
    ast::Record::Field field;
    field.name = parseName("a field");
    expect(":", "after the name of a field");
    field.type = parsePath("a type");
    if (at("["))
      failExpected("',' or '}'", "a field is a scalar or a record, not a row");
    record.fields.push_back(std::move(field));
  });
  close(open, "','");
  return record;
}

//===--- Orders -----------------------------------------------------------===//

ast::Order Parser::parseOrder() {
  ast::Order order;
  Token word = next();
  order.documentation = documentationOf(word);
  order.name = parseName("an order");
  expect("=", "after the name of an order");
  parseDigitsAndStages(order);
  order.range = rangeFrom(word.begin);
  return order;
}

ast::Order Parser::parseOrderText() {
  ast::Order order;
  uint32_t begin = peek().begin;
  parseDigitsAndStages(order);
  order.range = rangeFrom(begin);
  if (!stuck && peek().kind != TokenKind::End)
    failExpected("'then' or the end of the order");
  stuck = false;
  reportLexicalErrors(list.tokens.size());
  return order;
}

void Parser::parseDigitsAndStages(ast::Order &order) {
  Token open = peek();
  expect("(", "before the digits of an order",
         "an order is written '(_, lane: 32) then halving lane'");
  parseList([&] {
    ast::Order::Digit digit;
    uint32_t begin = peek().begin;
    if (at("_")) {
      Token token = next();
      digit.name = {"_", rangeOf(token)};
    } else {
      digit.name = parseName("a digit, or '_'");
    }
    if (accept(":"))
      digit.radix = parsePositive("a radix");
    digit.range = rangeFrom(begin);
    order.digits.push_back(std::move(digit));
  });
  close(open, "','");
  while (accept("then")) {
    ast::Order::Stage stage;
    Token kind = peek();
    if (at("serial") || at("halving") || at("adjacent")) {
      next();
      stage.kind = {std::string(textOf(kind)), rangeOf(kind)};
    } else {
      failExpected("'serial', 'halving' or 'adjacent' after 'then'",
                   "a stage names how a digit is joined, as in 'then halving lane'");
    }
    stage.digit = parseName("a digit");
    order.stages.push_back(std::move(stage));
  }
}

std::optional<int64_t> Parser::parsePositive(std::string_view what) {
  std::string_view text = textOf(peek());
  int64_t value = 0;
  if (peek().kind == TokenKind::Integer)
    std::from_chars(text.data(), text.data() + text.size(), value);
  if (value <= 0) {
    failExpected(fmt::format("{}, a positive integer", what));
    return std::nullopt;
  }
  next();
  return value;
}

//===--- Functions and operators ------------------------------------------===//

ast::Function Parser::parseFunction() {
  ast::Function function;
  function.documentation = documentationOf(next());
  function.name = parseName("a function");
  function.generics = parseGenerics();
  function.params = parseParams("every function has at least one parameter");
  expect("->", "and the type of the result", "a function is written 'fn f(x: f32) -> f32 = ...'");
  function.result = parseType();
  if (accept("=")) {
    function.value = parseRhs();
    return function;
  }
  Token open = peek();
  if (!accept("{"))
    failExpected("'=' or '{' after the type of the result");
  while (at("let"))
    function.lets.push_back(parseLet());
  std::string hint = "the body of a function is any number of 'let' and one 'return'";
  if (atName() && is(peek(1), "="))
    hint = fmt::format("write 'let {} = ...'", textOf(peek()));
  expect("return", "or 'let'", hint);
  function.value = parseRhs();
  close(open);
  return function;
}

ast::Operator Parser::parseOperator() {
  ast::Operator op;
  Token word = next();
  op.documentation = documentationOf(word);
  op.name = parseName("an operator");
  op.generics = parseGenerics();
  if (at("("))
    op.params = parseParams("an operator without parameters has no parentheses");
  op.each = accept("each");
  Token open = peek();
  if (!accept("{"))
    failExpected(op.each ? "'{'" : "'each' or '{'");
  while (!stuck) {
    if (at("dim")) {
      parseDims(op);
    } else if (at("require")) {
      next();
      op.requirements.push_back(parseExpr());
      if (at("="))
        failExpected("an operator or the next declaration", equalsHint());
    } else if (at("in") || at("out")) {
      parseTensors(op);
    } else {
      break;
    }
  }
  while (parseStatement(op.body, /*insideFor=*/false))
    ;
  for (std::string_view late : {"dim", "require", "in", "out"}) {
    if (at(late))
      fail(
          rangeOf(peek()), fmt::format("'{}' after a statement", late),
          "write every 'dim', 'require', 'in' and 'out' before the first 'let', 'for' or equation");
  }
  close(open, op.body.empty() ? "a declaration, a statement" : "a statement",
        op.body.empty() ? "" : equalsHint());
  op.range = rangeFrom(word.begin);
  return op;
}

std::vector<ast::Generic> Parser::parseGenerics() {
  std::vector<ast::Generic> generics;
  if (!at("<"))
    return generics;
  Token open = next();
  parseList([&] {
    ast::Generic generic;
    generic.name = parseName("a type parameter");
    if (accept(":")) {
      do
        generic.types.push_back(parsePath("a type"));
      while (accept("|"));
    }
    generics.push_back(std::move(generic));
  });
  close(open, "','");
  return generics;
}

std::vector<ast::Param> Parser::parseParams(std::string_view emptyHint) {
  std::vector<ast::Param> params;
  Token open = peek();
  expect("(", "and the parameters");
  if (at(")")) {
    failExpected("a parameter", std::string(emptyHint));
    return params;
  }
  parseList([&] {
    ast::Param param;
    param.name = parseName("a parameter");
    expect(":", "and the type of the parameter",
           fmt::format("write '{}: f32' or another type", param.name.text));
    param.type = parseType();
    if (accept("="))
      param.defaultValue = parseExpr();
    params.push_back(std::move(param));
  });
  close(open, "','");
  return params;
}

ast::TypeRef Parser::parseType() {
  ast::TypeRef type;
  uint32_t begin = peek().begin;
  if (at("order")) {
    type.name = {"order", rangeOf(next())};
    type.range = type.name.range;
    return type;
  }
  type.name = parsePath("a type");
  if (at("[")) {
    Token open = next();
    parseList([&] {
      if (type.extents.size() == maxExtents)
        fail(rangeOf(peek()), fmt::format("a type with more than {} extents", maxExtents));
      type.extents.push_back(parseSum());
    });
    close(open, "','");
  }
  type.range = rangeFrom(begin);
  return type;
}

void Parser::parseDims(ast::Operator &op) {
  next();
  parseList([&] {
    ast::Dim dim;
    dim.name = parseName("a dim");
    if (accept("="))
      dim.size = parseSum();
    op.dims.push_back(std::move(dim));
  });
}

void Parser::parseTensors(ast::Operator &op) {
  ast::Tensor tensor;
  tensor.isOutput = at("out");
  next();
  std::vector<ast::Name> names;
  parseList([&] { names.push_back(parseName("a tensor")); });
  expect(":", "and the type of the tensor", "a tensor is written 'in x: f16[rows, n]'");
  tensor.type = parseType();
  parseTensorClauses(tensor);
  for (ast::Name &name : names) {
    tensor.name = std::move(name);
    op.tensors.push_back(tensor);
  }
}

void Parser::parseTensorClauses(ast::Tensor &tensor) {
  auto once = [&](bool given, const Token &word) {
    if (given)
      fail(rangeOf(word), fmt::format("'{}' is given twice", textOf(word)),
           "leave out one of them");
  };
  while (!stuck) {
    Token word = peek();
    if (accept("strides")) {
      once(!tensor.strides.empty(), word);
      Token open = peek();
      expect("(", "after 'strides'");
      parseList([&] {
        if (tensor.strides.size() == maxExtents)
          fail(rangeOf(peek()), fmt::format("more than {} strides", maxExtents));
        if (accept("_")) {
          tensor.strides.push_back(std::nullopt);
          return;
        }
        if (peek().kind != TokenKind::Integer)
          failExpected("a stride, '_' or an integer",
                       "strides count elements; a stride that is not fixed is written '_'");
        std::string_view text = textOf(next());
        int64_t stride = 0;
        std::from_chars(text.data(), text.data() + text.size(), stride);
        tensor.strides.push_back(stride);
      });
      close(open, "','");
      tensor.stridesRange = rangeFrom(word.begin);
    } else if (accept("align")) {
      once(tensor.align.has_value(), word);
      Token open = peek();
      expect("(", "after 'align'");
      tensor.align = parsePositive("an alignment in elements");
      close(open);
      tensor.alignRange = rangeFrom(word.begin);
    } else if (accept("may")) {
      once(tensor.mayAlias.has_value(), word);
      expect("alias", "after 'may'");
      tensor.mayAlias = parseName("an input");
    } else {
      return;
    }
  }
}

//===--- Statements -------------------------------------------------------===//

/// One statement, if there is one here.
bool Parser::parseStatement(std::vector<ast::Statement> &body, bool insideFor) {
  ast::Statement statement;
  if (at("let")) {
    statement.let = std::make_unique<ast::Let>(parseLet());
  } else if (at("for")) {
    if (insideFor) {
      fail(rangeOf(peek()), "'for' inside 'for'",
           "write all variables in one 'for', as in 'for b: batch, t: tokens { ... }'");
      return false;
    }
    statement.loop = std::make_unique<ast::For>(parseFor());
  } else if (atName()) {
    statement.equation = std::make_unique<ast::Equation>(parseEquation());
  } else {
    return false;
  }
  body.push_back(std::move(statement));
  return !stuck;
}

ast::Let Parser::parseLet() {
  ast::Let let;
  uint32_t begin = next().begin;
  let.name = parseName("a value");
  if (at("["))
    let.binders = parseBinders();
  else if (accept(":"))
    let.type = parseType();
  expect("=", fmt::format("after 'let {}'", let.name.text.substr(0, 40)));
  let.value = parseRhs();
  let.range = rangeFrom(begin);
  return let;
}

ast::Equation Parser::parseEquation() {
  ast::Equation equation;
  uint32_t begin = peek().begin;
  equation.tensor = parseName("a tensor");
  if (at("[")) {
    Token open = next();
    parseList([&] {
      ast::Equation::Place place;
      uint32_t placeBegin = peek().begin;
      const std::string hint =
          "a place is a new index, or '(h, p)' for its digits; it is not computed";
      if (at("(")) {
        Token digits = next();
        parseList([&] { place.digits.push_back(parseName("an index")); });
        close(digits, "','", hint);
      } else if (atName()) {
        place.digits.push_back(parseName("an index"));
      } else {
        std::string reserved = reservedHint();
        failExpected("an index", reserved.empty() ? hint : reserved);
      }
      if (!stuck && !at(",") && !at("]") && peek().kind != TokenKind::Error &&
          peek().line == open.line) {
        if (Diagnostic *made = failExpected("',' or ']'", hint))
          made->notes.push_back({rangeOf(open), "the '[' is here"});
      }
      place.range = rangeFrom(placeBegin);
      equation.places.push_back(std::move(place));
    });
    close(open, "','");
  }
  expect("=",
         fmt::format("after '{}'", equation.places.empty()
                                       ? equation.tensor.text.substr(0, 40)
                                       : equation.tensor.text.substr(0, 40) + "[...]"),
         at("==") ? "an equation is written with one '='" : "");
  equation.value = parseRhs();
  equation.range = rangeFrom(begin);
  return equation;
}

ast::For Parser::parseFor() {
  ast::For loop;
  uint32_t begin = next().begin;
  parseList([&] { loop.variables.push_back(parseBinderDigit()); });
  Token open = peek();
  if (!accept("{"))
    failExpected("',' or '{'", "a 'for' is written 'for b: batch, t: tokens { ... }'");
  while (parseStatement(loop.body, /*insideFor=*/true))
    ;
  close(open, "a statement", loop.body.empty() ? "" : equalsHint());
  loop.range = rangeFrom(begin);
  return loop;
}

//===--- Right sides ------------------------------------------------------===//

ast::Rhs Parser::parseRhs() {
  ast::Rhs rhs;
  uint32_t begin = peek().begin;
  if (at("reduce"))
    rhs.reduce = std::make_unique<ast::Reduce>(parseReduce());
  else
    rhs.expr = parseExpr();
  rhs.range = rangeFrom(begin);
  return rhs;
}

ast::Reduce Parser::parseReduce() {
  ast::Reduce reduce;
  next();
  reduce.binder = parseBinder();
  expect("by", "and an order", "a reduction is written 'reduce i: n by an_order ...'");
  if (accept("any"))
    reduce.anyOrder = true;
  else
    reduce.order = parsePath("an order, or 'any'");
  if (accept("from")) {
    reduce.hasSeed = true;
    reduce.state = parseName("the state");
    if (accept(":")) {
      reduce.stateType = parsePath("a type");
      if (at("["))
        failExpected("'='", "the state of a reduction is a scalar or a record, not a row");
    }
    expect("=", "and the value that every slot begins with");
    reduce.seed = parseExpr();
    expect("step", "after the value that every slot begins with",
           fmt::format("write 'step {} = ...'", reduce.state.text));
    reduce.stepState = parseName("the state");
    expect("=", fmt::format("after 'step {}'", reduce.stepState.text));
    reduce.step = parseExpr();
  } else if (accept("of")) {
    reduce.element = parseExpr();
  } else {
    failExpected("'from' or 'of' after the order",
                 "write 'from s = 0.0 step s = s + x[i]', or 'of x[i]' without an initial value");
  }
  expect("join", "after what is reduced", "a reduction ends with 'join (a, b) = ...'");
  Token open = peek();
  expect("(", "after 'join'", "write 'join (a, b) = a + b'");
  reduce.left = parseName("the left state");
  expect(",", "between the states", "write 'join (a, b) = a + b'");
  reduce.right = parseName("the right state");
  close(open);
  expect("=", "after the states of the join");
  reduce.join = parseExpr();
  return reduce;
}

} // namespace h3
