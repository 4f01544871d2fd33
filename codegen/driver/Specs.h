//===-- codegen/driver/Specs.h - Specs on the command line ---- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_SPECS_H
#define H3_CODEGEN_DRIVER_SPECS_H

#include "dsl/program/Analysis.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace h3 {

struct SpecOptions;

/// A spec with its modules, loaded and checked.
struct LoadedSpec {
  ModuleSet modules;
  std::vector<const ast::Operator *> operators;
};

/// Loads \p path with `use` searched beside it, in \p searchPath, then in the specs that are part
/// of the program. False after an error, which is in \p diagnostics; \p spec keeps what they point
/// to. \p unsaved is that of `SpecSearch`.
bool loadSpec(const std::string &path, const std::vector<std::string> &searchPath, LoadedSpec &spec,
              Diagnostics &diagnostics,
              const std::map<std::string, std::string> *unsaved = nullptr);

/// The same for a spec whose text is given.
bool loadSpecText(const std::string &text, const std::vector<std::string> &searchPath,
                  LoadedSpec &spec, Diagnostics &diagnostics);

/// One operator with every choice of its types.
struct OperatorInstances {
  const ast::Operator *op = nullptr;
  std::vector<std::unique_ptr<Program>> programs;
};

/// All operators of a spec for all their types. Empty after an error.
std::vector<OperatorInstances> instances(const LoadedSpec &spec, Diagnostics &diagnostics);

/// Which operators and types of a spec are meant: `--op` and `--set T=f16`.
struct InstanceChoice {
  std::string op;                    ///< empty: all
  std::vector<std::string> settings; ///< TYPE_PARAMETER=TYPE
  void addTo(CLI::App &app);
};

/// The instances that \p choice leaves, each operator with at least one. Empty with the reason in
/// \p problem (a choice that names nothing) or in \p diagnostics.
std::vector<OperatorInstances> instances(const LoadedSpec &spec, const InstanceChoice &choice,
                                         Diagnostics &diagnostics, std::string &problem);

/// Loads \p path and gives the instances that \p choice leaves. Empty after an error, which is
/// printed.
std::vector<OperatorInstances> loadInstances(const std::string &path, const SpecOptions &options,
                                             const InstanceChoice &choice, LoadedSpec &spec);

/// The orders of the modules `eager.*` that are part of the program, named as in "norm.row_vec4":
/// those of the references that specs follow.
std::vector<Order> referenceOrders();

/// Prints the errors to standard error, as text or as JSON.
void printDiagnostics(const Diagnostics &diagnostics, bool json);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_SPECS_H
