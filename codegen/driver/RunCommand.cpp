//===-- codegen/driver/RunCommand.cpp - h3gen run -------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Run.h"
#include "runtime/tensor/Safetensors.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>

namespace h3 {
namespace {

struct RunOptions {
  SpecOptions specs;
  std::string path, op, backend = "cpu", output, ptxas, variant, schedule, target, times;
  unsigned repetitions = 0;
  bool dependentLaunch = false;
  std::vector<std::string> inputs, bindings, expectations, settings;
};

class RunCommand {
public:
  explicit RunCommand(const RunOptions &options) : options(options) {}
  ExitCode run();

private:
  ExitCode bad(const std::string &message) {
    printError(message);
    return ExitCode::BadInput;
  }
  /// "name=rest".
  static bool split(const std::string &text, std::string &name, std::string &rest);
  bool readFiles();
  bool select(const std::string &reference, BoundView &view);
  ExitCode compare(const RunResult &result);
  ExitCode write(const RunResult &result);
  ExitCode writeTimes(const LaunchTimes &times);

  const RunOptions &options;
  std::vector<tensor::TensorFile> files;
};

bool RunCommand::split(const std::string &text, std::string &name, std::string &rest) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    printError("expected NAME=VALUE, found '" + text + "'");
    return false;
  }
  name = text.substr(0, equals);
  rest = text.substr(equals + 1);
  return true;
}

bool RunCommand::readFiles() {
  for (const std::string &path : options.inputs) {
    tensor::Result<tensor::TensorFile> file = tensor::readSafetensors(path);
    if (!file) {
      printError(file.error().message);
      return false;
    }
    files.push_back(std::move(*file));
  }
  return true;
}

bool RunCommand::select(const std::string &reference, BoundView &view) {
  std::string error = "no file was given with --in";
  for (tensor::TensorFile &file : files) {
    tensor::Result<tensor::TensorView> found = tensor::select(file, reference);
    if (found) {
      auto &storage = file.tensors[found->tensor - file.tensors.data()];
      view = {&storage, found->view};
      return true;
    }
    error = found.error().message;
  }
  printError("'" + reference + "': " + error);
  return false;
}

ExitCode RunCommand::compare(const RunResult &result) {
  ExitCode code = ExitCode::Good;
  for (const std::string &text : options.expectations) {
    std::string name, reference;
    BoundView expected;
    if (!split(text, name, reference) || !select(reference, expected))
      return ExitCode::BadInput;
    auto output = result.outputs.find(name);
    if (output == result.outputs.end())
      return bad("the operator has no output '" + name + "'");
    Comparison comparison = compareBits(output->second, expected);
    if (!comparison.sameShape)
      return bad(fmt::format(
          "{} is {}[{}], '{}' is {}[{}]", name, tensor::name(output->second.storage->type),
          fmt::join(output->second.view.extents, ", "), reference,
          tensor::name(expected.storage->type), fmt::join(expected.view.extents, ", ")));
    fmt::print("{}: {} of {} elements differ{}\n", name, comparison.different, comparison.elements,
               comparison.different ? "; " + comparison.first : "");
    if (comparison.different)
      code = ExitCode::Different;
  }
  return code;
}

ExitCode RunCommand::write(const RunResult &result) {
  std::vector<std::vector<std::byte>> packed;
  std::vector<tensor::TensorBytes> tensors;
  packed.reserve(result.outputs.size());
  for (const auto &[name, view] : result.outputs) {
    packed.push_back(tensor::TensorView{view.storage, view.view}.packed());
    tensors.push_back({name, view.storage->type, view.view.extents, packed.back()});
  }
  if (std::optional<tensor::Error> error = tensor::writeSafetensors(options.output, tensors))
    return bad(error->message);
  return ExitCode::Good;
}

ExitCode RunCommand::writeTimes(const LaunchTimes &times) {
  auto triple = [](const std::array<uint32_t, 3> &values) {
    return llvm::json::Array({values[0], values[1], values[2]});
  };
  llvm::json::Object object{
      {"block", triple(times.block)},
      {"buffer_bytes", times.bufferBytes},
      {"copies", times.copies},
      {"device", times.device},
      {"driver", times.driver},
      {"entry", times.entry},
      {"graph_rotated_us", times.rotated},
      {"graph_same_us", times.same},
      {"grid", triple(times.grid)},
      {"plain_us", times.plain},
      {"ptxas", times.ptxas},
      {"registers", times.registers},
      {"repetitions", times.repetitions},
      {"shared_bytes", times.sharedBytes},
      {"spill_bytes", times.spillBytes},
      {"variant", times.variant},
  };
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(object)));
  return writeFile(options.times, text) ? ExitCode::Good : ExitCode::BadInput;
}

ExitCode RunCommand::run() {
  if (!options.times.empty() && (options.backend != "cuda" || options.repetitions == 0))
    return bad("--time-json has nothing to write without --time N on the backend cuda");
  LoadedSpec spec;
  Diagnostics diagnostics;
  if (!loadSpec(options.path, options.specs.path, spec, diagnostics)) {
    printDiagnostics(diagnostics, options.specs.json);
    return ExitCode::BadInput;
  }
  RunRequest request;
  request.spec = &spec;
  request.op = options.op;
  request.backend = options.backend;
  request.ptxas = options.ptxas;
  request.variant = options.variant;
  request.schedule = options.schedule;
  request.target = targetName(options.target);
  request.repetitions = options.repetitions;
  request.dependentLaunch = options.dependentLaunch;
  if (!readFiles())
    return ExitCode::BadInput;
  std::string name, rest;
  for (const std::string &text : options.bindings) {
    if (!split(text, name, rest))
      return ExitCode::BadInput;
    if (request.tensors.count(name))
      return bad("'" + name + "' is bound twice");
    if (!select(rest, request.tensors[name]))
      return ExitCode::BadInput;
  }
  for (const std::string &text : options.settings) {
    if (!split(text, name, rest))
      return ExitCode::BadInput;
    request.settings[name] = rest;
  }

  RunResult result = runOperator(request);
  if (result.code != ExitCode::Good) {
    printError(result.message);
    return result.code;
  }
  fmt::print("ran on: {}\n", result.report);
  if (options.expectations.empty())
    for (const auto &[output, view] : result.outputs)
      fmt::print("{}: {}[{}]\n", output, tensor::name(view.storage->type),
                 fmt::join(view.view.extents, ", "));
  ExitCode code = compare(result);
  if (!options.output.empty() && code != ExitCode::BadInput)
    code = worse(code, write(result));
  if (!options.times.empty() && result.times && code != ExitCode::BadInput)
    code = worse(code, writeTimes(*result.times));
  return code;
}

} // namespace

void registerRun(CLI::App &app, Outcome outcome) {
  auto options = std::make_shared<RunOptions>();
  CLI::App *command = app.add_subcommand("run", "Run an operator on tensors of safetensors files");
  command->add_option("SPEC", options->path, "The spec")->required();
  command->add_option("--op", options->op, "The operator, where the spec has several");
  command->add_option("--in", options->inputs, "Files with tensors");
  command->add_option("--bind", options->bindings,
                      "TENSOR=NAME or TENSOR='NAME[..., 0:64]'; TENSOR[0]=NAME for one of an "
                      "'each' list");
  command->add_option("--set", options->settings, "PARAMETER=VALUE or TYPE_PARAMETER=TYPE");
  command->add_option("--expect", options->expectations, "OUTPUT=NAME: compare bits");
  command->add_option("--out", options->output, "Write the outputs to this safetensors file");
  command->add_option("--backend", options->backend,
                      "What runs it: reference, ptx, cuda or a backend of 'h3gen targets'");
  command->add_option("--target,--sm", options->target, "Whose image is run, but on cuda")
      ->type_name("TARGET");
  command->add_option("--ptxas", options->ptxas, "The ptxas to use");
  command->add_option("--schedule", options->schedule,
                      "Backends ptx, cuda: compile this schedule alone");
  command->add_option("--variant", options->variant,
                      "Backends ptx, cuda: the only variant that may serve");
  command->add_flag(
      "--pdl", options->dependentLaunch,
      "Backends ptx, cuda: kernels that wait for the one in front themselves; on cuda "
      "they are started before it has ended");
  command->add_option("--time", options->repetitions,
                      "Backend cuda: time this many launches more, one by one and by CUDA graph");
  command->add_option("--time-json", options->times, "With --time: write the times to this file");
  addPluginOption(*command);
  options->specs.addTo(*command);
  command->callback([options, outcome] { *outcome = RunCommand(*options).run(); });
}

} // namespace h3
