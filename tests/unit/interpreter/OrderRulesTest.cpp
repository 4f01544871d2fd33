//===-- tests/unit/interpreter/OrderRulesTest.cpp -------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Reduction.h against a second reading of language.md §4.3 that shares no code with it: slots are
// tuples, elements are found by dividing, a stage builds a new table of states. The join is neither
// commutative nor associative, so any other tree gives another number.
//
//===----------------------------------------------------------------------===//

#include "dsl/interpreter/Reduction.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

using namespace h3;
using namespace h3::interpreter;

namespace {

constexpr uint64_t SeedValue = 0x5EED;

uint64_t elementValue(int64_t i) { return 0x9E3779B97F4A7C15u * uint64_t(i + 1); }
uint64_t stepValue(uint64_t state, int64_t i) {
  uint64_t mixed = (state ^ elementValue(i)) * 0xD6E8FEB86659FD93u;
  return (mixed << 23 | mixed >> 41) + 1;
}
uint64_t joinValue(uint64_t a, uint64_t b) {
  uint64_t mixed = a * 0xBF58476D1CE4E5B9u + (b << 17 | b >> 47) * 0x94D049BB133111EBu;
  return mixed ^ mixed >> 29;
}

/// The states that Reduction.h works on.
struct Numbers {
  std::vector<uint64_t> state;
  void seed(int64_t slot) { state[slot] = SeedValue; }
  void step(int64_t slot, int64_t i) { state[slot] = stepValue(state[slot], i); }
  void first(int64_t slot, int64_t i) { state[slot] = elementValue(i); }
  void next(int64_t slot, int64_t i) { state[slot] = joinValue(state[slot], elementValue(i)); }
  void join(int64_t into, int64_t left, int64_t right) {
    state[into] = joinValue(state[left], state[right]);
  }
  void move(int64_t into, int64_t from) { state[into] = state[from]; }
};

// ---- The second reading.

using Maybe = std::optional<uint64_t>;
using Tuple = std::vector<int64_t>;

Maybe join(Maybe a, Maybe b) {
  if (!a)
    return b;
  return b ? joinValue(*a, *b) : a;
}

Maybe halved(const std::vector<Maybe> &s) {
  if (s.size() == 1)
    return s[0];
  std::vector<Maybe> lower;
  for (size_t p = 0; p < s.size() / 2; ++p)
    lower.push_back(join(s[p], s[p + s.size() / 2]));
  return halved(lower);
}

/// Adjacent joins make the balanced tree over the positions as they stand.
Maybe balanced(const std::vector<Maybe> &s, size_t begin, size_t end) {
  if (end - begin == 1)
    return s[begin];
  size_t middle = begin + (end - begin) / 2;
  return join(balanced(s, begin, middle), balanced(s, middle, end));
}

Maybe secondReading(const Order &order, int64_t n, bool hasSeed) {
  size_t k = order.digits.size();
  std::vector<int64_t> radix(k);
  int64_t product = 1;
  for (size_t d = 0; d < k; ++d)
    product *= order.digits[d].radix.value_or(1);
  for (size_t d = 0; d < k; ++d)
    radix[d] = order.digits[d].radix ? *order.digits[d].radix
                                     : std::max<int64_t>(1, (n + product - 1) / product);

  std::map<Tuple, Maybe> states;
  Tuple tuple(k, 0);
  auto makeSlots = [&](auto &self, size_t d) -> void {
    if (d == k) {
      states[tuple] = hasSeed ? Maybe(SeedValue) : std::nullopt;
      return;
    }
    for (tuple[d] = 0; tuple[d] < (order.digits[d].name.empty() ? 1 : radix[d]); ++tuple[d])
      self(self, d + 1);
    tuple[d] = 0;
  };
  makeSlots(makeSlots, 0);

  for (auto &[slot, state] : states) {
    for (int64_t i = 0; i < n; ++i) {
      int64_t rest = i;
      bool isMine = true;
      for (size_t d = k; d-- > 0; rest /= radix[d])
        isMine &= order.digits[d].name.empty() || rest % radix[d] == slot[d];
      if (!isMine)
        continue;
      if (hasSeed)
        state = stepValue(*state, i);
      else
        state = state ? joinValue(*state, elementValue(i)) : elementValue(i);
    }
  }

  for (const Order::Stage &stage : order.stages) {
    std::map<Tuple, std::vector<Maybe>> along;
    for (const auto &[slot, state] : states) { // a map is sorted, so positions come in order
      Tuple others = slot;
      others[stage.digit] = -1;
      along[others].push_back(state);
    }
    states.clear();
    for (const auto &[others, s] : along) {
      Maybe result;
      if (stage.join == Order::Join::Serial)
        for (const Maybe &next : s)
          result = join(result, next);
      else if (stage.join == Order::Join::Halving)
        result = halved(s);
      else
        result = balanced(s, 0, s.size());
      states[others] = result;
    }
  }
  EXPECT_EQ(states.size(), 1u);
  return states.begin()->second;
}

Maybe firstReading(const Order &order, int64_t n, bool hasSeed, std::string &error) {
  std::optional<OrderShape> shape = shapeOf(order, n, error);
  if (!shape)
    return std::nullopt;
  Numbers numbers{std::vector<uint64_t>(shape->slots)};
  bool isPresent = runReduction(*shape, hasSeed ? ReductionForm::From : ReductionForm::Of, numbers);
  return isPresent ? Maybe(numbers.state[0]) : std::nullopt;
}

// ---- Random orders.

struct Random {
  std::mt19937_64 engine;
  int64_t below(int64_t n) { return int64_t(engine() % uint64_t(n)); }
};

Order randomOrder(Random &random) {
  Order order;
  order.name = "random";
  int64_t count = 1 + random.below(5), open = random.below(count + 1);
  for (int64_t d = 0; d < count; ++d) {
    Order::Digit digit;
    if (random.below(2))
      digit.name = std::string(1, char('a' + d));
    if (d != open)
      digit.radix = random.below(2) ? 1 + random.below(7) : int64_t(1) << random.below(4);
    order.digits.push_back(digit);
  }
  for (unsigned d = 0; d < order.digits.size(); ++d) {
    const Order::Digit &digit = order.digits[d];
    if (!digit.isNamed())
      continue;
    bool anyJoin = digit.radix && (*digit.radix & (*digit.radix - 1)) == 0;
    auto join = anyJoin ? Order::Join(random.below(3)) : Order::Join::Serial;
    order.stages.push_back({join, d});
  }
  std::shuffle(order.stages.begin(), order.stages.end(), random.engine);
  return order;
}

TEST(OrderRules, AgreeWithASecondReadingOnRandomOrders) {
  Random random{std::mt19937_64(20261130)};
  int compared = 0, refused = 0, idle = 0, manyWalked = 0, open = 0;
  int joins[3] = {};
  while (compared < 2000) {
    Order order = randomOrder(random);
    int64_t product = 1;
    bool isBounded = true;
    for (const Order::Digit &digit : order.digits) {
      product *= digit.radix.value_or(1);
      isBounded &= digit.radix.has_value();
    }
    // Anywhere in 0 .. 200, or next to a multiple of the product of the radices.
    int64_t n = random.below(2)
                    ? random.below(201)
                    : std::max<int64_t>(0, product * random.below(4) + random.below(3) - 1);
    bool hasSeed = random.below(2);
    std::string error;
    if (isBounded && n > product) {
      EXPECT_FALSE(shapeOf(order, n, error));
      EXPECT_EQ(error, "order 'random' holds at most " + std::to_string(product) +
                           " elements, found " + std::to_string(n));
      ++refused;
      continue;
    }
    Maybe expected = secondReading(order, n, hasSeed);
    EXPECT_EQ(firstReading(order, n, hasSeed, error), expected) << "n = " << n;
    EXPECT_EQ(expected.has_value(), hasSeed || n > 0);
    ++compared;
    idle += n < product;
    open += !isBounded;
    manyWalked += std::count_if(order.digits.begin(), order.digits.end(),
                                [](const Order::Digit &digit) { return !digit.isNamed(); }) > 1;
    for (const Order::Stage &stage : order.stages)
      ++joins[int(stage.join)];
  }
  // The cases were of every kind.
  EXPECT_GT(refused, 100);
  EXPECT_GT(idle, 100);
  EXPECT_GT(open, 100);
  EXPECT_GT(manyWalked, 100);
  for (int count : joins)
    EXPECT_GT(count, 100);
}

TEST(OrderRules, SingleChainIsTheOrderOfOneWalkedDigit) {
  Order order{"chain", {{"", std::nullopt}}, {}};
  for (int64_t n : {0, 1, 2, 100}) {
    Numbers numbers{{0}};
    runReduction(singleChain(n), ReductionForm::From, numbers);
    EXPECT_EQ(Maybe(numbers.state[0]), secondReading(order, n, true)) << n;
  }
}

TEST(OrderRules, NoElementsLeaveTheSeedOrNothing) {
  Order order{"o", {{"", std::nullopt}, {"lane", 4}}, {{Order::Join::Halving, 1}}};
  std::string error;
  EXPECT_EQ(firstReading(order, 0, false, error), std::nullopt);
  uint64_t pair = joinValue(SeedValue, SeedValue);
  EXPECT_EQ(firstReading(order, 0, true, error), Maybe(joinValue(pair, pair)));
}

TEST(OrderRules, ProductsBeyond64BitsAreNoTrap) {
  Order order{"wide",
              {{"", int64_t(1) << 40}, {"", int64_t(1) << 40}, {"lane", 2}},
              {{Order::Join::Serial, 2}}};
  std::string error;
  EXPECT_EQ(firstReading(order, 5, true, error),
            secondReading(Order{"narrow", {{"", 100}, {"lane", 2}}, {{Order::Join::Serial, 1}}}, 5,
                          true));
  Order slots{"slots",
              {{"a", int64_t(1) << 40}, {"b", int64_t(1) << 40}},
              {{Order::Join::Serial, 0}, {Order::Join::Serial, 1}}};
  EXPECT_FALSE(shapeOf(slots, 5, error));
  EXPECT_EQ(error, "order 'slots' has 9223372036854775807 slots over 5 elements, more than the "
                   "268435456 that the interpreter allows");
}

} // namespace
