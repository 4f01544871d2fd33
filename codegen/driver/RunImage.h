//===-- codegen/driver/RunImage.h - The image that a call runs - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_RUNIMAGE_H
#define H3_CODEGEN_DRIVER_RUNIMAGE_H

#include "backends/Backend.h"
#include "codegen/driver/Backends.h"
#include "runtime/plan/List.h"

#include <memory>

namespace h3 {

/// An operator compiled for a target, with what was made of it so far. Calls of one process share
/// it: compiling takes far longer than most calls.
struct RunnableImage {
  Image image;
  std::optional<Assembly> assembly; ///< once it was asked for
};

/// The operator of \p call, compiled for \p target. The names of all variants are in \p result.
/// Null after an error, which is in \p result.
std::shared_ptr<RunnableImage> compileForRun(const BoundCall &call, const Target &target,
                                             RunResult &result);

/// The launch plan of \p image; only with the variant that the request of \p call names, if it
/// names one. Empty if there is none of that name, which is in \p result.
std::optional<plan::OperatorPlan> planForRun(const BoundCall &call, const Image &image,
                                             RunResult &result);

/// The launches of a call. They stay valid when the object moves.
class PlannedCall {
public:
  std::span<const plan::Launch> launches() const {
    return single ? std::span(&*single, 1) : list.launches();
  }

private:
  friend std::optional<PlannedCall>
  planCall(const BoundCall &call, const plan::OperatorPlan &plan,
           llvm::function_ref<uint64_t(tensor::TensorData *storage)> addressOf, RunResult &result);

  plan::ListCall list;                ///< of an `each` operator
  std::optional<plan::Launch> single; ///< of any other
};

/// The launches that \p plan chooses when the buffer of each bound tensor lies at
/// `addressOf(storage)`. Adds the variants' names to the report. Empty after a decline, which is in
/// \p result.
std::optional<PlannedCall>
planCall(const BoundCall &call, const plan::OperatorPlan &plan,
         llvm::function_ref<uint64_t(tensor::TensorData *storage)> addressOf, RunResult &result);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_RUNIMAGE_H
