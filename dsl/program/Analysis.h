//===-- dsl/program/Analysis.h - From syntax to typed program --*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_PROGRAM_ANALYSIS_H
#define H3_DSL_PROGRAM_ANALYSIS_H

#include "dsl/program/Program.h"
#include "dsl/syntax/Modules.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace h3 {

using TypeArguments = std::map<std::string, ScalarType>;

/// The operators of the spec that was asked for (not those of the modules it uses), in text order.
std::vector<const ast::Operator *> operators(const ModuleSet &modules);

/// The operator with this name; null, with an error that names the nearest, if there is none.
const ast::Operator *findOperator(const ModuleSet &modules, std::string_view name,
                                  Diagnostics &diagnostics);

/// Every choice of the operator's type parameters, in the order in which the types are listed; one
/// empty choice for an operator without.
std::vector<TypeArguments> typeChoices(const ast::Operator &op);

/// Checks everything that needs no instance: names defined twice, orders, records, recursion.
bool checkModules(const ModuleSet &modules, Diagnostics &diagnostics);

/// The typed program of one operator for one choice of types; null after an error. Call
/// `checkModules` first.
std::unique_ptr<Program> analyze(const ModuleSet &modules, const ast::Operator &op,
                                 const TypeArguments &types, Diagnostics &diagnostics);

/// An order by its path as seen from the spec ("norm.row_vec4", or a name of the spec itself).
std::optional<Order> findOrder(const ModuleSet &modules, std::string_view path,
                               Diagnostics &diagnostics);

/// Checks an order parsed alone.
std::optional<Order> analyzeOrder(const ast::Order &order, Diagnostics &diagnostics);

} // namespace h3

#endif // H3_DSL_PROGRAM_ANALYSIS_H
