//===-- tests/conformance/DrawnCall.h - Random calls ---------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Calls that an operator's contract admits, drawn from the contract alone: there is no table of
// operators. What is drawn is judged by plan::bind, the only reading of a contract.
//
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_CONFORMANCE_DRAWNCALL_H
#define H3_TESTS_CONFORMANCE_DRAWNCALL_H

#include "Values.h"

#include "dsl/program/Program.h"
#include "runtime/plan/Plan.h"
#include "runtime/tensor/Slice.h"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace h3::test {

/// An operator with its types chosen.
struct Instance {
  const Program *program = nullptr;
  plan::OperatorPlan contract; ///< without variants
  std::string name;            ///< "swiglu<f16>"
};

/// Memory of a call: tensors lie in it between poison.
struct DrawnBuffer {
  std::string name;
  std::vector<std::byte> bytes;
  bool isRead = false, isWritten = false;
};

/// A tensor of a call: a view, in elements of the tensor's type, into buffer `buffer`.
struct DrawnTensor {
  size_t buffer = 0;
  tensor::StridedView view;
};

/// As they are before the call. Outputs hold poison.
struct DrawnCall {
  std::vector<int64_t> dims;
  std::vector<DrawnBuffer> buffers;
  std::vector<DrawnTensor> tensors; ///< one for each tensor of the program
  std::vector<plan::ParameterValue> parameters;
  std::string text; ///< one line: dims, views, distributions
};

/// What a launch plan is told of the tensors when buffer k lies at `addresses[k]`.
std::vector<plan::Tensor> forPlan(const Instance &instance, const DrawnCall &call,
                                  std::span<const uint64_t> addresses);

struct DrawLimits {
  int64_t elements = 800;             ///< of all tensors together, unless fixed dims need more
  int64_t longest = 2600;             ///< extent of a free dim that is the length of a row
  std::map<unsigned, int64_t> dims{}; ///< values of these dims, whatever the other limits say
  /// Rows follow each other at multiples of 16 elements from an aligned start, so that any range of
  /// rows is as aligned as the whole; nothing is aliased.
  bool alignedRows = false;
  bool hasRows = false; ///< no dim that counts rows is 0
};

/// A call within \p limits. Empty if many draws gave none that the contract admits.
std::optional<DrawnCall> drawCall(const Instance &instance, Engine &engine,
                                  const DrawLimits &limits);

/// The dim that counts independent rows: axis 0 of every output, in each other tensor axis 0 or
/// nothing, and no number that enters the computation. Empty if the operator has none.
std::optional<unsigned> batchDimOf(const Program &program);

} // namespace h3::test

#endif // H3_TESTS_CONFORMANCE_DRAWNCALL_H
