//===-- dsl/interpreter/Resolved.h - A program for one call ----*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A program with the dims and strides of one call: every size is a number, every name a place in a
// flat array. This is what the evaluator walks; it knows no values.
//
// Integers and values. An i64 or bool that is made of sizes, index variables and literals alone is
// an *integer*: the evaluator always has it as a number, whatever domain the values are in. All
// else (data, parameters, and integers where data is wanted) is a *value* of the domain.
//
// Rows. A row that is only a tensor, a local or an access of these with fewer indices is a *view*:
// it has no node, and its subscripts are put in front of those that it is accessed with. Every
// other row is computed as a whole, once, into the storage of a local: that of the `let` which
// names it, or one without a name. Elements lie there in increasing index, last axis fastest, and
// the fields of a record side by side.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_INTERPRETER_RESOLVED_H
#define H3_DSL_INTERPRETER_RESOLVED_H

#include "dsl/interpreter/Operations.h"
#include "dsl/interpreter/OrderShape.h"
#include "dsl/program/Program.h"

#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace h3::interpreter {

struct Node;
struct Reduction;

/// A variable that runs over 0 .. count-1. Several in a row are the digits of one index, or indices
/// of several axes: either way the last one runs fastest, which is increasing index.
struct Loop {
  unsigned variable;
  int64_t count;
};

/// Where the values of a local lie in the evaluator's storage.
struct Storage {
  int64_t first = 0;
  int64_t width = 1; ///< scalar: 1, record: its fields, row: elements times that
};

/// A `let` that is not a view: computes its value into its place.
struct Binding {
  bool isInteger = false;
  unsigned variable = 0; ///< integers: the variable that holds it
  unsigned local = 0;    ///< values: the local (index into `Resolved::locals`)
  const Node *value = nullptr;
  /// Values worth keeping: computed again only when one of these has changed since the last time.
  /// How often something is computed cannot be observed.
  bool isKept = false;
  std::vector<unsigned> usedVariables, usedLocals;
  unsigned index = 0; ///< of this binding among all
};

/// One axis of an access.
struct Place {
  std::vector<const Node *> digits; ///< integers; if `isData`, one value
  std::vector<int64_t> radices;     ///< one for each digit, most significant first
  int64_t extent;
  int64_t stride; ///< in elements of the tensor or the row
  bool isData = false;
};

struct Node {
  enum class Kind : uint8_t {
    Constant,  ///< integer: number
    Variable,  ///< integer: index
    Lift,      ///< operands[0], an integer, as a value
    Literal,   ///< bits
    Parameter, ///< index
    Local,     ///< storage
    Load,      ///< element of tensor `index` at `places`
    Element,   ///< element of the row in `storage` at `places`; `prepare` computes that row
    Operation, ///< integer or value
    Convert,
    If,     ///< integer or value; operands: condition (integer or value), then, else
    Block,  ///< integer or value: `bindings`, then operands[0]
    Record, ///< operands: the fields
    Field,  ///< operands[0], computed into `storage`; the value is number `index` of it
    Row,    ///< operands[0] for each setting of `loops`
    Reduce, ///< reduction
  };
  Kind kind;
  bool isInteger = false;
  /// Types of the values that it makes: one, a record's fields, or those of one element of a row.
  std::vector<ScalarType> types;
  int64_t width = 1; ///< number of values: `types.size()` times the elements of a row
  std::vector<const Node *> operands;
  int64_t number = 0;
  Bits bits = 0;
  unsigned index = 0;
  unsigned local = 0; ///< Local, Element, Field: whose storage it is
  Storage storage;
  Operation operation{};
  Conversion conversion{};
  std::vector<Place> places;
  const Binding *prepare = nullptr; ///< Element; null where a `let` has computed the row
  std::vector<const Binding *> bindings;
  std::vector<Loop> loops;
  const Reduction *reduction = nullptr;

  ScalarType type() const { return types.front(); }
};

struct Reduction {
  OrderShape shape;
  bool hasSeed;
  std::vector<Loop> digits; ///< of the element's index, most significant first
  const Node *seed = nullptr, *step = nullptr, *element = nullptr, *join = nullptr;
  Storage state, left, right;
  std::vector<unsigned> ownLocals; ///< state, left and right: it sets them while it runs
  Storage slots;                   ///< one state after the other
};

struct Equation {
  /// One axis: the number with these digits.
  struct Axis {
    std::vector<Loop> digits;
    int64_t stride;
  };
  unsigned tensor;
  std::vector<Loop> loops; ///< the variables that the equation itself introduces
  std::vector<Axis> axes;  ///< all of them, those without a written place included
  std::vector<Loop> rest;  ///< the variables of axes without a written place
  const Node *value;       ///< an element, or the row of all `rest`
  Storage row;             ///< for the latter
};

struct Statement {
  std::vector<Loop> loops; ///< none for the operator's own list of statements
  std::vector<std::variant<const Binding *, Equation, Statement>> body;
};

struct Resolved {
  Statement body;
  unsigned variables = 0; ///< number of integer variables
  int64_t storage = 0;    ///< number of values kept
  std::vector<Storage> locals;
  unsigned bindingCount = 0;

  std::deque<Node> nodes;
  std::deque<Binding> bindings;
  std::deque<Reduction> reductions;
};

/// \p dims has a value for each of `program.dims`, and \p strides, in elements, one for each axis
/// of each tensor. Null, with \p error set, if a size does not fit 64 bits, a row is too large to
/// be kept, an order cannot hold its elements, or the program breaks a rule of its own header.
std::unique_ptr<Resolved> resolve(const Program &program, const std::vector<int64_t> &dims,
                                  const std::vector<std::vector<int64_t>> &strides,
                                  std::string &error);

} // namespace h3::interpreter

#endif // H3_DSL_INTERPRETER_RESOLVED_H
