//===-- codegen/driver/RunReference.cpp - The reference interpreter as a backend -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Backends.h"
#include "dsl/interpreter/Interpreter.h"

namespace h3 {

void runReference(const BoundCall &call, RunResult &result) {
  Arguments arguments;
  const Program &program = call.program;
  arguments.dims.assign(call.binding.dims.begin(), call.binding.dims.begin() + program.dims.size());
  arguments.parameters.assign(call.binding.parameters.begin(),
                              call.binding.parameters.begin() + program.parameters.size());
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    const plan::BoundTensor &bound = call.binding.tensors[i];
    TensorView view;
    view.data = reinterpret_cast<std::byte *>(bound.address);
    view.strides.assign(bound.strides.begin(),
                        bound.strides.begin() + program.tensors[i].extents.size());
    arguments.tensors.push_back(view);
  }
  if (std::optional<std::string> error = interpret(program, arguments)) {
    result.code = ExitCode::BadInput;
    result.message = *error;
    return;
  }
  result.report = "reference interpreter";
}

} // namespace h3
