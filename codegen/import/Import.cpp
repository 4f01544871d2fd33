//===-- codegen/import/Import.cpp - Typed program to h3 dialect -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Blocks become straight-line code, row lambdas become `h3.row`, a slice of a tensor stays a slice.
// An `if` whose condition comes from indices, sizes and parameters guards its branches (`scf.if`),
// since an access in a branch may be in range only there; an `if` on data is a select of two
// values, both of which are total.
//
//===----------------------------------------------------------------------===//

#include "codegen/import/Import.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>

using namespace mlir;

namespace h3 {
namespace {

/// A row, perhaps with its leading indices already given: one base for each field of its element.
/// A base is an `h3.tensor` or an `h3.row`.
struct RowValue {
  SmallVector<Value, 1> bases;
  SmallVector<Value, 4> leading;
};

/// What an expression gives: scalars (one, or a record's fields), or a row.
struct Imported {
  SmallVector<Value, 1> scalars;
  RowValue row;
  /// Whether it comes from sizes, indices and parameters alone.
  bool isStatic = false;
};

class Importer {
public:
  Importer(MLIRContext &context, const Program &program)
      : program(program), builder(&context), locals(program.locals.size()),
        indices(program.indexVariables.size()), parameters(program.parameters.size()),
        tensors(program.tensors.size()), dims(program.dims.size()) {}

  OwningOpRef<ModuleOp> run();
  std::string error;

private:
  // Places and types.
  Location location(SourceRange range);
  mlir::Type typeOf(ScalarType type);
  SmallVector<mlir::Type> fieldTypes(const h3::Type &type);
  std::string inSpec(SourceRange range);
  Imported fail(SourceRange range, const std::string &what);

  // Sizes and indices.
  Value sizeValue(const Size &size);
  Value constantIndex(int64_t value);
  Value mixedRadix(ArrayRef<Value> digits, ArrayRef<const Size *> radices, Location loc);
  Value toIndex(Value value, Location loc);
  Value toI64(Value value, Location loc);

  // Expressions.
  Imported import(const h3::Expr &expr);
  Value importScalar(const h3::Expr &expr);
  Imported importLiteral(const h3::Expr &expr);
  Imported importBuiltin(const h3::Expr &expr);
  Value integerBuiltin(const h3::Expr &expr, ArrayRef<Value> operands, Location loc);
  Value floatBuiltin(const h3::Expr &expr, ArrayRef<Value> operands, Location loc);
  Value comparison(const h3::Expr &expr, Value lhs, Value rhs, Location loc);
  Imported importConvert(const h3::Expr &expr);
  Imported importIf(const h3::Expr &expr);
  Imported importAccess(const h3::Expr &expr);
  Imported importRow(const h3::Expr &expr);
  Imported importReduce(const h3::Expr &expr);
  Imported access(const RowValue &row, ArrayRef<Value> indices, unsigned rank, Location loc);
  /// Rows over \p extents, one for each field type; \p element computes all fields of one element.
  RowValue makeRow(ArrayRef<Extent> extents, ArrayRef<mlir::Type> fields, Location loc,
                   llvm::function_ref<SmallVector<Value, 1>(ValueRange)> element);
  /// The digits of one axis' index, bound to the binder's variables.
  void bindDigits(ArrayRef<unsigned> variables, const Extent &extent, Value index, Location loc);

  // Statements.
  void importStatement(const Statement &statement);
  void importEquation(const Equation &equation);

  const Program &program;
  OpBuilder builder;
  Block *entry = nullptr;
  std::vector<Imported> locals;
  std::vector<Value> indices, parameters, tensors, dims;
  DenseMap<const Size *, Value> sizes;
};

//===----------------------------------------------------------------------===//
// Places and types
//===----------------------------------------------------------------------===//

Location Importer::location(SourceRange range) {
  if (!range.file)
    return builder.getUnknownLoc();
  LineColumn place = lineColumn(*range.file, range.begin);
  return FileLineColLoc::get(builder.getContext(), range.file->path, place.line, place.column);
}

std::string Importer::inSpec(SourceRange range) {
  if (!range.file)
    return {};
  LineColumn place = lineColumn(*range.file, range.begin);
  return range.file->path + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) +
         ": ";
}

Imported Importer::fail(SourceRange range, const std::string &what) {
  if (error.empty())
    error = inSpec(range) + "error: " + what;
  return {};
}

mlir::Type Importer::typeOf(ScalarType type) {
  switch (type) {
  case ScalarType::Bool:
    return builder.getI1Type();
  case ScalarType::I32:
    return builder.getI32Type();
  case ScalarType::I64:
    return builder.getI64Type();
  case ScalarType::F16:
    return builder.getF16Type();
  case ScalarType::BF16:
    return builder.getBF16Type();
  case ScalarType::F32:
    return builder.getF32Type();
  case ScalarType::F64:
    return builder.getF64Type();
  case ScalarType::E4M3:
    return Float8E4M3FNType::get(builder.getContext());
  case ScalarType::E5M2:
    return Float8E5M2Type::get(builder.getContext());
  }
  llvm_unreachable("closed enum");
}

SmallVector<mlir::Type> Importer::fieldTypes(const h3::Type &type) {
  if (!type.record)
    return {typeOf(type.scalar)};
  SmallVector<mlir::Type> types;
  for (const RecordType::Field &field : type.record->fields)
    types.push_back(typeOf(field.type));
  return types;
}

//===----------------------------------------------------------------------===//
// Sizes and indices
//===----------------------------------------------------------------------===//

Value Importer::constantIndex(int64_t value) {
  return arith::ConstantIndexOp::create(builder, builder.getUnknownLoc(), value);
}

/// Sizes are computed once, at the head of the operator.
Value Importer::sizeValue(const Size &size) {
  if (Value known = sizes.lookup(&size))
    return known;
  OpBuilder::InsertionGuard guard(builder);
  Value lhs = size.lhs ? sizeValue(*size.lhs) : Value();
  Value rhs = size.rhs ? sizeValue(*size.rhs) : Value();
  // After everything computed so far that belongs to the head.
  Operation *last = nullptr;
  for (Value operand : {lhs, rhs})
    if (operand && operand.getDefiningOp() &&
        (!last || last->isBeforeInBlock(operand.getDefiningOp())))
      last = operand.getDefiningOp();
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(entry);
  Location loc = builder.getUnknownLoc();
  Value value;
  switch (size.kind) {
  case Size::Kind::Constant:
    value = constantIndex(size.value);
    break;
  case Size::Kind::Dim:
    value = dims[size.dim];
    break;
  case Size::Kind::Add:
    value = arith::AddIOp::create(builder, loc, lhs, rhs);
    break;
  case Size::Kind::Sub:
    value = arith::SubIOp::create(builder, loc, lhs, rhs);
    break;
  case Size::Kind::Mul:
    value = arith::MulIOp::create(builder, loc, lhs, rhs);
    break;
  case Size::Kind::Div:
    value = arith::FloorDivSIOp::create(builder, loc, lhs, constantIndex(size.value));
    break;
  case Size::Kind::Mod: {
    // lhs - floor(lhs / c) * c: the remainder in 0 .. c - 1.
    Value divisor = constantIndex(size.value);
    Value quotient = arith::FloorDivSIOp::create(builder, loc, lhs, divisor);
    Value multiple = arith::MulIOp::create(builder, loc, quotient, divisor);
    value = arith::SubIOp::create(builder, loc, lhs, multiple);
    break;
  }
  }
  return sizes[&size] = value;
}

Value Importer::mixedRadix(ArrayRef<Value> digits, ArrayRef<const Size *> radices, Location loc) {
  Value number = digits.front();
  for (size_t i = 1; i < digits.size(); ++i) {
    Value shifted = builder.createOrFold<arith::MulIOp>(loc, number, sizeValue(*radices[i]));
    number = builder.createOrFold<arith::AddIOp>(loc, shifted, digits[i]);
  }
  return number;
}

Value Importer::toIndex(Value value, Location loc) {
  if (!value || value.getType().isIndex())
    return value;
  return builder.createOrFold<arith::IndexCastOp>(loc, builder.getIndexType(), value);
}

Value Importer::toI64(Value value, Location loc) {
  if (!value || !value.getType().isIndex())
    return value;
  return builder.createOrFold<arith::IndexCastOp>(loc, builder.getI64Type(), value);
}

void Importer::bindDigits(ArrayRef<unsigned> variables, const Extent &extent, Value index,
                          Location loc) {
  // Least significant first; the first digit is what is left.
  for (size_t i = variables.size(); i-- > 1;) {
    Value radix = sizeValue(*extent.factors[i]);
    indices[variables[i]] = builder.createOrFold<arith::RemUIOp>(loc, index, radix);
    index = builder.createOrFold<arith::DivUIOp>(loc, index, radix);
  }
  indices[variables.front()] = index;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

static Imported scalar(Value value, bool isStatic) { return {{value}, {}, isStatic}; }

Value Importer::importScalar(const h3::Expr &expr) {
  Imported result = import(expr);
  return result.scalars.empty() ? Value() : result.scalars.front();
}

Imported Importer::import(const h3::Expr &expr) {
  if (!error.empty())
    return {};
  switch (expr.kind) {
  case h3::Expr::Kind::Literal:
    return importLiteral(expr);
  case h3::Expr::Kind::Parameter:
    return scalar(parameters[expr.id], true);
  case h3::Expr::Kind::SizeValue:
    return scalar(sizeValue(*expr.size), true);
  case h3::Expr::Kind::Index:
    return scalar(indices[expr.id], true);
  case h3::Expr::Kind::Local:
    return locals[expr.id];
  case h3::Expr::Kind::Tensor:
    return {{}, {{tensors[expr.id]}, {}}, false};
  case h3::Expr::Kind::Builtin:
    return importBuiltin(expr);
  case h3::Expr::Kind::Convert:
    return importConvert(expr);
  case h3::Expr::Kind::If:
    return importIf(expr);
  case h3::Expr::Kind::Access:
    return importAccess(expr);
  case h3::Expr::Kind::Row:
    return importRow(expr);
  case h3::Expr::Kind::Reduce:
    return importReduce(expr);
  case h3::Expr::Kind::Record: {
    Imported record{{}, {}, true};
    for (const h3::Expr *field : expr.operands) {
      Imported value = import(*field);
      if (value.scalars.empty())
        return {};
      record.scalars.push_back(value.scalars.front());
      record.isStatic &= value.isStatic;
    }
    return record;
  }
  case h3::Expr::Kind::Field: {
    Imported record = import(*expr.operands[0]);
    if (record.scalars.empty())
      return {};
    return scalar(record.scalars[expr.id], record.isStatic);
  }
  case h3::Expr::Kind::Block:
    for (const Let &let : expr.lets)
      locals[let.local] = import(*let.value);
    return import(*expr.operands[0]);
  }
  llvm_unreachable("closed enum");
}

Imported Importer::importLiteral(const h3::Expr &expr) {
  mlir::Type type = typeOf(expr.type.scalar);
  TypedAttr value;
  if (auto floatType = dyn_cast<FloatType>(type))
    value = FloatAttr::get(
        type, APFloat(floatType.getFloatSemantics(), APInt(floatType.getWidth(), expr.bits)));
  else
    value = IntegerAttr::get(type, APInt(type.getIntOrFloatBitWidth(), expr.bits));
  return scalar(arith::ConstantOp::create(builder, location(expr.range), value), true);
}

Imported Importer::importBuiltin(const h3::Expr &expr) {
  SmallVector<Value> operands;
  bool isStatic = true;
  for (const h3::Expr *operand : expr.operands) {
    Imported value = import(*operand);
    if (value.scalars.empty())
      return {};
    operands.push_back(value.scalars.front());
    isStatic &= value.isStatic;
  }
  Location loc = location(expr.range);
  ScalarType operandType = expr.operands.front()->type.scalar;

  // Size and index arithmetic stays in `index`; with real i64 data among the operands it is i64.
  if (operandType == ScalarType::I64) {
    auto isIndexLike = [](Value value) {
      return value.getType().isIndex() || matchPattern(value, m_Constant());
    };
    bool anyIndex = llvm::any_of(operands, [](Value value) { return value.getType().isIndex(); });
    bool asIndex = anyIndex && llvm::all_of(operands, isIndexLike) && expr.op != Builtin::FromBits;
    for (Value &operand : operands)
      operand = asIndex ? toIndex(operand, loc) : toI64(operand, loc);
  }

  switch (expr.op) {
  case Builtin::Less:
  case Builtin::LessEqual:
  case Builtin::Greater:
  case Builtin::GreaterEqual:
  case Builtin::Equal:
  case Builtin::NotEqual:
    return scalar(comparison(expr, operands[0], operands[1], loc), isStatic);
  case Builtin::And:
    return scalar(builder.createOrFold<arith::AndIOp>(loc, operands[0], operands[1]), isStatic);
  case Builtin::Or:
    return scalar(builder.createOrFold<arith::OrIOp>(loc, operands[0], operands[1]), isStatic);
  case Builtin::Not: {
    Value one = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    return scalar(builder.createOrFold<arith::XOrIOp>(loc, operands[0], one), isStatic);
  }
  default:
    break;
  }
  bool isInteger = h3::isInteger(operandType) && expr.op != Builtin::FromBits;
  return scalar(isInteger ? integerBuiltin(expr, operands, loc) : floatBuiltin(expr, operands, loc),
                isStatic);
}

Value Importer::comparison(const h3::Expr &expr, Value lhs, Value rhs, Location loc) {
  unsigned which = static_cast<unsigned>(expr.op) - static_cast<unsigned>(Builtin::Less);
  if (isa<FloatType>(lhs.getType())) {
    // Every ordered comparison with NaN is false, != is true.
    constexpr arith::CmpFPredicate predicates[] = {
        arith::CmpFPredicate::OLT, arith::CmpFPredicate::OLE, arith::CmpFPredicate::OGT,
        arith::CmpFPredicate::OGE, arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE};
    return arith::CmpFOp::create(builder, loc, predicates[which], lhs, rhs);
  }
  constexpr arith::CmpIPredicate predicates[] = {
      arith::CmpIPredicate::slt, arith::CmpIPredicate::sle, arith::CmpIPredicate::sgt,
      arith::CmpIPredicate::sge, arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne};
  return builder.createOrFold<arith::CmpIOp>(loc, predicates[which], lhs, rhs);
}

Value Importer::integerBuiltin(const h3::Expr &expr, ArrayRef<Value> v, Location loc) {
  switch (expr.op) {
  case Builtin::Add:
    return builder.createOrFold<arith::AddIOp>(loc, v[0], v[1]);
  case Builtin::Sub:
    return builder.createOrFold<arith::SubIOp>(loc, v[0], v[1]);
  case Builtin::Mul:
    return builder.createOrFold<arith::MulIOp>(loc, v[0], v[1]);
  case Builtin::FloorDiv:
    return builder.createOrFold<arith::FloorDivSIOp>(loc, v[0], v[1]);
  case Builtin::FloorMod: {
    Value quotient = builder.createOrFold<arith::FloorDivSIOp>(loc, v[0], v[1]);
    Value multiple = builder.createOrFold<arith::MulIOp>(loc, quotient, v[1]);
    return builder.createOrFold<arith::SubIOp>(loc, v[0], multiple);
  }
  case Builtin::Neg: {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(v[0].getType()));
    return builder.createOrFold<arith::SubIOp>(loc, zero, v[0]);
  }
  case Builtin::Max:
    return builder.createOrFold<arith::MaxSIOp>(loc, v[0], v[1]);
  case Builtin::Min:
    return builder.createOrFold<arith::MinSIOp>(loc, v[0], v[1]);
  case Builtin::Shl:
    return ir::ShlOp::create(builder, loc, v[0], v[1]);
  case Builtin::Shr:
    return ir::ShrOp::create(builder, loc, v[0], v[1]);
  default:
    break;
  }
  fail(expr.range, "no code generation for '" + std::string(spelling(expr.op)) + "' of integers");
  return {};
}

Value Importer::floatBuiltin(const h3::Expr &expr, ArrayRef<Value> v, Location loc) {
  auto rounding = static_cast<ir::Rounding>(expr.rounding);
  mlir::Type type = typeOf(expr.type.scalar);
  auto approx = [&](ir::Approximation function) -> Value {
    return ir::ApproxOp::create(builder, loc, type, function, v[0]);
  };
  switch (expr.op) {
  case Builtin::Add:
    return ir::AddOp::create(builder, loc, type, v[0], v[1], rounding);
  case Builtin::Sub:
    return ir::SubOp::create(builder, loc, type, v[0], v[1], rounding);
  case Builtin::Mul:
    return ir::MulOp::create(builder, loc, type, v[0], v[1], rounding);
  case Builtin::Div:
    return ir::DivOp::create(builder, loc, type, v[0], v[1], rounding);
  case Builtin::Fma:
    return ir::FmaOp::create(builder, loc, type, v[0], v[1], v[2], rounding);
  case Builtin::Sqrt:
    return ir::SqrtOp::create(builder, loc, type, v[0], rounding);
  case Builtin::Neg:
    return ir::NegOp::create(builder, loc, v[0]);
  case Builtin::Abs:
    return ir::AbsOp::create(builder, loc, v[0]);
  case Builtin::Copysign:
    return ir::CopysignOp::create(builder, loc, v[0], v[1]);
  case Builtin::Max:
    return ir::MaxOp::create(builder, loc, v[0], v[1]);
  case Builtin::Min:
    return ir::MinOp::create(builder, loc, v[0], v[1]);
  case Builtin::MaxNum:
    return ir::MaxNumOp::create(builder, loc, v[0], v[1]);
  case Builtin::MinNum:
    return ir::MinNumOp::create(builder, loc, v[0], v[1]);
  case Builtin::FromBits:
    return ir::FromBitsOp::create(builder, loc, type, v[0]);
  case Builtin::ToBits:
    return ir::ToBitsOp::create(builder, loc, type, v[0]);
  case Builtin::RsqrtApprox:
    return approx(ir::Approximation::RsqrtApprox);
  case Builtin::Ex2ApproxFtz:
    return approx(ir::Approximation::Ex2ApproxFtz);
  case Builtin::RcpApproxFtz:
    return approx(ir::Approximation::RcpApproxFtz);
  case Builtin::SqrtApprox:
    return approx(ir::Approximation::SqrtApprox);
  default:
    break;
  }
  fail(expr.range, "no code generation for '" + std::string(spelling(expr.op)) + "'");
  return {};
}

Imported Importer::importConvert(const h3::Expr &expr) {
  Imported operand = import(*expr.operands[0]);
  if (operand.scalars.empty())
    return {};
  Value value = ir::ConvertOp::create(builder, location(expr.range), typeOf(expr.type.scalar),
                                      operand.scalars.front(),
                                      static_cast<ir::Rounding>(expr.rounding), expr.saturate);
  return scalar(value, operand.isStatic);
}

Imported Importer::importIf(const h3::Expr &expr) {
  Imported condition = import(*expr.operands[0]);
  if (condition.scalars.empty())
    return {};
  Value test = condition.scalars.front();
  const h3::Expr &then = *expr.operands[1], &otherwise = *expr.operands[2];
  APInt known;
  if (matchPattern(test, m_ConstantInt(&known)))
    return import(known.isZero() ? otherwise : then);
  Location loc = location(expr.range);

  if (expr.type.isRow()) {
    unsigned rank = expr.type.extents.size();
    RowValue row = makeRow(expr.type.extents, fieldTypes(expr.type), loc, [&](ValueRange at) {
      auto branch = [&](const h3::Expr &side) {
        return [&, this](OpBuilder &, Location) {
          SmallVector<Value> position(at);
          Imported element = access(import(side).row, position, rank, loc);
          scf::YieldOp::create(builder, loc, element.scalars);
        };
      };
      SmallVector<Value, 1> values;
      auto guarded = scf::IfOp::create(builder, loc, fieldTypes(expr.type), test, true);
      for (auto [region, side] : {std::pair(&guarded.getThenRegion(), &then),
                                  std::pair(&guarded.getElseRegion(), &otherwise)}) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(&region->front());
        branch (*side)(builder, loc);
      }
      llvm::append_range(values, guarded.getResults());
      return values;
    });
    return {{}, row, false};
  }

  if (!condition.isStatic) {
    Imported a = import(then), b = import(otherwise), result;
    if (a.scalars.empty() || b.scalars.empty())
      return {};
    for (auto [lhs, rhs] : llvm::zip(a.scalars, b.scalars))
      result.scalars.push_back(arith::SelectOp::create(builder, loc, test, lhs, rhs));
    return result;
  }

  SmallVector<mlir::Type> types = fieldTypes(expr.type);
  auto guarded = scf::IfOp::create(builder, loc, types, test, /*withElseRegion=*/true);
  bool isStatic = true;
  for (auto [region, side] : {std::pair(&guarded.getThenRegion(), &then),
                              std::pair(&guarded.getElseRegion(), &otherwise)}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&region->front());
    Imported value = import(*side);
    if (value.scalars.empty())
      return {};
    isStatic &= value.isStatic;
    for (Value &field : value.scalars)
      field = toI64(field, loc);
    scf::YieldOp::create(builder, loc, value.scalars);
  }
  Imported result{{}, {}, isStatic};
  llvm::append_range(result.scalars, guarded.getResults());
  return result;
}

Imported Importer::access(const RowValue &row, ArrayRef<Value> at, unsigned rank, Location loc) {
  if (row.bases.empty())
    return {};
  RowValue applied = row;
  llvm::append_range(applied.leading, at);
  if (at.size() < rank)
    return {{}, applied, false};
  Imported element;
  for (Value base : applied.bases) {
    if (isa<ir::TensorType>(base.getType()))
      element.scalars.push_back(ir::LoadOp::create(builder, loc, base, applied.leading));
    else
      element.scalars.push_back(ir::AtOp::create(builder, loc, base, applied.leading));
  }
  return element;
}

Imported Importer::importAccess(const h3::Expr &expr) {
  Location loc = location(expr.range);
  Imported row = import(*expr.operands[0]);
  SmallVector<Value> at;
  for (const Subscript &subscript : expr.subscripts) {
    if (subscript.isData)
      return fail(expr.range, "index tensors have no code generation yet");
    SmallVector<Value> digits;
    for (const h3::Expr *digit : subscript.digits) {
      Value value = importScalar(*digit);
      if (!value)
        return {};
      digits.push_back(toIndex(value, loc));
    }
    at.push_back(mixedRadix(digits, subscript.radices, loc));
  }
  return access(row.row, at, expr.operands[0]->type.extents.size(), loc);
}

RowValue Importer::makeRow(ArrayRef<Extent> extents, ArrayRef<mlir::Type> fields, Location loc,
                           llvm::function_ref<SmallVector<Value, 1>(ValueRange)> element) {
  SmallVector<Value> bounds;
  for (const Extent &extent : extents)
    bounds.push_back(sizeValue(*extent.size));
  RowValue row;
  for (auto [index, type] : llvm::enumerate(fields)) {
    auto op = ir::RowOp::create(builder, loc, bounds, type);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&op.getBody().front());
    SmallVector<Value, 1> values = element(op.getBody().getArguments());
    if (values.empty())
      return {};
    ir::YieldOp::create(builder, loc, values[index]);
    row.bases.push_back(op);
  }
  return row;
}

Imported Importer::importRow(const h3::Expr &expr) {
  Location loc = location(expr.range);
  RowValue row = makeRow(expr.type.extents, fieldTypes(expr.type), loc, [&](ValueRange axes) {
    for (auto [binder, axis] : llvm::zip(expr.binders, axes))
      bindDigits(binder.variables, binder.extent, axis, loc);
    return import(*expr.operands[0]).scalars;
  });
  return {{}, row, false};
}

Imported Importer::importReduce(const h3::Expr &expr) {
  const h3::Reduce &reduce = *expr.reduce;
  Location loc = location(expr.range);
  MLIRContext *context = builder.getContext();

  ir::OrderAttr order;
  if (reduce.order) {
    SmallVector<ir::OrderDigit> digits;
    for (const Order::Digit &digit : reduce.order->digits)
      digits.push_back({digit.isNamed() ? builder.getStringAttr(digit.name) : StringAttr(),
                        digit.radix.value_or(0)});
    SmallVector<ir::OrderStage> stages;
    for (const Order::Stage &stage : reduce.order->stages)
      stages.push_back({static_cast<ir::Join>(stage.join), stage.digit});
    order = ir::OrderAttr::get(context, digits, stages);
  }

  SmallVector<Value> extents, seeds;
  for (const Size *factor : reduce.binder.extent.factors)
    extents.push_back(sizeValue(*factor));
  if (reduce.binder.variables.size() == 1)
    extents = {sizeValue(*reduce.binder.extent.size)};
  if (reduce.hasSeed()) {
    Imported seed = import(*reduce.seed);
    if (seed.scalars.empty())
      return {};
    llvm::append_range(seeds, seed.scalars);
  }
  SmallVector<mlir::Type> states = fieldTypes(expr.type);
  auto op = ir::ReduceOp::create(builder, loc, states, extents, seeds, order);

  OpBuilder::InsertionGuard guard(builder);
  auto addBlock = [&](Region &region, ArrayRef<mlir::Type> types) {
    SmallVector<Location> locations(types.size(), loc);
    return builder.createBlock(&region, {}, types, locations);
  };
  auto bindState = [&](unsigned local, ValueRange fields) {
    locals[local] = Imported{SmallVector<Value, 1>(fields), {}, false};
  };
  auto finish = [&](const h3::Expr &value) {
    Imported result = import(value);
    if (!result.scalars.empty())
      ir::YieldOp::create(builder, loc, result.scalars);
  };

  SmallVector<mlir::Type> stepTypes(extents.size(), builder.getIndexType());
  if (reduce.hasSeed())
    llvm::append_range(stepTypes, states);
  Block *step = addBlock(op.getStep(), stepTypes);
  for (auto [variable, argument] : llvm::zip(reduce.binder.variables, step->getArguments()))
    indices[variable] = argument;
  if (reduce.hasSeed())
    bindState(reduce.state, step->getArguments().drop_front(extents.size()));
  finish(reduce.hasSeed() ? *reduce.step : *reduce.element);

  SmallVector<mlir::Type> joinTypes(states);
  llvm::append_range(joinTypes, states);
  Block *join = addBlock(op.getJoin(), joinTypes);
  bindState(reduce.left, join->getArguments().take_front(states.size()));
  bindState(reduce.right, join->getArguments().drop_front(states.size()));
  finish(*reduce.join);

  Imported result;
  llvm::append_range(result.scalars, op.getResults());
  return result;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void Importer::importStatement(const Statement &statement) {
  if (!error.empty())
    return;
  switch (statement.kind) {
  case Statement::Kind::Let:
    locals[statement.let.local] = import(*statement.let.value);
    return;
  case Statement::Kind::Equation:
    importEquation(statement.equation);
    return;
  case Statement::Kind::For: {
    SmallVector<Value> extents;
    for (const auto &[variable, extent] : statement.variables)
      extents.push_back(sizeValue(*extent.size));
    auto forall = ir::ForallOp::create(builder, builder.getUnknownLoc(), extents);
    for (auto [variable, argument] : llvm::zip(statement.variables, forall.getIndices()))
      indices[variable.first] = argument;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&forall.getBody().front());
    for (const Statement &inner : statement.body)
      importStatement(inner);
    return;
  }
  }
}

/// An equation outside a `for` becomes two levels: the leading places, and the last axis, along
/// which memory is contiguous and which a schedule takes apart. Inside a `for` its own places are
/// the second level.
void Importer::importEquation(const Equation &equation) {
  Location loc = location(equation.range);
  const h3::Tensor &tensor = program.tensors[equation.tensor];
  OpBuilder::InsertionGuard guard(builder);

  bool insideFor = llvm::any_of(equation.places, [](const Equation::Place &place) {
    return llvm::is_contained(place.bound, true);
  });
  SmallVector<unsigned> outer, inner;
  SmallVector<Value> outerExtents, innerExtents;
  for (auto [position, place] : llvm::enumerate(equation.places)) {
    bool isLast = position + 1 == tensor.extents.size();
    for (auto [digit, variable] : llvm::enumerate(place.variables)) {
      if (place.bound[digit])
        continue;
      const Size *size =
          place.variables.size() == 1 ? place.extent.size : place.extent.factors[digit];
      bool toInner = insideFor || isLast;
      (toInner ? inner : outer).push_back(variable);
      (toInner ? innerExtents : outerExtents).push_back(sizeValue(*size));
    }
  }
  if (!insideFor) {
    auto forall = ir::ForallOp::create(builder, loc, outerExtents);
    for (auto [variable, argument] : llvm::zip(outer, forall.getIndices()))
      indices[variable] = argument;
    builder.setInsertionPointToStart(&forall.getBody().front());
  }

  // A row's own axes come behind the places.
  unsigned rowRank = tensor.extents.size() - equation.places.size();
  Imported row;
  if (rowRank) {
    row = import(*equation.value);
    for (const Extent &extent : ArrayRef(tensor.extents).take_back(rowRank))
      innerExtents.push_back(sizeValue(*extent.size));
  }
  SmallVector<Value> rowIndices;
  if (!innerExtents.empty()) {
    auto forall = ir::ForallOp::create(builder, loc, innerExtents);
    for (auto [variable, argument] : llvm::zip(inner, forall.getIndices()))
      indices[variable] = argument;
    llvm::append_range(rowIndices, forall.getIndices().drop_front(inner.size()));
    builder.setInsertionPointToStart(&forall.getBody().front());
  }

  Imported value = rowRank ? access(row.row, rowIndices, rowRank, loc) : import(*equation.value);
  if (value.scalars.empty())
    return;
  SmallVector<Value> at;
  for (const Equation::Place &place : equation.places) {
    SmallVector<Value> digits;
    for (unsigned variable : place.variables)
      digits.push_back(indices[variable]);
    at.push_back(mixedRadix(digits, place.extent.factors, loc));
  }
  llvm::append_range(at, rowIndices);
  ir::StoreOp::create(builder, loc, toI64(value.scalars.front(), loc), tensors[equation.tensor],
                      at);
}

OwningOpRef<ModuleOp> Importer::run() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  if (program.each) {
    fail({}, "operator '" + program.name + "': 'each' has no code generation yet");
    return {};
  }

  SmallVector<mlir::Type> types;
  SmallVector<DictionaryAttr> attributes;
  auto addArgument = [&](mlir::Type type, ArrayRef<NamedAttribute> extra, StringRef name) {
    SmallVector<NamedAttribute> list(extra);
    list.push_back(builder.getNamedAttr("h3.name", builder.getStringAttr(name)));
    types.push_back(type);
    attributes.push_back(builder.getDictionaryAttr(list));
  };
  std::vector<bool> aliased(program.tensors.size());
  for (const h3::Tensor &tensor : program.tensors)
    if (tensor.mayAlias)
      aliased[*tensor.mayAlias] = true;
  for (auto [index, tensor] : llvm::enumerate(program.tensors)) {
    SmallVector<int64_t> strides;
    for (size_t axis = 0; axis < tensor.extents.size(); ++axis)
      strides.push_back(axis < tensor.strides.size() ? tensor.strides[axis].value_or(-1) : -1);
    SmallVector<NamedAttribute> extra{
        builder.getNamedAttr("h3.strides", builder.getDenseI64ArrayAttr(strides))};
    if (tensor.isOutput)
      extra.push_back(builder.getNamedAttr("h3.output", builder.getUnitAttr()));
    if (aliased[index])
      extra.push_back(builder.getNamedAttr("h3.aliased", builder.getUnitAttr()));
    addArgument(
        ir::TensorType::get(builder.getContext(), typeOf(tensor.type), tensor.extents.size()),
        extra, tensor.name);
  }
  for (const Parameter &parameter : program.parameters)
    addArgument(typeOf(parameter.type), {}, parameter.name);
  for (auto [index, dim] : llvm::enumerate(program.dims))
    if (!dim.fixed && !dim.definition)
      addArgument(builder.getIndexType(),
                  builder.getNamedAttr("h3.dim", builder.getI64IntegerAttr(index)), dim.name);

  auto op = ir::OperatorOp::create(
      builder, builder.getUnknownLoc(), program.name, builder.getFunctionType(types, {}),
      builder.getArrayAttr(SmallVector<Attribute>(attributes.begin(), attributes.end())),
      ArrayAttr());
  SmallVector<Location> locations(types.size(), builder.getUnknownLoc());
  entry = builder.createBlock(&op.getBody(), {}, types, locations);
  auto argument = entry->args_begin();
  for (Value &tensor : tensors)
    tensor = *argument++;
  for (Value &parameter : parameters)
    parameter = *argument++;
  for (auto [index, dim] : llvm::enumerate(program.dims))
    if (!dim.fixed && !dim.definition)
      dims[index] = *argument++;

  builder.setInsertionPointToEnd(entry);
  ir::YieldOp::create(builder, builder.getUnknownLoc());
  builder.setInsertionPoint(entry->getTerminator());
  for (const Statement &statement : program.body)
    importStatement(statement);
  if (!error.empty())
    return {};
  return module;
}

} // namespace

OwningOpRef<ModuleOp> importProgram(MLIRContext &context, const Program &program,
                                    std::string &error) {
  context.loadDialect<ir::H3Dialect>();
  Importer importer(context, program);
  OwningOpRef<ModuleOp> module = importer.run();
  error = importer.error;
  return module;
}

} // namespace h3
