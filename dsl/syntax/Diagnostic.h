//===-- dsl/syntax/Diagnostic.h - Source places and diagnostics -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Where something stands in a spec, and what is said about it. A diagnostic shows file, line,
// caret, what was expected and how to mend it.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_SYNTAX_DIAGNOSTIC_H
#define H3_DSL_SYNTAX_DIAGNOSTIC_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace h3 {

/// One spec text. Lives as long as anything that points into it.
struct SourceFile {
  std::string path; ///< as shown in messages: as given, or "<embedded>/eager/norm.spec"
  std::string text;
  bool onDisk = false; ///< `path` names a file
};

/// A half-open range of bytes of one file. `file` is null for places that no text has.
struct SourceRange {
  const SourceFile *file = nullptr;
  uint32_t begin = 0, end = 0;
};

/// Line and column of a byte offset, both from 1; the column counts UTF-8 characters.
struct LineColumn {
  unsigned line, column;
};
LineColumn lineColumn(const SourceFile &file, uint32_t offset);

/// A further place that explains an error: the call that led there, the earlier definition.
struct Note {
  SourceRange range;
  std::string message;
};

struct Diagnostic {
  SourceRange range;
  std::string message; ///< one line: what was found and what was expected
  std::string hint;    ///< one line: how to mend it; empty if there is nothing to say
  std::vector<Note> notes;
  std::string rule; ///< of a warning: the rule of `h3gen lint` that gives it; empty for an error
};

/// Collects the errors of one compilation, or the warnings of a lint run, in the order found.
class Diagnostics {
public:
  /// Records an error. Stops recording (but keeps counting) after 20, so that one mistake cannot
  /// bury the terminal. What is returned may be given notes and stays where it is until the next
  /// unrecorded error.
  Diagnostic &error(SourceRange range, std::string message, std::string hint = {});
  /// Records a warning, in the same way.
  Diagnostic &warning(std::string rule, SourceRange range, std::string message,
                      std::string hint = {});

  bool empty() const { return count == 0; }
  const std::vector<Diagnostic> &all() const { return list; }
  size_t size() const { return count; }

  /// `path:line:column: error: message`, the line with a caret, hint and notes, for each error; for
  /// a warning `path:line:column: warning: message [rule]`.
  /// A place that no text has shows `error: message` alone. A long line is cut to a window around
  /// the caret; control characters and bytes that are not UTF-8 are shown as U+FFFD.
  std::string renderText() const;
  /// One JSON array of objects {file, line, column, end_line, end_column, message, hint, notes}; a
  /// note has the same members but hint and notes. A warning has the member rule too. Places are
  /// null where no text has them. Always valid UTF-8, ends with a newline.
  std::string renderJson() const;

private:
  std::vector<Diagnostic> list;
  Diagnostic unrecorded;
  size_t count = 0;
};

} // namespace h3

#endif // H3_DSL_SYNTAX_DIAGNOSTIC_H
