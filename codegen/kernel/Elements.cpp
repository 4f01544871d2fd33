//===-- codegen/kernel/Elements.cpp - Code for a vector of elements -------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Elements.h"

#include "codegen/transforms/CanonicalNaN.h"

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
  values.erase(element);
}

Elements::Lanes Elements::lanes(Value value) {
  auto known = values.find(value);
  if (known == values.end()) {
    // The numbers of the elements themselves are needed rarely: vector accesses need only the
    // first.
    assert(elementBases.contains(value) && "operands are emitted before their users");
    Value base = elementBases[value];
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(base);
    Lanes all{base};
    for (unsigned lane = 1; lane < vector; ++lane)
      all.push_back(arith::AddIOp::create(builder, base.getLoc(), base, constant(lane)));
    known = values.try_emplace(value, all).first;
  }
  if (soleLane >= 0 && known->second.size() > 1)
    return {known->second[soleLane]};
  return known->second;
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
// Arithmetic
//===----------------------------------------------------------------------===//

void Elements::emitPure(Operation &op) {
  if (op.getNumRegions() || !isPure(&op))
    return fail(&op, "'" + op.getName().getStringRef().str() + "' has no code generation here");
  SmallVector<Lanes> operands;
  size_t width = 1;
  for (Value operand : op.getOperands()) {
    operands.push_back(lanes(operand));
    width = std::max(width, operands.back().size());
  }
  SmallVector<Lanes> results(op.getNumResults());
  for (size_t lane = 0; lane < width; ++lane) {
    IRMapping mapping;
    for (auto [operand, mapped] : llvm::zip(op.getOperands(), operands))
      mapping.map(operand, mapped.size() == 1 ? mapped.front() : mapped[lane]);
    Operation *copy = builder.clone(op, mapping);
    for (auto [result, list] : llvm::zip(copy->getResults(), results)) {
      result.setType(kernelType(result.getType()));
      list.push_back(result);
    }
  }
  for (auto [result, list] : llvm::zip(op.getResults(), results))
    bind(result, list);
}

void Elements::emitConstant(arith::ConstantOp op) {
  TypedAttr value = op.getValue();
  if (op.getType().isIndex())
    value = builder.getIntegerAttr(indexType, cast<IntegerAttr>(value).getInt());
  bind(op, {constant(value)});
}

/// Between `index` and i64: the variant's index type is as wide or narrower.
void Elements::emitCast(arith::IndexCastOp op) {
  Lanes results;
  mlir::Type to = kernelType(op.getType());
  for (Value value : lanes(op.getIn())) {
    unsigned from = value.getType().getIntOrFloatBitWidth(), width = to.getIntOrFloatBitWidth();
    if (from < width)
      value = arith::ExtSIOp::create(builder, op.getLoc(), to, value);
    else if (from > width)
      value = arith::TruncIOp::create(builder, op.getLoc(), to, value);
    results.push_back(value);
  }
  bind(op, results);
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
  auto known = values.find(value);
  if (known == values.end() || known->second.size() != 1)
    return false;
  affine.terms.push_back({value, negated});
  return true;
}

bool Elements::agrees(Value condition, std::vector<plan::Condition> &pending) {
  if (lanes(condition).size() == 1)
    return true;
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

void Elements::emitIf(scf::IfOp op) {
  Lanes condition = lanes(op.getCondition());
  std::vector<plan::Condition> pending;
  if (agrees(op.getCondition(), pending)) {
    guards.commit(pending);
    emitIfOnce(op, condition.front());
    return;
  }
  SmallVector<Lanes> results(op.getNumResults());
  for (size_t lane = 0; lane < condition.size(); ++lane) {
    restrictTo(lane);
    emitIfOnce(op, condition[lane]);
    for (auto [result, list] : llvm::zip(op.getResults(), results))
      list.push_back(uniform(result));
  }
  restrictTo(-1);
  for (auto [result, list] : llvm::zip(op.getResults(), results))
    bind(result, list);
}

/// The results' lanes are known only when both branches are emitted, so the branches are built
/// first and then moved into an operation with the right results.
void Elements::emitIfOnce(scf::IfOp op, Value condition) {
  Location loc = op.getLoc();
  auto draft = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/true);
  SmallVector<Lanes> yielded[2];
  Region *drafts[] = {&draft.getThenRegion(), &draft.getElseRegion()};
  Region *sources[] = {&op.getThenRegion(), &op.getElseRegion()};
  for (int side = 0; side < 2; ++side) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(drafts[side]->front().getTerminator());
    if (sources[side]->empty())
      continue;
    emitBlock(sources[side]->front());
    for (Value value : sources[side]->front().getTerminator()->getOperands())
      yielded[side].push_back(message.empty() ? lanes(value) : Lanes{});
  }
  if (!message.empty() || op.getNumResults() == 0)
    return;

  SmallVector<mlir::Type> types;
  SmallVector<size_t> widths;
  for (auto [result, a, b] : llvm::zip(op.getResults(), yielded[0], yielded[1])) {
    widths.push_back(std::max(a.size(), b.size()));
    types.append(widths.back(), kernelType(result.getType()));
  }
  auto branch = scf::IfOp::create(builder, loc, types, condition, /*withElseRegion=*/true);
  Region *regions[] = {&branch.getThenRegion(), &branch.getElseRegion()};
  for (int side = 0; side < 2; ++side) {
    regions[side]->takeBody(*drafts[side]);
    SmallVector<Value> flat;
    for (auto [list, width] : llvm::zip(yielded[side], widths))
      for (size_t lane = 0; lane < width; ++lane)
        flat.push_back(list.size() == 1 ? list.front() : list[lane]);
    Block &block = regions[side]->front();
    block.getTerminator()->erase();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&block);
    scf::YieldOp::create(builder, loc, flat);
  }
  draft.erase();
  size_t next = 0;
  for (auto [result, width] : llvm::zip(op.getResults(), widths)) {
    Lanes list;
    for (size_t lane = 0; lane < width; ++lane)
      list.push_back(branch.getResult(next++));
    bind(result, list);
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

SmallVector<Value> Elements::indicesOf(OperandRange indices, unsigned lane) {
  SmallVector<Value> result;
  for (Value index : indices) {
    Lanes all = lanes(index);
    result.push_back(all.size() == 1 ? all.front() : all[lane]);
  }
  return result;
}

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
    if (lanes(index).size() != 1)
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

Value Elements::vectorAddress(Value tensor, OperandRange indices, const Affine &last,
                              unsigned piece, unsigned length, Location loc) {
  Value index = elementBases[last.element];
  for (auto [term, negated] : last.terms) {
    if (negated)
      index = arith::SubIOp::create(builder, loc, index, uniform(term));
    else
      index = arith::AddIOp::create(builder, loc, index, uniform(term));
  }
  if (int64_t shift = last.constant + static_cast<int64_t>(piece) * length)
    index = arith::AddIOp::create(builder, loc, index, constant(shift));
  SmallVector<Value> position = indicesOf(indices.drop_back(), 0);
  position.push_back(index);
  mlir::Type element = cast<ir::TensorType>(tensor.getType()).getElementType();
  return address(tensors[tensor], element, position, /*unitStride=*/true, loc);
}

void Elements::emitLoad(ir::LoadOp op) {
  Location loc = op.getLoc();
  Value tensor = op.getTensor();
  mlir::Type element = op.getType();
  if (isa<Float8E4M3FNType, Float8E5M2Type>(element))
    return fail(op, "8-bit floats have no code generation yet");
  const KernelTensor &access = tensors[tensor];
  unsigned bytes = element.getIntOrFloatBitWidth() / 8;
  Affine last;
  unsigned length = pieceLength(tensor, op.getIndices(), last);
  Lanes result;
  if (length > 1) {
    auto type = VectorType::get(length, element);
    for (unsigned piece = 0; piece < vector / length; ++piece) {
      Value pointer = vectorAddress(tensor, op.getIndices(), last, piece, length, loc);
      Value loaded =
          LLVM::LoadOp::create(builder, loc, type, pointer, length * bytes,
                               /*isVolatile=*/false, /*isNonTemporal=*/false, access.isInvariant);
      for (unsigned lane = 0; lane < length; ++lane)
        result.push_back(LLVM::ExtractElementOp::create(builder, loc, loaded,
                                                        constant(builder.getI32IntegerAttr(lane))));
    }
  } else {
    size_t width = 1;
    for (Value index : op.getIndices())
      width = std::max(width, lanes(index).size());
    for (unsigned lane = 0; lane < width; ++lane) {
      Value pointer = address(access, element, indicesOf(op.getIndices(), lane), false, loc);
      result.push_back(LLVM::LoadOp::create(builder, loc, element, pointer, bytes, false, false,
                                            access.isInvariant));
    }
  }
  bind(op, result);
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
  auto bits = [&](Value value) {
    return isa<FloatType>(element) ? canonicalBits(builder, loc, value) : value;
  };
  Lanes value = lanes(op.getValue());
  Affine last;
  unsigned length = pieceLength(tensor, op.getIndices(), last);
  if (length > 1) {
    auto type = VectorType::get(length, stored);
    for (unsigned piece = 0; piece < vector / length; ++piece) {
      Value whole = LLVM::PoisonOp::create(builder, loc, type);
      for (unsigned lane = 0; lane < length; ++lane) {
        Value single = value.size() == 1 ? value.front() : value[piece * length + lane];
        whole = LLVM::InsertElementOp::create(builder, loc, whole, bits(single),
                                              constant(builder.getI32IntegerAttr(lane)));
      }
      Value pointer = vectorAddress(tensor, op.getIndices(), last, piece, length, loc);
      LLVM::StoreOp::create(builder, loc, whole, pointer, length * bytes);
    }
    return;
  }
  size_t width = 1;
  for (Value index : op.getIndices())
    width = std::max(width, lanes(index).size());
  for (unsigned lane = 0; lane < width; ++lane) {
    Value single = value.size() == 1 ? value.front() : value[lane];
    Value pointer = address(tensors[tensor], stored, indicesOf(op.getIndices(), lane), false, loc);
    LLVM::StoreOp::create(builder, loc, bits(single), pointer, bytes);
  }
}

} // namespace h3
