//===-- runtime/dispatch/Contexts.h - Where calls run --------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the runtime knows of devices and of contexts on them. Entries are found without a lock and
// never change once they are published; everything is owned by lists that grow until the runtime
// ends, so that a reader never sees memory go.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_DISPATCH_CONTEXTS_H
#define H3_RUNTIME_DISPATCH_CONTEXTS_H

#include "runtime/dispatch/Table.h"

namespace h3::rt {

struct Context;

/// Where a call of an operator in a context goes.
struct Entry {
  const Row *row = nullptr; ///< null: the device has no such operator
  const Context *context = nullptr;
  std::optional<plan::DeclineReason> declined; ///< calls are declined, for this reason
  int32_t code = 0;                            ///< the driver's, where it had a part in that
  std::string explanation;                     ///< of the decline; may be empty
  std::vector<void *> kernels;                 ///< one for each variant
  bool isAssembledByDriver = false;
};

/// A device that a driver serves.
struct Device {
  int32_t number = 0;
  std::string target;

  /// Operators that must not serve on it any more, by their rows: the image is wrong, or the check
  /// failed. The entry has the reason.
  std::vector<std::pair<const Row *, const Entry *>> rejected;
  /// Probes of approximations that have been run, with what they showed; empty text: passed.
  std::vector<std::pair<const bundle::Operator *, std::string>> probes;
};

/// A registered driver; `api` has null where the host's struct was shorter.
struct Driver {
  h3rt_driver api{};
  std::vector<std::unique_ptr<Device>> devices;

  bool loadsImages() const { return api.load != nullptr; }
  /// The context that a call on \p stream runs in, as a number; 0 where the driver has none.
  uintptr_t contextKey(int32_t device, void *stream) const {
    if (!loadsImages())
      return 0;
    return api.key ? api.key(api.user, device, stream) : reinterpret_cast<uintptr_t>(stream);
  }
  /// "cuda:0"
  std::string deviceName(int32_t number) const {
    return std::string(api.name) + ":" + std::to_string(number);
  }
  /// "CUDA_ERROR_OUT_OF_MEMORY (2)"
  std::string codeText(int32_t code) const;
};

/// A context of a device and what is loaded there.
struct Context {
  Driver *driver = nullptr;
  Device *device = nullptr;
  void *handle = nullptr;
  bool isForgotten = false;

  std::array<std::atomic<const Entry *>, kMaxOperators> entries{};

  struct LoadedModule {
    const bundle::Image *image = nullptr;
    void *module = nullptr;
  };
  std::vector<LoadedModule> modules;
};

/// From a driver, a device and a key of the driver's to a context. Readers take no lock; writers
/// take the runtime's.
class ContextMap {
public:
  ContextMap();
  ~ContextMap();
  ContextMap(const ContextMap &) = delete;
  ContextMap &operator=(const ContextMap &) = delete;

  Context *find(const Driver *driver, int32_t device, uintptr_t key) const;
  void set(const Driver *driver, int32_t device, uintptr_t key, Context *context);
  /// Forgets every key of the context.
  void remove(const Context *context);

private:
  struct Slot {
    const Driver *driver;
    int32_t device;
    uintptr_t key;
    std::atomic<Context *> context;
  };
  struct Slots {
    explicit Slots(size_t size) : places(size) {}
    std::vector<std::atomic<Slot *>> places; ///< a power of two of them, half of them free
  };
  static size_t place(const Driver *driver, int32_t device, uintptr_t key, size_t size);
  Slot *slot(const Driver *driver, int32_t device, uintptr_t key) const;
  static void insert(Slots &slots, Slot *slot);

  std::atomic<Slots *> current;
  std::vector<std::unique_ptr<Slots>> tables; ///< the last is the current one
  std::vector<std::unique_ptr<Slot>> owned;
};

} // namespace h3::rt

#endif // H3_RUNTIME_DISPATCH_CONTEXTS_H
