//===-- codegen/driver/Compile.cpp - h3gen SPEC... ------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/Compile.h"

#include "backends/nvptx/Tools.h"
#include "codegen/driver/Driver.h"
#include "codegen/driver/Specs.h"

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
  std::string ptxas, nvdisasm;
  bool ptxOnly = false;
  bool printAfterPasses = false;
};

/// What `--emit` names, and the ending of its files.
const std::map<std::string, std::string> stages = {{"h3", ".h3.mlir"},  {"mlir", ".mlir"},
                                                   {"llvm", ".ll"},     {"ptx", ".ptx"},
                                                   {"cubin", ".cubin"}, {"sass", ".sass"}};

class CompileCommand {
public:
  explicit CompileCommand(const CompileOptions &options) : options(options) {}
  ExitCode run();

private:
  bool chooseTargets();
  bool loadSpecs();
  bool needsAssembler() const {
    return !options.ptxOnly &&
           (options.emit.empty() || options.emit == "cubin" || options.emit == "sass");
  }
  bool findTools();
  void compileImage(const OperatorInstances &entry, const std::string &path, const Target &target);
  bool assembleImage(const std::string &stem, const nvptx::Image &image, const Target &target,
                     std::string &line);
  bool emit(const std::string &stem, const std::string &ending, std::string_view contents);
  void lack(const std::string &what);

  const CompileOptions &options;
  std::vector<const Target *> targets;
  struct Spec {
    std::string path;
    LoadedSpec loaded;
    std::vector<OperatorInstances> operators;
  };
  std::vector<Spec> specs;
  std::optional<nvptx::Tool> ptxas, nvdisasm;
  std::unique_ptr<mlir::MLIRContext> context;
  ExitCode outcome = ExitCode::Good;
};

/// `90`, `sm_90`, `90,100`, `all`.
bool CompileCommand::chooseTargets() {
  for (const std::string &name : options.targets) {
    if (name == "all") {
      for (const Target &target : h3::targets())
        targets.push_back(&target);
      continue;
    }
    const Target *target = findTarget(name.starts_with("sm_") ? name : "sm_" + name);
    if (!target) {
      printError("unknown target '" + name + "'; there are: " + targetNames());
      return false;
    }
    targets.push_back(target);
  }
  std::vector<const Target *> unique;
  for (const Target *target : targets)
    if (std::find(unique.begin(), unique.end(), target) == unique.end())
      unique.push_back(target);
  targets = unique;
  return true;
}

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

bool CompileCommand::findTools() {
  std::string error;
  if (needsAssembler()) {
    ptxas = nvptx::findTool("ptxas", options.ptxas, "H3GEN_PTXAS", error);
    if (!ptxas) {
      bool named = !options.ptxas.empty() || std::getenv("H3GEN_PTXAS");
      lack((named ? "" : "no cubin: ") + error + (options.emit.empty() ? "; PTX is written" : ""));
      if (!options.emit.empty())
        return false;
    }
  }
  if (options.emit == "sass") {
    nvdisasm = nvptx::findTool("nvdisasm", options.nvdisasm, "H3GEN_NVDISASM", error);
    if (!nvdisasm) {
      lack(error);
      return false;
    }
  }
  return true;
}

bool CompileCommand::emit(const std::string &stem, const std::string &ending,
                          std::string_view contents) {
  if (options.folder == "-") {
    fmt::print("{}", contents);
    return true;
  }
  if (writeFile(options.folder + "/" + stem + ending, contents))
    return true;
  outcome = ExitCode::BadInput;
  return false;
}

/// What a reader of a generated file wants to know first.
std::string header(const std::string &path, const Target &target) {
  size_t slash = path.rfind('/');
  return fmt::format("// h3gen {}: {} for {}\n// Generated. Change the spec instead.\n",
                     H3GEN_VERSION, slash == std::string::npos ? path : path.substr(slash + 1),
                     target.name);
}

/// The launch plans of an image and what it was made by: what a host needs beside the code.
std::string manifest(const nvptx::Image &image, const Target &target, const nvptx::Tool *ptxas) {
  std::string plans;
  for (const plan::OperatorPlan &plan : image.plans)
    plans += (plans.empty() ? "" : ",") + plan::toJson(plan);
  return fmt::format(R"({{"h3gen":"{}","plans":[{}],"ptx_version":{},"ptxas":{},"target":"{}"}})"
                     "\n",
                     H3GEN_VERSION, plans, image.ptxVersion,
                     ptxas ? "\"" + ptxas->version + "\"" : "null", target.name);
}

void CompileCommand::compileImage(const OperatorInstances &entry, const std::string &path,
                                  const Target &target) {
  std::vector<const Program *> programs;
  for (const std::unique_ptr<Program> &program : entry.programs)
    programs.push_back(program.get());
  nvptx::Options how;
  how.printAfterPasses = options.printAfterPasses;
  if (options.emit == "h3")
    how.stage = nvptx::Stage::H3;
  else if (options.emit == "mlir")
    how.stage = nvptx::Stage::Mlir;
  else if (options.emit == "llvm")
    how.stage = nvptx::Stage::Llvm;

  std::string error;
  std::optional<nvptx::Image> image = nvptx::compile(*context, programs, target, how, error);
  if (!image) {
    // Messages with a place in the spec already say where.
    printError(fmt::format("{} for {}: {}", entry.op->name.text, target.name, error));
    outcome = ExitCode::BadInput;
    return;
  }
  std::string stem = entry.op->name.text + "." + std::string(target.name);
  if (how.stage != nvptx::Stage::Ptx) {
    emit(stem, stages.at(options.emit), image->text);
    return;
  }

  image->text = header(path, target) + image->text;
  size_t kernels = 0;
  for (const plan::OperatorPlan &plan : image->plans)
    kernels += plan.variants.size();
  std::string line =
      fmt::format("{} {}: PTX {}.{}, {} kernels, ptx {} bytes in {:.0f} ms", entry.op->name.text,
                  target.name, image->ptxVersion / 10, image->ptxVersion % 10, kernels,
                  image->text.size(), image->milliseconds);
  bool isGood = true;
  if (ptxas)
    isGood = assembleImage(stem, *image, target, line);
  else if (options.emit.empty() || options.emit == "ptx")
    isGood = emit(stem, ".ptx", image->text);
  if (isGood && options.folder != "-")
    fmt::print("{}\n", line);
}

bool CompileCommand::assembleImage(const std::string &stem, const nvptx::Image &image,
                                   const Target &target, std::string &line) {
  std::string error;
  std::optional<nvptx::Assembly> assembly = nvptx::assemble(*ptxas, image.text, target, error);
  if (!assembly) {
    lack(fmt::format("{}: {}", stem, error));
    return options.emit.empty() && emit(stem, ".ptx", image.text);
  }
  std::string_view cubin(assembly->cubin.data(), assembly->cubin.size());
  if (options.emit == "sass") {
    std::optional<std::string> text = nvptx::disassemble(*nvdisasm, assembly->cubin, error);
    if (!text) {
      lack(error);
      return false;
    }
    return emit(stem, ".sass", *text);
  }
  unsigned registers = 0, spilled = 0;
  for (const auto &[entry, usage] : assembly->usage) {
    registers = std::max(registers, usage.registers);
    spilled += usage.spillBytes;
  }
  line += fmt::format(", cubin {} bytes in {:.0f} ms (ptxas {}), {} registers, {} bytes spilled",
                      cubin.size(), assembly->milliseconds, ptxas->version, registers, spilled);
  if (options.emit == "cubin")
    return emit(stem, ".cubin", cubin);
  return emit(stem, ".ptx", image.text) && emit(stem, ".cubin", cubin) &&
         emit(stem, ".json", manifest(image, target, &*ptxas));
}

ExitCode CompileCommand::run() {
  if (!chooseTargets() || !loadSpecs())
    return ExitCode::BadInput;
  if (!findTools())
    return outcome;
  if (options.folder != "-") {
    if (std::error_code code = llvm::sys::fs::create_directories(options.folder)) {
      printError("cannot make the folder '" + options.folder + "': " + code.message());
      return ExitCode::BadInput;
    }
    if (ptxas)
      fmt::print("ptxas {} ({}: {})\n", ptxas->version, ptxas->foundBy, ptxas->path);
  }
  context = nvptx::makeContext();
  for (const Target *target : targets)
    for (const Spec &spec : specs)
      for (const OperatorInstances &entry : spec.operators)
        compileImage(entry, spec.path, *target);
  return outcome;
}

} // namespace

void registerCompile(CLI::App &app, Outcome outcome) {
  auto options = std::make_shared<CompileOptions>();
  app.set_version_flag("--version", std::string("h3gen ") + H3GEN_VERSION);
  app.add_option("SPEC", options->paths, "Spec files to compile");
  app.add_option("--sm", options->targets, "Targets: 90, 100a, ... in a list, or 'all'")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("SM");
  app.add_option("--out-dir", options->folder, "Where files are written; '-' prints them");
  auto *emit = app.add_option("--emit", options->emit, "Write this stage alone");
  std::vector<std::string> names{"h3", "mlir", "llvm", "ptx", "cubin", "sass"};
  emit->check(CLI::IsMember(names))->type_name("STAGE");
  app.add_flag("--ptx-only", options->ptxOnly, "Do not look for ptxas")->excludes(emit);
  app.add_option("--ptxas", options->ptxas, "The ptxas to use");
  app.add_option("--nvdisasm", options->nvdisasm, "The nvdisasm to use");
  app.add_flag("--print-ir-after-all", options->printAfterPasses, "Print the IR after each pass");
  options->specs.addTo(app);
  app.callback([&app, options, outcome] {
    if (!app.get_subcommands().empty())
      return;
    if (options->paths.empty())
      throw CLI::RequiredError("SPEC");
    if (options->targets.empty())
      throw CLI::RequiredError("--sm");
    *outcome = CompileCommand(*options).run();
  });
}

} // namespace h3
