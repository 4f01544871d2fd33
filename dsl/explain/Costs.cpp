//===-- dsl/explain/Costs.cpp - What an explained section costs -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/explain/Costs.h"
#include "dsl/interpreter/OrderShape.h"
#include "dsl/program/Dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace h3 {

// ---- Trees.

namespace {

/// Above this many elements idle slots are not counted.
constexpr int64_t MaxCounted = int64_t(1) << 20;

/// The number of slots without an element; empty if that is not known.
std::optional<int64_t> idleSlots(const Order &order, int64_t n) {
  std::string error;
  std::optional<interpreter::OrderShape> shape = interpreter::shapeOf(order, n, error);
  if (!shape || n > MaxCounted || shape->slots > MaxCounted)
    return std::nullopt;
  std::vector<bool> used(size_t(shape->slots), false);
  interpreter::ElementCounter counter(*shape);
  for (int64_t i = 0; i < n; ++i, counter.next())
    used[size_t(counter.slot())] = true;
  return std::count(used.begin(), used.end(), false);
}

/// The least n with which every slot has an element, if the digit that takes what is left is a `_`
/// in the first place, or there is none.
std::optional<int64_t> leastFull(const Order &order) {
  int64_t stride = 1, last = 0;
  for (size_t d = order.digits.size(); d-- > 0;) {
    const Order::Digit &digit = order.digits[d];
    if (!digit.radix)
      return d == 0 && !digit.isNamed() ? std::optional<int64_t>(last + 1) : std::nullopt;
    if (digit.isNamed())
      last += (*digit.radix - 1) * stride;
    stride *= *digit.radix;
  }
  return last + 1;
}

} // namespace

ExplainedTree explainTree(const Order *order, const Size &extent, bool hasSeed,
                          AmountTable &amounts) {
  ExplainedTree tree;
  tree.order = order;
  tree.extent = &extent;
  tree.hasSeed = hasSeed;
  tree.slots = Amount::of(1);
  if (extent.isConstant())
    tree.elements = extent.value;
  if (!order)
    return tree;
  int64_t written = 1;
  bool open = false;
  for (const Order::Digit &digit : order->digits) {
    if (digit.radix)
      written *= *digit.radix;
    if (digit.radix && digit.isNamed())
      tree.slots = tree.slots * Amount::of(*digit.radix);
    open |= !digit.radix && digit.isNamed();
  }
  if (open)
    tree.slots = tree.slots * amounts.ceilDiv(amounts.of(extent), written);
  if (tree.elements)
    tree.idle = idleSlots(*order, *tree.elements);
  else if (std::optional<int64_t> least = leastFull(*order); least && *least > 1)
    tree.idleText = fmt::format("with fewer than {} elements some slots are idle", *least);
  return tree;
}

// ---- Choices on an index.

std::optional<IndexRange::Split> IndexRange::split(const Expr &condition, const Program &program,
                                                   AmountTable &amounts) {
  if (condition.kind != Expr::Kind::Builtin || condition.operands.size() != 2 ||
      condition.operands[0]->kind != Expr::Kind::Index)
    return std::nullopt;
  const Expr &bound = *condition.operands[1];
  Amount at;
  if (bound.kind == Expr::Kind::SizeValue)
    at = amounts.of(*bound.size);
  else if (bound.kind == Expr::Kind::Literal)
    at = Amount::of(static_cast<int64_t>(bound.bits));
  else
    return std::nullopt;
  unsigned id = condition.operands[0]->id;
  if (!variable) {
    variable = id;
    low = Amount::of(0);
    high = amounts.of(*program.indexVariables[id].extent);
  }
  if (*variable != id)
    return std::nullopt;

  // [low, cut) and [cut, high).
  bool upper = condition.op == Builtin::GreaterEqual || condition.op == Builtin::Greater;
  if (condition.op == Builtin::LessEqual || condition.op == Builtin::Greater)
    at = at + Amount::of(1);
  else if (condition.op == Builtin::Equal && at == low) {
    Split split{id, Amount::of(1), high - low - Amount::of(1)};
    low = low + Amount::of(1);
    return split;
  } else if (condition.op != Builtin::Less && condition.op != Builtin::GreaterEqual)
    return std::nullopt;
  if (std::optional<int64_t> a = low.asNumber(), b = high.asNumber(), cut = at.asNumber();
      a && b && cut)
    at = Amount::of(std::clamp(*cut, *a, std::max(*a, *b)));
  Split split{id, at - low, high - at};
  if (upper) {
    std::swap(split.then, split.otherwise);
    high = at;
  } else {
    low = at;
  }
  return split;
}

void numberSteps(std::vector<ExplainedItem> &items, unsigned &number) {
  for (ExplainedItem &item : items) {
    if (item.kind == ExplainedItem::Kind::Step)
      item.number = ++number;
    numberSteps(item.items, number);
  }
}

// ---- Operations.

namespace {

/// Flops of one iteration of the loop around, and those already summed over its iterations.
struct Flops {
  Amount each = Amount::of(0), all = Amount::of(0);
  Amount total(const Amount &times) const { return times * each + all; }
};

Flops flopsOf(const std::vector<ExplainedItem> &items) {
  using Kind = ExplainedItem::Kind;
  Flops sum;
  for (const ExplainedItem &item : items) {
    Flops below = flopsOf(item.items);
    switch (item.kind) {
    case Kind::Step:
      sum.each = sum.each + Amount::of(item.flops);
      break;
    case Kind::Loop:
    case Kind::Seed:
    case Kind::Element:
    case Kind::Join:
      sum.each = sum.each + below.total(*item.times);
      break;
    case Kind::Reduction:
    case Kind::Branch:
      sum.each = sum.each + below.each;
      sum.all = sum.all + below.all;
      break;
    case Kind::Choice: {
      bool isCounted = std::all_of(item.items.begin(), item.items.end(),
                                   [](const ExplainedItem &branch) { return branch.times; });
      Amount most = Amount::of(0);
      for (const ExplainedItem &branch : item.items) {
        Flops taken = flopsOf(branch.items);
        if (isCounted)
          sum.all = sum.all + taken.total(*branch.times);
        else
          most = atLeastBoth(most, taken.each + taken.all);
      }
      sum.each = sum.each + most;
      break;
    }
    }
  }
  return sum;
}

/// Flops at and below the innermost of \p rowLoops loops over rows: \p perRow; those above it, in
/// all of a call: \p shared.
void splitFlops(const std::vector<ExplainedItem> &items, size_t rowLoops, const Amount &times,
                Amount &perRow, Amount &shared) {
  if (rowLoops == 0) {
    perRow = flopsOf(items).total(Amount::of(1));
    return;
  }
  std::vector<ExplainedItem> here;
  for (const ExplainedItem &item : items)
    if (item.kind == ExplainedItem::Kind::Loop && item.isRow)
      splitFlops(item.items, rowLoops - 1, times * *item.times, perRow, shared);
    else
      here.push_back(item);
  shared = shared + flopsOf(here).total(Amount::of(1)) * times;
}

// ---- Bytes.

/// The elements of one axis that a row reads: for each digit the settings, or all of its radix.
struct AxisReads {
  struct Digit {
    const Size *radix;
    bool isWhole = false;
    std::set<std::string> settings;
  };
  std::vector<Digit> digits;

  void add(const AxisReads &other, const Extent &extent) {
    if (digits.size() != other.digits.size()) {
      digits = {{extent.size, true, {}}};
      return;
    }
    for (size_t k = 0; k < digits.size(); ++k) {
      digits[k].isWhole |= other.digits[k].isWhole;
      digits[k].settings.insert(other.digits[k].settings.begin(), other.digits[k].settings.end());
    }
  }
};

} // namespace

void addCosts(ExplainedSection &section, size_t rowLoops, const Program &program,
              const std::vector<const Equation *> &equations,
              const std::vector<unsigned> &rowVariables, const std::vector<TensorRead> &reads,
              Dependencies &dependencies, AmountTable &amounts) {
  section.flopsPerRow = section.flopsShared = Amount::of(0);
  splitFlops(section.items, rowLoops, Amount::of(1), section.flopsPerRow, section.flopsShared);

  auto isRowVariable = [&](unsigned id) {
    return std::find(rowVariables.begin(), rowVariables.end(), id) != rowVariables.end();
  };
  struct Read {
    std::vector<AxisReads> axes;
    std::set<unsigned> uses; ///< row variables
    bool isGathered = false;
  };
  std::map<unsigned, Read> byTensor;
  for (const TensorRead &read : reads) {
    const Tensor &tensor = program.tensors[read.tensor];
    Read now;
    for (size_t axis = 0; axis < tensor.extents.size(); ++axis) {
      AxisReads made;
      if (!read.subscripts || axis >= read.subscripts->size()) {
        made.digits = {{tensor.extents[axis].size, true, {}}};
      } else {
        const Subscript &subscript = (*read.subscripts)[axis];
        for (size_t k = 0; k < subscript.digits.size(); ++k) {
          AxisReads::Digit digit{subscript.isData ? tensor.extents[axis].size
                                                  : subscript.radices[k],
                                 false,
                                 {dump(*subscript.digits[k], program)}};
          for (const Bound &bound : dependencies.of(*subscript.digits[k]))
            if (!bound.isLocal && isRowVariable(bound.id))
              now.uses.insert(bound.id);
            else
              digit.isWhole = true;
          made.digits.push_back(std::move(digit));
        }
        now.isGathered |= subscript.isData;
      }
      now.axes.push_back(std::move(made));
    }
    auto [at, isNew] = byTensor.try_emplace(read.tensor, now);
    if (isNew)
      continue;
    for (size_t axis = 0; axis < now.axes.size(); ++axis)
      at->second.axes[axis].add(now.axes[axis], tensor.extents[axis]);
    at->second.uses.insert(now.uses.begin(), now.uses.end());
    at->second.isGathered |= now.isGathered;
  }

  section.bytesPerRow = Amount::of(0);
  for (const auto &[id, read] : byTensor) {
    ExplainedTraffic traffic{
        id, Amount::of(byteWidth(program.tensors[id].type)), read.isGathered, {}};
    for (const AxisReads &axis : read.axes)
      for (const AxisReads::Digit &digit : axis.digits)
        traffic.bytes =
            traffic.bytes *
            (digit.isWhole ? amounts.of(*digit.radix) : Amount::of(int64_t(digit.settings.size())));
    for (unsigned variable : rowVariables)
      if (!read.uses.count(variable))
        traffic.sharedBy.push_back(program.indexVariables[variable].name);
    section.bytesPerRow = section.bytesPerRow + traffic.bytes;
    section.reads.push_back(std::move(traffic));
  }
  for (const Equation *equation : equations) {
    const Tensor &tensor = program.tensors[equation->tensor];
    ExplainedTraffic traffic{equation->tensor, Amount::of(byteWidth(tensor.type)), false, {}};
    for (size_t axis = 0; axis < tensor.extents.size(); ++axis) {
      if (axis >= equation->places.size()) {
        traffic.bytes = traffic.bytes * amounts.of(*tensor.extents[axis].size);
        continue;
      }
      const Equation::Place &place = equation->places[axis];
      for (size_t k = 0; k < place.variables.size(); ++k)
        if (!isRowVariable(place.variables[k]))
          traffic.bytes = traffic.bytes * amounts.of(*place.extent.factors[k]);
    }
    section.bytesPerRow = section.bytesPerRow + traffic.bytes;
    section.writes.push_back(std::move(traffic));
  }
}

} // namespace h3
