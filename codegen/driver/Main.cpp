//===-- codegen/driver/Main.cpp - The h3gen command -----------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Driver.h"
#include "codegen/driver/plugin/PluginBackend.h"

int main(int argc, char **argv) {
  CLI::App app{"h3gen compiles operator specs whose every bit is decided by the spec"};
  auto outcome = std::make_shared<h3::ExitCode>(h3::ExitCode::Good);
  h3::registerCompile(app, outcome);
  h3::registerRun(app, outcome);
  h3::registerCheck(app, outcome);
  h3::registerTargets(app, outcome);
  h3::registerTree(app, outcome);
  h3::registerExplain(app, outcome);
  h3::registerLint(app, outcome);
  h3::registerSchedules(app, outcome);
  h3::registerBundle(app, outcome);
  h3::registerInspect(app, outcome);
  h3::registerEvidence(app, outcome);
  h3::registerProve(app, outcome);
  h3::registerAudit(app, outcome);
  h3::registerFormat(app, outcome);
  h3::registerLanguageServer(app, outcome);
  if (std::string wrong = h3::loadPluginsOfEnvironment(); !wrong.empty()) {
    h3::printError(wrong);
    return static_cast<int>(h3::ExitCode::BadInput);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    // Help and version are good; a wrong command line is bad input.
    bool isGood = app.exit(error) == 0;
    return static_cast<int>(isGood ? h3::ExitCode::Good : h3::ExitCode::BadInput);
  }
  return static_cast<int>(*outcome);
}
