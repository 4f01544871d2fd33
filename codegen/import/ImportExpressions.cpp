//===-- codegen/import/ImportExpressions.cpp - Expressions to h3 dialect --===//
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

#include "codegen/import/Importer.h"

using namespace mlir;

namespace h3 {

static Imported scalarOf(Value value, bool isStatic) { return {{value}, {}, isStatic}; }

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
    return scalarOf(parameters[expr.id], true);
  case h3::Expr::Kind::SizeValue:
    return scalarOf(sizeValue(*expr.size), true);
  case h3::Expr::Kind::Index:
    return scalarOf(indices[expr.id], true);
  case h3::Expr::Kind::Local:
    return locals[expr.id];
  case h3::Expr::Kind::Tensor:
    return {{}, {{tensors[expr.id]}, {}, {}}, false};
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
    return scalarOf(record.scalars[expr.id], record.isStatic);
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
  return scalarOf(arith::ConstantOp::create(builder, location(expr.range), value), true);
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
    return scalarOf(comparison(expr, operands[0], operands[1], loc), isStatic);
  case Builtin::And:
    return scalarOf(builder.createOrFold<arith::AndIOp>(loc, operands[0], operands[1]), isStatic);
  case Builtin::Or:
    return scalarOf(builder.createOrFold<arith::OrIOp>(loc, operands[0], operands[1]), isStatic);
  case Builtin::Not: {
    Value one = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    return scalarOf(builder.createOrFold<arith::XOrIOp>(loc, operands[0], one), isStatic);
  }
  default:
    break;
  }
  bool isInteger = h3::isInteger(operandType) && expr.op != Builtin::FromBits;
  return scalarOf(isInteger ? integerBuiltin(expr, operands, loc)
                            : floatBuiltin(expr, operands, loc),
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

/// A directed rounding of a 16-bit type goes by way of f32: rounding in one direction twice is
/// rounding once.
Value Importer::directedHalf(const h3::Expr &expr, ArrayRef<Value> operands, Location loc) {
  auto rounding = static_cast<ir::Rounding>(expr.rounding);
  SmallVector<Value> wide;
  for (Value operand : operands)
    wide.push_back(ir::ConvertOp::create(builder, loc, builder.getF32Type(), operand,
                                         ir::Rounding::NearestEven, false));
  h3::Expr single = expr;
  single.type.scalar = ScalarType::F32;
  Value result = floatBuiltin(single, wide, loc);
  if (!result)
    return {};
  return ir::ConvertOp::create(builder, loc, typeOf(expr.type.scalar), result, rounding, false);
}

Value Importer::floatBuiltin(const h3::Expr &expr, ArrayRef<Value> v, Location loc) {
  auto rounding = static_cast<ir::Rounding>(expr.rounding);
  mlir::Type type = typeOf(expr.type.scalar);
  bool isDirected = rounding != ir::Rounding::NearestEven;
  if (isDirected && (type.isF16() || type.isBF16()))
    return directedHalf(expr, v, loc);
  auto approx = [&](ir::Approximation function) -> Value {
    return ir::ApproxOp::create(builder, loc, type, function, v[0]);
  };
  switch (expr.op) {
  case Builtin::Add:
    return ir::AddOp::create(builder, loc, type, v[0], v[1], rounding);
  case Builtin::Sub:
    if (isDirected) // as the instructions have it
      return ir::AddOp::create(builder, loc, type, v[0], ir::NegOp::create(builder, loc, v[1]),
                               rounding);
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
  return scalarOf(value, operand.isStatic);
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
  auto read = [&](Value base) -> Value {
    if (isa<ir::TensorType>(base.getType()))
      return ir::LoadOp::create(builder, loc, base, applied.leading);
    return ir::AtOp::create(builder, loc, base, applied.leading);
  };
  Imported element;
  for (Value base : applied.bases)
    element.scalars.push_back(applied.inRange
                                  ? readChecked(applied.inRange, loc, [&] { return read(base); })
                                  : read(base));
  return element;
}

/// An index from data outside its extent selects nothing: a float reads NaN, an integer 0.
Value Importer::readChecked(Value inRange, Location loc, llvm::function_ref<Value()> read) {
  auto makeBlock = [&](Region &region) {
    OpBuilder::InsertionGuard guard(builder);
    return builder.createBlock(&region);
  };
  // The type is known only when the element is read.
  Region then;
  Value value;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(makeBlock(then));
    value = read();
    scf::YieldOp::create(builder, loc, value);
  }
  auto checked = scf::IfOp::create(builder, loc, value.getType(), inRange, /*withElse=*/true);
  checked.getThenRegion().takeBody(then);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&checked.getElseRegion().front());
  TypedAttr nothing = builder.getZeroAttr(value.getType());
  if (auto type = dyn_cast<FloatType>(value.getType()))
    nothing = FloatAttr::get(
        type, APFloat(type.getFloatSemantics(), APInt::getSignedMaxValue(type.getWidth())));
  scf::YieldOp::create(builder, loc, arith::ConstantOp::create(builder, loc, nothing).getResult());
  return checked.getResult(0);
}

Imported Importer::importAccess(const h3::Expr &expr) {
  Location loc = location(expr.range);
  Imported row = import(*expr.operands[0]);
  SmallVector<Value> at;
  ArrayRef<Extent> extents(expr.operands[0]->type.extents);
  for (auto [axis, subscript] : llvm::enumerate(expr.subscripts)) {
    if (subscript.isData) {
      Value data = importScalar(*subscript.digits.front());
      if (!data)
        return {};
      data = toI64(data, loc);
      if (!data.getType().isInteger(64))
        data = arith::ExtSIOp::create(builder, loc, builder.getI64Type(), data);
      Value zero = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0));
      Value extent = toI64(sizeValue(*extents[axis].size), loc);
      Value inside = arith::AndIOp::create(
          builder, loc, arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, data, zero),
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, data, extent));
      row.row.inRange =
          row.row.inRange ? arith::AndIOp::create(builder, loc, row.row.inRange, inside) : inside;
      at.push_back(toIndex(data, loc));
      continue;
    }
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

} // namespace h3
