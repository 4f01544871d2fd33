//===-- dsl/interpreter/OrderText.cpp - An order's tree as text -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/interpreter/OrderText.h"

#include "dsl/interpreter/Reduction.h"

#include <fmt/core.h>

#include <algorithm>

namespace h3 {

using namespace interpreter;

namespace {

/// Above this the expression is left out: it would be longer than a person reads.
constexpr int64_t MaxExpression = 64;
/// Of a longer list of runs the first ones and the last are shown.
constexpr size_t MaxRuns = 6;

struct JoinRecord {
  int64_t into, left, right;
  bool operator==(const JoinRecord &) const = default;
};

/// States that note what is done to them.
struct Recorder {
  std::vector<std::vector<int64_t>> elements; ///< per slot
  std::vector<JoinRecord> joins;              ///< of the current stage

  explicit Recorder(int64_t slots) : elements(size_t(slots)) {}
  void seed(int64_t) {}
  void step(int64_t slot, int64_t element) { elements[slot].push_back(element); }
  void first(int64_t slot, int64_t element) { step(slot, element); }
  void next(int64_t slot, int64_t element) { step(slot, element); }
  void join(int64_t into, int64_t left, int64_t right) { joins.push_back({into, left, right}); }
  void move(int64_t, int64_t) {}
};

/// States that are expressions.
struct Expressions {
  struct State {
    std::string text;
    bool isChain = true; ///< elements only: brackets are still to come
  };
  std::vector<State> states;

  explicit Expressions(int64_t slots) : states(size_t(slots)) {}
  void seed(int64_t) {}
  void step(int64_t, int64_t) {}
  void first(int64_t slot, int64_t element) { states[slot] = {std::to_string(element)}; }
  void next(int64_t slot, int64_t element) { states[slot].text += ' ' + std::to_string(element); }
  void join(int64_t into, int64_t left, int64_t right) {
    states[into] = {fmt::format("({} + {})", text(left), text(right)), false};
  }
  void move(int64_t into, int64_t from) {
    if (into != from)
      states[into] = states[from];
  }
  std::string text(int64_t slot) const {
    const State &state = states[slot];
    return state.isChain ? '[' + state.text + ']' : state.text;
  }
};

const char *spelling(Order::Join join) {
  switch (join) {
  case Order::Join::Serial:
    return "serial";
  case Order::Join::Halving:
    return "halving";
  case Order::Join::Adjacent:
    return "adjacent";
  }
  __builtin_unreachable();
}

std::string nameOf(const Order::Digit &digit) { return digit.isNamed() ? digit.name : "_"; }

/// "warp 0, lane 3", of the digits in \p shown.
std::string slotName(const Order &order, const OrderShape &shape, int64_t slot,
                     const std::vector<bool> &shown) {
  std::vector<int64_t> digits = digitsOfSlot(shape, slot);
  std::string text;
  for (size_t d = 0; d < digits.size(); ++d)
    if (shown[d])
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", order.digits[d].name, digits[d]);
  return text.empty() ? "the one slot" : text;
}

std::string slotNames(const Order &order, const OrderShape &shape, int64_t first, int64_t last,
                      const std::vector<bool> &shown) {
  std::string text = slotName(order, shape, first, shown);
  if (last != first)
    text += " .. " + slotName(order, shape, last, shown);
  return text;
}

/// "0 .. 3, 128 .. 131"
std::string runs(const std::vector<int64_t> &numbers) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1)
      ++end;
    texts.push_back(end == i + 1 ? std::to_string(numbers[i])
                                 : fmt::format("{} .. {}", numbers[i], numbers[end - 1]));
    i = end;
  }
  std::string text;
  for (size_t k = 0; k < texts.size(); ++k) {
    bool isHidden = texts.size() > MaxRuns && k >= MaxRuns - 2 && k + 1 < texts.size();
    if (!isHidden)
      text += (k == 0 ? "" : ", ") + texts[k];
    else if (k == MaxRuns - 2)
      text += ", ...";
  }
  if (texts.size() > MaxRuns)
    text += fmt::format(" ({} elements)", numbers.size());
  return text;
}

/// By how much every element of \p later lies above the same one of \p earlier; 0 if that differs,
/// which no two slots with elements have in common.
int64_t shift(const std::vector<int64_t> &earlier, const std::vector<int64_t> &later) {
  if (earlier.empty() || earlier.size() != later.size())
    return 0;
  for (size_t k = 0; k < earlier.size(); ++k)
    if (later[k] - earlier[k] != later[0] - earlier[0])
      return 0;
  return later[0] - earlier[0];
}

void printSlots(std::string &out, const Order &order, const OrderShape &shape,
                const std::vector<std::vector<int64_t>> &elements) {
  std::vector<bool> named;
  for (const Order::Digit &digit : order.digits)
    named.push_back(digit.isNamed());
  const int64_t slots = int64_t(elements.size());
  for (int64_t slot = 0; slot < slots;) {
    int64_t end = slot + 1;
    if (elements[slot].empty()) {
      while (end < slots && elements[end].empty())
        ++end;
      out += fmt::format("  {}: none (idle)\n", slotNames(order, shape, slot, end - 1, named));
      slot = end;
      continue;
    }
    out += fmt::format("  {}: {}\n", slotName(order, shape, slot, named), runs(elements[slot]));
    int64_t further = end < slots ? shift(elements[slot], elements[end]) : 0;
    while (further != 0 && end < slots && shift(elements[end - 1], elements[end]) == further)
      ++end;
    if (end - slot > 1)
      out += fmt::format("  {}: likewise, {} further for each slot\n",
                         slotNames(order, shape, slot + 1, end - 1, named), further);
    slot = end;
  }
}

/// "2p + 1" for start 1, step 2.
std::string linear(int64_t start, int64_t step) {
  std::string text = step == 0 ? "" : step == 1 ? "p" : fmt::format("{}p", step);
  if (text.empty())
    return std::to_string(start);
  return start == 0 ? text : fmt::format("{} + {}", text, start);
}

/// Joins along one digit; those that continue each other are one line.
void printJoins(std::string &out, const std::vector<JoinRecord> &joins) {
  for (size_t i = 0; i < joins.size();) {
    const JoinRecord &first = joins[i];
    JoinRecord step{0, 0, 0};
    size_t end = i + 1;
    auto difference = [&](size_t k) {
      return JoinRecord{joins[k].into - joins[k - 1].into, joins[k].left - joins[k - 1].left,
                        joins[k].right - joins[k - 1].right};
    };
    if (end < joins.size()) {
      JoinRecord candidate = difference(end);
      // A step back begins the next round.
      if (candidate.into >= 0 && candidate.left >= 0 && candidate.right > 0) {
        step = candidate;
        while (end < joins.size() && difference(end) == step)
          ++end;
      }
    }
    out += fmt::format("  s[{}] = J(s[{}], s[{}])", linear(first.into, step.into),
                       linear(first.left, step.left), linear(first.right, step.right));
    out += end - i > 1 ? fmt::format(", p = 0 .. {}\n", end - i - 1) : "\n";
    i = end;
  }
}

void printStage(std::string &out, const Order &order, const OrderShape &shape, size_t number,
                std::vector<bool> left, const std::vector<JoinRecord> &joins) {
  const Order::Stage &written = order.stages[number];
  const OrderShape::Stage &stage = shape.stages[number];
  left[written.digit] = false;
  out += fmt::format("\nstage {}, {} {}", number + 1, spelling(written.join),
                     order.digits[written.digit].name);
  if (joins.empty()) {
    out += ": nothing to join\n";
    return;
  }
  // The settings are worked on one after the other; where they do the same, it is said once.
  const size_t perSetting = joins.size() / stage.settings.size();
  auto joinsOf = [&](size_t setting) {
    std::vector<JoinRecord> result;
    for (size_t k = 0; k < perSetting; ++k) {
      const JoinRecord &join = joins[setting * perSetting + k];
      auto position = [&](int64_t slot) {
        return (slot - stage.settings[setting]) / stage.slotStride;
      };
      result.push_back({position(join.into), position(join.left), position(join.right)});
    }
    return result;
  };
  for (size_t setting = 0; setting < stage.settings.size();) {
    std::vector<JoinRecord> these = joinsOf(setting);
    size_t end = setting + 1;
    while (end < stage.settings.size() && joinsOf(end) == these)
      ++end;
    if (stage.settings.size() > 1)
      out += fmt::format(", for {}", slotNames(order, shape, stage.settings[setting],
                                               stage.settings[end - 1], left));
    out += '\n';
    printJoins(out, these);
    setting = end;
  }
}

} // namespace

std::string orderText(const Order &order) {
  std::string text = "(";
  for (const Order::Digit &digit : order.digits) {
    text += (text.size() > 1 ? ", " : "") + nameOf(digit);
    if (digit.radix)
      text += fmt::format(": {}", *digit.radix);
  }
  text += ')';
  for (const Order::Stage &stage : order.stages)
    text += fmt::format(" then {} {}", spelling(stage.join), order.digits[stage.digit].name);
  return text;
}

std::string treeText(const Order &order, int64_t n) {
  std::string error;
  std::optional<OrderShape> shape = shapeOf(order, n, error);
  if (!shape)
    return error + '\n';

  std::string out = orderText(order);
  out += fmt::format("\n{} element{}, digits", n, n == 1 ? "" : "s");
  for (size_t d = 0; d < order.digits.size(); ++d)
    out += fmt::format("{} {} = {}", d == 0 ? "" : ",", nameOf(order.digits[d]),
                       shape->digits[d].radix);
  out += fmt::format(", {} slot{}\n\nslots, each with the elements that it walks, in order\n",
                     shape->slots, shape->slots == 1 ? "" : "s");

  Recorder recorder(shape->slots);
  Joiner<Recorder> joiner(recorder, shape->slots, true);
  runChains(*shape, ReductionForm::From, recorder, joiner);
  printSlots(out, order, *shape, recorder.elements);

  std::vector<bool> left;
  for (const Order::Digit &digit : order.digits)
    left.push_back(digit.isNamed());
  for (size_t s = 0; s < shape->stages.size(); ++s) {
    recorder.joins.clear();
    runStage(shape->stages[s], joiner);
    printStage(out, order, *shape, s, left, recorder.joins);
    left[order.stages[s].digit] = false;
  }

  if (n < 1 || n > MaxExpression)
    return out;
  bool hasIdle = std::any_of(recorder.elements.begin(), recorder.elements.end(),
                             [](const auto &walked) { return walked.empty(); });
  out += "\nvalue, [..] a chain inside a slot, + the join";
  out += hasIdle ? "; idle slots absent, as with 'of'\n  " : "\n  ";
  Expressions expressions(shape->slots);
  runReduction(*shape, ReductionForm::Of, expressions);
  out += expressions.text(0);
  out += '\n';
  if (hasIdle)
    out += "with 'from' each idle slot holds the seed and takes part\n";
  return out;
}

} // namespace h3
