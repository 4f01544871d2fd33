//===-- codegen/driver/Depfile.cpp - What a build system must watch -------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Depfile.h"

#include "codegen/driver/CompilerBuild.h"

#include <algorithm>

namespace h3 {

std::vector<std::string> filesRead(const LoadedSpec &spec) {
  std::vector<std::string> files;
  for (const std::unique_ptr<SourceFile> &source : spec.modules.sources) {
    std::string path = source->onDisk ? source->path : programPath();
    if (std::find(files.begin(), files.end(), path) == files.end())
      files.push_back(std::move(path));
  }
  return files;
}

/// Backslashes count only in front of what a backslash protects; there they are doubled.
static std::string escaped(const std::string &path) {
  std::string result;
  size_t backslashes = 0;
  for (char c : path) {
    if (c == ' ' || c == '\t' || c == '#' || c == ':')
      result.append(backslashes + 1, '\\');
    else if (c == '$')
      result += '$';
    backslashes = c == '\\' ? backslashes + 1 : 0;
    result += c;
  }
  return result;
}

std::optional<std::string> depfile(std::span<const std::string> targets,
                                   std::span<const std::string> prerequisites) {
  auto isReadable = [](const std::string &path) { return path.find('\n') == std::string::npos; };
  if (!std::ranges::all_of(targets, isReadable) || !std::ranges::all_of(prerequisites, isReadable))
    return {};
  std::string text;
  for (const std::string &path : targets)
    text += (text.empty() ? "" : " \\\n  ") + escaped(path);
  text += ":";
  for (const std::string &path : prerequisites)
    text += " \\\n  " + escaped(path);
  text += "\n";
  return text;
}

} // namespace h3
