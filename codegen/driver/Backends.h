//===-- codegen/driver/Backends.h - What can run a bound call - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_BACKENDS_H
#define H3_CODEGEN_DRIVER_BACKENDS_H

#include "codegen/driver/Run.h"

#include <functional>
#include <span>

namespace h3 {

/// One set of tensors of a call.
struct BoundMember {
  const plan::Binding &binding;
  std::span<const BoundView> tensors; ///< one for each tensor of the program
};

/// A call that has passed the contract.
struct BoundCall {
  const Program &program;
  const plan::OperatorPlan &contract;   ///< without variants
  std::span<const BoundMember> members; ///< one, but for a list of an `each` operator
  std::span<const plan::ParameterValue> parameters;
  const RunRequest &request;
};

/// Runs a call: fills in the outputs, or says in \p result why not.
using RunBackend = void (*)(const BoundCall &call, RunResult &result);

/// By name, as in `--backend`.
struct NamedBackend {
  const char *name;
  RunBackend run;
};
std::span<const NamedBackend> runBackends();

void runReference(const BoundCall &call, RunResult &result);
void runPtx(const BoundCall &call, RunResult &result);
void runCuda(const BoundCall &call, RunResult &result);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_BACKENDS_H
