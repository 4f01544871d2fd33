//===-- dsl/explain/Dependencies.h - What a value changes with - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef H3_DSL_EXPLAIN_DEPENDENCIES_H
#define H3_DSL_EXPLAIN_DEPENDENCIES_H

#include "dsl/program/Program.h"

#include <set>
#include <unordered_map>

namespace h3 {

/// Something that is bound around a value: an index variable, or the state or an operand of a
/// reduction (a local).
struct Bound {
  bool isLocal;
  unsigned id;
  auto operator<=>(const Bound &) const = default;
};

/// For each local the expression that a `let` of \p program gives it; null for the states and
/// operands of reductions.
std::vector<const Expr *> definitions(const Program &program);

/// What the value of an expression changes with. Locals are followed to their definitions.
class Dependencies {
public:
  explicit Dependencies(const Program &program) : defined(definitions(program)) {}

  const std::set<Bound> &of(const Expr &expr);
  /// The definition of a local, or null.
  const Expr *definition(unsigned local) const { return defined[local]; }

private:
  std::set<Bound> compute(const Expr &expr);

  std::vector<const Expr *> defined;
  std::unordered_map<const Expr *, std::set<Bound>> known;
};

/// The index variables and locals that \p expr itself binds, not those of nodes below it.
std::set<Bound> boundBy(const Expr &expr);

} // namespace h3

#endif // H3_DSL_EXPLAIN_DEPENDENCIES_H
