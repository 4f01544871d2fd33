//===-- dsl/format/Format.cpp - The one layout of specs -------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/format/Format.h"

#include "dsl/format/Layout.h"
#include "dsl/syntax/Parser.h"

namespace h3 {

std::optional<std::string> format(const SourceFile &source, Diagnostics &diagnostics) {
  if (!parse(source, diagnostics))
    return std::nullopt;
  formatter::Tokens tokens(*lex(source, diagnostics));
  std::vector<formatter::Statement> items = formatter::readTree(tokens);
  tokens.measure();
  formatter::Writer writer(tokens);
  formatter::StatementLayout(tokens, writer).putFile(items);
  std::string text = writer.text();
  if (text.size() > maxSpecBytes) {
    diagnostics.error({}, "formatted, " + tooLargeMessage(text.size()));
    return std::nullopt;
  }
  return text;
}

} // namespace h3
