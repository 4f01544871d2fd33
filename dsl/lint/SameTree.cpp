//===-- dsl/lint/SameTree.cpp - Whether two orders give one tree ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/interpreter/Reduction.h"
#include "dsl/lint/Lint.h"

#include <map>

namespace h3 {

using namespace interpreter;

namespace {

/// Above this many slots trees are not built.
constexpr int64_t MaxTreeSlots = 1 << 16;

/// Numbers for trees: equal trees, equal numbers, across all runs that share the table.
class TreeNumbers {
public:
  int64_t number(char kind, int64_t a, int64_t b) {
    return numbers.try_emplace({kind, a, b}, int64_t(numbers.size())).first->second;
  }

private:
  std::map<std::tuple<char, int64_t, int64_t>, int64_t> numbers;
};

struct Trees {
  TreeNumbers &numbers;
  std::vector<int64_t> states;

  void seed(int64_t) {}
  void step(int64_t, int64_t) {}
  void first(int64_t slot, int64_t element) { states[slot] = numbers.number('e', element, 0); }
  // A chain is not a join: `from` has a step of its own.
  void next(int64_t slot, int64_t element) {
    states[slot] = numbers.number('c', states[slot], element);
  }
  void join(int64_t into, int64_t left, int64_t right) {
    states[into] = numbers.number('j', states[left], states[right]);
  }
  void move(int64_t into, int64_t from) { states[into] = states[from]; }
};

/// Empty if the order cannot hold n elements.
std::optional<int64_t> treeOf(const Order &order, int64_t n, TreeNumbers &numbers) {
  std::string error;
  std::optional<OrderShape> shape = shapeOf(order, n, error);
  if (!shape || shape->slots > MaxTreeSlots)
    return std::nullopt;
  Trees trees{numbers, std::vector<int64_t>(size_t(shape->slots))};
  if (!runReduction(*shape, ReductionForm::Of, trees))
    return std::nullopt;
  return trees.states[0];
}

bool isSameWritten(const Order &a, const Order &b) {
  if (a.digits.size() != b.digits.size() || a.stages.size() != b.stages.size())
    return false;
  for (size_t d = 0; d < a.digits.size(); ++d)
    if (a.digits[d].radix != b.digits[d].radix || a.digits[d].isNamed() != b.digits[d].isNamed())
      return false;
  for (size_t s = 0; s < a.stages.size(); ++s)
    if (a.stages[s].join != b.stages[s].join || a.stages[s].digit != b.stages[s].digit)
      return false;
  return true;
}

} // namespace

bool haveSameTree(const Order &a, const Order &b, std::optional<int64_t> n) {
  if (isSameWritten(a, b))
    return true;
  TreeNumbers numbers;
  std::vector<int64_t> extents{3, 64, 100, 129, 1000, 1031, 2048, 4099};
  if (n)
    extents = {*n};
  for (int64_t extent : extents) {
    if (extent < 1 || extent > MaxTreeSlots)
      return false;
    std::optional<int64_t> left = treeOf(a, extent, numbers), right = treeOf(b, extent, numbers);
    if (!left || left != right)
      return false;
  }
  return true;
}

} // namespace h3
