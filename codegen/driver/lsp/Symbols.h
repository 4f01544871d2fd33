//===-- codegen/driver/lsp/Symbols.h - What stands under the cursor - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Names of a text and where they are defined, by the scopes of the language alone: it needs no
// types, so it works in functions that nothing calls.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_LSP_SYMBOLS_H
#define H3_CODEGEN_DRIVER_LSP_SYMBOLS_H

#include "codegen/driver/lsp/Document.h"
#include "dsl/program/Names.h"

namespace h3::lsp {

/// A name or a dotted path in the text: `norm.rms_norm`, with the cursor in one of its components.
struct Path {
  SourceRange range;                   ///< of the components up to the one with the cursor
  std::vector<std::string> components; ///< up to that one
  std::string whole;                   ///< all components, as written without spaces
};

/// Empty unless \p offset is in a name, or directly behind one.
std::optional<Path> pathAt(const SourceFile &source, uint32_t offset);

/// A definition of one name.
struct Definition {
  SourceRange range;                  ///< of the name; of a module: the beginning of its file
  std::string kind;                   ///< "parameter", "tensor", "function" ...
  const Item *item = nullptr;         ///< of a module's items
  const h3::Module *module = nullptr; ///< of a module
};

/// Definitions and scopes of one complete document.
class Symbols {
public:
  explicit Symbols(const Document &document);

  /// What \p path means at \p offset; empty if nothing is known.
  std::optional<Definition> find(const Path &path, uint32_t offset) const;

private:
  struct Local {
    std::string name;
    SourceRange range;
    std::string kind;
    uint32_t begin, end; ///< where it can be seen
  };

  void add(const ast::Name &name, const char *kind, uint32_t begin, uint32_t end);
  void addFunction(const ast::Function &function);
  void addOperator(const ast::Operator &op);
  void addGenericsAndParams(const std::vector<ast::Generic> &generics,
                            const std::vector<ast::Param> &params, uint32_t begin, uint32_t end);
  void addStatements(const std::vector<ast::Statement> &body, uint32_t end);
  void addLet(const ast::Let &let, uint32_t end);
  void addBinders(const std::vector<ast::Binder> &binders, uint32_t begin, uint32_t end);
  void addRhs(const ast::Rhs &rhs);
  void addExpr(const ast::Expr &expr);
  std::optional<Definition> findField(const std::string &field, uint32_t offset) const;
  std::optional<Definition> fieldOf(const ast::Record &record, const std::string &field) const;

  const Document &document;
  ModuleIndex index;
  std::vector<Local> locals;
};

} // namespace h3::lsp

#endif // H3_CODEGEN_DRIVER_LSP_SYMBOLS_H
