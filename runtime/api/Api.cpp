//===-- runtime/api/Api.cpp - The C interface -----------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each function of h3rt.h: reads structs of the size that the caller has, lets no exception out,
// and keeps the text of the last error for its thread.
//
//===----------------------------------------------------------------------===//

#include "runtime/api/Create.h"
#include "runtime/cuda/Hardware.h"
#include "runtime/dispatch/Runtime.h"
#include "runtime/evidence/Record.h"

#include <algorithm>
#include <cstring>

using namespace h3;
using namespace h3::rt;

#define H3_DECLINE(Enumerator, Name, Meaning)                                                      \
  static_assert(static_cast<int>(plan::DeclineReason::Enumerator) < H3RT_MAX_REASONS);
#include "runtime/plan/declines.def"

struct h3rt_runtime {
  cuda::Hardware cuda;
  std::optional<Runtime> runtime;

  explicit h3rt_runtime(std::string library) : cuda(std::move(library)) {}
};

namespace {

/// Fixed, so that an error can be told when there is no memory for its text.
thread_local char lastError[512] = "";

h3rt_status refuse(h3rt_status status, const std::string &text) {
  const size_t length = std::min(text.size(), sizeof(lastError) - 1);
  std::memcpy(lastError, text.data(), length);
  lastError[length] = 0;
  return status;
}

h3rt_status statusOf(const std::optional<Refusal> &refusal) {
  return refusal ? refuse(refusal->status, refusal->text) : H3RT_OK;
}

/// Runs the body, which returns a status; what it throws becomes one.
template <typename Body> h3rt_status guarded(Body body) noexcept {
  try {
    return body();
  } catch (...) {
    std::strcpy(lastError, "the host has no memory left");
    return H3RT_NO_MEMORY;
  }
}

/// The caller's struct in our size: what it does not have is 0. Its first member is its size; the
/// least that makes sense is `least`.
template <typename T> bool read(const T *from, size_t least, T &to) {
  to = T{};
  size_t size = 0;
  if (!from)
    return false;
  std::memcpy(&size, from, sizeof(size));
  if (size < least)
    return false;
  std::memcpy(&to, from, std::min(size, sizeof(T)));
  return true;
}

/// Copies as much as the caller's struct holds and keeps its size.
template <typename T> void write(const T &from, T *to) {
  size_t size = 0;
  std::memcpy(&size, to, sizeof(size));
  const size_t length = std::min(size, sizeof(T));
  if (length > sizeof(size))
    std::memcpy(reinterpret_cast<std::byte *>(to) + sizeof(size),
                reinterpret_cast<const std::byte *>(&from) + sizeof(size), length - sizeof(size));
}

h3rt_status badArgument(const char *what) {
  return refuse(H3RT_INVALID_ARGUMENT, std::string(what) + " is null, or its size is too small");
}

Runtime *usable(h3rt_runtime *runtime, h3rt_status &status) {
  if (!runtime) {
    status = badArgument("the runtime");
    return nullptr;
  }
  if (runtime->runtime->isForked()) {
    status = refuse(H3RT_FORKED, "the runtime belongs to the parent process, make one in this one");
    return nullptr;
  }
  return &*runtime->runtime;
}

/// What most functions do: a usable runtime, and no exception.
template <typename Body> h3rt_status withRuntime(h3rt_runtime *runtime, Body body) noexcept {
  return guarded([&] {
    h3rt_status status = H3RT_OK;
    Runtime *usableRuntime = usable(runtime, status);
    return usableRuntime ? body(*usableRuntime) : status;
  });
}

h3rt_status addBundle(Runtime &runtime, Result<bundle::Bundle, bundle::Error> opened,
                      const std::string &where) {
  if (!opened)
    return refuse(H3RT_BAD_BUNDLE, where + opened.error().message);
  return statusOf(runtime.addBundle(std::move(*opened)));
}

} // namespace

h3rt_status h3::rt::create(const h3rt_options *options, const std::string &library,
                           h3rt_runtime **runtime) {
  return guarded([&] {
    h3rt_options own;
    if (!runtime)
      return badArgument("the place for the runtime");
    *runtime = nullptr;
    if (options && !read(options, sizeof(size_t) + sizeof(uint32_t), own))
      return badArgument("h3rt_options");
    if (!options)
      own = {};
    own.size = sizeof(own);
    auto made = std::make_unique<h3rt_runtime>(library);
    made->runtime.emplace(own);
    if (auto refusal = made->runtime->addDriver(made->cuda.interface()))
      return statusOf(refusal);
    *runtime = made.release();
    return H3RT_OK;
  });
}

extern "C" {

const char *h3rt_version(void) { return H3GEN_VERSION; }

const char *h3rt_last_error(void) { return lastError; }

h3rt_status h3rt_create(const h3rt_options *options, h3rt_runtime **runtime) {
  return create(options, "libcuda.so.1", runtime);
}

void h3rt_destroy(h3rt_runtime *runtime) {
  if (!runtime)
    return;
  guarded([&] {
    const bool isForked = runtime->runtime->isForked();
    runtime->runtime.reset();
    if (!isForked)
      runtime->cuda.releaseContexts();
    delete runtime;
    return H3RT_OK;
  });
}

h3rt_status h3rt_open_bundle(h3rt_runtime *runtime, const char *path) {
  return withRuntime(runtime, [&](Runtime &rt) {
    if (!path)
      return badArgument("the path");
    return addBundle(rt, bundle::Bundle::openFile(path), std::string(path) + ": ");
  });
}

h3rt_status h3rt_add_bundle(h3rt_runtime *runtime, const void *bytes, size_t length) {
  return withRuntime(runtime, [&](Runtime &rt) {
    if (!bytes)
      return badArgument("the bundle");
    return addBundle(rt, bundle::Bundle::open({static_cast<const std::byte *>(bytes), length}), {});
  });
}

h3rt_status h3rt_add_set(h3rt_runtime *runtime, const h3rt_set *set) {
  return withRuntime(runtime, [&](Runtime &rt) {
    h3rt_set own;
    if (!read(set, sizeof(own), own))
      return badArgument("h3rt_set");
    return statusOf(rt.addSet(own));
  });
}

h3rt_status h3rt_add_driver(h3rt_runtime *runtime, const h3rt_driver *driver) {
  return withRuntime(runtime, [&](Runtime &rt) {
    h3rt_driver own;
    if (!read(driver, offsetof(h3rt_driver, key), own))
      return badArgument("h3rt_driver");
    own.size = sizeof(own);
    return statusOf(rt.addDriver(own));
  });
}

h3rt_status h3rt_add_evidence(h3rt_runtime *runtime, const h3rt_evidence *evidence) {
  return withRuntime(runtime, [&](Runtime &rt) {
    h3rt_evidence own;
    if (!read(evidence, sizeof(own), own) || !own.target || !own.operator_name)
      return badArgument("h3rt_evidence, its target or its operator_name");
    rt.addEvidence(own);
    return H3RT_OK;
  });
}

h3rt_status h3rt_add_evidence_file(h3rt_runtime *runtime, const char *path) {
  return withRuntime(runtime, [&](Runtime &rt) {
    if (!path)
      return badArgument("the path");
    const auto record = evidence::readRecordFile(path);
    if (!record)
      return refuse(H3RT_INVALID_ARGUMENT, record.error().message);
    for (const evidence::OperatorRecord &op : record->operators) {
      if (!op.isGood())
        continue;
      h3rt_evidence own{sizeof(own), record->target.c_str(), op.name.c_str(), {}, {}};
      std::memcpy(own.image_digest, op.image.bytes.data(), sizeof(own.image_digest));
      std::memcpy(own.operator_digest, op.meaning.bytes.data(), sizeof(own.operator_digest));
      rt.addEvidence(own);
    }
    return H3RT_OK;
  });
}

h3rt_status h3rt_set_enabled(h3rt_runtime *runtime, const char *what, int32_t enabled) {
  return withRuntime(runtime, [&](Runtime &rt) {
    if (!what || !*what)
      return badArgument("the name");
    rt.setEnabled(what, enabled != 0);
    return H3RT_OK;
  });
}

size_t h3rt_row_count(const h3rt_runtime *runtime) {
  h3rt_status status;
  const Runtime *rt = usable(const_cast<h3rt_runtime *>(runtime), status);
  return rt ? rt->rowCount() : 0;
}

h3rt_status h3rt_get_row(const h3rt_runtime *runtime, size_t index, h3rt_row *row) {
  return withRuntime(const_cast<h3rt_runtime *>(runtime), [&](Runtime &rt) {
    h3rt_row own;
    if (!read(row, sizeof(size_t), own))
      return badArgument("h3rt_row");
    own = {};
    if (!rt.rowAt(index, own))
      return refuse(H3RT_NOT_FOUND, "no row " + std::to_string(index) + ", the table has " +
                                        std::to_string(rt.rowCount()));
    write(own, row);
    return H3RT_OK;
  });
}

h3rt_status h3rt_get_device(h3rt_runtime *runtime, DLDevice device, h3rt_device_info *info) {
  return withRuntime(runtime, [&](Runtime &rt) {
    h3rt_device_info own;
    if (!read(info, sizeof(size_t), own))
      return badArgument("h3rt_device_info");
    own = {};
    h3rt_status status = statusOf(rt.deviceInfo(device, own));
    write(own, info);
    return status;
  });
}

h3rt_status h3rt_forget(h3rt_runtime *runtime, DLDevice device, void *stream) {
  return withRuntime(runtime, [&](Runtime &rt) { return statusOf(rt.forget(device, stream)); });
}

h3rt_status h3rt_find_operator(h3rt_runtime *runtime, const char *name, h3rt_operator **result) {
  return withRuntime(runtime, [&](Runtime &rt) {
    if (!name || !result)
      return badArgument("the name or the place for the operator");
    *result = reinterpret_cast<h3rt_operator *>(rt.findOperator(name));
    if (*result)
      return H3RT_OK;
    std::string known;
    for (size_t i = 0; i < rt.operatorCount(); ++i)
      known += (i ? ", " : "") + rt.operatorAt(i)->name;
    return refuse(H3RT_NOT_FOUND, "no operator '" + std::string(name) + "', there " +
                                      (known.empty() ? "are none" : "are " + known));
  });
}

size_t h3rt_operator_count(const h3rt_runtime *runtime) {
  h3rt_status status;
  const Runtime *rt = usable(const_cast<h3rt_runtime *>(runtime), status);
  return rt ? rt->operatorCount() : 0;
}

h3rt_operator *h3rt_get_operator(h3rt_runtime *runtime, size_t index) {
  h3rt_status status;
  const Runtime *rt = usable(runtime, status);
  return rt ? reinterpret_cast<h3rt_operator *>(rt->operatorAt(index)) : nullptr;
}

const char *h3rt_operator_name(const h3rt_operator *op) {
  return op ? reinterpret_cast<const Operator *>(op)->name.c_str() : "";
}

h3rt_outcome h3rt_run(h3rt_operator *op, const h3rt_call *call, h3rt_result *result) {
  h3rt_result own;
  own.size = sizeof(own);
  h3rt_outcome outcome = H3RT_FAILED;
  h3rt_call ownCall;
  if (!op || !read(call, offsetof(h3rt_call, flags), ownCall)) {
    own = {};
    fail(own, H3RT_FAILURE_INVALID_CALL, 0, nullptr);
    own.reason = H3RT_DECLINE_NONE;
  } else {
    Operator &target = *reinterpret_cast<Operator *>(op);
    try {
      outcome = target.runtime->run(target, ownCall, own);
    } catch (...) {
      fail(own, H3RT_FAILURE_NO_MEMORY, 0, nullptr);
      target.counters.failed.fetch_add(1, std::memory_order_relaxed);
      outcome = H3RT_FAILED;
    }
  }
  if (result)
    write(own, result);
  return outcome;
}

size_t h3rt_describe(const h3rt_operator *op, const h3rt_result *result, char *text,
                     size_t capacity) {
  size_t needed = 0;
  guarded([&] {
    h3rt_result own;
    if (!op || !read(result, sizeof(own), own))
      return badArgument("the operator or h3rt_result");
    const std::string line = Runtime::describe(*reinterpret_cast<const Operator *>(op), own);
    needed = line.size() + 1;
    if (text && capacity > 0) {
      const size_t length = std::min(line.size(), capacity - 1);
      std::memcpy(text, line.data(), length);
      text[length] = 0;
    }
    return H3RT_OK;
  });
  return needed;
}

h3rt_status h3rt_preload(h3rt_runtime *runtime, DLDevice device, void *stream) {
  return withRuntime(runtime, [&](Runtime &rt) { return statusOf(rt.preload(device, stream)); });
}

const char *h3rt_reason_name(int32_t reason) {
  // A literal: it ends with a NUL.
  return plan::name(static_cast<plan::DeclineReason>(reason < 0 || reason > 255 ? 255 : reason))
      .data();
}

h3rt_status h3rt_get_counters(const h3rt_operator *op, h3rt_counters *counters) {
  return guarded([&] {
    h3rt_counters own;
    if (!op || !read(counters, sizeof(size_t), own))
      return badArgument("the operator or h3rt_counters");
    const Counters &from = reinterpret_cast<const Operator *>(op)->counters;
    own = {};
    own.served = from.served.load(std::memory_order_relaxed);
    own.failed = from.failed.load(std::memory_order_relaxed);
    for (size_t i = 0; i < from.declined.size(); ++i)
      own.declined[i] = from.declined[i].load(std::memory_order_relaxed);
    write(own, counters);
    return H3RT_OK;
  });
}

} // extern "C"
