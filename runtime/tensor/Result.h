//===-- runtime/tensor/Result.h - A value or one line of cause --*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_TENSOR_RESULT_H
#define H3_RUNTIME_TENSOR_RESULT_H

#include "runtime/Result.h"

#include <string>

namespace h3::tensor {

/// Why something could not be done: what was found and what was expected, lower case, no full stop.
struct Error {
  std::string message;
};

template <typename T> using Result = h3::Result<T, Error>;

} // namespace h3::tensor

#endif // H3_RUNTIME_TENSOR_RESULT_H
