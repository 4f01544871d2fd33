//===-- codegen/kernel/Job.h - The independent parts of an operator - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_JOB_H
#define H3_CODEGEN_KERNEL_JOB_H

#include "codegen/dialect/H3.h"

#include <optional>
#include <string>
#include <vector>

namespace h3 {

/// One outermost `h3.forall`: a space of rows, each computed independently. All jobs of an operator
/// share one launch.
struct Job {
  ir::ForallOp rows;
  std::vector<ir::ReduceOp> reductions;
  std::vector<ir::ForallOp> elements; ///< the loops over a row's elements that store them
  std::vector<ir::StoreOp> stores;    ///< one value a row
  /// The extent of all `elements` and all reductions; null if there is neither.
  mlir::Value extent;
  /// Bytes of the narrowest element that is accessed along the row; 0 if there is none.
  unsigned narrowest = 0;

  std::optional<int64_t> constantExtent() const;
};

/// The jobs of an operator whose rows are inlined, in text order. Empty with \p error set for a
/// form that has no code generation yet.
std::vector<Job> jobsOf(ir::OperatorOp op, std::string &error);

} // namespace h3

#endif // H3_CODEGEN_KERNEL_JOB_H
