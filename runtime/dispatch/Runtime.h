//===-- runtime/dispatch/Runtime.h - Calls, loading, counters - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One runtime: the dispatch table, the drivers, what is loaded, and the way of a call. h3rt.h has
// what a host sees of it; this is the same in C++, with errors as values.
//
// A call takes one of two ways. *Warm*: the operator is loaded in the context of the call's stream;
// the entry is found without a lock, the plan is evaluated, the kernel launched. *Cold*: under the
// lock, the entry is made (Load.cpp), or the reason found why there is none.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_DISPATCH_RUNTIME_H
#define H3_RUNTIME_DISPATCH_RUNTIME_H

#include "runtime/dispatch/Contexts.h"
#include "runtime/plan/List.h"

#include <mutex>

namespace h3::rt {

inline constexpr unsigned kMaxDrivers = 16;

/// A call whose tensors have been read.
struct CallView {
  std::span<const plan::Tensor> tensors;
  std::span<const plan::ParameterValue> parameters;
  DLDevice device{};
  void *stream = nullptr;
  uint32_t flags = 0;
};

/// Why an operator could not be loaded: a decline, or a failure if `failure` says so.
struct Problem {
  plan::DeclineReason reason = plan::DeclineReason::LoadFailed;
  h3rt_failure failure = H3RT_FAILURE_NONE;
  int32_t code = 0; ///< the driver's
  std::string text;
  bool isLasting = false; ///< another try on this device would end in the same way
};

class Runtime {
public:
  /// `options` in full size. Reads the environment unless the flags say not to.
  explicit Runtime(const h3rt_options &options);

  /// Releases what is on devices, unless the process has forked since.
  ~Runtime();
  Runtime(const Runtime &) = delete;
  Runtime &operator=(const Runtime &) = delete;

  std::optional<Refusal> addBundle(bundle::Bundle bundle);
  std::optional<Refusal> addSet(const h3rt_set &set);
  std::optional<Refusal> addDriver(const h3rt_driver &driver);
  void addEvidence(const h3rt_evidence &evidence);
  void setEnabled(std::string_view what, bool enabled);

  /// `result` in full size; everything but its size is written.
  h3rt_outcome run(Operator &op, const h3rt_call &call, h3rt_result &result);
  std::optional<Refusal> preload(DLDevice device, void *stream);
  std::optional<Refusal> deviceInfo(DLDevice device, h3rt_device_info &info);
  std::optional<Refusal> forget(DLDevice device, void *stream);

  static std::string describe(const Operator &op, const h3rt_result &result);

  Operator *findOperator(std::string_view name) const;
  size_t operatorCount() const;
  Operator *operatorAt(size_t index) const;
  size_t rowCount() const;
  bool rowAt(size_t index, h3rt_row &row) const;

  /// True in a child process of the one that made the runtime.
  bool isForked() const;

private:
  friend class LoadSession;

  // Run.cpp: one call.
  void dispatch(Operator &op, const h3rt_call &call, h3rt_result &result);
  void runIn(const Entry &entry, uintptr_t key, const CallView &call, h3rt_result &result);
  static void runFunction(const Row &row, const CallView &call, h3rt_result &result);
  void conclude(Operator &op, const h3rt_call &call, h3rt_result &result);
  void afterFailedLaunch(const Entry &entry, int32_t device, uintptr_t key,
                         h3rt_driver_result status);
  Driver *driverFor(int32_t deviceType) const;
  void log(const std::string &line) const;

  // Load.cpp: under the lock. Without a call the operator is loaded for later ones. Null: `result`
  // has the reason.
  const Entry *load(Operator &op, Driver &driver, DLDevice device, void *stream, uintptr_t key,
                    bool isCapturing, const CallView *call, h3rt_result &result);
  const Entry *loadLocked(Operator &op, Driver &driver, DLDevice device, void *stream,
                          uintptr_t key, bool isCapturing, const CallView *call,
                          h3rt_result &result);
  Device *deviceOf(Driver &driver, int32_t number, h3rt_result &result);
  Context *contextOf(Driver &driver, Device &device, void *handle);
  const Entry *publish(std::unique_ptr<Entry> entry, Context *context, const Operator &op);
  const Entry *keep(std::unique_ptr<Entry> entry);
  /// Of declines that may have come to an end with a change of the table.
  void dropDeclines();
  void unloadModules(Context &context);
  void report(const Problem &problem, const Row *row, h3rt_result &result);

  const h3rt_options options;
  const unsigned generation; ///< of processes: how often they had forked when this was made
  bool isVerbose = false;

  mutable std::mutex mutex;
  Table table;
  std::array<std::atomic<Driver *>, kMaxDrivers> drivers{};
  ContextMap contexts;
  std::vector<std::unique_ptr<Driver>> ownedDrivers;
  std::vector<std::unique_ptr<Context>> ownedContexts;
  std::vector<std::unique_ptr<Entry>> ownedEntries;
};

/// Writes a decline into a result.
void decline(h3rt_result &result, const plan::Decline &decline, const Row *row,
             const Entry *entry = nullptr);
void decline(h3rt_result &result, plan::DeclineReason reason, const Row *row,
             const Entry *entry = nullptr);
void fail(h3rt_result &result, h3rt_failure failure, int32_t code, const Row *row);

/// What a driver's answer means while an operator is loaded; `step` says what was tried.
Problem problemOf(const Driver &driver, h3rt_driver_result status, const std::string &step);

/// Of a launch.
h3rt_failure failureOf(h3rt_driver_result status);

/// Enqueues what a plan says.
h3rt_driver_result launch(const Driver &driver, void *context, void *stream, void *kernel,
                          const plan::Launch &launch);

/// Whether the call meets the contract of the row; the decline if not.
std::optional<plan::Decline> checkContract(const Row &row, const CallView &call);

} // namespace h3::rt

#endif // H3_RUNTIME_DISPATCH_RUNTIME_H
