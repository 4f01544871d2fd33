//===-- codegen/driver/bundle/SelfChecks.cpp - Calls with known results, made -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/bundle/SelfChecks.h"

#include "codegen/contract/Contract.h"
#include "codegen/driver/bundle/CheckDrawer.h"
#include "dsl/interpreter/Interpreter.h"
#include "dsl/program/Dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

namespace h3 {

using bundle::SelfCheck;

namespace {

struct Free {
  void operator()(std::byte *memory) const { std::free(memory); }
};

/// The memory of a call, aligned as a device's.
struct Buffer {
  explicit Buffer(uint64_t bytes)
      : memory(static_cast<std::byte *>(std::aligned_alloc(256, (bytes + 255) / 256 * 256))),
        bytes(memory.get(), bytes) {}

  std::unique_ptr<std::byte, Free> memory;
  std::span<std::byte> bytes;
};

} // namespace

bool interpretCheck(const Program &program, const plan::OperatorPlan &contract, SelfCheck &check,
                    std::string &error) {
  const bundle::CheckLayout layout = layoutOf(contract, check);
  const Buffer memory(layout.bytes);
  fill(contract, check, layout, memory.bytes);
  const std::vector<plan::Tensor> tensors =
      tensorsOf(contract, check, layout, reinterpret_cast<uint64_t>(memory.memory.get()));
  const size_t count = program.tensors.size();
  for (size_t member = 0; member < tensors.size(); member += count) {
    const auto bound =
        plan::bind(contract, std::span(tensors).subspan(member, count), check.parameters);
    if (const plan::Decline *decline = std::get_if<plan::Decline>(&bound)) {
      error = plan::describe(contract, *decline);
      return false;
    }
    const plan::Binding &binding = std::get<plan::Binding>(bound);
    Arguments arguments;
    arguments.dims.assign(binding.dims.begin(), binding.dims.begin() + program.dims.size());
    arguments.parameters.assign(binding.parameters.begin(),
                                binding.parameters.begin() + program.parameters.size());
    for (size_t i = 0; i < count; ++i) {
      const plan::BoundTensor &tensor = binding.tensors[i];
      TensorView view;
      view.data = reinterpret_cast<std::byte *>(tensor.address);
      view.strides.assign(tensor.strides.begin(),
                          tensor.strides.begin() + program.tensors[i].extents.size());
      arguments.tensors.push_back(std::move(view));
    }
    if (std::optional<std::string> problem = interpret(program, arguments)) {
      error = *problem;
      return false;
    }
  }
  check.outputs = digestOfOutputs(contract, check, layout, memory.bytes);
  return true;
}

namespace {

/// What a variant has one check of each: numbers, what is none too, and a call in place.
enum Kind : uint8_t { kNumbers, kSpecials, kInPlace, kKinds };

Kind kindOf(const SelfCheck &check) {
  if (std::ranges::any_of(check.tensors,
                          [](const bundle::CheckTensor &tensor) { return tensor.inPlaceOf >= 0; }))
    return kInPlace;
  return std::ranges::any_of(check.tensors,
                             [](const bundle::CheckTensor &tensor) {
                               return tensor.values == bundle::Values::Mixed ||
                                      tensor.values == bundle::Values::AnyBits;
                             })
             ? kSpecials
             : kNumbers;
}

/// Which of the kept checks each variant of each target has: one of each kind.
class Coverage {
public:
  /// \p canBeInPlace: the operator has outputs that may alias inputs.
  Coverage(std::span<bundle::Instance *const> targets, bool canBeInPlace)
      : kinds(canBeInPlace ? kKinds : kInPlace) {
    for (bundle::Instance *instance : targets) {
      instance->checksOfVariant.assign(instance->plan.variants.size(), {});
      for (size_t v = 0; v < instance->plan.variants.size(); ++v)
        rows.push_back({instance, v, bundle::planOfVariant(instance->plan, v), {}});
    }
  }

  /// Gives \p check, as number \p index, to the variants that serve it and lack one of its kind.
  bool offer(const SelfCheck &check, uint32_t index) {
    bool isTaken = false;
    for (Row &row : rows) {
      bool &slot = row.has[kindOf(check)];
      if (slot || !checkFor(row.alone, 0, check).empty())
        continue;
      slot = isTaken = true;
      row.instance->checksOfVariant[row.variant].push_back(index);
    }
    return isTaken;
  }

  bool isComplete() const {
    return std::ranges::all_of(rows, [&](const Row &row) {
      return std::ranges::all_of(std::span(row.has).first(kinds), std::identity());
    });
  }

private:
  struct Row {
    bundle::Instance *instance;
    size_t variant;
    plan::OperatorPlan alone; ///< the instance's with this variant
    std::array<bool, kKinds> has;
  };
  const size_t kinds; ///< that there are
  std::vector<Row> rows;
};

/// Takes the variants without a check out of the plan. False if none is left.
bool dropUnchecked(bundle::Instance &instance, std::vector<std::string> &unreached) {
  std::vector<plan::Variant> variants;
  std::vector<std::vector<uint32_t>> checks;
  for (size_t v = 0; v < instance.plan.variants.size(); ++v) {
    if (instance.checksOfVariant[v].empty()) {
      unreached.push_back(instance.plan.variants[v].entry);
      continue;
    }
    variants.push_back(std::move(instance.plan.variants[v]));
    checks.push_back(std::move(instance.checksOfVariant[v]));
  }
  instance.plan.variants = std::move(variants);
  instance.checksOfVariant = std::move(checks);
  return !instance.plan.variants.empty();
}

std::optional<std::vector<SelfCheck>> interpretAll(const Program &program,
                                                   const plan::OperatorPlan &contract,
                                                   std::vector<SelfCheck> checks,
                                                   std::string &error) {
  for (SelfCheck &check : checks)
    if (!interpretCheck(program, contract, check, error))
      return std::nullopt;
  return checks;
}

} // namespace

std::optional<std::vector<SelfCheck>> makeSelfChecks(const Program &program,
                                                     std::span<bundle::Instance *const> targets,
                                                     std::vector<std::string> &unreached,
                                                     std::string &error) {
  const std::optional<plan::OperatorPlan> contract = contractOf(program, error);
  if (!contract)
    return std::nullopt;
  CheckDrawer drawer(program, *contract);
  const bool canBeInPlace = std::ranges::any_of(
      contract->tensors, [](const plan::TensorSpec &tensor) { return tensor.mayAlias >= 0; });
  Coverage coverage(targets, canBeInPlace);
  std::vector<SelfCheck> kept;
  for (unsigned attempt = 0; !coverage.isComplete() && attempt < CheckDrawer::kAttempts;
       ++attempt) {
    const std::optional<SelfCheck> check = drawer.draw(attempt);
    if (check && coverage.offer(*check, static_cast<uint32_t>(kept.size())))
      kept.push_back(*check);
  }
  for (bundle::Instance *instance : targets)
    if (!dropUnchecked(*instance, unreached)) {
      error =
          fmt::format("no variant serves any of {} calls that were drawn", CheckDrawer::kAttempts);
      return std::nullopt;
    }
  return interpretAll(program, *contract, std::move(kept), error);
}

std::optional<std::vector<SelfCheck>> makeProbeChecks(const Program &program,
                                                      std::span<bundle::Instance *const> targets,
                                                      std::string &error) {
  const std::optional<plan::OperatorPlan> contract = contractOf(program, error);
  if (!contract)
    return std::nullopt;
  std::vector<SelfCheck> checks;
  for (bundle::Values values : {bundle::Values::AnyBits, bundle::Values::Finite}) {
    bundle::CheckTensor tensor;
    tensor.extents = {1 << 16};
    tensor.strides = {1};
    tensor.elements = 1 << 16;
    tensor.values = values;
    checks.push_back({1 + checks.size(), {tensor, tensor}, {}, {}});
    checks.back().tensors[1].values = bundle::Values::Finite;
  }
  for (bundle::Instance *instance : targets)
    instance->checksOfVariant.assign(instance->plan.variants.size(), {0, 1});
  return interpretAll(program, *contract, std::move(checks), error);
}

std::vector<std::string> approximationsOf(const Program &program) {
  std::set<std::string> names;
  for (const Expr &expr : program.expressions)
    if (expr.kind == Expr::Kind::Builtin)
      switch (expr.op) {
      case Builtin::RsqrtApprox:
      case Builtin::Ex2ApproxFtz:
      case Builtin::RcpApproxFtz:
      case Builtin::SqrtApprox:
        names.emplace(spelling(expr.op));
        break;
      default:
        break;
      }
  return {names.begin(), names.end()};
}

bundle::Digest meaningOf(const Program &program) {
  std::string text = dump(program);
  std::set<std::string> orders;
  for (const Order &order : program.orders) {
    std::string line = "order " + order.name + " =";
    for (const Order::Digit &digit : order.digits)
      line += fmt::format(" {}:{}", digit.isNamed() ? digit.name : "_",
                          digit.radix ? std::to_string(*digit.radix) : "_");
    for (const Order::Stage &stage : order.stages)
      line +=
          fmt::format(" then {} {}", static_cast<int>(stage.join), order.digits[stage.digit].name);
    orders.insert(line + "\n");
  }
  for (const std::string &order : orders)
    text += order;
  bundle::Sha256 hash;
  hash.add("h3 program 1\n");
  hash.add(text);
  return hash.finish();
}

} // namespace h3
