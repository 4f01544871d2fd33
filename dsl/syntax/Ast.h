//===-- dsl/syntax/Ast.h - Syntax tree of a spec ---------------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The tree that the parser makes of one file, close to the grammar and without any meaning: names
// are not looked up, types are not computed. Nodes live in the `ast::File` that made them.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_SYNTAX_AST_H
#define H3_DSL_SYNTAX_AST_H

#include "dsl/syntax/Diagnostic.h"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace h3::ast {

/// A name where it is written. A dotted path (`norm.rms_norm`, `ex2.approx.ftz`) is one name here.
struct Name {
  std::string text;
  SourceRange range;
};

struct Expr;
struct Rhs;

/// `i: n`, or `(h: heads, p: pairs)`, which takes an index apart into digits.
struct Binder {
  struct Digit {
    Name name;
    Expr *size;
  };
  std::vector<Digit> digits; ///< one for a plain binder
  SourceRange range;
};

/// `e`, or `(e1, e2)`: the number whose digits are e1, e2.
struct Subscript {
  std::vector<Expr *> digits;
  SourceRange range;
};

struct Expr {
  enum class Kind {
    Decimal, ///< text
    Integer, ///< text, digits only
    Hex,     ///< text with 0x
    Infinity,
    NotANumber,
    True,
    False,
    Name,   ///< text: one name or a dotted path as far as the lexer and parser can tell
    Unary,  ///< text is "-" or "not"; operands[0]
    Binary, ///< text is + - * / % < <= > >= == != and or; operands[0], operands[1]
    If,     ///< operands: condition, then, else
    Row,    ///< `[i: n, j: m] body`: binders, operands[0]
    Index,  ///< operands[0] with subscripts
    Member, ///< operands[0] `.` text, where operands[0] is not itself a name
    Call,   ///< operands[0] is the callee (Name); arguments are operands[1..]; named if argNames
  };
  Kind kind;
  SourceRange range;
  std::string text;
  std::vector<Expr *> operands;
  std::vector<Binder> binders;
  std::vector<Subscript> subscripts;
  std::vector<Name> argNames; ///< empty, or one for each argument
  /// Of the tree below this node, a leaf being 1. The parser keeps it at 1,000 or less, so that
  /// whoever walks a tree may recurse.
  unsigned height = 1;
};

/// `reduce binder by order (from state = seed step state = step | of element) join (a, b) = join`.
struct Reduce {
  Binder binder;
  bool anyOrder = false;
  Name order; ///< unless anyOrder
  bool hasSeed = false;
  Name state; ///< from
  std::optional<Name> stateType;
  Expr *seed = nullptr;
  Name stepState; ///< must repeat `state`
  Expr *step = nullptr;
  Expr *element = nullptr; ///< of
  Name left, right;
  Expr *join = nullptr;
};

/// The right side of a `let`, an equation or a `return`: a reduction or an expression.
struct Rhs {
  SourceRange range;
  Expr *expr = nullptr;
  std::unique_ptr<Reduce> reduce; ///< set instead of expr
};

/// `f32`, `norm.Moments`, `T[n, 2 * d]`, or `order`.
struct TypeRef {
  Name name; ///< "order" for an order parameter
  std::vector<Expr *> extents;
  SourceRange range;
};

struct Let {
  Name name;
  std::vector<Binder> binders; ///< `let v[j: row] = ...`
  std::optional<TypeRef> type; ///< `let v: f32 = ...`
  Rhs value;
  SourceRange range;
};

/// `y[t, (h, p, c)] = rhs`.
struct Equation {
  Name tensor;
  struct Place {
    std::vector<Name> digits; ///< one for a plain place
    SourceRange range;
  };
  std::vector<Place> places;
  Rhs value;
  SourceRange range;
};

struct Statement;
struct For {
  std::vector<Binder::Digit> variables;
  std::vector<Statement> body; ///< lets and equations
  SourceRange range;
};

struct Statement {
  std::unique_ptr<Let> let;
  std::unique_ptr<Equation> equation;
  std::unique_ptr<For> loop;
};

/// `T: f16 | bf16` (types empty: free).
struct Generic {
  Name name;
  std::vector<Name> types;
};

struct Param {
  Name name;
  TypeRef type;
  Expr *defaultValue = nullptr;
};

struct Record {
  Name name;
  struct Field {
    Name name;
    Name type;
  };
  std::vector<Field> fields;
  std::string documentation; ///< the comment lines directly above, without `//`
};

struct Order {
  Name name;
  struct Digit {
    Name name; ///< text "_" for a digit that is walked inside a slot
    std::optional<int64_t> radix;
    SourceRange range;
  };
  struct Stage {
    Name kind; ///< serial, halving, adjacent
    Name digit;
  };
  std::vector<Digit> digits;
  std::vector<Stage> stages;
  SourceRange range;
  std::string documentation;
};

struct Function {
  Name name;
  std::vector<Generic> generics;
  std::vector<Param> params;
  TypeRef result;
  std::vector<Let> lets;
  Rhs value;
  std::string documentation;
};

struct Dim {
  Name name;
  Expr *size = nullptr; ///< `d = 64`, `row = heads * pairs * 2`
};

struct Tensor {
  Name name;
  bool isOutput = false;
  TypeRef type;
  std::vector<std::optional<int64_t>> strides; ///< empty: no clause; nullopt: `_`
  SourceRange stridesRange;
  std::optional<int64_t> align; ///< in elements
  SourceRange alignRange;
  std::optional<Name> mayAlias;
};

struct Operator {
  Name name;
  std::vector<Generic> generics;
  std::vector<Param> params;
  bool each = false;
  std::vector<Dim> dims;
  std::vector<Expr *> requirements;
  std::vector<Tensor> tensors;
  std::vector<Statement> body;
  std::string documentation;
  SourceRange range;
};

/// One parsed file. Owns its nodes; `source` must outlive it.
struct File {
  const SourceFile *source = nullptr;
  std::string documentation;
  std::vector<Name> uses; ///< dotted paths
  std::vector<Record> records;
  std::vector<Order> orders;
  std::vector<Function> functions;
  std::vector<Operator> operators;

  Expr *make(Expr::Kind kind, SourceRange range) {
    pool.push_back(Expr{kind, range, {}, {}, {}, {}, {}, 1});
    return &pool.back();
  }

private:
  std::deque<Expr> pool;
};

} // namespace h3::ast

#endif // H3_DSL_SYNTAX_AST_H
