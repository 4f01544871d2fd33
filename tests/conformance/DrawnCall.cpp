//===-- tests/conformance/DrawnCall.cpp - Random calls --------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DrawnCall.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>
#include <set>

namespace h3::test {
namespace {

constexpr int64_t GuardElements = 256; ///< either side; a multiple of every alignment
constexpr std::byte Poison[] = {std::byte{0x5A}, std::byte{0x7E}};

bool contains(const Size &size, unsigned dim) {
  return (size.kind == Size::Kind::Dim && size.dim == dim) ||
         (size.lhs && contains(*size.lhs, dim)) || (size.rhs && contains(*size.rhs, dim));
}

bool isDim(const Size &size, unsigned dim) {
  return size.kind == Size::Kind::Dim && size.dim == dim;
}

/// What a free dim counts, which decides how large it may be.
enum class Role : uint8_t {
  Rows,   ///< stands in no last axis of a matrix
  Length, ///< of a row
  Factor, ///< of the length of a row, beside another dim
};

std::vector<Role> rolesOf(const Program &program) {
  bool hasMatrix = false;
  for (const Tensor &tensor : program.tensors)
    hasMatrix |= tensor.extents.size() > 1;
  std::vector<Role> roles(program.dims.size(), hasMatrix ? Role::Rows : Role::Length);
  for (unsigned dim = 0; dim < roles.size(); ++dim)
    for (const Tensor &tensor : program.tensors) {
      if (tensor.extents.size() < 2 || !contains(*tensor.extents.back().size, dim))
        continue;
      bool hasOther = false;
      for (unsigned other = 0; other < roles.size(); ++other)
        hasOther |= other != dim && contains(*tensor.extents.back().size, other);
      roles[dim] = hasOther ? Role::Factor : std::max(roles[dim], Role::Length);
    }
  return roles;
}

/// The extents that integers from data select in.
std::vector<const Size *> selectedExtents(const Program &program) {
  std::vector<const Size *> sizes;
  for (const Expr &expr : program.expressions)
    if (expr.kind == Expr::Kind::Access)
      for (size_t axis = 0; axis < expr.subscripts.size(); ++axis)
        if (expr.subscripts[axis].isData)
          sizes.push_back(expr.operands[0]->type.extents[axis].size);
  return sizes;
}

class Drawer {
public:
  Drawer(const Instance &instance, Engine &engine, const DrawLimits &limits)
      : instance(instance), program(*instance.program), engine(engine), limits(limits) {}

  std::optional<DrawnCall> draw();

private:
  struct Layout {
    std::vector<int64_t> strides;
    const char *kind = "contiguous";
  };

  int64_t drawDim(Role role);
  bool drawDims(int64_t budget);
  void drawParameters();
  Layout drawLayout(const std::vector<int64_t> &extents, std::span<const Tensor *const> clauses);
  void padOnly(const std::vector<int64_t> &extents, const Tensor &tensor, Layout &layout);
  bool drawTensor(unsigned index);
  bool shareTensor(unsigned index, const std::vector<int64_t> &extents);
  void splitLeadingAxis(tensor::StridedView &view);
  void fill(const Tensor &tensor, const DrawnTensor &drawn);
  bool isAdmitted() const;

  const Instance &instance;
  const Program &program;
  Engine &engine;
  const DrawLimits &limits;
  /// Every second call: rows of whole vectors at aligned addresses, as the fastest variants want.
  bool isNeat = false;
  DrawnCall call;
};

int64_t Drawer::drawDim(Role role) {
  if (isNeat && role == Role::Length && !once(engine, 3))
    return 16 * (1 + int64_t(below(engine, once(engine, 4) ? uint64_t(limits.longest) / 16 : 12)));
  static constexpr int64_t rows[] = {1, 1, 2, 2, 3, 4, 7, 8, 17, 33, 64, 100, 257},
                           lengths[] = {1,   2,   3,   4,   5,   7,   8,   16,  31,  32,
                                        33,  48,  64,  65,  96,  100, 127, 128, 129, 200,
                                        256, 257, 320, 384, 500, 511, 512, 513, 600},
                           factors[] = {1, 2, 3, 4, 5, 8, 12, 16, 20, 24, 32, 64};
  switch (role) {
  case Role::Rows:
    return !limits.hasRows && once(engine, 24) ? 0 : pick(engine, rows);
  case Role::Factor:
    return pick(engine, factors);
  case Role::Length:
    break;
  }
  switch (below(engine, 8)) {
  case 0:
    return 1 + int64_t(below(engine, 600));
  case 1:
    return 4 * (1 + int64_t(below(engine, 150)));
  case 2:
    return 8 * (1 + int64_t(below(engine, 75)));
  case 3: {
    const int64_t some = 1 + int64_t(below(engine, uint64_t(limits.longest)));
    return once(engine, 2) ? some : (some + 7) / 8 * 8;
  }
  default:
    return pick(engine, lengths);
  }
}

/// False if the dims break a requirement or the tensors have more elements than \p budget.
bool Drawer::drawDims(int64_t budget) {
  const std::vector<Role> roles = rolesOf(program);
  call.dims.assign(program.dims.size(), 0);
  for (unsigned dim = 0; dim < call.dims.size(); ++dim) {
    const Dim &declared = program.dims[dim];
    if (auto given = limits.dims.find(dim); given != limits.dims.end())
      call.dims[dim] = given->second;
    else
      call.dims[dim] = declared.fixed.value_or(declared.definition ? 0 : drawDim(roles[dim]));
  }
  for (unsigned dim = 0; dim < call.dims.size(); ++dim)
    if (const Size *definition = program.dims[dim].definition)
      call.dims[dim] = evaluate(*definition, call.dims).value();
  plan::Binding binding;
  std::ranges::copy(call.dims, binding.dims.begin());
  for (size_t k = 0; k < call.parameters.size(); ++k)
    binding.parameters[k] = call.parameters[k].given
                                ? call.parameters[k].bits
                                : instance.contract.parameters[k].defaultBits.value_or(0);
  for (const plan::Condition &condition : instance.contract.requirements)
    if (plan::evaluateExpr(instance.contract, condition.expr, binding).value_or(0) == 0)
      return false;
  int64_t elements = 0;
  for (const Tensor &tensor : program.tensors) {
    int64_t count = 1;
    for (const Extent &extent : tensor.extents)
      count *= evaluate(*extent.size, call.dims).value();
    elements += count;
  }
  return elements <= budget;
}

void Drawer::drawParameters() {
  static constexpr uint32_t floats[] = {0x00000000, 0x80000000, 0x3727C5AC, 0x358637BD, 0x3F800000,
                                        0x3F000000, 0x40490FDB, 0x00100000, 0x7149F2CA, 0xBF800000,
                                        0x7F800000, 0x7FFFFFFF, 0xFF812345};
  call.parameters.clear();
  for (const plan::ParameterSpec &spec : instance.contract.parameters) {
    plan::ParameterValue value;
    value.dtype = spec.dtype;
    value.given = !spec.defaultBits || !once(engine, 2);
    if (spec.dtype == plan::DType::F32)
      value.bits = value.given ? pick(engine, floats) : 0;
    else if (value.given)
      value.bits = below(engine, 4);
    call.parameters.push_back(value);
  }
}

/// Whether every clause of \p clauses leaves the stride of \p axis open.
bool isOpen(std::span<const Tensor *const> clauses, size_t axis) {
  return std::ranges::none_of(clauses, [&](const Tensor *tensor) {
    return axis < tensor->strides.size() && tensor->strides[axis];
  });
}

/// Strides for a tensor of these extents under the stride clauses of all of \p clauses, the last of
/// which may be an output.
Drawer::Layout Drawer::drawLayout(const std::vector<int64_t> &extents,
                                  std::span<const Tensor *const> clauses) {
  Layout layout;
  const size_t rank = extents.size();
  layout.strides.assign(rank, 0);
  if (!rank)
    return layout;
  enum { Contiguous, Padded, Transposed, Inner, Broadcast };
  static constexpr int kinds[] = {Contiguous, Contiguous, Contiguous, Padded, Padded,
                                  Padded,     Transposed, Transposed, Inner,  Broadcast};
  int kind = limits.alignedRows ? int(Padded) : pick(engine, kinds);
  if (isNeat && (kind == Inner || kind == Broadcast))
    kind = Contiguous;
  std::vector<size_t> order(rank); // innermost first
  std::iota(order.rbegin(), order.rend(), 0);
  if (kind == Transposed) {
    // The last axis too, where no clause names it.
    const size_t first = isOpen(clauses, rank - 1) && !isNeat && once(engine, 2) ? 0 : 1;
    for (size_t k = rank; k > first + 1; --k)
      std::swap(order[k - 1], order[first + below(engine, k - first)]);
    layout.kind = "transposed";
  }
  int64_t next = 1;
  for (size_t axis : order) {
    const bool open = isOpen(clauses, axis);
    if (open && axis == rank - 1 && kind == Inner) {
      next *= 2 + int64_t(below(engine, 2));
      layout.kind = "inner stride";
    }
    if (open && axis != order.front() && kind == Padded) {
      static constexpr int64_t paddings[] = {1, 2, 3, 4, 8, 8, 16, 64};
      next += limits.alignedRows || isNeat ? (16 - next % 16) % 16 + (isNeat ? 16 : 0)
                                           : pick(engine, paddings);
      layout.kind = "padded";
    }
    layout.strides[axis] = next;
    for (const Tensor *tensor : clauses)
      if (axis < tensor->strides.size() && tensor->strides[axis])
        layout.strides[axis] = *tensor->strides[axis];
    if (open && kind == Broadcast && !clauses.back()->isOutput && once(engine, 2)) {
      layout.strides[axis] = 0;
      layout.kind = "broadcast";
    }
    next = std::max(next, layout.strides[axis] * std::max<int64_t>(extents[axis], 1));
  }
  // What an axis of one element has for a stride means nothing.
  for (size_t axis = 0; axis < rank; ++axis)
    if (extents[axis] == 1 && once(engine, 8)) {
      static constexpr int64_t strange[] = {0, 1, 7, -3, 1000003};
      layout.strides[axis] = pick(engine, strange);
    }
  return layout;
}

/// Sometimes axis 0 as two axes of the host, or as one beside an axis of one element.
void Drawer::splitLeadingAxis(tensor::StridedView &view) {
  if (view.extents.empty() || limits.alignedRows || !once(engine, 4))
    return;
  const int64_t extent = view.extents[0];
  int64_t outer = 1;
  for (int64_t candidate : {2, 3, 7})
    if (extent > 0 && extent % candidate == 0 && once(engine, 2))
      outer = candidate;
  const int64_t inner = extent / outer;
  view.extents[0] = inner;
  view.extents.insert(view.extents.begin(), outer);
  view.strides.insert(view.strides.begin(), outer == 1 ? 12345 : view.strides[0] * inner);
}

/// An input that is an earlier one: same memory, same view.
bool Drawer::shareTensor(unsigned index, const std::vector<int64_t> &extents) {
  const Tensor &tensor = program.tensors[index];
  if (tensor.isOutput || limits.alignedRows || !once(engine, 12))
    return false;
  for (unsigned other = 0; other < index; ++other) {
    const Tensor &earlier = program.tensors[other];
    std::vector<int64_t> same;
    for (const Extent &extent : earlier.extents)
      same.push_back(evaluate(*extent.size, call.dims).value());
    if (earlier.isOutput || earlier.type != tensor.type || same != extents ||
        earlier.strides != tensor.strides || earlier.align != tensor.align)
      continue;
    call.tensors.push_back(call.tensors[other]);
    call.text += fmt::format("; {}: is {}", tensor.name, earlier.name);
    return true;
  }
  return false;
}

bool Drawer::drawTensor(unsigned index) {
  const Tensor &tensor = program.tensors[index];
  std::vector<int64_t> extents;
  for (const Extent &extent : tensor.extents)
    extents.push_back(evaluate(*extent.size, call.dims).value());
  // An output in place of its input has that input's view, which was drawn for both.
  const int alias = instance.contract.tensors[index].mayAlias;
  if (alias >= 0 && call.buffers[call.tensors[size_t(alias)].buffer].isWritten) {
    call.tensors.push_back(call.tensors[size_t(alias)]);
    call.text += fmt::format("; {}: in place of {}", tensor.name, program.tensors[alias].name);
    return true;
  }
  if (shareTensor(index, extents))
    return true;
  std::vector<const Tensor *> clauses = {&tensor};
  int64_t align = tensor.align;
  for (unsigned output = 0; output < program.tensors.size(); ++output)
    if (instance.contract.tensors[output].mayAlias == int(index) && !limits.alignedRows &&
        once(engine, 3)) {
      clauses.push_back(&program.tensors[output]);
      align = std::lcm(align, program.tensors[output].align);
    }
  DrawnTensor drawn;
  drawn.buffer = call.buffers.size();
  const Layout layout = drawLayout(extents, clauses);
  drawn.view.extents = extents;
  drawn.view.strides = layout.strides;
  drawn.view.offset = GuardElements;
  if (!limits.alignedRows && !isNeat && once(engine, 2))
    drawn.view.offset += int64_t(1 + below(engine, 7)) * align;
  int64_t last = 0;
  for (size_t axis = 0; axis < extents.size(); ++axis)
    if (extents[axis] > 1)
      last += (extents[axis] - 1) * layout.strides[axis];
  splitLeadingAxis(drawn.view);
  DrawnBuffer buffer;
  buffer.name = tensor.name;
  buffer.isRead = !tensor.isOutput;
  buffer.isWritten = tensor.isOutput || clauses.size() > 1;
  buffer.bytes.resize(size_t(drawn.view.offset + last + 1 + GuardElements) *
                      byteWidth(tensor.type));
  for (size_t k = 0; k < buffer.bytes.size(); ++k)
    buffer.bytes[k] = Poison[k % 2];
  call.buffers.push_back(std::move(buffer));
  call.tensors.push_back(drawn);
  call.text += fmt::format("; {}: {} [{}] strides ({}) offset {}", tensor.name, layout.kind,
                           fmt::join(drawn.view.extents, ", "), fmt::join(drawn.view.strides, ", "),
                           drawn.view.offset - GuardElements);
  if (!tensor.isOutput)
    fill(tensor, drawn);
  return true;
}

void Drawer::fill(const Tensor &tensor, const DrawnTensor &drawn) {
  std::function<Bits()> source;
  if (isFloat(tensor.type)) {
    const Distribution distribution = drawDistribution(engine);
    source = [values = FloatSource(tensor.type, distribution, engine)]() mutable {
      return values.next();
    };
    call.text += fmt::format(" {}", name(distribution));
  } else {
    // Indices: most inside, the rest at the ends of the extent and far outside.
    std::vector<int64_t> selected;
    for (const Size *size : selectedExtents(program))
      selected.push_back(evaluate(*size, call.dims).value());
    if (selected.empty())
      selected.push_back(4);
    source = [this, selected, type = tensor.type] {
      const int64_t extent = pick(engine, selected);
      const int64_t ends[] = {0,
                              extent - 1,
                              extent,
                              extent + 1,
                              -1,
                              -extent,
                              INT32_MAX,
                              INT32_MIN,
                              type == ScalarType::I64 ? INT64_MIN : INT32_MIN,
                              type == ScalarType::I64 ? INT64_MAX : INT32_MAX,
                              type == ScalarType::I64 ? int64_t(1) << 32 : extent};
      const int64_t value = extent > 0 && !once(engine, 4)
                                ? int64_t(below(engine, uint64_t(extent)))
                                : pick(engine, ends);
      return Bits(value) & (type == ScalarType::I64 ? ~Bits(0) : 0xFFFFFFFF);
    };
  }
  const unsigned width = byteWidth(tensor.type);
  std::byte *base = call.buffers[drawn.buffer].bytes.data();
  std::vector<int64_t> place(drawn.view.extents.size(), 0);
  if (std::ranges::find(drawn.view.extents, 0) != drawn.view.extents.end())
    return;
  for (bool more = true; more;) {
    int64_t element = drawn.view.offset;
    for (size_t axis = 0; axis < place.size(); ++axis)
      element += place[axis] * drawn.view.strides[axis];
    const Bits bits = source();
    std::memcpy(base + size_t(element) * width, &bits, width);
    more = false;
    for (size_t axis = place.size(); axis-- > 0 && !more;) {
      more = ++place[axis] < drawn.view.extents[axis];
      if (!more)
        place[axis] = 0;
    }
  }
}

bool Drawer::isAdmitted() const {
  std::vector<uint64_t> addresses;
  for (size_t k = 0; k < call.buffers.size(); ++k)
    addresses.push_back((k + 1) << 40);
  return std::holds_alternative<plan::Binding>(
      plan::bind(instance.contract, forPlan(instance, call, addresses), call.parameters));
}

std::optional<DrawnCall> Drawer::draw() {
  int64_t budget = limits.elements;
  for (unsigned attempt = 1; attempt <= 4000; ++attempt) {
    call = {};
    isNeat = once(engine, 2);
    drawParameters();
    if (attempt % 200 == 0)
      budget *= 2; // the fixed dims need more
    if (!drawDims(budget))
      continue;
    for (unsigned dim = 0; dim < call.dims.size(); ++dim)
      call.text +=
          fmt::format("{}{} = {}", dim ? ", " : "", program.dims[dim].name, call.dims[dim]);
    for (size_t k = 0; k < call.parameters.size(); ++k)
      if (call.parameters[k].given)
        call.text +=
            fmt::format(", {} = 0x{:X}", program.parameters[k].name, call.parameters[k].bits);
    for (unsigned index = 0; index < program.tensors.size(); ++index)
      drawTensor(index);
    if (isAdmitted())
      return std::move(call);
  }
  return {};
}

} // namespace

std::vector<plan::Tensor> forPlan(const Instance &instance, const DrawnCall &call,
                                  std::span<const uint64_t> addresses) {
  std::vector<plan::Tensor> tensors;
  for (size_t k = 0; k < call.tensors.size(); ++k) {
    const DrawnTensor &drawn = call.tensors[k];
    const plan::DType type = instance.contract.tensors[k].dtype;
    tensors.push_back(plan::Tensor::strided(addresses[drawn.buffer] +
                                                uint64_t(drawn.view.offset) * plan::bytes(type),
                                            type, drawn.view.extents, drawn.view.strides));
  }
  return tensors;
}

std::optional<DrawnCall> drawCall(const Instance &instance, Engine &engine,
                                  const DrawLimits &limits) {
  return Drawer(instance, engine, limits).draw();
}

namespace {

bool uses(const Expr &expr, unsigned dim, std::set<const Expr *> &seen) {
  if (!seen.insert(&expr).second)
    return false;
  bool result = expr.kind == Expr::Kind::SizeValue && contains(*expr.size, dim);
  forEachChild(expr, [&](const Expr *child) { result |= uses(*child, dim, seen); });
  return result;
}

/// Whether the number \p dim is a value in the computation, and not only an extent.
bool uses(const std::vector<Statement> &body, unsigned dim, std::set<const Expr *> &seen) {
  bool result = false;
  for (const Statement &statement : body) {
    if (statement.kind == Statement::Kind::Let)
      result |= uses(*statement.let.value, dim, seen);
    else if (statement.kind == Statement::Kind::Equation)
      result |= uses(*statement.equation.value, dim, seen);
    result |= uses(statement.body, dim, seen);
  }
  return result;
}

} // namespace

std::optional<unsigned> batchDimOf(const Program &program) {
  for (unsigned dim = 0; dim < program.dims.size(); ++dim) {
    bool serves = !program.dims[dim].fixed && !program.dims[dim].definition;
    for (const Tensor &tensor : program.tensors) {
      const bool leads = !tensor.extents.empty() && isDim(*tensor.extents[0].size, dim);
      serves &= leads || !tensor.isOutput;
      for (size_t axis = leads; axis < tensor.extents.size(); ++axis)
        serves &= !contains(*tensor.extents[axis].size, dim);
    }
    std::set<const Expr *> seen;
    serves &= !uses(program.body, dim, seen);
    for (const Requirement &requirement : program.requirements)
      serves &= !uses(*requirement.condition, dim, seen);
    for (const Dim &other : program.dims)
      serves &= !other.definition || !contains(*other.definition, dim);
    if (serves)
      return dim;
  }
  return {};
}

} // namespace h3::test
