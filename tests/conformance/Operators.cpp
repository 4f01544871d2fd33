//===-- tests/conformance/Operators.cpp - What the suites run -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include "codegen/contract/Contract.h"
#include "tests/unit/Seed.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

namespace h3::test {

void PrintTo(const Operator &op, std::ostream *stream) { *stream << op.spec << ", " << op.name; }

static const LoadedSpec &specNamed(const std::string &name) {
  static std::map<std::string, LoadedSpec> loaded;
  auto known = loaded.find(name);
  if (known != loaded.end())
    return known->second;
  LoadedSpec &spec = loaded[name];
  Diagnostics diagnostics;
  EXPECT_TRUE(loadSpec(std::string(H3GEN_SPECS) + "/" + name, {}, spec, diagnostics))
      << diagnostics.renderText();
  return spec;
}

std::vector<Operator> allOperators() {
  std::set<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(H3GEN_SPECS))
    if (entry.path().extension() == ".spec")
      files.insert(entry.path().filename());
  std::vector<Operator> operators;
  for (const std::string &file : files)
    for (const ast::Operator *op : specNamed(file).operators)
      operators.push_back({file, op->name.text});
  return operators;
}

std::string testName(const testing::TestParamInfo<Operator> &info) {
  return std::filesystem::path(info.param.spec).stem().string() + "_" + info.param.name;
}

Instances instancesOf(const Operator &op) {
  Instances result;
  Diagnostics diagnostics;
  for (OperatorInstances &candidate : instances(specNamed(op.spec), diagnostics))
    if (candidate.op->name.text == op.name)
      result.owner = std::move(candidate);
  EXPECT_TRUE(diagnostics.empty()) << diagnostics.renderText();
  for (const auto &program : result.owner.programs) {
    std::string error;
    std::optional<plan::OperatorPlan> contract = contractOf(*program, error);
    EXPECT_TRUE(contract) << error;
    if (!contract)
      continue;
    std::string types;
    for (const auto &[parameter, type] : program->typeArguments)
      types += (types.empty() ? "" : ", ") + std::string(name(type));
    result.list.push_back({program.get(), std::move(*contract), op.name + "<" + types + ">"});
  }
  return result;
}

uint64_t seedOf(const std::string &name) {
  static const uint64_t first = seed();
  uint64_t hash = first;
  for (char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

int64_t fromEnvironment(const char *variable, int64_t otherwise) {
  const char *text = std::getenv(variable);
  return text && *text ? std::strtoll(text, nullptr, 10) : otherwise;
}

Expected prepare(const Instance &instance, uint64_t seed, const DrawLimits &limits) {
  Expected result;
  Engine engine(seed);
  result.call = drawCall(instance, engine, limits);
  if (!result.call) {
    result.error = "no call was drawn that the contract admits";
    return result;
  }
  result.memory = referenceOf(instance, *result.call, result.error);
  if (result.error.empty())
    result.error = changedOutside(instance, *result.call, result.memory);
  return result;
}

} // namespace h3::test
