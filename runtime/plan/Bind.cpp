//===-- runtime/plan/Bind.cpp - Checking a call and binding it --*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/Checked.h"
#include "runtime/plan/Collapse.h"
#include "runtime/plan/Plan.h"

namespace h3::plan {

namespace {

/// One call on its way into a Binding. Each step returns the decline that ends it, if any.
class Binder {
public:
  Binder(const OperatorPlan &plan, std::span<const Tensor> tensors,
         std::span<const ParameterValue> parameters, Binding &binding)
      : plan(plan), tensors(tensors), parameters(parameters), binding(binding) {}

  std::optional<Decline> run() {
    if (auto decline = checkCounts())
      return decline;
    if (auto decline = bindParameters())
      return decline;
    for (unsigned t = 0; t < plan.tensors.size(); ++t)
      if (auto decline = collapse(plan.tensors[t], t, tensors[t], binding.tensors[t]))
        return decline;
    if (auto decline = bindDims())
      return decline;
    for (unsigned t = 0; t < plan.tensors.size(); ++t)
      if (auto decline = checkTensor(t))
        return decline;
    if (auto decline = checkRequirements())
      return decline;
    return checkAliasing();
  }

private:
  static Decline decline(DeclineReason reason, DeclineDetail detail, int64_t found = 0,
                         int64_t expected = 0) {
    return {.reason = reason, .detail = detail, .found = found, .expected = expected};
  }

  static Decline decline(DeclineReason reason, DeclineDetail detail, unsigned tensor, int axis,
                         int index, int64_t found, int64_t expected) {
    return {reason, detail,  static_cast<int16_t>(tensor), static_cast<int16_t>(axis), index,
            found,  expected};
  }

  std::optional<Decline> checkCounts() {
    if (tensors.size() != plan.tensors.size())
      return decline(DeclineReason::Arguments, DeclineDetail::TensorCount,
                     static_cast<int64_t>(tensors.size()),
                     static_cast<int64_t>(plan.tensors.size()));
    if (parameters.size() > plan.parameters.size())
      return decline(DeclineReason::Arguments, DeclineDetail::ParameterCount,
                     static_cast<int64_t>(parameters.size()),
                     static_cast<int64_t>(plan.parameters.size()));
    return std::nullopt;
  }

  std::optional<Decline> bindParameters() {
    for (unsigned p = 0; p < plan.parameters.size(); ++p) {
      const ParameterSpec &spec = plan.parameters[p];
      Decline failure;
      failure.reason = DeclineReason::Parameter;
      failure.index = static_cast<int32_t>(p);
      if (p >= parameters.size() || !parameters[p].given) {
        failure.detail = DeclineDetail::ParameterMissing;
        if (!spec.defaultBits)
          return failure;
        binding.parameters[p] = *spec.defaultBits;
        continue;
      }
      const ParameterValue &value = parameters[p];
      failure.expected = static_cast<int64_t>(spec.dtype);
      if (value.dtype != spec.dtype) {
        failure.detail = DeclineDetail::ParameterDType;
        failure.found = static_cast<int64_t>(value.dtype);
        return failure;
      }
      if (bytes(spec.dtype) < 8 && value.bits >> (8 * bytes(spec.dtype)) != 0) {
        failure.detail = DeclineDetail::ParameterBits;
        failure.found = static_cast<int64_t>(value.bits);
        return failure;
      }
      binding.parameters[p] = value.bits;
    }
    return std::nullopt;
  }

  std::optional<Decline> bindDims() {
    for (unsigned d = 0; d < plan.dims.size(); ++d)
      binding.dims[d] = plan.dims[d].fixed.value_or(0);
    for (const BindingStep &step : plan.bindings) {
      std::optional<int64_t> value = 1;
      if (step.expr != kNoExpr)
        value = evaluateExpr(plan, step.expr, binding);
      const int dim = step.dim;
      if (step.kind == BindingStep::Kind::Define) {
        if (!value) {
          Decline failure = decline(DeclineReason::Size, DeclineDetail::DimOverflow);
          failure.index = dim;
          return failure;
        }
        binding.dims[step.dim] = *value;
        continue;
      }
      const int64_t extent = binding.tensors[step.tensor].extents[step.axis];
      if (!value)
        return decline(DeclineReason::Size, DeclineDetail::ExtentOverflow, step.tensor, step.axis,
                       -1, extent, 0);
      if (*value <= 0)
        return decline(DeclineReason::Shape, DeclineDetail::DimUndetermined, step.tensor, step.axis,
                       dim, extent, *value);
      if (extent % *value != 0)
        return decline(DeclineReason::Shape, DeclineDetail::ExtentNotDivisible, step.tensor,
                       step.axis, dim, extent, *value);
      binding.dims[step.dim] = extent / *value;
    }
    return std::nullopt;
  }

  std::optional<Decline> checkTensor(unsigned t) {
    const TensorSpec &spec = plan.tensors[t];
    const BoundTensor &bound = binding.tensors[t];
    for (unsigned axis = 0; axis < spec.rank(); ++axis) {
      std::optional<int64_t> extent = evaluateExpr(plan, spec.extents[axis], binding);
      if (!extent)
        return decline(DeclineReason::Size, DeclineDetail::ExtentOverflow, t,
                       static_cast<int>(axis), -1, bound.extents[axis], 0);
      if (*extent != bound.extents[axis])
        return decline(DeclineReason::Shape, DeclineDetail::ExtentMismatch, t,
                       static_cast<int>(axis), -1, bound.extents[axis], *extent);
    }
    // Collapse has put the clause's number where the stride means nothing.
    for (unsigned axis = 0; axis < spec.strides.size(); ++axis)
      if (spec.strides[axis] && *spec.strides[axis] != bound.strides[axis])
        return decline(DeclineReason::Stride, DeclineDetail::StrideClause, t,
                       static_cast<int>(axis), -1, bound.strides[axis], *spec.strides[axis]);
    if (bound.elements == 0)
      return std::nullopt;
    const int64_t width = bytes(spec.dtype);
    const auto address = static_cast<int64_t>(bound.address);
    if (bound.address % static_cast<uint64_t>(width) != 0)
      return decline(DeclineReason::Alignment, DeclineDetail::ElementAlignment, t, -1, -1, address,
                     width);
    if (bound.address % static_cast<uint64_t>(width * spec.align) != 0)
      return decline(DeclineReason::Alignment, DeclineDetail::AlignClause, t, -1, -1, address,
                     width * spec.align);
    if (spec.isOutput && mayOverlapItself(view(t)))
      return decline(DeclineReason::Alias, DeclineDetail::SelfOverlap, t, -1, -1, 0, 0);
    return std::nullopt;
  }

  std::optional<Decline> checkRequirements() {
    for (unsigned i = 0; i < plan.requirements.size(); ++i)
      if (evaluateExpr(plan, plan.requirements[i].expr, binding).value_or(0) == 0) {
        Decline failure = decline(DeclineReason::Requirement, DeclineDetail::RequirementFailed);
        failure.index = static_cast<int32_t>(i);
        return failure;
      }
    return std::nullopt;
  }

  std::optional<Decline> checkAliasing() {
    for (unsigned t = 0; t < plan.tensors.size(); ++t) {
      const TensorSpec &output = plan.tensors[t];
      if (!output.isOutput)
        continue;
      for (unsigned other = 0; other < plan.tensors.size(); ++other) {
        if (plan.tensors[other].isOutput && other <= t)
          continue;
        const bool permitted = output.mayAlias == static_cast<int>(other);
        if ((permitted && isSameView(t, other)) || !mayOverlap(view(t), view(other)))
          continue;
        return decline(DeclineReason::Alias,
                       permitted ? DeclineDetail::AliasNotIdentical : DeclineDetail::Overlap, t, -1,
                       static_cast<int>(other), 0, 0);
      }
    }
    return std::nullopt;
  }

  bool isSameView(unsigned a, unsigned b) const {
    const BoundTensor &x = binding.tensors[a];
    const BoundTensor &y = binding.tensors[b];
    if (x.address != y.address || plan.tensors[a].dtype != plan.tensors[b].dtype ||
        plan.tensors[a].rank() != plan.tensors[b].rank())
      return false;
    for (unsigned axis = 0; axis < plan.tensors[a].rank(); ++axis)
      if (x.extents[axis] != y.extents[axis] ||
          (x.extents[axis] > 1 && x.strides[axis] != y.strides[axis]))
        return false;
    return true;
  }

  BoundView view(unsigned t) const {
    return {&binding.tensors[t], plan.tensors[t].rank(), bytes(plan.tensors[t].dtype)};
  }

  const OperatorPlan &plan;
  std::span<const Tensor> tensors;
  std::span<const ParameterValue> parameters;
  Binding &binding;
};

} // namespace

std::variant<Binding, Decline> bind(const OperatorPlan &plan, std::span<const Tensor> tensors,
                                    std::span<const ParameterValue> parameters) {
  std::variant<Binding, Decline> result;
  if (auto decline = Binder(plan, tensors, parameters, std::get<Binding>(result)).run())
    result = *decline;
  return result;
}

std::variant<Launch, Decline> evaluate(const OperatorPlan &plan, std::span<const Tensor> tensors,
                                       std::span<const ParameterValue> parameters) {
  std::variant<Binding, Decline> bound = bind(plan, tensors, parameters);
  if (const Decline *decline = std::get_if<Decline>(&bound))
    return *decline;
  return selectVariant(plan, std::get<Binding>(bound));
}

} // namespace h3::plan
