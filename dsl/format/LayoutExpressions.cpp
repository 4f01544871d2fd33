//===-- dsl/format/LayoutExpressions.cpp - Where expressions break --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/format/Layout.h"

#include <algorithm>

namespace h3::formatter {

using Kind = Node::Kind;

/// What stands further right begins no column, and no line begins there: deep nesting would drive
/// the text to the right for ever.
static constexpr unsigned deepColumn = 60;

/// Of lines that hang from one that begins at \p indent.
static unsigned hangingIndent(unsigned indent, unsigned step) {
  return std::min(indent + step, deepColumn);
}

bool ExpressionLayout::fits(const Node &node, unsigned column, unsigned after) const {
  return !node.isBroken && !tokens.hasComments(node.first, node.last) &&
         column + width(node) + after <= lineWidth;
}

void ExpressionLayout::put(const Node &node, unsigned after) {
  if (fits(node, writer.columnOf(node.first), after))
    writer.put(node.first, node.last);
  else
    putBroken(node, after);
}

void ExpressionLayout::putBroken(const Node &node, unsigned after) {
  switch (node.kind) {
  case Kind::Flat:
    writer.put(node.first, node.last);
    break;
  case Kind::Paren:
    writer.put(node.first);
    put(node.parts[0], after + 1);
    writer.put(node.last);
    break;
  case Kind::Chain:
    putChain(node, after);
    break;
  case Kind::Prefix:
    writer.put(node.first);
    put(node.parts[0], after);
    break;
  case Kind::Postfix:
    putPostfix(node, after);
    break;
  case Kind::List:
    putList(node, after);
    break;
  case Kind::Named:
    putNamed(node, 0, after);
    break;
  case Kind::Row:
    put(node.parts[0], 0);
    put(node.parts[1], after);
    break;
  case Kind::If:
    if (!putCompactIf(node, after))
      putHangingIf(node, after);
    break;
  case Kind::Reduce:
    putReduce(node, after);
    break;
  case Kind::Clause:
    writer.put(node.first, node.parts[0].first - 1);
    put(node.parts[0], after);
    break;
  }
}

/// As many operands a line as fit, operators first, under the first operand.
void ExpressionLayout::putChain(const Node &node, unsigned after) {
  unsigned base = writer.columnOf(node.first);
  if (base > deepColumn)
    base = hangingIndent(writer.lineIndent(), 2 * indentStep);
  bool wasBroken = false;
  for (const Node &part : node.parts) {
    bool isFirst = &part == &node.parts.front(), isLast = &part == &node.parts.back();
    unsigned behind = isLast ? after : 0;
    if (!isFirst) {
      TokenId op = part.first - 1;
      unsigned column = writer.columnOf(op) + tokens.width(op, op) + 1;
      if (wasBroken || !fits(part, column, behind) || tokens.hasComments(op - 1, part.first))
        writer.breakLine(base);
      writer.put(op);
    }
    size_t lines = writer.lineCount();
    put(part, behind);
    wasBroken = writer.lineCount() > lines;
  }
}

void ExpressionLayout::putPostfix(const Node &node, unsigned after) {
  for (const Node &part : node.parts) {
    unsigned behind = part.last == node.last ? 0 : tokens.width(part.last + 1, node.last);
    put(part, behind + after);
  }
}

/// As many parts a line as fit, under the first; named arguments one a line.
void ExpressionLayout::putList(const Node &node, unsigned after) {
  const std::vector<Node> &parts = node.parts;
  bool isNamed = parts.size() > 1 && parts.front().kind == Kind::Named;
  unsigned widest = 0, widestName = 0;
  for (const Node &part : parts) {
    widest = std::max(widest, width(part));
    widestName = std::max(widestName, tokens.width(part.first, part.first));
  }
  unsigned indent = writer.lineIndent();
  writer.put(node.first);
  unsigned base = writer.column();
  if (base > deepColumn) {
    base = hangingIndent(indent, 2 * indentStep);
    if (writer.column() + widest + 1 > lineWidth)
      writer.breakLine(base);
  }
  bool wasBroken = false;
  for (const Node &part : parts) {
    bool isFirst = &part == &parts.front(), isLast = &part == &parts.back();
    unsigned behind = isLast ? after + 1 : 1;
    if (!isFirst) {
      writer.put(part.first - 1);
      if (isNamed || wasBroken || !fits(part, writer.columnOf(part.first), behind) ||
          !tokens.commentsBefore(part.first).empty())
        writer.breakLine(base);
    } else if (!tokens.commentsBefore(part.first).empty()) {
      writer.breakLine(base);
    }
    size_t lines = writer.lineCount();
    if (isNamed)
      putNamed(part, base + widestName + 1, behind);
    else
      put(part, behind);
    wasBroken = writer.lineCount() > lines;
  }
  writer.put(node.last);
}

void ExpressionLayout::putNamed(const Node &node, unsigned equalsColumn, unsigned after) {
  writer.put(node.first);
  writer.padTo(equalsColumn);
  writer.put(node.first + 1);
  put(node.parts[0], after);
}

/// A branch a line, `then` and `else` in columns:
///   if a then x        if      a  then x
///        else y        else if bc then y
///                      else            z
/// False if that is too wide.
bool ExpressionLayout::putCompactIf(const Node &node, unsigned after) {
  const std::vector<Node> &parts = node.parts;
  if (tokens.hasComments(node.first, node.last) ||
      std::any_of(parts.begin(), parts.end(), [](const Node &part) { return part.isBroken; }))
    return false;
  unsigned column = writer.columnOf(node.first), widest = 0;
  bool isChain = parts.size() > 3;
  unsigned conditions = column + (isChain ? 8 : 3); // behind `else if `, `if `
  for (size_t i = 0; i + 1 < parts.size(); i += 2)
    widest = std::max(widest, width(parts[i]));
  unsigned thens = conditions + widest + 1, values = thens + 5;
  for (size_t i = 1; i < parts.size(); i += 2)
    if (!fits(parts[i], values, 0))
      return false;
  if (!fits(parts.back(), values, after))
    return false;

  for (size_t i = 0; i + 1 < parts.size(); i += 2) {
    if (i > 0) {
      writer.breakLine(column);
      writer.put(parts[i].first - 2);
    }
    writer.put(parts[i].first - 1);
    writer.padTo(conditions);
    writer.put(parts[i].first, parts[i].last);
    writer.padTo(thens);
    writer.put(parts[i + 1].first - 1);
    writer.put(parts[i + 1].first, parts[i + 1].last);
  }
  writer.breakLine(isChain ? column : thens);
  writer.put(parts.back().first - 1);
  writer.padTo(values);
  writer.put(parts.back().first, parts.back().last);
  return true;
}

/// `then` and `else` begin lines, indented from the line with the `if`.
void ExpressionLayout::putHangingIf(const Node &node, unsigned after) {
  const std::vector<Node> &parts = node.parts;
  unsigned indent = hangingIndent(writer.lineIndent(), indentStep);
  for (size_t i = 0; i + 1 < parts.size(); i += 2) {
    if (i > 0) {
      writer.breakLine(indent);
      writer.put(parts[i].first - 2);
    }
    writer.put(parts[i].first - 1);
    put(parts[i], 0);
    writer.breakLine(indent);
    writer.put(parts[i + 1].first - 1);
    put(parts[i + 1], 0);
  }
  writer.breakLine(indent);
  writer.put(parts.back().first - 1);
  put(parts.back(), after);
}

void ExpressionLayout::putReduce(const Node &node, unsigned after) {
  unsigned indent = hangingIndent(writer.lineIndent(), indentStep);
  for (const Node &part : node.parts) {
    if (&part != &node.parts.front())
      writer.breakLine(indent);
    put(part, &part == &node.parts.back() ? after : 0);
  }
}

} // namespace h3::formatter
