//===-- dsl/interpreter/OrderText.h - An order's tree as text --*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Shows the evaluation tree of an order by running Reduction.h on names of elements, so that it
// shows what the interpreter does.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_INTERPRETER_ORDERTEXT_H
#define H3_DSL_INTERPRETER_ORDERTEXT_H

#include "dsl/program/Program.h"

#include <cstdint>
#include <string>

namespace h3 {

/// "(_, lane: 32) then halving lane": as it is written in a spec.
std::string orderText(const Order &order);

/// The tree of \p order over \p n >= 0 elements, in lines that end with a newline: the slots with
/// the elements that each walks, the joins of each stage, and for n up to 64 the whole as one
/// expression. What repeats is said once. If the order cannot hold n elements, one line that says
/// so.
///
///   (lane: 4, _: 2) then halving lane
///   6 elements, digits lane = 4, _ = 2, 4 slots
///
///   slots, each with the elements that it walks, in order
///     lane 0: 0 .. 1
///     lane 1 .. lane 2: likewise, 2 further for each slot
///     lane 3: none (idle)
///
///   stage 1, halving lane
///     s[p] = J(s[p], s[p + 2]), p = 0 .. 1
///     s[0] = J(s[0], s[1])
///
///   value, [..] a chain inside a slot, + the join; idle slots absent, as with 'of'
///     (([0 1] + [4 5]) + [2 3])
///   with 'from' each idle slot holds the seed and takes part
std::string treeText(const Order &order, int64_t n);

} // namespace h3

#endif // H3_DSL_INTERPRETER_ORDERTEXT_H
