//===-- dsl/syntax/Modules.cpp - A spec and the modules it uses -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/syntax/Modules.h"

#include "dsl/syntax/Lexer.h"
#include "dsl/syntax/Parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace h3 {

namespace {

namespace fs = std::filesystem;

/// Of modules that use each other in a row; far more than anyone writes.
constexpr size_t maxChain = 100;

/// Reads a file of at most `maxSpecBytes`; what is wrong comes back as a message.
std::string readSpec(const std::string &path, std::string &text) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found)
    return "there is no such file";
  if (status.type() == fs::file_type::directory)
    return "it is a directory";
  if (fs::is_regular_file(status)) {
    uintmax_t bytes = fs::file_size(path, error);
    if (!error && bytes > maxSpecBytes)
      return tooLargeMessage(bytes);
  }
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return std::strerror(errno);
  text.clear();
  char buffer[1 << 16];
  size_t got;
  while (text.size() <= maxSpecBytes && (got = std::fread(buffer, 1, sizeof buffer, file)) > 0)
    text.append(buffer, got);
  bool failed = std::ferror(file) != 0;
  int reason = errno;
  std::fclose(file);
  if (failed)
    return std::strerror(reason);
  if (text.size() > maxSpecBytes)
    return fmt::format("the spec has more than {} bytes (4 MiB)", maxSpecBytes);
  return "";
}

std::string_view lastComponent(std::string_view path) {
  size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

class Loader {
public:
  Loader(const SpecSearch &search, Diagnostics &diagnostics)
      : search(search), diagnostics(diagnostics) {}

  ModuleSet loadFile(const std::string &path);
  ModuleSet loadText(std::string path, std::string text);

private:
  /// Where a module was found.
  struct Found {
    std::string identity; ///< the same for the same file, however it is reached
    std::string shownPath;
    std::string libraryRoot; ///< step 2 of the search for what it uses
    bool onDisk = false;     ///< else `text` is set
    std::string text;
  };

  const SpecSearch &search;
  Diagnostics &diagnostics;
  ModuleSet set;
  std::optional<std::string> rootFolder;
  std::map<std::string, size_t> loaded; ///< identity to index; `failedModule` for one with errors
  std::vector<std::pair<std::string, std::string>> chain; ///< identities and names being loaded
  static constexpr size_t failedModule = SIZE_MAX;

  ModuleSet finish(bool ok);
  std::optional<size_t> load(Found &&found, const std::string &name, const SourceRange &use);
  std::optional<size_t> loadUse(const ast::Name &use, const std::string &libraryRoot);
  std::optional<Found> find(const ast::Name &use, const std::string &libraryRoot);
  void reportCycle(const std::string &identity, const SourceRange &use);
  static Found atPath(const fs::path &path, std::string libraryRoot);
};

Loader::Found Loader::atPath(const fs::path &path, std::string libraryRoot) {
  Found found;
  std::error_code error;
  fs::path canonical = fs::canonical(path, error);
  found.identity = error ? path.string() : canonical.string();
  found.shownPath = path.string();
  found.libraryRoot = std::move(libraryRoot);
  found.onDisk = true;
  return found;
}

std::optional<Loader::Found> Loader::find(const ast::Name &use, const std::string &libraryRoot) {
  std::string relative = use.text;
  std::replace(relative.begin(), relative.end(), '.', '/');
  relative += ".spec";

  std::vector<std::string> folders;
  auto consider = [&](const std::string &folder) {
    if (std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(folder);
  };
  if (rootFolder)
    consider(*rootFolder);
  if (!libraryRoot.empty())
    consider(libraryRoot);
  for (const std::string &folder : search.folders)
    consider(folder.empty() ? "." : folder);

  for (const std::string &folder : folders) {
    fs::path path = folder == "." ? fs::path(relative) : fs::path(folder) / relative;
    std::error_code error;
    // What exists but cannot be read is taken, and reported, rather than passed over.
    fs::file_type type = fs::status(path, error).type();
    if (type != fs::file_type::not_found && type != fs::file_type::none)
      return atPath(path, folder);
  }
  for (const EmbeddedSpec &spec : search.embedded) {
    if (spec.path == relative) {
      Found found;
      found.shownPath = fmt::format("<embedded>/{}", spec.path);
      found.identity = found.shownPath;
      found.text = spec.text;
      return found;
    }
  }

  std::string looked;
  for (const std::string &folder : folders)
    looked += fmt::format("{}'{}'", looked.empty() ? "" : ", ", folder);
  std::string embedded;
  for (const EmbeddedSpec &spec : search.embedded) {
    std::string name(spec.path.substr(0, spec.path.rfind(".spec")));
    std::replace(name.begin(), name.end(), '/', '.');
    embedded += fmt::format("{}{}", embedded.empty() ? "" : ", ", name);
  }
  std::string hint = fmt::format("'{}' was searched ", relative);
  if (!looked.empty())
    hint += fmt::format("in {}", looked);
  if (!embedded.empty())
    hint +=
        fmt::format("{}among the built-in modules ({})", looked.empty() ? "" : " and ", embedded);
  if (looked.empty() && embedded.empty())
    hint += "nowhere";
  hint += "; --spec-path adds a folder";
  diagnostics.error(use.range, fmt::format("there is no module '{}'", use.text), std::move(hint));
  return std::nullopt;
}

void Loader::reportCycle(const std::string &identity, const SourceRange &use) {
  auto begin = std::find_if(chain.begin(), chain.end(),
                            [&](const auto &entry) { return entry.first == identity; });
  if (begin + 1 == chain.end()) {
    diagnostics.error(use, "a module uses itself",
                      "leave out this 'use': its names are known here");
    return;
  }
  std::string shown;
  for (auto entry = begin; entry != chain.end(); ++entry)
    shown += fmt::format("'{}' -> ", entry->second);
  diagnostics.error(use,
                    fmt::format("modules use each other in a circle: {}'{}'", shown, begin->second),
                    "move what both need into a third module");
}

std::optional<size_t> Loader::loadUse(const ast::Name &use, const std::string &libraryRoot) {
  std::optional<Found> found = find(use, libraryRoot);
  if (!found)
    return std::nullopt;
  return load(std::move(*found), use.text, use.range);
}

std::optional<size_t> Loader::load(Found &&found, const std::string &name, const SourceRange &use) {
  if (auto known = loaded.find(found.identity); known != loaded.end())
    return known->second == failedModule ? std::nullopt : std::optional(known->second);
  bool active = std::any_of(chain.begin(), chain.end(),
                            [&](const auto &entry) { return entry.first == found.identity; });
  if (active) {
    reportCycle(found.identity, use);
    return std::nullopt;
  }
  if (chain.size() >= maxChain) {
    diagnostics.error(use, fmt::format("more than {} modules use each other in a row", maxChain));
    return std::nullopt;
  }

  loaded[found.identity] = failedModule;
  auto source = std::make_unique<SourceFile>();
  source->path = found.shownPath;
  source->onDisk = found.onDisk;
  const std::string *unsaved = nullptr;
  if (search.unsaved)
    if (auto text = search.unsaved->find(found.identity); text != search.unsaved->end())
      unsaved = &text->second;
  if (unsaved) {
    source->text = *unsaved;
  } else if (found.onDisk) {
    std::string problem = readSpec(found.shownPath, source->text);
    if (!problem.empty()) {
      diagnostics.error(use, fmt::format("cannot read '{}': {}", found.shownPath, problem));
      return std::nullopt;
    }
  } else {
    source->text = std::move(found.text);
  }
  set.sources.push_back(std::move(source));

  Module module;
  module.name = name;
  module.file = parse(*set.sources.back(), diagnostics);
  if (!module.file)
    return std::nullopt;

  loaded.erase(found.identity);
  chain.push_back({found.identity, name.empty() ? found.shownPath : name});
  bool ok = true;
  std::map<std::string_view, const ast::Name *> named;
  for (const ast::Name &path : module.file->uses) {
    auto [earlier, isNew] = named.emplace(lastComponent(path.text), &path);
    if (!isNew) {
      bool same = earlier->second->text == path.text;
      Diagnostic &made =
          diagnostics.error(path.range,
                            same ? fmt::format("'{}' is used twice", path.text)
                                 : fmt::format("two modules are called '{}' here", earlier->first),
                            same ? "leave out one of the two" : "a file can use only one of them");
      made.notes.push_back({earlier->second->range, "the other 'use' is here"});
      ok = false;
      continue;
    }
    std::optional<size_t> index = loadUse(path, found.libraryRoot);
    if (index)
      module.uses.emplace(earlier->first, *index);
    else
      ok = false;
  }
  chain.pop_back();
  if (!ok) {
    loaded[found.identity] = failedModule;
    return std::nullopt;
  }
  loaded[found.identity] = set.modules.size();
  set.modules.push_back(std::move(module));
  return set.modules.size() - 1;
}

ModuleSet Loader::finish(bool ok) {
  if (!ok)
    set.modules.clear();
  return std::move(set);
}

ModuleSet Loader::loadFile(const std::string &path) {
  fs::path folder = fs::path(path).parent_path();
  rootFolder = folder.empty() ? "." : folder.string();
  return finish(load(atPath(path, *rootFolder), "", {}).has_value());
}

ModuleSet Loader::loadText(std::string path, std::string text) {
  Found found;
  found.identity = "<text>";
  found.shownPath = std::move(path);
  found.text = std::move(text);
  return finish(load(std::move(found), "", {}).has_value());
}

} // namespace

ModuleSet loadModules(const std::string &path, const SpecSearch &search, Diagnostics &diagnostics) {
  return Loader(search, diagnostics).loadFile(path);
}

ModuleSet loadModulesOfText(std::string path, std::string text, const SpecSearch &search,
                            Diagnostics &diagnostics) {
  return Loader(search, diagnostics).loadText(std::move(path), std::move(text));
}

} // namespace h3
