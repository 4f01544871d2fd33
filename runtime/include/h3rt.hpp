//===-- runtime/include/h3rt.hpp - The embedded runtime, in C++ -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A thin layer over h3rt.h, which has the meaning: owners, defaults, and calls without structs to
// fill. C++17, no exceptions of its own.
//
//   h3rt::Runtime runtime;
//   if (!runtime.openBundle("h3_vae.h3b"))
//     complain(h3rt_last_error());
//   h3rt::Operator swiglu = runtime.find("swiglu<f16>");
//   h3rt::Result result = swiglu(stream, {&x, &y});
//   if (!result.served())
//     mySwiglu(x, y, stream);
//
//===----------------------------------------------------------------------===//

#ifndef H3RT_HPP
#define H3RT_HPP

#include "h3rt.h"

#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace h3rt {

/// A parameter of a call: a value of its type, or the operator's default.
struct Parameter : h3rt_parameter {
  Parameter() : h3rt_parameter{sizeof(h3rt_parameter), {}, 0} {}
  Parameter(float value) : Parameter(DLDataType{kDLFloat, 32, 1}, &value, sizeof(value)) {}
  Parameter(double value) : Parameter(DLDataType{kDLFloat, 64, 1}, &value, sizeof(value)) {}
  Parameter(int32_t value) : Parameter(DLDataType{kDLInt, 32, 1}, &value, sizeof(value)) {}
  Parameter(int64_t value) : Parameter(DLDataType{kDLInt, 64, 1}, &value, sizeof(value)) {}

private:
  Parameter(DLDataType type, const void *value, size_t bytes) : Parameter() {
    dtype = type;
    std::memcpy(&bits, value, bytes);
  }
};

/// What came of a call.
class Result {
public:
  Result() : own{} { own.size = sizeof(own); }

  bool served() const { return own.outcome == H3RT_SERVED; }
  bool declined() const { return own.outcome == H3RT_DECLINED; }
  bool failed() const { return own.outcome == H3RT_FAILED; }
  const char *reason() const { return h3rt_reason_name(own.reason); }

  /// One line; made when asked for.
  std::string text() const {
    std::string line(h3rt_describe(op, &own, nullptr, 0), '\0');
    h3rt_describe(op, &own, line.data(), line.size());
    if (!line.empty())
      line.pop_back();
    return line;
  }

  const h3rt_result &raw() const { return own; }

private:
  friend class Operator;
  const h3rt_operator *op = nullptr;
  h3rt_result own;
};

/// An operator of a runtime; empty if there is none of that name. Copies are the same operator.
class Operator {
public:
  Operator() = default;
  explicit Operator(h3rt_operator *op) : op(op) {}

  explicit operator bool() const { return op != nullptr; }
  const char *name() const { return h3rt_operator_name(op); }

  /// Calls it. An empty operator fails: H3RT_FAILURE_INVALID_CALL.
  Result operator()(void *stream, const DLTensor *const *tensors, size_t count,
                    const Parameter *parameters = nullptr, size_t parameterCount = 0,
                    uint32_t flags = 0) const {
    h3rt_call call{};
    call.size = sizeof(call);
    call.tensors = tensors;
    call.tensor_count = static_cast<int32_t>(count);
    call.parameters = parameters;
    call.parameter_count = static_cast<int32_t>(parameterCount);
    call.stream = stream;
    call.flags = flags;
    Result result;
    result.op = op;
    h3rt_run(op, &call, &result.own);
    return result;
  }

  Result operator()(void *stream, std::initializer_list<const DLTensor *> tensors,
                    std::initializer_list<Parameter> parameters = {}, uint32_t flags = 0) const {
    return (*this)(stream, tensors.begin(), tensors.size(), parameters.begin(), parameters.size(),
                   flags);
  }

  h3rt_counters counters() const {
    h3rt_counters result{};
    result.size = sizeof(result);
    h3rt_get_counters(op, &result);
    return result;
  }

private:
  h3rt_operator *op = nullptr;
};

/// Owns a runtime. Functions return whether they succeeded; h3rt_last_error says why not.
class Runtime {
public:
  /// `flags` are H3RT_ALLOW_PTX and so on.
  explicit Runtime(uint32_t flags = 0) {
    h3rt_options options{};
    options.size = sizeof(options);
    options.flags = flags;
    h3rt_create(&options, &runtime);
  }
  explicit Runtime(h3rt_runtime *runtime) : runtime(runtime) {}
  ~Runtime() { h3rt_destroy(runtime); }
  Runtime(Runtime &&other) noexcept : runtime(std::exchange(other.runtime, nullptr)) {}
  Runtime &operator=(Runtime &&other) noexcept {
    std::swap(runtime, other.runtime);
    return *this;
  }

  explicit operator bool() const { return runtime != nullptr; }
  h3rt_runtime *get() const { return runtime; }

  bool openBundle(const char *path) { return h3rt_open_bundle(runtime, path) == H3RT_OK; }
  bool addEvidence(const char *path) { return h3rt_add_evidence_file(runtime, path) == H3RT_OK; }
  bool preload(DLDevice device, void *stream) {
    return h3rt_preload(runtime, device, stream) == H3RT_OK;
  }
  bool setEnabled(const char *what, bool enabled) {
    return h3rt_set_enabled(runtime, what, enabled) == H3RT_OK;
  }

  Operator find(const char *name) const {
    h3rt_operator *found = nullptr;
    h3rt_find_operator(runtime, name, &found);
    return Operator(found);
  }
  std::vector<Operator> operators() const {
    std::vector<Operator> result;
    for (size_t i = 0; i < h3rt_operator_count(runtime); ++i)
      result.emplace_back(h3rt_get_operator(runtime, i));
    return result;
  }

private:
  h3rt_runtime *runtime = nullptr;
};

} // namespace h3rt

#endif // H3RT_HPP
