//===-- codegen/driver/bundle/CheckDrawer.cpp - Calls that variants serve -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/bundle/CheckDrawer.h"

#include "codegen/contract/Contract.h"

#include <algorithm>
#include <array>
#include <bit>

namespace h3 {

namespace {

bool contains(const Size &size, unsigned dim) {
  return (size.kind == Size::Kind::Dim && size.dim == dim) ||
         (size.lhs && contains(*size.lhs, dim)) || (size.rhs && contains(*size.rhs, dim));
}

std::vector<int64_t> dimsOf(const Program &program, const plan::Binding &binding) {
  return {binding.dims.begin(), binding.dims.begin() + program.dims.size()};
}

/// The place and the pitch of rows, in bytes, of a layout; 0: single elements.
unsigned bytesOf(unsigned layout) { return layout < 2 ? 0 : 1u << (layout - 1); }

/// Makes two axes of the first where that counts more than one even number of rows.
void splitLeading(bundle::CheckTensor &tensor) {
  const int64_t extent = tensor.extents[0], stride = tensor.strides[0];
  if (extent < 2 || extent % 2 != 0)
    return;
  tensor.extents[0] = extent / 2;
  tensor.extents.insert(tensor.extents.begin(), 2);
  tensor.strides.insert(tensor.strides.begin(), extent / 2 * stride);
}

} // namespace

CheckDrawer::CheckDrawer(const Program &program, const plan::OperatorPlan &contract)
    : program(program), contract(contract) {
  findRoles();
  for (const Expr &expr : program.expressions)
    if (expr.kind == Expr::Kind::Access)
      for (size_t axis = 0; axis < expr.subscripts.size(); ++axis)
        if (expr.subscripts[axis].isData)
          indexed.push_back(expr.operands[0]->type.extents[axis].size);
}

/// A dim that stands in the last axis of a matrix is the length of rows, or a factor of it where
/// there is another beside it; where there is no matrix all are lengths.
void CheckDrawer::findRoles() {
  hasMatrix = std::ranges::any_of(program.tensors,
                                  [](const Tensor &tensor) { return tensor.extents.size() > 1; });
  roles.assign(program.dims.size(), hasMatrix ? Role::Rows : Role::Length);
  for (const Tensor &tensor : program.tensors) {
    if (tensor.extents.size() < 2)
      continue;
    const Size &last = *tensor.extents.back().size;
    std::vector<unsigned> inLast;
    for (unsigned dim = 0; dim < roles.size(); ++dim)
      if (contains(last, dim))
        inLast.push_back(dim);
    for (unsigned dim : inLast)
      roles[dim] = inLast.size() > 1 ? Role::Factor : std::max(roles[dim], Role::Length);
  }
}

int64_t CheckDrawer::drawDim(Role role) {
  static constexpr std::array<int64_t, 12> rows = {1, 2, 3, 3, 5, 7, 17, 33, 65, 131, 257, 515},
                                           factors = {1, 2, 3, 4, 5, 8, 12, 16, 20, 24, 32, 64};
  if (role == Role::Rows)
    return rows[below(rows.size())];
  if (role == Role::Factor)
    return factors[below(factors.size())];
  // A length of whole vectors of the layout, or any.
  unsigned narrowest = 8;
  for (const plan::TensorSpec &tensor : contract.tensors)
    narrowest = std::min(narrowest, plan::bytes(tensor.dtype));
  const int64_t vector = once(4) ? 1 : std::max(1u, bytesOf(wish.layout) / narrowest);
  // A tensor that is one row has all the elements in it.
  static constexpr std::array<int64_t, 6> longest = {8, 64, 100, 300, 1100, 2600};
  int64_t most = longest[below(longest.size())] * (hasMatrix ? 1 : 8);
  if (wish.longest)
    most = wish.longest;
  return vector * (1 + static_cast<int64_t>(below(static_cast<uint64_t>(most / vector + 1))));
}

bool CheckDrawer::drawDims(plan::Binding &binding) {
  std::vector<int64_t> dims(program.dims.size(), 0);
  for (unsigned dim = 0; dim < dims.size(); ++dim) {
    const Dim &declared = program.dims[dim];
    const auto wanted = wish.sizes.find(dim);
    dims[dim] = wanted != wish.sizes.end()
                    ? wanted->second
                    : declared.fixed.value_or(declared.definition ? 0 : drawDim(roles[dim]));
  }
  for (unsigned dim = 0; dim < dims.size(); ++dim)
    if (const Size *definition = program.dims[dim].definition)
      dims[dim] = evaluate(*definition, dims).value_or(0);
  std::ranges::copy(dims, binding.dims.begin());
  return std::ranges::all_of(contract.requirements, [&](const plan::Condition &condition) {
    return plan::evaluateExpr(contract, condition.expr, binding).value_or(0) != 0;
  });
}

bundle::CheckTensor CheckDrawer::drawTensor(size_t index, const plan::Binding &binding) {
  const plan::TensorSpec &spec = contract.tensors[index];
  const bool isApart = wish.layout == 0 && !wish.isPacked;
  const int64_t unit =
      wish.isPacked ? 1 : std::max(1u, bytesOf(wish.layout) / plan::bytes(spec.dtype));
  bundle::CheckTensor tensor;
  for (plan::ExprId extent : spec.extents)
    tensor.extents.push_back(plan::evaluateExpr(contract, extent, binding).value_or(0));
  const size_t rank = tensor.extents.size();
  tensor.strides.assign(rank, 1);
  int64_t next = isApart ? 2 + static_cast<int64_t>(below(2)) : 1;
  for (size_t axis = rank; axis-- > 0;) {
    const std::optional<int64_t> clause = spec.strides.empty() ? std::nullopt : spec.strides[axis];
    // Rows apart by their length, and sometimes by more; at an odd pitch where nothing is aligned.
    if (axis + 1 < rank && !wish.isPacked) {
      next = (next + unit - 1) / unit * unit + (once(3) ? unit : 0);
      if (wish.layout < 2 && next % 2 == 0)
        ++next;
    }
    tensor.strides[axis] = clause.value_or(next);
    next = std::max(next, tensor.strides[axis] * std::max<int64_t>(tensor.extents[axis], 1));
    if (axis + 1 == rank && clause && isApart)
      next = tensor.strides[axis] * std::max<int64_t>(tensor.extents[axis], 1);
  }
  // In front of the tensor and behind it: what must stay as it is. Aligned as asked, and no better.
  const int64_t front = wish.isPacked ? 128 : unit;
  tensor.offset = static_cast<uint64_t>((front + spec.align - 1) / spec.align * spec.align);
  uint64_t last = tensor.offset;
  for (size_t axis = 0; axis < rank; ++axis)
    last += static_cast<uint64_t>(std::max<int64_t>(tensor.extents[axis], 1) - 1) *
            static_cast<uint64_t>(tensor.strides[axis]);
  tensor.elements = last + 1 + 64;
  if (wish.isSplit && rank > 0)
    splitLeading(tensor);
  return tensor;
}

/// Specials everywhere where an element of the result has few operands. Where there are reductions
/// they would leave nothing else, so that they stand in the largest inputs alone.
void CheckDrawer::chooseValues(bundle::SelfCheck &check, size_t first,
                               const plan::Binding &binding) {
  const std::span<bundle::CheckTensor> tensors = std::span(check.tensors).subspan(first);
  uint64_t largest = 0;
  const auto isFloatInput = [&](size_t index) {
    return !contract.tensors[index].isOutput && !plan::isInteger(contract.tensors[index].dtype);
  };
  for (size_t index = 0; index < tensors.size(); ++index)
    if (isFloatInput(index))
      largest = std::max(largest, tensors[index].elements);
  for (size_t index = 0; index < tensors.size(); ++index) {
    bundle::CheckTensor &tensor = tensors[index];
    const plan::TensorSpec &spec = contract.tensors[index];
    const bool isLarge = tensor.elements * 2 > largest;
    if (!spec.isOutput && plan::isInteger(spec.dtype) && !indexed.empty()) {
      const std::vector<int64_t> dims = dimsOf(program, binding);
      tensor.values = bundle::Values::Index;
      tensor.below = INT32_MAX;
      for (const Size *size : indexed)
        tensor.below = std::min(tensor.below, evaluate(*size, dims).value_or(0));
    } else if (!isFloatInput(index)) {
      continue;
    } else if (wish.choice == Choice::All) {
      tensor.values = wish.values;
    } else if (wish.choice == Choice::Specials && program.reductions.empty()) {
      tensor.values = isLarge ? bundle::Values::AnyBits : bundle::Values::Mixed;
    } else if (wish.choice == Choice::Specials && isLarge) {
      tensor.values = bundle::Values::Mixed;
    }
  }
}

plan::ParameterValue CheckDrawer::drawParameter(const plan::ParameterSpec &spec) {
  static constexpr std::array<double, 4> floats = {0.75, 1e-6, 0.0, 3.5};
  plan::ParameterValue value;
  value.dtype = spec.dtype;
  value.given = !spec.defaultBits || (wish.drawsParameters && once(2));
  if (!value.given)
    return value;
  const double number = wish.drawsParameters ? floats[below(floats.size())] : floats[0];
  value.bits = plan::isInteger(spec.dtype)
                   ? 2
                   : scalar::convert(ScalarType::F64, scalarType(spec.dtype),
                                     std::bit_cast<uint64_t>(number));
  return value;
}

/// Lays each output that may alias an input on it.
void CheckDrawer::putInPlace(bundle::SelfCheck &check, size_t first) const {
  for (size_t index = 0; index < contract.tensors.size(); ++index) {
    const int16_t input = contract.tensors[index].mayAlias;
    if (input < 0)
      continue;
    bundle::CheckTensor &output = check.tensors[first + index];
    const bundle::Values values = output.values;
    output = check.tensors[first + static_cast<size_t>(input)];
    output.values = values;
    output.below = 0;
    output.inPlaceOf = input;
  }
}

std::vector<unsigned> CheckDrawer::rowDims() const {
  std::vector<unsigned> dims;
  for (unsigned dim = 0; dim < roles.size(); ++dim)
    if (!program.dims[dim].fixed && !program.dims[dim].definition &&
        roles[dim] == (hasMatrix ? Role::Rows : Role::Length))
      dims.push_back(dim);
  return dims;
}

std::optional<bundle::SelfCheck> CheckDrawer::draw(unsigned attempt) {
  const unsigned turn = attempt % kAttemptsOfLayout;
  // Some thousand results of some ten thousand elements, enough to fill a few blocks of any
  // schedule; other numbers once those were tried in vain.
  Wish next;
  next.seed = attempt;
  next.layout = attempt / kAttemptsOfLayout;
  next.choice = turn % 2 == 1 ? Choice::Specials : Choice::Finite;
  next.isInPlace = turn % 4 == 3;
  next.most = uint64_t(48000) << (turn / 40);
  next.least = 3000 >> (turn / 16);
  return draw(next);
}

std::optional<bundle::SelfCheck> CheckDrawer::draw(const Wish &wanted) {
  wish = wanted;
  engine.seed(wish.seed);
  bundle::SelfCheck check;
  check.seed = wish.seed + 1;
  for (const plan::ParameterSpec &parameter : contract.parameters)
    check.parameters.push_back(drawParameter(parameter));
  uint64_t elements = 0, results = 0;
  for (unsigned member = 0; member < (contract.each ? 3u : 1u); ++member) {
    plan::Binding binding{};
    for (size_t k = 0; k < contract.parameters.size(); ++k)
      binding.parameters[k] = check.parameters[k].given ? check.parameters[k].bits
                                                        : *contract.parameters[k].defaultBits;
    if (!drawDims(binding))
      return std::nullopt;
    const size_t first = check.tensors.size();
    for (size_t index = 0; index < contract.tensors.size(); ++index) {
      check.tensors.push_back(drawTensor(index, binding));
      uint64_t count = 1;
      for (int64_t extent : check.tensors.back().extents)
        count *= static_cast<uint64_t>(extent);
      elements += count;
      results += contract.tensors[index].isOutput ? count : 0;
    }
    chooseValues(check, first, binding);
    if (wish.isInPlace)
      putInPlace(check, first);
  }
  if (elements > wish.most || results < wish.least)
    return std::nullopt;
  return check;
}

} // namespace h3
