//===-- runtime/dispatch/Runtime.cpp - The table, the switches, the lists -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/dispatch/Runtime.h"
#include "runtime/json/Value.h"

#include <cstdlib>
#include <cstring>

#include <pthread.h>

namespace h3::rt {

/// How often this process and those it comes from have forked since the library was first used.
static std::atomic<unsigned> forks{0};

static unsigned currentGeneration() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return forks.load(std::memory_order_relaxed);
}

Runtime::Runtime(const h3rt_options &options)
    : options(options), generation(currentGeneration()), table(*this) {
  isVerbose = (options.flags & H3RT_VERBOSE_DISPATCH) != 0;
  if (options.flags & H3RT_IGNORE_ENVIRONMENT)
    return;
  if (const char *verbose = secure_getenv("H3RT_VERBOSE"))
    isVerbose |= std::string_view(verbose) == "dispatch";
  if (const char *list = secure_getenv("H3RT_DISABLE")) {
    // Commas inside of <> belong to a name.
    std::string name;
    int depth = 0;
    for (const char *at = list;; ++at) {
      depth += *at == '<' ? 1 : *at == '>' ? -1 : 0;
      if (*at && (*at != ',' || depth > 0)) {
        name += *at;
        continue;
      }
      if (!name.empty())
        table.setEnabled(name, false);
      name.clear();
      if (!*at)
        break;
    }
  }
}

Runtime::~Runtime() {
  // The parent's contexts are not this process's.
  if (isForked())
    return;
  for (const auto &context : ownedContexts)
    if (!context->isForgotten)
      unloadModules(*context);
}

bool Runtime::isForked() const { return forks.load(std::memory_order_relaxed) != generation; }

std::optional<Refusal> Runtime::addBundle(bundle::Bundle bundle) {
  std::lock_guard lock(mutex);
  std::vector<std::string> notes;
  if (auto refusal = table.add(std::move(bundle), notes))
    return refusal;
  if (isVerbose)
    for (const std::string &note : notes)
      log("h3rt: bundle " + note);
  dropDeclines();
  return std::nullopt;
}

std::optional<Refusal> Runtime::addSet(const h3rt_set &set) {
  auto invalid = [](std::string text) { return Refusal{H3RT_INVALID_ARGUMENT, std::move(text)}; };
  if (!set.name || !set.target || set.operator_count < 0 ||
      (set.operator_count > 0 && !set.operators))
    return invalid("an operator set needs a name, a target and operators");
  if (set.operator_count == 0)
    return Refusal{H3RT_INCOMPLETE,
                   "operator set '" + std::string(set.name) + "' has no operators"};
  std::vector<Table::Function> functions;
  // The caller's struct may be longer than ours: its size is the step from one to the next.
  auto at = reinterpret_cast<const std::byte *>(set.operators);
  for (int32_t i = 0; i < set.operator_count; ++i) {
    h3rt_set_operator op{};
    std::memcpy(&op.size, at, sizeof(op.size));
    if (op.size < sizeof(op))
      return invalid("h3rt_set_operator.size is " + std::to_string(op.size) + ", expected " +
                     std::to_string(sizeof(op)) + " or more");
    const size_t step = op.size;
    std::memcpy(&op, at, sizeof(op));
    at += step;
    if (!op.name || !op.function)
      return invalid("operator " + std::to_string(i) + " of set '" + set.name +
                     "' needs a name and a function");
    Table::Function function{op.name, nullptr, op.function, op.user};
    if (op.contract) {
      auto document = json::Document::parse(op.contract);
      if (!document)
        return invalid("the contract of " + function.name + ": " + document.error().message);
      auto plan = plan::fromJson(document->root());
      if (!plan)
        return invalid("the contract of " + function.name + ": " + plan.error().message);
      if (nameOf(*plan) != function.name)
        return invalid("the contract of " + function.name + " is that of " + nameOf(*plan));
      function.contract = std::make_unique<const plan::OperatorPlan>(std::move(*plan));
    }
    functions.push_back(std::move(function));
  }
  std::lock_guard lock(mutex);
  if (auto refusal = table.add(set.name, set.target, set.enabled != 0, std::move(functions)))
    return refusal;
  dropDeclines();
  return std::nullopt;
}

std::optional<Refusal> Runtime::addDriver(const h3rt_driver &given) {
  if (!given.name || !given.target)
    return Refusal{H3RT_INVALID_ARGUMENT, "a driver needs a name and the function `target`"};
  const bool some = given.launch || given.resolve || given.capturing || given.enter ||
                    given.leave || given.load || given.unload || given.kernel ||
                    given.open_stream || given.close_stream || given.synchronize ||
                    given.allocate || given.release || given.upload || given.download;
  const bool all = given.launch && given.resolve && given.capturing && given.enter && given.leave &&
                   given.load && given.unload && given.kernel && given.open_stream &&
                   given.close_stream && given.synchronize && given.allocate && given.release &&
                   given.upload && given.download;
  if (some && !all)
    return Refusal{H3RT_INCOMPLETE, "driver '" + std::string(given.name) +
                                        "' has some of the functions that load and launch images, "
                                        "it needs all or none"};
  std::lock_guard lock(mutex);
  for (const auto &driver : ownedDrivers) {
    if (std::string_view(driver->api.name) == given.name)
      return Refusal{H3RT_DUPLICATE, "driver '" + std::string(given.name) + "' is there already"};
    if (driver->api.device_type == given.device_type)
      return Refusal{H3RT_DUPLICATE, "driver '" + std::string(given.name) +
                                         "': tensors of DLPack "
                                         "type " +
                                         std::to_string(given.device_type) +
                                         " are served by driver '" + driver->api.name + "'"};
  }
  if (ownedDrivers.size() == kMaxDrivers)
    return Refusal{H3RT_INVALID_ARGUMENT,
                   "a runtime has at most " + std::to_string(kMaxDrivers) + " drivers"};
  auto driver = std::make_unique<Driver>();
  driver->api = given;
  drivers[ownedDrivers.size()].store(driver.get(), std::memory_order_release);
  ownedDrivers.push_back(std::move(driver));
  return std::nullopt;
}

void Runtime::addEvidence(const h3rt_evidence &evidence) {
  std::lock_guard lock(mutex);
  table.addEvidence(evidence);
  dropDeclines();
}

void Runtime::setEnabled(std::string_view what, bool enabled) {
  std::lock_guard lock(mutex);
  table.setEnabled(what, enabled);
}

Operator *Runtime::findOperator(std::string_view name) const {
  std::lock_guard lock(mutex);
  return table.findOperator(name);
}

size_t Runtime::operatorCount() const {
  std::lock_guard lock(mutex);
  return table.operators().size();
}

Operator *Runtime::operatorAt(size_t index) const {
  std::lock_guard lock(mutex);
  return index < table.operators().size() ? table.operators()[index].get() : nullptr;
}

size_t Runtime::rowCount() const {
  std::lock_guard lock(mutex);
  return table.rows().size();
}

bool Runtime::rowAt(size_t index, h3rt_row &result) const {
  std::lock_guard lock(mutex);
  if (index >= table.rows().size())
    return false;
  const Row &row = *table.rows()[index];
  result.set = row.set.c_str();
  result.target = row.target.c_str();
  result.operator_name = row.op->name.c_str();
  result.enabled = row.enabled && !row.isOff && !row.op->isOff;
  result.validation = table.validation(row);
  result.has_cubin = row.cubin() != nullptr;
  result.has_ptx = row.ptx() != nullptr;
  result.is_function = row.function != nullptr;
  result.variant_count = row.function ? 0 : static_cast<int32_t>(row.plan->variants.size());
  const bundle::Image *image = row.cubin() ? row.cubin() : row.ptx();
  if (image)
    std::memcpy(result.image_digest, image->digest.bytes.data(), 32);
  if (row.definition)
    std::memcpy(result.operator_digest, row.definition->digest.bytes.data(), 32);
  return true;
}

} // namespace h3::rt
