//===-- runtime/plan/Verify.cpp - Is a plan well-formed ---------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/Checked.h"
#include "runtime/plan/List.h"

#include <algorithm>

namespace h3::plan {

namespace {

/// Expressions are evaluated by recursion, as trees. These bounds keep that small.
constexpr uint32_t kMaxDepth = 512;
constexpr uint64_t kMaxTreeSize = 65536;

class Verifier {
public:
  explicit Verifier(const OperatorPlan &plan) : plan(plan) {}

  std::string run() {
    checkLimits();
    checkNodes();
    if (!error.empty()) // what follows walks expressions
      return error;
    checkDims();
    checkTensors();
    for (const Condition &requirement : plan.requirements)
      condition(requirement.expr, "requirement '" + requirement.text + "'");
    checkParameters();
    for (const Variant &variant : plan.variants)
      checkVariant(variant);
    return error;
  }

private:
  void require(bool holds, const std::string &message) {
    if (!holds && error.empty())
      error = message;
  }

  void checkLimits() {
    require(!plan.name.empty(), "the plan has no operator name");
    require(plan.dims.size() <= kMaxDims, "more than " + std::to_string(kMaxDims) + " dims");
    require(plan.tensors.size() <= kMaxTensors,
            "more than " + std::to_string(kMaxTensors) + " tensors");
    require(plan.parameters.size() <= kMaxParameters,
            "more than " + std::to_string(kMaxParameters) + " parameters");
    require(plan.nodes.size() < kNoExpr, "too many expressions");
    require(!plan.each || !plan.tensors.empty(), "members of a list have no tensors");
    for (const TensorSpec &tensor : plan.tensors)
      require(tensor.rank() <= kMaxRank,
              tensor.name + " has a rank above " + std::to_string(kMaxRank));
  }

  void checkNodes() {
    depth.resize(plan.nodes.size());
    treeSize.resize(plan.nodes.size());
    for (size_t id = 0; id < plan.nodes.size() && error.empty(); ++id)
      checkNode(id);
  }

  void checkNode(size_t id) {
    const ExprNode &node = plan.nodes[id];
    const std::string where = "expression " + std::to_string(id) + " ";
    depth[id] = treeSize[id] = 1;
    switch (node.op) {
    case ExprOp::Constant:
      return;
    case ExprOp::Dim:
      return require(node.lhs < plan.dims.size(), where + "names a dim that is not there");
    case ExprOp::Stride:
      return require(node.lhs < plan.tensors.size() && node.rhs < plan.tensors[node.lhs].rank(),
                     where + "names a stride that is not there");
    case ExprOp::Address:
      return require(node.lhs < plan.tensors.size(), where + "names a tensor that is not there");
    case ExprOp::Parameter:
      return require(node.lhs < plan.parameters.size() &&
                         isInteger(plan.parameters[node.lhs].dtype),
                     where + "names a parameter that is not there or no integer");
    default:
      break;
    }
    require(node.op <= ExprOp::Not, where + "has an unknown operation");
    const unsigned operands = operandCount(node.op);
    require(node.lhs < id && (operands < 2 || node.rhs < id), where + "stands before its operand");
    if (!error.empty())
      return;
    const bool logical = node.op == ExprOp::And || node.op == ExprOp::Or || node.op == ExprOp::Not;
    require(!logical || (isTruth(node.lhs) && (operands < 2 || isTruth(node.rhs))),
            where + "combines something that is not a condition");
    depth[id] = 1 + std::max(depth[node.lhs], operands == 2 ? depth[node.rhs] : 0);
    treeSize[id] = 1 + treeSize[node.lhs] + (operands == 2 ? treeSize[node.rhs] : 0);
    require(depth[id] <= kMaxDepth && treeSize[id] <= kMaxTreeSize, where + "is too large");
  }

  bool isTruth(ExprId id) const {
    const ExprNode &node = plan.nodes[id];
    return isCondition(node.op) || (node.op == ExprOp::Constant && node.value >> 1 == 0);
  }

  /// True if the expression reads nothing but constants, parameters and dims that `bound` has.
  bool usesOnly(ExprId id, const std::vector<bool> &bound) const {
    const ExprNode &node = plan.nodes[id];
    if (node.op == ExprOp::Stride || node.op == ExprOp::Address)
      return false;
    if (node.op == ExprOp::Dim)
      return bound[node.lhs];
    const unsigned operands = operandCount(node.op);
    return (operands < 1 || usesOnly(node.lhs, bound)) &&
           (operands < 2 || usesOnly(node.rhs, bound));
  }

  bool exists(ExprId id, const std::string &what) {
    require(id < plan.nodes.size(), what + " has no expression");
    return id < plan.nodes.size();
  }

  void condition(ExprId id, const std::string &what) {
    if (exists(id, what))
      require(isTruth(id), what + " is not a condition");
  }

  void checkDims() {
    allBound.assign(plan.dims.size(), true);
    std::vector<bool> bound(plan.dims.size());
    for (size_t d = 0; d < plan.dims.size(); ++d) {
      bound[d] = plan.dims[d].fixed.has_value();
      require(plan.dims[d].fixed.value_or(0) >= 0, "dim " + plan.dims[d].name + " is negative");
    }
    for (const BindingStep &step : plan.bindings) {
      require(step.dim < plan.dims.size(), "a binding step names a dim that is not there");
      if (!error.empty())
        return;
      const std::string what = "the binding of dim " + plan.dims[step.dim].name;
      require(!bound[step.dim], what + " is not the only one");
      if (step.kind == BindingStep::Kind::FromExtent)
        require(step.tensor < plan.tensors.size() && step.axis < plan.tensors[step.tensor].rank(),
                what + " names an extent that is not there");
      if (step.kind == BindingStep::Kind::Define || step.expr != kNoExpr)
        if (exists(step.expr, what))
          require(usesOnly(step.expr, bound), what + " uses what is not known before it");
      bound[step.dim] = true;
    }
    for (size_t d = 0; d < plan.dims.size(); ++d)
      require(bound[d], "dim " + plan.dims[d].name + " is never bound");
  }

  void checkTensors() {
    for (size_t t = 0; t < plan.tensors.size(); ++t) {
      const TensorSpec &tensor = plan.tensors[t];
      require(tensor.dtype < DType::Other, tensor.name + " has no type of the language");
      require(tensor.strides.empty() || tensor.strides.size() == tensor.rank(),
              tensor.name + " has a stride clause of another rank");
      for (const std::optional<int64_t> &stride : tensor.strides)
        require(stride.value_or(0) >= 0, tensor.name + " has a negative stride clause");
      require(tensor.align > 0 && checkedMul(tensor.align, 8),
              tensor.name + " has an impossible alignment");
      for (ExprId extent : tensor.extents)
        if (exists(extent, "an extent of " + tensor.name))
          require(usesOnly(extent, allBound), "an extent of " + tensor.name + " is not a size");
      if (tensor.mayAlias == -1)
        continue;
      const bool known =
          tensor.mayAlias >= 0 && static_cast<size_t>(tensor.mayAlias) < plan.tensors.size();
      require(known && tensor.isOutput && !plan.tensors[tensor.mayAlias].isOutput &&
                  plan.tensors[tensor.mayAlias].dtype == tensor.dtype,
              tensor.name + " may alias what is no input of its type");
    }
  }

  void checkParameters() {
    for (const ParameterSpec &parameter : plan.parameters) {
      require(parameter.dtype < DType::Other, parameter.name + " has no type of the language");
      const unsigned width = bytes(parameter.dtype);
      require(width == 8 || parameter.defaultBits.value_or(0) >> (8 * width) == 0,
              parameter.name + " has a default wider than its type");
    }
  }

  void checkVariant(const Variant &variant) {
    const std::string what = "variant " + variant.name + " ";
    require(!variant.entry.empty(), what + "has no entry symbol");
    for (const Condition &guard : variant.guards)
      condition(guard.expr, what + "guard '" + guard.text + "'");
    for (ExprId size : {variant.grid[0], variant.grid[1], variant.grid[2], variant.block[0],
                        variant.block[1], variant.block[2], variant.sharedBytes})
      require(size == kNoExpr || size < plan.nodes.size(), what + "has a size that is not there");
    require(variant.arguments.size() + variant.memberArguments.size() <= kMaxArguments,
            what + "has too many arguments");
    for (const std::vector<ArgumentSpec> *list : {&variant.memberArguments, &variant.arguments})
      for (const ArgumentSpec &argument : *list)
        require(argument.index < numberOf(argument.kind),
                what + "has an argument that is not there");
    if (error.empty())
      checkMembers(variant, what);
  }

  /// How many there are to choose from.
  size_t numberOf(ArgumentSpec::Kind kind) const {
    switch (kind) {
    case ArgumentSpec::Kind::Address:
      return plan.tensors.size();
    case ArgumentSpec::Kind::Parameter:
      return plan.parameters.size();
    case ArgumentSpec::Kind::I32:
    case ArgumentSpec::Kind::I64:
      return plan.nodes.size();
    }
    return 0;
  }

  void checkMembers(const Variant &variant, const std::string &what) {
    if (!plan.each)
      return require(variant.memberArguments.empty() && variant.memberCapacity == 0,
                     what + "has arguments of members, the operator takes no list");
    for (const ArgumentSpec &argument : variant.memberArguments)
      require(argument.kind != ArgumentSpec::Kind::Parameter,
              what + "has a parameter that members have for themselves");
    for (const ArgumentSpec &argument : variant.arguments)
      require(argument.kind == ArgumentSpec::Kind::Parameter,
              what + "has an argument that members share and that is no parameter");
    // Members lie behind each other in the grid's x and have all else in common.
    require(variant.grid[1] == kNoExpr && variant.grid[2] == kNoExpr,
            what + "has a grid of several directions, members need one");
    for (ExprId size : {variant.block[0], variant.block[1], variant.block[2], variant.sharedBytes})
      require(size == kNoExpr || plan.nodes[size].op == ExprOp::Constant,
              what + "has a block or shared memory that members would not have in common");
    require(variant.memberCapacity >= 1 && variant.memberCapacity <= memberCapacity(plan, variant),
            what + "takes a number of members that its parameters cannot hold");
  }

  const OperatorPlan &plan;
  std::string error;
  std::vector<uint32_t> depth;
  std::vector<uint64_t> treeSize;
  std::vector<bool> allBound;
};

} // namespace

std::string verify(const OperatorPlan &plan) { return Verifier(plan).run(); }

} // namespace h3::plan
