//===-- codegen/driver/RunReference.cpp - The reference interpreter as a backend -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Backends.h"
#include "dsl/interpreter/Interpreter.h"

namespace h3 {

static std::optional<std::string> interpret(const BoundCall &call, const BoundMember &member) {
  Arguments arguments;
  const Program &program = call.program;
  const plan::Binding &binding = member.binding;
  arguments.dims.assign(binding.dims.begin(), binding.dims.begin() + program.dims.size());
  arguments.parameters.assign(binding.parameters.begin(),
                              binding.parameters.begin() + program.parameters.size());
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    const plan::BoundTensor &bound = binding.tensors[i];
    TensorView view;
    view.data = reinterpret_cast<std::byte *>(bound.address);
    view.strides.assign(bound.strides.begin(),
                        bound.strides.begin() + program.tensors[i].extents.size());
    arguments.tensors.push_back(view);
  }
  return interpret(program, arguments);
}

void runReference(const BoundCall &call, RunResult &result) {
  for (const BoundMember &member : call.members)
    if (std::optional<std::string> error = interpret(call, member)) {
      result.code = ExitCode::BadInput;
      result.message = *error;
      return;
    }
  result.report = "reference interpreter";
}

} // namespace h3
