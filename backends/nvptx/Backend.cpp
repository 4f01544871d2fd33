//===-- backends/nvptx/Backend.cpp - The backend for NVIDIA's GPUs --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/Backend.h"

#include "backends/nvptx/Compile.h"
#include "backends/nvptx/Tools.h"
#include "backends/nvptx/ptx/Interpreter.h"
#include "backends/nvptx/ptx/Reader.h"

#include <llvm/Support/FormatVariadic.h>

namespace h3::nvptx {
namespace {

/// What the PTX interpreter has read of an image.
struct ReadImage : Prepared {
  explicit ReadImage(ptx::Module module) : module(std::move(module)) {}
  ptx::Module module;
};

class NvptxBackend : public Backend {
public:
  NvptxBackend() : Backend("nvptx") {}

  Machine machine(const Target &target) const override { return machineOf(target); }

  Ability ability(const Target &target, Step step, const std::string &tool) const override;

  std::vector<KernelSchedule> schedules(const Program &program, const Target &target,
                                        const std::vector<Job> &jobs,
                                        std::string &error) const override {
    return schedulesFor(program, target, jobs, error);
  }

  std::optional<Image> compile(mlir::MLIRContext &context, std::span<const Program *const> programs,
                               const Target &target, const ImageOptions &options,
                               std::string &error) const override {
    return nvptx::compile(context, programs, target, options, error);
  }

  std::optional<Assembly> assemble(const Image &image, const Target &target,
                                   const std::optional<Tool> &ptxas,
                                   std::string &error) const override {
    return nvptx::assemble(*ptxas, image.text, target, error);
  }

  std::optional<std::string> execute(Image &image, const Target &target, const Execution &call,
                                     std::string &report) const override;
};

Ability NvptxBackend::ability(const Target &, Step step, const std::string &tool) const {
  Ability ability;
  // PTX is compiled, run by its interpreter and proved by this program alone.
  if (step == Step::Assemble)
    ability.tool = findTool("ptxas", tool, "H3GEN_PTXAS", ability.obstacle);
  const bool isNamed = !tool.empty() || std::getenv("H3GEN_PTXAS");
  if (!ability && !isNamed)
    ability.obstacle = "no cubin: " + ability.obstacle;
  return ability;
}

/// The buffers' own addresses stand for addresses on a device.
std::optional<std::string> NvptxBackend::execute(Image &image, const Target &target,
                                                 const Execution &call, std::string &report) const {
  if (!image.prepared) {
    auto module = ptx::read(image.text);
    if (!module)
      return module.error().message();
    image.prepared = std::make_shared<ReadImage>(std::move(*module));
  }
  const ptx::Module &module = static_cast<const ReadImage &>(*image.prepared).module;
  std::vector<ptx::Region> regions;
  std::vector<uint64_t> addresses;
  for (const Buffer &buffer : call.buffers) {
    ptx::Region &region = regions.emplace_back();
    region.name = buffer.name;
    region.address = reinterpret_cast<uint64_t>(buffer.bytes.data());
    region.bytes = buffer.bytes;
    region.writable = buffer.isWritten;
    region.initialised = buffer.isRead;
    addresses.push_back(region.address);
  }
  report = "PTX interpreter (" + std::string(target.name) + ")";
  uint64_t instructions = 0;
  for (const plan::Launch &launch : call.launches(addresses)) {
    if (launch.isEmpty())
      continue;
    ptx::RunStatistics statistics;
    if (std::optional<ptx::Fault> fault =
            ptx::run(module, call.plan.variants[launch.variant].entry, ptx::LaunchConfig(launch),
                     regions, {}, &statistics))
      return fault->message();
    instructions += statistics.instructions;
  }
  if (instructions)
    report += llvm::formatv(", {0} instructions", instructions).str();
  return {};
}

} // namespace

const Backend &backend() {
  static const NvptxBackend backend;
  return backend;
}

} // namespace h3::nvptx
