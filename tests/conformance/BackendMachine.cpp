//===-- tests/conformance/BackendMachine.cpp - What a backend runs on this machine -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include "backends/Backend.h"

#include <algorithm>

namespace h3::test {
namespace {

/// Calls go through `Backend::execute`, as those of `h3gen run` do.
class BackendMachine : public Machine {
public:
  BackendMachine(Image compiled, const Target &target)
      : image(std::move(compiled)), target(target) {
    operatorPlan = image.plans.front();
    deviceName = std::string(target.name);
  }

  std::vector<uint64_t> place(const DrawnCall &call, std::string &error) override {
    memory.clear();
    buffers.clear();
    std::vector<uint64_t> addresses;
    for (const DrawnBuffer &buffer : call.buffers) {
      // Aligned as a device's memory is.
      auto &bytes = memory.emplace_back(buffer.bytes.size() + alignment);
      auto address = reinterpret_cast<uint64_t>(bytes.data());
      uint64_t padding = (alignment - address % alignment) % alignment;
      buffers.push_back({buffer.name, std::span(bytes).subspan(padding, buffer.bytes.size()),
                         buffer.isRead, buffer.isWritten});
      addresses.push_back(address + padding);
    }
    error = restore(call);
    return addresses;
  }

  std::string launch(const plan::Launch &launch) override {
    std::string report;
    auto launches = [&](std::span<const uint64_t>) { return std::span(&launch, 1); };
    return backendOf(target)
        .execute(image, target, {operatorPlan, buffers, launches}, report)
        .value_or("");
  }

  std::string restore(const DrawnCall &call) override {
    for (size_t k = 0; k < buffers.size(); ++k)
      std::ranges::copy(call.buffers[k].bytes, buffers[k].bytes.begin());
    return {};
  }

  Memory fetch(const DrawnCall &, std::string &) override {
    Memory now;
    for (const Buffer &buffer : buffers)
      now.emplace_back(buffer.bytes.begin(), buffer.bytes.end());
    return now;
  }

private:
  static constexpr uint64_t alignment = 256;
  Image image;
  const Target &target;
  Memory memory;
  std::vector<Buffer> buffers;
};

} // namespace

std::unique_ptr<Machine> makeBackendMachine(const Instance &instance, const Target &target,
                                            std::string &error, bool &isMissing) {
  error = backendOf(target).ability(target, Step::Execute).obstacle;
  isMissing = !error.empty();
  if (isMissing)
    return nullptr;
  static const std::unique_ptr<mlir::MLIRContext> context = makeContext();
  const Program *programs[] = {instance.program};
  std::optional<Image> image = backendOf(target).compile(*context, programs, target, {}, error);
  return image ? std::make_unique<BackendMachine>(std::move(*image), target) : nullptr;
}

} // namespace h3::test
