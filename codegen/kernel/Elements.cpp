//===-- codegen/kernel/Elements.cpp - Code for a vector of elements -------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Elements.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/IR/Matchers.h>

using namespace mlir;

namespace h3 {

void Elements::fail(Operation *op, const std::string &what) {
  if (!message.empty())
    return;
  if (auto place = dyn_cast<FileLineColLoc>(op->getLoc()))
    message = place.getFilename().str() + ":" + std::to_string(place.getLine()) + ":" +
              std::to_string(place.getColumn()) + ": ";
  message += what;
}

/// Constants stand once, at the head of the kernel.
Value Elements::constant(TypedAttr value) {
  Value &known = constants[value];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(head);
    known = arith::ConstantOp::create(builder, builder.getUnknownLoc(), value);
  }
  return known;
}

Value Elements::constant(int64_t value) {
  return constant(builder.getIntegerAttr(indexType, value));
}

void Elements::bindElement(Value element, Value base, unsigned width) {
  vector = width;
  elementBases[element] = base;
}

void Elements::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    emit(op);
}

void Elements::emit(Operation &op) {
  if (!message.empty())
    return;
  TypeSwitch<Operation *>(&op)
      .Case([&](ir::LoadOp load) { emitLoad(load); })
      .Case([&](ir::StoreOp store) { emitStore(store); })
      .Case([&](scf::IfOp branch) { emitIf(branch); })
      .Case([&](arith::ConstantOp constant) { emitConstant(constant); })
      .Case([&](arith::IndexCastOp cast) { emitCast(cast); })
      .Default([&](Operation *other) { emitPure(*other); });
}

//===----------------------------------------------------------------------===//
// Values of the elements
//===----------------------------------------------------------------------===//

bool Elements::isElementIndex(Value value) const {
  return elementBases.contains(value) ||
         (value.getDefiningOp() && elementIndices.contains(value.getDefiningOp()));
}

bool Elements::isVector(Value value) const {
  Value known = values.lookup(value);
  return known && isa<VectorType>(known.getType());
}

bool Elements::isUniform(Value value) const { return values.contains(value) && !isVector(value); }

Value Elements::emitted(Value value) {
  if (isElementIndex(value)) {
    if (soleLane >= 0 || vector == 1)
      return ofLane(value, std::max(soleLane, 0));
    return ofAllLanes(value);
  }
  auto known = values.find(value);
  assert(known != values.end() && "operands are emitted before their users");
  if (soleLane >= 0 && isa<VectorType>(known->second.getType()))
    return extract(known->second, soleLane);
  return known->second;
}

/// The index arithmetic of one element, as scalars.
Value Elements::ofLane(Value value, unsigned lane) {
  if (Value base = elementBases.lookup(value)) {
    if (lane == 0)
      return base;
    return arith::AddIOp::create(builder, base.getLoc(), base, constant(lane));
  }
  if (!isElementIndex(value))
    return values.lookup(value);
  SmallVector<Value> operands;
  for (Value operand : value.getDefiningOp()->getOperands())
    operands.push_back(ofLane(operand, lane));
  return clone(*value.getDefiningOp(), operands);
}

/// The same for all elements, as vectors.
Value Elements::ofAllLanes(Value value) {
  if (Value base = elementBases.lookup(value)) {
    SmallVector<APInt> steps;
    for (unsigned lane = 0; lane < vector; ++lane)
      steps.push_back(APInt(indexType.getWidth(), lane));
    auto type = VectorType::get(vector, indexType);
    Value offsets = constant(DenseElementsAttr::get(type, steps));
    return arith::AddIOp::create(builder, base.getLoc(), broadcast(base), offsets);
  }
  if (!isElementIndex(value))
    return broadcast(values.lookup(value));
  SmallVector<Value> operands;
  for (Value operand : value.getDefiningOp()->getOperands())
    operands.push_back(ofAllLanes(operand));
  return clone(*value.getDefiningOp(), operands);
}

Value Elements::broadcast(Value scalar) {
  if (isa<VectorType>(scalar.getType()))
    return scalar;
  Location loc = scalar.getLoc();
  auto type = VectorType::get(vector, scalar.getType());
  if (auto known = scalar.getDefiningOp<arith::ConstantOp>())
    return constant(DenseElementsAttr::get(type, Attribute(known.getValue())));
  Value first =
      LLVM::InsertElementOp::create(builder, loc, LLVM::PoisonOp::create(builder, loc, type),
                                    scalar, constant(builder.getI32IntegerAttr(0)));
  SmallVector<int32_t> zeros(vector, 0);
  return LLVM::ShuffleVectorOp::create(builder, loc, first, first, zeros);
}

Value Elements::extract(Value whole, unsigned lane) {
  return LLVM::ExtractElementOp::create(builder, whole.getLoc(), whole,
                                        constant(builder.getI32IntegerAttr(lane)));
}

Value Elements::gather(ArrayRef<Value> lanes) {
  Location loc = lanes.front().getLoc();
  auto type = VectorType::get(lanes.size(), lanes.front().getType());
  Value whole = LLVM::PoisonOp::create(builder, loc, type);
  for (auto [lane, value] : llvm::enumerate(lanes))
    whole = LLVM::InsertElementOp::create(builder, loc, whole, value,
                                          constant(builder.getI32IntegerAttr(lane)));
  return whole;
}

/// A copy of a pure operation with one result; a vector operation if an operand is a vector.
Value Elements::clone(Operation &op, ArrayRef<Value> operands) {
  bool isVector =
      llvm::any_of(operands, [](Value operand) { return isa<VectorType>(operand.getType()); });
  IRMapping mapping;
  for (auto [index, operand] : llvm::enumerate(operands)) {
    // One condition may choose between whole vectors.
    bool keepsScalar = isa<arith::SelectOp>(op) && index == 0;
    mapping.map(op.getOperand(index), isVector && !keepsScalar ? broadcast(operand) : operand);
  }
  Operation *copy = builder.clone(op, mapping);
  for (Value result : copy->getResults()) {
    mlir::Type type = kernelType(result.getType());
    result.setType(isVector ? VectorType::get(vector, type) : type);
  }
  return copy->getResult(0);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Whether \p op computes an index or a condition from the element's index and from indices and
/// conditions that are the same for all elements.
bool Elements::isIndexArithmetic(Operation &op) const {
  auto isIndexOrCondition = [](mlir::Type type) { return type.isIndex() || type.isInteger(1); };
  return isIndexOrCondition(op.getResult(0).getType()) &&
         llvm::any_of(op.getOperands(), [&](Value operand) { return isElementIndex(operand); }) &&
         llvm::all_of(op.getOperands(), [&](Value operand) {
           return isIndexOrCondition(operand.getType()) && !isVector(operand);
         });
}

void Elements::emitPure(Operation &op) {
  if (op.getNumRegions() || op.getNumResults() != 1 || !isPure(&op))
    return fail(&op, "'" + op.getName().getStringRef().str() + "' has no code generation here");
  if (isIndexArithmetic(op)) {
    elementIndices.insert(&op);
    return;
  }
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(isa<arith::SelectOp>(op) && operand == op.getOperand(0)
                           ? emittedCondition(operand)
                           : emitted(operand));
  bind(op.getResult(0), clone(op, operands));
}

void Elements::emitConstant(arith::ConstantOp op) {
  TypedAttr value = op.getValue();
  if (op.getType().isIndex())
    value = builder.getIntegerAttr(indexType, cast<IntegerAttr>(value).getInt());
  bind(op, constant(value));
}

/// Between `index` and i64: the variant's index type is as wide or narrower.
void Elements::emitCast(arith::IndexCastOp op) {
  Value value = emitted(op.getIn());
  mlir::Type to = kernelType(op.getType());
  unsigned from = getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  unsigned width = to.getIntOrFloatBitWidth();
  if (auto type = dyn_cast<VectorType>(value.getType()))
    to = VectorType::get(type.getShape(), to);
  if (from < width)
    value = arith::ExtSIOp::create(builder, op.getLoc(), to, value);
  else if (from > width)
    value = arith::TruncIOp::create(builder, op.getLoc(), to, value);
  bind(op, value);
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

bool Elements::decompose(Value value, bool negated, Affine &affine) {
  if (elementBases.contains(value)) {
    if (negated || affine.element)
      return false;
    affine.element = value;
    return true;
  }
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    affine.constant += negated ? -constant.getSExtValue() : constant.getSExtValue();
    return true;
  }
  if (auto sum = value.getDefiningOp<arith::AddIOp>())
    return decompose(sum.getLhs(), negated, affine) && decompose(sum.getRhs(), negated, affine);
  if (auto difference = value.getDefiningOp<arith::SubIOp>())
    return decompose(difference.getLhs(), negated, affine) &&
           decompose(difference.getRhs(), !negated, affine);
  if (!isUniform(value))
    return false;
  affine.terms.push_back({value, negated});
  return true;
}

bool Elements::agrees(Value condition, std::vector<plan::Condition> &pending) {
  if (!isElementIndex(condition))
    return isUniform(condition);
  Operation *op = condition.getDefiningOp();
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return agrees(op->getOperand(0), pending) && agrees(op->getOperand(1), pending);
  auto comparison = dyn_cast_or_null<arith::CmpIOp>(op);
  if (!comparison)
    return false;
  Affine lhs, rhs;
  if (!decompose(comparison.getLhs(), false, lhs) || !decompose(comparison.getRhs(), false, rhs))
    return false;
  // element + a < b for all of a vector or for none: when b - a is a multiple of its length.
  int64_t threshold = rhs.constant - lhs.constant;
  arith::CmpIPredicate predicate = comparison.getPredicate();
  bool swapped = !lhs.element;
  if (swapped)
    threshold = -threshold;
  switch (predicate) {
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
  case arith::CmpIPredicate::sge:
  case arith::CmpIPredicate::uge:
    threshold += swapped ? 1 : 0; // b < element is element >= b + 1
    break;
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ule:
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::ugt:
    threshold += swapped ? 0 : 1; // element <= b is element < b + 1
    break;
  default:
    return false;
  }
  if (threshold % vector != 0)
    return false;
  for (const Affine &side : {lhs, rhs})
    for (auto [term, negated] : side.terms)
      if (!guards.multiple(term, vector, pending))
        return false;
  return true;
}

/// One condition for the whole vector if its elements agree, else one for each.
Value Elements::emittedCondition(Value condition) {
  std::vector<plan::Condition> pending;
  if (soleLane >= 0 || vector == 1 || !isElementIndex(condition) || !agrees(condition, pending))
    return emitted(condition);
  guards.commit(pending);
  return ofLane(condition, 0);
}

void Elements::emitIf(scf::IfOp op) {
  Value condition = emittedCondition(op.getCondition());
  if (!isa<VectorType>(condition.getType()))
    return emitIfOnce(op, condition);
  SmallVector<SmallVector<Value>> results(op.getNumResults());
  for (unsigned lane = 0; lane < vector; ++lane) {
    restrictTo(lane);
    emitIfOnce(op, extract(condition, lane));
    if (!message.empty())
      return;
    for (auto [result, list] : llvm::zip(op.getResults(), results))
      list.push_back(emitted(result));
  }
  restrictTo(-1);
  for (auto [result, list] : llvm::zip(op.getResults(), results))
    bind(result, gather(list));
}

/// Which results are vectors is known only when both branches are emitted, so the branches are
/// built first and then moved into an operation with the right results.
void Elements::emitIfOnce(scf::IfOp op, Value condition) {
  Location loc = op.getLoc();
  auto draft = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/true);
  SmallVector<Value> yielded[2];
  Region *drafts[] = {&draft.getThenRegion(), &draft.getElseRegion()};
  Region *sources[] = {&op.getThenRegion(), &op.getElseRegion()};
  for (int side = 0; side < 2; ++side) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(drafts[side]->front().getTerminator());
    if (sources[side]->empty())
      continue;
    emitBlock(sources[side]->front());
    if (!message.empty())
      return;
    for (Value value : sources[side]->front().getTerminator()->getOperands())
      yielded[side].push_back(emitted(value));
  }
  if (op.getNumResults() == 0)
    return;

  SmallVector<mlir::Type> types;
  for (auto [a, b] : llvm::zip(yielded[0], yielded[1]))
    types.push_back(isa<VectorType>(a.getType()) ? a.getType() : b.getType());
  auto branch = scf::IfOp::create(builder, loc, types, condition, /*withElseRegion=*/true);
  Region *regions[] = {&branch.getThenRegion(), &branch.getElseRegion()};
  for (int side = 0; side < 2; ++side) {
    regions[side]->takeBody(*drafts[side]);
    Block &block = regions[side]->front();
    block.getTerminator()->erase();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&block);
    for (auto [value, type] : llvm::zip(yielded[side], types))
      if (isa<VectorType>(type))
        value = broadcast(value);
    scf::YieldOp::create(builder, loc, yielded[side]);
  }
  draft.erase();
  for (auto [result, value] : llvm::zip(op.getResults(), branch.getResults()))
    bind(result, value);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value Elements::address(const KernelTensor &tensor, mlir::Type element, ArrayRef<Value> indices,
                        bool unitStride, Location loc) {
  Value offset;
  for (auto [axis, index] : llvm::enumerate(indices)) {
    Value part = index;
    if (!unitStride || axis + 1 < indices.size())
      part = arith::MulIOp::create(builder, loc, part, tensor.strides[axis]);
    offset = offset ? arith::AddIOp::create(builder, loc, offset, part) : part;
  }
  if (!offset)
    return tensor.pointer;
  return LLVM::GEPOp::create(builder, loc, tensor.pointer.getType(), element, tensor.pointer,
                             ValueRange{offset});
}

unsigned Elements::pieceLength(Value tensor, OperandRange indices, Affine &last) {
  if (!accessBytes || vector == 1 || soleLane >= 0 || indices.empty())
    return 1;
  for (Value index : indices.drop_back())
    if (!isUniform(index))
      return 1;
  if (!decompose(indices.back(), false, last) || !last.element)
    return 1;
  unsigned bytes =
      cast<ir::TensorType>(tensor.getType()).getElementType().getIntOrFloatBitWidth() / 8;
  unsigned length = std::min(vector, accessBytes / bytes);
  std::vector<plan::Condition> pending;
  if (length < 2 || last.constant % length != 0)
    return 1;
  for (auto [term, negated] : last.terms)
    if (!guards.multiple(term, length, pending))
      return 1;
  guards.commit(pending);
  guards.vectorAccess(tensors[tensor].number, length);
  return length;
}

Value Elements::pieceAddress(Value tensor, OperandRange indices, const Affine &last, unsigned piece,
                             unsigned length, Location loc) {
  Value index = elementBases[last.element];
  for (auto [term, negated] : last.terms) {
    if (negated)
      index = arith::SubIOp::create(builder, loc, index, emitted(term));
    else
      index = arith::AddIOp::create(builder, loc, index, emitted(term));
  }
  if (int64_t shift = last.constant + static_cast<int64_t>(piece) * length)
    index = arith::AddIOp::create(builder, loc, index, constant(shift));
  SmallVector<Value> position;
  for (Value outer : indices.drop_back())
    position.push_back(emitted(outer));
  position.push_back(index);
  mlir::Type element = cast<ir::TensorType>(tensor.getType()).getElementType();
  return address(tensors[tensor], element, position, /*unitStride=*/true, loc);
}

Value Elements::laneAddress(Value tensor, mlir::Type element, OperandRange indices, unsigned lane,
                            Location loc) {
  SmallVector<Value> position;
  for (Value index : indices) {
    if (isElementIndex(index)) {
      position.push_back(ofLane(index, lane));
      continue;
    }
    Value known = emitted(index);
    position.push_back(isa<VectorType>(known.getType()) ? extract(known, lane) : known);
  }
  return address(tensors[tensor], element, position, false, loc);
}

void Elements::emitLoad(ir::LoadOp op) {
  Location loc = op.getLoc();
  Value tensor = op.getTensor();
  mlir::Type element = op.getType();
  if (isa<Float8E4M3FNType, Float8E5M2Type>(element))
    return fail(op, "8-bit floats have no code generation yet");
  bool isInvariant = tensors[tensor].isInvariant;
  unsigned bytes = element.getIntOrFloatBitWidth() / 8;
  auto load = [&](mlir::Type type, Value pointer, unsigned alignment) -> Value {
    return LLVM::LoadOp::create(builder, loc, type, pointer, alignment, /*isVolatile=*/false,
                                /*isNonTemporal=*/false, isInvariant);
  };

  Affine last;
  unsigned length = pieceLength(tensor, op.getIndices(), last);
  if (length > 1) {
    auto type = VectorType::get(length, element);
    SmallVector<Value> pieces;
    for (unsigned piece = 0; piece < vector / length; ++piece)
      pieces.push_back(load(type, pieceAddress(tensor, op.getIndices(), last, piece, length, loc),
                            length * bytes));
    // Neighbours are laid end to end, pair by pair.
    while (pieces.size() > 1) {
      SmallVector<Value> joined;
      for (size_t i = 0; i < pieces.size(); i += 2) {
        unsigned width = cast<VectorType>(pieces[i].getType()).getNumElements();
        auto mask = llvm::to_vector(llvm::seq<int32_t>(0, 2 * width));
        joined.push_back(
            LLVM::ShuffleVectorOp::create(builder, loc, pieces[i], pieces[i + 1], mask));
      }
      pieces = joined;
    }
    return bind(op, pieces.front());
  }

  bool varies = llvm::any_of(op.getIndices(),
                             [&](Value index) { return isElementIndex(index) || isVector(index); });
  if (soleLane >= 0 || vector == 1 || !varies)
    return bind(op, load(element,
                         laneAddress(tensor, element, op.getIndices(), std::max(soleLane, 0), loc),
                         bytes));
  SmallVector<Value> lanes;
  for (unsigned lane = 0; lane < vector; ++lane)
    lanes.push_back(load(element, laneAddress(tensor, element, op.getIndices(), lane, loc), bytes));
  bind(op, gather(lanes));
}

void Elements::emitStore(ir::StoreOp op) {
  Location loc = op.getLoc();
  Value tensor = op.getTensor();
  mlir::Type element = op.getValue().getType();
  if (isa<Float8E4M3FNType, Float8E5M2Type>(element))
    return fail(op, "8-bit floats have no code generation yet");
  if (element.isInteger(1))
    return fail(op, "bool tensors have no code generation");
  unsigned bytes = element.getIntOrFloatBitWidth() / 8;
  mlir::Type stored = builder.getIntegerType(bytes * 8);
  Value value = emitted(op.getValue());
  if (isa<FloatType>(element)) {
    mlir::Type bits = stored;
    if (auto type = dyn_cast<VectorType>(value.getType()))
      bits = VectorType::get(type.getShape(), stored);
    value = ir::ToBitsOp::create(builder, loc, bits, value);
  }

  Affine last;
  unsigned length = pieceLength(tensor, op.getIndices(), last);
  if (length > 1) {
    value = broadcast(value);
    for (unsigned piece = 0; piece < vector / length; ++piece) {
      Value part = value;
      if (length < vector) {
        auto mask = llvm::to_vector(llvm::seq<int32_t>(piece * length, (piece + 1) * length));
        part = LLVM::ShuffleVectorOp::create(builder, loc, value, value, mask);
      }
      Value pointer = pieceAddress(tensor, op.getIndices(), last, piece, length, loc);
      LLVM::StoreOp::create(builder, loc, part, pointer, length * bytes);
    }
    return;
  }
  bool varies = llvm::any_of(op.getIndices(), [&](Value index) { return isElementIndex(index); });
  unsigned count = soleLane >= 0 || !varies ? 1 : vector;
  for (unsigned lane = 0; lane < count; ++lane) {
    Value single = isa<VectorType>(value.getType()) ? extract(value, lane) : value;
    unsigned position = soleLane >= 0 ? soleLane : lane;
    LLVM::StoreOp::create(builder, loc, single,
                          laneAddress(tensor, stored, op.getIndices(), position, loc), bytes);
  }
}

} // namespace h3
