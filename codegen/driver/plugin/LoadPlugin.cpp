//===-- codegen/driver/plugin/LoadPlugin.cpp - Shared objects with backends -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/plugin/PluginBackend.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <cstdlib>
#include <set>

#include <dlfcn.h>

namespace h3 {

std::string loadPlugin(const std::string &path) {
  static std::set<std::string> loaded;
  auto problem = [&](const std::string &what) { return "the plugin '" + path + "': " + what; };
  // With a folder in front: a bare name would be looked for in the system's folders.
  llvm::SmallString<128> whole;
  if (std::error_code code = llvm::sys::fs::real_path(path, whole))
    return problem("it cannot be opened: " + code.message());
  std::string file = whole.str().str();
  if (loaded.contains(file))
    return {};
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    llvm::StringRef why = dlerror();
    why.consume_front(file);
    why.consume_front(": ");
    return problem("it is no shared object that loads: " + why.str());
  }
  void *symbol = dlsym(library, H3_BACKEND_GET);
  if (!symbol)
    return problem("it exports no '" H3_BACKEND_GET "', and so is no plugin of h3gen");
  auto get = reinterpret_cast<h3_backend_get_function>(symbol);
  std::string wrong = addPlugin(get(H3_BACKEND_INTERFACE), file);
  if (!wrong.empty())
    return problem(wrong);
  loaded.insert(file);
  return {};
}

std::string loadPluginsOfEnvironment() {
  const char *names = std::getenv("H3GEN_PLUGINS");
  llvm::SmallVector<llvm::StringRef> paths;
  llvm::StringRef(names ? names : "").split(paths, ':', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef path : paths)
    if (std::string wrong = loadPlugin(path.str()); !wrong.empty())
      return wrong;
  return {};
}

} // namespace h3
