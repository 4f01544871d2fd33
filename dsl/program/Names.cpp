//===-- dsl/program/Names.cpp - What names of a module mean ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Names.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3 {

namespace {

/// Levenshtein distance.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

} // namespace

std::string_view Item::what() const {
  return record ? "a record" : order ? "an order" : function ? "a function" : "an operator";
}

ModuleIndex::ModuleIndex(const ModuleSet &modules) : set(modules) {
  for (const Module &module : set.modules) {
    auto &items = itemsOf[&module];
    auto add = [&](const ast::Name &name, auto Item::*member, auto *node) {
      Item item;
      item.module = &module;
      item.range = name.range;
      item.*member = node;
      items.try_emplace(name.text, item);
    };
    for (const ast::Record &record : module.file->records)
      add(record.name, &Item::record, &record);
    for (const ast::Order &order : module.file->orders)
      add(order.name, &Item::order, &order);
    for (const ast::Function &function : module.file->functions)
      add(function.name, &Item::function, &function);
    for (const ast::Operator &op : module.file->operators)
      add(op.name, &Item::op, &op);
  }
}

const std::map<std::string, Item, std::less<>> &ModuleIndex::items(const Module &module) const {
  return itemsOf.at(&module);
}

const Item *ModuleIndex::find(const Module &from, std::string_view path) const {
  const Module *module = &from;
  if (size_t dot = path.find('.'); dot != std::string_view::npos) {
    auto used = from.uses.find(path.substr(0, dot));
    if (used == from.uses.end())
      return nullptr;
    module = &set.modules[used->second];
    path = path.substr(dot + 1);
  }
  const auto &items = itemsOf.at(module);
  auto found = items.find(path);
  return found == items.end() ? nullptr : &found->second;
}

std::string ModuleIndex::suggest(const Module &from, std::string_view path,
                                 bool (*wanted)(const Item &),
                                 const std::vector<std::string> &others) const {
  size_t dot = path.find('.');
  std::string_view head = path.substr(0, dot);
  if (dot != std::string_view::npos && !from.uses.contains(head)) {
    // Some other module of the spec may be the one that was meant.
    for (const Module &module : set.modules) {
      size_t last = module.name.rfind('.');
      std::string_view shortName = std::string_view(module.name);
      if (last != std::string::npos)
        shortName = shortName.substr(last + 1);
      if (!module.name.empty() && &module != &from && shortName == head)
        return fmt::format("add `use {}` at the head of the file", module.name);
    }
    std::vector<std::string> heads;
    for (const auto &[alias, index] : from.uses)
      heads.push_back(alias);
    if (std::string found = closest(head, heads); !found.empty())
      return fmt::format("did you mean `{}{}`?", found, path.substr(dot));
  }

  std::string_view last = dot == std::string_view::npos ? path : path.substr(path.rfind('.') + 1);
  std::vector<std::string> candidates = others;
  auto addItems = [&](const Module &module, const std::string &prefix) {
    for (const auto &[name, item] : items(module))
      if (wanted(item)) {
        if (name == last && prefix + name != path)
          candidates.insert(candidates.begin(), prefix + name);
        candidates.push_back(prefix + name);
      }
  };
  addItems(from, "");
  for (const auto &[alias, index] : from.uses)
    addItems(set.modules[index], alias + ".");
  // A name that stands in another module than was written.
  for (const std::string &candidate : candidates) {
    size_t at = candidate.rfind('.');
    if (candidate != path &&
        (at == std::string::npos ? candidate : candidate.substr(at + 1)) == last)
      return fmt::format("did you mean `{}`?", candidate);
  }
  if (std::string found = closest(path, candidates); !found.empty())
    return fmt::format("did you mean `{}`?", found);
  return {};
}

std::string closest(std::string_view name, const std::vector<std::string> &candidates) {
  std::string best;
  if (name.size() > 64)
    return best;
  size_t least = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    if (candidate.size() > 64 || candidate == name)
      continue;
    if (size_t d = distance(name, candidate); d < least && d < name.size()) {
      least = d;
      best = candidate;
    }
  }
  return best;
}

std::string sourceText(SourceRange range) {
  if (!range.file)
    return {};
  std::string_view text =
      std::string_view(range.file->text).substr(range.begin, range.end - range.begin);
  std::string out;
  bool space = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "//") {
      while (i < text.size() && text[i] != '\n')
        ++i;
      space = true;
    } else if (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
      space = true;
    } else {
      if (space && !out.empty())
        out += ' ';
      space = false;
      out += text[i];
    }
  }
  return out;
}

} // namespace h3
