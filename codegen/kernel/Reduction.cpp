//===-- codegen/kernel/Reduction.cpp - Code for a reduction within a team -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Reduction.h"

#include "codegen/kernel/OrderBits.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/Support/MathExtras.h>
#include <mlir/Dialect/GPU/IR/GPUDialect.h>
#include <mlir/IR/Matchers.h>

#include <map>

using namespace mlir;

namespace h3 {
namespace {

using State = SmallVector<Value, 3>;

class ReductionEmitter {
public:
  ReductionEmitter(OpBuilder &builder, Elements &elements, ir::ReduceOp op, int64_t extent,
                   const Team &team)
      : builder(builder), elements(elements), op(op), extent(extent), team(team),
        firstLane(llvm::Log2_32(team.layout.vector)),
        firstChunk(firstLane + llvm::Log2_32(team.layout.lanes)),
        lastBit(firstChunk + llvm::Log2_32_Ceil(team.layout.chunks)) {}

  std::string run();

private:
  bool isLane(unsigned bit) const { return bit >= firstLane && bit < firstChunk; }
  bool isPopulated(unsigned bit) const { return bit < lastBit; }

  void initialise(const OrderBits &bits);
  void walkElements(uint64_t namedBits);
  void takeElements(unsigned chunk, uint64_t namedBits);
  void joinBit(unsigned bit);
  void joinSerially(const OrderBits::Digit &digit);
  void joinAny();
  State join(const State &lower, const State &upper);
  State fromLane(const State &state, Value source, gpu::ShuffleMode mode);
  Value shuffle(Value value, Value source, gpu::ShuffleMode mode);
  Value i32(int64_t value) { return elements.constant(builder.getI32IntegerAttr(value)); }
  bool joinCommutes();
  bool idleIsNeutral();

  OpBuilder &builder;
  Elements &elements;
  ir::ReduceOp op;
  int64_t extent;
  const Team &team;
  unsigned firstLane, firstChunk, lastBit;

  /// The states that this thread holds, by the bits of their slot that are registers.
  std::map<uint64_t, State> states;
  /// What a slot without elements holds; empty: it is absent, or neutral in every join.
  State idle;
  std::string error;
};

std::string ReductionEmitter::run() {
  if (!op.hasSeeds() &&
      static_cast<int64_t>(team.layout.vector) * team.layout.lanes * team.layout.chunks != extent)
    return "a reduction without an initial value over an extent that does not fill its layout has "
           "no "
           "code generation yet";
  if (!op.getOrder()) {
    walkElements(0);
    joinAny();
  } else {
    std::optional<OrderBits> bits = OrderBits::of(*op.getOrder(), extent, error);
    if (!bits)
      return error;
    uint64_t namedBits = 0;
    for (const OrderBits::Digit &digit : bits->digits)
      if (digit.isNamed)
        namedBits |= ((uint64_t(1) << digit.count) - 1) << digit.first;
    initialise(*bits);
    walkElements(namedBits);
    for (const ir::OrderStage &stage : op.getOrder()->getStages()) {
      const OrderBits::Digit &digit = bits->digits[stage.digit];
      switch (stage.join) {
      case ir::Join::Serial:
        joinSerially(digit);
        break;
      case ir::Join::Halving:
        for (unsigned bit = digit.first + digit.count; bit-- > digit.first;)
          joinBit(bit);
        break;
      case ir::Join::Adjacent:
        for (unsigned bit = digit.first; bit < digit.first + digit.count; ++bit)
          joinBit(bit);
        break;
      }
    }
  }
  if (error.empty())
    error = elements.error();
  if (!error.empty())
    return error;
  for (auto [result, value] : llvm::zip(op.getResults(), states.begin()->second))
    elements.bind(result, value);
  return {};
}

//===----------------------------------------------------------------------===//
// The chain of each slot
//===----------------------------------------------------------------------===//

/// With seeds, every slot begins with them, also one without an element.
void ReductionEmitter::initialise(const OrderBits &bits) {
  if (!op.hasSeeds())
    return;
  State seeds;
  for (Value seed : op.getSeeds())
    seeds.push_back(elements.emitted(seed));
  std::vector<uint64_t> keys{0};
  for (const OrderBits::Digit &digit : bits.digits)
    for (unsigned bit = digit.first; bit < digit.first + digit.count; ++bit)
      if (digit.isNamed && isPopulated(bit) && !isLane(bit))
        for (size_t known = keys.size(), k = 0; k < known; ++k)
          keys.push_back(keys[k] | uint64_t(1) << bit);
  for (uint64_t key : keys)
    states[key] = seeds;
  if (!idleIsNeutral())
    idle = seeds;
}

/// language.md 4.4, lemma A: from +0, by steps `s + e` or `fma(e, e, s)` and the join `a + b`, no
/// state is ever -0, so that a join with an idle slot's +0 changes nothing.
bool ReductionEmitter::idleIsNeutral() {
  if (op.getNumResults() != 1)
    return false;
  APFloat seed(0.0f);
  if (!matchPattern(op.getSeeds().front(), m_ConstantFloat(&seed)) || !seed.isPosZero())
    return false;
  auto isAddOf = [](Operation *candidate, Value a) {
    auto add = dyn_cast_or_null<ir::AddOp>(candidate);
    return add && add.getRounding() == ir::Rounding::NearestEven &&
           (add.getLhs() == a || add.getRhs() == a);
  };
  Value state = op.getStep().getArgument(1);
  Operation *step = op.getStep().front().getTerminator()->getOperand(0).getDefiningOp();
  auto square = dyn_cast_or_null<ir::FmaOp>(step);
  bool isSquare = square && square.getRounding() == ir::Rounding::NearestEven &&
                  square.getA() == square.getB() && square.getC() == state &&
                  square.getA() != state;
  bool isSum = isAddOf(step, state) && step->getOperand(0) != step->getOperand(1);
  Operation *join = op.getJoin().front().getTerminator()->getOperand(0).getDefiningOp();
  bool joins =
      isAddOf(join, op.getJoin().getArgument(0)) && isAddOf(join, op.getJoin().getArgument(1));
  return joins && (isSquare || isSum);
}

void ReductionEmitter::walkElements(uint64_t namedBits) {
  unsigned width = team.layout.vector * team.layout.lanes;
  for (unsigned chunk = 0; chunk < team.layout.chunks; ++chunk) {
    if (static_cast<int64_t>(chunk + 1) * width <= extent) {
      takeElements(chunk, namedBits);
      continue;
    }
    // Only some lanes have elements in this chunk; the others' states stay.
    Location loc = op.getLoc();
    Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, team.bases[chunk],
                                         elements.constant(extent));
    std::map<uint64_t, State> before = states;
    SmallVector<mlir::Type> types;
    for (const auto &[key, state] : before)
      for (Value value : state)
        types.push_back(value.getType());
    auto branch = scf::IfOp::create(builder, loc, types, exists, /*withElseRegion=*/true);
    auto yieldAll = [&](const std::map<uint64_t, State> &all) {
      SmallVector<Value> flat;
      for (const auto &[key, state] : all)
        llvm::append_range(flat, state);
      scf::YieldOp::create(builder, loc, flat);
    };
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&branch.getThenRegion().front());
      takeElements(chunk, namedBits);
      yieldAll(states);
      builder.setInsertionPointToStart(&branch.getElseRegion().front());
      yieldAll(before);
    }
    size_t next = 0;
    for (auto &[key, state] : states)
      for (Value &value : state)
        value = branch.getResult(next++);
  }
}

/// What does not depend on the state is emitted for the whole vector, so that memory is read in
/// vectors; then each element takes its step, in increasing order.
void ReductionEmitter::takeElements(unsigned chunk, uint64_t namedBits) {
  Block &step = op.getStep().front();
  unsigned vector = team.layout.vector;
  elements.bindElement(step.getArgument(0), team.bases[chunk], vector);
  llvm::SmallSetVector<Value, 8> dependent;
  dependent.insert(step.args_begin() + 1, step.args_end());
  SmallVector<Operation *> chain;
  for (Operation &inner : step.without_terminator()) {
    bool depends = false;
    inner.walk([&](Operation *nested) {
      depends |= llvm::any_of(nested->getOperands(),
                              [&](Value operand) { return dependent.contains(operand); });
    });
    if (depends) {
      chain.push_back(&inner);
      dependent.insert(inner.result_begin(), inner.result_end());
    } else {
      elements.emit(inner);
    }
  }
  for (unsigned v = 0; v < vector; ++v) {
    if (!elements.error().empty())
      return;
    uint64_t key = (uint64_t(chunk) << firstChunk | v) & namedBits;
    if (vector > 1)
      elements.restrictTo(v);
    if (op.hasSeeds())
      for (auto [argument, value] : llvm::zip(step.getArguments().drop_front(), states[key]))
        elements.bind(argument, value);
    for (Operation *inner : chain)
      elements.emit(*inner);
    State result;
    if (elements.error().empty())
      for (Value value : step.getTerminator()->getOperands())
        result.push_back(elements.emitted(value));
    elements.restrictTo(-1);
    if (!op.hasSeeds() && states.contains(key))
      result = join(states[key], result);
    states[key] = result;
  }
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

State ReductionEmitter::join(const State &lower, const State &upper) {
  Block &body = op.getJoin().front();
  size_t count = lower.size();
  for (size_t field = 0; field < count; ++field) {
    elements.bind(body.getArgument(field), lower[field]);
    elements.bind(body.getArgument(count + field), upper[field]);
  }
  elements.emitBlock(body);
  State result;
  if (elements.error().empty())
    for (Value value : body.getTerminator()->getOperands())
      result.push_back(elements.emitted(value));
  return result;
}

/// Joins the two halves that differ in one bit of the index, for every setting of the other bits.
void ReductionEmitter::joinBit(unsigned bit) {
  if (!isPopulated(bit)) {
    if (idle.empty())
      return;
    for (auto &[key, state] : states)
      state = join(state, idle);
    idle = join(idle, idle);
    return;
  }
  Location loc = op.getLoc();
  if (isLane(bit)) {
    Value distance = i32(1 << (bit - firstLane));
    Value isUpper;
    if (!joinCommutes()) {
      Value mask = elements.constant(1 << (bit - firstLane));
      Value masked = arith::AndIOp::create(builder, loc, team.lane, mask);
      isUpper = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, masked,
                                      elements.constant(0));
    }
    for (auto &[key, state] : states) {
      State other = fromLane(state, distance, gpu::ShuffleMode::XOR), lower = state, upper = other;
      if (isUpper)
        for (size_t field = 0; field < state.size(); ++field) {
          lower[field] = arith::SelectOp::create(builder, loc, isUpper, other[field], state[field]);
          upper[field] = arith::SelectOp::create(builder, loc, isUpper, state[field], other[field]);
        }
      state = join(lower, upper);
    }
  } else {
    std::map<uint64_t, State> joined;
    uint64_t mask = uint64_t(1) << bit;
    for (const auto &[key, state] : states) {
      auto upper = states.find(key | mask);
      if (!(key & mask)) // an upper side that no element reaches is absent
        joined[key] = upper == states.end() ? state : join(state, upper->second);
    }
    states = joined;
  }
  if (!idle.empty())
    idle = join(idle, idle);
}

/// a = s[0]; then a = J(a, s[p]) for p = 1 .. r-1.
void ReductionEmitter::joinSerially(const OrderBits::Digit &digit) {
  unsigned end = digit.first + digit.count;
  bool anyLane = false, allLanes = true;
  for (unsigned bit = digit.first; bit < end; ++bit)
    if (isPopulated(bit)) {
      anyLane |= isLane(bit);
      allLanes &= isLane(bit);
    }
  if (anyLane && !allLanes) {
    error = "a serial join of a digit that is partly lanes has no code generation yet";
    return;
  }
  int64_t populated = std::min<int64_t>(
      digit.radix, int64_t(1) << (std::clamp(lastBit, digit.first, end) - digit.first));
  uint64_t mask = ((uint64_t(1) << digit.count) - 1) << digit.first;

  Value teamBase; // the warp's lane at which the digit is 0 and all else is as here
  if (anyLane) {
    Value thread = gpu::ThreadIdOp::create(builder, op.getLoc(), gpu::Dimension::x);
    thread = arith::IndexCastOp::create(builder, op.getLoc(), builder.getI32Type(), thread);
    uint64_t digitLanes = (mask & ((uint64_t(1) << firstChunk) - 1)) >> firstLane;
    teamBase = arith::AndIOp::create(builder, op.getLoc(), thread, i32(~digitLanes & 31));
  }

  std::map<uint64_t, State> joined;
  for (const auto &[key, state] : states) {
    if (key & mask)
      continue;
    State result;
    for (int64_t position = 0; position < populated; ++position) {
      State next;
      if (anyLane) {
        Value source = arith::OrIOp::create(builder, op.getLoc(), teamBase,
                                            i32(position << (digit.first - firstLane)));
        next = fromLane(state, source, gpu::ShuffleMode::IDX);
      } else {
        auto known = states.find(key | uint64_t(position) << digit.first);
        if (known == states.end())
          break;
        next = known->second;
      }
      result = position == 0 ? next : join(result, next);
    }
    for (int64_t position = populated; position < digit.radix && !idle.empty(); ++position)
      result = join(result, idle);
    joined[key] = result;
  }
  states = joined;
  if (!idle.empty()) {
    State first = idle;
    for (int64_t position = 1; position < digit.radix; ++position)
      idle = join(idle, first);
  }
}

/// All trees agree: the thread's elements are already joined, the lanes follow.
void ReductionEmitter::joinAny() {
  for (unsigned bit = firstLane; bit < firstChunk; ++bit)
    joinBit(bit);
}

bool ReductionEmitter::joinCommutes() {
  Block &body = op.getJoin().front();
  if (op.getNumResults() != 1 || body.getOperations().size() != 2)
    return false;
  Operation &only = body.front();
  return isa<ir::AddOp, ir::MulOp, ir::MaxOp, ir::MinOp, ir::MaxNumOp, ir::MinNumOp, arith::AddIOp,
             arith::MulIOp, arith::MaxSIOp, arith::MinSIOp, arith::AndIOp, arith::OrIOp>(only) &&
         only.getOperand(0) != only.getOperand(1);
}

State ReductionEmitter::fromLane(const State &state, Value source, gpu::ShuffleMode mode) {
  State result;
  for (Value value : state)
    result.push_back(shuffle(value, source, mode));
  return result;
}

Value ReductionEmitter::shuffle(Value value, Value source, gpu::ShuffleMode mode) {
  Location loc = op.getLoc();
  auto exchange = [&](Value word) -> Value {
    return gpu::ShuffleOp::create(builder, loc, word, source, i32(32), mode).getShuffleResult();
  };
  mlir::Type type = value.getType();
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 32)
    return exchange(value);
  auto integer = builder.getIntegerType(width);
  auto word = builder.getI32Type();
  Value bits =
      type == integer ? value : Value(arith::BitcastOp::create(builder, loc, integer, value));
  if (width < 32) {
    bits = exchange(arith::ExtUIOp::create(builder, loc, word, bits));
    bits = arith::TruncIOp::create(builder, loc, integer, bits);
  } else {
    Value shift = elements.constant(builder.getI64IntegerAttr(32));
    Value low = exchange(arith::TruncIOp::create(builder, loc, word, bits));
    Value high = arith::ShRUIOp::create(builder, loc, bits, shift);
    high = exchange(arith::TruncIOp::create(builder, loc, word, high));
    high = arith::ExtUIOp::create(builder, loc, integer, high);
    high = arith::ShLIOp::create(builder, loc, high, shift);
    bits = arith::OrIOp::create(builder, loc, high,
                                arith::ExtUIOp::create(builder, loc, integer, low));
  }
  return type == integer ? bits : Value(arith::BitcastOp::create(builder, loc, type, bits));
}

} // namespace

std::string emitReduction(OpBuilder &builder, Elements &elements, ir::ReduceOp op, int64_t extent,
                          const Team &team) {
  return ReductionEmitter(builder, elements, op, extent, team).run();
}

} // namespace h3
