//===-- tests/unit/runtime/dispatch/Host.h - A host of the runtime, for tests - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_UNIT_RUNTIME_DISPATCH_HOST_H
#define H3_TESTS_UNIT_RUNTIME_DISPATCH_HOST_H

#include "runtime/api/Create.h"
#include "runtime/include/h3rt.hpp"
#include "tests/unit/runtime/dispatch/TestBundle.h"
#include "tests/unit/runtime/stub/Stub.h"

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

namespace h3::rt::test {

/// The stub driver, loaded once.
const stub::Control &stubControl();

/// Elements in memory of the stub's device, and how to pass them.
class Data {
public:
  /// n elements of 4 bytes: 1, 2, 3 ... or all the same.
  Data(int device, int64_t n, bool isFloat = false);
  ~Data();
  Data(Data &&other) noexcept;

  uint32_t &operator[](size_t i) { return reinterpret_cast<uint32_t *>(address)[i]; }
  void fill(uint32_t bits);
  std::vector<uint32_t> all() const;

  uint64_t address;
  int64_t extent;
  int64_t stride = 1;
  DLTensor tensor{}; ///< of all elements; may be changed
};

/// A runtime on the stub driver, with what it said in verbose mode.
class Host {
public:
  /// Resets the stub.
  explicit Host(uint32_t flags = 0);
  ~Host();

  /// Adds the test's bundle.
  h3rt_status open(const BundleFaults &faults = {});

  h3rt_operator *find(const char *name);
  h3rt_outcome run(h3rt_operator *op, std::vector<const DLTensor *> tensors, void *stream,
                   uint32_t flags = 0);
  /// `describe` of the last call.
  std::string text();
  h3rt_counters counters(h3rt_operator *op);
  std::vector<std::string> lines();
  void clearLines();

  const stub::Control &stub = stubControl();
  h3rt_runtime *runtime = nullptr;
  h3rt_result result{};

private:
  h3rt_operator *last = nullptr;
  std::vector<std::string> bundles; ///< the runtime reads them in place
  std::mutex mutex;
  std::vector<std::string> log;
};

} // namespace h3::rt::test

#endif // H3_TESTS_UNIT_RUNTIME_DISPATCH_HOST_H
