//===-- codegen/contract/Contract.cpp - The contract of an operator -------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/contract/Contract.h"

#include <utility>

namespace h3 {

static constexpr std::pair<ScalarType, plan::DType> types[] = {
    {ScalarType::F16, plan::DType::F16},   {ScalarType::BF16, plan::DType::BF16},
    {ScalarType::F32, plan::DType::F32},   {ScalarType::F64, plan::DType::F64},
    {ScalarType::I32, plan::DType::I32},   {ScalarType::I64, plan::DType::I64},
    {ScalarType::E4M3, plan::DType::E4M3}, {ScalarType::E5M2, plan::DType::E5M2}};

std::optional<plan::DType> planType(ScalarType type) {
  for (auto [scalar, dtype] : types)
    if (scalar == type)
      return dtype;
  return {};
}

ScalarType scalarType(plan::DType type) {
  for (auto [scalar, dtype] : types)
    if (dtype == type)
      return scalar;
  return ScalarType::Bool;
}

plan::ExprId planExpr(const Size &size, plan::ExprBuilder &builder) {
  switch (size.kind) {
  case Size::Kind::Constant:
    return builder.constant(size.value);
  case Size::Kind::Dim:
    return builder.dim(size.dim);
  case Size::Kind::Add:
    return builder.add(planExpr(*size.lhs, builder), planExpr(*size.rhs, builder));
  case Size::Kind::Sub:
    return builder.sub(planExpr(*size.lhs, builder), planExpr(*size.rhs, builder));
  case Size::Kind::Mul:
    return builder.mul(planExpr(*size.lhs, builder), planExpr(*size.rhs, builder));
  case Size::Kind::Div:
    return builder.floorDiv(planExpr(*size.lhs, builder), builder.constant(size.value));
  case Size::Kind::Mod:
    return builder.floorMod(planExpr(*size.lhs, builder), builder.constant(size.value));
  }
  return plan::kNoExpr;
}

/// A condition on sizes and integer parameters; kNoExpr if it has anything else.
static plan::ExprId planExpr(const Expr &expr, plan::ExprBuilder &builder) {
  switch (expr.kind) {
  case Expr::Kind::Literal:
    if (expr.type.scalar == ScalarType::I32)
      return builder.constant(static_cast<int32_t>(expr.bits));
    if (expr.type.scalar == ScalarType::I64 || expr.type.scalar == ScalarType::Bool)
      return builder.constant(static_cast<int64_t>(expr.bits));
    return plan::kNoExpr;
  case Expr::Kind::Parameter:
    return isInteger(expr.type.scalar) ? builder.parameter(expr.id) : plan::kNoExpr;
  case Expr::Kind::SizeValue:
    return planExpr(*expr.size, builder);
  case Expr::Kind::Builtin:
    break;
  default:
    return plan::kNoExpr;
  }

  plan::ExprId operands[2] = {plan::kNoExpr, plan::kNoExpr};
  for (size_t i = 0; i < expr.operands.size(); ++i) {
    if (i == 2)
      return plan::kNoExpr;
    operands[i] = planExpr(*expr.operands[i], builder);
    if (operands[i] == plan::kNoExpr)
      return plan::kNoExpr;
  }
  auto [a, b] = operands;
  switch (expr.op) {
  case Builtin::Add:
    return builder.add(a, b);
  case Builtin::Sub:
    return builder.sub(a, b);
  case Builtin::Mul:
    return builder.mul(a, b);
  case Builtin::FloorDiv:
    return builder.floorDiv(a, b);
  case Builtin::FloorMod:
    return builder.floorMod(a, b);
  case Builtin::Max:
    return builder.max(a, b);
  case Builtin::Min:
    return builder.min(a, b);
  case Builtin::Less:
    return builder.lt(a, b);
  case Builtin::LessEqual:
    return builder.le(a, b);
  case Builtin::Greater:
    return builder.gt(a, b);
  case Builtin::GreaterEqual:
    return builder.ge(a, b);
  case Builtin::Equal:
    return builder.eq(a, b);
  case Builtin::NotEqual:
    return builder.ne(a, b);
  case Builtin::And:
    return builder.logicalAnd(a, b);
  case Builtin::Or:
    return builder.logicalOr(a, b);
  case Builtin::Not:
    return builder.logicalNot(a);
  default:
    return plan::kNoExpr;
  }
}

std::optional<plan::OperatorPlan> contractOf(const Program &program, std::string &error) {
  plan::OperatorPlan result;
  plan::ExprBuilder builder(result.nodes);
  result.name = program.name;
  result.each = program.each;
  for (const auto &[name, type] : program.typeArguments)
    result.typeArguments.emplace_back(h3::name(type));

  for (const Dim &dim : program.dims)
    result.dims.push_back({dim.name, dim.fixed});
  for (unsigned dim : program.bindingOrder) {
    const Dim::Binding &binding = *program.dims[dim].binding;
    bool undivided =
        !binding.divisor || (binding.divisor->isConstant() && binding.divisor->value == 1);
    result.bindings.push_back({plan::BindingStep::Kind::FromExtent, static_cast<uint16_t>(dim),
                               static_cast<uint16_t>(binding.tensor),
                               static_cast<uint16_t>(binding.axis),
                               undivided ? plan::kNoExpr : planExpr(*binding.divisor, builder)});
  }
  for (size_t dim = 0; dim < program.dims.size(); ++dim)
    if (program.dims[dim].definition)
      result.bindings.push_back({plan::BindingStep::Kind::Define, static_cast<uint16_t>(dim), 0, 0,
                                 planExpr(*program.dims[dim].definition, builder)});

  for (const Tensor &tensor : program.tensors) {
    plan::TensorSpec spec;
    spec.name = tensor.name;
    spec.isOutput = tensor.isOutput;
    std::optional<plan::DType> dtype = planType(tensor.type);
    if (!dtype) {
      error = "tensor '" + tensor.name + "' has type bool, which no host tensor has";
      return {};
    }
    spec.dtype = *dtype;
    for (const Extent &extent : tensor.extents)
      spec.extents.push_back(planExpr(*extent.size, builder));
    spec.strides = tensor.strides;
    spec.align = tensor.align;
    if (tensor.mayAlias && program.tensors[*tensor.mayAlias].type == tensor.type)
      spec.mayAlias = static_cast<int16_t>(*tensor.mayAlias);
    result.tensors.push_back(std::move(spec));
  }

  for (const Parameter &parameter : program.parameters) {
    std::optional<plan::DType> dtype = planType(parameter.type);
    if (!dtype) {
      error = "parameter '" + parameter.name + "' has type bool, which no call can pass";
      return {};
    }
    result.parameters.push_back({parameter.name, *dtype, parameter.defaultBits});
  }
  for (const Requirement &requirement : program.requirements) {
    plan::ExprId condition = planExpr(*requirement.condition, builder);
    if (condition == plan::kNoExpr) {
      error =
          "'require " + requirement.text +
          "' is not a condition on sizes and integer parameters, which is all a contract can hold";
      return {};
    }
    result.requirements.push_back({condition, requirement.text});
  }

  error = plan::verify(result);
  if (!error.empty())
    return {};
  return result;
}

} // namespace h3
