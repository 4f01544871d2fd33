//===-- codegen/kernel/Job.h - The independent parts of an operator - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_JOB_H
#define H3_CODEGEN_KERNEL_JOB_H

#include "codegen/dialect/H3.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace h3 {

/// One pass over the elements of a row: a reduction, or a loop that stores elements.
struct Phase {
  mlir::Operation *op = nullptr; ///< an `h3.reduce` or an `h3.forall`
  mlir::Value extent;            ///< of the index type
  /// No vector that is wider fills a row: the case of the sizes excludes it.
  unsigned widestVector = 1u << 16;

  ir::ReduceOp reduce() const { return mlir::dyn_cast<ir::ReduceOp>(op); }
  /// What is computed for one element; the first argument is its index.
  mlir::Block &body() const;
  mlir::Value element() const { return body().getArgument(0); }
  std::optional<int64_t> constantExtent() const;
};

/// How a job reads an input that one of its outputs may overwrite: not at all, or only what the
/// same thread then writes; in phases before the one that writes; or elsewhere in the row in that
/// phase or after it, so that the row has to be held.
enum class AliasReads { None, Before, Elsewhere };

/// One outermost `h3.forall`: a space of rows, each computed independently. All jobs of an operator
/// share one launch.
struct Job {
  ir::ForallOp rows;
  std::vector<Phase> phases;       ///< in text order
  std::vector<ir::StoreOp> stores; ///< one value a row
  /// Bytes of the narrowest and of the widest element that is accessed along the row; 0 if there is
  /// none.
  unsigned narrowest = 0, widest = 0;

  AliasReads aliasReads = AliasReads::None;

  /// The same job with an `h3.remap` where an element is used that another thread may hold, instead
  /// of computing it again; null if the operator has none.
  std::shared_ptr<const Job> remapped;

  bool hasReduction() const;
  /// The extent of all phases; null if they differ or there are none.
  mlir::Value commonExtent() const;
};

/// The jobs of an operator whose rows are inlined and whose digits are flattened, in text order.
/// Empty with \p error set for a form that has no code generation.
std::vector<Job> jobsOf(ir::OperatorOp op, std::string &error);

} // namespace h3

#endif // H3_CODEGEN_KERNEL_JOB_H
