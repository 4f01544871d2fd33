//===-- tests/unit/syntax/PrintAst.h - Syntax trees as text -----*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_UNIT_SYNTAX_PRINTAST_H
#define H3_TESTS_UNIT_SYNTAX_PRINTAST_H

#include "dsl/syntax/Ast.h"

namespace h3 {

/// The tree as text with every grouping shown: `(+ a (* b c))`, `(call f a)`, `(index x i (h p))`.
std::string print(const ast::Expr &expr);
std::string print(const ast::Rhs &rhs);
std::string print(const ast::TypeRef &type);
std::string print(const ast::Order &order);
std::string print(const ast::Function &function);
std::string print(const ast::Operator &op);
std::string print(const ast::Record &record);
/// Everything but documentation, one item a line or more.
std::string print(const ast::File &file);

} // namespace h3

#endif // H3_TESTS_UNIT_SYNTAX_PRINTAST_H
