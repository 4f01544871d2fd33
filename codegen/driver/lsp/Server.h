//===-- codegen/driver/lsp/Server.h - The language server ----- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Answers an editor over JSON-RPC, on LLVM's support for the language server protocol.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_LSP_SERVER_H
#define H3_CODEGEN_DRIVER_LSP_SERVER_H

#include <llvm/Support/LSP/Transport.h>

#include <string>
#include <vector>

namespace h3::lsp {

/// Serves until the editor says `exit` or its stream ends. True if it said `shutdown` before.
bool serve(llvm::lsp::JSONTransport &transport, const std::vector<std::string> &searchPath);

} // namespace h3::lsp

#endif // H3_CODEGEN_DRIVER_LSP_SERVER_H
