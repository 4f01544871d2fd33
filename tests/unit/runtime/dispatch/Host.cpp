//===-- tests/unit/runtime/dispatch/Host.cpp - A host of the runtime, for tests -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/runtime/dispatch/Host.h"

#include <cstring>

namespace h3::rt::test {

const stub::Control &stubControl() {
  static const stub::Control control(H3_STUB_CUDA);
  return control;
}

Data::Data(int device, int64_t n, bool isFloat)
    : address(stubControl().allocate(static_cast<size_t>(4 * n + 16))), extent(n) {
  for (int64_t i = 0; i < n; ++i)
    (*this)[static_cast<size_t>(i)] = static_cast<uint32_t>(i + 1);
  tensor.data = reinterpret_cast<void *>(address);
  tensor.device = {kDLCUDA, device};
  tensor.ndim = 1;
  tensor.dtype = {static_cast<uint8_t>(isFloat ? kDLFloat : kDLInt), 32, 1};
  tensor.shape = &extent;
  tensor.strides = &stride;
}

Data::~Data() {
  if (address)
    stubControl().release(address);
}

Data::Data(Data &&other) noexcept
    : address(other.address), extent(other.extent), stride(other.stride), tensor(other.tensor) {
  tensor.shape = &extent;
  tensor.strides = &stride;
  other.address = 0;
}

void Data::fill(uint32_t bits) {
  for (int64_t i = 0; i < extent; ++i)
    (*this)[static_cast<size_t>(i)] = bits;
}

std::vector<uint32_t> Data::all() const {
  const auto *begin = reinterpret_cast<const uint32_t *>(address);
  return {begin, begin + extent};
}

Host::Host(uint32_t flags) {
  stub.reset();
  h3rt_options options{};
  options.size = sizeof(options);
  options.flags = flags | H3RT_VERBOSE_DISPATCH | H3RT_IGNORE_ENVIRONMENT;
  options.log = [](void *user, const char *line) {
    Host &host = *static_cast<Host *>(user);
    std::lock_guard lock(host.mutex);
    host.log.push_back(line);
  };
  options.log_user = this;
  EXPECT_EQ(rt::create(&options, H3_STUB_CUDA, &runtime), H3RT_OK) << h3rt_last_error();
}

Host::~Host() { h3rt_destroy(runtime); }

h3rt_status Host::open(const BundleFaults &faults) {
  bundles.reserve(8);
  bundles.push_back(testBundle(faults));
  return h3rt_add_bundle(runtime, bundles.back().data(), bundles.back().size());
}

h3rt_operator *Host::find(const char *name) {
  h3rt_operator *op = nullptr;
  EXPECT_EQ(h3rt_find_operator(runtime, name, &op), H3RT_OK) << h3rt_last_error();
  return op;
}

h3rt_outcome Host::run(h3rt_operator *op, std::vector<const DLTensor *> tensors, void *stream,
                       uint32_t flags) {
  h3rt_call call{};
  call.size = sizeof(call);
  call.tensors = tensors.data();
  call.tensor_count = static_cast<int32_t>(tensors.size());
  call.stream = stream;
  call.flags = flags;
  result = {};
  result.size = sizeof(result);
  last = op;
  return h3rt_run(op, &call, &result);
}

std::string Host::text() {
  std::string line(h3rt_describe(last, &result, nullptr, 0), '\0');
  h3rt_describe(last, &result, line.data(), line.size());
  line.pop_back();
  return line;
}

h3rt_counters Host::counters(h3rt_operator *op) {
  h3rt_counters counters{};
  counters.size = sizeof(counters);
  EXPECT_EQ(h3rt_get_counters(op, &counters), H3RT_OK);
  return counters;
}

std::vector<std::string> Host::lines() {
  std::lock_guard lock(mutex);
  return log;
}

void Host::clearLines() {
  std::lock_guard lock(mutex);
  log.clear();
}

} // namespace h3::rt::test
