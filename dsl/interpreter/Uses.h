//===-- dsl/interpreter/Uses.h - What a value depends on -------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Which variables and locals can change the value of a node, so that a row or a reduction that
// stands in a loop is not computed again where nothing that it depends on has changed.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_INTERPRETER_USES_H
#define H3_DSL_INTERPRETER_USES_H

#include "dsl/interpreter/Resolved.h"

namespace h3::interpreter {

struct Uses {
  std::vector<unsigned> variables, locals; ///< bound outside of the node; sorted
  bool isCostly = false;                   ///< there is a row or a reduction in it
};

Uses usesOf(const Node &node);

} // namespace h3::interpreter

#endif // H3_DSL_INTERPRETER_USES_H
