//===-- runtime/Result.h - A value, or why there is none --------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_RESULT_H
#define H3_RUNTIME_RESULT_H

#include <utility>
#include <variant>

namespace h3 {

/// A value, or the error in its place. Nothing in the runtime throws across a boundary.
template <typename T, typename E> class Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(E error) : state(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }

  /// Only where there is a value.
  T &operator*() { return *std::get_if<0>(&state); }
  const T &operator*() const { return *std::get_if<0>(&state); }
  T *operator->() { return std::get_if<0>(&state); }
  const T *operator->() const { return std::get_if<0>(&state); }

  /// Only where there is none.
  const E &error() const { return *std::get_if<1>(&state); }

private:
  std::variant<T, E> state;
};

} // namespace h3

#endif // H3_RUNTIME_RESULT_H
