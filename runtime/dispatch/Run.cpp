//===-- runtime/dispatch/Run.cpp - The way of one call --------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/dispatch/DLPack.h"
#include "runtime/dispatch/Runtime.h"

#include <cstdio>
#include <new>

namespace h3::rt {

using plan::DeclineDetail;
using plan::DeclineReason;

void decline(h3rt_result &result, const plan::Decline &decline, const Row *row,
             const Entry *entry) {
  result.outcome = H3RT_DECLINED;
  result.reason = static_cast<int32_t>(decline.reason);
  result.tensor = decline.tensor;
  result.axis = decline.axis;
  result.index = decline.index;
  result.member = decline.member;
  result.other_member = decline.otherMember;
  result.detail = static_cast<int32_t>(decline.detail);
  result.found = decline.found;
  result.expected = decline.expected;
  result.opaque[0] = row;
  result.opaque[1] = entry;
  if (entry)
    result.driver_status = entry->code;
}

void decline(h3rt_result &result, DeclineReason reason, const Row *row, const Entry *entry) {
  plan::Decline bare;
  bare.reason = reason;
  decline(result, bare, row, entry);
}

void fail(h3rt_result &result, h3rt_failure failure, int32_t code, const Row *row) {
  result.outcome = H3RT_FAILED;
  result.failure = failure;
  result.driver_status = code;
  result.opaque[0] = row;
}

h3rt_failure failureOf(h3rt_driver_result status) {
  switch (status.kind) {
  case H3RT_DRIVER_OK:
    return H3RT_FAILURE_NONE;
  case H3RT_DRIVER_CONTEXT_ERROR:
    return H3RT_FAILURE_CONTEXT_ERROR;
  case H3RT_DRIVER_CONTEXT_DESTROYED:
    return H3RT_FAILURE_CONTEXT_DESTROYED;
  default:
    return H3RT_FAILURE_DRIVER;
  }
}

h3rt_driver_result launch(const Driver &driver, void *context, void *stream, void *kernel,
                          const plan::Launch &launch) {
  // A driver copies each argument's bytes from its address; the low bytes come first.
  std::array<void *, plan::kMaxArguments + 1> arguments;
  h3rt_launch request;
  request.size = sizeof(request);
  request.argument_count = 0;
  for (int axis = 0; axis < 3; ++axis) {
    request.grid[axis] = launch.grid[axis];
    request.block[axis] = launch.block[axis];
  }
  request.shared_bytes = launch.sharedBytes;
  if (!launch.members.empty())
    arguments[request.argument_count++] = const_cast<std::byte *>(launch.members.data());
  for (const plan::Argument &argument : launch.args())
    arguments[request.argument_count++] = const_cast<uint64_t *>(&argument.bits);
  request.arguments = arguments.data();
  return driver.api.launch(driver.api.user, context, stream, kernel, &request);
}

/// One for each thread: a list is then evaluated without memory unless it is longer than any
/// before.
static plan::ListCall &listCall() {
  static thread_local plan::ListCall call;
  return call;
}

namespace {

/// The members of a call of a function, bound to its contract: one, unless it is `each`.
struct BoundMembers {
  std::vector<plan::Binding> bindings;
  std::vector<plan::BoundTensor> tensors; ///< of all members, one member after the other
};

} // namespace

/// Fills \p members, or says why the contract declines the call.
static std::optional<plan::Decline> bindMembers(const plan::OperatorPlan &plan,
                                                const CallView &call, BoundMembers &members) {
  const size_t each = plan.each ? plan.tensors.size() : call.tensors.size();
  for (size_t first = 0; first < call.tensors.size(); first += each) {
    auto binding =
        plan::bind(plan, call.tensors.subspan(first, std::min(each, call.tensors.size() - first)),
                   call.parameters);
    if (auto *declined = std::get_if<plan::Decline>(&binding)) {
      if (plan.each)
        declined->member = static_cast<int32_t>(first / each);
      return *declined;
    }
    members.bindings.push_back(std::get<plan::Binding>(binding));
    const auto &tensors = members.bindings.back().tensors;
    members.tensors.insert(members.tensors.end(), tensors.begin(),
                           tensors.begin() + plan.tensors.size());
  }
  return plan.each ? plan::checkMembers(plan, members.tensors) : std::nullopt;
}

std::optional<plan::Decline> checkContract(const Row &row, const CallView &call) {
  const plan::OperatorPlan &plan = *row.plan;
  if (row.function) {
    BoundMembers members;
    return bindMembers(plan, call, members);
  }
  if (plan.each)
    return listCall().evaluate(plan, call.tensors, call.parameters);
  auto evaluated = plan::evaluate(plan, call.tensors, call.parameters);
  if (auto *declined = std::get_if<plan::Decline>(&evaluated))
    return *declined;
  return std::nullopt;
}

Driver *Runtime::driverFor(int32_t deviceType) const {
  for (const auto &place : drivers) {
    Driver *driver = place.load(std::memory_order_acquire);
    if (!driver || driver->api.device_type == deviceType)
      return driver;
  }
  return nullptr;
}

static int64_t number(DLDevice device) {
  return int64_t(device.device_type) << 32 | uint32_t(device.device_id);
}

h3rt_outcome Runtime::run(Operator &op, const h3rt_call &call, h3rt_result &result) {
  const size_t size = result.size;
  result = {};
  result.size = size;
  result.outcome = H3RT_SERVED;
  result.reason = H3RT_DECLINE_NONE;
  result.variant = result.tensor = result.axis = result.index = -1;
  result.member = result.other_member = -1;
  if (isForked())
    fail(result, H3RT_FAILURE_FORKED, 0, nullptr);
  else if (call.tensor_count < 0 || call.parameter_count < 0 ||
           (call.tensor_count > 0 && !call.tensors) ||
           (call.parameter_count > 0 && !call.parameters))
    fail(result, H3RT_FAILURE_INVALID_CALL, 0, nullptr);
  else if (call.flags & H3RT_REQUIRES_GRAD)
    decline(result, DeclineReason::RequiresGrad, nullptr);
  else if (call.flags & H3RT_COMPILING)
    decline(result, DeclineReason::Compiling, nullptr);
  else if (op.isOff.load(std::memory_order_relaxed))
    decline(result, DeclineReason::Disabled, nullptr);
  else
    dispatch(op, call, result);
  conclude(op, call, result);
  return static_cast<h3rt_outcome>(result.outcome);
}

void Runtime::dispatch(Operator &op, const h3rt_call &call, h3rt_result &result) {
  const auto count = static_cast<size_t>(call.tensor_count);
  const plan::OperatorPlan &contract = *op.contract.load(std::memory_order_acquire);
  if (count == 0) {
    // An empty list has nothing to compute; nobody else has a call without tensors.
    if (!contract.each)
      decline(result,
              {.reason = DeclineReason::Arguments,
               .detail = DeclineDetail::TensorCount,
               .expected = static_cast<int64_t>(contract.tensors.size())},
              nullptr);
    return;
  }
  // Room for what any operator has; only a list may be longer.
  alignas(plan::Tensor) std::byte room[plan::kMaxTensors * sizeof(plan::Tensor)];
  static thread_local std::vector<plan::Tensor> longer;
  auto *tensors = reinterpret_cast<plan::Tensor *>(room);
  if (count > plan::kMaxTensors) {
    longer.resize(count);
    tensors = longer.data();
  }
  const size_t each = contract.each ? contract.tensors.size() : count;
  for (size_t i = 0; i < count; ++i) {
    if (!call.tensors[i] || !readTensor(*call.tensors[i], *new (&tensors[i]) plan::Tensor)) {
      fail(result, H3RT_FAILURE_INVALID_CALL, 0, nullptr);
      return;
    }
    const DLDevice first = call.tensors[0]->device, own = call.tensors[i]->device;
    const bool isElsewhere =
        own.device_type != first.device_type || own.device_id != first.device_id;
    if (!isElsewhere && (tensors[i].address != 0 || isEmpty(tensors[i])))
      continue;
    plan::Decline why{.reason = isElsewhere ? DeclineReason::Device : DeclineReason::Arguments,
                      .detail = isElsewhere ? DeclineDetail::OtherDevice : DeclineDetail::NoData,
                      .tensor = static_cast<int16_t>(i % each),
                      .found = isElsewhere ? number(own) : 0,
                      .expected = isElsewhere ? number(first) : 0,
                      .member = contract.each ? static_cast<int32_t>(i / each) : -1};
    if (count % each != 0 || each != contract.tensors.size())
      why = {.reason = DeclineReason::Arguments,
             .detail = DeclineDetail::TensorCount,
             .found = static_cast<int64_t>(count),
             .expected = static_cast<int64_t>(contract.tensors.size())};
    decline(result, why, nullptr);
    return;
  }

  std::array<plan::ParameterValue, plan::kMaxParameters> parameters;
  const auto parameterCount = static_cast<size_t>(call.parameter_count);
  if (parameterCount > plan::kMaxParameters) {
    decline(result,
            {.reason = DeclineReason::Arguments,
             .detail = DeclineDetail::ParameterCount,
             .found = call.parameter_count,
             .expected = static_cast<int64_t>(contract.parameters.size())},
            nullptr);
    return;
  }
  if (!readParameters(call, parameters)) {
    fail(result, H3RT_FAILURE_INVALID_CALL, 0, nullptr);
    return;
  }

  CallView view;
  view.tensors = {tensors, count};
  view.parameters = {parameters.data(), parameterCount};
  view.device = call.tensors[0]->device;
  view.stream = call.stream;
  view.flags = call.flags;
  Driver *driver = driverFor(view.device.device_type);
  if (!driver) {
    plan::Decline why{.reason = DeclineReason::NoOperatorSet};
    if (count == contract.tensors.size())
      why = {.reason = DeclineReason::NoOperatorSet,
             .detail = DeclineDetail::NoDeviceDriver,
             .tensor = 0,
             .found = number(view.device)};
    decline(result, why, nullptr);
    return;
  }
  const uintptr_t key = driver->contextKey(view.device.device_id, view.stream);
  const Entry *entry = nullptr;
  if (const Context *context = contexts.find(driver, view.device.device_id, key))
    entry = context->entries[op.index].load(std::memory_order_acquire);
  if (!entry)
    entry = load(op, *driver, view.device, view.stream, key, (call.flags & H3RT_CAPTURING) != 0,
                 &view, result);
  if (entry)
    runIn(*entry, key, view, result);
}

void Runtime::runIn(const Entry &entry, uintptr_t key, const CallView &call, h3rt_result &result) {
  const Row *row = entry.row;
  if (entry.declined) {
    decline(result, *entry.declined, row, &entry);
    return;
  }
  if (!row->enabled || row->isOff.load(std::memory_order_relaxed)) {
    decline(result, DeclineReason::Disabled, row);
    return;
  }
  result.opaque[0] = row;
  result.opaque[1] = &entry;
  if (row->function) {
    runFunction(*row, call, result);
    return;
  }
  const Context &context = *entry.context;
  h3rt_driver_result status{};
  if (row->plan->each) {
    plan::ListCall &list = listCall();
    if (auto declined = list.evaluate(*row->plan, call.tensors, call.parameters)) {
      decline(result, *declined, row);
      return;
    }
    for (const plan::Launch &launch : list.launches()) {
      result.variant = static_cast<int32_t>(launch.variant);
      status = rt::launch(*context.driver, context.handle, call.stream,
                          entry.kernels[launch.variant], launch);
      if (status.kind != H3RT_DRIVER_OK)
        break;
    }
  } else {
    auto evaluated = plan::evaluate(*row->plan, call.tensors, call.parameters);
    if (const auto *declined = std::get_if<plan::Decline>(&evaluated)) {
      decline(result, *declined, row);
      return;
    }
    const plan::Launch &launch = std::get<plan::Launch>(evaluated);
    if (launch.isEmpty())
      return;
    result.variant = static_cast<int32_t>(launch.variant);
    status = rt::launch(*context.driver, context.handle, call.stream, entry.kernels[launch.variant],
                        launch);
  }
  if (status.kind != H3RT_DRIVER_OK) {
    fail(result, failureOf(status), status.code, row);
    afterFailedLaunch(entry, call.device.device_id, key, status);
  }
}

void Runtime::runFunction(const Row &row, const CallView &call, h3rt_result &result) {
  const plan::OperatorPlan &plan = *row.plan;
  BoundMembers members;
  if (auto declined = bindMembers(plan, call, members)) {
    decline(result, *declined, &row);
    return;
  }
  const auto &[bindings, bound] = members;
  std::vector<h3rt_bound_tensor> tensors;
  for (size_t i = 0; i < bound.size(); ++i)
    tensors.push_back({sizeof(h3rt_bound_tensor), bound[i].address,
                       static_cast<int32_t>(plan.tensors[i % plan.tensors.size()].rank()),
                       bound[i].extents.data(), bound[i].strides.data()});
  std::vector<int64_t> dims;
  for (const plan::Binding &binding : bindings)
    dims.insert(dims.end(), binding.dims.begin(), binding.dims.begin() + plan.dims.size());
  h3rt_binding request{};
  request.size = sizeof(request);
  request.device = call.device;
  request.stream = call.stream;
  request.member_count = static_cast<int32_t>(bindings.size());
  request.tensor_count = static_cast<int32_t>(plan.tensors.size());
  request.tensors = tensors.data();
  request.dim_count = static_cast<int32_t>(plan.dims.size());
  request.dims = dims.data();
  request.parameter_count = static_cast<int32_t>(plan.parameters.size());
  request.parameters = bindings.front().parameters.data();
  if (int32_t code = row.function(row.user, &request))
    fail(result, H3RT_FAILURE_DRIVER, code, &row);
}

void Runtime::afterFailedLaunch(const Entry &entry, int32_t device, uintptr_t key,
                                h3rt_driver_result status) {
  std::lock_guard lock(mutex);
  Context &context = *const_cast<Context *>(entry.context);
  // The stream may be another one with the same handle by now: ask again next time.
  contexts.set(context.driver, device, key, nullptr);
  if (status.kind != H3RT_DRIVER_CONTEXT_DESTROYED || context.isForgotten)
    return;
  context.isForgotten = true;
  contexts.remove(&context);
}

void Runtime::conclude(Operator &op, const h3rt_call &call, h3rt_result &result) {
  constexpr auto relaxed = std::memory_order_relaxed;
  switch (result.outcome) {
  case H3RT_SERVED:
    op.counters.served.fetch_add(1, relaxed);
    break;
  case H3RT_DECLINED:
    op.counters.declined[static_cast<size_t>(result.reason)].fetch_add(1, relaxed);
    if (options.flags & H3RT_STRICT) {
      result.outcome = H3RT_FAILED;
      result.failure = H3RT_FAILURE_STRICT;
    }
    break;
  default:
    op.counters.failed.fetch_add(1, relaxed);
    break;
  }
  if (!isVerbose)
    return;
  static constexpr const char *kOutcomes[] = {"served", "declined", "failed"};
  const Row *row = static_cast<const Row *>(result.opaque[0]);
  std::string line = "h3rt: dispatch op=" + op.name;
  if (call.tensor_count > 0 && call.tensors && call.tensors[0]) {
    const DLDevice device = call.tensors[0]->device;
    const Driver *driver = driverFor(device.device_type);
    line += " device=" +
            (driver ? driver->deviceName(device.device_id)
                    : std::to_string(device.device_type) + ":" + std::to_string(device.device_id));
  }
  if (row)
    line += " target=" + row->target;
  line += std::string(" outcome=") + kOutcomes[result.outcome];
  if (result.outcome == H3RT_SERVED) {
    line += " variant=";
    line += row && row->function ? "function"
            : row && result.variant >= 0
                ? row->plan->variants[static_cast<size_t>(result.variant)].name
                : "none";
    const Entry *entry = static_cast<const Entry *>(result.opaque[1]);
    if (entry && entry->isAssembledByDriver)
      line += " image=ptx audited=no";
  } else {
    if (result.reason >= 0)
      line += " reason=" + std::string(plan::name(static_cast<DeclineReason>(result.reason)));
    if (result.driver_status)
      line += " status=" + std::to_string(result.driver_status);
    line += " text=\"" + describe(op, result) + "\"";
  }
  log(line);
}

void Runtime::log(const std::string &line) const {
  if (options.log)
    options.log(options.log_user, line.c_str());
  else
    std::fprintf(stderr, "%s\n", line.c_str());
}

static std::string failureText(const Operator &op, const h3rt_result &result) {
  const Row *row = static_cast<const Row *>(result.opaque[0]);
  const Entry *entry = static_cast<const Entry *>(result.opaque[1]);
  // Either the entry that was launched, or one that says what went wrong while loading.
  const std::string status =
      ": " + (entry && entry->context ? entry->context->driver->codeText(result.driver_status)
              : entry                 ? entry->explanation
                                      : "status " + std::to_string(result.driver_status));
  switch (result.failure) {
  case H3RT_FAILURE_CONTEXT_ERROR:
    return "context_error: an earlier error, not of this call, has ended the context" + status;
  case H3RT_FAILURE_CONTEXT_DESTROYED:
    return "context_destroyed: the context or the stream exists no more" + status;
  case H3RT_FAILURE_FORKED:
    return "forked: the runtime belongs to the parent process, make one in this one";
  case H3RT_FAILURE_INVALID_CALL:
    return "invalid_call: a null pointer, a negative number or a struct that is too small";
  case H3RT_FAILURE_NO_MEMORY:
    return "no_memory: the host has no memory left";
  default:
    return "driver: launching " + op.name + (row ? " for " + row->target : "") + " failed" + status;
  }
}

std::string Runtime::describe(const Operator &op, const h3rt_result &result) {
  const Row *row = static_cast<const Row *>(result.opaque[0]);
  const Entry *entry = static_cast<const Entry *>(result.opaque[1]);
  if (result.outcome == H3RT_SERVED)
    return "served";
  if (result.failure != H3RT_FAILURE_NONE && result.failure != H3RT_FAILURE_STRICT)
    return "failed: " + failureText(op, result);
  if (result.reason < 0 || result.reason >= static_cast<int32_t>(plan::kDeclineReasonCount))
    return "declined";
  plan::Decline why;
  why.reason = static_cast<DeclineReason>(result.reason);
  why.detail = static_cast<DeclineDetail>(result.detail);
  why.tensor = static_cast<int16_t>(result.tensor);
  why.axis = static_cast<int16_t>(result.axis);
  why.index = result.index;
  why.found = result.found;
  why.expected = result.expected;
  why.member = result.member;
  why.otherMember = result.other_member;
  std::string text =
      plan::describe(row ? *row->plan : *op.contract.load(std::memory_order_acquire), why);
  if (entry && !entry->explanation.empty())
    text += ": " + entry->explanation;
  return text;
}

} // namespace h3::rt
