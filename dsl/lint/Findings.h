//===-- dsl/lint/Findings.h - What lint rules find ------------ -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Internal to dsl/lint.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_LINT_FINDINGS_H
#define H3_DSL_LINT_FINDINGS_H

#include "dsl/lint/Lint.h"

#include <map>

namespace h3 {

/// Findings of one file, each place and rule once.
class Findings {
public:
  struct Finding {
    SourceRange range;
    std::string message, hint;
  };

  explicit Findings(const SourceFile *file) : file(file) {}

  /// Ignored unless it is about this file.
  void add(const char *rule, SourceRange range, std::string message, std::string hint) {
    if (range.file == file)
      all.try_emplace({range.begin, rule}, Finding{range, std::move(message), std::move(hint)});
  }

  std::map<std::pair<uint32_t, std::string>, Finding> all;

private:
  const SourceFile *file;
};

/// Rules about names that nothing uses: syntax alone.
void findUnusedNames(const Module &module, Findings &findings);

/// Rules about values, of one instance of an operator.
void findInProgram(const Program &program, std::span<const Order> known, Findings &findings);

} // namespace h3

#endif // H3_DSL_LINT_FINDINGS_H
