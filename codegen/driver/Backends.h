//===-- codegen/driver/Backends.h - What can run a bound call - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_BACKENDS_H
#define H3_CODEGEN_DRIVER_BACKENDS_H

#include "backends/Backend.h"
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
using RunBackend = std::function<void(const BoundCall &call, RunResult &result)>;

/// By name, as in `--backend`: "reference"; "cuda", a device; "ptx", the PTX interpreter; or any
/// other backend that runs its images itself. Empty if there is none of that name.
RunBackend runBackend(std::string_view name);

void runReference(const BoundCall &call, RunResult &result);
void runCuda(const BoundCall &call, RunResult &result);

/// Runs the image for \p target, as its backend does it on this machine. Null: for the last of
/// \p backend's targets that this machine runs.
void runHere(const BoundCall &call, const Backend &backend, const Target *target,
             RunResult &result);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_BACKENDS_H
