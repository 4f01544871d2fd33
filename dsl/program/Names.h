//===-- dsl/program/Names.h - What names of a module mean -------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The items of each module by name, and how a path such as `norm.rms_norm` finds one.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_PROGRAM_NAMES_H
#define H3_DSL_PROGRAM_NAMES_H

#include "dsl/syntax/Modules.h"

namespace h3 {

/// A record, order, function or operator of one module: exactly one pointer is set.
struct Item {
  const Module *module = nullptr;
  SourceRange range; ///< of its name
  const ast::Record *record = nullptr;
  const ast::Order *order = nullptr;
  const ast::Function *function = nullptr;
  const ast::Operator *op = nullptr;

  /// "a record", "an order", "a function", "an operator".
  std::string_view what() const;
};

/// The items of all modules. Of two items with one name the first is kept; `checkModules` reports
/// the second.
class ModuleIndex {
public:
  explicit ModuleIndex(const ModuleSet &modules);

  const ModuleSet &modules() const { return set; }
  const Module &root() const { return set.root(); }

  /// What \p path means in \p from: a name of the module itself, or `module.name` of one it uses.
  const Item *find(const Module &from, std::string_view path) const;
  const std::map<std::string, Item, std::less<>> &items(const Module &module) const;

  /// Why `find` failed and how to mend it, one line: a name that is spelled almost so, a missing
  /// `use`, the module that has the name. \p wanted selects the items to suggest; \p others are
  /// further names that would do. Empty if there is nothing to say.
  std::string suggest(const Module &from, std::string_view path, bool (*wanted)(const Item &),
                      const std::vector<std::string> &others) const;

private:
  const ModuleSet &set;
  std::map<const Module *, std::map<std::string, Item, std::less<>>> itemsOf;
};

/// The candidate that is \p name but for a few letters; empty if none is.
std::string closest(std::string_view name, const std::vector<std::string> &candidates);

/// The text of \p range on one line: comments left out, whitespace and newlines as one space.
std::string sourceText(SourceRange range);

} // namespace h3

#endif // H3_DSL_PROGRAM_NAMES_H
