//===-- codegen/driver/Compile.cpp - h3gen SPEC... ------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/Tools.h"
#include "codegen/driver/Depfile.h"
#include "codegen/driver/Driver.h"
#include "codegen/driver/ImageCache.h"
#include "codegen/driver/ImageJob.h"

#include <fmt/core.h>
#include <llvm/Support/FileSystem.h>

#include <algorithm>
#include <map>

namespace h3 {
namespace {

struct CompileOptions {
  SpecOptions specs;
  std::vector<std::string> paths;
  std::vector<std::string> targets;
  std::string folder = ".";
  std::string emit;
  std::string depfile;
  std::string assembler, nvdisasm;
  unsigned threads = 0; ///< 0: one for each of the machine's
  bool withoutAssembler = false;
  bool noCache = false;
  bool dependentLaunch = false;
  std::string schedule;
  bool printAfterPasses = false;
};

class CompileCommand {
public:
  explicit CompileCommand(const CompileOptions &options) : options(options) {}
  ExitCode run();

private:
  bool loadSpecs();
  bool needsAssembler() const {
    return !options.withoutAssembler &&
           (options.emit.empty() || options.emit == "cubin" || options.emit == "sass");
  }
  void applyOptions();
  bool findTools();
  bool openCache();
  bool makeFolder();
  void makeJobs();
  void runJobs();
  void finish(const ImageJob &job, const CompiledImage &image);
  bool writeDepfile();
  void lack(const std::string &what);

  const CompileOptions &options;
  std::vector<const Target *> targets;
  struct Spec {
    std::string path;
    LoadedSpec loaded;
    std::vector<OperatorInstances> operators;
  };
  std::vector<Spec> specs;
  ImageSettings settings;
  std::unique_ptr<Cache> cache;
  std::unique_ptr<ImageCache> images;
  std::vector<ImageJob> jobs; ///< in the order in which they are reported
  std::vector<std::string> written;
  std::map<const OperatorInstances *, size_t>
      refusals; ///< targets that an operator has no code for
  ExitCode outcome = ExitCode::Good;
};

bool CompileCommand::loadSpecs() {
  std::map<std::string, std::string> definedIn;
  for (const std::string &path : options.paths) {
    Spec &spec = specs.emplace_back();
    spec.path = path;
    Diagnostics diagnostics;
    if (loadSpec(path, options.specs.path, spec.loaded, diagnostics))
      spec.operators = instances(spec.loaded, diagnostics);
    if (!diagnostics.empty()) {
      printDiagnostics(diagnostics, options.specs.json);
      return false;
    }
    if (spec.operators.empty()) {
      printError("'" + path + "' defines no operator");
      return false;
    }
    for (const OperatorInstances &entry : spec.operators) {
      auto [earlier, isNew] = definedIn.emplace(entry.op->name.text, path);
      if (!isNew) {
        printError("operator '" + entry.op->name.text + "' is defined in '" + earlier->second +
                   "' and in '" + path + "', and both would be written to the same file");
        return false;
      }
    }
  }
  return true;
}

void CompileCommand::lack(const std::string &what) {
  printError(what);
  outcome = worse(outcome, ExitCode::Lacking);
}

void CompileCommand::applyOptions() {
  static const std::map<std::string, Stage> early = {{"h3", Stage::H3},
                                                     {"mlir", Stage::Mlir},
                                                     {"scheduled", Stage::Scheduled},
                                                     {"llvm", Stage::Llvm}};
  settings.emit = options.emit;
  settings.compile.printAfterPasses = options.printAfterPasses;
  settings.compile.dependentLaunch = options.dependentLaunch;
  settings.compile.schedule = options.schedule;
  if (auto stage = early.find(options.emit); stage != early.end())
    settings.compile.stage = stage->second;
}

/// Asks each backend for its assembler, once.
bool CompileCommand::findTools() {
  for (const Target *target : targets) {
    const Backend &backend = backendOf(*target);
    if (!needsAssembler() || settings.assemblers.contains(backend.name()))
      continue;
    Ability ability = backend.ability(*target, Step::Assemble, options.assembler);
    if (!ability) {
      lack(ability.obstacle + (options.emit.empty() ? "; what needs no assembler is written" : ""));
      if (!options.emit.empty())
        return false;
    }
    settings.assemblers.emplace(backend.name(), std::move(ability));
  }
  if (options.emit == "sass") {
    std::string error;
    settings.nvdisasm = nvptx::findTool("nvdisasm", options.nvdisasm, "H3GEN_NVDISASM", error);
    if (!settings.nvdisasm) {
      lack(error);
      return false;
    }
  }
  return true;
}

/// What is printed on the way to an image is not in the cache, so that looking at stages and passes
/// always compiles.
bool CompileCommand::openCache() {
  bool isImage = options.emit.empty() || options.emit == "image" || options.emit == "ptx" ||
                 options.emit == "cubin";
  if (options.noCache || options.printAfterPasses || !isImage)
    return true;
  std::string error;
  cache = Cache::fromEnvironment(error);
  if (!error.empty()) {
    printError(error);
    return false;
  }
  if (cache)
    images = ImageCache::make(*cache, settings);
  settings.cache = images.get();
  return true;
}

bool CompileCommand::makeFolder() {
  if (options.folder == "-") {
    if (!options.depfile.empty())
      printError("--depfile is about files, and --out-dir - writes none");
    return options.depfile.empty();
  }
  std::error_code code = llvm::sys::fs::create_directories(options.folder);
  if (code)
    printError("cannot make the folder '" + options.folder + "': " + code.message());
  return !code;
}

void CompileCommand::makeJobs() {
  for (const Target *target : targets)
    for (const Spec &spec : specs)
      for (const OperatorInstances &entry : spec.operators)
        jobs.push_back({&spec.path, &spec.loaded, &entry, target, &settings});
}

/// Writes and prints what became of a job.
void CompileCommand::finish(const ImageJob &job, const CompiledImage &image) {
  if (image.fault == CompiledImage::Fault::NotAssembled)
    lack(image.error);
  if (image.fault == CompiledImage::Fault::NotCompiled) {
    // Messages with a place in the spec already say where.
    printError(image.error);
    ++refusals[job.entry];
  }
  bool isGood = true;
  for (const ImageFile &file : image.files) {
    std::string path = options.folder + "/" + job.stem() + file.ending;
    if (options.folder == "-")
      fmt::print("{}", file.contents);
    else if (isGood = isGood && writeFile(path, file.contents); isGood)
      written.push_back(path);
  }
  if (!isGood)
    outcome = ExitCode::BadInput;
  else if (image.summary && options.folder != "-")
    fmt::print("{}\n", describe(job, image));
}

/// What the jobs give is written and printed here, in their order.
void CompileCommand::runJobs() {
  compileImages(jobs, options.printAfterPasses ? 1 : options.threads,
                [&](size_t job, const CompiledImage &image) { finish(jobs[job], image); });
}

bool CompileCommand::writeDepfile() {
  std::vector<std::string> read;
  for (const Spec &spec : specs)
    for (std::string &file : filesRead(spec.loaded))
      if (std::find(read.begin(), read.end(), file) == read.end())
        read.push_back(std::move(file));
  std::optional<std::string> text = depfile(written, read);
  if (!text)
    printError("a path with a line break cannot stand in '" + options.depfile + "'");
  return text && writeFile(options.depfile, *text);
}

ExitCode CompileCommand::run() {
  targets = targetsNamed(options.targets);
  if (targets.empty() || !loadSpecs())
    return ExitCode::BadInput;
  applyOptions();
  if (!findTools())
    return outcome;
  if (!openCache() || !makeFolder())
    return ExitCode::BadInput;
  for (const auto &[backend, assembler] : settings.assemblers)
    if (const auto &tool = assembler.tool; tool && options.folder != "-")
      fmt::print("{} {} ({}: {})\n", tool->name, tool->version, tool->foundBy, tool->path);
  makeJobs();
  runJobs();
  // What some targets take and others do not is a lack of those, what none takes is bad input.
  for (const auto &[entry, count] : refusals)
    outcome = worse(outcome, count == targets.size() ? ExitCode::BadInput : ExitCode::Lacking);
  if (!options.depfile.empty() && !written.empty() && !writeDepfile())
    outcome = ExitCode::BadInput;
  if (cache) {
    cache->trim();
    const char *named = std::getenv("H3GEN_CACHE_DIR");
    if (cache->problem() && named)
      fmt::print(stderr, "h3gen: note: nothing is kept in H3GEN_CACHE_DIR, '{}': {}\n", named,
                 cache->problem().message());
  }
  return outcome;
}

} // namespace

void registerCompile(CLI::App &app, Outcome outcome) {
  auto options = std::make_shared<CompileOptions>();
  app.set_version_flag("--version", std::string("h3gen ") + H3GEN_VERSION);
  app.add_option("SPEC", options->paths, "Spec files to compile");
  app.add_option("--target,--sm", options->targets,
                 "Targets: 90, sm_100a, ... in a list, or 'all'; 'h3gen targets' lists them")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("TARGET");
  app.add_option("--out-dir", options->folder, "Where files are written; '-' prints them");
  auto *emit = app.add_option("--emit", options->emit, "Write this stage alone");
  std::vector<std::string> names{"h3",    "mlir", "scheduled", "llvm",
                                 "image", "ptx",  "cubin",     "sass"};
  emit->check(CLI::IsMember(names))->type_name("STAGE");
  app.add_flag("--ptx-only", options->withoutAssembler, "Do not look for ptxas")->excludes(emit);
  app.add_option("-j,--jobs", options->threads,
                 "Images compiled at once; as many as the machine runs")
      ->type_name("N");
  app.add_flag("--no-cache", options->noCache, "Neither use nor keep results of earlier calls");
  app.add_option("--schedule", options->schedule,
                 "Compile this schedule alone, as 'h3gen schedules' prints them");
  app.add_flag("--pdl", options->dependentLaunch,
               "Kernels that wait for the one in front themselves, for programmatic dependent "
               "launch (sm_90 up)");
  app.add_option("--depfile", options->depfile,
                 "Write which files the outputs follow from, for make")
      ->type_name("FILE");
  app.add_option("--ptxas", options->assembler, "The ptxas to use");
  app.add_option("--nvdisasm", options->nvdisasm, "The nvdisasm to use");
  app.add_flag("--print-ir-after-all", options->printAfterPasses, "Print the IR after each pass");
  addPluginOption(app);
  options->specs.addTo(app);
  app.callback([&app, options, outcome] {
    if (!app.get_subcommands().empty())
      return;
    if (options->paths.empty())
      throw CLI::RequiredError("SPEC");
    if (options->targets.empty())
      throw CLI::RequiredError("--target");
    *outcome = CompileCommand(*options).run();
  });
}

} // namespace h3
