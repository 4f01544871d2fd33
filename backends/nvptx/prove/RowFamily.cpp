//===-- backends/nvptx/prove/RowFamily.cpp - Every number of rows ---------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// All calls that differ in the number of rows T alone, every block of each. Of a grid that is a sum
// g1 + g2 + ..., part j has its own blocks. With Q rows more, part j has P(j) blocks more. Let i be
// the block's place in its part. Then k = i / P whole periods lie before it; without them it is
// block i % P of a call with T - Q k rows. So these runs stand for all:
//
//   T0 = 1 .. Q - 1  exactly so many rows are left, k >= 0 periods before them
//   T0 = Q           at least so many are left
//
// In each the first P blocks of each part must write the T0 rows and nothing else, and read no
// others: then the rows of every call are written once, by induction over the periods.
//
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/KernelRun.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3::prove {
namespace {

/// More threads than this are not run for one family.
constexpr int64_t mostThreads = 70'000;
constexpr int64_t longestPeriod = 1024;
constexpr size_t mostParts = 4;

struct Number {
  int64_t base = 0;
  Slopes slopes{};
};

/// The plan's expressions with slopes. Empty where a value is not linear.
class Growth {
public:
  Growth(const plan::OperatorPlan &plan, const plan::Binding &binding, unsigned dim, Slopes slopes)
      : plan(plan), binding(binding), dim(dim), dimSlopes(slopes) {}

  std::map<plan::ExprId, Slopes> known;

  std::optional<Number> of(plan::ExprId id) const {
    std::optional<int64_t> base = plan::evaluateExpr(plan, id, binding);
    if (!base)
      return std::nullopt;
    if (auto found = known.find(id); found != known.end())
      return Number{*base, found->second};
    const plan::ExprNode &node = plan.nodes[id];
    if (node.op == plan::ExprOp::Dim)
      return Number{*base, node.lhs == dim ? dimSlopes : Slopes{}};
    if (plan::operandCount(node.op) != 2)
      return plan::operandCount(node.op) == 0 ? std::optional(Number{*base, {}}) : std::nullopt;
    std::optional<Number> a = of(node.lhs), b = of(node.rhs);
    if (!a || !b)
      return std::nullopt;
    Number result{*base, {}};
    if (isZero(a->slopes) && isZero(b->slopes))
      return result;
    for (unsigned i = 0; i < symbolCount; ++i) {
      int64_t x = a->slopes[i], y = b->slopes[i];
      switch (node.op) {
      case plan::ExprOp::Add:
        result.slopes[i] = x + y;
        break;
      case plan::ExprOp::Sub:
        result.slopes[i] = x - y;
        break;
      case plan::ExprOp::Mul:
        if (!isZero(a->slopes) && !isZero(b->slopes))
          return std::nullopt;
        result.slopes[i] = x * b->base + y * a->base;
        break;
      case plan::ExprOp::FloorDiv:
        if (!isZero(b->slopes) || x % b->base != 0)
          return std::nullopt;
        result.slopes[i] = x / b->base;
        break;
      case plan::ExprOp::FloorMod:
        if (!isZero(b->slopes) || x % b->base != 0)
          return std::nullopt;
        break;
      default:
        return std::nullopt;
      }
    }
    return result;
  }

private:
  const plan::OperatorPlan &plan;
  const plan::Binding &binding;
  unsigned dim;
  Slopes dimSlopes;
};

/// g1, g2, ... of g1 + g2 + ...; empty if there are too many.
std::vector<plan::ExprId> partsOf(const plan::OperatorPlan &plan, plan::ExprId grid) {
  std::vector<plan::ExprId> parts;
  while (plan.nodes[grid].op == plan::ExprOp::Add) {
    parts.push_back(plan.nodes[grid].rhs);
    grid = plan.nodes[grid].lhs;
  }
  parts.push_back(grid);
  std::ranges::reverse(parts);
  return parts;
}

/// A ceiling is a quotient whose dividend is a sum: the sum of parts is meant only outside of it.
std::optional<plan::ExprId> sumOf(const plan::OperatorPlan &plan, plan::ExprId grid,
                                  size_t without) {
  for (; without != 0; --without)
    grid = plan.nodes[grid].lhs;
  return grid;
}

} // namespace

struct KernelRun::Family {
  unsigned dim = 0;
  std::vector<int> axes;
  int64_t period = 0; ///< Q
  std::vector<plan::ExprId> parts;
  std::vector<int64_t> blocks; ///< P of each part
  int64_t mostRows = 0;        ///< the largest admitted number
  int64_t rows = 0;            ///< T0
  bool hasMore = false;        ///< T0 = Q: there may be more
  /// The periods that may lie before a block: from the first to the last of these.
  int64_t firstPeriod = 0, lastPeriod = 0;
};

/// The shortest period with which everything is linear.
std::optional<RowPeriod> KernelRun::periodOf(const Call &call, unsigned dim) {
  const plan::Variant &variant = only.variants[0];
  bool usesGrid = std::ranges::any_of(
      code.specials, [](auto pair) { return pair.second == ptx::Special::NctaidX; });
  if (only.each || usesGrid || variant.grid[0] == plan::kNoExpr ||
      variant.grid[1] != plan::kNoExpr || variant.grid[2] != plan::kNoExpr)
    return std::nullopt;
  std::vector<int64_t> key = call.dims;
  key[dim] = 1;
  key.push_back(dim);
  if (auto found = periods.find(key); found != periods.end())
    return found->second;
  Call single = call;
  single.dims[dim] = 1;
  std::optional<Bound> one = bind(single);
  if (!one)
    return std::nullopt;
  const std::vector<plan::ExprId> parts = partsOf(only, variant.grid[0]);
  std::optional<RowPeriod> &result = periods[key];
  for (int64_t period = 1; period <= longestPeriod && parts.size() <= mostParts; ++period) {
    Slopes slopes{};
    slopes[PeriodsBefore] = period;
    Growth growth(only, one->binding, dim, slopes);
    RowPeriod found{period, {}, 0};
    for (plan::ExprId part : parts) {
      std::optional<Number> number = growth.of(part);
      if (!number)
        break;
      found.blocks.push_back(number->slopes[PeriodsBefore]);
      found.threads += found.blocks.back() * period * one->launch.block[0];
    }
    if (found.blocks.size() != parts.size())
      continue;
    Call largest = call;
    largest.dims[dim] = period;
    if (found.threads <= mostThreads && elementsOf(*subject.program, largest.dims) <= 200'000)
      result = found;
    break;
  }
  return result;
}

RowOutcome KernelRun::proveAllRows(const Call &call, unsigned dim) {
  RowOutcome result;
  std::optional<RowPeriod> period = periodOf(call, dim);
  auto withRows = [&](int64_t rows) {
    Call other = call;
    other.dims[dim] = rows;
    return other;
  };
  if (!period || !bind(withRows(period->rows))) {
    result.outcome = {Verdict::NotProvable, "no call has a whole period of rows"};
    return result;
  }
  Family family;
  family.dim = dim;
  family.axes = axesOf(*subject.program, dim);
  family.parts = partsOf(only, only.variants[0].grid[0]);
  family.period = period->rows;
  family.blocks = period->blocks;
  // The most rows that any admitted call has.
  int64_t most = 0;
  for (int bit = 45; bit >= 0; --bit)
    if (int64_t rows = most + (int64_t(1) << bit); bind(withRows(rows)))
      most = rows;
  family.mostRows = most;

  auto runPeriods = [&](int64_t first, int64_t last) -> std::optional<Outcome> {
    family.firstPeriod = first;
    family.lastPeriod = last;
    for (int64_t rows = 1; rows <= family.period; ++rows) {
      family.rows = rows;
      family.hasMore = rows == family.period;
      if (!bind(withRows(rows + first * family.period)))
        return std::nullopt; // no call has so many rows
      if (auto failure = runFamily(withRows(rows), family))
        return failure;
    }
    return std::nullopt;
  };
  const int64_t allPeriods = family.mostRows / family.period;
  // Where a number leaves 32 bits the code may go another way: up to there, the periods in which it
  // happens one by one, and on behind them, until another number does.
  constexpr int64_t between = 3;
  constexpr unsigned mostSplits = 6;
  int64_t done = 0; // so many periods are proved
  std::optional<Outcome> problem;
  for (unsigned split = 0; !problem && done <= allPeriods; ++split) {
    machine->fewerPeriods.reset();
    problem = runPeriods(done, allPeriods);
    if (!problem)
      break;
    const std::optional<int64_t> most = machine->fewerPeriods;
    if (problem->verdict != Verdict::NotProvable || !most || *most < 0 || split == mostSplits)
      break;
    const int64_t last = done + *most;
    problem = runPeriods(done, last);
    if (!problem)
      done = last + 1;
    while (!problem && done <= last + between) {
      problem = runPeriods(done, done);
      if (!problem)
        ++done;
    }
  }
  if (problem && problem->verdict == Verdict::NotProvable && done > 0) {
    result.upTo = done * family.period;
    result.beyond = problem->problem;
    problem.reset();
  }
  result.outcome = problem.value_or(Outcome());
  return result;
}

/// Rows are independent, so where they stand outermost in every tensor the longest window has the
/// terms of all.
const SpecTerms::Outputs &KernelRun::specOf(const Call &call, const Family &family,
                                            const Bound &window, const IndexPattern &indices) {
  bool isOutermost = true;
  for (size_t t = 0; t < family.axes.size(); ++t)
    for (int axis = 0; axis < family.axes[t]; ++axis)
      isOutermost &= window.binding.tensors[t].extents[static_cast<size_t>(axis)] == 1 ||
                     window.binding.tensors[t].strides[static_cast<size_t>(axis)] == 0;
  if (isOutermost) {
    Call longest = call;
    longest.dims[family.dim] = family.period;
    if (std::optional<Bound> bound = bind(longest))
      return spec.of(bound->binding, indices);
  }
  return spec.of(window.binding, indices);
}

/// The stride of the rows means nothing where there is but one; the calls with more periods have
/// one. False if those are not served alike.
bool KernelRun::takeStrides(const Call &whole, const Family &family, Bound &bound) const {
  Call longer = whole;
  longer.dims[family.dim] += family.period;
  std::optional<Bound> reference = bind(longer);
  if (!reference) // there are no longer calls
    return true;
  for (size_t t = 0; t < family.axes.size(); ++t)
    if (int axis = family.axes[t]; axis >= 0)
      bound.binding.tensors[t].strides[static_cast<size_t>(axis)] =
          reference->binding.tensors[t].strides[static_cast<size_t>(axis)];
  auto launch = plan::selectVariant(only, bound.binding);
  if (!std::holds_alternative<plan::Launch>(launch))
    return false;
  bound.launch = std::get<plan::Launch>(launch);
  return true;
}

std::optional<Outcome> KernelRun::runFamily(const Call &call, Family &family) {
  // The call's own numbers, and those of the few rows that are looked at: they are the last ones,
  // at addresses that are so much further on.
  std::optional<Bound> window = bind(call);
  Call whole = call;
  whole.dims[family.dim] += family.firstPeriod * family.period;
  std::optional<Bound> bound = bind(whole);
  if (!bound || !window)
    return Outcome{Verdict::NotProvable, "a number of rows is not admitted: " + callText(whole)};
  if (!takeStrides(whole, family, *bound))
    return Outcome{Verdict::NotProvable,
                   "the variant does not serve all numbers of rows: " + callText(whole)};
  const plan::Variant &variant = only.variants[0];
  Slopes dimSlopes{};
  dimSlopes[PeriodsBefore] = family.period;
  dimSlopes[RowsBehind] = family.hasMore ? 1 : 0;
  Growth growth(only, bound->binding, family.dim, dimSlopes);
  // Where each part begins. With more rows behind it grows by an unknown number.
  std::vector<Number> starts(family.parts.size());
  int64_t periodBlocks = 0;
  for (size_t j = 1; j < family.parts.size(); ++j) {
    plan::ExprId start = *sumOf(only, variant.grid[0], family.parts.size() - j);
    periodBlocks += family.blocks[j - 1];
    starts[j].base = plan::evaluateExpr(only, start, bound->binding).value_or(0);
    starts[j].slopes[PeriodsBefore] = periodBlocks;
    if (family.hasMore)
      starts[j].slopes[FirstGrowth + j - 1] = 1;
    growth.known[start] = starts[j].slopes;
  }

  for (unsigned variation = 0; variation < variations(); ++variation) {
    const IndexPattern indices = indicesOf(*window, variation);
    const SpecTerms::Outputs &outputs = specOf(call, family, *window, indices);
    if (!outputs.problem.empty())
      return Outcome{Verdict::NotProvable, "the spec has no terms: " + outputs.problem};
    TermMemory memory(terms, *subject.program, window->binding);
    if (!memory.problem.empty())
      return Outcome{Verdict::NotProvable, memory.problem + "\n  call: " + callText(call)};
    fillIndices(*window, indices, memory);
    for (TensorMemory &tensor : memory.tensors)
      if (int axis = family.axes[tensor.tensor]; axis >= 0)
        tensor.slopes[PeriodsBefore] =
            family.period *
            bound->binding.tensors[tensor.tensor].strides[static_cast<unsigned>(axis)] *
            int64_t(tensor.bytes);
    for (TensorMemory &tensor : memory.tensors)
      tensor.address += uint64_t(tensor.slopes[PeriodsBefore] * family.firstPeriod);

    ptx::GridMemory grid;
    if (auto problem = setParameters(*bound, grid))
      return problem;
    for (size_t i = 0; i < variant.arguments.size(); ++i) {
      const plan::ArgumentSpec &argument = variant.arguments[i];
      bool isNumber = argument.kind == plan::ArgumentSpec::Kind::I32 ||
                      argument.kind == plan::ArgumentSpec::Kind::I64;
      if (!isNumber)
        continue;
      std::optional<Number> number = growth.of(argument.index);
      if (!number)
        return Outcome{Verdict::NotProvable,
                       fmt::format("argument {} of the kernel is not linear in '{}'", i,
                                   subject.program->dims[family.dim].name)};
      if (!isZero(number->slopes))
        machine->parameters[code.layout.parameterOffsets[i]] = machine->affine(
            number->slopes, 0, argument.kind == plan::ArgumentSpec::Kind::I32 ? 32 : 64);
    }
    std::vector<std::array<int64_t, symbolCount>> vertices(1);
    int64_t left = std::max<int64_t>(family.mostRows - whole.dims[family.dim], 0);
    vertices.push_back({});
    vertices.back()[PeriodsBefore] =
        std::min(left / family.period, family.lastPeriod - family.firstPeriod);
    if (family.hasMore) {
      vertices.push_back({});
      vertices.back()[RowsBehind] = left;
      for (size_t j = 1; j < family.parts.size(); ++j) {
        size_t count = vertices.size();
        for (size_t k = 0; k < count; ++k) {
          vertices.push_back(vertices[k]);
          vertices.back()[FirstGrowth + j - 1] = plan::kMaxGrid[0];
        }
      }
    }
    setIndexRange(indices, vertices);
    machine->range.vertices = vertices;
    machine->memory = &memory;

    ptx::LaunchConfig launch(bound->launch);
    ptx::BlockRun block(code, launch, grid, UINT64_MAX, machine.get());
    ptx::Random random{1};
    for (size_t j = 0; j < family.parts.size(); ++j) {
      int64_t count = plan::evaluateExpr(only, family.parts[j], window->binding).value_or(0);
      Slopes slopes = starts[j].slopes;
      slopes[PeriodsBefore] += family.blocks[j];
      machine->blockSlopes = slopes;
      for (int64_t i = 0; i < std::min(count, family.blocks[j]); ++i) {
        int64_t number = starts[j].base + i + family.firstPeriod * family.blocks[j];
        if (!block.run({static_cast<uint32_t>(number), 0, 0}, random)) {
          Outcome outcome = faultOf(call, *block.found);
          outcome.problem += fmt::format("; for all larger numbers of '{}' too",
                                         subject.program->dims[family.dim].name);
          return outcome;
        }
        memory.endBlock();
      }
    }
    Outcome outcome = compare(call, memory, outputs);
    if (outcome.verdict != Verdict::Proved)
      return outcome;
  }
  return std::nullopt;
}

} // namespace h3::prove
