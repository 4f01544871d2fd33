//===-- dsl/format/Writer.cpp - Lines of formatted text -------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/format/Writer.h"

#include <algorithm>

namespace h3::formatter {

void Writer::putComments(TokenId token) {
  for (const Comment &comment : tokens.commentsBefore(token)) {
    if (!pending)
      pending = Start{continuation, continuation};
    unsigned column = tokens.column(comment);
    // Between statements, a comment line right under a comment behind code, and in its column, goes
    // on with it. Elsewhere the columns of the two may be the same by chance.
    bool goesOn = pending->keepsBlanks && column > pending->commentIndent && !lines.empty() &&
                  !lines.back().comment.empty() && comment.line == previousLine + 1 &&
                  column == lines.back().commentColumn;
    if (!comment.alone) {
      lines.back().comment = tokens.text(comment);
      lines.back().commentColumn = column;
    } else if (goesOn) {
      lines.push_back({"", std::string(tokens.text(comment)), column});
    } else {
      keepBlank(comment.line, pending->keepsBlanks && !pending->isFirst);
      lines.push_back(
          {std::string(pending->commentIndent, ' ') + std::string(tokens.text(comment)), ""});
      pending->isFirst = false;
    }
    previousLine = comment.line;
  }
}

/// A blank line if one stood above \p line.
void Writer::keepBlank(unsigned line, bool isAllowed) {
  if (isAllowed && line > previousLine + 1 && !lines.empty())
    lines.push_back({});
}

void Writer::put(TokenId token) {
  putComments(token);
  if (token == tokens.end())
    return;
  if (pending) {
    keepBlank(tokens[token].line, pending->keepsBlanks && !pending->isFirst && !pending->isClosing);
    lines.push_back({std::string(pending->indent, ' '), ""});
    pending.reset();
  } else if (padding > column()) {
    lines.back().code.resize(padding, ' ');
  } else if (!tokens.isGlued(token)) {
    lines.back().code += ' ';
  }
  padding = 0;
  lines.back().code += tokens.text(token);
  previousLine = tokens[token].line;
}

void Writer::put(TokenId first, TokenId last) {
  for (TokenId token = first; token <= last; ++token)
    put(token);
}

unsigned Writer::columnOf(TokenId token) const {
  if (pending)
    return pending->indent;
  if (!tokens.commentsBefore(token).empty())
    return continuation;
  if (padding > column())
    return padding;
  return column() + (tokens.isGlued(token) ? 0 : 1);
}

unsigned Writer::lineIndent() const {
  if (pending)
    return pending->indent;
  return static_cast<unsigned>(lines.back().code.find_first_not_of(' '));
}

Writer::Mark Writer::mark() const {
  Mark made{lines.size(), {}, {}, 0, pending, padding, previousLine};
  if (!lines.empty()) {
    made.code = lines.back().code;
    made.comment = lines.back().comment;
    made.commentColumn = lines.back().commentColumn;
  }
  return made;
}

void Writer::rewind(const Mark &mark) {
  lines.resize(mark.lines);
  if (!lines.empty())
    lines.back() = {mark.code, mark.comment, mark.commentColumn};
  pending = mark.pending;
  padding = mark.padding;
  previousLine = mark.previousLine;
}

unsigned Writer::excess(const Mark &mark, unsigned width) const {
  size_t sum = 0;
  for (size_t line = mark.lines == 0 ? 0 : mark.lines - 1; line < lines.size(); ++line)
    sum += lines[line].code.size() > width ? lines[line].code.size() - width : 0;
  return static_cast<unsigned>(sum);
}

std::string Writer::text() {
  std::string out;
  for (size_t first = 0; first < lines.size();) {
    size_t last = first;
    unsigned widest = 0;
    for (; last < lines.size() && !lines[last].comment.empty(); ++last)
      widest = std::max(widest, static_cast<unsigned>(lines[last].code.size()));
    last = std::max(last, first + 1);
    for (; first < last; ++first) {
      const Line &line = lines[first];
      out += line.code;
      if (!line.comment.empty()) {
        out.append(widest + 2 - line.code.size(), ' ');
        out += line.comment;
      }
      out += '\n';
    }
  }
  return out;
}

} // namespace h3::formatter
