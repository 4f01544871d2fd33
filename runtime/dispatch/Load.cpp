//===-- runtime/dispatch/Load.cpp - Loading operators ---------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/dispatch/LoadSession.h"
#include "runtime/dispatch/Runtime.h"

#include <algorithm>
#include <cstring>

namespace h3::rt {

using plan::DeclineReason;

Problem problemOf(const Driver &driver, h3rt_driver_result status, const std::string &step) {
  Problem problem;
  problem.code = status.code;
  problem.text = status.code ? step + ": " + driver.codeText(status.code) : step;
  switch (status.kind) {
  case H3RT_DRIVER_MISSING:
    problem.reason = DeclineReason::NoDriver;
    break;
  case H3RT_DRIVER_NO_DEVICE:
    problem.reason = DeclineReason::NoDevice;
    break;
  case H3RT_DRIVER_CAPTURING:
    problem.reason = DeclineReason::CaptureNeedsPreload;
    break;
  case H3RT_DRIVER_WRONG_IMAGE:
    problem.reason = DeclineReason::WrongImage;
    problem.isLasting = true;
    break;
  case H3RT_DRIVER_PTX_TOO_NEW:
    problem.reason = DeclineReason::PtxTooNew;
    problem.isLasting = true;
    break;
  case H3RT_DRIVER_OUT_OF_MEMORY:
    problem.reason = DeclineReason::OutOfMemory;
    break;
  case H3RT_DRIVER_WRONG_DEVICE:
    problem.reason = DeclineReason::Device;
    break;
  case H3RT_DRIVER_CONTEXT_ERROR:
    problem.failure = H3RT_FAILURE_CONTEXT_ERROR;
    break;
  case H3RT_DRIVER_CONTEXT_DESTROYED:
    problem.failure = H3RT_FAILURE_CONTEXT_DESTROYED;
    break;
  default:
    break;
  }
  return problem;
}

const Entry *Runtime::keep(std::unique_ptr<Entry> entry) {
  ownedEntries.push_back(std::move(entry));
  return ownedEntries.back().get();
}

const Entry *Runtime::publish(std::unique_ptr<Entry> entry, Context *context, const Operator &op) {
  entry->context = context;
  const Entry *kept = keep(std::move(entry));
  context->entries[op.index].store(kept, std::memory_order_release);
  return kept;
}

void Runtime::report(const Problem &problem, const Row *row, h3rt_result &result) {
  // A host that tries again and again must not make the list grow for ever.
  const Entry *entry = nullptr;
  for (const auto &known : ownedEntries)
    if (!known->context && known->row == row && known->declined == problem.reason &&
        known->code == problem.code && known->explanation == problem.text)
      entry = known.get();
  if (!entry) {
    auto fresh = std::make_unique<Entry>();
    fresh->row = row;
    fresh->declined = problem.reason;
    fresh->code = problem.code;
    fresh->explanation = problem.text;
    entry = keep(std::move(fresh));
  }
  if (problem.failure == H3RT_FAILURE_NONE) {
    decline(result, problem.reason, row, entry);
    return;
  }
  fail(result, problem.failure, problem.code, row);
  result.opaque[1] = entry;
}

void Runtime::dropDeclines() {
  for (const auto &context : ownedContexts)
    for (auto &place : context->entries) {
      const Entry *entry = place.load(std::memory_order_relaxed);
      if (entry && entry->declined &&
          (!entry->row || *entry->declined == DeclineReason::NotValidated))
        place.store(nullptr, std::memory_order_release);
    }
}

Device *Runtime::deviceOf(Driver &driver, int32_t number, h3rt_result &result) {
  for (const auto &device : driver.devices)
    if (device->number == number)
      return device.get();
  char target[64] = {};
  const h3rt_driver_result status =
      driver.api.target(driver.api.user, number, target, sizeof(target) - 1);
  if (status.kind != H3RT_DRIVER_OK) {
    report(problemOf(driver, status, driver.deviceName(number)), nullptr, result);
    return nullptr;
  }
  auto device = std::make_unique<Device>();
  device->number = number;
  device->target = target;
  driver.devices.push_back(std::move(device));
  return driver.devices.back().get();
}

Context *Runtime::contextOf(Driver &driver, Device &device, void *handle) {
  for (const auto &context : ownedContexts)
    if (!context->isForgotten && context->driver == &driver && context->device == &device &&
        context->handle == handle)
      return context.get();
  auto context = std::make_unique<Context>();
  context->driver = &driver;
  context->device = &device;
  context->handle = handle;
  ownedContexts.push_back(std::move(context));
  return ownedContexts.back().get();
}

void Runtime::unloadModules(Context &context) {
  if (context.modules.empty())
    return;
  const h3rt_driver &api = context.driver->api;
  if (api.enter(api.user, context.handle).kind == H3RT_DRIVER_OK) {
    for (const Context::LoadedModule &loaded : context.modules)
      api.unload(api.user, loaded.module);
    api.leave(api.user, context.handle);
  }
  context.modules.clear();
}

const Entry *Runtime::load(Operator &op, Driver &driver, DLDevice device, void *stream,
                           uintptr_t key, bool isCapturing, const CallView *call,
                           h3rt_result &result) {
  std::lock_guard lock(mutex);
  return loadLocked(op, driver, device, stream, key, isCapturing, call, result);
}

const Entry *Runtime::loadLocked(Operator &op, Driver &driver, DLDevice where, void *stream,
                                 uintptr_t key, bool isCapturing, const CallView *call,
                                 h3rt_result &result) {
  // Another thread may have been faster.
  Context *context = contexts.find(&driver, where.device_id, key);
  if (context)
    if (const Entry *entry = context->entries[op.index].load(std::memory_order_relaxed))
      return entry;
  Device *device = deviceOf(driver, where.device_id, result);
  if (!device)
    return nullptr;
  const Row *row = table.find(op, device->target);
  if (!row) {
    auto entry = std::make_unique<Entry>();
    entry->declined = DeclineReason::NoOperatorSet;
    entry->explanation =
        op.name + " on " + driver.deviceName(where.device_id) + ", which is " + device->target;
    if (context)
      return publish(std::move(entry), context, op);
    // Nothing is ever resolved for a device without rows, so that this is as fast as any decline.
    const auto isOfTarget = [&](const auto &each) { return each->target == device->target; };
    if (std::none_of(table.rows().begin(), table.rows().end(), isOfTarget)) {
      context = contextOf(driver, *device, nullptr);
      contexts.set(&driver, where.device_id, key, context);
      return publish(std::move(entry), context, op);
    }
    report({.reason = DeclineReason::NoOperatorSet, .text = entry->explanation}, nullptr, result);
    return nullptr;
  }
  if (!row->enabled || row->isOff) {
    decline(result, DeclineReason::Disabled, row);
    return nullptr;
  }
  if (call)
    if (auto declined = checkContract(*row, *call)) {
      decline(result, *declined, row);
      return nullptr;
    }

  void *handle = nullptr;
  if (driver.loadsImages()) {
    const h3rt_driver &api = driver.api;
    const h3rt_driver_result status = api.resolve(api.user, where.device_id, stream, &handle);
    if (status.kind != H3RT_DRIVER_OK) {
      report(problemOf(driver, status, "the stream's context"), row, result);
      return nullptr;
    }
  }
  context = contextOf(driver, *device, handle);
  contexts.set(&driver, where.device_id, key, context);
  if (const Entry *entry = context->entries[op.index].load(std::memory_order_relaxed))
    return entry;

  auto entry = std::make_unique<Entry>();
  entry->row = row;
  for (const auto &[rejected, reason] : device->rejected)
    if (rejected == row) {
      entry->declined = reason->declined;
      entry->code = reason->code;
      entry->explanation = reason->explanation;
      return publish(std::move(entry), context, op);
    }
  if (options.flags & H3RT_REQUIRE_VALIDATED && !row->function) {
    const h3rt_validation validation = table.validation(*row);
    if (validation != H3RT_VALIDATED) {
      entry->declined = DeclineReason::NotValidated;
      entry->explanation =
          op.name + " for " + row->target +
          (validation == H3RT_EVIDENCE_STALE ? " is enabled; evidence is for other images"
                                             : " is enabled; there is no evidence");
      return publish(std::move(entry), context, op);
    }
  }
  if (row->function)
    return publish(std::move(entry), context, op);

  // From here on the driver works for us.
  if (!driver.loadsImages()) {
    report({.reason = DeclineReason::NoImage,
            .text = "the driver '" + std::string(driver.api.name) + "' loads none"},
           row, result);
    return nullptr;
  }
  int32_t isBusy = isCapturing;
  if (!isBusy) {
    const h3rt_driver_result status =
        driver.api.capturing(driver.api.user, handle, stream, &isBusy);
    if (status.kind != H3RT_DRIVER_OK) {
      report(problemOf(driver, status, "asking whether the stream captures"), row, result);
      return nullptr;
    }
  }
  if (isBusy) {
    decline(result, DeclineReason::CaptureNeedsPreload, row);
    return nullptr;
  }
  std::optional<Problem> problem =
      LoadSession(driver, *device, *context, (options.flags & H3RT_ALLOW_PTX) != 0)
          .load(*row, *entry);
  if (!problem)
    return publish(std::move(entry), context, op);
  if (problem->failure == H3RT_FAILURE_CONTEXT_DESTROYED) {
    context->isForgotten = true;
    contexts.remove(context);
  }
  if (!problem->isLasting || problem->failure != H3RT_FAILURE_NONE) {
    report(*problem, row, result);
    return nullptr;
  }
  entry->kernels.clear();
  entry->declined = problem->reason;
  entry->code = problem->code;
  entry->explanation = problem->text;
  const Entry *published = publish(std::move(entry), context, op);
  device->rejected.emplace_back(row, published);
  return published;
}

/// Why there is no device, of what `deviceOf` wrote.
static Refusal noDriver(DLDevice where) {
  return {H3RT_NOT_FOUND,
          "no driver for DLPack's device type " + std::to_string(where.device_type)};
}

static Refusal noDevice(const h3rt_result &result) {
  return {H3RT_NOT_FOUND,
          static_cast<const Entry *>(result.opaque[1])->explanation + ": " +
              std::string(plan::meaning(static_cast<DeclineReason>(result.reason)))};
}

/// What a result says, for a status of its own.
static Refusal refusalOf(const Operator &op, const h3rt_result &result) {
  return {H3RT_NOT_LOADED, op.name + ": " + Runtime::describe(op, result)};
}

std::optional<Refusal> Runtime::preload(DLDevice where, void *stream) {
  Driver *driver = driverFor(where.device_type);
  if (!driver)
    return noDriver(where);
  std::lock_guard lock(mutex);
  h3rt_result result{};
  Device *device = deviceOf(*driver, where.device_id, result);
  if (!device)
    return noDevice(result);
  const uintptr_t key = driver->contextKey(where.device_id, stream);
  std::optional<Refusal> refusal;
  bool isEmpty = true;
  for (const auto &row : table.rows()) {
    if (row->target != device->target || !row->enabled || row->isOff || row->op->isOff)
      continue;
    isEmpty = false;
    result = {};
    result.size = sizeof(result);
    const Entry *entry = loadLocked(*row->op, *driver, where, stream, key, false, nullptr, result);
    if (entry && entry->declined)
      decline(result, *entry->declined, entry->row, entry);
    if (result.outcome != H3RT_SERVED && !refusal)
      refusal = refusalOf(*row->op, result);
    if (isVerbose && result.outcome != H3RT_SERVED)
      log("h3rt: preload op=" + row->op->name + " device=" + driver->deviceName(where.device_id) +
          " text=\"" + describe(*row->op, result) + "\"");
  }
  if (isEmpty)
    return Refusal{H3RT_NOT_FOUND, "no operator may serve on " +
                                       driver->deviceName(where.device_id) + ", which is " +
                                       device->target};
  return refusal;
}

std::optional<Refusal> Runtime::deviceInfo(DLDevice where, h3rt_device_info &info) {
  Driver *driver = driverFor(where.device_type);
  if (!driver)
    return noDriver(where);
  std::lock_guard lock(mutex);
  h3rt_result result{};
  Device *device = deviceOf(*driver, where.device_id, result);
  if (!device)
    return noDevice(result);
  std::strncpy(info.target, device->target.c_str(), sizeof(info.target) - 1);
  for (const auto &row : table.rows()) {
    if (row->target != device->target)
      continue;
    ++info.operator_count;
    info.enabled_count += row->enabled && !row->isOff && !row->op->isOff;
    info.validated_count += table.validation(*row) == H3RT_VALIDATED;
  }
  return std::nullopt;
}

std::optional<Refusal> Runtime::forget(DLDevice where, void *stream) {
  Driver *driver = driverFor(where.device_type);
  if (!driver || !driver->loadsImages())
    return Refusal{H3RT_NOT_FOUND, "no driver with contexts for DLPack's device type " +
                                       std::to_string(where.device_type)};
  std::lock_guard lock(mutex);
  const h3rt_driver &api = driver->api;
  const uintptr_t key = driver->contextKey(where.device_id, stream);
  Context *context = contexts.find(driver, where.device_id, key);
  if (!context) {
    // A stream that no call was on, of a context that others were in.
    void *handle = nullptr;
    if (api.resolve(api.user, where.device_id, stream, &handle).kind == H3RT_DRIVER_OK)
      for (const auto &known : ownedContexts)
        if (known->driver == driver && known->handle == handle && !known->isForgotten)
          context = known.get();
  }
  if (!context)
    return std::nullopt;
  unloadModules(*context);
  context->isForgotten = true;
  contexts.remove(context);
  return std::nullopt;
}

} // namespace h3::rt
