//===-- backends/nvptx/prove/RowDims.cpp - Dims that only count rows ------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/Calls.h"

#include <algorithm>
#include <set>

namespace h3::prove {
namespace {

bool isDim(const Size &size, unsigned dim) {
  return size.kind == Size::Kind::Dim && size.dim == dim;
}

bool contains(const Size &size, unsigned dim) {
  return isDim(size, dim) || (size.lhs && contains(*size.lhs, dim)) ||
         (size.rhs && contains(*size.rhs, dim));
}

bool contains(const Type &type, unsigned dim) {
  return std::ranges::any_of(type.extents,
                             [&](const Extent &extent) { return contains(*extent.size, dim); });
}

/// Looks for a use of a dim, or of an index over it, that is none of a row count.
class RowUse {
public:
  RowUse(const Program &program, unsigned dim) : program(program), dim(dim) {}

  bool isOnlyRows() {
    for (const Requirement &requirement : program.requirements)
      visit(*requirement.condition);
    statements(program.body);
    return good;
  }

private:
  void statements(const std::vector<Statement> &body) {
    for (const Statement &statement : body) {
      if (statement.kind == Statement::Kind::Let)
        visit(*statement.let.value);
      else if (statement.kind == Statement::Kind::Equation)
        equation(statement.equation);
      statements(statement.body);
    }
  }

  /// An output's axis of rows has a place of its own, one index.
  void equation(const Equation &equation) {
    const Tensor &tensor = program.tensors[equation.tensor];
    for (size_t axis = 0; axis < tensor.extents.size(); ++axis) {
      if (!contains(*tensor.extents[axis].size, dim))
        continue;
      good &= axis < equation.places.size() && equation.places[axis].variables.size() == 1;
      if (good)
        rowVariables.insert(equation.places[axis].variables[0]);
    }
    visit(*equation.value);
  }

  bool isRowIndex(const Expr &expr) const {
    return expr.kind == Expr::Kind::Index && isDim(*program.indexVariables[expr.id].extent, dim);
  }

  void visit(const Expr &expr) {
    if (!seen.insert(&expr).second)
      return;
    switch (expr.kind) {
    case Expr::Kind::SizeValue:
      good &= !contains(*expr.size, dim);
      return;
    case Expr::Kind::Index:
      good &= !contains(*program.indexVariables[expr.id].extent, dim);
      return;
    case Expr::Kind::Access:
      access(expr);
      return;
    case Expr::Kind::Row:
      for (const Binder &binder : expr.binders)
        good &= !contains(*binder.extent.size, dim);
      break;
    case Expr::Kind::Reduce:
      good &= !contains(*expr.reduce->binder.extent.size, dim);
      break;
    default:
      break;
    }
    // A whole tensor with its rows is only ever indexed.
    good &= !contains(expr.type, dim);
    forEachChild(expr, [&](const Expr *child) { visit(*child); });
  }

  void access(const Expr &expr) {
    // The chain of accesses down to a tensor or another row.
    std::vector<const Expr *> chain = {&expr};
    while (chain.back()->operands[0]->kind == Expr::Kind::Access)
      chain.push_back(chain.back()->operands[0]);
    const Expr &row = *chain.back()->operands[0];
    good &= !contains(expr.type, dim);
    if (row.kind != Expr::Kind::Tensor)
      visit(row);
    size_t axis = 0;
    for (auto part = chain.rbegin(); part != chain.rend(); ++part)
      for (const Subscript &subscript : (*part)->subscripts) {
        bool isRowAxis =
            axis < row.type.extents.size() && contains(*row.type.extents[axis].size, dim);
        if (isRowAxis && row.kind == Expr::Kind::Tensor)
          good &=
              !subscript.isData && subscript.digits.size() == 1 && isRowIndex(*subscript.digits[0]);
        else
          for (const Expr *digit : subscript.digits)
            visit(*digit);
        ++axis;
      }
  }

  const Program &program;
  unsigned dim;
  bool good = true;
  std::set<const Expr *> seen;
  std::set<unsigned> rowVariables;
};

} // namespace

std::vector<int> axesOf(const Program &program, unsigned dim) {
  std::vector<int> axes;
  for (const Tensor &tensor : program.tensors) {
    int axis = -1;
    for (size_t i = 0; i < tensor.extents.size(); ++i)
      if (isDim(*tensor.extents[i].size, dim))
        axis = static_cast<int>(i);
    axes.push_back(axis);
  }
  return axes;
}

std::vector<unsigned> rowDimsOf(const Program &program) {
  std::vector<unsigned> result;
  for (unsigned dim = 0; dim < program.dims.size(); ++dim) {
    if (program.dims[dim].fixed || program.dims[dim].definition)
      continue;
    bool serves = std::ranges::none_of(program.dims, [&](const Dim &other) {
      return other.definition && contains(*other.definition, dim);
    });
    for (const Tensor &tensor : program.tensors) {
      auto with = std::ranges::count_if(
          tensor.extents, [&](const Extent &extent) { return contains(*extent.size, dim); });
      auto alone = std::ranges::count_if(
          tensor.extents, [&](const Extent &extent) { return isDim(*extent.size, dim); });
      serves &= with == alone && with <= 1 && (!tensor.isOutput || with == 1);
    }
    if (serves && RowUse(program, dim).isOnlyRows())
      result.push_back(dim);
  }
  return result;
}

std::vector<Picked> pickedAxesOf(const Program &program) {
  std::vector<Picked> result;
  for (const Expr &expr : program.expressions) {
    if (expr.kind != Expr::Kind::Access)
      continue;
    const Expr *row = expr.operands[0];
    size_t before = 0;
    while (row->kind == Expr::Kind::Access) {
      before += row->subscripts.size();
      row = row->operands[0];
    }
    if (row->kind != Expr::Kind::Tensor)
      continue;
    for (size_t k = 0; k < expr.subscripts.size(); ++k)
      if (expr.subscripts[k].isData)
        result.push_back({row->id, static_cast<unsigned>(before + k)});
  }
  return result;
}

} // namespace h3::prove
