//===-- codegen/driver/Driver.h - What the h3gen commands share - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each command is one file that registers itself with CLI11 and returns an exit code through
// `Outcome`. Exit codes: 0 good, 1 a comparison failed (or a warning with `lint --werror`), 2 bad
// input, 3 the machine lacks something.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_DRIVER_H
#define H3_CODEGEN_DRIVER_DRIVER_H

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace h3 {

struct Target; // backends/Target.h

enum class ExitCode { Good = 0, Different = 1, BadInput = 2, Lacking = 3 };

/// The worst of several outcomes: bad input before a difference before something lacking.
ExitCode worse(ExitCode a, ExitCode b);

/// Options that every command which reads specs has.
struct SpecOptions {
  std::vector<std::string> path; ///< --spec-path
  bool json = false;             ///< --diagnostics=json
  void addTo(CLI::App &app);
};

/// --diagnostics=json
void addDiagnosticsOption(CLI::App &app, bool &json);

/// --plugin, of every command that takes targets; what it names is loaded at once.
void addPluginOption(CLI::App &app);

/// Set by the command that ran.
using Outcome = std::shared_ptr<ExitCode>;

void registerCompile(CLI::App &app, Outcome outcome); ///< the program itself: h3gen SPEC...
void registerRun(CLI::App &app, Outcome outcome);
void registerCheck(CLI::App &app, Outcome outcome);
void registerTargets(CLI::App &app, Outcome outcome);
void registerTree(CLI::App &app, Outcome outcome);
void registerExplain(CLI::App &app, Outcome outcome);
void registerSchedules(CLI::App &app, Outcome outcome);
void registerProve(CLI::App &app, Outcome outcome);
void registerAudit(CLI::App &app, Outcome outcome);
void registerLint(CLI::App &app, Outcome outcome);
void registerFormat(CLI::App &app, Outcome outcome);
void registerBundle(CLI::App &app, Outcome outcome);
void registerInspect(CLI::App &app, Outcome outcome);
void registerEvidence(CLI::App &app, Outcome outcome);
void registerLanguageServer(CLI::App &app, Outcome outcome);

/// The target that a user names: "90" is "sm_90", all else is itself.
std::string targetName(const std::string &text);

/// The targets that a user names, each once, "all" among them. Empty with the reason printed.
std::vector<const Target *> targetsNamed(const std::vector<std::string> &names);

/// Prints `h3gen: error: MESSAGE` to standard error.
void printError(const std::string &message);

/// Writes a file that appears whole or not at all, in place of an earlier one.
std::error_code replaceFile(const std::string &path, std::string_view contents);

/// The same; false with the reason printed.
bool writeFile(const std::string &path, std::string_view contents);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_DRIVER_H
