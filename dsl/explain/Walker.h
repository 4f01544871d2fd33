//===-- dsl/explain/Walker.h - The walk through one case ------ -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Internal to dsl/explain.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_EXPLAIN_WALKER_H
#define H3_DSL_EXPLAIN_WALKER_H

#include "dsl/explain/Costs.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_set>

namespace h3 {

/// Conditions on sizes and parameters, as text, and whether they hold.
using Decisions = std::map<std::string, bool>;

/// One case: walks the program along the chosen branches.
class Walker {
public:
  using Item = ExplainedItem;

  Walker(const Program &program, Explanation &result, const Decisions &decisions, bool mayDecide)
      : program(program), result(result), dependencies(program), decisions(decisions),
        mayDecide(mayDecide) {}

  ExplainedCase run();
  /// The first condition met that is not decided.
  std::optional<std::string> undecided;
  /// The calls whose results are used.
  std::set<int> calls;

private:
  /// A place where items are collected.
  struct Context {
    std::set<Bound> bound;
    bool isBranch = false;
    std::vector<Item> items;
    std::vector<unsigned> variables;        ///< of a loop: its own, first to last
    std::map<unsigned, unsigned> sameIndex; ///< indices of rows that are one of `variables`
  };

  /// Runs \p visit where a value with the dependencies of \p expr belongs: the deepest loop that it
  /// depends on, and the branches directly inside that.
  template <class Visit> void placed(const Expr &expr, const Visit &visit) {
    const std::set<Bound> &needs = dependencies.of(expr);
    size_t depth = stack.size();
    while (depth > 1) {
      // Out of the branches and the loop around them, if the loop does not matter.
      size_t loop = depth - 1;
      while (loop > 0 && stack[loop].isBranch)
        --loop;
      if (loop == 0)
        break;
      const std::set<Bound> &bound = stack[loop].bound;
      if (std::any_of(bound.begin(), bound.end(), [&](const Bound &b) { return needs.count(b); }))
        break;
      depth = loop;
    }
    std::vector<Context> inner(std::make_move_iterator(stack.begin() + depth),
                               std::make_move_iterator(stack.end()));
    stack.resize(depth);
    visit();
    std::move(inner.begin(), inner.end(), std::back_inserter(stack));
  }

  /// Collects what \p visit adds as the items of \p item, which is added if there are any.
  template <class Visit> void inside(Item item, Context context, const Visit &visit) {
    stack.push_back(std::move(context));
    visit();
    item.items = std::move(stack.back().items);
    stack.pop_back();
    if (!item.items.empty())
      stack.back().items.push_back(std::move(item));
  }

  std::optional<bool> decide(const Expr &condition);
  void need(const Expr &expr);
  void walk(const Expr &expr);
  void walkLets(const std::vector<Let> &lets);
  void walkRow(const Expr &row);
  void walkElement(const Expr &row, const std::vector<Subscript> &subscripts);
  void walkChoice(const Expr &expr);
  void walkBranch(Item &choice, std::string title, const Expr &value);
  void walkReduce(const Expr &expr);
  void addStep(const Expr &expr);
  unsigned treeOf(const Reduce &reduce);
  void loopOver(const std::vector<Binder> &binders, const Expr &body);
  void section(const Statement &statement);
  std::optional<Amount> iterations(const IndexRange::Split &split, const Amount &values) const;
  std::string binderText(const Binder &binder) const;

  const Program &program;
  Explanation &result;
  Dependencies dependencies;
  const Decisions &decisions;
  bool mayDecide;
  ExplainedCase made;
  std::vector<Context> stack;
  std::unordered_set<const Expr *> walked, needed;
  std::unordered_set<unsigned> neededLocals;
  std::vector<TensorRead> reads;
};

} // namespace h3

#endif // H3_DSL_EXPLAIN_WALKER_H
