//===-- codegen/import/Importer.h - The state of an import ---- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_IMPORT_IMPORTER_H
#define H3_CODEGEN_IMPORT_IMPORTER_H

#include "codegen/import/Import.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>

namespace h3 {

/// A row, perhaps with its leading indices already given: one base for each field of its element.
/// A base is an `h3.tensor` or an `h3.row`.
struct RowValue {
  llvm::SmallVector<mlir::Value, 1> bases;
  llvm::SmallVector<mlir::Value, 4> leading;
  /// Whether the leading indices that come from data are inside their extents; null: none does.
  mlir::Value inRange;
};

/// What an expression gives: scalars (one, or a record's fields), or a row.
struct Imported {
  llvm::SmallVector<mlir::Value, 1> scalars;
  RowValue row;
  /// Whether it comes from sizes, indices and parameters alone.
  bool isStatic = false;
};

class Importer {
public:
  Importer(mlir::MLIRContext &context, const Program &program)
      : program(program), builder(&context), locals(program.locals.size()),
        indices(program.indexVariables.size()), parameters(program.parameters.size()),
        tensors(program.tensors.size()), dims(program.dims.size()) {}

  mlir::OwningOpRef<mlir::ModuleOp> run();
  std::string error;

private:
  // Places and types.
  mlir::Location location(SourceRange range);
  mlir::Type typeOf(ScalarType type);
  llvm::SmallVector<mlir::Type> fieldTypes(const h3::Type &type);
  std::string inSpec(SourceRange range);
  Imported fail(SourceRange range, const std::string &what);

  // Sizes and indices.
  mlir::Value sizeValue(const Size &size);
  mlir::Value constantIndex(int64_t value);
  mlir::Value mixedRadix(llvm::ArrayRef<mlir::Value> digits, llvm::ArrayRef<const Size *> radices,
                         mlir::Location loc);
  mlir::Value toIndex(mlir::Value value, mlir::Location loc);
  mlir::Value toI64(mlir::Value value, mlir::Location loc);

  // Expressions.
  Imported import(const h3::Expr &expr);
  mlir::Value importScalar(const h3::Expr &expr);
  Imported importLiteral(const h3::Expr &expr);
  Imported importBuiltin(const h3::Expr &expr);
  mlir::Value integerBuiltin(const h3::Expr &expr, llvm::ArrayRef<mlir::Value> operands,
                             mlir::Location loc);
  mlir::Value floatBuiltin(const h3::Expr &expr, llvm::ArrayRef<mlir::Value> operands,
                           mlir::Location loc);
  mlir::Value directedHalf(const h3::Expr &expr, llvm::ArrayRef<mlir::Value> operands,
                           mlir::Location loc);
  mlir::Value comparison(const h3::Expr &expr, mlir::Value lhs, mlir::Value rhs,
                         mlir::Location loc);
  Imported importConvert(const h3::Expr &expr);
  Imported importIf(const h3::Expr &expr);
  Imported importAccess(const h3::Expr &expr);
  Imported importRow(const h3::Expr &expr);
  Imported importReduce(const h3::Expr &expr);
  Imported access(const RowValue &row, llvm::ArrayRef<mlir::Value> indices, unsigned rank,
                  mlir::Location loc);
  mlir::Value readChecked(mlir::Value inRange, mlir::Location loc,
                          llvm::function_ref<mlir::Value()> read);
  /// Rows over \p extents, one for each field type; \p element computes all fields of one element.
  RowValue makeRow(llvm::ArrayRef<Extent> extents, llvm::ArrayRef<mlir::Type> fields,
                   mlir::Location loc,
                   llvm::function_ref<llvm::SmallVector<mlir::Value, 1>(mlir::ValueRange)> element);
  /// The digits of one axis' index, bound to the binder's variables.
  void bindDigits(llvm::ArrayRef<unsigned> variables, const Extent &extent, mlir::Value index,
                  mlir::Location loc);

  // Statements.
  void importStatement(const Statement &statement);
  void importEquation(const Equation &equation);

  const Program &program;
  mlir::OpBuilder builder;
  mlir::Block *entry = nullptr;
  std::vector<Imported> locals;
  std::vector<mlir::Value> indices, parameters, tensors, dims;
  llvm::DenseMap<const Size *, mlir::Value> sizes;
};

} // namespace h3

#endif // H3_CODEGEN_IMPORT_IMPORTER_H
