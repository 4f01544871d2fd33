//===-- runtime/dispatch/LoadSession.cpp - Loading one operator on a device -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/dispatch/LoadSession.h"

#include <algorithm>

namespace h3::rt {

using plan::DeclineReason;

std::optional<Problem> LoadSession::problem(h3rt_driver_result status,
                                            const std::string &step) const {
  if (status.kind == H3RT_DRIVER_OK)
    return std::nullopt;
  return problemOf(driver, status, step);
}

std::optional<Problem> LoadSession::load(const Row &row, Entry &entry) {
  if (auto failed = problem(api.enter(api.user, context.handle), "entering the context"))
    return failed;
  modulesBefore = context.modules.size();
  std::optional<Problem> result;
  if (auto failed = problem(api.open_stream(api.user, &stream), "making a stream")) {
    result = failed;
  } else {
    result = inside(row, entry);
    auto closed = problem(api.close_stream(api.user, stream), "ending a stream");
    if (!result)
      result = closed;
  }
  if (result)
    unloadFresh();
  auto left = problem(api.leave(api.user, context.handle), "leaving the context");
  if (!left || result)
    return result;
  // Out of the context nothing can be unloaded: what is loaded there stays for the next try.
  return left;
}

void LoadSession::unloadFresh() {
  for (size_t i = modulesBefore; i < context.modules.size(); ++i)
    api.unload(api.user, context.modules[i].module);
  context.modules.resize(modulesBefore);
}

std::optional<Problem> LoadSession::inside(const Row &row, Entry &entry) {
  void *module = nullptr;
  if (auto failed = chooseImage(row, *row.bundled, row.op->name, entry, module))
    return failed;
  if (auto failed = loadKernels(*row.instance, module, entry.kernels))
    return failed;
  for (uint32_t probe : row.bundled->probes)
    if (auto failed = checkProbe(row, row.bundleSet->probes[probe]))
      return failed;
  return check(row.op->name, *row.instance, row.definition->checks, entry.kernels);
}

std::optional<Problem> LoadSession::chooseImage(const Row &row, const bundle::Operator &op,
                                                const std::string &name, Entry &entry,
                                                void *&module) {
  std::optional<Problem> refused;
  if (op.cubin) {
    refused = loadModule(row.bundle->images[*op.cubin], module);
    if (!refused || refused->reason != DeclineReason::WrongImage ||
        refused->failure != H3RT_FAILURE_NONE)
      return refused;
  }
  if (op.ptx && allowPtx) {
    refused = loadModule(row.bundle->images[*op.ptx], module);
    entry.isAssembledByDriver = !refused;
  }
  if (refused || module)
    return refused;
  return Problem{.reason = DeclineReason::NoImage,
                 .text = name + " for " + row.target +
                         (op.ptx ? " is PTX alone, which the host does not allow" : " has none"),
                 .isLasting = true};
}

std::optional<Problem> LoadSession::loadModule(const bundle::Image &image, void *&module) {
  for (const Context::LoadedModule &loaded : context.modules)
    if (loaded.image == &image) {
      module = loaded.module;
      return std::nullopt;
    }
  const int32_t kind = image.kind == bundle::ImageKind::Cubin ? H3RT_IMAGE_BINARY : H3RT_IMAGE_PTX;
  void *loaded = nullptr;
  if (auto failed = problem(
          api.load(api.user, image.bytes.data(), image.bytes.size(), kind, &loaded), image.name))
    return failed;
  module = loaded;
  context.modules.push_back({&image, module});
  return std::nullopt;
}

std::optional<Problem> LoadSession::loadKernels(const bundle::Instance &instance, void *module,
                                                std::vector<void *> &kernels) {
  kernels.clear();
  for (const plan::Variant &variant : instance.plan.variants) {
    uint32_t shared = 0;
    if (variant.sharedBytes != plan::kNoExpr) {
      const plan::ExprNode &node = instance.plan.nodes[variant.sharedBytes];
      if (node.op != plan::ExprOp::Constant || node.value < 0 || node.value > plan::kMaxSharedBytes)
        return Problem{.reason = DeclineReason::WrongImage,
                       .text = variant.entry + ": its shared memory is no constant",
                       .isLasting = true};
      shared = static_cast<uint32_t>(node.value);
    }
    void *kernel = nullptr;
    if (auto failed = problem(api.kernel(api.user, module, variant.entry.c_str(), shared, &kernel),
                              variant.entry))
      return failed;
    kernels.push_back(kernel);
  }
  return std::nullopt;
}

std::optional<Problem> LoadSession::checkProbe(const Row &row, const bundle::Operator &probe) {
  auto rejection = [](const std::string &text) {
    return Problem{.reason = DeclineReason::SelfcheckFailed, .text = text, .isLasting = true};
  };
  for (const auto &[known, text] : device.probes)
    if (known == &probe)
      return text.empty() ? std::nullopt : std::optional(rejection(text));
  Entry entry;
  void *module = nullptr;
  const bundle::Definition &definition = row.bundle->probes[probe.definition];
  std::optional<Problem> failed = chooseImage(row, probe, definition.name, entry, module);
  for (size_t i = 0; i < probe.instances.size(); ++i) {
    if (!failed)
      failed = loadKernels(probe.instances[i], module, entry.kernels);
    if (!failed)
      failed =
          check(definition.name, probe.instances[i], definition.instances[i].checks, entry.kernels);
  }
  if (!failed || (failed->isLasting && failed->reason == DeclineReason::SelfcheckFailed))
    device.probes.emplace_back(&probe, failed ? failed->text : std::string());
  return failed;
}

std::optional<Problem> LoadSession::check(const std::string &name, const bundle::Instance &instance,
                                          std::span<const bundle::SelfCheck> checks,
                                          const std::vector<void *> &kernels) {
  const plan::OperatorPlan &plan = instance.plan;
  for (size_t number = 0; number < checks.size(); ++number) {
    const bundle::SelfCheck &check = checks[number];
    layout = bundle::layoutOf(plan, check);
    pristine.resize(layout.bytes);
    downloaded.resize(layout.bytes);
    bundle::fill(plan, check, layout, pristine);
    uint64_t memory = 0;
    if (auto failed = problem(api.allocate(api.user, layout.bytes, &memory), "memory for a check"))
      return failed;
    std::optional<Problem> failed;
    for (size_t variant = 0; variant < plan.variants.size() && !failed; ++variant) {
      const std::vector<uint32_t> &wanted = instance.checksOfVariant[variant];
      if (std::find(wanted.begin(), wanted.end(), number) == wanted.end())
        continue;
      bool isEqual = false;
      failed = checkVariant(instance, check, variant, kernels[variant], memory, isEqual);
      if (!failed && !isEqual)
        failed =
            Problem{.reason = DeclineReason::SelfcheckFailed,
                    .text = "variant " + plan.variants[variant].name + " of " + name +
                            " differs from the reference in check " + std::to_string(number + 1) +
                            " of " + std::to_string(checks.size()),
                    .isLasting = true};
    }
    auto released = problem(api.release(api.user, memory), "memory of a check");
    if (failed)
      return failed;
    if (released)
      return released;
  }
  return std::nullopt;
}

std::optional<Problem> LoadSession::checkVariant(const bundle::Instance &instance,
                                                 const bundle::SelfCheck &check, size_t variant,
                                                 void *kernel, uint64_t memory, bool &isEqual) {
  const plan::OperatorPlan alone = bundle::planOfVariant(instance.plan, variant);
  const std::vector<plan::Tensor> tensors = bundle::tensorsOf(alone, check, layout, memory);
  auto outside = [&](const plan::Decline &declined) {
    return Problem{.reason = DeclineReason::SelfcheckFailed,
                   .text = "its check is out of contract: " + plan::describe(alone, declined),
                   .isLasting = true};
  };

  // Until here nothing of ours has run: an error that shows now is somebody else's.
  if (auto failed = problem(api.upload(api.user, stream, memory, pristine.data(), pristine.size()),
                            "a check's data"))
    return failed;
  if (auto failed = problem(api.synchronize(api.user, stream), "a check's data"))
    return failed;

  const std::string step = "checking variant " + alone.variants[0].name;
  if (alone.each) {
    plan::ListCall list;
    if (auto declined = list.evaluate(alone, tensors, check.parameters))
      return outside(*declined);
    for (const plan::Launch &launch : list.launches())
      if (auto failed = problem(rt::launch(driver, context.handle, stream, kernel, launch), step))
        return failed;
  } else {
    auto evaluated = plan::evaluate(alone, tensors, check.parameters);
    if (const auto *declined = std::get_if<plan::Decline>(&evaluated))
      return outside(*declined);
    const plan::Launch &launch = std::get<plan::Launch>(evaluated);
    if (!launch.isEmpty())
      if (auto failed = problem(rt::launch(driver, context.handle, stream, kernel, launch), step))
        return failed;
  }
  if (auto failed = problem(api.synchronize(api.user, stream), step))
    return failed;
  if (auto failed = problem(
          api.download(api.user, stream, downloaded.data(), memory, downloaded.size()), step))
    return failed;
  if (auto failed = problem(api.synchronize(api.user, stream), step))
    return failed;
  isEqual = bundle::digestOfOutputs(alone, check, layout, downloaded) == check.outputs;
  return std::nullopt;
}

} // namespace h3::rt
