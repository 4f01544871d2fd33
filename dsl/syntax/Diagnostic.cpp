//===-- dsl/syntax/Diagnostic.cpp - Source places and diagnostics ---------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/syntax/Diagnostic.h"

#include "dsl/syntax/Utf8.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3 {

namespace {

constexpr size_t maxRecorded = 20;
/// Of a long line, so many bytes are shown, at most so many of them before the caret.
constexpr uint32_t windowBytes = 100, windowBefore = 60;
constexpr std::string_view replacement = "\xEF\xBF\xBD";

bool isContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// The characters of \p text, each with what is shown for it.
template <typename Visit> void forEachCharacter(std::string_view text, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    Utf8Character c = decodeUtf8(text.substr(at));
    bool shown = c.error == Utf8Error::None && (c.code >= 0x20 || c.code == '\t') &&
                 c.code != 0x7F && !(c.code >= 0x80 && c.code < 0xA0);
    visit(at, shown ? text.substr(at, c.length) : replacement);
    at += c.length;
  }
}

/// The line of \p range and a caret under it.
void renderLine(std::string &out, const SourceRange &range) {
  const std::string &text = range.file->text;
  uint32_t size = static_cast<uint32_t>(std::min<size_t>(text.size(), UINT32_MAX));
  uint32_t caret = std::min(range.begin, size);
  uint32_t lineBegin = caret, lineEnd = caret;
  while (lineBegin > 0 && text[lineBegin - 1] != '\n' && caret - lineBegin <= windowBytes)
    --lineBegin;
  while (lineEnd < size && text[lineEnd] != '\n' && lineEnd - caret <= windowBytes)
    ++lineEnd;
  if (lineEnd > lineBegin && text[lineEnd - 1] == '\r')
    --lineEnd;

  uint32_t from = lineBegin, to = lineEnd;
  if (lineEnd - lineBegin > windowBytes) {
    from = std::max(lineBegin, caret - std::min(caret, windowBefore));
    while (from > lineBegin && isContinuation(text[from]))
      --from;
    to = std::min(lineEnd, from + windowBytes);
    while (to > caret && to < size && isContinuation(text[to]))
      --to;
  }
  bool cutBefore = from > 0 && text[from - 1] != '\n';
  bool cutAfter = to < size && text[to] != '\n' && text[to] != '\r';

  std::string line = cutBefore ? "..." : "", marks = cutBefore ? "   " : "";
  std::string_view window = std::string_view(text).substr(from, to - from);
  bool marked = false;
  forEachCharacter(window, [&](size_t at, std::string_view shown) {
    uint32_t offset = from + static_cast<uint32_t>(at);
    line += shown;
    if (offset < caret) {
      marks += shown == "\t" ? '\t' : ' ';
    } else if (!marked) {
      marks += '^';
      marked = true;
    } else if (offset < range.end) {
      marks += '~';
    }
  });
  if (!marked)
    marks += '^';
  if (cutAfter)
    line += "...";
  out += line + "\n" + marks + "\n";
}

void renderPlace(std::string &out, const SourceRange &range, std::string_view kind,
                 std::string_view message) {
  if (!range.file) {
    out += fmt::format("{}: {}\n", kind, message);
    return;
  }
  LineColumn place = lineColumn(*range.file, range.begin);
  out +=
      fmt::format("{}:{}:{}: {}: {}\n", range.file->path, place.line, place.column, kind, message);
  renderLine(out, range);
}

void appendJsonString(std::string &out, std::string_view text) {
  out += '"';
  for (size_t at = 0; at < text.size();) {
    Utf8Character c = decodeUtf8(text.substr(at));
    if (c.error != Utf8Error::None)
      out += replacement;
    else if (c.code == '"' || c.code == '\\')
      (out += '\\') += static_cast<char>(c.code);
    else if (c.code == '\n')
      out += "\\n";
    else if (c.code == '\t')
      out += "\\t";
    else if (c.code < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c.code));
    else
      out += text.substr(at, c.length);
    at += c.length;
  }
  out += '"';
}

/// The members that an error and a note share, without braces.
void appendJsonPlace(std::string &out, const SourceRange &range, std::string_view message) {
  out += "\"file\": ";
  if (range.file) {
    LineColumn begin = lineColumn(*range.file, range.begin);
    LineColumn end = lineColumn(*range.file, std::max(range.begin, range.end));
    appendJsonString(out, range.file->path);
    out += fmt::format(", \"line\": {}, \"column\": {}, \"end_line\": {}, \"end_column\": {}",
                       begin.line, begin.column, end.line, end.column);
  } else {
    out += "null, \"line\": null, \"column\": null, \"end_line\": null, \"end_column\": null";
  }
  out += ", \"message\": ";
  appendJsonString(out, message);
}

} // namespace

LineColumn lineColumn(const SourceFile &file, uint32_t offset) {
  LineColumn place{1, 1};
  std::string_view before = std::string_view(file.text).substr(0, offset);
  place.line += static_cast<unsigned>(std::count(before.begin(), before.end(), '\n'));
  size_t lineBegin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  for (char c : before.substr(lineBegin))
    place.column += isContinuation(c) ? 0 : 1;
  return place;
}

Diagnostic &Diagnostics::error(SourceRange range, std::string message, std::string hint) {
  ++count;
  list.reserve(maxRecorded);
  Diagnostic made{range, std::move(message), std::move(hint), {}, {}};
  if (list.size() < maxRecorded)
    return list.emplace_back(std::move(made));
  return unrecorded = std::move(made);
}

Diagnostic &Diagnostics::warning(std::string rule, SourceRange range, std::string message,
                                 std::string hint) {
  Diagnostic &made = error(range, std::move(message), std::move(hint));
  made.rule = std::move(rule);
  return made;
}

std::string Diagnostics::renderText() const {
  std::string out;
  for (const Diagnostic &diagnostic : list) {
    if (diagnostic.rule.empty())
      renderPlace(out, diagnostic.range, "error", diagnostic.message);
    else
      renderPlace(out, diagnostic.range, "warning",
                  fmt::format("{} [{}]", diagnostic.message, diagnostic.rule));
    if (!diagnostic.hint.empty())
      out += fmt::format("  hint: {}\n", diagnostic.hint);
    for (const Note &note : diagnostic.notes)
      renderPlace(out, note.range, "note", note.message);
  }
  if (count > list.size()) {
    size_t rest = count - list.size();
    std::string_view what = list.back().rule.empty() ? "error" : "warning";
    out += fmt::format("{} more {}{} not shown\n", rest, what, rest == 1 ? " is" : "s are");
  }
  return out;
}

std::string Diagnostics::renderJson() const {
  std::string out = "[";
  std::string_view between = "\n";
  for (const Diagnostic &diagnostic : list) {
    out += between;
    between = ",\n";
    out += "  {";
    appendJsonPlace(out, diagnostic.range, diagnostic.message);
    if (!diagnostic.rule.empty()) {
      out += ", \"rule\": ";
      appendJsonString(out, diagnostic.rule);
    }
    out += ", \"hint\": ";
    appendJsonString(out, diagnostic.hint);
    out += ", \"notes\": [";
    std::string_view betweenNotes;
    for (const Note &note : diagnostic.notes) {
      out += betweenNotes;
      betweenNotes = ", ";
      out += '{';
      appendJsonPlace(out, note.range, note.message);
      out += '}';
    }
    out += "]}";
  }
  out += list.empty() ? "]\n" : "\n]\n";
  return out;
}

} // namespace h3
