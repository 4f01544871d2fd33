//===-- runtime/plan/Select.cpp - Choosing a variant and its launch *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/Plan.h"

namespace h3::plan {

namespace {

/// The launch of one variant whose guards hold.
class Launcher {
public:
  Launcher(const OperatorPlan &plan, const Binding &binding, unsigned index, Launch &launch)
      : plan(plan), binding(binding), variant(plan.variants[index]), index(index), launch(launch) {}

  std::optional<Decline> run() {
    launch.variant = index;
    launch.waits = variant.waits;
    int64_t threads = 1;
    for (int axis = 0; axis < 3; ++axis) {
      if (auto failure = size(variant.grid[axis], DeclineDetail::GridRange, axis, 0, kMaxGrid[axis],
                              launch.grid[axis]))
        return failure;
      if (auto failure = size(variant.block[axis], DeclineDetail::BlockRange, axis, 1,
                              kMaxBlock[axis], launch.block[axis]))
        return failure;
      threads *= launch.block[axis];
    }
    if (threads > kMaxThreadsPerBlock)
      return decline(DeclineDetail::BlockThreads, -1, threads, kMaxThreadsPerBlock);
    if (variant.sharedBytes != kNoExpr)
      if (auto failure = size(variant.sharedBytes, DeclineDetail::SharedRange, -1, 0,
                              kMaxSharedBytes, launch.sharedBytes))
        return failure;
    for (const std::vector<ArgumentSpec> *specs : {&variant.memberArguments, &variant.arguments})
      for (const ArgumentSpec &spec : *specs)
        if (auto failure = argument(spec))
          return failure;
    return std::nullopt;
  }

private:
  Decline decline(DeclineDetail detail, int axis, int64_t found, int64_t expected) const {
    return {.reason = DeclineReason::Size,
            .detail = detail,
            .axis = static_cast<int16_t>(axis),
            .index = static_cast<int32_t>(index),
            .found = found,
            .expected = expected};
  }

  std::optional<Decline> size(ExprId expr, DeclineDetail detail, int axis, int64_t least,
                              int64_t most, uint32_t &result) const {
    std::optional<int64_t> value = 1;
    if (expr != kNoExpr)
      value = evaluateExpr(plan, expr, binding);
    if (!value)
      return decline(DeclineDetail::ExpressionOverflow, -1, 0, 0);
    if (*value < least || *value > most)
      return decline(detail, axis, *value, most);
    result = static_cast<uint32_t>(*value);
    return std::nullopt;
  }

  std::optional<Decline> argument(const ArgumentSpec &spec) const {
    const uint32_t number = launch.argumentCount++;
    Argument &result = launch.arguments[number];
    switch (spec.kind) {
    case ArgumentSpec::Kind::Address:
      result = {binding.tensors[spec.index].address, 8};
      return std::nullopt;
    case ArgumentSpec::Kind::Parameter:
      result = {binding.parameters[spec.index],
                static_cast<uint8_t>(bytes(plan.parameters[spec.index].dtype))};
      return std::nullopt;
    case ArgumentSpec::Kind::I32:
    case ArgumentSpec::Kind::I64:
      break;
    }
    std::optional<int64_t> value = evaluateExpr(plan, spec.index, binding);
    if (!value)
      return decline(DeclineDetail::ExpressionOverflow, -1, 0, 0);
    if (spec.kind == ArgumentSpec::Kind::I64) {
      result = {static_cast<uint64_t>(*value), 8};
      return std::nullopt;
    }
    if (*value < INT32_MIN || *value > INT32_MAX)
      return decline(DeclineDetail::ArgumentRange, static_cast<int>(number), *value, 0);
    result = {static_cast<uint32_t>(static_cast<int32_t>(*value)), 4};
    return std::nullopt;
  }

  const OperatorPlan &plan;
  const Binding &binding;
  const Variant &variant;
  unsigned index;
  Launch &launch;
};

bool guardsHold(const OperatorPlan &plan, const Variant &variant, const Binding &binding) {
  for (const Condition &guard : variant.guards)
    if (evaluateExpr(plan, guard.expr, binding).value_or(0) == 0)
      return false;
  return true;
}

} // namespace

std::variant<Launch, Decline> selectVariant(const OperatorPlan &plan, const Binding &binding) {
  std::variant<Launch, Decline> result;
  for (unsigned i = 0; i < plan.variants.size(); ++i) {
    if (!guardsHold(plan, plan.variants[i], binding))
      continue;
    if (auto decline = Launcher(plan, binding, i, std::get<Launch>(result)).run())
      result = *decline;
    return result;
  }
  result = Decline{.reason = DeclineReason::NoVariant, .detail = DeclineDetail::NoVariant};
  return result;
}

} // namespace h3::plan
