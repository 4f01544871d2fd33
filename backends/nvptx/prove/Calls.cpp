//===-- backends/nvptx/prove/Calls.cpp - The calls of a proof -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/Calls.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>

namespace h3::prove {
namespace {

constexpr uint64_t spacing = uint64_t(1) << 48;

plan::Binding bindingOf(const plan::OperatorPlan &plan, const std::vector<int64_t> &dims) {
  plan::Binding binding;
  std::ranges::copy(dims, binding.dims.begin());
  for (size_t k = 0; k < plan.parameters.size(); ++k)
    binding.parameters[k] = plan.parameters[k].defaultBits.value_or(0);
  return binding;
}

bool isAdmitted(const plan::OperatorPlan &plan, const std::vector<int64_t> &dims) {
  plan::Binding binding = bindingOf(plan, dims);
  for (const plan::Condition &condition : plan.requirements)
    if (plan::evaluateExpr(plan, condition.expr, binding).value_or(0) == 0)
      return false;
  return true;
}

void addReciprocals(const plan::OperatorPlan &plan, plan::ExprId id,
                    std::vector<plan::ExprId> &divisors) {
  const plan::ExprNode &node = plan.nodes[id];
  const unsigned operands = plan::operandCount(node.op);
  auto isConstant = [&](plan::ExprId operand) {
    return plan.nodes[operand].op == plan::ExprOp::Constant;
  };
  bool isReciprocal =
      node.op == plan::ExprOp::FloorDiv && isConstant(node.lhs) && !isConstant(node.rhs);
  if (isReciprocal && std::ranges::find(divisors, node.rhs) == divisors.end())
    divisors.push_back(node.rhs);
  if (operands >= 1)
    addReciprocals(plan, node.lhs, divisors);
  if (operands >= 2)
    addReciprocals(plan, node.rhs, divisors);
}

} // namespace

std::vector<plan::ExprId> reciprocalsOf(const plan::OperatorPlan &plan,
                                        const plan::Variant &variant) {
  std::vector<plan::ExprId> divisors;
  for (const plan::ArgumentSpec &argument : variant.arguments)
    if (argument.kind == plan::ArgumentSpec::Kind::I32 ||
        argument.kind == plan::ArgumentSpec::Kind::I64)
      addReciprocals(plan, argument.index, divisors);
  return divisors;
}

unsigned roundedDivisors(const plan::OperatorPlan &plan, const std::vector<plan::ExprId> &divisors,
                         const std::vector<int64_t> &dims) {
  const plan::Binding binding = bindingOf(plan, dims);
  return static_cast<unsigned>(std::ranges::count_if(divisors, [&](plan::ExprId divisor) {
    int64_t value = plan::evaluateExpr(plan, divisor, binding).value_or(1);
    return value > 0 && !std::has_single_bit(static_cast<uint64_t>(value));
  }));
}

std::string_view name(LayoutKind kind) {
  constexpr std::string_view names[] = {"tight",   "padded",    "8-byte aligned", "element aligned",
                                        "strided", "broadcast", "past 2^31"};
  return names[static_cast<size_t>(kind)];
}

std::vector<plan::ParameterValue> parametersOf(const plan::OperatorPlan &plan) {
  std::vector<plan::ParameterValue> values;
  for (const plan::ParameterSpec &spec : plan.parameters)
    values.push_back({true, spec.dtype, spec.defaultBits.value_or(1)});
  return values;
}

std::vector<plan::Tensor> tensorsOf(const Program &program, const plan::OperatorPlan &plan,
                                    const Call &call) {
  std::vector<plan::Tensor> result;
  for (unsigned t = 0; t < program.tensors.size(); ++t) {
    const Tensor &tensor = program.tensors[t];
    if (call.inPlace && plan.tensors[t].mayAlias >= 0) {
      result.push_back(result[static_cast<size_t>(plan.tensors[t].mayAlias)]);
      continue;
    }
    // What an output in place needs, its input's strides give.
    const Tensor *other = nullptr;
    for (unsigned output = 0; call.inPlace && output < program.tensors.size(); ++output)
      if (plan.tensors[output].mayAlias == static_cast<int>(t))
        other = &program.tensors[output];
    const size_t rank = tensor.extents.size();
    const unsigned bytes = byteWidth(tensor.type);
    std::vector<int64_t> extents, strides(rank);
    for (const Extent &extent : tensor.extents)
      extents.push_back(evaluate(*extent.size, call.dims).value_or(0));
    auto clause = [&](size_t axis) -> std::optional<int64_t> {
      for (const Tensor *one : {&tensor, other})
        if (one && axis < one->strides.size() && one->strides[axis])
          return one->strides[axis];
      return std::nullopt;
    };
    int64_t next = 1;
    for (size_t axis = rank; axis-- > 0;) {
      bool isLast = axis + 1 == rank;
      if (isLast && call.layout == LayoutKind::Strided)
        next = 2;
      if (!isLast && call.layout == LayoutKind::Padded)
        next = (next + 31) / 16 * 16;
      if (!isLast && call.layout == LayoutKind::Halved)
        next = (next + 8 / std::min(bytes, 8u)) | int64_t(8 / std::min(bytes, 8u));
      if (!isLast && call.layout == LayoutKind::Skewed)
        next = next | 1;
      // Fits in 31 bits itself, and with three rows its offsets do not.
      if (axis == 0 && !isLast && call.layout == LayoutKind::Far)
        next = (int64_t(1) << 30) + 64;
      strides[axis] = clause(axis).value_or(next);
      if (!isLast && call.layout == LayoutKind::Broadcast && !tensor.isOutput && !other &&
          !clause(axis))
        strides[axis] = 0;
      next = std::max(next, strides[axis] * std::max<int64_t>(extents[axis], 1));
    }
    if (rank == 1 && call.layout == LayoutKind::Far && !clause(0))
      strides[0] = (int64_t(1) << 30) + 64;
    if (call.layout == LayoutKind::Halved)
      for (size_t axis = 0; axis + 1 < rank; ++axis)
        if (!clause(axis)) {
          int64_t unit = std::max<int64_t>(8 / bytes, 1);
          strides[axis] = (strides[axis] + unit - 1) / unit * unit;
        }
    uint64_t address = uint64_t(t + 1) * spacing;
    int64_t align = std::lcm(tensor.align, other ? other->align : 1);
    if (call.layout == LayoutKind::Halved)
      address += std::lcm<uint64_t>(8, uint64_t(align) * bytes);
    if (call.layout == LayoutKind::Skewed || call.layout == LayoutKind::Strided)
      address += uint64_t(align) * bytes;
    result.push_back(plan::Tensor::strided(address, plan.tensors[t].dtype, extents, strides));
  }
  return result;
}

int64_t elementsOf(const Program &program, const std::vector<int64_t> &dims) {
  int64_t elements = 0;
  for (const Tensor &tensor : program.tensors) {
    int64_t count = 1;
    for (const Extent &extent : tensor.extents)
      count *= evaluate(*extent.size, dims).value_or(0);
    elements += count;
  }
  return elements;
}

std::vector<std::vector<int64_t>> sizesFor(const Program &program, const plan::OperatorPlan &plan,
                                           const ptx::Kernel &kernel,
                                           const std::vector<unsigned> &rowDims,
                                           bool hasReciprocals, int64_t most) {
  // Everything that sizes are compared with, or taken apart by.
  std::set<int64_t> numbers = {1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096};
  std::set<int64_t> rowNumbers = {0, 1, 15, 16, 31, 32, 33, 64};
  if (hasReciprocals)
    for (std::set<int64_t> *some : {&numbers, &rowNumbers})
      some->insert({6, 12, 24, 48, 96, 192, 384, 768, 1536, 3072});
  auto add = [&](int64_t number) {
    for (int64_t near : {number - 1, number, number + 1})
      if (near > 0 && near <= 1 << 16)
        numbers.insert(near);
  };
  for (const plan::ExprNode &node : plan.nodes)
    if (node.op == plan::ExprOp::Constant)
      add(node.value);
  for (const ptx::Instruction &instruction : kernel.instructions)
    if (instruction.opcode == ptx::Opcode::Setp)
      for (const ptx::Operand &operand : instruction.operands)
        if (operand.kind == ptx::Operand::Kind::Integer)
          add(static_cast<int64_t>(operand.bits));

  std::set<std::vector<int64_t>> all;
  std::vector<unsigned> free;
  std::vector<int64_t> start(program.dims.size(), 0);
  for (unsigned dim = 0; dim < program.dims.size(); ++dim) {
    start[dim] = program.dims[dim].fixed.value_or(1);
    if (!program.dims[dim].fixed && !program.dims[dim].definition)
      free.push_back(dim);
  }
  auto isRow = [&](unsigned dim) { return std::ranges::find(rowDims, dim) != rowDims.end(); };
  auto consider = [&](std::vector<int64_t> dims) {
    for (unsigned dim = 0; dim < dims.size(); ++dim)
      if (const Size *definition = program.dims[dim].definition)
        dims[dim] = evaluate(*definition, dims).value_or(0);
    if (elementsOf(program, dims) <= most && isAdmitted(plan, dims))
      all.insert(std::move(dims));
  };
  // One or two dims take each number, the others a few small ones.
  for (int64_t rows : {1, 2, 3, 5, 17})
    for (int64_t others : {1, 2, 3, 4, 8, 64}) {
      std::vector<int64_t> base = start;
      for (unsigned dim : free)
        base[dim] = isRow(dim) ? rows : others;
      consider(base);
      for (unsigned one : free) {
        if (isRow(one))
          continue;
        for (int64_t number : numbers) {
          std::vector<int64_t> dims = base;
          dims[one] = number;
          consider(dims);
          for (unsigned two : free)
            if (two > one && !isRow(two))
              for (int64_t second : {1, 2, 3, 4, 7, 8, 16, 32, 33, 48, 64, 128}) {
                dims[two] = second;
                consider(dims);
                dims[two] = base[two];
              }
        }
      }
      for (unsigned row : free) {
        if (!isRow(row))
          continue;
        for (int64_t number : rowNumbers) {
          std::vector<int64_t> dims = base;
          dims[row] = number;
          consider(dims);
        }
      }
    }
  std::vector<std::vector<int64_t>> sizes(all.begin(), all.end());
  std::ranges::stable_sort(
      sizes, {}, [&](const std::vector<int64_t> &dims) { return elementsOf(program, dims); });
  return sizes;
}

} // namespace h3::prove
