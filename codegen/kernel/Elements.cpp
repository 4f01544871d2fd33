//===-- codegen/kernel/Elements.cpp - Code for a vector of elements -------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Elements.h"

#include <llvm/ADT/SmallPtrSet.h>
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

void Elements::enter(Value element, Leaf &entered, unsigned width) {
  vector = leafVector = width;
  chosen.clear();
  soleLane = -1;
  leaf = &entered;
  elementBases[element] = entered.base;
  Block *body = cast<BlockArgument>(element).getOwner();
  for (Value argument : body->getArguments())
    values.erase(argument);
  body->walk([&](Operation *op) {
    for (Value result : op->getResults())
      values.erase(result);
  });
  for (Operation &op : *body)
    if (auto known = entered.ready.find(&op); known != entered.ready.end())
      for (auto [result, value] : llvm::zip(op.getResults(), known->second))
        values[result] = value;
}

void Elements::leave() { setWidth(1); }

void Elements::setWidth(unsigned width) {
  vector = leafVector = width;
  chosen.clear();
  soleLane = -1;
  leaf = nullptr;
}

void Elements::restrictToLanes(ArrayRef<unsigned> lanes) {
  chosen.assign(lanes.begin(), lanes.end());
  vector = lanes.empty() ? leafVector : lanes.size();
  soleLane = -1;
}

bool Elements::isReady(Operation &op) const {
  bool result = true;
  op.walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      result &= op.isAncestor(operand.getParentRegion()->getParentOp()) || isBound(operand);
  });
  return result;
}

/// The operations of \p body that load, and those that their addresses follow from.
static llvm::SmallPtrSet<Operation *, 16> loadsOf(Block &body) {
  llvm::SmallPtrSet<Operation *, 16> wanted;
  for (Operation &op : llvm::reverse(body)) {
    bool loads = false;
    op.walk([&](ir::LoadOp) { loads = true; });
    loads |= llvm::any_of(op.getUsers(), [&](Operation *user) {
      Operation *inBody = body.findAncestorOpInBlock(*user);
      return inBody && wanted.contains(inBody);
    });
    if (loads)
      wanted.insert(&op);
  }
  return wanted;
}

void Elements::emitReady(Block &body, bool onlyLoads) {
  llvm::SmallPtrSet<Operation *, 16> loads;
  if (onlyLoads)
    loads = loadsOf(body);
  for (Operation &op : body.without_terminator())
    if (!isa<ir::StoreOp>(op) && !leaf->ready.contains(&op) && message.empty() &&
        (!onlyLoads || loads.contains(&op)) && isReady(op))
      emitAhead(op);
}

void Elements::emitAhead(Operation &op) {
  emit(op);
  // Index arithmetic has no value of its own.
  SmallVector<Value, 1> results;
  for (Value result : op.getResults())
    if (Value value = values.lookup(result))
      results.push_back(value);
  if (!results.empty())
    leaf->ready[&op] = results;
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
      .Case([&](ir::RemapOp remap) { emitRemap(remap); })
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
  auto type = dyn_cast<VectorType>(known->second.getType());
  if (!type)
    return known->second;
  bool isOfLeaf = !chosen.empty() && type.getNumElements() == leafVector;
  if (soleLane >= 0)
    return extract(known->second, isOfLeaf ? leafLane(soleLane) : soleLane);
  return isOfLeaf ? select(known->second, chosen) : known->second;
}

Value Elements::select(Value whole, ArrayRef<unsigned> lanes) {
  if (lanes.size() == 1)
    return extract(whole, lanes.front());
  SmallVector<int32_t> mask(lanes.begin(), lanes.end());
  if (mask ==
      llvm::to_vector(llvm::seq<int32_t>(0, cast<VectorType>(whole.getType()).getNumElements())))
    return whole;
  return LLVM::ShuffleVectorOp::create(builder, whole.getLoc(), whole, whole, mask);
}

/// The index arithmetic of one element, as scalars.
Value Elements::ofLane(Value value, unsigned lane) {
  if (Value base = elementBases.lookup(value)) {
    unsigned place = leafLane(lane);
    if (place == 0)
      return base; // exists
    return clamped(arith::AddIOp::create(builder, base.getLoc(), base, constant(place)));
  }
  if (!isElementIndex(value))
    return values.lookup(value);
  SmallVector<Value> operands;
  for (Value operand : value.getDefiningOp()->getOperands())
    operands.push_back(ofLane(operand, lane));
  return clone(*value.getDefiningOp(), operands);
}

Value Elements::clamped(Value index) {
  if (!leaf || !leaf->end)
    return index;
  Location loc = index.getLoc();
  Value last = arith::SubIOp::create(builder, loc, leaf->end, constant(1));
  if (isa<VectorType>(index.getType()))
    last = broadcast(last);
  return arith::MinSIOp::create(builder, loc, index, last);
}

Value Elements::exist(const Leaf &of, ArrayRef<unsigned> places) {
  Location loc = of.end.getLoc();
  Value end = spread(of.end, places.size()), offsets;
  if (places.size() == 1) {
    offsets = constant(places.front());
  } else {
    SmallVector<APInt> steps;
    for (unsigned place : places)
      steps.push_back(APInt(indexType.getWidth(), place));
    offsets = constant(DenseElementsAttr::get(VectorType::get(places.size(), indexType), steps));
  }
  Value index = arith::AddIOp::create(builder, loc, spread(of.first, places.size()), offsets);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, index, end);
}

/// The same for all elements, as vectors.
Value Elements::ofAllLanes(Value value) {
  if (Value base = elementBases.lookup(value)) {
    SmallVector<APInt> steps;
    for (unsigned lane = 0; lane < vector; ++lane)
      steps.push_back(APInt(indexType.getWidth(), leafLane(lane)));
    auto type = VectorType::get(vector, indexType);
    Value offsets = constant(DenseElementsAttr::get(type, steps));
    return clamped(arith::AddIOp::create(builder, base.getLoc(), broadcast(base), offsets));
  }
  if (!isElementIndex(value))
    return broadcast(values.lookup(value));
  SmallVector<Value> operands;
  for (Value operand : value.getDefiningOp()->getOperands())
    operands.push_back(ofAllLanes(operand));
  return clone(*value.getDefiningOp(), operands);
}

Value Elements::broadcast(Value scalar) { return spread(scalar, vector); }

Value Elements::spread(Value scalar, unsigned width) {
  if (width == 1 || isa<VectorType>(scalar.getType()))
    return scalar;
  Location loc = scalar.getLoc();
  auto type = VectorType::get(width, scalar.getType());
  if (auto known = scalar.getDefiningOp<arith::ConstantOp>())
    return constant(DenseElementsAttr::get(type, Attribute(known.getValue())));
  Value first =
      LLVM::InsertElementOp::create(builder, loc, LLVM::PoisonOp::create(builder, loc, type),
                                    scalar, constant(builder.getI32IntegerAttr(0)));
  SmallVector<int32_t> zeros(width, 0);
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
  // A quotient of indices is by an extent of the loop that it stands in, which is not 0.
  bool isTotal = isPure(&op) || isa<arith::DivUIOp, arith::RemUIOp>(op);
  if (op.getNumRegions() || op.getNumResults() != 1 || !isTotal)
    return fail(&op, "'" + op.getName().getStringRef().str() + "' has no code generation here");
  if (isIndexArithmetic(op)) {
    elementIndices.insert(&op);
    return;
  }
  if (auto select = dyn_cast<arith::SelectOp>(op))
    if (std::optional<SmallVector<bool>> taken = pattern(select.getCondition()))
      return emitPatternSelect(select, *taken);
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(isa<arith::SelectOp>(op) && operand == op.getOperand(0)
                           ? emittedCondition(operand)
                           : emitted(operand));
  bind(op.getResult(0), clone(op, operands));
}

void Elements::emitPatternSelect(arith::SelectOp op, ArrayRef<bool> taken) {
  auto chosen = [&](bool isTrue) { return isTrue ? op.getTrueValue() : op.getFalseValue(); };
  if (soleLane >= 0)
    return bind(op, emitted(chosen(taken[soleLane])));
  if (llvm::all_of(taken, [&](bool first) { return first == taken.front(); }))
    return bind(op, emitted(chosen(taken.front())));
  SmallVector<int32_t> mask;
  for (auto [lane, isTrue] : llvm::enumerate(taken))
    mask.push_back(isTrue ? lane : vector + lane);
  Value whenTrue = broadcast(emitted(op.getTrueValue()));
  Value whenFalse = broadcast(emitted(op.getFalseValue()));
  bind(op, LLVM::ShuffleVectorOp::create(builder, op.getLoc(), whenTrue, whenFalse, mask));
}

/// What all elements share is what the other thread has too.
void Elements::emitRemap(ir::RemapOp op) {
  Value own = emitted(op.getOwn());
  bool isShared = vector > 1 && !isa<VectorType>(own.getType());
  bind(op, isShared ? own : fetch(own, ofLane(op.getIndex(), 0)));
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

/// One condition for the whole vector if its elements agree, else one for each.
Value Elements::emittedCondition(Value condition) {
  Pending pending;
  if (soleLane >= 0 || vector == 1 || !isElementIndex(condition) || !agrees(condition, pending))
    return emitted(condition);
  guards.commit(pending);
  return ofLane(condition, 0);
}

void Elements::emitIf(scf::IfOp op) {
  if (std::optional<SmallVector<bool>> fixed = pattern(op.getCondition())) {
    emitPattern(op, *fixed);
    return;
  }
  Value condition = emittedCondition(op.getCondition());
  if (!isa<VectorType>(condition.getType()))
    return emitIfOnce(op, condition);
  emitEachLane(op, [&](unsigned lane) { emitIfOnce(op, extract(condition, lane)); });
}

/// Emits \p op for one element after the other, and puts the results together.
void Elements::emitEachLane(scf::IfOp op, llvm::function_ref<void(unsigned)> emitLane) {
  SmallVector<SmallVector<Value>> results(op.getNumResults());
  for (unsigned lane = 0; lane < vector; ++lane) {
    restrictTo(lane);
    emitLane(lane);
    if (!message.empty())
      return;
    for (auto [result, list] : llvm::zip(op.getResults(), results))
      list.push_back(emitted(result));
  }
  restrictTo(-1);
  for (auto [result, list] : llvm::zip(op.getResults(), results))
    bind(result, gather(list));
}

/// The elements' branches are known: each element takes its own, without a condition.
void Elements::emitPattern(scf::IfOp op, ArrayRef<bool> taken) {
  auto emitSide = [&](bool isTrue) {
    Region &side = isTrue ? op.getThenRegion() : op.getElseRegion();
    if (side.empty())
      return;
    emitBlock(side.front());
    if (message.empty())
      for (auto [result, value] :
           llvm::zip(op.getResults(), side.front().getTerminator()->getOperands()))
        bind(result, emitted(value));
  };
  bool isAlike = llvm::all_of(taken, [&](bool first) { return first == taken.front(); });
  if (soleLane >= 0 || isAlike)
    emitSide(taken[std::max(soleLane, 0)]);
  else
    emitEachLane(op, [&](unsigned lane) { emitSide(taken[lane]); });
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
    ++branchDepth;
    emitBlock(sources[side]->front());
    --branchDepth;
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

} // namespace h3
