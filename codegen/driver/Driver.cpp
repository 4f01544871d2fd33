//===-- codegen/driver/Driver.cpp - What the h3gen commands share ---------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Driver.h"

#include <fmt/core.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <cstdio>

namespace h3 {

ExitCode worse(ExitCode a, ExitCode b) {
  auto rank = [](ExitCode code) {
    switch (code) {
    case ExitCode::Good:
      return 0;
    case ExitCode::Lacking:
      return 1;
    case ExitCode::Different:
      return 2;
    case ExitCode::BadInput:
      return 3;
    }
    return 0;
  };
  return rank(a) >= rank(b) ? a : b;
}

void SpecOptions::addTo(CLI::App &app) {
  app.add_option("--spec-path", path, "Folders in which 'use' looks for modules")
      ->type_name("DIR")
      ->allow_extra_args(false);
  addDiagnosticsOption(app, json);
}

void addDiagnosticsOption(CLI::App &app, bool &json) {
  app.add_option_function<std::string>(
         "--diagnostics", [&json](const std::string &form) { json = form == "json"; },
         "How errors in specs are printed")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORM");
}

void printError(const std::string &message) { fmt::print(stderr, "h3gen: error: {}\n", message); }

std::error_code replaceFile(const std::string &path, std::string_view contents) {
  llvm::SmallString<128> temporary;
  int descriptor;
  std::error_code code = llvm::sys::fs::createUniqueFile(
      path + ".%%%%%%.tmp", descriptor, temporary, llvm::sys::fs::OF_None,
      llvm::sys::fs::all_read | llvm::sys::fs::owner_write);
  if (!code) {
    llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream << llvm::StringRef(contents.data(), contents.size());
    stream.close();
    code = stream.error();
    stream.clear_error();
    if (!code)
      code = llvm::sys::fs::rename(temporary, path);
    if (code)
      llvm::sys::fs::remove(temporary);
  }
  return code;
}

bool writeFile(const std::string &path, std::string_view contents) {
  std::error_code code = replaceFile(path, contents);
  if (code)
    printError("cannot write '" + path + "': " + code.message());
  return !code;
}

} // namespace h3
