//===-- backends/cpu/Backend.cpp - The backend for CPUs -------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/Backend.h"

#include "backends/cpu/Compile.h"
#include "backends/cpu/LinkImage.h"
#include "runtime/cpu/Parallel.h"

#include <chrono>

namespace h3::cpu {
namespace {

/// What was mapped of an image.
struct ReadyImage : Prepared {
  explicit ReadyImage(MappedImage image) : image(std::move(image)) {}
  MappedImage image;
};

/// Whether this machine has the target's instructions.
bool executes(const Target &target) {
  if (target.name == "aarch64") {
#if defined(__aarch64__)
    return true;
#else
    return false;
#endif
  }
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (target.name == "x86-64-v2")
    return __builtin_cpu_supports("x86-64-v2");
  if (target.name == "x86-64-v3")
    return __builtin_cpu_supports("x86-64-v3");
  if (target.name == "x86-64-v4")
    return __builtin_cpu_supports("x86-64-v4");
#endif
  return false;
}

class CpuBackend : public Backend {
public:
  CpuBackend() : Backend("cpu") {}

  Machine machine(const Target &target) const override { return machineOf(target); }

  Ability ability(const Target &target, Step step, const std::string &) const override {
    Ability ability;
    if (step == Step::Execute && !executes(target))
      ability.obstacle =
          "this machine's processor has not all instructions of " + std::string(target.name);
    if (step == Step::Prove)
      ability.obstacle = "only PTX is proved";
    return ability;
  }

  std::vector<KernelSchedule> schedules(const Program &, const Target &target,
                                        const std::vector<Job> &jobs,
                                        std::string &error) const override {
    return schedulesFor(target, jobs, error);
  }

  std::optional<Image> compile(mlir::MLIRContext &context, std::span<const Program *const> programs,
                               const Target &target, const ImageOptions &options,
                               std::string &error) const override {
    return cpu::compile(context, programs, target, options, error);
  }

  /// This program links by itself.
  std::optional<Assembly> assemble(const Image &image, const Target &, const std::optional<Tool> &,
                                   std::string &error) const override {
    auto start = std::chrono::steady_clock::now();
    std::optional<std::vector<char>> linked = linkImage(image.text, error);
    if (!linked)
      return {};
    Assembly assembly;
    assembly.bytes = std::move(*linked);
    assembly.ending = ".h3i";
    std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    assembly.milliseconds = elapsed.count();
    return assembly;
  }

  std::optional<std::string> execute(Image &image, const Target &target, const Execution &call,
                                     std::string &report) const override;
};

std::optional<std::string> CpuBackend::execute(Image &image, const Target &target,
                                               const Execution &call, std::string &report) const {
  if (!image.prepared) {
    std::string error;
    std::optional<std::vector<char>> linked = linkImage(image.text, error);
    if (!linked)
      return error;
    auto mapped = MappedImage::map(std::as_bytes(std::span(*linked)));
    if (!mapped)
      return mapped.error();
    image.prepared = std::make_shared<ReadyImage>(std::move(*mapped));
  }
  const MappedImage &code = static_cast<const ReadyImage &>(*image.prepared).image;
  std::vector<uint64_t> addresses;
  uint64_t bytes = 0;
  for (const Buffer &buffer : call.buffers) {
    addresses.push_back(reinterpret_cast<uint64_t>(buffer.bytes.data()));
    bytes += buffer.bytes.size();
  }
  report = "this machine (" + std::string(target.name) + ")";
  for (const plan::Launch &launch : call.launches(addresses)) {
    if (launch.isEmpty())
      continue;
    const std::string &entry = call.plan.variants[launch.variant].entry;
    Entry function = code.find(entry);
    if (!function)
      return "the image has no entry '" + entry + "'";
    run(function, launch, defaultParallelFor(), bytes);
  }
  return {};
}

} // namespace

const Backend &backend() {
  static const CpuBackend backend;
  return backend;
}

} // namespace h3::cpu
