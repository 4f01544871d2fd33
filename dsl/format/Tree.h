//===-- dsl/format/Tree.h - What the layout is made from ------ -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The structure of a text as far as its layout needs it: statements with their blocks, and inside
// them expressions as runs of tokens. Unlike the syntax tree it keeps every token, parentheses and
// the order of declarations included.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_FORMAT_TREE_H
#define H3_DSL_FORMAT_TREE_H

#include "dsl/format/Tokens.h"

namespace h3::formatter {

/// A part of a statement: the tokens from `first` to `last`, both included.
struct Node {
  enum class Kind {
    Flat,    ///< no part of it can stand alone
    Paren,   ///< `( parts[0] )`
    Chain,   ///< operands of operators of one precedence; an operator stands before each but the
             ///< first
    Prefix,  ///< `-` or `not`, parts[0]
    Postfix, ///< parts[0], then Lists, and Flat for `.name`
    List,    ///< brackets, parts between commas
    Named,   ///< name, `=`, parts[0]
    Row,     ///< parts: the binders (a List), the body
    If,      ///< parts: condition, value, condition, value ..., value of the last `else`
    Reduce,  ///< parts: Flat up to the order, then Clauses
    Clause,  ///< `from s: T =`, `step s =`, `of` or `join (a, b) =`, then parts[0]
  };
  Kind kind;
  TokenId first, last;
  std::vector<Node> parts;
  bool isBroken = false; ///< the author broke it, or a part of it, where breaks are kept
};

struct Statement {
  enum class Kind {
    Use,
    Record,
    Order,
    Function,
    Operator,
    For,
    Dim,
    Require,
    Tensor,
    Let,
    Equation,
    Return
  };
  Kind kind;
  TokenId first, last;
  /// Of a Let, Equation, Order or Function: `=`. Of a Tensor: `:`. Of what has a body: `{`.
  TokenId mark = 0;
  std::vector<TokenId> clauses = {}; ///< Tensor: first tokens of its clauses. Order: its `then`s.
  /// Value of a Let, Equation, Return, Require, or of a Function without a body.
  std::optional<Node> value = {};
  std::optional<Node> list =
      {}; ///< Function, Operator: the parameters. Record: the fields. Dim: dims.
  std::vector<Statement> body = {};
  bool hasBody = false;
};

/// Reads the tokens of a text that parses, and glues what belongs together.
std::vector<Statement> readTree(Tokens &tokens);

} // namespace h3::formatter

#endif // H3_DSL_FORMAT_TREE_H
