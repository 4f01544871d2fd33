//===-- codegen/dialect/H3.cpp - The h3 dialect ---------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/dialect/H3.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/DialectImplementation.h>
#include <mlir/Interfaces/FunctionImplementation.h>

using namespace mlir;
using namespace h3::ir;

#include "codegen/dialect/H3Dialect.cpp.inc"
#include "codegen/dialect/H3Enums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "codegen/dialect/H3Attributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "codegen/dialect/H3Types.cpp.inc"
#define GET_OP_CLASSES
#include "codegen/dialect/H3Ops.cpp.inc"

void H3Dialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "codegen/dialect/H3Types.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "codegen/dialect/H3Attributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "codegen/dialect/H3Ops.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// #h3.order
//===----------------------------------------------------------------------===//

static constexpr StringLiteral joinNames[] = {"serial", "halving", "adjacent"};

void OrderAttr::print(AsmPrinter &printer) const {
  printer << "<(";
  llvm::interleaveComma(getDigits(), printer, [&](const OrderDigit &digit) {
    printer << (digit.name ? digit.name.getValue() : "_");
    if (digit.radix)
      printer << ": " << digit.radix;
  });
  printer << ")";
  for (const OrderStage &stage : getStages())
    printer << " then " << joinNames[static_cast<unsigned>(stage.join)] << " "
            << getDigits()[stage.digit].name.getValue();
  printer << ">";
}

Attribute OrderAttr::parse(AsmParser &parser, Type) {
  SmallVector<OrderDigit> digits;
  SmallVector<OrderStage> stages;
  auto parseDigit = [&]() -> ParseResult {
    StringRef name;
    int64_t radix = 0;
    if (parser.parseKeyword(&name))
      return failure();
    if (succeeded(parser.parseOptionalColon()) && parser.parseInteger(radix))
      return failure();
    digits.push_back(
        {name == "_" ? StringAttr() : StringAttr::get(parser.getContext(), name), radix});
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseDigit))
    return {};
  while (succeeded(parser.parseOptionalKeyword("then"))) {
    StringRef kind, digit;
    if (parser.parseKeyword(&kind) || parser.parseKeyword(&digit))
      return {};
    const auto *join = llvm::find(joinNames, kind);
    const auto *named = llvm::find_if(digits, [&](const OrderDigit &candidate) {
      return candidate.name && candidate.name.getValue() == digit;
    });
    if (join == std::end(joinNames) || named == digits.end()) {
      parser.emitError(loc, "expected serial, halving or adjacent and the name of a digit, found '")
          << kind << " " << digit << "'";
      return {};
    }
    stages.push_back({static_cast<Join>(join - std::begin(joinNames)),
                      static_cast<unsigned>(named - digits.begin())});
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), digits, stages);
}

LogicalResult OrderAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<OrderDigit> digits, ArrayRef<OrderStage> stages) {
  if (llvm::count_if(digits, [](const OrderDigit &digit) { return digit.radix == 0; }) > 1)
    return emitError() << "an order has at most one digit without a radix";
  for (const OrderDigit &digit : digits)
    if (digit.radix < 0)
      return emitError() << "a radix is positive, found " << digit.radix;
  for (const OrderStage &stage : stages)
    if (stage.join != Join::Serial && !llvm::isPowerOf2_64(digits[stage.digit].radix))
      return emitError() << joinNames[static_cast<unsigned>(stage.join)]
                         << " needs a radix that is a power of two, digit '"
                         << digits[stage.digit].name.getValue() << "' has "
                         << digits[stage.digit].radix;
  for (auto [index, digit] : llvm::enumerate(digits)) {
    auto joins = llvm::count_if(stages, [&](const OrderStage &s) { return s.digit == index; });
    if (digit.name && joins != 1)
      return emitError() << "digit '" << digit.name.getValue() << "' is joined by " << joins
                         << " stages, expected one";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// h3.operator
//===----------------------------------------------------------------------===//

ParseResult OperatorOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> arguments, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(arguments, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void OperatorOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false,
                                           getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}

//===----------------------------------------------------------------------===//
// h3.forall and h3.row: `(%i, %j) in (%n, %m)` and a region over the indices
//===----------------------------------------------------------------------===//

static ParseResult parseIndexSpace(OpAsmParser &parser, OperationState &result,
                                   SmallVectorImpl<OpAsmParser::Argument> &indices) {
  SmallVector<OpAsmParser::UnresolvedOperand> extents;
  Type index = parser.getBuilder().getIndexType();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseArgumentList(indices, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("in") || parser.parseOperandList(extents, OpAsmParser::Delimiter::Paren))
    return failure();
  if (indices.size() != extents.size())
    return parser.emitError(loc, "expected as many extents as indices");
  for (OpAsmParser::Argument &argument : indices)
    argument.type = index;
  return parser.resolveOperands(extents, index, result.operands);
}

static void printIndexSpace(OpAsmPrinter &printer, Region &body, OperandRange extents) {
  printer << " (";
  llvm::interleaveComma(body.getArguments(), printer,
                        [&](BlockArgument argument) { printer << argument; });
  printer << ") in (" << extents << ")";
}

static LogicalResult verifyIndexSpace(Operation *op, Region &body, OperandRange extents) {
  if (body.getNumArguments() != extents.size())
    return op->emitOpError() << "has " << extents.size() << " extents and "
                             << body.getNumArguments() << " indices";
  for (BlockArgument argument : body.getArguments())
    if (!argument.getType().isIndex())
      return op->emitOpError() << "has an index of type " << argument.getType();
  return success();
}

static void buildIndexSpace(OpBuilder &builder, OperationState &state, ValueRange extents) {
  OpBuilder::InsertionGuard guard(builder);
  state.addOperands(extents);
  SmallVector<Type> types(extents.size(), builder.getIndexType());
  SmallVector<Location> locations(extents.size(), state.location);
  builder.createBlock(state.addRegion(), {}, types, locations);
}

void ForallOp::build(OpBuilder &builder, OperationState &state, ValueRange extents) {
  buildIndexSpace(builder, state, extents);
  ensureTerminator(*state.regions.front(), builder, state.location);
}

ParseResult ForallOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> indices;
  Region *body = result.addRegion();
  if (parseIndexSpace(parser, result, indices) || parser.parseRegion(*body, indices))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return parser.parseOptionalAttrDict(result.attributes);
}

void ForallOp::print(OpAsmPrinter &printer) {
  printIndexSpace(printer, getBody(), getExtents());
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs());
}

LogicalResult ForallOp::verify() { return verifyIndexSpace(*this, getBody(), getExtents()); }

void RowOp::build(OpBuilder &builder, OperationState &state, ValueRange extents, Type element) {
  buildIndexSpace(builder, state, extents);
  state.addTypes(RowType::get(builder.getContext(), element, extents.size()));
}

ParseResult RowOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> indices;
  Type type;
  if (parseIndexSpace(parser, result, indices) || parser.parseColonType(type) ||
      parser.parseRegion(*result.addRegion(), indices))
    return failure();
  result.addTypes(type);
  return parser.parseOptionalAttrDict(result.attributes);
}

void RowOp::print(OpAsmPrinter &printer) {
  printIndexSpace(printer, getBody(), getExtents());
  printer << " : " << getType() << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs());
}

LogicalResult RowOp::verify() {
  if (failed(verifyIndexSpace(*this, getBody(), getExtents())))
    return failure();
  if (getType().getRank() != getExtents().size())
    return emitOpError() << "has " << getExtents().size() << " extents and the type " << getType();
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield || yield.getValues().getTypes() != TypeRange(getType().getElementType()))
    return emitOpError() << "must yield one value of type " << getType().getElementType();
  return success();
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

template <typename Op> static LogicalResult verifyRank(Op op, unsigned rank) {
  if (op.getIndices().size() != rank)
    return op.emitOpError() << "has " << op.getIndices().size() << " indices for rank " << rank;
  return success();
}

LogicalResult AtOp::verify() { return verifyRank(*this, getRow().getType().getRank()); }
LogicalResult LoadOp::verify() { return verifyRank(*this, getTensor().getType().getRank()); }
LogicalResult StoreOp::verify() { return verifyRank(*this, getTensor().getType().getRank()); }

LogicalResult ReduceOp::verify() {
  TypeRange states = getResultTypes();
  if (hasSeeds() && TypeRange(getSeeds()) != states)
    return emitOpError("has seeds and results of different types");
  auto check = [&](Region &region, ArrayRef<Type> arguments, StringRef name) -> LogicalResult {
    if (region.getArgumentTypes() != TypeRange(arguments))
      return emitOpError() << "has a " << name << " whose arguments do not fit";
    auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
    if (!yield || yield.getValues().getTypes() != states)
      return emitOpError() << "has a " << name << " that does not yield the state";
    return success();
  };
  SmallVector<Type> step(getExtents().getTypes());
  if (hasSeeds())
    llvm::append_range(step, states);
  SmallVector<Type> join(states);
  llvm::append_range(join, states);
  if (failed(check(getStep(), step, "step")) || failed(check(getJoin(), join, "join")))
    return failure();
  if (!getOrder() && hasSeeds())
    return emitOpError("has seeds and no order");
  return success();
}

LogicalResult ConvertOp::verify() {
  Type from = getElementTypeOrSelf(getOperand()), to = getElementTypeOrSelf(getType());
  if (from == to)
    return emitOpError() << "converts " << from << " to itself";
  if (isa<FloatType>(from) && !isa<FloatType>(to))
    return emitOpError() << "converts " << from << " to " << to
                         << ", but a float has no conversion to an integer";
  if (getSaturate() && !isa<Float8E4M3FNType, Float8E5M2Type>(to))
    return emitOpError() << "saturates to " << to << ", which is not an 8-bit type";
  return success();
}
