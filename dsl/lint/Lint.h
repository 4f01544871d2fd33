//===-- dsl/lint/Lint.h - Warnings about specs ---------------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// `h3gen lint`: what is legal in a spec and probably not what its author meant, most often because
// the reference that the spec follows would give other bits. README.md lists the rules.
//
// A comment `// lint: allow RULE reason` in the line of a warning, or alone in lines directly above
// it, accepts the warning; the reason is not optional, and an `allow` that accepts nothing is
// itself a warning.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_LINT_LINT_H
#define H3_DSL_LINT_LINT_H

#include "dsl/program/Analysis.h"

#include <span>

namespace h3 {

struct LintRule {
  std::string_view name; ///< "unknown-order"
  std::string_view what; ///< one line
};

/// All rules, in the order in which README.md lists them.
std::span<const LintRule> lintRules();

/// Warns about the root module of \p modules. \p programs are all instances of its operators;
/// functions are seen as far as they call them. \p known are the orders of references, such as
/// those of `eager/norm.spec`. Warnings are in the order of the text.
void lint(const ModuleSet &modules, std::span<const std::unique_ptr<Program>> programs,
          std::span<const Order> known, Diagnostics &warnings);

/// Whether two orders give the same evaluation tree: over n elements, or, without n, over each of a
/// fixed selection of extents. Idle slots are left out (lemma A of the language: that changes
/// nothing in a sum of squares), names of digits do not matter.
bool haveSameTree(const Order &a, const Order &b, std::optional<int64_t> n);

} // namespace h3

#endif // H3_DSL_LINT_LINT_H
