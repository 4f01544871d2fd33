//===-- tests/unit/program/AnalysedText.h - Programs from text in tests --*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_UNIT_PROGRAM_ANALYSEDTEXT_H
#define H3_TESTS_UNIT_PROGRAM_ANALYSEDTEXT_H

#include "dsl/program/Analysis.h"

namespace h3::test {

/// A spec text, loaded, checked, and its first operator analysed for one choice of types.
struct AnalysedText {
  explicit AnalysedText(std::string text, const TypeArguments &types = {});

  /// All errors as text; empty if the program is there.
  std::string errors() const { return diagnostics.renderText(); }
  /// The first error's message.
  std::string message() const {
    return diagnostics.all().empty() ? "" : diagnostics.all().front().message;
  }

  Diagnostics diagnostics;
  ModuleSet modules;
  std::unique_ptr<Program> program; ///< null after an error
};

/// An operator with dims rows and n, `in x: TYPE[rows, n]`, `out y: RESULT[rows, n]`, and this
/// body;
/// \p items stand before it.
std::string elementwise(const std::string &body, const std::string &type = "f32",
                        const std::string &result = "f32", const std::string &items = "");

/// The value of the program's first equation, as `dump` writes it.
std::string firstValue(const AnalysedText &text);

} // namespace h3::test

#endif // H3_TESTS_UNIT_PROGRAM_ANALYSEDTEXT_H
