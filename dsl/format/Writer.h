//===-- dsl/format/Writer.h - Lines of formatted text --------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Puts tokens on lines, in order and each once, and with each the comments that stand before it.
// Where a comment ends a line that the layout meant to go on, the writer breaks it.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_FORMAT_WRITER_H
#define H3_DSL_FORMAT_WRITER_H

#include "dsl/format/Tokens.h"

namespace h3::formatter {

class Writer {
public:
  explicit Writer(const Tokens &tokens) : tokens(tokens) {}

  /// How the next token begins a line of its own.
  struct Start {
    unsigned indent = 0;
    unsigned commentIndent = 0; ///< of comment lines before it
    bool keepsBlanks = false; ///< between what stands on lines of their own, at most one at a time
    bool isFirst = false;     ///< of a block: no blank line stands above
    bool isClosing = false;   ///< closes a block: no blank line stands right above the token
  };
  void startLine(Start start) { pending = start; }
  /// The next token begins a line inside a statement.
  void breakLine(unsigned indent) { pending = Start{indent, indent}; }
  /// The next token stands at this column, or behind what is there.
  void padTo(unsigned column) { padding = column; }
  /// Indent where a comment breaks a line and nothing else says how to go on.
  void setContinuation(unsigned indent) { continuation = indent; }

  void put(TokenId token);
  void put(TokenId first, TokenId last);

  /// Where \p token would stand if it were put now.
  unsigned columnOf(TokenId token) const;
  unsigned column() const { return static_cast<unsigned>(lines.back().code.size()); }
  /// Of the line at hand, or of the one that the next token begins.
  unsigned lineIndent() const;
  size_t lineCount() const { return lines.size() + (pending ? 1 : 0); }

  /// Everything back to an earlier state.
  struct Mark {
    size_t lines;
    std::string code, comment; ///< of the last line
    unsigned commentColumn;
    std::optional<Start> pending;
    unsigned padding, previousLine;
  };
  Mark mark() const;
  void rewind(const Mark &mark);
  /// Columns that stand out beyond \p width in all lines since the mark.
  unsigned excess(const Mark &mark, unsigned width) const;

  /// The text, with the comments behind code in columns.
  std::string text();

private:
  struct Line {
    std::string code, comment;
    unsigned commentColumn = 0; ///< in the source
  };

  void putComments(TokenId token);
  void keepBlank(unsigned line, bool isAllowed);

  const Tokens &tokens;
  std::vector<Line> lines;
  std::optional<Start> pending = Start{};
  unsigned padding = 0, continuation = 0;
  unsigned previousLine = 0; ///< in the source, of what was put last
};

} // namespace h3::formatter

#endif // H3_DSL_FORMAT_WRITER_H
