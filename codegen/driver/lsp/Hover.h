//===-- codegen/driver/lsp/Hover.h - What is known of an expression - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_LSP_HOVER_H
#define H3_CODEGEN_DRIVER_LSP_HOVER_H

#include "codegen/driver/lsp/Document.h"

namespace h3::lsp {

/// Markdown, and the part of the text that it is about.
struct HoverText {
  SourceRange range;
  std::string markdown;
};

/// What stands at \p offset of a complete document: how a name is defined, with its documentation;
/// the type of the expression; and what its operation rounds. With several choices of types each
/// different answer is given. Empty if there is nothing to say.
std::optional<HoverText> hover(const Document &document, uint32_t offset);

/// The rounding of one operation, for a reader: "rounds once in f32, to nearest even".
std::string roundingOf(const Expr &expr);

} // namespace h3::lsp

#endif // H3_CODEGEN_DRIVER_LSP_HOVER_H
