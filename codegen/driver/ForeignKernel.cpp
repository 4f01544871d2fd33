//===-- codegen/driver/ForeignKernel.cpp - PTX from elsewhere -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/ForeignKernel.h"

#include "codegen/contract/Contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace h3 {
namespace {

std::optional<int64_t> numberOf(std::string_view text) {
  int64_t value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

class KernelBinder {
public:
  KernelBinder(const Program &program, plan::OperatorPlan &plan)
      : program(program), plan(plan), builder(plan.nodes) {}

  std::string error;

  bool bindArgument(const std::string &name, unsigned bytes, plan::ArgumentSpec &spec) {
    auto is = [&](const auto &named) { return named.name == name; };
    if (auto tensor = std::ranges::find_if(program.tensors, is); tensor != program.tensors.end()) {
      spec = {plan::ArgumentSpec::Kind::Address,
              static_cast<uint32_t>(tensor - program.tensors.begin())};
      return true;
    }
    if (auto own = std::ranges::find_if(program.parameters, is); own != program.parameters.end()) {
      spec = {plan::ArgumentSpec::Kind::Parameter,
              static_cast<uint32_t>(own - program.parameters.begin())};
      return true;
    }
    std::optional<plan::ExprId> value = expressionOf(name);
    if (!value)
      return false;
    spec = {bytes == 8 ? plan::ArgumentSpec::Kind::I64 : plan::ArgumentSpec::Kind::I32, *value};
    return true;
  }

  /// A dim, a stride, a number or `_`.
  std::optional<plan::ExprId> expressionOf(const std::string &name) {
    if (name == "_")
      return builder.constant(0);
    if (std::optional<int64_t> number = numberOf(name))
      return builder.constant(*number);
    for (unsigned dim = 0; dim < program.dims.size(); ++dim)
      if (program.dims[dim].name == name)
        return builder.dim(dim);
    size_t dot = name.find('.');
    for (unsigned tensor = 0; dot != std::string::npos && tensor < program.tensors.size();
         ++tensor) {
      std::optional<int64_t> axis = numberOf(std::string_view(name).substr(dot + 1));
      if (program.tensors[tensor].name == name.substr(0, dot) && axis && *axis >= 0 &&
          static_cast<size_t>(*axis) < program.tensors[tensor].extents.size())
        return builder.stride(tensor, static_cast<unsigned>(*axis));
    }
    error = fmt::format("'{}' is no tensor, dim, stride or parameter of '{}'", name, program.name);
    return std::nullopt;
  }

  /// `tokens * heads / 4`.
  std::optional<plan::ExprId> gridOf(const std::string &text) {
    std::string compact = text;
    std::erase(compact, ' ');
    size_t slash = compact.find('/');
    plan::ExprId product = builder.constant(1);
    std::string factors = compact.substr(0, slash);
    for (size_t begin = 0; begin <= factors.size();) {
      size_t end = std::min(factors.find('*', begin), factors.size());
      std::optional<plan::ExprId> factor = expressionOf(factors.substr(begin, end - begin));
      if (!factor)
        return std::nullopt;
      product = builder.mul(product, *factor);
      begin = end + 1;
    }
    if (slash == std::string::npos)
      return product;
    std::optional<int64_t> divisor = numberOf(std::string_view(compact).substr(slash + 1));
    if (!divisor || *divisor <= 0) {
      error = fmt::format("the grid '{}' is divided by no positive number", text);
      return std::nullopt;
    }
    return builder.ceilDiv(product, builder.constant(*divisor));
  }

  /// Rows without gaps at aligned addresses.
  void addGuards(plan::Variant &variant, unsigned align) {
    for (unsigned t = 0; t < plan.tensors.size(); ++t) {
      variant.guards.push_back(
          {builder.alignedTo(builder.address(t), align),
           fmt::format("{} is aligned to {} bytes", plan.tensors[t].name, align)});
      plan::ExprId next = builder.constant(1);
      for (size_t axis = plan.tensors[t].extents.size(); axis-- > 0;) {
        // A stride means nothing where there is one element.
        plan::ExprId single = builder.le(plan.tensors[t].extents[axis], builder.constant(1));
        plan::ExprId same = builder.eq(builder.stride(t, static_cast<unsigned>(axis)), next);
        variant.guards.push_back({builder.logicalOr(single, same),
                                  fmt::format("{} is contiguous", plan.tensors[t].name)});
        next = builder.mul(next, plan.tensors[t].extents[axis]);
      }
    }
  }

  plan::ExprId constant(int64_t value) { return builder.constant(value); }

private:
  const Program &program;
  plan::OperatorPlan &plan;
  plan::ExprBuilder builder;
};

} // namespace

std::optional<plan::OperatorPlan> planOf(const Program &program, const ptx::Module &module,
                                         const ForeignKernel &kernel, std::string &error) {
  std::optional<plan::OperatorPlan> plan = contractOf(program, error);
  if (!plan)
    return std::nullopt;
  const ptx::Kernel *found = module.findKernel(kernel.entry);
  if (!found) {
    error = fmt::format("the PTX has no kernel '{}'", kernel.entry);
    for (const ptx::Kernel &one : module.kernels)
      error +=
          fmt::format("{} '{}'", &one == &module.kernels.front() ? "; there is" : ",", one.name);
    return std::nullopt;
  }
  if (found->parameters.size() != kernel.binding.size()) {
    error = fmt::format("'{}' has {} parameters, --bind names {}", kernel.entry,
                        found->parameters.size(), kernel.binding.size());
    return std::nullopt;
  }
  KernelBinder binder(program, *plan);
  plan::Variant variant;
  variant.name = variant.entry = kernel.entry;
  for (size_t i = 0; i < kernel.binding.size(); ++i) {
    plan::ArgumentSpec spec;
    if (!binder.bindArgument(kernel.binding[i], static_cast<unsigned>(found->parameters[i].bytes()),
                             spec)) {
      error = binder.error;
      return std::nullopt;
    }
    variant.arguments.push_back(spec);
  }
  std::optional<plan::ExprId> grid = binder.gridOf(kernel.grid);
  if (!grid) {
    error = binder.error;
    return std::nullopt;
  }
  variant.grid[0] = *grid;
  variant.block[0] = binder.constant(kernel.block);
  binder.addGuards(variant, kernel.align);
  plan->variants.push_back(std::move(variant));
  error = plan::verify(*plan);
  if (!error.empty())
    return std::nullopt;
  return plan;
}

} // namespace h3
