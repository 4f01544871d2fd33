//===-- codegen/driver/ImageJob.cpp - One operator on one target ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/ImageJob.h"

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

std::string plansOf(const nvptx::Image &image) {
  std::string plans;
  for (const plan::OperatorPlan &plan : image.plans)
    plans += (plans.empty() ? "" : ",") + plan::toJson(plan);
  return "[" + plans + "]";
}

/// The launch plans of an image and what it was made by: what a host needs beside the code.
std::string manifest(const std::string &plans, unsigned ptxVersion, const Target &target,
                     const nvptx::Tool &ptxas) {
  return fmt::format(R"({{"h3gen":"{}","plans":{},"ptx_version":{},"ptxas":"{}","target":"{}"}})"
                     "\n",
                     H3GEN_VERSION, plans, ptxVersion, ptxas.version, target.name);
}

/// Adds what the tools make of the PTX.
void assembleImage(const ImageJob &job, nvptx::Image &image, CompiledImage &result) {
  const ImageSettings &settings = *job.settings;
  auto fail = [&](std::string error) {
    result.fault = CompiledImage::Fault::NotAssembled;
    result.error = job.stem() + ": " + error;
  };
  std::string error;
  auto assembly = nvptx::assemble(*settings.ptxas, image.text, *job.target, error);
  if (!assembly) {
    if (settings.emit.empty())
      result.files.push_back({".ptx", std::move(image.text)});
    else
      result.summary.reset();
    return fail(error);
  }
  result.assembleMilliseconds = assembly->milliseconds;
  result.summary->cubinBytes = assembly->cubin.size();
  for (const auto &[entry, usage] : assembly->usage) {
    result.summary->registers = std::max<uint64_t>(result.summary->registers, usage.registers);
    result.summary->spillBytes += usage.spillBytes;
  }
  if (settings.emit == "sass") {
    std::optional<std::string> text =
        nvptx::disassemble(*settings.nvdisasm, assembly->cubin, error);
    result.summary.reset();
    if (!text)
      return fail(error);
    result.files.push_back({".sass", std::move(*text)});
    return;
  }
  if (settings.emit.empty())
    result.files.push_back({".ptx", image.text});
  result.files.push_back({".cubin", std::string(assembly->cubin.begin(), assembly->cubin.end())});
  if (settings.emit.empty())
    result.files.push_back(
        {".json", manifest(result.plans, image.ptxVersion, *job.target, *settings.ptxas)});
}

CompiledImage compileAnew(const ImageJob &job, mlir::MLIRContext &context) {
  const ImageSettings &settings = *job.settings;
  std::vector<const Program *> programs;
  for (const std::unique_ptr<Program> &program : job.entry->programs)
    programs.push_back(program.get());
  CompiledImage result;
  std::string error;
  std::optional<nvptx::Image> image =
      nvptx::compile(context, programs, *job.target, settings.compile, error);
  if (!image) {
    result.fault = CompiledImage::Fault::NotCompiled;
    result.error = fmt::format("{} for {}: {}", job.entry->op->name.text, job.target->name, error);
    return result;
  }
  if (settings.compile.stage != nvptx::Stage::Ptx) {
    static const std::map<nvptx::Stage, const char *> endings = {
        {nvptx::Stage::H3, ".h3.mlir"}, {nvptx::Stage::Mlir, ".mlir"}, {nvptx::Stage::Llvm, ".ll"}};
    result.files.push_back({endings.at(settings.compile.stage), std::move(image->text)});
    return result;
  }
  image->text = header(job) + image->text;
  result.compileMilliseconds = image->milliseconds;
  result.plans = plansOf(*image);
  result.summary = ImageSummary{image->ptxVersion, 0, image->text.size(), 0, 0, 0};
  for (const plan::OperatorPlan &plan : image->plans)
    result.summary->kernels += plan.variants.size();
  if (settings.ptxas)
    assembleImage(job, *image, result);
  else if (settings.emit.empty() || settings.emit == "ptx")
    result.files.push_back({".ptx", std::move(image->text)});
  return result;
}

} // namespace

std::string ImageJob::stem() const {
  return entry->op->name.text + "." + std::string(target->name);
}

CompiledImage compileImage(const ImageJob &job, std::unique_ptr<mlir::MLIRContext> &context) {
  ImageCache *cache = job.settings->cache;
  if (cache)
    if (std::optional<CompiledImage> known = cache->load(job))
      return std::move(*known);
  if (!context)
    context = nvptx::makeContext();
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
  std::string line =
      fmt::format("{} {}: PTX {}.{}, {} kernels, ptx {} bytes{}", job.entry->op->name.text,
                  job.target->name, summary.ptxVersion / 10, summary.ptxVersion % 10,
                  summary.kernels, summary.ptxBytes, time(image.compileMilliseconds));
  if (summary.cubinBytes)
    line += fmt::format(", cubin {} bytes{} (ptxas {}), {} registers, {} bytes spilled",
                        summary.cubinBytes, time(image.assembleMilliseconds),
                        job.settings->ptxas->version, summary.registers, summary.spillBytes);
  return line + (image.fromCache ? " (cached)" : "");
}

} // namespace h3
