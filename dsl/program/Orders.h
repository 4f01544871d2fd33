//===-- dsl/program/Orders.h - Reduction orders -----------------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// From the syntax of an order to its digits and stages (language.md, static rule 11).
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_PROGRAM_ORDERS_H
#define H3_DSL_PROGRAM_ORDERS_H

#include "dsl/program/Program.h"
#include "dsl/syntax/Ast.h"

namespace h3 {

/// The order that \p order says, called \p name in messages; empty, with a diagnostic for each rule
/// that it breaks.
std::optional<Order> makeOrder(const ast::Order &order, std::string name, Diagnostics &diagnostics);

/// The number of elements that an order can take: the product of its radices; empty if one digit
/// has no radix or the product leaves 64 bits (then there is no bound that matters).
std::optional<int64_t> capacity(const Order &order);

} // namespace h3

#endif // H3_DSL_PROGRAM_ORDERS_H
