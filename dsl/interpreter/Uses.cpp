//===-- dsl/interpreter/Uses.cpp - What a value depends on ----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/interpreter/Uses.h"

#include <algorithm>
#include <set>
#include <unordered_set>

namespace h3::interpreter {

namespace {

class Collector {
public:
  void visit(const Node &node) {
    if (!seen.insert(&node).second)
      return;
    isCostly |= node.kind == Node::Kind::Row || node.kind == Node::Kind::Reduce;
    if (node.kind == Node::Kind::Variable)
      used.variables.insert(node.index);
    if (node.kind == Node::Kind::Local || node.kind == Node::Kind::Element)
      used.locals.insert(node.local);
    for (const Loop &loop : node.loops)
      bound.variables.insert(loop.variable);
    for (const Binding *binding : node.bindings)
      visit(*binding);
    if (node.prepare)
      visit(*node.prepare);
    for (const Place &place : node.places)
      for (const Node *digit : place.digits)
        visit(*digit);
    for (const Node *operand : node.operands)
      visit(*operand);
    if (node.reduction)
      visit(*node.reduction);
  }

  Uses result() const {
    Uses uses;
    auto isFree = [](const std::set<unsigned> &bound) {
      return [&bound](unsigned id) { return bound.count(id) == 0; };
    };
    std::copy_if(used.variables.begin(), used.variables.end(), std::back_inserter(uses.variables),
                 isFree(bound.variables));
    std::copy_if(used.locals.begin(), used.locals.end(), std::back_inserter(uses.locals),
                 isFree(bound.locals));
    uses.isCostly = isCostly;
    return uses;
  }

private:
  void visit(const Binding &binding) {
    if (binding.isInteger)
      bound.variables.insert(binding.variable);
    else
      bound.locals.insert(binding.local);
    visit(*binding.value);
  }

  void visit(const Reduction &reduction) {
    for (const Loop &digit : reduction.digits)
      bound.variables.insert(digit.variable);
    bound.locals.insert(reduction.ownLocals.begin(), reduction.ownLocals.end());
    for (const Node *part : {reduction.seed, reduction.step, reduction.element, reduction.join})
      if (part)
        visit(*part);
  }

  struct Sets {
    std::set<unsigned> variables, locals;
  };
  Sets used, bound;
  bool isCostly = false;
  std::unordered_set<const Node *> seen;
};

} // namespace

Uses usesOf(const Node &node) {
  Collector collector;
  collector.visit(node);
  return collector.result();
}

} // namespace h3::interpreter
