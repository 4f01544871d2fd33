//===-- codegen/driver/Audit.cpp - h3gen audit ----------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/audit/Learn.h"
#include "backends/nvptx/ptx/Reader.h"
#include "codegen/driver/AuditRecord.h"
#include "codegen/driver/Driver.h"
#include "codegen/driver/ImageCache.h"
#include "codegen/driver/ImageJob.h"

#include <fmt/core.h>
#include <llvm/Support/MemoryBuffer.h>

#include <atomic>
#include <future>
#include <thread>

namespace h3 {
namespace {

struct AuditOptions {
  std::vector<std::string> paths; ///< specs, or one cubin
  std::vector<std::string> targets;
  SpecOptions specs;
  InstanceChoice choice;
  std::string ptx;    ///< of a cubin
  std::string record; ///< where the records are written
  std::string learn;  ///< where what is learned is written
  std::string ptxas, nvdisasm;
  unsigned threads = 0;
  bool isVerbose = false, noCache = false;
};

/// A cubin and what it was made of.
struct Subject {
  std::string name; ///< "swiglu", or the file
  std::string ptx, cubin;
};

class AuditCommand {
public:
  explicit AuditCommand(const AuditOptions &options) : options(options) {}
  ExitCode run();

private:
  bool findTools();
  bool readFiles();
  bool compileSpecs();
  void auditAll();
  void print(const Subject &subject, const AuditOutcome &result);
  void learnAll();
  void fail(const std::string &message, ExitCode code = ExitCode::BadInput) {
    printError(message);
    outcome = worse(outcome, code);
  }

  const AuditOptions &options;
  std::optional<Tool> ptxas, nvdisasm;
  std::vector<const Target *> targets;
  std::vector<Subject> subjects;
  std::string records;
  ExitCode outcome = ExitCode::Good;
};

bool readFile(const std::string &path, std::string &contents, std::string &error) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (file)
    contents = (*file)->getBuffer().str();
  else
    error = "cannot read '" + path + "': " + file.getError().message();
  return bool(file);
}

/// Without nvdisasm there is nothing to look at; ptxas is needed for specs and for PTX lines.
bool AuditCommand::findTools() {
  std::string error;
  nvdisasm = nvptx::findTool("nvdisasm", options.nvdisasm, "H3GEN_NVDISASM", error);
  if (!nvdisasm) {
    fail("nothing was audited: " + error, ExitCode::Lacking);
    return false;
  }
  ptxas = nvptx::findTool("ptxas", options.ptxas, "H3GEN_PTXAS", error);
  if (!ptxas && options.ptx.empty()) {
    fail("nothing was audited: " + error, ExitCode::Lacking);
    return false;
  }
  return true;
}

bool AuditCommand::readFiles() {
  Subject &subject = subjects.emplace_back();
  subject.name = options.paths.front();
  std::string error;
  if (options.paths.size() == 1 && readFile(subject.name, subject.cubin, error) &&
      readFile(options.ptx, subject.ptx, error))
    return true;
  fail(error.empty() ? "--ptx is about one cubin" : error);
  return false;
}

bool AuditCommand::compileSpecs() {
  struct Spec {
    LoadedSpec loaded;
    std::vector<OperatorInstances> operators;
  };
  std::vector<std::unique_ptr<Spec>> specs;
  ImageSettings settings;
  Ability assembler;
  assembler.tool = ptxas;
  settings.assemblers.emplace(backendOf(*targets.front()).name(), std::move(assembler));
  std::string error;
  std::unique_ptr<Cache> cache;
  std::unique_ptr<ImageCache> images;
  // What is chosen of an operator is no part of the cache's key.
  bool isWhole = options.choice.settings.empty();
  if (!options.noCache && isWhole && (cache = Cache::fromEnvironment(error)))
    images = ImageCache::make(*cache, settings);
  settings.cache = images.get();
  std::vector<ImageJob> jobs;
  for (const std::string &path : options.paths) {
    Spec &spec = *specs.emplace_back(std::make_unique<Spec>());
    spec.operators = loadInstances(path, options.specs, options.choice, spec.loaded);
    if (spec.operators.empty()) {
      outcome = ExitCode::BadInput;
      return false;
    }
    for (const Target *target : targets)
      for (const OperatorInstances &entry : spec.operators)
        jobs.push_back({&path, &spec.loaded, &entry, target, &settings});
  }
  compileImages(jobs, options.threads, [&](size_t job, const CompiledImage &image) {
    if (image.fault != CompiledImage::Fault::None) {
      bool isLack = image.fault == CompiledImage::Fault::NotAssembled;
      fail(image.error, isLack ? ExitCode::Lacking : ExitCode::BadInput);
      return;
    }
    Subject &subject = subjects.emplace_back();
    subject.name = jobs[job].entry->op->name.text;
    for (const ImageFile &file : image.files)
      if (file.ending == ".ptx" || file.ending == ".cubin")
        (file.ending == ".ptx" ? subject.ptx : subject.cubin) = file.contents;
  });
  if (cache)
    cache->trim();
  return true;
}

void AuditCommand::print(const Subject &subject, const AuditOutcome &result) {
  if (result.lack != AuditOutcome::Lack::Nothing) {
    bool isInput = result.lack == AuditOutcome::Lack::BadInput;
    fail("'" + subject.name + "': " + result.problem,
         isInput ? ExitCode::BadInput : ExitCode::Lacking);
    return;
  }
  for (const audit::KernelAudit &kernel : result.audit.kernels) {
    if (kernel.fault)
      fmt::print("{}: not accounted: {}\n", kernel.name, kernel.fault->text);
    else if (options.isVerbose)
      fmt::print("{}: accounted: {} instructions, {}{}{}\n", kernel.name, kernel.instructions,
                 countsText(kernel.operations),
                 kernel.expansions.empty() ? "" : "; expanded: ", countsText(kernel.expansions));
  }
  fmt::print("{} {}\n", subject.name, result.record.summary());
  records += result.record.json() + "\n";
  if (!result.record.isAccounted())
    outcome = worse(outcome, ExitCode::Different);
}

/// On several threads, printed in the order of the subjects.
void AuditCommand::auditAll() {
  std::vector<std::promise<AuditOutcome>> promises(subjects.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < subjects.size();)
      promises[i].set_value(auditCubin(subjects[i].cubin, subjects[i].ptx, ptxas, *nvdisasm));
  };
  size_t threads = options.threads ? options.threads : std::thread::hardware_concurrency();
  threads = std::clamp<size_t>(threads, 1, std::max<size_t>(subjects.size(), 1));
  std::vector<std::jthread> workers;
  for (size_t i = 0; i < threads; ++i)
    workers.emplace_back(work);
  for (size_t i = 0; i < subjects.size(); ++i)
    print(subjects[i], promises[i].get_future().get());
}

void AuditCommand::learnAll() {
  audit::Expansions expansions;
  expansions.ptxas = ptxas->version;
  expansions.nvdisasm = nvdisasm->version;
  for (const Target *target : targets) {
    std::string ptx = audit::learningPtx(*target), error;
    auto module = ptx::read(ptx);
    if (!module)
      return fail(module.error().message());
    std::optional<Assembly> assembly =
        nvptx::assemble(*ptxas, ptx, *target, error, nvptx::PtxLines::Keep);
    std::optional<std::string> text;
    if (assembly)
      text = nvptx::disassemble(*nvdisasm, assembly->bytes, error, nvptx::PtxLines::Keep);
    if (!text)
      return fail(error, ExitCode::Lacking);
    auto code = audit::readSass(*text);
    if (!code)
      return fail(code.error());
    code->target = target->name; // nvdisasm names the family alone
    audit::learn(*code, *module, expansions);
    fmt::print("{}: {} kernels\n", target->name, module->kernels.size());
  }
  if (!writeFile(options.learn, expansions.print()))
    outcome = ExitCode::BadInput;
}

ExitCode AuditCommand::run() {
  bool isLearning = !options.learn.empty();
  if (isLearning || options.ptx.empty()) {
    targets =
        targetsNamed(options.targets.empty() ? std::vector<std::string>{"all"} : options.targets);
    std::erase_if(targets, [](const Target *target) { return target->backend != "nvptx"; });
    if (targets.empty())
      return ExitCode::BadInput;
  }
  if (!findTools())
    return outcome;
  if (isLearning) {
    learnAll();
    return outcome;
  }
  if (!(options.ptx.empty() ? compileSpecs() : readFiles()))
    return outcome;
  auditAll();
  if (!options.record.empty() && !writeFile(options.record, records))
    outcome = ExitCode::BadInput;
  return outcome;
}

} // namespace

void registerAudit(CLI::App &app, Outcome outcome) {
  auto options = std::make_shared<AuditOptions>();
  CLI::App *command =
      app.add_subcommand("audit", "Account for the machine code's floats against the PTX");
  auto *paths = command->add_option("SPEC", options->paths, "Spec files, or one cubin with --ptx");
  auto *targets = command
                      ->add_option("--target,--sm", options->targets,
                                   "Targets: 90, sm_100, ... in a list, or 'all'")
                      ->delimiter(',')
                      ->allow_extra_args(false)
                      ->type_name("TARGET");
  command->add_option("--ptx", options->ptx, "What the cubin was assembled from")
      ->type_name("FILE")
      ->needs(paths)
      ->excludes(targets);
  command->add_option("--record", options->record, "Write the records, one a line")
      ->type_name("FILE");
  command
      ->add_option("--learn", options->learn,
                   "Learn the expansions of this ptxas and write them, instead of an audit")
      ->type_name("FILE")
      ->excludes(paths);
  command->add_flag("-v,--verbose", options->isVerbose, "Say what each kernel has");
  command->add_flag("--no-cache", options->noCache,
                    "Neither use nor keep results of earlier calls");
  command->add_option("-j,--jobs", options->threads, "Cubins at once; as many as the machine runs")
      ->type_name("N");
  command->add_option("--ptxas", options->ptxas, "The ptxas to use");
  command->add_option("--nvdisasm", options->nvdisasm, "The nvdisasm to use");
  options->choice.addTo(*command);
  options->specs.addTo(*command);
  command->callback([options, outcome] {
    if (options->learn.empty() && options->paths.empty())
      throw CLI::RequiredError("SPEC");
    if (options->learn.empty() && options->ptx.empty() && options->targets.empty())
      throw CLI::RequiredError("--target");
    *outcome = AuditCommand(*options).run();
  });
}

} // namespace h3
