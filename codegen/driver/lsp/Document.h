//===-- codegen/driver/lsp/Document.h - A spec in an editor --- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One open text with all that the front end knows of it. Places come and go as the protocol counts
// them: lines from 0, and in a line the code units of UTF-16.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_LSP_DOCUMENT_H
#define H3_CODEGEN_DRIVER_LSP_DOCUMENT_H

#include "codegen/driver/Specs.h"

#include <llvm/Support/LSP/Protocol.h>

namespace h3::lsp {

/// Byte offset of a position; one behind the end of its line is that end.
uint32_t offsetOf(const std::string &text, llvm::lsp::Position position);
llvm::lsp::Position positionOf(const std::string &text, uint32_t offset);
llvm::lsp::Range rangeOf(const SourceRange &range);

/// The text of a path, with symbolic links resolved where it exists.
std::string canonicalPath(const std::string &path);

struct Document {
  std::string path, text;
  int64_t version = 0;

  Diagnostics diagnostics; ///< of the last `analyse`
  LoadedSpec spec;         ///< not complete if a module has a syntax error
  /// Of each operator that is correct, for each choice of its types.
  std::vector<std::unique_ptr<Program>> programs;

  /// Runs the whole front end. \p unsaved: the texts of all open documents.
  void analyse(const std::vector<std::string> &searchPath,
               const std::map<std::string, std::string> &unsaved);

  /// The module of this text; null if it was not loaded.
  const Module *module() const { return spec.modules.complete() ? &spec.modules.root() : nullptr; }
};

} // namespace h3::lsp

#endif // H3_CODEGEN_DRIVER_LSP_DOCUMENT_H
