//===-- tests/conformance/Machine.h - What runs a compiled operator *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One compiled operator and memory for its calls, on the PTX interpreter, this processor or a
// device. Unlike `runOperator` it keeps its device, its image and its memory between calls: a suite
// makes tens of thousands of them. The plan, its reading and the bytes of the image are the same.
//
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_CONFORMANCE_MACHINE_H
#define H3_TESTS_CONFORMANCE_MACHINE_H

#include "DrawnCall.h"

#include "backends/Target.h"
#include "backends/nvptx/Compile.h"
#include "runtime/plan/Plan.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace h3::test {

using Memory = std::vector<std::vector<std::byte>>; ///< of each buffer of a call

class Machine {
public:
  virtual ~Machine() = default;

  /// Puts the buffers of \p call into the machine's memory, as they are before the call. Their
  /// addresses, or an empty vector with \p error set.
  virtual std::vector<uint64_t> place(const DrawnCall &call, std::string &error) = 0;
  /// Runs a launch of this machine's plan on what was placed last. An error, or an empty string.
  virtual std::string launch(const plan::Launch &launch) = 0;
  /// Puts the buffers back as they are before the call; the addresses stay.
  virtual std::string restore(const DrawnCall &call) = 0;
  /// The buffers now. Empty with \p error set.
  virtual Memory fetch(const DrawnCall &call, std::string &error) = 0;

  const plan::OperatorPlan &plan() const { return operatorPlan; }
  const std::string &device() const { return deviceName; } ///< for reports

protected:
  plan::OperatorPlan operatorPlan;
  std::string deviceName;
};

/// Empty with \p error set if the operator does not compile.
std::unique_ptr<Machine> makePtxMachine(const Instance &instance, const Target &target,
                                        std::string &error);

/// For an image of one instance that was compiled elsewhere.
std::unique_ptr<Machine> makePtxMachine(Image image, const Target &target, std::string &error);

/// This machine's processor. Empty with \p error set; \p isMissing if it has not the instructions
/// of
/// \p target.
std::unique_ptr<Machine> makeCpuMachine(const Instance &instance, const Target &target,
                                        std::string &error, bool &isMissing);

/// For a target whose backend runs its images on this machine, as `h3gen run` does it. Empty with
/// \p error set; \p isMissing if it does not.
std::unique_ptr<Machine> makeBackendMachine(const Instance &instance, const Target &target,
                                            std::string &error, bool &isMissing);

/// The first device, for exactly its capability. Empty with \p error set; \p isMissing if this
/// machine has no device, driver or assembler.
std::unique_ptr<Machine> makeCudaMachine(const Instance &instance, std::string &error,
                                         bool &isMissing);

/// The launch of a call; of an `each` operator, for a list of this one member. It is good until the
/// next call of this function.
std::variant<plan::Launch, plan::Decline>
evaluateCall(const plan::OperatorPlan &plan, std::span<const plan::Tensor> tensors,
             std::span<const plan::ParameterValue> parameters);

/// The launch of variant \p index for \p tensors; empty if its guards do not hold. A decline for
/// another reason is in \p error.
std::optional<plan::Launch> launchOf(const plan::OperatorPlan &plan, size_t index,
                                     std::span<const plan::Tensor> tensors,
                                     std::span<const plan::ParameterValue> parameters,
                                     std::string &error);

/// What the reference interpreter makes of the call. Empty with \p error set. With \p batchDim, the
/// dim that counts independent rows (batchDimOf), the rows are computed some at a time on every
/// core; nothing may be aliased then.
Memory referenceOf(const Instance &instance, const DrawnCall &call, std::string &error,
                   std::optional<unsigned> batchDim = {});

/// The first element that differs and how many do, or an empty string. Whole buffers are compared,
/// so that a write to an input, a gap or a guard shows.
std::string firstDifference(const Instance &instance, const DrawnCall &call, const Memory &actual,
                            const Memory &expected);

/// Whether bytes outside the outputs have changed: inputs, gaps and guards. A text or empty.
std::string changedOutside(const Instance &instance, const DrawnCall &call, const Memory &now);

} // namespace h3::test

#endif // H3_TESTS_CONFORMANCE_MACHINE_H
