//===-- dsl/program/Analyzer.h - The semantic analysis of one operator --*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Internal to dsl/program: the state of `analyze`, and its steps, one file a step. Names of the
// language's rules are those of language.md §3.
//
// An expression that has an error gives a null `const Expr *`; whoever gets null gives null and
// says nothing, so each mistake is reported once. A name whose definition has an error is `Poison`.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_PROGRAM_ANALYZER_H
#define H3_DSL_PROGRAM_ANALYZER_H

#include "dsl/program/Analysis.h"
#include "dsl/program/Builtins.h"
#include "dsl/program/LinearFacts.h"
#include "dsl/program/Names.h"

#include <unordered_map>

namespace h3 {

/// What a name means in a scope.
struct Entity {
  enum class Kind {
    Poison,
    Value,     ///< value: the expression that a use stands for; a leaf, or a condition on sizes
    DataIndex, ///< value: integer data that `index(...)` made a subscript
    Size,      ///< extent
    Output,    ///< an output tensor: written, never read
    Order,     ///< order
    Type,      ///< type
  };
  Kind kind = Kind::Poison;
  SourceRange range; ///< where it is defined
  const Expr *value = nullptr;
  Extent extent;
  const Order *order = nullptr;
  ScalarType type = ScalarType::F32;
};

/// The names of one function call or of the operator.
struct Frame {
  const Module *module;
  std::unordered_map<std::string, Entity> names;
  std::vector<std::string> order; ///< in the order of declaration, to leave scopes
};

class Analyzer {
public:
  Analyzer(const ModuleIndex &index, Program &program, Diagnostics &diagnostics);

  /// Operator.cpp. False after an error.
  bool analyzeOperator(const ast::Operator &op, const TypeArguments &types);

private:
  // ---- Scopes.cpp: diagnostics, scopes, nodes.
  /// Adds the chain of calls to the error. One place is not blamed twice for the same thing.
  void error(SourceRange range, const std::string &message, const std::string &hint = {},
             std::vector<Note> notes = {});
  /// Rule 3: one meaning in a scope. Poison is stored if the name is taken.
  bool declare(const ast::Name &name, Entity entity);
  const Entity *lookup(const std::string &name) const;
  size_t enterScope() const { return frame->order.size(); }
  void leaveScope(size_t mark);
  void unknownName(SourceRange range, const std::string &name, std::string_view kind,
                   bool (*wanted)(const Item &), bool values);
  Expr *make(Expr::Kind kind, Type type, SourceRange range);
  const Expr *makeLiteral(ScalarType type, Bits bits, SourceRange range);
  const Expr *makeSize(const Size *size, SourceRange range);
  const Expr *makeIndex(unsigned variable, SourceRange range);
  const Expr *makeLocal(unsigned local, SourceRange range);
  const Expr *makeBuiltin(Builtin op, Type type, std::vector<const Expr *> operands,
                          SourceRange range);
  /// A new node for a use of a leaf, so that it carries the place of the use.
  const Expr *copyLeaf(const Expr *leaf, SourceRange range);
  unsigned addLocal(const std::string &name, Type type, const Expr *value, SourceRange range);
  unsigned addIndexVariable(const std::string &name, const Size *extent, SourceRange range);
  Entity valueEntity(const Expr *value, SourceRange range) const;

  // ---- Types.cpp: rules 1, 4 and 14.
  std::string toText(const Type &type) const { return toString(type, program); }
  /// A scalar type, a type parameter, or a record. Empty, with an error, for anything else.
  std::optional<Type> namedType(const ast::Name &name);
  std::optional<Type> writtenType(const ast::TypeRef &type);
  const RecordType *recordType(const Item &item, const std::string &name);
  const Order *orderNamed(const ast::Name &name);
  bool provablyEqual(const Size *a, const Size *b);
  bool sameType(const Type &a, const Type &b);
  /// Rule: \p what must have \p type. The hint names the conversion if one mends it.
  const Expr *expectType(const Expr *value, const Type &type, const std::string &what);
  std::string conversionHint(const Expr &value, const Type &from, const Type &to) const;
  /// An extent as written, with its factors; not negative.
  std::optional<Extent> writtenExtent(const ast::Expr &size);
  const Size *writtenSize(const ast::Expr &size);
  bool checkNotNegative(const Size *size, SourceRange range);

  // ---- Literals.cpp: rule 2.
  bool isUntyped(const ast::Expr &expr);
  const Expr *literal(const ast::Expr &expr, const Type *expected, bool negated = false);

  // ---- Expressions.cpp.
  /// \p expected is the type that context gives to literals; the result may have another.
  const Expr *analyze(const ast::Expr &expr, const Type *expected);
  const Expr *analyzeAs(const ast::Expr &expr, const Type &type, const std::string &what);
  const Expr *analyzeName(const ast::Expr &expr);
  const Expr *analyzeMember(const ast::Expr &expr);
  const Expr *field(const Expr *record, const std::string &name, SourceRange range);
  const Expr *analyzeIf(const ast::Expr &expr, const Type *expected);
  const Expr *condition(const ast::Expr &expr);
  /// Index variables for the binders, with their ranges as facts; false after an error. Scope and
  /// facts are left to the caller.
  bool bind(const std::vector<ast::Binder> &binders, std::vector<Binder> &made,
            std::vector<Extent> &extents);
  const Expr *analyzeRow(const ast::Expr &expr, const Type *expected);
  /// The row whose element is \p body, which may itself be a row.
  const Expr *makeRow(std::vector<Binder> binders, std::vector<Extent> extents, const Expr *body,
                      SourceRange range);

  // ---- Arithmetic.cpp: rule 1.
  const Expr *analyzeUnary(const ast::Expr &expr, const Type *expected);
  const Expr *analyzeBinary(const ast::Expr &expr, const Type *expected);
  const Expr *applyBinary(const ast::Expr &expr, const Expr *left, const Expr *right);
  const Expr *applyLogic(const ast::Expr &expr, const Expr *left, const Expr *right);
  const Expr *applyToSizes(const ast::Expr &expr, const Expr *left, const Expr *right);
  const Expr *compareLiterals(Builtin op, const Expr *left, const Expr *right, SourceRange range);
  const Expr *analyzeBuiltin(const ast::Expr &call, const std::string &name,
                             const BuiltinFunction &builtin, const Type *expected);
  const Expr *analyzeConversion(const ast::Expr &call, const std::string &name,
                                const BuiltinFunction &builtin);
  const Expr *analyzeBits(const ast::Expr &call, const std::string &name,
                          const BuiltinFunction &builtin);
  bool isScalarOperand(const Expr *value, const std::string &op);

  // ---- Access.cpp: rules 5, 6 and 7.
  const Expr *analyzeIndex(const ast::Expr &expr);
  std::optional<Subscript> analyzeSubscript(const ast::Subscript &subscript, const Extent &extent,
                                            const std::string &row);
  bool isDataIndex(const ast::Expr &expr) const;
  /// The integer data inside `index(...)`, or that a name with such a value stands for.
  const Expr *dataIndex(const ast::Expr &expr);
  const Expr *digit(const ast::Expr &expr, const Size *radix, const std::string &row);
  std::optional<Polynomial> affine(const Expr &expr);
  bool proves(const Polynomial &goal);
  void reportRange(SourceRange range, const Polynomial &index, const Size *bound,
                   const std::string &row, bool below);
  std::string knownFacts(const Polynomial &about);
  void addRange(unsigned variable);
  /// What an `if`, or a `require`, says about indices and sizes.
  void assume(const Expr &condition, bool holds);
  std::vector<Inequalities> alternatives(const Expr &condition, bool holds, unsigned &steps);

  // ---- Calls.cpp.
  const Expr *analyzeCall(const ast::Expr &call, const Type *expected);
  std::vector<const ast::Expr *> matchArguments(const ast::Expr &call, const std::string &callee,
                                                const std::vector<const ast::Name *> &params,
                                                std::string_view what);
  const Expr *makeRecord(const ast::Expr &call, const Item &item);
  const Expr *expand(const ast::Expr &call, const Item &item);
  struct Arguments;
  bool analyzeArguments(const ast::Expr &call, const Item &item, Arguments &arguments);
  bool inferType(const ast::Param &param, const Expr *value, const ast::Function &function,
                 Arguments &arguments);
  bool bindExtents(const ast::Function &function, Arguments &arguments);
  bool bindParameters(const ast::Function &function, Arguments &arguments, std::vector<Let> &lets);
  const Expr *expandBody(const ast::Function &function, const std::string &callee,
                         std::vector<Let> lets, SourceRange range);

  // ---- Statements.cpp: rules 9, 10, 12.
  /// The definition of a local, or nothing if the name stands for its value or has an error.
  std::optional<Let> analyzeLet(const ast::Let &let);
  const Expr *analyzeRhs(const ast::Rhs &rhs, const Type *expected);
  const Expr *analyzeReduce(const ast::Reduce &reduce, SourceRange range, const Type *expected);
  bool checkAny(const ast::Reduce &reduce, const Reduce &made, SourceRange range);
  /// A contract condition `larger >= smaller`, unless it is known; an error if it never holds.
  bool demand(const Size *larger, const Size *smaller, SourceRange range,
              const std::string &violation, const std::string &hint);

  // ---- Operator.cpp, Dims.cpp, Equations.cpp: rules 4, 8, 13, 14.
  bool declareTypes(const ast::Operator &op, const TypeArguments &types);
  void declareParameters(const ast::Operator &op);
  bool usesLaterDim(const ast::Expr &size, const ast::Dim &dim, const ast::Operator &op);
  void declareDims(const ast::Operator &op);
  void declareTensors(const ast::Operator &op);
  void declareTensor(const ast::Tensor &tensor);
  void resolveAliases(const ast::Operator &op);
  void bindDims();
  std::optional<Dim::Binding> bindingByProduct(unsigned dim, const std::vector<bool> &bound);
  bool isKnown(const Polynomial &size, const std::vector<bool> &bound) const;
  void addRequirements(const ast::Operator &op);
  void addRequirement(const ast::Expr &expr);
  void analyzeStatements(const std::vector<ast::Statement> &statements,
                         std::vector<Statement> &made);
  void analyzeFor(const ast::For &loop, std::vector<Statement> &made);
  void analyzeEquation(const ast::Equation &equation, std::vector<Statement> &made);
  bool declarePlaces(const ast::Equation &equation, const Tensor &tensor, Equation &made);
  bool declarePlace(const ast::Name &name, const Size *range, std::vector<unsigned> &used,
                    Equation::Place &place);
  void checkOutputs();
  void checkAliases(); // Aliases.cpp
  void findApproximations();

  const ModuleIndex &index;
  Program &program;
  Diagnostics &diagnostics;
  SizeTable sizes;
  Frame *frame = nullptr;
  int call = -1;           ///< the call that is being expanded
  unsigned depth = 0;      ///< of `analyze`
  unsigned joins = 0;      ///< of joins around what is analysed
  std::string inexactHint; ///< how to mend a literal that is not exact in the type it stands in
  bool tooLarge = false;
  size_t errors = 0;

  std::vector<Fact> facts; ///< what is known here, a stack
  /// Conditions of the enclosing `if`s that are decided once a call, and whether they hold here.
  std::vector<std::pair<const Expr *, bool>> path;

  std::vector<std::optional<Polynomial>> localForms; ///< by local: its value as an index
  std::vector<const Expr *> localValues;             ///< by local; null for a reduction's state
  std::vector<std::pair<unsigned, Extent>> loop;     ///< the variables of the enclosing `for`
  bool loopComplete = true;                          ///< all of those are known
  std::vector<std::optional<SourceRange>> written;   ///< by tensor: its equation
  std::unordered_map<const ast::Record *, const RecordType *> recordTypes;
  std::unordered_map<const ast::Order *, const Order *> orderCache;
  std::unordered_map<const ast::Expr *, bool> untypedCache;
};

/// Whether a use of a name can stand for \p value itself, without a local.
bool isLeaf(const Expr &value);

/// Whether \p value is a size: of dims and literals alone, an i64.
bool isSize(const Expr &value);

} // namespace h3

#endif // H3_DSL_PROGRAM_ANALYZER_H
