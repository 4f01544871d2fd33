//===-- codegen/kernel/ElementMemory.cpp - Loads and stores of a vector ---===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/Mutant.h"
#include "codegen/kernel/Elements.h"

#include <llvm/Support/MathExtras.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>

#include <numeric>

using namespace mlir;

namespace h3 {

static bool isByteFloat(mlir::Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); }

Value Elements::address(const KernelTensor &tensor, mlir::Type element, ArrayRef<Value> indices,
                        bool unitStride, Location loc) {
  Value offset;
  for (auto [axis, index] : llvm::enumerate(indices)) {
    Value part = index;
    bool isWalked = !unitStride || axis + 1 < indices.size();
    if (isWalked && !(mutated(Mutant::LostStride) && axis == 0))
      part = arith::MulIOp::create(builder, loc, part, tensor.strides[axis]);
    offset = offset ? arith::AddIOp::create(builder, loc, offset, part) : part;
  }
  if (!offset)
    return tensor.pointer;
  return LLVM::GEPOp::create(builder, loc, tensor.pointer.getType(), element, tensor.pointer,
                             ValueRange{offset});
}

std::optional<Elements::Window> Elements::window(Value tensor, OperandRange indices) {
  if (!accessBytes || vector == 1 || soleLane >= 0 || !chosen.empty() || indices.empty())
    return {};
  for (Value index : indices.drop_back())
    if (!isUniform(index))
      return {};
  Pending pending;
  Window result;
  std::optional<LaneIndex> last = decompose(indices.back(), pending);
  if (!last)
    return {};
  result.index = *last;
  int64_t multiple = 0;
  for (const LaneIndex::Term &term : last->terms)
    if (!term.source)
      multiple = std::gcd(multiple, term.multiple);
  if (multiple == 0)
    return {}; // the same for the whole vector
  auto [least, most] = std::minmax_element(last->offsets.begin(), last->offsets.end());
  unsigned bytes =
      cast<ir::TensorType>(tensor.getType()).getElementType().getIntOrFloatBitWidth() / 8;
  int64_t length = std::min<int64_t>(vector, accessBytes / bytes);
  if (machine.alignsAccesses) {
    length = std::min(length, multiple & -multiple);
  } else {
    int64_t span = *most + 1 - *least;
    length = std::min(length, span & -span);
  }
  if (length < 2)
    return {};
  result.length = length;
  int64_t end;
  if (machine.alignsAccesses) {
    for (const LaneIndex::Term &term : last->terms)
      if (term.source && !guards.multiple(term.source, length, pending))
        return {};
    result.first = llvm::divideFloorSigned(*least, length) * length;
    end = (llvm::divideFloorSigned(*most, length) + 1) * length;
  } else {
    result.first = *least;
    end = *most + 1;
  }
  result.count = (end - result.first) / length;
  if (end - result.first > 2 * static_cast<int64_t>(vector))
    return {};
  unsigned number = tensors[tensor].number;
  if (result.first != *least || end != *most + 1)
    // An aligned piece with one element of the row in it is all of the row.
    guards.wholePieces(number, length);
  guards.commit(pending);
  guards.vectorAccess(number, length, machine.alignsAccesses);
  return result;
}

Value Elements::pieceAddress(Value tensor, mlir::Type element, OperandRange indices,
                             const Window &window, unsigned piece, Location loc) {
  SmallVector<Value> position;
  for (Value outer : indices.drop_back())
    position.push_back(emitted(outer));
  position.push_back(
      sumOf(window.index, window.first + static_cast<int64_t>(piece) * window.length, loc));
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
    Value known = values.lookup(index);
    auto type = dyn_cast<VectorType>(known.getType());
    bool isOfLeaf = type && type.getNumElements() == leafVector;
    position.push_back(type ? extract(known, isOfLeaf ? leafLane(lane) : lane) : known);
  }
  return address(tensors[tensor], element, position, false, loc);
}

Value Elements::load(ir::LoadOp op, mlir::Type type, Value pointer, unsigned alignment,
                     bool isStreamed) {
  Location loc = op.getLoc();
  const KernelTensor &tensor = tensors[op.getTensor()];
  auto read = [&]() -> Value {
    return LLVM::LoadOp::create(builder, loc, type, pointer, alignment, /*isVolatile=*/false,
                                /*isNonTemporal=*/isStreamed,
                                tensor.isInvariant || mutated(Mutant::AliasedAsConstant));
  };
  Value condition = aliasCondition;
  if (leaf && leaf->exists)
    condition = condition ? arith::AndIOp::create(builder, loc, condition, leaf->exists).getResult()
                          : leaf->exists;
  if (!tensor.isAliased || existenceIsKnown || !condition || mutated(Mutant::ReadsWhatIsGone))
    return read();
  Value zero = constant(builder.getZeroAttr(type));
  auto branch = scf::IfOp::create(builder, loc, type, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, read());
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, zero);
  return branch.getResult(0);
}

/// Whether an access is all that is wanted of the sectors that it and its neighbours touch.
bool Elements::isStreamed(Value tensor, const Window &window, unsigned bytes) {
  constexpr int64_t sector = 32;
  return tensors[tensor].isStreamed && window.count == 1 &&
         threadsBeside * window.length * bytes >= sector;
}

/// All pieces of the window, and from them the vector's elements.
Value Elements::loadWindow(ir::LoadOp op, const Window &window) {
  Location loc = op.getLoc();
  mlir::Type element = op.getType();
  unsigned bytes = element.getIntOrFloatBitWidth() / 8;
  mlir::Type loaded = isByteFloat(element) ? builder.getI8Type() : element;
  auto type = VectorType::get(window.length, loaded);
  SmallVector<Value> pieces;
  for (unsigned piece = 0; piece < window.count; ++piece)
    pieces.push_back(load(op, type,
                          pieceAddress(op.getTensor(), loaded, op.getIndices(), window, piece, loc),
                          machine.alignsAccesses ? window.length * bytes : bytes,
                          isStreamed(op.getTensor(), window, bytes)));
  // Neighbours are laid end to end, pair by pair.
  while (pieces.size() > 1) {
    SmallVector<Value> joined;
    for (size_t i = 0; i < pieces.size(); i += 2) {
      Value other = i + 1 < pieces.size() ? pieces[i + 1] : pieces[i];
      unsigned width = cast<VectorType>(pieces[i].getType()).getNumElements();
      auto mask = llvm::to_vector(llvm::seq<int32_t>(0, 2 * width));
      joined.push_back(LLVM::ShuffleVectorOp::create(builder, loc, pieces[i], other, mask));
    }
    pieces = joined;
  }
  SmallVector<int32_t> mask;
  for (int64_t offset : window.index.offsets)
    mask.push_back((offset - window.first + mutated(Mutant::ShiftedWindow)) %
                   (int64_t(window.count) * window.length));
  Value whole = pieces.front();
  unsigned width = cast<VectorType>(whole.getType()).getNumElements();
  if (width != vector || mask != llvm::to_vector(llvm::seq<int32_t>(0, vector)))
    whole = LLVM::ShuffleVectorOp::create(builder, loc, whole, whole, mask);
  return whole;
}

/// What a load reads, in terms of emitted values; empty where it has no such form.
std::optional<std::vector<uintptr_t>> Elements::cacheKey(ir::LoadOp op) {
  if (!leaf || branchDepth || soleLane >= 0 || !chosen.empty())
    return {};
  std::vector<uintptr_t> key{reinterpret_cast<uintptr_t>(op.getTensor().getAsOpaquePointer())};
  for (Value index : op.getIndices()) {
    Pending pending;
    std::optional<LaneIndex> form = decompose(index, pending);
    if (!form || !pending.empty())
      return {};
    for (const LaneIndex::Term &term : form->terms) {
      key.push_back(reinterpret_cast<uintptr_t>(term.value.getAsOpaquePointer()));
      key.push_back(term.isNegated);
    }
    key.push_back(0); // no value: the offsets follow
    for (int64_t offset : form->offsets)
      key.push_back(static_cast<uintptr_t>(offset));
  }
  return key;
}

void Elements::emitLoad(ir::LoadOp op) {
  Location loc = op.getLoc();
  if (aliasesAreGone && tensors[op.getTensor()].isAliased)
    return fail(op, "an input that may be overwritten is read where it can be only after that");
  mlir::Type element = op.getType();
  mlir::Type loaded = isByteFloat(element) ? builder.getI8Type() : element;
  std::optional<std::vector<uintptr_t>> key = cacheKey(op);
  if (key)
    if (auto known = leaf->loads.find(*key); known != leaf->loads.end())
      return bind(op, known->second);

  bool varies = llvm::any_of(op.getIndices(),
                             [&](Value index) { return isElementIndex(index) || isVector(index); });
  unsigned bytes = element.getIntOrFloatBitWidth() / 8;
  auto loadLane = [&](unsigned lane) {
    return load(op, loaded, laneAddress(op.getTensor(), loaded, op.getIndices(), lane, loc), bytes);
  };
  Value value;
  if (std::optional<Window> touched = window(op.getTensor(), op.getIndices())) {
    value = loadWindow(op, *touched);
  } else if (soleLane >= 0 || vector == 1 || !varies) {
    value = loadLane(std::max(soleLane, 0));
  } else {
    SmallVector<Value> lanes;
    for (unsigned lane = 0; lane < vector; ++lane)
      lanes.push_back(loadLane(lane));
    value = gather(lanes);
  }
  if (loaded != element) {
    mlir::Type type = element;
    if (auto whole = dyn_cast<VectorType>(value.getType()))
      type = VectorType::get(whole.getShape(), element);
    value = arith::BitcastOp::create(builder, loc, type, value);
  }
  if (key)
    leaf->loads[*key] = value;
  bind(op, value);
}

void Elements::emitStore(ir::StoreOp op) {
  Location loc = op.getLoc();
  Value tensor = op.getTensor();
  mlir::Type element = op.getValue().getType();
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

  std::optional<Window> touched = window(tensor, op.getIndices());
  if (touched && touched->count * touched->length == vector &&
      llvm::all_of(llvm::seq(0u, vector), [&](unsigned lane) {
        return touched->index.offsets[lane] == touched->first + lane;
      })) {
    value = broadcast(value);
    for (unsigned piece = 0; piece < touched->count; ++piece) {
      if (mutated(Mutant::SkippedStore) && piece + 1 == touched->count)
        break;
      Value part = value;
      if (touched->length < vector) {
        auto mask = llvm::to_vector(
            llvm::seq<int32_t>(piece * touched->length, (piece + 1) * touched->length));
        part = LLVM::ShuffleVectorOp::create(builder, loc, value, value, mask);
      }
      Value pointer = pieceAddress(tensor, stored, op.getIndices(), *touched, piece, loc);
      LLVM::StoreOp::create(builder, loc, part, pointer,
                            machine.alignsAccesses ? touched->length * bytes : bytes,
                            /*isVolatile=*/false, isStreamed(tensor, *touched, bytes));
      if (mutated(Mutant::DoubledStore))
        LLVM::StoreOp::create(builder, loc, part, pointer, touched->length * bytes,
                              /*isVolatile=*/true);
    }
    return;
  }
  bool varies = llvm::any_of(op.getIndices(), [&](Value index) { return isElementIndex(index); });
  unsigned count = soleLane >= 0 || !varies ? 1 : vector;
  for (unsigned lane = 0; lane < count; ++lane) {
    Value single = isa<VectorType>(value.getType()) ? extract(value, lane) : value;
    unsigned position = soleLane >= 0 ? soleLane : lane;
    OpBuilder::InsertionGuard guard(builder);
    if (varies && leaf && leaf->end && leafLane(position) > 0) {
      auto branch = scf::IfOp::create(builder, loc, exist(*leaf, leafLane(position)),
                                      /*withElseRegion=*/false);
      builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    }
    LLVM::StoreOp::create(builder, loc, single,
                          laneAddress(tensor, stored, op.getIndices(), position, loc), bytes);
  }
}

} // namespace h3
