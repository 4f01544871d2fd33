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

#include "SpecCall.h"
#include "tests/unit/Seed.h"

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
  Random random{std::mt19937_64(test::seed())};
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

// ---- The same on the whole interpreter.

/// The order as a spec writes it.
std::string written(const Order &order) {
  std::string text = "(";
  for (const Order::Digit &digit : order.digits) {
    text += (text.size() > 1 ? ", " : "") + (digit.isNamed() ? digit.name : "_");
    text += digit.radix ? ": " + std::to_string(*digit.radix) : "";
  }
  text += ")";
  const char *joins[] = {"serial", "halving", "adjacent"};
  for (const Order::Stage &stage : order.stages)
    text += std::string(" then ") + joins[int(stage.join)] + " " + order.digits[stage.digit].name;
  return text;
}

/// Reads §4.3 as scalar code on 32-bit integers, in which a spec can say the same: element by
/// element, then stage by stage over a list of states that shrinks.
std::optional<uint32_t> scalarReading(const Order &order, const std::vector<uint32_t> &x,
                                      bool hasSeed) {
  auto joined = [](std::optional<uint32_t> a,
                   std::optional<uint32_t> b) -> std::optional<uint32_t> {
    if (!a || !b)
      return a ? a : b;
    return (*a * 31 + *b * 17) * (*a + 3);
  };
  int64_t n = int64_t(x.size()), product = 1;
  for (const Order::Digit &digit : order.digits)
    product *= digit.radix.value_or(1);
  struct Axis {
    unsigned digit;
    int64_t radix;
  };
  std::vector<Axis> named;
  std::vector<int64_t> radix;
  int64_t slots = 1;
  for (unsigned d = 0; d < order.digits.size(); ++d) {
    radix.push_back(
        order.digits[d].radix.value_or(std::max<int64_t>(1, (n + product - 1) / product)));
    if (order.digits[d].isNamed()) {
      named.push_back({d, radix[d]});
      slots *= radix[d];
    }
  }
  std::vector<std::optional<uint32_t>> states(size_t(slots), std::nullopt);
  if (hasSeed)
    std::fill(states.begin(), states.end(), 7u);
  for (int64_t i = 0; i < n; ++i) {
    int64_t slot = 0, below = 1, rest = i;
    for (size_t d = radix.size(); d-- > 0; rest /= radix[d])
      if (order.digits[d].isNamed()) {
        slot += rest % radix[d] * below;
        below *= radix[d];
      }
    std::optional<uint32_t> &state = states[size_t(slot)];
    state = hasSeed ? std::optional(*state * 5 + x[size_t(i)]) : joined(state, x[size_t(i)]);
  }
  for (const Order::Stage &stage : order.stages) {
    size_t axis = 0;
    while (named[axis].digit != stage.digit)
      ++axis;
    int64_t inner = 1, outer = 1, r = named[axis].radix;
    for (size_t a = 0; a < named.size(); ++a)
      (a < axis ? outer : inner) *= a == axis ? 1 : named[a].radix;
    std::vector<std::optional<uint32_t>> left;
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t in = 0; in < inner; ++in) {
        std::vector<std::optional<uint32_t>> s;
        for (int64_t p = 0; p < r; ++p)
          s.push_back(states[size_t((o * r + p) * inner + in)]);
        if (stage.join == Order::Join::Serial) {
          for (size_t p = 1; p < s.size(); ++p)
            s[0] = joined(s[0], s[p]);
        } else if (stage.join == Order::Join::Halving) {
          for (size_t h = s.size() / 2; h >= 1; h /= 2)
            for (size_t p = 0; p < h; ++p)
              s[p] = joined(s[p], s[p + h]);
        } else {
          for (size_t count = s.size(); count > 1; count /= 2)
            for (size_t p = 0; 2 * p + 1 < count; ++p)
              s[p] = joined(s[2 * p], s[2 * p + 1]);
        }
        left.push_back(s[0]);
      }
    states = std::move(left);
    named.erase(named.begin() + int64_t(axis));
  }
  return states.at(0);
}

TEST(OrderRules, SpecsOfRandomOrdersAgreeWithAScalarReading) {
  Random random{std::mt19937_64(test::seed())};
  int compared = 0, idle = 0, absent = 0;
  while (compared < 300) {
    Order order = randomOrder(random);
    int64_t product = 1;
    bool isBounded = true;
    for (const Order::Digit &digit : order.digits) {
      product *= digit.radix.value_or(1);
      isBounded &= digit.radix.has_value();
    }
    int64_t n = random.below(150);
    bool hasSeed = random.below(2);
    if ((isBounded && n > product) || (!hasSeed && n == 0))
      continue;
    std::string text = "order tree = " + written(order) + R"(
op o {
  dim rows, n)" + (hasSeed ? "" : "\n  require n >= 1") +
                       R"(
  in  x : i32[rows, n]
  out y : i32[rows]
  y[t] = reduce i: n by tree
    )" + (hasSeed ? "from s: i32 = 7 step s = s * 5 + x[t, i]" : "of x[t, i]") +
                       R"(
    join (a, b) = (a * 31 + b * 17) * (a + 3)
})";
    test::Spec spec(text);
    ASSERT_TRUE(spec.program) << text;
    test::SpecCall call(spec, {{"rows", 2}, {"n", n}});
    std::vector<uint32_t> rows[2];
    std::vector<Bits> x;
    for (std::vector<uint32_t> &row : rows)
      for (int64_t i = 0; i < n; ++i) {
        row.push_back(uint32_t(random.engine()));
        x.push_back(row.back());
      }
    call.fill("x", x);
    call.run();
    for (size_t row = 0; row < 2; ++row)
      EXPECT_EQ(uint32_t(call.get("y")[row]), scalarReading(order, rows[row], hasSeed))
          << text << "\nn = " << n;
    ++compared;
    idle += n < product;
    absent += n < product && !hasSeed;
  }
  EXPECT_GT(idle, 50);
  EXPECT_GT(absent, 20);
}

// ---- One tree, two digit strings.

/// Another order with the same tree: \p kind says how, empty if this order does not allow it.
std::optional<Order> rewritten(const Order &order, int kind, Random &random) {
  Order other{order.name, {}, {}};
  unsigned chosen = unsigned(random.below(int64_t(order.digits.size())));
  const Order::Digit &digit = order.digits[chosen];
  int64_t radix = digit.radix.value_or(0);
  // What stands for the chosen digit, most significant first, and what its stage becomes.
  std::vector<Order::Digit> digits;
  auto stageOf = std::find_if(order.stages.begin(), order.stages.end(),
                              [&](const Order::Stage &stage) { return stage.digit == chosen; });
  std::vector<Order::Stage> stages;
  switch (kind) {
  case 0: // a walked digit is walked in two
    if (digit.isNamed() || radix < 4 || radix % 2)
      return std::nullopt;
    digits = {{"", 2}, {"", radix / 2}};
    break;
  case 1: // an open walked digit in front leaves one behind it, as long as it is the first
    if (digit.isNamed() || digit.radix || chosen != 0)
      return std::nullopt;
    digits = {{"", std::nullopt}, {"", 3}};
    break;
  case 2: // halving and adjacent, in two digits: the outer bits first, or the inner
    if (!digit.isNamed() || radix < 4 || stageOf->join == Order::Join::Serial)
      return std::nullopt;
    digits = {{"hi", 2}, {"lo", radix / 2}};
    if (stageOf->join == Order::Join::Halving)
      stages = {{Order::Join::Halving, chosen}, {Order::Join::Halving, chosen + 1}};
    else
      stages = {{Order::Join::Adjacent, chosen + 1}, {Order::Join::Adjacent, chosen}};
    break;
  case 3: // over two, all joins are one
    if (!digit.isNamed() || radix != 2)
      return std::nullopt;
    digits = {digit};
    stages = {{Order::Join((int(stageOf->join) + 1) % 3), chosen}};
    break;
  default: // a digit of one value is none, named or not
    digits = {{"one", 1}, digit};
    stages = {{Order::Join(random.below(3)), chosen}};
    if (digit.isNamed())
      stages.push_back({stageOf->join, chosen + 1});
    break;
  }
  unsigned more = unsigned(digits.size()) - 1;
  for (unsigned d = 0; d < order.digits.size(); ++d)
    if (d == chosen)
      other.digits.insert(other.digits.end(), digits.begin(), digits.end());
    else
      other.digits.push_back(order.digits[d]);
  for (const Order::Stage &stage : order.stages)
    if (stage.digit == chosen)
      other.stages.insert(other.stages.end(), stages.begin(), stages.end());
    else
      other.stages.push_back({stage.join, stage.digit > chosen ? stage.digit + more : stage.digit});
  if (!digit.isNamed()) // the stage of the digit of one value, anywhere
    other.stages.insert(other.stages.begin() + random.below(int64_t(other.stages.size()) + 1),
                        stages.begin(), stages.end());
  return other;
}

TEST(OrderRules, OneTreeInTwoDigitStringsGivesTheSameBits) {
  Random random{std::mt19937_64(test::seed())};
  constexpr int kinds = 5;
  int compared[kinds] = {};
  std::string error;
  while (*std::min_element(compared, compared + kinds) < 100) {
    Order order = randomOrder(random);
    int kind = int(random.below(kinds));
    std::optional<Order> other = rewritten(order, kind, random);
    if (!other)
      continue;
    int64_t n = random.below(200);
    bool hasSeed = random.below(2);
    if (!shapeOf(order, n, error) || !shapeOf(*other, n, error))
      continue;
    EXPECT_EQ(firstReading(order, n, hasSeed, error), firstReading(*other, n, hasSeed, error))
        << written(order) << " and " << written(*other) << ", n = " << n;
    ++compared[kind];
  }
}

TEST(OrderRules, AnotherTreeGivesOtherBits) {
  // What the test before would not see if its joins were too kind.
  std::string error;
  auto tree = [](Order::Join join, int64_t walked) {
    return Order{"t", {{"", std::nullopt}, {"a", 4}, {"", walked}}, {{join, 1}}};
  };
  for (bool hasSeed : {false, true}) {
    Maybe serial = firstReading(tree(Order::Join::Serial, 2), 37, hasSeed, error);
    Maybe halving = firstReading(tree(Order::Join::Halving, 2), 37, hasSeed, error);
    Maybe adjacent = firstReading(tree(Order::Join::Adjacent, 2), 37, hasSeed, error);
    Maybe walked = firstReading(tree(Order::Join::Serial, 3), 37, hasSeed, error);
    EXPECT_NE(serial, halving);
    EXPECT_NE(serial, adjacent);
    EXPECT_NE(halving, adjacent);
    EXPECT_NE(serial, walked);
  }
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
