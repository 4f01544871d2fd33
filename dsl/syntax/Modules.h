//===-- dsl/syntax/Modules.h - A spec and the modules it uses --*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Finds, reads and parses the files that a spec is made of. `use a.b` means the file `a/b.spec`,
// which is searched
//   1. beside the spec that is compiled (in its folder),
//   2. in the folder from which the file that says `use` was itself found (for
//   `lib/eager/norm.spec`
//      found as `eager.norm`, that is `lib`),
//   3. in the folders of `SpecSearch::folders`, in order,
//   4. among the specs embedded in the program,
// and the first file that exists is taken. A file is loaded once, however often it is used.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_SYNTAX_MODULES_H
#define H3_DSL_SYNTAX_MODULES_H

#include "dsl/syntax/Ast.h"

#include <map>
#include <span>

namespace h3 {

/// A spec that is part of the program, such as {"eager/norm.spec", "..."}.
struct EmbeddedSpec {
  std::string_view path, text;
};

/// Where modules are searched besides the spec's own folder.
struct SpecSearch {
  std::vector<std::string> folders; ///< of --spec-path, in order
  std::span<const EmbeddedSpec> embedded;
  /// Texts that stand for those of files, by canonical path: what an editor has not saved.
  const std::map<std::string, std::string> *unsaved = nullptr;
};

struct Module {
  std::string name; ///< the dotted path of the first `use` that found it; empty for the spec itself
  std::unique_ptr<ast::File> file; ///< `file->source` is in `ModuleSet::sources`
  /// For `use eager.norm`: "norm" and the index of that module in `ModuleSet::modules`.
  std::map<std::string, size_t, std::less<>> uses;
};

/// Keeps alive what diagnostics and syntax trees point into: it must outlive both, also after a
/// failure. May be moved; what it owns stays where it is.
struct ModuleSet {
  /// Each after all that it uses; the spec itself is last. Empty if anything failed.
  std::vector<Module> modules;
  std::vector<std::unique_ptr<SourceFile>> sources;

  bool complete() const { return !modules.empty(); }
  const Module &root() const { return modules.back(); }
};

/// Reads the spec at \p path and all it uses. Anything wrong (a file that cannot be read, a module
/// that is not found, modules that use each other in a circle, two with one local name, any error
/// of `parse`) is in \p diagnostics, and the set is not complete.
ModuleSet loadModules(const std::string &path, const SpecSearch &search, Diagnostics &diagnostics);

/// The same for a spec whose text is given. \p path is only shown; step 1 of the search is left
/// out.
ModuleSet loadModulesOfText(std::string path, std::string text, const SpecSearch &search,
                            Diagnostics &diagnostics);

} // namespace h3

#endif // H3_DSL_SYNTAX_MODULES_H
