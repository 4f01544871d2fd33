//===-- codegen/driver/RunImage.cpp - The image that a call runs ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/RunImage.h"

#include "dsl/program/Dump.h"

#include <deque>
#include <mutex>

namespace h3 {

/// The last images that this process compiled, by what decides their bytes.
static std::shared_ptr<RunnableImage> known(const std::string &key,
                                            std::shared_ptr<RunnableImage> added = nullptr) {
  constexpr size_t most = 8;
  static std::mutex mutex;
  static std::deque<std::pair<std::string, std::shared_ptr<RunnableImage>>> images;
  std::scoped_lock lock(mutex);
  if (added) {
    images.emplace_front(key, added);
    if (images.size() > most)
      images.pop_back();
    return added;
  }
  for (const auto &[name, image] : images)
    if (name == key)
      return image;
  return nullptr;
}

std::shared_ptr<RunnableImage> compileForRun(const BoundCall &call, const Target &target,
                                             RunResult &result) {
  const std::string &schedule = call.request.schedule;
  std::string key = std::string(target.name) + (call.request.dependentLaunch ? " pdl" : "") + "\n" +
                    schedule + "\n" + dump(call.program);
  // The program names its orders; what they are is in the texts.
  for (const std::unique_ptr<SourceFile> &source : call.request.spec->modules.sources)
    key += "\n" + source->text;
  std::shared_ptr<RunnableImage> made = known(key);
  if (!made) {
    std::unique_ptr<mlir::MLIRContext> context = makeContext();
    const Program *programs[] = {&call.program};
    ImageOptions options;
    options.schedule = schedule;
    options.dependentLaunch = call.request.dependentLaunch;
    std::string error;
    std::optional<Image> image =
        backendOf(target).compile(*context, programs, target, options, error);
    if (!image) {
      result.code = ExitCode::BadInput;
      result.message = error;
      return nullptr;
    }
    made = known(key, std::make_shared<RunnableImage>());
    made->image = std::move(*image);
  }
  for (const plan::Variant &variant : made->image.plans.front().variants)
    result.variants.push_back(variant.name);
  result.ptx = {made, &made->image.text};
  return made;
}

std::optional<plan::OperatorPlan> planForRun(const BoundCall &call, const Image &image,
                                             RunResult &result) {
  plan::OperatorPlan plan = image.plans.front();
  if (call.request.variant.empty())
    return plan;
  std::erase_if(plan.variants,
                [&](const plan::Variant &variant) { return variant.name != call.request.variant; });
  if (plan.variants.empty()) {
    result.code = ExitCode::BadInput;
    result.message = "the operator has no variant '" + call.request.variant + "'";
    return {};
  }
  return plan;
}

std::optional<PlannedCall>
planCall(const BoundCall &call, const plan::OperatorPlan &plan,
         llvm::function_ref<uint64_t(tensor::TensorData *storage)> addressOf, RunResult &result) {
  std::vector<plan::Tensor> tensors;
  for (const BoundMember &member : call.members)
    for (const BoundView &view : member.tensors)
      tensors.push_back(
          tensor::TensorView{view.storage, view.view}.forPlan(addressOf(view.storage)));
  PlannedCall planned;
  std::optional<plan::Decline> decline;
  if (plan.each) {
    decline = planned.list.evaluate(plan, tensors, call.parameters);
  } else {
    auto chosen = plan::evaluate(plan, tensors, call.parameters);
    if (auto *launch = std::get_if<plan::Launch>(&chosen))
      planned.single = *launch;
    else
      decline = std::get<plan::Decline>(chosen);
  }
  if (decline) {
    result.code = ExitCode::BadInput;
    result.message = plan::describe(plan, *decline);
    return {};
  }
  const char *separator = ", variant ";
  for (const plan::Launch &launch : planned.launches()) {
    result.report += separator + plan.variants[launch.variant].name;
    separator = " + ";
  }
  return planned;
}

} // namespace h3
