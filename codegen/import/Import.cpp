//===-- codegen/import/Import.cpp - Typed program to h3 dialect -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/import/Importer.h"

using namespace mlir;

namespace h3 {

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
/// the second level; a row behind them is a third, which h3-split-rows undoes.
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

  // A row's own axes come behind the places. Places of the equation itself inside a `for` make a
  // level of their own: the row may be different for each.
  unsigned rowRank = tensor.extents.size() - equation.places.size();
  Imported row;
  if (rowRank && !inner.empty()) {
    auto forall = ir::ForallOp::create(builder, loc, innerExtents);
    for (auto [variable, argument] : llvm::zip(inner, forall.getIndices()))
      indices[variable] = argument;
    builder.setInsertionPointToStart(&forall.getBody().front());
    inner.clear();
    innerExtents.clear();
  }
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
    if (tensor.mayAlias)
      extra.push_back(
          builder.getNamedAttr("h3.alias", builder.getI64IntegerAttr(*tensor.mayAlias)));
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

OwningOpRef<ModuleOp> importProgram(MLIRContext &context, const Program &program,
                                    std::string &error) {
  context.loadDialect<ir::H3Dialect>();
  Importer importer(context, program);
  OwningOpRef<ModuleOp> module = importer.run();
  error = importer.error;
  return module;
}

} // namespace h3
