//===-- codegen/driver/bundle/BundleCommand.cpp - h3gen bundle ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Driver.h"
#include "codegen/driver/ImageCache.h"
#include "codegen/driver/ImageJob.h"
#include "codegen/driver/bundle/LoadSet.h"
#include "codegen/driver/bundle/Proofs.h"
#include "codegen/driver/bundle/SelfChecks.h"
#include "runtime/bundle/Bundle.h"
#include "runtime/json/Value.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <set>
#include <thread>

namespace h3 {
namespace {

struct BundleOptions {
  SpecOptions specs;
  std::string path, output;
  std::string assembler;
  unsigned threads = 0; ///< 0: one for each of the machine's
  bool ptxOnly = false;
  bool noCache = false;
  bool allowMissing = false;
  bool noProve = false, requireProof = false;
};

/// The one kernel of a probe: no vectors, any number of elements.
std::string probeSchedule(const Target &target) {
  return fmt::format("access=1 index=32 block={} | spread()",
                     std::min(256u, backendOf(target).machine(target).mostThreads));
}

/// An operator or probe, and what became of it on each target.
struct Part {
  std::string specPath; ///< its last name stands in the PTX
  LoadedSpec spec;
  OperatorInstances entry;
  bool isProbe = false;
  std::vector<CompiledImage> images; ///< of each target of the set
  bundle::Definition definition;
  std::vector<bundle::Operator> operators; ///< of each target; without instances: missing

  const std::string &name() const { return entry.op->name.text; }
};

class BundleCommand {
public:
  explicit BundleCommand(const BundleOptions &options) : options(options) {}
  ExitCode run();

private:
  bool loadOperators();
  bool loadProbes();
  bool findTools();
  bool openCache();
  bool compileAll();
  bool judge(const Part &part);
  bool readPlans(Part &part);
  bool makeChecks();
  bool proveAll();
  bundle::Contents assembleContents();
  void addImages(bundle::Contents &contents, Part &part, size_t target);

  const BundleOptions &options;
  SourceFile file;
  OperatorSetFile set;
  std::deque<Part> operators, probes; ///< each sorted by name
  /// Of images of one schedule.
  struct Settings {
    ImageSettings settings;
    std::unique_ptr<ImageCache> images;
  };
  std::unique_ptr<Cache> cache;
  Settings own;                           ///< of the operators
  std::map<std::string, Settings> probed; ///< of the probes, by their schedule
  ExitCode outcome = ExitCode::Good;
};

bool BundleCommand::loadOperators() {
  for (const OperatorSetFile::Operator &row : set.operators) {
    Part &part = operators.emplace_back();
    part.specPath = row.path;
    if (!loadSetOperator(row, options.specs, part.spec, part.entry))
      return false;
  }
  return true;
}

/// "rsqrt.approx" -> "probe_rsqrt_approx".
std::string probeName(std::string approximation) {
  std::ranges::replace(approximation, '.', '_');
  return "probe_" + approximation;
}

bool BundleCommand::loadProbes() {
  std::set<std::string> names;
  for (Part &part : operators) {
    std::set<std::string> used;
    for (const auto &program : part.entry.programs)
      for (std::string &name : approximationsOf(*program))
        used.insert(std::move(name));
    part.definition.approximations.assign(used.begin(), used.end());
    names.merge(used);
  }
  for (const std::string &approximation : names) {
    Part &part = probes.emplace_back();
    part.isProbe = true;
    const std::string name = probeName(approximation);
    part.specPath = name + ".spec";
    part.definition.approximations = {approximation};
    const std::string text = fmt::format(
        "op {} {{\n  dim n\n  in  x : f32[n]\n  out y : f32[n]\n\n  y[i] = {}(x[i])\n}}\n", name,
        approximation);
    Diagnostics diagnostics;
    std::vector<OperatorInstances> found;
    if (loadSpecText(text, {}, part.spec, diagnostics))
      found = instances(part.spec, diagnostics);
    if (!diagnostics.empty()) {
      printDiagnostics(diagnostics, options.specs.json);
      return false;
    }
    part.entry = std::move(found.at(0));
  }
  return true;
}

/// An assembler that is named must be there; without one that is looked for, images remain as they
/// are compiled.
bool BundleCommand::findTools() {
  if (options.ptxOnly)
    return true;
  for (const OperatorSetFile::Target &row : set.targets) {
    if (own.settings.assemblers.contains(row.target->backend))
      continue;
    Ability ability =
        backendOf(*row.target).ability(*row.target, Step::Assemble, options.assembler);
    if (!ability) {
      outcome = ExitCode::Lacking;
      // PTX alone is something to load, what other backends compile is not.
      const bool isNeeded = !options.assembler.empty() || std::getenv("H3GEN_PTXAS") ||
                            row.target->backend != "nvptx";
      printError(ability.obstacle + (isNeeded ? ""
                                              : "; the bundle holds PTX alone, which a host must "
                                                "allow to be used"));
      if (isNeeded)
        return false;
    }
    own.settings.assemblers.emplace(row.target->backend, std::move(ability));
  }
  return true;
}

bool BundleCommand::openCache() {
  for (const OperatorSetFile::Target &row : set.targets) {
    std::string schedule = probeSchedule(*row.target);
    ImageSettings &settings = probed[schedule].settings;
    settings = own.settings;
    settings.compile.schedule = schedule;
  }
  if (options.noCache)
    return true;
  std::string error;
  cache = Cache::fromEnvironment(error);
  if (!error.empty()) {
    printError(error);
    return false;
  }
  auto use = [&](Settings &some) {
    if (cache)
      some.images = ImageCache::make(*cache, some.settings);
    some.settings.cache = some.images.get();
  };
  use(own);
  for (auto &[schedule, some] : probed)
    use(some);
  return true;
}

/// Compiles everything. False if the bundle cannot be written.
bool BundleCommand::compileAll() {
  std::vector<ImageJob> jobs;
  std::vector<Part *> parts;
  for (std::deque<Part> *list : {&operators, &probes})
    for (Part &part : *list)
      for (const OperatorSetFile::Target &row : set.targets) {
        jobs.push_back(
            {&part.specPath, &part.spec, &part.entry, row.target,
             part.isProbe ? &probed.at(probeSchedule(*row.target)).settings : &own.settings});
        parts.push_back(&part);
      }
  compileImages(jobs, options.threads, [&](size_t job, CompiledImage image) {
    if (image.fault == CompiledImage::Fault::None)
      fmt::print("{}\n", describe(jobs[job], image));
    parts[job]->images.push_back(std::move(image));
  });
  if (cache)
    cache->trim();
  bool isGood = true;
  for (std::deque<Part> *list : {&operators, &probes})
    for (const Part &part : *list)
      isGood = judge(part) && isGood;
  return isGood;
}

/// Prints what is missing of a part. False if that must not be.
bool BundleCommand::judge(const Part &part) {
  size_t refusals = 0, faults = 0;
  for (const CompiledImage &image : part.images) {
    if (image.fault == CompiledImage::Fault::None)
      continue;
    ++faults;
    refusals += image.fault == CompiledImage::Fault::NotCompiled;
    if (options.allowMissing && !part.isProbe)
      fmt::print(stderr, "h3gen: note: missing in the bundle: {}\n", image.error);
    else
      printError(image.error);
  }
  // What no target takes is bad input.
  const bool isBad = refusals == part.images.size();
  if (faults)
    outcome = worse(outcome, isBad                                   ? ExitCode::BadInput
                             : options.allowMissing && !part.isProbe ? ExitCode::Good
                                                                     : ExitCode::Lacking);
  return !isBad && (faults == 0 || (options.allowMissing && !part.isProbe));
}

/// The instances of a part on each target, from its images' plans.
bool BundleCommand::readPlans(Part &part) {
  part.definition.name = part.name();
  for (const auto &program : part.entry.programs) {
    bundle::DefinedInstance &instance = part.definition.instances.emplace_back();
    instance.digest = meaningOf(*program);
    for (const auto &[name, type] : program->typeArguments)
      instance.typeArguments.emplace_back(h3::name(type));
  }
  for (const CompiledImage &image : part.images) {
    bundle::Operator &op = part.operators.emplace_back();
    if (image.fault != CompiledImage::Fault::None)
      continue;
    const auto document = json::Document::parse(image.plans);
    if (!document) {
      printError("the plans of " + part.name() + ": " + document.error().message);
      return false;
    }
    for (const json::Value &value : document->root()) {
      auto plan = plan::fromJson(value);
      if (!plan) {
        printError("the plans of " + part.name() + ": " + plan.error().message);
        return false;
      }
      op.instances.push_back({std::move(*plan), {}, {}});
    }
  }
  return true;
}

/// Of all instances, on all threads: the interpreter is what takes the time.
bool BundleCommand::makeChecks() {
  struct Job {
    Part *part;
    size_t instance;
    std::vector<std::string> unreached;
    std::string error;
  };
  std::vector<Job> jobs;
  for (std::deque<Part> *list : {&operators, &probes})
    for (Part &part : *list) {
      if (!readPlans(part))
        return false;
      for (size_t i = 0; i < part.entry.programs.size(); ++i)
        jobs.push_back({&part, i, {}, {}});
    }
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < jobs.size();) {
      Job &job = jobs[i];
      std::vector<bundle::Instance *> targets;
      for (bundle::Operator &op : job.part->operators)
        if (!op.instances.empty())
          targets.push_back(&op.instances[job.instance]);
      const Program &program = *job.part->entry.programs[job.instance];
      auto checks = job.part->isProbe ? makeProbeChecks(program, targets, job.error)
                                      : makeSelfChecks(program, targets, job.unreached, job.error);
      if (checks)
        job.part->definition.instances[job.instance].checks = std::move(*checks);
    }
  };
  {
    const size_t threads = options.threads ? options.threads : std::thread::hardware_concurrency();
    std::vector<std::jthread> workers;
    for (size_t i = 0; i < std::clamp<size_t>(threads, 1, jobs.size()); ++i)
      workers.emplace_back(work);
  }
  bool isGood = true;
  for (const Job &job : jobs) {
    for (const std::string &entry : job.unreached)
      fmt::print(stderr, "h3gen: note: {} is left out: no call that was drawn reaches it\n", entry);
    if (!job.error.empty()) {
      printError("the self-checks of " + job.part->name() + ": " + job.error);
      isGood = false;
    }
  }
  return isGood;
}

/// What the images' PTX computes, against the specs. False if something must be proved and is not.
bool BundleCommand::proveAll() {
  std::vector<ProofJob> jobs;
  for (std::deque<Part> *list : {&operators, &probes})
    for (Part &part : *list)
      for (size_t target = 0; target < set.targets.size(); ++target) {
        const std::vector<ImageFile> &files = part.images[target].files;
        const auto ptx = std::ranges::find(files, ".ptx", &ImageFile::ending);
        std::vector<bundle::Instance> &instances = part.operators[target].instances;
        for (size_t i = 0; ptx != files.end() && i < instances.size(); ++i)
          jobs.push_back({part.entry.programs[i].get(), &part.spec, set.targets[target].target,
                          &ptx->contents, &instances[i]});
      }
  const size_t missing = jobs.empty() ? 0 : proveInstances(jobs, options.threads, cache.get());
  if (cache)
    cache->trim();
  if (missing && options.requireProof)
    printError(fmt::format("{} of {} instances are not proved", missing, jobs.size()));
  return !missing || !options.requireProof;
}

void BundleCommand::addImages(bundle::Contents &contents, Part &part, size_t target) {
  // What is loaded: PTX, and what was assembled, the second file. Other text is not.
  const std::vector<ImageFile> &files = part.images[target].files;
  for (size_t index = 0; index < files.size(); ++index) {
    const ImageFile &made = files[index];
    const bool isPtx = made.ending == ".ptx";
    const bool isAssembled = index == 1 && part.images[target].summary->assembledBytes;
    if (!isPtx && !isAssembled)
      continue;
    bundle::Image image;
    image.name = part.name() + "." + std::string(set.targets[target].target->name) +
                 (isPtx ? ".ptx" : ".cubin"); // as the manifest names whatever a driver loads
    image.kind = isPtx ? bundle::ImageKind::Ptx : bundle::ImageKind::Cubin;
    image.bytes = std::as_bytes(std::span(made.contents));
    image.ptxVersion = part.images[target].summary->ptxVersion;
    // Which of the images it is says the sorted list; here it matters that there is one.
    (image.kind == bundle::ImageKind::Ptx ? part.operators[target].ptx
                                          : part.operators[target].cubin) = 0;
    contents.images.push_back(std::move(image));
  }
}

bundle::Contents BundleCommand::assembleContents() {
  bundle::Contents contents;
  contents.name = set.name;
  contents.compiler = H3GEN_VERSION;
  for (const auto &[backend, assembler] : own.settings.assemblers)
    if (assembler.tool)
      contents.assembler = assembler.tool->version;
  for (size_t target = 0; target < set.targets.size(); ++target) {
    const Target &row = *set.targets[target].target;
    bundle::OperatorSet &result = contents.sets.emplace_back();
    result.target = row.name;
    result.backend = row.backend;
    result.major = row.major;
    result.minor = row.minor;
    result.enabled = set.targets[target].enabled;
    for (std::deque<Part> *list : {&operators, &probes})
      for (size_t index = 0; index < list->size(); ++index) {
        Part &part = (*list)[index];
        bundle::Operator &op = part.operators[target];
        if (op.instances.empty()) {
          result.missing.push_back(part.name());
          continue;
        }
        addImages(contents, part, target);
        op.definition = static_cast<uint32_t>(index);
        (part.isProbe ? result.probes : result.operators).push_back(std::move(op));
      }
  }
  for (Part &part : operators)
    contents.operators.push_back(std::move(part.definition));
  for (Part &part : probes)
    contents.probes.push_back(std::move(part.definition));
  std::ranges::sort(contents.images, {}, &bundle::Image::name);
  return contents;
}

ExitCode BundleCommand::run() {
  std::optional<OperatorSetFile> read = loadSetFile(options.path, options.specs, file);
  if (!read)
    return ExitCode::BadInput;
  set = std::move(*read);
  if (!loadOperators() || !loadProbes())
    return ExitCode::BadInput;
  if (!findTools())
    return outcome;
  if (!openCache())
    return ExitCode::BadInput;
  if (!compileAll())
    return outcome;
  if (!makeChecks())
    return ExitCode::BadInput;
  if (!options.noProve && !proveAll())
    return ExitCode::Different;
  const bundle::Contents contents = assembleContents();
  auto bytes = bundle::write(contents);
  if (!bytes) {
    printError("the bundle cannot be written: " + bytes.error().message);
    return ExitCode::BadInput;
  }
  if (!writeFile(options.output, *bytes))
    return ExitCode::BadInput;
  fmt::print("{}: {} operators for {} targets, {} bytes\n", options.output,
             contents.operators.size(), contents.sets.size(), bytes->size());
  return outcome;
}

} // namespace

void registerBundle(CLI::App &app, Outcome outcome) {
  auto options = std::make_shared<BundleOptions>();
  CLI::App *command =
      app.add_subcommand("bundle", "Compile an operator set for its targets into one file");
  command->add_option("SET", options->path, "Operator-set file (*.opset)")->required();
  command->add_option("-o,--output", options->output, "The bundle")->required()->type_name("FILE");
  command->add_flag("--allow-missing", options->allowMissing,
                    "Leave out operators that a target has no code for; its set is incomplete");
  auto *noProve =
      command->add_flag("--no-prove", options->noProve, "Leave out proofs of the images");
  command
      ->add_flag("--require-proof", options->requireProof,
                 "Write nothing unless every image is proved")
      ->excludes(noProve);
  command->add_flag("--ptx-only", options->ptxOnly, "Do not look for ptxas");
  command->add_option("--ptxas", options->assembler, "The ptxas to use");
  command
      ->add_option("-j,--jobs", options->threads,
                   "Images compiled at once; as many as the machine runs")
      ->type_name("N");
  command->add_flag("--no-cache", options->noCache,
                    "Neither use nor keep results of earlier calls");
  addPluginOption(*command);
  options->specs.addTo(*command);
  command->callback([options, outcome] { *outcome = BundleCommand(*options).run(); });
}

} // namespace h3
