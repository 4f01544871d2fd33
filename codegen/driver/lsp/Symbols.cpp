//===-- codegen/driver/lsp/Symbols.cpp - What stands under the cursor -----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/lsp/Symbols.h"

#include "dsl/syntax/Lexer.h"

#include <algorithm>

namespace h3::lsp {

std::optional<Path> pathAt(const SourceFile &source, uint32_t offset) {
  Diagnostics ignored;
  std::optional<TokenList> list = lex(source, ignored);
  if (!list)
    return std::nullopt;
  const std::vector<Token> &tokens = list->tokens;
  // The token with the cursor inside, or the one that ends at it.
  auto isName = [&](size_t token) { return tokens[token].kind == TokenKind::Name; };
  size_t at = tokens.size();
  for (size_t i = 0; i < tokens.size(); ++i)
    if (isName(i) && tokens[i].begin <= offset && offset <= tokens[i].end)
      at = i;
  if (at == tokens.size())
    return std::nullopt;
  auto isDot = [&](size_t token) {
    return tokens[token].kind == TokenKind::Punctuation && list->text(tokens[token]) == ".";
  };
  size_t first = at, last = at;
  while (first >= 2 && isDot(first - 1) && isName(first - 2))
    first -= 2;
  while (last + 2 < tokens.size() && isDot(last + 1) && isName(last + 2))
    last += 2;
  // `f(x).mean` begins with a dot: a field of what is no name.
  Path path{{&source, tokens[first].begin, tokens[at].end}, {}, {}};
  if (first > 0 && isDot(first - 1))
    path.components.emplace_back();
  for (size_t i = first; i <= last; i += 2) {
    if (i <= at)
      path.components.emplace_back(list->text(tokens[i]));
    path.whole += std::string(i > first ? "." : "") + std::string(list->text(tokens[i]));
  }
  return path;
}

Symbols::Symbols(const Document &document) : document(document), index(document.spec.modules) {
  const ast::File &file = *document.module()->file;
  for (const ast::Function &function : file.functions)
    addFunction(function);
  for (const ast::Operator &op : file.operators)
    addOperator(op);
}

//===--- Scopes -----------------------------------------------------------===//

void Symbols::add(const ast::Name &name, const char *kind, uint32_t begin, uint32_t end) {
  locals.push_back({name.text, name.range, kind, begin, end});
}

void Symbols::addGenericsAndParams(const std::vector<ast::Generic> &generics,
                                   const std::vector<ast::Param> &params, uint32_t begin,
                                   uint32_t end) {
  for (const ast::Generic &generic : generics)
    add(generic.name, "type parameter", begin, end);
  for (const ast::Param &param : params)
    add(param.name, "parameter", begin, end);
}

void Symbols::addFunction(const ast::Function &function) {
  uint32_t begin = function.name.range.begin, end = function.value.range.end;
  addGenericsAndParams(function.generics, function.params, begin, end);
  // The first use of a name as an extent binds it.
  for (const ast::Param &param : function.params)
    for (const ast::Expr *extent : param.type.extents)
      if (extent->kind == ast::Expr::Kind::Name &&
          std::none_of(locals.begin(), locals.end(), [&](const Local &local) {
            return local.name == extent->text && local.begin == begin;
          }))
        add({extent->text, extent->range}, "extent", begin, end);
  for (const ast::Let &let : function.lets)
    addLet(let, end);
  addRhs(function.value);
}

void Symbols::addOperator(const ast::Operator &op) {
  uint32_t begin = op.range.begin, end = op.range.end;
  addGenericsAndParams(op.generics, op.params, begin, end);
  for (const ast::Dim &dim : op.dims)
    add(dim.name, "dim", begin, end);
  for (const ast::Tensor &tensor : op.tensors)
    add(tensor.name, tensor.isOutput ? "output" : "input", begin, end);
  for (const ast::Expr *requirement : op.requirements)
    addExpr(*requirement);
  addStatements(op.body, end);
}

void Symbols::addStatements(const std::vector<ast::Statement> &body, uint32_t end) {
  for (const ast::Statement &statement : body) {
    if (statement.let)
      addLet(*statement.let, end);
    if (statement.loop) {
      const SourceRange &range = statement.loop->range;
      for (const ast::Binder::Digit &variable : statement.loop->variables)
        add(variable.name, "index", range.begin, range.end);
      addStatements(statement.loop->body, range.end);
    }
    if (!statement.equation)
      continue;
    const ast::Equation &equation = *statement.equation;
    // A variable of the enclosing `for` is not defined again by the place.
    for (const ast::Equation::Place &place : equation.places)
      for (const ast::Name &digit : place.digits)
        if (std::none_of(locals.begin(), locals.end(), [&](const Local &local) {
              return local.name == digit.text && local.begin <= digit.range.begin &&
                     digit.range.begin < local.end;
            }))
          add(digit, "index", equation.range.begin, equation.range.end);
    addRhs(equation.value);
  }
}

void Symbols::addLet(const ast::Let &let, uint32_t end) {
  add(let.name, "value", let.name.range.begin, end);
  addBinders(let.binders, let.range.begin, let.range.end);
  addRhs(let.value);
}

void Symbols::addBinders(const std::vector<ast::Binder> &binders, uint32_t begin, uint32_t end) {
  for (const ast::Binder &binder : binders)
    for (const ast::Binder::Digit &digit : binder.digits)
      add(digit.name, "index", begin, end);
}

void Symbols::addRhs(const ast::Rhs &rhs) {
  if (rhs.expr)
    addExpr(*rhs.expr);
  if (!rhs.reduce)
    return;
  const ast::Reduce &reduce = *rhs.reduce;
  for (const ast::Binder::Digit &digit : reduce.binder.digits)
    add(digit.name, "index", rhs.range.begin, rhs.range.end);
  if (reduce.hasSeed)
    add(reduce.state, "state", rhs.range.begin, reduce.left.range.begin);
  for (const ast::Name *state : {&reduce.left, &reduce.right})
    add(*state, "state", reduce.left.range.begin, rhs.range.end);
  for (const ast::Expr *part : {reduce.seed, reduce.step, reduce.element, reduce.join})
    if (part)
      addExpr(*part);
}

void Symbols::addExpr(const ast::Expr &expr) {
  addBinders(expr.binders, expr.range.begin, expr.range.end);
  for (const ast::Expr *operand : expr.operands)
    addExpr(*operand);
  for (const ast::Subscript &subscript : expr.subscripts)
    for (const ast::Expr *digit : subscript.digits)
      addExpr(*digit);
}

//===--- Lookup -----------------------------------------------------------===//

std::optional<Definition> Symbols::find(const Path &path, uint32_t offset) const {
  const Module &module = *document.module();
  const std::string &first = path.components.front();
  // In a `use` every component leads to the file.
  for (const ast::Name &use : module.file->uses)
    if (use.range.begin <= offset && offset <= use.range.end) {
      auto found = module.uses.find(use.text.substr(use.text.rfind('.') + 1));
      if (found == module.uses.end())
        return std::nullopt;
      const Module &used = document.spec.modules.modules[found->second];
      return Definition{{used.file->source, 0, 0}, "module", nullptr, &used};
    }
  // One meaning in a scope: of those that can be seen here the innermost is the only one.
  const Local *local = nullptr;
  for (const Local &each : locals)
    if (each.name == first && each.begin <= offset && offset <= each.end &&
        (!local || each.begin >= local->begin))
      local = &each;
  if (path.components.size() == 1 && local)
    return Definition{local->range, local->kind};
  std::string joined = first;
  for (size_t i = 1; i < path.components.size(); ++i)
    joined += "." + path.components[i];
  if (!local && !first.empty()) {
    if (const Item *item = index.find(module, joined))
      return Definition{item->range, std::string(item->what()), item};
    if (auto used = module.uses.find(first); used != module.uses.end()) {
      if (path.components.size() > 1)
        return std::nullopt;
      const Module &target = document.spec.modules.modules[used->second];
      return Definition{{target.file->source, 0, 0}, "module", nullptr, &target};
    }
  }
  if (path.components.size() > 1)
    return findField(path.components.back(), path.range.end);
  // The name of a field where a record is made or declared, or of a parameter in a call: by name.
  return findField(first, path.range.end);
}

std::optional<Definition> Symbols::fieldOf(const ast::Record &record,
                                           const std::string &field) const {
  for (const ast::Record::Field &each : record.fields)
    if (each.name.text == field)
      return Definition{each.name.range, "field of " + record.name.text};
  return std::nullopt;
}

/// By the type that the programs have for the expression that ends at \p end; where there is none,
/// the one record with such a field.
std::optional<Definition> Symbols::findField(const std::string &field, uint32_t end) const {
  std::string record;
  for (const std::unique_ptr<Program> &program : document.programs)
    for (const Expr &expr : program->expressions)
      if (expr.kind == Expr::Kind::Field && expr.range.file == document.module()->file->source &&
          expr.range.end == end && expr.operands[0]->type.record)
        record = expr.operands[0]->type.record->name;
  record = record.substr(record.rfind('.') + 1);
  std::optional<Definition> found;
  for (const Module &module : document.spec.modules.modules)
    for (const ast::Record &each : module.file->records)
      if (record.empty() || each.name.text == record)
        if (std::optional<Definition> here = fieldOf(each, field)) {
          if (found && record.empty())
            return std::nullopt;
          found = here;
        }
  return found;
}

} // namespace h3::lsp
