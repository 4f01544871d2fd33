//===-- dsl/program/Dims.cpp - Dims and how a call determines them --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Analyzer.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3 {

/// A dim is made of dims before it.
bool Analyzer::usesLaterDim(const ast::Expr &size, const ast::Dim &dim, const ast::Operator &op) {
  if (size.kind == ast::Expr::Kind::Name && !lookup(size.text))
    for (const ast::Dim &other : op.dims)
      if (other.name.text == size.text) {
        error(size.range,
              fmt::format("dim `{}` is made of `{}`, which is defined later", dim.name.text,
                          size.text),
              "a dim is made of dims before it");
        return true;
      }
  for (const ast::Expr *operand : size.operands)
    if (usesLaterDim(*operand, dim, op))
      return true;
  return false;
}

void Analyzer::declareDims(const ast::Operator &op) {
  for (const ast::Dim &dim : op.dims) {
    if (dim.size && usesLaterDim(*dim.size, dim, op)) {
      declare(dim.name, {});
      continue;
    }
    auto id = static_cast<uint32_t>(program.dims.size());
    Entity entity;
    entity.kind = Entity::Kind::Size;
    program.dims.push_back({dim.name.text, std::nullopt, nullptr, std::nullopt, dim.name.range});
    if (!dim.size) {
      const Size *self = sizes.intern(Polynomial::atom({Atom::Kind::Dim, id}));
      entity.extent = {self, {self}};
    } else if (std::optional<Extent> extent = writtenExtent(*dim.size)) {
      if (extent->size->isConstant())
        program.dims[id].fixed = extent->size->value;
      else
        program.dims[id].definition = extent->size;
      entity.extent = std::move(*extent);
    } else {
      entity.kind = Entity::Kind::Poison;
    }
    declare(dim.name, std::move(entity));
  }
}

/// Rule 4. A dim that stands alone in an input is bound by it, others by products of inputs, then
/// by outputs; what an output gives may make a product of an input solvable.
void Analyzer::bindDims() {
  std::vector<bool> bound(program.dims.size());
  auto bind = [&](unsigned dim, Dim::Binding binding) {
    program.dims[dim].binding = binding;
    program.bindingOrder.push_back(dim);
    bound[dim] = true;
  };
  auto bindAlone = [&](unsigned dim, bool outputs) {
    for (unsigned t = 0; t < program.tensors.size(); ++t)
      for (unsigned axis = 0; axis < program.tensors[t].extents.size(); ++axis) {
        const Size *size = program.tensors[t].extents[axis].size;
        if (program.tensors[t].isOutput == outputs && size->kind == Size::Kind::Dim &&
            size->dim == dim) {
          bind(dim, {t, axis, sizes.constant(1)});
          return true;
        }
      }
    return false;
  };

  std::vector<unsigned> open;
  for (unsigned dim = 0; dim < program.dims.size(); ++dim) {
    if (program.dims[dim].fixed || program.dims[dim].definition)
      bound[dim] = true;
    else if (!bindAlone(dim, false))
      open.push_back(dim);
  }
  for (bool progress = true; progress && !open.empty();) {
    progress = false;
    for (unsigned dim : open)
      if (!bound[dim])
        if (std::optional<Dim::Binding> binding = bindingByProduct(dim, bound)) {
          bind(dim, *binding);
          progress = true;
        }
    for (size_t i = 0; i < open.size() && !progress; ++i)
      progress = !bound[open[i]] && bindAlone(open[i], true);
    std::erase_if(open, [&](unsigned dim) { return bound[dim]; });
  }
  for (unsigned dim : open)
    error(
        program.dims[dim].range,
        fmt::format("no tensor determines dim `{}`", program.dims[dim].name),
        "a dim is an extent of an input, the one unknown factor of one, or an extent of an output");
}

/// The first input extent that is a product with \p dim as its one unknown factor.
std::optional<Dim::Binding> Analyzer::bindingByProduct(unsigned dim,
                                                       const std::vector<bool> &bound) {
  const Atom self{Atom::Kind::Dim, dim};
  for (unsigned t = 0; t < program.tensors.size(); ++t) {
    if (program.tensors[t].isOutput)
      continue;
    for (unsigned axis = 0; axis < program.tensors[t].extents.size(); ++axis) {
      const Polynomial &size = sizes.polynomial(program.tensors[t].extents[axis].size);
      if (size.terms.size() != 1)
        continue;
      Monomial monomial = size.terms.begin()->first;
      int64_t coefficient = size.terms.begin()->second;
      if (coefficient <= 0 || std::count(monomial.begin(), monomial.end(), self) != 1)
        continue;
      monomial.erase(std::find(monomial.begin(), monomial.end(), self));
      Polynomial divisor;
      divisor.terms[monomial] = coefficient;
      if (isKnown(divisor, bound))
        return Dim::Binding{t, axis, sizes.intern(divisor)};
    }
  }
  return std::nullopt;
}

bool Analyzer::isKnown(const Polynomial &size, const std::vector<bool> &bound) const {
  for (const auto &[monomial, coefficient] : size.terms)
    for (Atom atom : monomial) {
      if (atom.kind == Atom::Kind::Dim && !bound[atom.id])
        return false;
      if (atom.kind == Atom::Kind::Node &&
          !isKnown(sizes.polynomial(sizes.node(atom.id)->lhs), bound))
        return false;
    }
  return true;
}

} // namespace h3
