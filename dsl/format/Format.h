//===-- dsl/format/Format.h - The one layout of specs --------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What `h3gen fmt` and the language server do to a text. Only whitespace changes: the tokens and
// the comments are the same before and after, in the same order, and a comment stays behind the
// token, or on a line of its own before the token, where it stood. Formatting twice is formatting
// once.
//
// The layout: 100 columns; a declaration or statement a line; blank lines are kept, at most one at
// a time. In consecutive lines without a blank line or a comment line between them, the names,
// types and clauses of tensors, the `=` of lets, of equations and of orders, and comments behind
// code stand in columns. What fits a line is on one, but a line break that the author put before
// the `else` of an `if`, before the `from` or `of` of a reduction, between named arguments, after
// the `=` of a function or the `{` of a record is kept.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_FORMAT_FORMAT_H
#define H3_DSL_FORMAT_FORMAT_H

#include "dsl/syntax/Diagnostic.h"

#include <optional>
#include <string>

namespace h3 {

/// The formatted text; empty, with errors in \p diagnostics, if the text does not parse or would
/// become larger than `maxSpecBytes`.
std::optional<std::string> format(const SourceFile &source, Diagnostics &diagnostics);

} // namespace h3

#endif // H3_DSL_FORMAT_FORMAT_H
