//===-- dsl/format/Layout.h - Where lines break --------------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_FORMAT_LAYOUT_H
#define H3_DSL_FORMAT_LAYOUT_H

#include "dsl/format/Tree.h"
#include "dsl/format/Writer.h"

namespace h3::formatter {

constexpr unsigned lineWidth = 100, indentStep = 2;

/// Lays out expressions (LayoutExpressions.cpp). What fits behind the code at hand goes there;
/// otherwise each kind of node has its own way to break.
class ExpressionLayout {
public:
  ExpressionLayout(const Tokens &tokens, Writer &writer) : tokens(tokens), writer(writer) {}

  /// \p after: columns of what must follow on the last line.
  void put(const Node &node, unsigned after);
  /// Whether \p node would be on one line if it began at \p column.
  bool fits(const Node &node, unsigned column, unsigned after) const;

private:
  void putBroken(const Node &node, unsigned after);
  void putChain(const Node &node, unsigned after);
  void putPostfix(const Node &node, unsigned after);
  void putList(const Node &node, unsigned after);
  void putNamed(const Node &node, unsigned equalsColumn, unsigned after);
  bool putCompactIf(const Node &node, unsigned after);
  void putHangingIf(const Node &node, unsigned after);
  void putReduce(const Node &node, unsigned after);
  unsigned width(const Node &node) const { return tokens.width(node.first, node.last); }

  const Tokens &tokens;
  Writer &writer;
};

/// Lays out items and blocks, and keeps columns.
class StatementLayout {
public:
  StatementLayout(const Tokens &tokens, Writer &writer)
      : tokens(tokens), writer(writer), expressions(tokens, writer) {}

  void putFile(const std::vector<Statement> &items);

private:
  /// Columns of one statement beyond its own text; 0: none.
  struct Columns {
    unsigned mark = 0;             ///< of `=`, or the `:` of a tensor
    std::vector<unsigned> clauses; ///< of a tensor or an order, one for each clause
    bool isInTable = false;        ///< with another line
  };

  void putBlock(const std::vector<Statement> &body, unsigned indent);
  void put(const Statement &statement, const Columns &columns, unsigned indent);
  void putFunction(const Statement &statement, unsigned indent);
  void putHeader(const Statement &statement, TokenId last);
  void putRecord(const Statement &statement);
  void putDims(const Statement &statement);
  void putValue(const Statement &statement, unsigned indent);
  void putBody(const Statement &statement, unsigned indent);
  std::vector<Columns> columnsOf(const std::vector<Statement> &body, unsigned indent) const;
  bool fitsLine(const Statement &statement, unsigned indent) const;
  bool isBesideNext(const Statement &one, const Statement &next) const;
  bool alignTensors(std::span<const Statement> group, std::span<Columns> columns,
                    unsigned indent) const;
  bool alignMarks(std::span<const Statement> group, std::span<Columns> columns,
                  unsigned indent) const;
  bool alignOrders(std::span<const Statement> group, std::span<Columns> columns,
                   unsigned indent) const;

  const Tokens &tokens;
  Writer &writer;
  ExpressionLayout expressions;
};

} // namespace h3::formatter

#endif // H3_DSL_FORMAT_LAYOUT_H
