//===-- codegen/kernel/Reduction.cpp - Code for a reduction within a team -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Reduction.h"
#include "codegen/Mutant.h"

#include "codegen/kernel/OrderAtoms.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/Support/MathExtras.h>
#include <mlir/IR/Matchers.h>

#include <map>

using namespace mlir;

namespace h3 {
namespace {

using Place = LayoutDigit::Place;

/// What a slot, or several joined ones, hold. Where slots lie beside each other in a vector, a
/// field is a vector of what they hold.
struct State {
  SmallVector<Value, 3> fields;
  Value present; ///< null: it is there; otherwise it is absent where this is 0
};

/// The states that a thread holds, by what the registers add to the element's index.
using States = std::map<int64_t, State>;

class ReductionEmitter {
public:
  ReductionEmitter(OpBuilder &builder, Elements &elements, Exchange &exchange,
                   const Machine &machine, const Team &team, const Phase &phase, Walk &walk,
                   std::vector<Leaf> *held)
      : builder(builder), elements(elements), exchange(exchange), machine(machine), team(team),
        op(phase.reduce()), phase(phase), walk(walk), held(held), loc(phase.op->getLoc()),
        warpBit(machine.waveBits()) {}

  std::string run();

private:
  // The chain of each slot.
  std::vector<int64_t> slots(llvm::function_ref<bool(unsigned digit)> joined);
  State absentState();
  void sayPresent(States &all);
  void chooseLanes();
  bool isOfSlot(const OrderAtoms::Atom &atom) const {
    return atom.place == Place::Register || (atom.place == Place::Vector && !machine.joinsVectors);
  }
  void takeElements(Leaf &leaf, ArrayRef<unsigned> places);
  States initialStates(bool inLoop);
  void walkElements(const ir::OrderStage *online);
  void takeGroup(MutableArrayRef<Leaf> leaves);
  void takeLeaf(Leaf &leaf);
  int64_t slotOf(int64_t offset) const;
  bool idleIsNeutral();

  // Stages.
  void runStage(const ir::OrderStage &stage);
  void joinBits(const OrderAtoms::Digit &digit, bool lowestFirst);
  void joinIdleBits(const OrderAtoms::Digit &digit);
  void joinBit(unsigned atom, unsigned bit);
  void joinVectors(int64_t weight);
  State lanesOf(const State &state, ArrayRef<unsigned> places);
  void fromVectors(unsigned atom);
  void joinLanes(unsigned threadBit);
  void joinSerially(const OrderAtoms::Digit &digit);
  void joinAny();
  void toRegisters(unsigned atom);
  State join(const State &lower, const State &upper);
  State joinPresent(const State &lower, const State &upper);
  bool joinCommutes();

  // States as lists of values.
  SmallVector<Value> flatten(const States &all);
  States unflatten(const States &like, ArrayRef<Value> values);
  State choose(Value condition, const State &a, const State &b);
  Value choose(Value condition, Value a, Value b) {
    a = elements.spread(a, widthOf(b));
    b = elements.spread(b, widthOf(a));
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  static unsigned widthOf(Value value) {
    auto type = dyn_cast<VectorType>(value.getType());
    return type ? type.getNumElements() : 1;
  }

  OpBuilder &builder;
  Elements &elements;
  Exchange &exchange;
  const Machine &machine;
  const Team &team;
  ir::ReduceOp op;
  const Phase &phase;
  Walk &walk;
  std::vector<Leaf> *held;
  Location loc;
  unsigned warpBit; ///< bits of the thread's number below it are lanes of a wave

  OrderAtoms atoms; ///< empty for `any`
  States states;
  /// What the elements of the states' vectors add to the element's index, each by itself; one: the
  /// states are scalars.
  SmallVector<int64_t> lanes{0};
  /// Of a leaf's vector: the places of those elements, for each step that the slots take, in their
  /// order.
  SmallVector<SmallVector<unsigned>> places;
  /// What a slot without elements holds; nothing: it is absent, or neutral in every join.
  std::optional<State> idle;
  std::string error;
};

std::string ReductionEmitter::run() {
  const ir::OrderStage *online = nullptr;
  if (op.getOrder()) {
    std::optional<OrderAtoms> found =
        OrderAtoms::of(*op.getOrder(), phase.constantExtent(), walk.layout(), machine, error);
    if (!found)
      return error;
    atoms = *found;
    for (const ir::OrderStage &stage : op.getOrder()->getStages())
      for (unsigned atom : atoms.digits[stage.digit].atoms)
        if (atoms.atoms[atom].place == Place::Loop)
          online = &stage;
  }
  if (op.hasSeeds() && op.getOrder() && !idleIsNeutral()) {
    idle.emplace();
    for (Value seed : op.getSeeds())
      idle->fields.push_back(elements.emitted(seed));
  }
  chooseLanes();
  walkElements(online);
  if (!op.getOrder())
    joinAny();
  else
    for (const ir::OrderStage &stage : op.getOrder()->getStages())
      if (error.empty() && (!online || stage.digit != online->digit) &&
          !(online && &stage < online)) // those are done in each round
        runStage(stage);
  if (error.empty())
    error = elements.error();
  if (!error.empty())
    return error;
  for (auto [result, value] : llvm::zip(op.getResults(), states.begin()->second.fields))
    elements.bind(result, value);
  return {};
}

//===----------------------------------------------------------------------===//
// The chain of each slot
//===----------------------------------------------------------------------===//

/// The part of an element's place in the registers that tells slots apart.
int64_t ReductionEmitter::slotOf(int64_t offset) const {
  int64_t slot = 0;
  for (const OrderAtoms::Digit &digit : atoms.digits)
    for (unsigned index : digit.atoms) {
      const OrderAtoms::Atom &atom = atoms.atoms[index];
      if (digit.isNamed && isOfSlot(atom))
        slot += (offset / atom.weight) % atom.radix * atom.weight;
    }
  return slot;
}

/// The slots in registers, apart by the named digits that are not \p joined yet.
std::vector<int64_t> ReductionEmitter::slots(llvm::function_ref<bool(unsigned digit)> joined) {
  std::vector<int64_t> result{0};
  for (auto [number, digit] : llvm::enumerate(atoms.digits)) {
    if (!digit.isNamed || joined(number))
      continue;
    for (unsigned index : digit.atoms) {
      const OrderAtoms::Atom &atom = atoms.atoms[index];
      if (isOfSlot(atom))
        for (size_t known = result.size(), k = 0; k < known; ++k)
          for (int64_t setting = 1; setting < atom.radix; ++setting)
            result.push_back(result[k] + setting * atom.weight);
    }
  }
  return result;
}

/// The elements of a leaf's vector that differ in named digits of the order are slots beside each
/// other: they take their steps together, and lie in one vector.
void ReductionEmitter::chooseLanes() {
  unsigned vector = walk.layout().vector();
  lanes = {0};
  places.clear();
  if (!machine.joinsVectors || vector == 1) {
    for (unsigned v = 0; v < vector; ++v)
      places.push_back({v});
    return;
  }
  int64_t slotMask = op.getOrder() ? 0 : vector - 1;
  for (const OrderAtoms::Digit &digit : atoms.digits)
    for (unsigned index : digit.atoms)
      if (const OrderAtoms::Atom &atom = atoms.atoms[index];
          digit.isNamed && atom.place == Place::Vector)
        slotMask |= (atom.radix - 1) * atom.weight;
  lanes.clear();
  std::map<int64_t, SmallVector<unsigned>> steps;
  for (unsigned v = 0; v < vector; ++v) {
    steps[v & ~slotMask].push_back(v);
    if (!(v & ~slotMask))
      lanes.push_back(v);
  }
  for (auto &[step, taken] : steps)
    places.push_back(taken);
}

State ReductionEmitter::absentState() {
  State state;
  for (mlir::Type type : op.getResultTypes())
    state.fields.push_back(
        elements.spread(elements.constant(builder.getZeroAttr(type)), lanes.size()));
  state.present = elements.spread(elements.constant(builder.getBoolAttr(false)), lanes.size());
  return state;
}

/// What a loop carries has one form in every round: that a state is there is said too.
void ReductionEmitter::sayPresent(States &all) {
  for (auto &[slot, state] : all)
    if (!state.present)
      state.present = elements.spread(elements.constant(builder.getBoolAttr(true)), lanes.size());
}

/// With seeds every slot begins with them, also one without an element. Without, slots are absent:
/// not in the list, but where a loop carries them.
States ReductionEmitter::initialStates(bool inLoop) {
  States initial;
  if (!op.hasSeeds() && !inLoop)
    return initial;
  State state;
  if (op.hasSeeds())
    for (Value seed : op.getSeeds())
      state.fields.push_back(elements.spread(elements.emitted(seed), lanes.size()));
  else
    state = absentState();
  for (int64_t slot : slots([](unsigned) { return false; }))
    initial[slot] = state;
  return initial;
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

/// With \p online, a serial stage over the rounds of the walk: each round makes states of its own,
/// runs the stages before that one, and is then joined to the rounds before it.
void ReductionEmitter::walkElements(const ir::OrderStage *online) {
  if (held) {
    states = initialStates(/*inLoop=*/false);
    takeGroup(*held);
    return;
  }
  bool inLoop = walk.layout().hasLoop();
  if (!online) {
    states = initialStates(inLoop);
    const States before = states;
    SmallVector<Value> carried = flatten(states);
    walk.forEachGroup(carried, /*uniform=*/false, [&](MutableArrayRef<Leaf> leaves) {
      if (inLoop)
        states = unflatten(before, carried);
      takeGroup(leaves);
      if (!inLoop)
        return;
      if (!op.hasSeeds())
        sayPresent(states);
      carried = flatten(states);
    });
    if (inLoop)
      states = unflatten(before, carried);
    return;
  }
  // The slots that are left after the stages of one round.
  std::optional<State> freshIdle = idle;
  States joined;
  OrderAtoms freshAtoms = atoms;
  auto isJoined = [&](unsigned digit) {
    return llvm::any_of(op.getOrder()->getStages(), [&](const ir::OrderStage &stage) {
      return &stage < online && stage.digit == digit;
    });
  };
  const SmallVector<int64_t> freshLanes = lanes;
  for (auto [number, digit] : llvm::enumerate(atoms.digits))
    for (unsigned index : digit.atoms)
      if (const OrderAtoms::Atom &atom = atoms.atoms[index];
          isJoined(number) && atom.place == Place::Vector)
        llvm::erase_if(lanes,
                       [&](int64_t place) { return place & ((atom.radix - 1) * atom.weight); });
  for (int64_t slot : slots(isJoined))
    joined[slot] = absentState();
  SmallVector<Value> carried = flatten(joined);
  exchange.setRepeats(true);
  walk.forEachGroup(carried, /*uniform=*/true, [&](MutableArrayRef<Leaf> leaves) {
    States before = unflatten(joined, carried);
    atoms = freshAtoms;
    idle = freshIdle;
    lanes = freshLanes;
    states = initialStates(/*inLoop=*/false);
    takeGroup(leaves);
    for (const ir::OrderStage &stage : op.getOrder()->getStages())
      if (&stage < online && error.empty())
        runStage(stage);
    if (!error.empty() || !elements.error().empty())
      return;
    for (auto &[slot, state] : before) {
      auto now = states.find(slot);
      if (now != states.end())
        state = joinPresent(state, now->second);
    }
    sayPresent(before);
    carried = flatten(before);
  });
  exchange.setRepeats(false);
  states = unflatten(joined, carried);
  if (op.hasSeeds())
    for (auto &[slot, state] : states)
      state.present = {}; // there was a round
}

/// Memory is asked for all that the group needs, before anything waits for it.
void ReductionEmitter::takeGroup(MutableArrayRef<Leaf> leaves) {
  unsigned vector = walk.layout().vector();
  for (Leaf &leaf : leaves) {
    elements.enter(phase.element(), leaf, vector);
    elements.emitReady(phase.body());
  }
  for (Leaf &leaf : leaves)
    takeLeaf(leaf);
}

/// What does not depend on the state is there for the whole vector; then each element takes its
/// step, in increasing order.
void ReductionEmitter::takeLeaf(Leaf &leaf) {
  elements.enter(phase.element(), leaf, walk.layout().vector());
  for (ArrayRef<unsigned> together : places)
    if (elements.error().empty())
      takeElements(leaf, together);
}

/// The step of the elements \p places of the leaf's vector, each of a slot of its own.
void ReductionEmitter::takeElements(Leaf &leaf, ArrayRef<unsigned> together) {
  Block &step = phase.body();
  unsigned vector = walk.layout().vector();
  int64_t slot = slotOf(leaf.offset + together.front());
  auto known = states.find(slot);
  elements.enter(phase.element(), leaf, vector);
  if (vector > 1 && together.size() == 1)
    elements.restrictTo(together.front());
  else if (together.size() < vector)
    elements.restrictToLanes(together);
  if (op.hasSeeds())
    for (auto [argument, value] : llvm::zip(step.getArguments().drop_front(), known->second.fields))
      elements.bind(argument, value);
  for (Operation &inner : step.without_terminator())
    if (!leaf.ready.contains(&inner))
      elements.emit(inner);
  State result;
  if (elements.error().empty())
    for (Value value : step.getTerminator()->getOperands())
      result.fields.push_back(elements.spread(elements.emitted(value), together.size()));
  elements.restrictTo(-1);
  if (!elements.error().empty())
    return;
  Value exists = leaf.end ? elements.exist(leaf, together) : leaf.exists;
  if (op.hasSeeds()) {
    if (exists && !mutated(Mutant::IdleSteps))
      result = choose(exists, result, known->second);
  } else {
    result.present = exists ? elements.spread(exists, together.size()) : exists;
    if (known != states.end())
      result = joinPresent(known->second, result);
  }
  states[slot] = result;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

State ReductionEmitter::join(const State &lower, const State &upper) {
  Block &body = op.getJoin().front();
  size_t count = lower.fields.size();
  if (machine.joinsVectors)
    elements.setWidth(std::max(widthOf(lower.fields.front()), widthOf(upper.fields.front())));
  for (size_t field = 0; field < count; ++field) {
    elements.bind(body.getArgument(field), lower.fields[field]);
    elements.bind(body.getArgument(count + field), upper.fields[field]);
  }
  elements.emitBlock(body);
  State result;
  if (elements.error().empty())
    for (Value value : body.getTerminator()->getOperands())
      result.fields.push_back(elements.emitted(value));
  return elements.error().empty() ? result : lower;
}

/// If one is absent, the other; if both, absent.
State ReductionEmitter::joinPresent(const State &lower, const State &upper) {
  State result = join(lower, upper);
  if (lower.present)
    result = choose(lower.present, result, upper);
  if (upper.present)
    result = choose(upper.present, result, lower);
  result.present = {};
  if (lower.present && upper.present)
    result.present =
        arith::OrIOp::create(builder, loc, elements.spread(lower.present, widthOf(upper.present)),
                             elements.spread(upper.present, widthOf(lower.present)));
  return result;
}

void ReductionEmitter::runStage(const ir::OrderStage &stage) {
  const OrderAtoms::Digit &digit = atoms.digits[stage.digit];
  switch (stage.join) {
  case ir::Join::Serial:
    return joinSerially(digit);
  case ir::Join::Halving:
    joinIdleBits(digit);
    return joinBits(digit, /*lowestFirst=*/false);
  case ir::Join::Adjacent:
    joinBits(digit, /*lowestFirst=*/true);
    return joinIdleBits(digit);
  }
}

/// The most significant bits of a digit, where the row has no element: the upper sides are idle.
void ReductionEmitter::joinIdleBits(const OrderAtoms::Digit &digit) {
  if (!idle || mutated(Mutant::SkippedIdle))
    return;
  for (int64_t rest = digit.radix / digit.populated; rest > 1; rest /= 2) {
    for (auto &[slot, state] : states)
      state = join(state, *idle);
    idle = join(*idle, *idle);
  }
}

void ReductionEmitter::joinBits(const OrderAtoms::Digit &digit, bool lowestFirst) {
  SmallVector<std::pair<unsigned, unsigned>> bits; // atom and bit, most significant first
  for (unsigned atom : digit.atoms)
    for (unsigned bit = llvm::Log2_64(atoms.atoms[atom].radix); bit-- > 0;)
      bits.push_back({atom, bit});
  if (lowestFirst || mutated(Mutant::StageOrder))
    std::reverse(bits.begin(), bits.end());
  if (mutated(Mutant::SkippedStage) && !bits.empty())
    bits.pop_back();
  for (auto [atom, bit] : bits) {
    joinBit(atom, bit);
    if (idle)
      idle = join(*idle, *idle);
  }
}

State ReductionEmitter::lanesOf(const State &state, ArrayRef<unsigned> chosen) {
  State result = state;
  for (Value &field : result.fields)
    field = elements.select(field, chosen);
  if (result.present)
    result.present = elements.select(result.present, chosen);
  return result;
}

/// Joins the halves of each vector whose places differ in the bit of weight \p weight.
void ReductionEmitter::joinVectors(int64_t weight) {
  SmallVector<unsigned> lower, upper;
  SmallVector<int64_t> left;
  for (auto [lane, place] : llvm::enumerate(lanes)) {
    (place & weight ? upper : lower).push_back(lane);
    if (!(place & weight))
      left.push_back(place);
  }
  for (auto &[slot, state] : states)
    state = joinPresent(lanesOf(state, lower), lanesOf(state, upper));
  lanes = left;
}

/// Each setting of an atom that is in the states' vectors becomes a slot of its own.
void ReductionEmitter::fromVectors(unsigned index) {
  OrderAtoms::Atom &atom = atoms.atoms[index];
  States all;
  SmallVector<int64_t> left;
  int64_t mask = (atom.radix - 1) * atom.weight;
  for (int64_t setting = 0; setting < atom.radix; ++setting) {
    SmallVector<unsigned> chosen;
    for (auto [lane, place] : llvm::enumerate(lanes))
      if ((place & mask) == setting * atom.weight) {
        chosen.push_back(lane);
        if (!setting)
          left.push_back(place);
      }
    for (auto &[slot, state] : states)
      all[slot + setting * atom.weight] = lanesOf(state, chosen);
  }
  states = all;
  lanes = left;
  atom.place = Place::Register;
}

/// Joins the two halves that differ in one bit of the index, for every setting of the other bits.
void ReductionEmitter::joinBit(unsigned index, unsigned bit) {
  if (atoms.atoms[index].place == Place::Vector && machine.joinsVectors)
    return joinVectors(atoms.atoms[index].weight << bit);
  if (atoms.atoms[index].place == Place::Thread) {
    unsigned threadBit = atoms.atoms[index].threadBit + bit;
    if (threadBit < warpBit)
      return joinLanes(threadBit);
    toRegisters(index);
  }
  const OrderAtoms::Atom &atom = atoms.atoms[index];
  int64_t upper = atom.weight << bit;
  States joined;
  for (const auto &[slot, state] : states) {
    bool isUpper = (slot / atom.weight) % atom.radix >> bit & 1;
    if (!isUpper) {
      auto other = states.find(slot + upper);
      joined[slot] = other == states.end() ? state : joinPresent(state, other->second);
    } else if (!states.contains(slot - upper)) {
      joined[slot - upper] = state;
    }
  }
  states = joined;
}

void ReductionEmitter::joinLanes(unsigned threadBit) {
  Value isUpper;
  if (!joinCommutes()) {
    Value mask = elements.constant(builder.getI32IntegerAttr(1 << threadBit));
    Value masked = arith::AndIOp::create(builder, loc, team.thread, mask);
    isUpper = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, masked,
                                    elements.constant(builder.getI32IntegerAttr(0)));
  }
  for (auto &[slot, state] : states) {
    State other;
    for (Value field : state.fields)
      other.fields.push_back(
          exchange.butterfly(field, 1 << (mutated(Mutant::OtherLane) ? threadBit ^ 1 : threadBit)));
    if (state.present)
      other.present = exchange.butterfly(state.present, 1 << threadBit);
    if (mutated(Mutant::SwappedOperands))
      state = joinPresent(other, state);
    else if (isUpper)
      state = joinPresent(choose(isUpper, other, state), choose(isUpper, state, other));
    else
      state = joinPresent(state, other);
  }
}

/// Every thread gets the states of all threads that differ in this atom.
void ReductionEmitter::toRegisters(unsigned index) {
  OrderAtoms::Atom &atom = atoms.atoms[index];
  unsigned count = llvm::Log2_64(atom.radix);
  States all;
  if (atom.threadBit >= warpBit) {
    std::vector<SmallVector<Value>> settings =
        exchange.fromWarps(flatten(states), atom.threadBit, count);
    for (auto [setting, values] : llvm::enumerate(settings))
      for (auto &[slot, state] : unflatten(states, values))
        all[slot + static_cast<int64_t>(setting) * atom.weight] = state;
  } else {
    for (int64_t setting = 0; setting < atom.radix; ++setting) {
      Value lane = exchange.threadWith(atom.threadBit, count, setting);
      SmallVector<Value> values;
      for (Value value : flatten(states))
        values.push_back(exchange.fromLane(value, lane));
      for (auto &[slot, state] : unflatten(states, values))
        all[slot + setting * atom.weight] = state;
    }
  }
  states = all;
  atom.place = Place::Register;
}

/// a = s[0]; then a = J(a, s[p]) for p = 1 .. r-1.
void ReductionEmitter::joinSerially(const OrderAtoms::Digit &digit) {
  for (unsigned atom : digit.atoms)
    if (atoms.atoms[atom].place == Place::Thread)
      toRegisters(atom);
    else if (atoms.atoms[atom].place == Place::Vector && machine.joinsVectors)
      fromVectors(atom);
  constexpr int64_t longest = 4096;
  int64_t weight = digit.atoms.empty() ? 1 : atoms.atoms[digit.atoms.back()].weight;
  int64_t radix = digit.radix ? digit.radix : digit.populated;
  int64_t populated = std::min(radix, digit.populated);
  if (idle && radix - populated > longest) {
    error = "a serial join over " + std::to_string(radix) + " slots without elements";
    return;
  }
  auto positionOf = [&](int64_t slot) {
    return digit.atoms.empty() ? 0 : (slot / weight) % digit.populated;
  };
  States joined;
  for (const auto &[slot, state] : states) {
    int64_t rest = slot - positionOf(slot) * weight;
    if (joined.contains(rest))
      continue;
    std::optional<State> result;
    for (int64_t number = 0; number < populated; ++number) {
      int64_t position = mutated(Mutant::SerialBackwards) ? populated - 1 - number : number;
      auto next = states.find(rest + position * weight);
      if (next == states.end())
        continue; // no element reaches it, and it is absent
      if (!result) {
        result = next->second;
        continue;
      }
      State both = joinPresent(*result, next->second);
      // How many slots there are is known at run time.
      if (!digit.radix && op.hasSeeds())
        both = choose(walk.exists(elements.constant(0), position * weight), both, *result);
      result = both;
    }
    for (int64_t position = populated; position < radix && idle; ++position)
      result = join(*result, *idle);
    joined[rest] = *result;
  }
  states = joined;
  if (idle) {
    State first = *idle;
    for (int64_t position = 1; position < radix; ++position)
      idle = join(*idle, first);
  }
}

/// All trees agree: the thread's elements are already joined, the other threads follow.
void ReductionEmitter::joinAny() {
  for (int64_t bit = walk.layout().vector() / 2; bit && lanes.size() > 1; bit /= 2)
    joinVectors(bit);
  int64_t weight = 1;
  for (const LayoutDigit &digit : walk.layout().digits) {
    if (digit.place != Place::Thread)
      continue;
    for (unsigned bit = llvm::Log2_64(digit.radix); bit-- > 0;) {
      unsigned threadBit = digit.threadBit + bit;
      if (threadBit < warpBit) {
        joinLanes(threadBit);
        continue;
      }
      atoms.atoms.push_back({Place::Thread, 2, threadBit, weight});
      joinBit(atoms.atoms.size() - 1, 0);
    }
  }
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

//===----------------------------------------------------------------------===//
// States as lists of values
//===----------------------------------------------------------------------===//

SmallVector<Value> ReductionEmitter::flatten(const States &all) {
  SmallVector<Value> values;
  for (const auto &[slot, state] : all) {
    llvm::append_range(values, state.fields);
    if (state.present)
      values.push_back(state.present);
  }
  return values;
}

States ReductionEmitter::unflatten(const States &like, ArrayRef<Value> values) {
  States result = like;
  size_t next = 0;
  for (auto &[slot, state] : result) {
    for (Value &field : state.fields)
      field = values[next++];
    if (state.present)
      state.present = values[next++];
  }
  return result;
}

State ReductionEmitter::choose(Value condition, const State &a, const State &b) {
  State result;
  for (auto [x, y] : llvm::zip(a.fields, b.fields))
    result.fields.push_back(choose(condition, x, y));
  if (a.present || b.present) {
    Value always = elements.spread(elements.constant(builder.getBoolAttr(true)),
                                   a.present ? widthOf(a.present) : widthOf(b.present));
    result.present =
        choose(condition, a.present ? a.present : always, b.present ? b.present : always);
  }
  return result;
}

} // namespace

std::string emitReduction(OpBuilder &builder, Elements &elements, Exchange &exchange,
                          const Machine &machine, const Team &team, const Phase &phase, Walk &walk,
                          std::vector<Leaf> *held) {
  return ReductionEmitter(builder, elements, exchange, machine, team, phase, walk, held).run();
}

} // namespace h3
