//===-- dsl/explain/Report.h - Explanations written down ------ -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The forms of `h3gen explain`. Each takes the instances of one operator, one or more, in the order
// of their types.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_EXPLAIN_REPORT_H
#define H3_DSL_EXPLAIN_REPORT_H

#include "dsl/explain/Explanation.h"

#include <span>

namespace h3 {

/// Plain text. The first instance in full; of the others only the lines that differ.
std::string explainText(std::span<const Explanation> instances);

/// The member that one operator is in the array `operators`; README.md has the schema. Valid UTF-8.
std::string explainJson(std::span<const Explanation> instances);

/// One SVG image, a well-formed XML document without references to anything outside: the steps of
/// the first instance as boxes, coloured by the type that they round to, and the reduction trees.
std::string explainSvg(std::span<const Explanation> instances);

/// The part of a page about one operator: the picture, then the text. `htmlPage` makes the page.
std::string explainHtml(std::span<const Explanation> instances);
std::string htmlPage(const std::string &title, const std::string &body);

/// \p text with `& < > " '` escaped for XML and HTML, and characters that XML does not allow shown
/// as U+FFFD.
std::string escapeXml(std::string_view text);

/// "stride any, any, 1", "may be the same tensor as x": what the contract says of one tensor.
std::string tensorContract(const Tensor &tensor, const Program &program);
/// "extent 0 of q", "extent 1 of x / 2": where the value of a dim comes from.
std::string dimSource(const Dim &dim, const Program &program);
/// "norm.spec:84".
std::string place(const SourceRange &range);

} // namespace h3

#endif // H3_DSL_EXPLAIN_REPORT_H
