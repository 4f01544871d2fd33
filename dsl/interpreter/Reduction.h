//===-- dsl/interpreter/Reduction.h - The meaning of reductions -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// language.md §4.3, rules 3 to 5, over any kind of state: bit patterns, terms, text.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_INTERPRETER_REDUCTION_H
#define H3_DSL_INTERPRETER_REDUCTION_H

#include "dsl/interpreter/OrderShape.h"

#include <concepts>

namespace h3::interpreter {

/// The states of a reduction, one for each slot, kept by whoever runs it. In `join` and `move` the
/// position `into` may be the one of an operand.
template <class States>
concept ReductionStates = requires(States s, int64_t slot, int64_t element) {
  s.seed(slot);             ///< from: the state is the initial value z
  s.step(slot, element);    ///< from: the element replaces the state by f
  s.first(slot, element);   ///< of: the state is e
  s.next(slot, element);    ///< of: the state is join(state, e)
  s.join(slot, slot, slot); ///< (into, left, right): the state is join(left, right)
  s.move(slot, slot);       ///< (into, from)
};

/// Which of the two ways a reduction is written.
enum class ReductionForm { From, Of };

/// J of rule 4, and which states are present.
template <ReductionStates States> class Joiner {
public:
  Joiner(States &states, int64_t slots, bool present) : states(states), present(slots, present) {}

  bool isPresent(int64_t slot) const { return present[slot]; }
  void appear(int64_t slot) { present[slot] = true; }

  /// s[into] = J(s[left], s[right]): if one is absent, the other; if both, absent.
  void operator()(int64_t into, int64_t left, int64_t right) {
    bool hasLeft = present[left], hasRight = present[right];
    if (hasLeft && hasRight)
      states.join(into, left, right);
    else if (hasLeft)
      states.move(into, left);
    else if (hasRight)
      states.move(into, right);
    present[into] = hasLeft || hasRight;
  }

private:
  States &states;
  std::vector<bool> present;
};

/// Rule 3. The elements of one slot are met in increasing order, since all elements are; what slots
/// do to each other in between cannot be seen, for they share nothing.
template <ReductionStates States>
void runChains(const OrderShape &shape, ReductionForm form, States &states,
               Joiner<States> &joiner) {
  if (form == ReductionForm::From)
    for (int64_t slot = 0; slot < shape.slots; ++slot)
      states.seed(slot);
  ElementCounter counter(shape);
  for (int64_t i = 0; i < shape.elements; ++i, counter.next()) {
    int64_t slot = counter.slot();
    if (form == ReductionForm::From) {
      states.step(slot, i);
    } else if (joiner.isPresent(slot)) {
      states.next(slot, i);
    } else {
      states.first(slot, i);
      joiner.appear(slot);
    }
  }
}

/// Rule 4, one stage. The states along the digit are s[p], p = 0 .. r-1; what remains is in s[0].
template <ReductionStates States>
void runStage(const OrderShape::Stage &stage, Joiner<States> &join) {
  const int64_t r = stage.radix;
  for (int64_t setting : stage.settings) {
    auto s = [&](int64_t p) { return setting + p * stage.slotStride; };
    switch (stage.join) {
    case Order::Join::Serial:
      for (int64_t p = 1; p < r; ++p)
        join(s(0), s(0), s(p));
      break;
    case Order::Join::Halving: // s[p+h] is written by no join of this round
      for (int64_t h = r / 2; h >= 1; h /= 2)
        for (int64_t p = 0; p < h; ++p)
          join(s(p), s(p), s(p + h));
      break;
    case Order::Join::Adjacent: // s[p] is read by no later join of this round
      for (int64_t left = r; left > 1; left /= 2)
        for (int64_t p = 0; p < left / 2; ++p)
          join(s(p), s(2 * p), s(2 * p + 1));
      break;
    }
  }
}

/// Rules 3 to 5. The value is left in state 0; false if it is absent (`of` over no elements).
template <ReductionStates States>
bool runReduction(const OrderShape &shape, ReductionForm form, States &states) {
  Joiner<States> joiner(states, shape.slots, form == ReductionForm::From);
  runChains(shape, form, states, joiner);
  for (const OrderShape::Stage &stage : shape.stages)
    runStage(stage, joiner);
  return joiner.isPresent(0);
}

} // namespace h3::interpreter

#endif // H3_DSL_INTERPRETER_REDUCTION_H
