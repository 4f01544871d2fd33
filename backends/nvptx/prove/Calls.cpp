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

/// Sizes around \p number.
void addNeighbours(std::set<int64_t> &numbers, int64_t number) {
  for (int64_t near : {number - 1, number, number + 1})
    if (near > 0 && near <= 1 << 16)
      numbers.insert(near);
}

bool hasDim(const plan::OperatorPlan &plan, plan::ExprId id) {
  const plan::ExprNode &node = plan.nodes[id];
  const unsigned operands = plan::operandCount(node.op);
  return node.op == plan::ExprOp::Dim || (operands >= 1 && hasDim(plan, node.lhs)) ||
         (operands >= 2 && hasDim(plan, node.rhs));
}

/// What sizes are divided by or compared with; an addend is neither, and what strides and addresses
/// are divided by is the layouts' affair.
void addConstants(const plan::OperatorPlan &plan, plan::ExprId id, std::set<int64_t> &numbers) {
  if (id == plan::kNoExpr)
    return;
  const plan::ExprNode &node = plan.nodes[id];
  const bool isOfSize =
      node.op != plan::ExprOp::Add && node.op != plan::ExprOp::Sub && hasDim(plan, id);
  auto visit = [&](plan::ExprId operand) {
    if (plan.nodes[operand].op != plan::ExprOp::Constant)
      addConstants(plan, operand, numbers);
    else if (isOfSize)
      addNeighbours(numbers, plan.nodes[operand].value);
  };
  const unsigned operands = plan::operandCount(node.op);
  if (operands >= 1)
    visit(node.lhs);
  if (operands >= 2)
    visit(node.rhs);
}

void addComparisons(const ptx::Kernel &kernel, std::set<int64_t> &numbers) {
  for (const ptx::Instruction &instruction : kernel.instructions)
    if (instruction.opcode == ptx::Opcode::Setp)
      for (const ptx::Operand &operand : instruction.operands)
        if (operand.kind == ptx::Operand::Kind::Integer)
          addNeighbours(numbers, static_cast<int64_t>(operand.bits));
}

/// Whether the value never falls where a dim grows.
bool isMonotone(const plan::OperatorPlan &plan, plan::ExprId id) {
  const plan::ExprNode &node = plan.nodes[id];
  auto isPositive = [&](plan::ExprId operand) {
    return plan.nodes[operand].op == plan::ExprOp::Constant && plan.nodes[operand].value > 0;
  };
  switch (node.op) {
  case plan::ExprOp::Constant:
    return node.value >= 0;
  case plan::ExprOp::Dim:
    return true;
  case plan::ExprOp::Add:
  case plan::ExprOp::Mul:
    return isMonotone(plan, node.lhs) && isMonotone(plan, node.rhs);
  case plan::ExprOp::FloorDiv:
    return isMonotone(plan, node.lhs) && isPositive(node.rhs);
  default:
    return false;
  }
}

/// Whether no launch has 2^32 or more of \p dim. The grid is least where each other dim is as small
/// as one that is there at all can be, so those that are 0 or 1 stand for all.
bool isBelow32Bits(const plan::OperatorPlan &plan, const plan::Variant &variant, unsigned dim) {
  const plan::ExprId grid = variant.grid[0];
  if (grid == plan::kNoExpr || !isMonotone(plan, grid) || plan.dims.size() > 12)
    return false;
  for (unsigned present = 0; present < 1u << plan.dims.size(); ++present)
    for (int64_t large : {int64_t(1) << 32, int64_t(1) << 40}) {
      plan::Binding binding = bindingOf(plan, std::vector<int64_t>(plan.dims.size()));
      for (unsigned other = 0; other < plan.dims.size(); ++other)
        binding.dims[other] = other == dim ? large : present >> other & 1;
      // An empty grid is no launch; a value that overflows is none either.
      int64_t blocks = plan::evaluateExpr(plan, grid, binding).value_or(INT64_MAX);
      if (blocks != 0 && blocks <= plan::kMaxGrid[0])
        return false;
    }
  return true;
}

/// Gives the dims that follow from others their values. False where the contract does not admit it.
bool complete(const Program &program, const plan::OperatorPlan &plan, std::vector<int64_t> &dims) {
  for (unsigned dim = 0; dim < dims.size(); ++dim)
    if (const Size *definition = program.dims[dim].definition)
      dims[dim] = evaluate(*definition, dims).value_or(0);
  return isAdmitted(plan, dims);
}

} // namespace

std::optional<std::vector<int64_t>> withDim(const Program &program, const plan::OperatorPlan &plan,
                                            std::vector<int64_t> dims, unsigned dim,
                                            int64_t value) {
  dims[dim] = value;
  return complete(program, plan, dims) ? std::optional(dims) : std::nullopt;
}

std::set<int64_t> comparedWith(const plan::OperatorPlan &plan, const plan::Variant &variant,
                               const std::vector<uint64_t> &others) {
  std::set<int64_t> numbers;
  for (uint64_t number : others)
    addNeighbours(numbers, static_cast<int64_t>(number));
  for (const plan::Condition &guard : variant.guards)
    addConstants(plan, guard.expr, numbers);
  for (plan::ExprId size : variant.grid)
    addConstants(plan, size, numbers);
  for (const std::vector<plan::ArgumentSpec> *arguments :
       {&variant.arguments, &variant.memberArguments})
    for (const plan::ArgumentSpec &argument : *arguments)
      if (argument.kind == plan::ArgumentSpec::Kind::I32 ||
          argument.kind == plan::ArgumentSpec::Kind::I64)
        addConstants(plan, argument.index, numbers);
  return numbers;
}

std::vector<uint64_t> argumentBitsOf(const plan::OperatorPlan &plan, const plan::Variant &variant) {
  std::vector<uint64_t> bits;
  for (const plan::ArgumentSpec &argument : variant.arguments) {
    bool isDim = argument.kind == plan::ArgumentSpec::Kind::I64 &&
                 plan.nodes[argument.index].op == plan::ExprOp::Dim;
    bool isSmall = isDim && isBelow32Bits(plan, variant, unsigned(plan.nodes[argument.index].lhs));
    bits.push_back(isSmall ? UINT32_MAX : UINT64_MAX);
  }
  return bits;
}

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
  for (const plan::ExprNode &node : plan.nodes)
    if (node.op == plan::ExprOp::Constant)
      addNeighbours(numbers, node.value);
  addComparisons(kernel, numbers);

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
    if (complete(program, plan, dims) && elementsOf(program, dims) <= most)
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
