//===-- dsl/syntax/Parser.h - From text to syntax tree ---------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_SYNTAX_PARSER_H
#define H3_DSL_SYNTAX_PARSER_H

#include "dsl/syntax/Ast.h"

#include <memory>

namespace h3 {

/// Parses one spec. Never fails silently: on any error the result is null and \p diagnostics says
/// what and where. Refuses texts over 4 MiB, bytes that are not UTF-8, characters outside ASCII
/// outside comments, and expressions nested deeper than 200.
std::unique_ptr<ast::File> parse(const SourceFile &source, Diagnostics &diagnostics);

/// Parses the right side of an `order` item alone, such as "(_, lane: 32) then halving lane".
std::optional<ast::Order> parseOrder(const SourceFile &source, Diagnostics &diagnostics);

} // namespace h3

#endif // H3_DSL_SYNTAX_PARSER_H
