//===-- codegen/driver/RunImage.cpp - The image that a call runs ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/RunImage.h"

namespace h3 {

std::optional<nvptx::Image> compileForRun(const BoundCall &call, const Target &target,
                                          RunResult &result) {
  std::string error;
  std::unique_ptr<mlir::MLIRContext> context = nvptx::makeContext();
  const Program *programs[] = {&call.program};
  std::optional<nvptx::Image> image = nvptx::compile(*context, programs, target, {}, error);
  if (!image) {
    result.code = ExitCode::BadInput;
    result.message = error;
    return {};
  }
  std::vector<plan::Variant> &variants = image->plans.front().variants;
  for (const plan::Variant &variant : variants)
    result.variants.push_back(variant.name);
  if (call.request.variant.empty())
    return image;
  std::erase_if(variants,
                [&](const plan::Variant &variant) { return variant.name != call.request.variant; });
  if (variants.empty()) {
    result.code = ExitCode::BadInput;
    result.message = "the operator has no variant '" + call.request.variant + "'";
    return {};
  }
  return image;
}

std::optional<plan::Launch>
planLaunch(const BoundCall &call, const plan::OperatorPlan &plan,
           llvm::function_ref<uint64_t(tensor::TensorData *storage)> addressOf, RunResult &result) {
  std::vector<plan::Tensor> tensors;
  for (const BoundView &view : call.tensors)
    tensors.push_back(tensor::TensorView{view.storage, view.view}.forPlan(addressOf(view.storage)));
  auto chosen = plan::evaluate(plan, tensors, call.parameters);
  if (auto *decline = std::get_if<plan::Decline>(&chosen)) {
    result.code = ExitCode::BadInput;
    result.message = plan::describe(plan, *decline);
    return {};
  }
  const plan::Launch &launch = std::get<plan::Launch>(chosen);
  result.report += ", variant " + plan.variants[launch.variant].name;
  return launch;
}

} // namespace h3
