//===-- codegen/driver/bundle/Inspect.cpp - h3gen inspect -----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/contract/Contract.h"
#include "codegen/driver/Driver.h"
#include "dsl/scalar/Format.h"
#include "runtime/bundle/Bundle.h"
#include "runtime/evidence/Record.h"
#include "runtime/json/Writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

namespace h3 {
namespace {

using namespace bundle;

struct InspectOptions {
  std::string path;
  std::string evidence; ///< a folder with a folder for each target; empty: say nothing of it
  bool json = false;
};

std::string joined(const std::vector<std::string> &list) {
  std::string text;
  for (const std::string &item : list)
    text += (text.empty() ? "" : ", ") + item;
  return text;
}

/// "swiglu<f16>".
std::string titleOf(const plan::OperatorPlan &plan) {
  return plan.typeArguments.empty() ? plan.name
                                    : plan.name + "<" + joined(plan.typeArguments) + ">";
}

std::string tensorText(const plan::OperatorPlan &plan, const plan::TensorSpec &tensor) {
  std::vector<std::string> extents, strides;
  for (plan::ExprId extent : tensor.extents)
    extents.push_back(plan::toText(plan, extent));
  for (const std::optional<int64_t> &stride : tensor.strides)
    strides.push_back(stride ? std::to_string(*stride) : "_");
  std::string text = fmt::format("{} {} : {}[{}]", tensor.isOutput ? "out" : "in ", tensor.name,
                                 plan::name(tensor.dtype), joined(extents));
  if (!strides.empty())
    text += fmt::format("  strides({})", joined(strides));
  if (tensor.align != 1)
    text += fmt::format("  align({})", tensor.align);
  if (tensor.mayAlias >= 0)
    text += "  may alias " + plan.tensors[tensor.mayAlias].name;
  return text;
}

/// What a call must satisfy, as the plan has it.
void printContract(const plan::OperatorPlan &plan) {
  for (const plan::TensorSpec &tensor : plan.tensors)
    fmt::print("    {}\n", tensorText(plan, tensor));
  for (const plan::ParameterSpec &parameter : plan.parameters)
    fmt::print("    parameter {} : {}{}\n", parameter.name, plan::name(parameter.dtype),
               parameter.defaultBits
                   ? " = " + scalar::format(scalarType(parameter.dtype), *parameter.defaultBits)
                   : "");
  for (const plan::Condition &requirement : plan.requirements)
    fmt::print("    requires {}\n", requirement.text);
  if (plan.each)
    fmt::print("    a call takes a list of these\n");
}

/// The plan of an instance on the first target that has it; null if none has.
const plan::OperatorPlan *planOf(const Contents &contents, uint32_t definition, size_t instance) {
  for (const OperatorSet &set : contents.sets)
    for (const Operator &op : set.operators)
      if (op.definition == definition)
        return &op.instances[instance].plan;
  return nullptr;
}

void printOperators(const Contents &contents) {
  for (uint32_t index = 0; index < contents.operators.size(); ++index) {
    const Definition &definition = contents.operators[index];
    for (size_t i = 0; i < definition.instances.size(); ++i) {
      const plan::OperatorPlan *plan = planOf(contents, index, i);
      if (!plan)
        continue;
      fmt::print("\n{}: {}\n", titleOf(*plan),
                 definition.approximations.empty() ? "IEEE operations only"
                                                   : "uses " + joined(definition.approximations));
      fmt::print("    computes {}\n", toHex(definition.instances[i].digest));
      printContract(*plan);
      fmt::print("    {} self-checks\n", definition.instances[i].checks.size());
    }
  }
}

void printImage(const Contents &contents, std::optional<uint32_t> index) {
  if (!index)
    return;
  const Image &image = contents.images[*index];
  fmt::print("  {}: {} bytes, {}PTX {}.{}\n    sha256 {}\n", image.name, image.bytes.size(),
             image.kind == ImageKind::Cubin ? "made of " : "", image.ptxVersion / 10,
             image.ptxVersion % 10, toHex(image.digest));
}

/// The records that \p folder has for a target, `FOLDER/TARGET/*.record.json`. False after an
/// error, which is printed.
bool readRecords(const std::string &folder, const std::string &target,
                 std::vector<evidence::Record> &records) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(folder + "/" + target, error))
    if (entry.path().string().ends_with(".record.json"))
      paths.push_back(entry.path().string());
  std::ranges::sort(paths);
  for (const std::string &path : paths) {
    auto record = evidence::readRecordFile(path);
    if (!record) {
      printError(record.error().message);
      return false;
    }
    records.push_back(std::move(*record));
  }
  return true;
}

void printProof(const Proof &proof) {
  uint64_t calls = 0;
  for (const ProvedVariant &variant : proof.variants) {
    calls += variant.calls;
    if (!variant.problem.empty())
      fmt::print("      {} not proved: {}\n", variant.name,
                 variant.problem.substr(0, variant.problem.find('\n')));
  }
  if (proof.isProved())
    fmt::print("      proved{}, {} sizes and layouts\n",
               proof.allRows.empty() ? "" : ": all numbers of " + joined(proof.allRows), calls);
}

void printSet(const Contents &contents, const OperatorSet &set,
              const std::vector<evidence::Record> *records) {
  fmt::print("\n{} ({}, compute capability {}.{}): {}\n", set.target, set.backend, set.major,
             set.minor,
             records       ? evidence::text(standingOf(contents, set, *records), set.enabled)
             : set.enabled ? "enabled"
                           : "disabled");
  if (!set.missing.empty())
    fmt::print("  incomplete, does not serve: without {}\n", joined(set.missing));
  for (const std::vector<Operator> *list : {&set.operators, &set.probes})
    for (const Operator &op : *list) {
      printImage(contents, op.cubin);
      printImage(contents, op.ptx);
      if (op.audit)
        fmt::print("    audit: {}\n",
                   op.audit->fault.empty()
                       ? fmt::format("{} instructions of {} kernels accounted for",
                                     op.audit->instructions, op.audit->kernels)
                       : "not accounted for: " + op.audit->fault);
      for (const Instance &instance : op.instances) {
        std::vector<std::string> names;
        for (const plan::Variant &variant : instance.plan.variants)
          names.push_back(variant.name);
        fmt::print("    {}: {}\n", titleOf(instance.plan), joined(names));
        if (instance.proof)
          printProof(*instance.proof);
      }
    }
}

bool printText(const InspectOptions &options, const Bundle &opened) {
  const Contents &contents = opened.contents();
  fmt::print("{}: operator set {}, {} operators for {} targets\n", options.path, contents.name,
             contents.operators.size(), contents.sets.size());
  fmt::print("made by h3gen {}{}\n", contents.compiler,
             contents.assembler.empty() ? ", PTX only" : " with ptxas " + contents.assembler);
  fmt::print("sha256 {}\n", toHex(opened.digest()));
  printOperators(contents);
  for (const OperatorSet &set : contents.sets) {
    std::vector<evidence::Record> records;
    if (!options.evidence.empty() && !readRecords(options.evidence, set.target, records))
      return false;
    printSet(contents, set, options.evidence.empty() ? nullptr : &records);
  }
  return true;
}

void printJson(const Bundle &opened) {
  json::Writer w;
  w.open('{');
  w.key("digest");
  w.string(toHex(opened.digest()));
  w.key("manifest");
  w.raw(opened.manifest());
  w.close('}');
  fmt::print("{}\n", w.take());
}

ExitCode inspect(const InspectOptions &options) {
  const auto opened = Bundle::openFile(options.path);
  if (!opened) {
    printError(opened.error().message);
    return ExitCode::BadInput;
  }
  if (options.json)
    printJson(*opened);
  else if (!printText(options, *opened))
    return ExitCode::BadInput;
  return ExitCode::Good;
}

} // namespace

void registerInspect(CLI::App &app, Outcome outcome) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App *command = app.add_subcommand("inspect", "Say what a bundle holds");
  command->add_option("FILE", options->path, "The bundle")->required();
  command->add_flag("--json", options->json, "The manifest, as JSON");
  command
      ->add_option("--evidence", options->evidence,
                   "Say what is validated, by the records in DIR/TARGET")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR");
  command->callback([options, outcome] { *outcome = inspect(*options); });
}

} // namespace h3
