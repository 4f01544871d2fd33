//===-- tests/conformance/Operators.cpp - What the suites run -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include "codegen/contract/Contract.h"
#include "tests/unit/Seed.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
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
  const std::string folder =
      std::filesystem::exists(std::string(H3GEN_FORMS) + "/" + name) ? H3GEN_FORMS : H3GEN_SPECS;
  EXPECT_TRUE(loadSpec(folder + "/" + name, {}, spec, diagnostics)) << diagnostics.renderText();
  return spec;
}

std::vector<Operator> allOperators() {
  std::set<std::string> files;
  for (const char *folder : {H3GEN_SPECS, H3GEN_FORMS})
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".spec")
        files.insert(entry.path().filename());
  std::vector<Operator> operators;
  for (const std::string &file : files)
    for (const ast::Operator *op : specNamed(file).operators)
      operators.push_back({file, op->name.text});
  return operators;
}

/// A measure of what one call costs: operations of all instances, and the elements of rows whose
/// length is fixed.
static int64_t costOf(const Operator &op) {
  int64_t cost = 0;
  for (const Instance &instance : instancesOf(op).list) {
    int64_t fixed = 1024;
    for (const Dim &dim : instance.program->dims)
      fixed = std::max(fixed, dim.fixed.value_or(0));
    cost += int64_t(instance.program->expressions.size()) * fixed;
  }
  return cost;
}

std::vector<Operator> longestFirst() {
  std::vector<std::pair<int64_t, Operator>> costs;
  for (const Operator &op : allOperators())
    costs.push_back({costOf(op), op});
  std::ranges::stable_sort(costs, std::greater(), [](const auto &row) { return row.first; });
  std::vector<Operator> operators;
  for (const auto &[cost, op] : costs)
    operators.push_back(op);
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

Expected prepare(const Instance &instance, uint64_t seed, const DrawLimits &limits,
                 std::optional<unsigned> batchDim) {
  Expected result;
  Engine engine(seed);
  result.call = drawCall(instance, engine, limits);
  if (!result.call) {
    result.error = "no call was drawn that the contract admits";
    return result;
  }
  result.memory = referenceOf(instance, *result.call, result.error, batchDim);
  if (result.error.empty())
    result.error = changedOutside(instance, *result.call, result.memory);
  return result;
}

} // namespace h3::test
