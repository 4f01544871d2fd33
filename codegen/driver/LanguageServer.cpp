//===-- codegen/driver/LanguageServer.cpp - h3gen lsp ---------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Driver.h"
#include "codegen/driver/lsp/Server.h"

#include <llvm/Support/LSP/Logging.h>
#include <llvm/Support/Program.h>

namespace h3 {

void registerLanguageServer(CLI::App &app, Outcome outcome) {
  struct State {
    std::vector<std::string> searchPath;
    bool isTest = false;
  };
  auto state = std::make_shared<State>();
  CLI::App *command =
      app.add_subcommand("lsp", "Serve an editor: the language server protocol on standard input");
  command->add_option("--spec-path", state->searchPath, "Folders in which 'use' looks for modules")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command->add_flag("--lit-test", state->isTest,
                    "Read messages separated by '// -----' and print answers for a person");
  command->callback([state, outcome] {
    llvm::sys::ChangeStdinToBinary();
    llvm::lsp::Logger::setLogLevel(llvm::lsp::Logger::Level::Error);
    llvm::lsp::JSONTransport transport(stdin, llvm::outs(),
                                       state->isTest ? llvm::lsp::JSONStreamStyle::Delimited
                                                     : llvm::lsp::JSONStreamStyle::Standard,
                                       state->isTest);
    // As the protocol has it: an `exit` without `shutdown` is a failure.
    if (!lsp::serve(transport, state->searchPath))
      *outcome = ExitCode::Different;
  });
}

} // namespace h3
