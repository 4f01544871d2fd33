//===-- codegen/driver/Format.cpp - h3gen fmt -----------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/format/Format.h"

#include "codegen/driver/Driver.h"
#include "codegen/driver/Specs.h"

#include <fmt/core.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>

namespace h3 {

namespace {

struct FormatOptions {
  std::vector<std::string> files;
  bool checkOnly = false;
  bool json = false;
};

ExitCode formatFile(const std::string &path, const FormatOptions &options) {
  bool isInput = path == "-";
  auto buffer = isInput ? llvm::MemoryBuffer::getSTDIN() : llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    printError("cannot read '" + path + "': " + buffer.getError().message());
    return ExitCode::BadInput;
  }
  SourceFile source{isInput ? "<standard input>" : path, (*buffer)->getBuffer().str()};
  Diagnostics diagnostics;
  std::optional<std::string> text = format(source, diagnostics);
  if (!text) {
    printDiagnostics(diagnostics, options.json);
    return ExitCode::BadInput;
  }
  bool isChanged = *text != source.text;
  if (options.checkOnly) {
    if (isChanged)
      fmt::print("{}: not formatted\n", source.path);
    return isChanged ? ExitCode::Different : ExitCode::Good;
  }
  if (isInput) {
    fmt::print("{}", *text);
    return ExitCode::Good;
  }
  if (!isChanged)
    return ExitCode::Good;
  // What a link points to is written, and the file keeps its permissions.
  llvm::SmallString<128> real;
  std::string target = llvm::sys::fs::real_path(path, real) ? path : std::string(real);
  llvm::ErrorOr<llvm::sys::fs::perms> permissions = llvm::sys::fs::getPermissions(target);
  if (!writeFile(target, *text))
    return ExitCode::BadInput;
  if (permissions)
    llvm::sys::fs::setPermissions(target, *permissions);
  return ExitCode::Good;
}

} // namespace

void registerFormat(CLI::App &app, Outcome outcome) {
  auto options = std::make_shared<FormatOptions>();
  CLI::App *command = app.add_subcommand("fmt", "Format specs in place");
  command
      ->add_option("FILE", options->files,
                   "Spec files; '-' formats standard input onto standard output")
      ->required();
  command->add_flag("--check", options->checkOnly,
                    "Change nothing; name what is not formatted and exit with 1");
  addDiagnosticsOption(*command, options->json);
  command->callback([options, outcome] {
    for (const std::string &path : options->files)
      *outcome = worse(*outcome, formatFile(path, *options));
  });
}

} // namespace h3
