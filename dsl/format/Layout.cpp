//===-- dsl/format/Layout.cpp - Where statements stand --------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/format/Layout.h"

#include <algorithm>

namespace h3::formatter {

using Kind = Statement::Kind;

void StatementLayout::putFile(const std::vector<Statement> &items) {
  putBlock(items, 0);
  writer.startLine({0, 0, true, items.empty(), true});
  writer.put(tokens.end());
}

void StatementLayout::putBlock(const std::vector<Statement> &body, unsigned indent) {
  std::vector<Columns> columns = columnsOf(body, indent);
  for (size_t i = 0; i < body.size(); ++i) {
    writer.startLine({indent, indent, true, i == 0, false});
    writer.setContinuation(indent + 2 * indentStep);
    put(body[i], columns[i], indent);
  }
}

void StatementLayout::put(const Statement &statement, const Columns &columns, unsigned indent) {
  switch (statement.kind) {
  case Kind::Use:
    writer.put(statement.first, statement.last);
    break;
  case Kind::Record:
    putRecord(statement);
    break;
  case Kind::Order:
  case Kind::Tensor:
    // `in ` is as wide as `out`.
    for (TokenId token = statement.first; token <= statement.last; ++token) {
      if (token == statement.first + 1 && statement.kind == Kind::Tensor)
        writer.padTo(indent + 4);
      if (token == statement.mark && columns.isInTable)
        writer.padTo(columns.mark);
      auto clause = std::find(statement.clauses.begin(), statement.clauses.end(), token);
      if (clause != statement.clauses.end()) {
        size_t which = static_cast<size_t>(clause - statement.clauses.begin());
        if (columns.isInTable)
          writer.padTo(columns.clauses[which]);
        else if (statement.kind == Kind::Tensor && tokens.commentsBefore(token).empty())
          writer.padTo(writer.column() + 2);
      }
      writer.put(token);
    }
    break;
  case Kind::Function:
    putFunction(statement, indent);
    break;
  case Kind::Operator:
    putHeader(statement, statement.mark);
    putBody(statement, indent);
    break;
  case Kind::For:
    writer.put(statement.first, statement.mark);
    putBody(statement, indent);
    break;
  case Kind::Dim:
    putDims(statement);
    break;
  case Kind::Require:
  case Kind::Return:
    writer.put(statement.first);
    expressions.put(*statement.value, 0);
    break;
  case Kind::Let:
  case Kind::Equation:
    for (TokenId token = statement.first; token <= statement.mark; ++token) {
      if (token == statement.mark && columns.isInTable)
        writer.padTo(columns.mark);
      writer.put(token);
    }
    putValue(statement, indent);
    break;
  }
}

/// Behind the `=`, or on the next line where that saves columns.
void StatementLayout::putValue(const Statement &statement, unsigned indent) {
  const Node &value = *statement.value;
  Writer::Mark mark = writer.mark();
  expressions.put(value, 0);
  unsigned excess = writer.excess(mark, lineWidth);
  if (excess == 0 || value.kind == Node::Kind::Reduce)
    return;
  writer.rewind(mark);
  writer.breakLine(indent + indentStep);
  expressions.put(value, 0);
  if (writer.excess(mark, lineWidth) < excess)
    return;
  writer.rewind(mark);
  expressions.put(value, 0);
}

void StatementLayout::putBody(const Statement &statement, unsigned indent) {
  putBlock(statement.body, indent + indentStep);
  writer.startLine({indent, indent + indentStep, true, statement.body.empty(), true});
  writer.put(statement.last);
}

/// Up to \p last, with parameters in columns where they do not fit.
void StatementLayout::putHeader(const Statement &statement, TokenId last) {
  if (!statement.list)
    return writer.put(statement.first, last);
  writer.put(statement.first, statement.list->first - 1);
  expressions.put(*statement.list, tokens.width(statement.list->last + 1, last) + 1);
  writer.put(statement.list->last + 1, last);
}

void StatementLayout::putFunction(const Statement &statement, unsigned indent) {
  if (!statement.hasBody && !tokens.startsLine(statement.value->first) &&
      fitsLine(statement, indent))
    return writer.put(statement.first, statement.last);
  putHeader(statement, statement.mark);
  if (statement.hasBody)
    return putBody(statement, indent);
  writer.breakLine(indent + indentStep);
  expressions.put(*statement.value, 0);
}

void StatementLayout::putRecord(const Statement &statement) {
  const std::vector<Node> &fields = statement.list->parts;
  if (!tokens.startsLine(fields.front().first) && fitsLine(statement, 0))
    return writer.put(statement.first, statement.last);
  writer.put(statement.first, statement.mark);
  for (const Node &field : fields) {
    writer.breakLine(indentStep);
    writer.put(field.first, field.last);
    if (&field != &fields.back())
      writer.put(field.last + 1);
  }
  writer.startLine({0, indentStep});
  writer.put(statement.last);
}

void StatementLayout::putDims(const Statement &statement) {
  writer.put(statement.first);
  unsigned base = writer.columnOf(statement.first + 1);
  for (const Node &dim : statement.list->parts) {
    bool isLast = &dim == &statement.list->parts.back();
    if (!expressions.fits(dim, writer.columnOf(dim.first), isLast ? 0 : 1))
      writer.breakLine(base);
    writer.put(dim.first, isLast ? dim.last : dim.last + 1);
  }
}

//===--- Columns ----------------------------------------------------------===//

bool StatementLayout::fitsLine(const Statement &statement, unsigned indent) const {
  return !(statement.value && statement.value->isBroken) &&
         !tokens.hasComments(statement.first, statement.last) &&
         indent + tokens.width(statement.first, statement.last) <= lineWidth;
}

/// Whether nothing stands between the two but the end of the line.
bool StatementLayout::isBesideNext(const Statement &one, const Statement &next) const {
  for (const Comment &comment : tokens.commentsBefore(next.first))
    if (comment.alone)
      return false;
  return tokens[next.first].line <= tokens[one.last].line + 1;
}

/// Lines that stand together and are of one kind share columns, as far as they fit.
std::vector<StatementLayout::Columns> StatementLayout::columnsOf(const std::vector<Statement> &body,
                                                                 unsigned indent) const {
  std::vector<Columns> columns(body.size());
  auto canAlign = [&](const Statement &statement) {
    return (statement.kind == Kind::Tensor || statement.kind == Kind::Order ||
            statement.kind == Kind::Let || statement.kind == Kind::Equation) &&
           fitsLine(statement, indent);
  };
  for (size_t first = 0; first < body.size();) {
    size_t last = first + 1;
    if (canAlign(body[first]))
      while (last < body.size() && body[last].kind == body[first].kind && canAlign(body[last]) &&
             isBesideNext(body[last - 1], body[last]))
        ++last;
    std::span<const Statement> group(&body[first], last - first);
    std::span<Columns> made(&columns[first], last - first);
    if (canAlign(body[first])) {
      bool fits = body[first].kind == Kind::Tensor  ? alignTensors(group, made, indent)
                  : body[first].kind == Kind::Order ? alignOrders(group, made, indent)
                                                    : alignMarks(group, made, indent);
      if (!fits)
        std::fill(made.begin(), made.end(), Columns{});
    }
    first = last;
  }
  return columns;
}

bool StatementLayout::alignMarks(std::span<const Statement> group, std::span<Columns> columns,
                                 unsigned indent) const {
  unsigned mark = 0;
  for (const Statement &each : group)
    mark = std::max(mark, indent + tokens.width(each.first, each.mark - 1) + 1);
  for (size_t i = 0; i < group.size(); ++i) {
    columns[i] = {mark, {}, true};
    if (mark + tokens.width(group[i].mark, group[i].last) > lineWidth)
      return false;
  }
  return true;
}

bool StatementLayout::alignOrders(std::span<const Statement> group, std::span<Columns> columns,
                                  unsigned indent) const {
  if (group.size() < 2 || !alignMarks(group, columns, indent))
    return false;
  unsigned stages = 0;
  for (const Statement &each : group)
    if (!each.clauses.empty())
      stages = std::max(stages, columns[0].mark + tokens.width(each.mark, each.clauses[0] - 1) + 2);
  for (size_t i = 0; i < group.size(); ++i) {
    columns[i].clauses.assign(group[i].clauses.size(), 0);
    if (group[i].clauses.empty())
      continue;
    columns[i].clauses[0] = stages;
    if (stages + tokens.width(group[i].clauses[0], group[i].last) > lineWidth)
      return false;
  }
  return true;
}

/// Names, types, then strides and alignments in columns of their own; other clauses follow.
bool StatementLayout::alignTensors(std::span<const Statement> group, std::span<Columns> columns,
                                   unsigned indent) const {
  unsigned mark = 0, types = 0, strides = 0;
  for (const Statement &each : group)
    mark = std::max(mark, indent + 4 + tokens.width(each.first + 1, each.mark - 1) + 1);
  auto endOf = [&](const Statement &each, size_t clause) {
    return clause + 1 < each.clauses.size() ? each.clauses[clause + 1] - 1 : each.last;
  };
  for (const Statement &each : group)
    if (!each.clauses.empty())
      types = std::max(types, mark + tokens.width(each.mark, each.clauses[0] - 1) + 2);
  for (const Statement &each : group)
    if (!each.clauses.empty() && tokens.is(each.clauses[0], "strides"))
      strides = std::max(strides, types + tokens.width(each.clauses[0], endOf(each, 0)) + 2);
  for (size_t i = 0; i < group.size(); ++i) {
    const Statement &each = group[i];
    columns[i] = {mark, {}, true};
    unsigned at = each.clauses.empty() ? mark + tokens.width(each.mark, each.last) : types;
    for (size_t clause = 0; clause < each.clauses.size(); ++clause) {
      if (tokens.is(each.clauses[clause], "align"))
        at = std::max(at, strides);
      columns[i].clauses.push_back(at);
      at += tokens.width(each.clauses[clause], endOf(each, clause)) + 2;
    }
    if (at > lineWidth + (each.clauses.empty() ? 0 : 2))
      return false;
  }
  return true;
}

} // namespace h3::formatter
