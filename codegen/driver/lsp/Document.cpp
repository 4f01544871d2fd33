//===-- codegen/driver/lsp/Document.cpp - A spec in an editor -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/lsp/Document.h"

#include "dsl/syntax/Utf8.h"

#include <filesystem>

namespace h3::lsp {

/// UTF-16 code units of one character.
static int unitsOf(const Utf8Character &character) {
  return character.error == Utf8Error::None && character.code > 0xFFFF ? 2 : 1;
}

uint32_t offsetOf(const std::string &text, llvm::lsp::Position position) {
  size_t at = 0;
  for (int line = 0; line < position.line; ++line) {
    size_t newline = text.find('\n', at);
    if (newline == std::string::npos)
      return static_cast<uint32_t>(text.size());
    at = newline + 1;
  }
  for (int units = 0; units < position.character && at < text.size() && text[at] != '\n';) {
    Utf8Character character = decodeUtf8(std::string_view(text).substr(at));
    units += unitsOf(character);
    at += character.length;
  }
  return static_cast<uint32_t>(at);
}

llvm::lsp::Position positionOf(const std::string &text, uint32_t offset) {
  size_t end = std::min<size_t>(offset, text.size()), lineBegin = 0;
  llvm::lsp::Position position;
  for (size_t newline; (newline = text.find('\n', lineBegin)) < end; lineBegin = newline + 1)
    ++position.line;
  for (size_t at = lineBegin; at < end;) {
    Utf8Character character = decodeUtf8(std::string_view(text).substr(at));
    position.character += unitsOf(character);
    at += character.length;
  }
  return position;
}

llvm::lsp::Range rangeOf(const SourceRange &range) {
  const std::string &text = range.file->text;
  return {positionOf(text, range.begin), positionOf(text, std::max(range.begin, range.end))};
}

std::string canonicalPath(const std::string &path) {
  std::error_code error;
  std::filesystem::path canonical = std::filesystem::canonical(path, error);
  return error ? path : canonical.string();
}

void Document::analyse(const std::vector<std::string> &searchPath,
                       const std::map<std::string, std::string> &unsaved) {
  programs.clear();
  diagnostics = Diagnostics();
  spec = LoadedSpec();
  if (!loadSpec(path, searchPath, spec, diagnostics, &unsaved))
    return;
  for (const ast::Operator *op : spec.operators)
    for (const TypeArguments &types : typeChoices(*op)) {
      std::unique_ptr<Program> program = analyze(spec.modules, *op, types, diagnostics);
      if (!program)
        break; // the other types would repeat the same errors
      programs.push_back(std::move(program));
    }
}

} // namespace h3::lsp
