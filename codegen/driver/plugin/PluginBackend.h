//===-- codegen/driver/plugin/PluginBackend.h - A backend behind the C interface - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_PLUGIN_PLUGINBACKEND_H
#define H3_CODEGEN_DRIVER_PLUGIN_PLUGINBACKEND_H

#include "backends/Backend.h"
#include "codegen/driver/plugin/h3_backend.h"

#include <string>

namespace h3 {

/// Adds the backend of \p plugin, from the file \p path, to the list, and its targets to the table.
/// Returns what is wrong with it, in one line, and then adds nothing.
std::string addPlugin(const h3_backend *plugin, const std::string &path);

/// Loads a shared object and adds its backend. A file that is loaded already is left as it is.
/// Returns what is wrong, in one line.
std::string loadPlugin(const std::string &path);

/// Loads those that H3GEN_PLUGINS names, separated by ':'.
std::string loadPluginsOfEnvironment();

/// The file that \p backend was loaded from; empty for one of h3gen's own.
std::string pluginFileOf(std::string_view backend);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_PLUGIN_PLUGINBACKEND_H
