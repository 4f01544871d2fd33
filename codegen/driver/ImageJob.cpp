//===-- codegen/driver/ImageJob.cpp - One operator on one target ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/ImageJob.h"

#include "backends/nvptx/Tools.h"
#include "codegen/driver/ImageCache.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <thread>

namespace h3 {
namespace {

/// What a reader of a generated file wants to know first.
std::string header(const ImageJob &job) {
  return fmt::format("// h3gen {}: {} for {}\n// Generated. Change the spec instead.\n",
                     H3GEN_VERSION, job.path->substr(job.path->rfind('/') + 1), job.target->name);
}

std::string plansOf(const Image &image) {
  std::string plans;
  for (const plan::OperatorPlan &plan : image.plans)
    plans += (plans.empty() ? "" : ",") + plan::toJson(plan);
  return "[" + plans + "]";
}

/// The launch plans of an image and what it was made by: what a host needs beside the code.
std::string manifest(const std::string &plans, unsigned ptxVersion, const Target &target,
                     const std::optional<Tool> &assembler) {
  std::string text = fmt::format(R"({{"h3gen":"{}","plans":{})", H3GEN_VERSION, plans);
  if (ptxVersion)
    text += fmt::format(R"(,"ptx_version":{})", ptxVersion);
  if (assembler)
    text += fmt::format(R"(,"{}":"{}")", assembler->name, assembler->version);
  return text + fmt::format(R"(,"target":"{}"}})"
                            "\n",
                            target.name);
}

/// Adds what is made of the image.
void assembleImage(const ImageJob &job, Image &image, const Ability &assembler,
                   CompiledImage &result) {
  const ImageSettings &settings = *job.settings;
  const bool isAll = settings.emit.empty();
  auto fail = [&](std::string error) {
    result.fault = CompiledImage::Fault::NotAssembled;
    result.error = job.stem() + ": " + error;
  };
  std::string error;
  auto assembly = backendOf(*job.target).assemble(image, *job.target, assembler.tool, error);
  if (!assembly) {
    if (isAll)
      result.files.push_back({image.ending, std::move(image.text)});
    else
      result.summary.reset();
    return fail(error);
  }
  result.assembleMilliseconds = assembly->milliseconds;
  result.summary->assembledBytes = assembly->bytes.size();
  for (const auto &[entry, usage] : assembly->usage) {
    result.summary->registers = std::max<uint64_t>(result.summary->registers, usage.registers);
    result.summary->spillBytes += usage.spillBytes;
  }
  if (settings.emit == "sass") {
    std::optional<std::string> text =
        nvptx::disassemble(*settings.nvdisasm, assembly->bytes, error);
    result.summary.reset();
    if (!text)
      return fail(error);
    result.files.push_back({".sass", std::move(*text)});
    return;
  }
  if (isAll)
    result.files.push_back({image.ending, std::move(image.text)});
  if (isAll || "." + settings.emit == assembly->ending)
    result.files.push_back(
        {assembly->ending, std::string(assembly->bytes.begin(), assembly->bytes.end())});
  if (isAll)
    result.files.push_back(
        {".json", manifest(result.plans, image.ptxVersion, *job.target, assembler.tool)});
}

CompiledImage compileAnew(const ImageJob &job, mlir::MLIRContext &context) {
  const ImageSettings &settings = *job.settings;
  std::vector<const Program *> programs;
  for (const std::unique_ptr<Program> &program : job.entry->programs)
    programs.push_back(program.get());
  CompiledImage result;
  std::string error;
  ImageOptions options = settings.compile;
  options.header = header(job);
  std::optional<Image> image =
      backendOf(*job.target).compile(context, programs, *job.target, options, error);
  if (!image) {
    result.fault = CompiledImage::Fault::NotCompiled;
    result.error = fmt::format("{} for {}: {}", job.entry->op->name.text, job.target->name, error);
    return result;
  }
  if (options.stage != Stage::Image) {
    static const std::map<Stage, const char *> endings = {{Stage::H3, ".h3.mlir"},
                                                          {Stage::Mlir, ".mlir"},
                                                          {Stage::Scheduled, ".scheduled.json"},
                                                          {Stage::Llvm, ".ll"}};
    result.files.push_back({endings.at(options.stage), std::move(image->text)});
    return result;
  }
  result.compileMilliseconds = image->milliseconds;
  result.plans = plansOf(*image);
  result.summary = ImageSummary{image->ptxVersion, 0, image->text.size(), 0, 0, 0};
  for (const plan::OperatorPlan &plan : image->plans)
    result.summary->kernels += plan.variants.size();
  if (const Ability *assembler = settings.assemblerFor(*job.target))
    assembleImage(job, *image, *assembler, result);
  else if (settings.emit.empty() || settings.emit == "image" ||
           "." + settings.emit == image->ending)
    result.files.push_back({image->ending, std::move(image->text)});
  return result;
}

} // namespace

const Ability *ImageSettings::assemblerFor(const Target &target) const {
  auto found = assemblers.find(target.backend);
  return found != assemblers.end() && found->second ? &found->second : nullptr;
}

std::string ImageJob::stem() const {
  return entry->op->name.text + "." + std::string(target->name);
}

CompiledImage compileImage(const ImageJob &job, std::unique_ptr<mlir::MLIRContext> &context) {
  ImageCache *cache = job.settings->cache;
  if (cache)
    if (std::optional<CompiledImage> known = cache->load(job))
      return std::move(*known);
  if (!context)
    context = makeContext();
  CompiledImage image = compileAnew(job, *context);
  if (cache && image.fault == CompiledImage::Fault::None)
    cache->store(job, image);
  return image;
}

void compileImages(std::span<const ImageJob> jobs, size_t threads,
                   llvm::function_ref<void(size_t job, CompiledImage image)> finish) {
  if (jobs.empty())
    return;
  std::vector<std::promise<CompiledImage>> promises(jobs.size());
  std::atomic<size_t> next = 0;
  // Each thread has an MLIR context of its own.
  auto work = [&] {
    std::unique_ptr<mlir::MLIRContext> context;
    for (size_t i; (i = next++) < jobs.size();)
      promises[i].set_value(compileImage(jobs[i], context));
  };
  if (threads == 0)
    threads = std::thread::hardware_concurrency();
  threads = std::clamp<size_t>(threads, 1, jobs.size());
  std::vector<std::jthread> workers;
  for (size_t i = 0; i < threads; ++i)
    workers.emplace_back(work);
  for (size_t i = 0; i < jobs.size(); ++i)
    finish(i, promises[i].get_future().get());
}

std::string describe(const ImageJob &job, const CompiledImage &image) {
  const ImageSummary &summary = *image.summary;
  auto time = [&](double milliseconds) {
    return image.fromCache ? std::string() : fmt::format(" in {:.0f} ms", milliseconds);
  };
  auto endingOf = [&](size_t file) {
    return file < image.files.size() ? image.files[file].ending.substr(1) : "image";
  };
  std::string line = fmt::format("{} {}: ", job.entry->op->name.text, job.target->name);
  if (summary.ptxVersion)
    line += fmt::format("PTX {}.{}, ", summary.ptxVersion / 10, summary.ptxVersion % 10);
  line += fmt::format("{} kernels, {} {} bytes{}", summary.kernels, endingOf(0), summary.imageBytes,
                      time(image.compileMilliseconds));
  if (!summary.assembledBytes)
    return line + (image.fromCache ? " (cached)" : "");
  line += fmt::format(", {} {} bytes{}", endingOf(1), summary.assembledBytes,
                      time(image.assembleMilliseconds));
  if (const auto &tool = job.settings->assemblerFor(*job.target)->tool)
    line += fmt::format(" ({} {})", tool->name, tool->version);
  if (summary.registers)
    line += fmt::format(", {} registers, {} bytes spilled", summary.registers, summary.spillBytes);
  return line + (image.fromCache ? " (cached)" : "");
}

} // namespace h3
