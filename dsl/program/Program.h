//===-- dsl/program/Program.h - The typed program --------------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One operator with its type parameters chosen, checked, every name resolved, every literal a bit
// pattern, every call expanded. Both readings of a spec start here: the reference interpreter and
// the compiler. What an order, an index or a reduction means is not said here; each reads that for
// itself.
//
// Calls are expanded where they stand (a `Block` whose lets are the arguments and the callee's own
// lets), so a program has no functions, and each static node has one set of extents. Nodes are
// immutable once the program is built, and live as long as it. One node may be referred to from
// several places (a DAG), never from below itself.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_PROGRAM_PROGRAM_H
#define H3_DSL_PROGRAM_PROGRAM_H

#include "dsl/scalar/Scalar.h"
#include "dsl/syntax/Diagnostic.h"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace h3 {

/// An i64 expression over the operator's dims, in the canonical form that `Program` interns: two
/// sizes that are the same polynomial are the same pointer. Fixed dims are constants here, and a
/// dim defined by a product (`dim row = heads * pairs * 2`) is replaced by that product.
struct Size {
  enum class Kind { Constant, Dim, Add, Sub, Mul, Div, Mod };
  Kind kind;
  int64_t value = 0; ///< Constant: the value. Div, Mod: the divisor, > 0; both round down.
  unsigned dim = 0;  ///< Dim
  const Size *lhs = nullptr, *rhs = nullptr; ///< Add, Sub, Mul; Div and Mod: lhs

  bool isConstant() const { return kind == Kind::Constant; }
};

/// The extent of one axis, and the radices by which an index into it is taken apart: the factors of
/// the size as written, most significant first, at least one.
struct Extent {
  const Size *size = nullptr;
  std::vector<const Size *> factors;
};

struct RecordType;

/// A scalar or a record, or a row of them: a function of `extents.size()` indices.
struct Type {
  ScalarType scalar = ScalarType::F32;
  const RecordType *record = nullptr; ///< set: a record, and `scalar` is meaningless
  std::vector<Extent> extents;        ///< empty: not a row

  bool isRow() const { return !extents.empty(); }
  bool isRecord() const { return record && extents.empty(); }
  bool isScalar() const { return !record && extents.empty(); }
  /// The type of one element of a row.
  Type element() const { return Type{scalar, record, {}}; }
};

struct RecordType {
  std::string name;
  struct Field {
    std::string name;
    ScalarType type;
  };
  std::vector<Field> fields;
};

/// The evaluation tree of a reduction, as data: digits, most significant first, and joins.
struct Order {
  enum class Join { Serial, Halving, Adjacent };
  struct Digit {
    std::string name;             ///< empty: walked inside a slot (`_`)
    std::optional<int64_t> radix; ///< at most one digit has none
    bool isNamed() const { return !name.empty(); }
  };
  struct Stage {
    Join join;
    unsigned digit; ///< index into `digits`
  };
  std::string name; ///< as referred to, "norm.row_vec4"
  std::vector<Digit> digits;
  std::vector<Stage> stages;   ///< every named digit exactly once
  std::string documentation{}; ///< the comment lines above it, without `//`
};

/// The builtin operations on scalars. Operand counts and types are as in language.md §2.
enum class Builtin : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Fma,
  Sqrt, // rounding applies; Add, Sub, Mul also on i32, i64
  FloorDiv,
  FloorMod, // i64 sizes by a positive literal
  Neg,
  Abs,
  Copysign,
  Max,
  Min,
  MaxNum,
  MinNum,
  Shl,
  Shr,
  FromBits,
  ToBits, // to or from i32, i64; see the types
  RsqrtApprox,
  Ex2ApproxFtz,
  RcpApproxFtz,
  SqrtApprox,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  And,
  Or,
  Not,
};

/// How the builtin is written: "fma", "max.num", "<".
std::string_view spelling(Builtin op);

struct Expr;
struct Reduce;

/// `name = value`, local id and value. A row-valued let is a function of its indices.
struct Let {
  unsigned local;
  const Expr *value;
};

/// Index variables that are the digits of one axis, most significant first; one for a plain binder.
struct Binder {
  std::vector<unsigned> variables; ///< ids of index variables; their ranges are `extent.factors`
  /// As many factors as variables: for a plain binder the whole size, whatever its own factors are
  /// (those are in the type of the row).
  Extent extent;
};

/// One index of an access: the mixed-radix number with these digits.
struct Subscript {
  std::vector<const Expr *> digits;  ///< i64, most significant first
  std::vector<const Size *> radices; ///< one for each digit
  /// `index(e)`: digits[0] is i32 or i64 data. Outside the extent the access selects nothing: a
  /// float reads NaN, an integer 0.
  bool isData = false;
};

struct Expr {
  enum class Kind {
    Literal,   ///< bits
    Parameter, ///< id: an operator parameter
    SizeValue, ///< size, as an i64
    Index,     ///< id: an index variable, as an i64
    Local,     ///< id
    Tensor,    ///< id: an input as a row
    Builtin,   ///< op, rounding, operands
    Convert,   ///< operands[0] to `type.scalar`, with rounding and saturate; never the identity
    If,        ///< operands: condition (bool), then, else; scalars, records or rows
    Access,    ///< operands[0] (a row) with subscripts, as many as it has axes or fewer
    Row,       ///< binders, operands[0]: the element as a function of the binders' variables
    Record,    ///< operands: the fields in order
    Field,     ///< operands[0] (a record), id: which field
    Reduce,    ///< reduce
    Block,     ///< lets, then operands[0]; the locals are visible in later lets and in operands[0]
  };
  Kind kind;
  Type type;
  SourceRange range;
  Bits bits = 0;
  unsigned id = 0;
  const Size *size = nullptr;
  h3::Builtin op = h3::Builtin::Add;
  h3::Rounding rounding = h3::Rounding::NearestEven;
  bool saturate = false;
  std::vector<const Expr *> operands;
  std::vector<Subscript> subscripts;
  std::vector<Binder> binders;
  std::vector<Let> lets;
  const h3::Reduce *reduce = nullptr;
  /// The calls whose expansion made this node, innermost last; an index into `Program::calls`, or
  /// -1.
  int call = -1;
};

/// language.md §4.3. `state`, `left` and `right` are locals of the reduction's type.
struct Reduce {
  Binder binder;
  const Order *order = nullptr;  ///< null: `any`
  unsigned state = 0;            ///< from
  const Expr *seed = nullptr;    ///< from: null means `of`
  const Expr *step = nullptr;    ///< from: the new state, of `state` and the index
  const Expr *element = nullptr; ///< of
  unsigned left = 0, right = 0;
  const Expr *join = nullptr;
  bool hasSeed() const { return seed != nullptr; }
};

struct Equation {
  struct Place {
    std::vector<unsigned> variables; ///< index variables, digits most significant first
    std::vector<bool> bound;         ///< whether the variable is one of an enclosing `for`
    Extent extent;                   ///< as in a `Binder`: one factor for each variable
  };
  unsigned tensor;
  std::vector<Place>
      places; ///< of the leading axes; if fewer than the tensor has, `value` is a row
  const Expr *value;
  SourceRange range;
};

struct Statement {
  enum class Kind { Let, Equation, For };
  Kind kind;
  Let let{};                                          ///< Let
  Equation equation{};                                ///< Equation
  std::vector<std::pair<unsigned, Extent>> variables; ///< For: index variable and its extent
  std::vector<Statement> body;                        ///< For
};

struct Dim {
  std::string name;
  std::optional<int64_t> fixed;     ///< `d = 64`
  const Size *definition = nullptr; ///< `row = heads * pairs * 2`: replaced by this in every size
  /// How a free dim is found: extent `axis` of `tensor` divided exactly by `divisor`.
  struct Binding {
    unsigned tensor, axis;
    const Size *divisor; ///< uses only dims bound before
  };
  std::optional<Binding> binding; ///< set unless fixed or defined
  SourceRange range;
};

struct Tensor {
  std::string name;
  bool isOutput = false;
  ScalarType type;
  std::vector<Extent> extents;
  /// One for each axis: the stride in elements that the contract demands, or any stride >= 0.
  std::vector<std::optional<int64_t>> strides;
  int64_t align = 1;                ///< the address is a multiple of this many elements
  std::optional<unsigned> mayAlias; ///< an input of the same type
  SourceRange range;
};

struct Parameter {
  std::string name;
  ScalarType type;
  std::optional<Bits> defaultBits;
  SourceRange range;
};

/// A condition on sizes and parameters that a call must satisfy: a `require`, an extent that an
/// `of` needs, the capacity of an order.
struct Requirement {
  const Expr *condition; ///< bool, over sizes and parameters
  std::string text;      ///< for the decline message: "n <= 16777216"
  SourceRange range;
};

/// One expanded call: where it is written and of what, and the call around it.
struct Call {
  SourceRange range;
  std::string function;
  int outer = -1;
  std::string documentation{}; ///< of the function
};

struct Program {
  std::string name; ///< of the operator
  /// The comment lines above the operator, else those that head the file.
  std::string documentation;
  std::vector<std::pair<std::string, ScalarType>> typeArguments; ///< in the order declared
  bool each = false;
  /// Whether a named approximation is used: class `approx`, otherwise `ieee`.
  bool usesApproximation = false;
  std::vector<Dim> dims;
  std::vector<unsigned> bindingOrder; ///< the free dims, in the order in which they are bound
  std::vector<Tensor> tensors;        ///< in the order declared
  std::vector<Parameter> parameters;
  std::vector<Requirement> requirements;
  std::vector<Statement> body;

  struct Variable {
    std::string name;
    SourceRange range;
    const Size *extent = nullptr; ///< index variables only
    Type type;                    ///< locals only
  };
  std::vector<Variable> indexVariables;
  std::vector<Variable> locals;
  std::vector<Call> calls;
  /// Where a conversion to the type that the value already has is written; it has no node.
  std::vector<SourceRange> identityConversions;

  // Storage. Nodes are made by the semantic analysis only.
  std::deque<Expr> expressions;
  std::deque<Size> sizes;
  std::deque<Reduce> reductions;
  std::deque<Order> orders;
  std::deque<RecordType> records;

  Program() = default;
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;
};

/// Calls \p visit with each expression directly below \p expr.
template <typename Visit> void forEachChild(const Expr &expr, Visit visit) {
  for (const Expr *operand : expr.operands)
    visit(operand);
  for (const Subscript &subscript : expr.subscripts)
    for (const Expr *digit : subscript.digits)
      visit(digit);
  for (const Let &let : expr.lets)
    visit(let.value);
  if (expr.reduce)
    for (const Expr *part :
         {expr.reduce->seed, expr.reduce->step, expr.reduce->element, expr.reduce->join})
      if (part)
        visit(part);
}

/// The value of \p size when dim k has the value \p dims[k]; empty if it does not fit 64 bits.
std::optional<int64_t> evaluate(const Size &size, const std::vector<int64_t> &dims);

/// As a person would write it: "2 * d", "r / 2".
std::string toString(const Size &size, const Program &program);
std::string toString(const Type &type, const Program &program);

/// Whether the value depends on sizes, parameters and literals alone: decided once a call.
bool isUniform(const Expr &expr);

} // namespace h3

#endif // H3_DSL_PROGRAM_PROGRAM_H
