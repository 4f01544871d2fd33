//===-- codegen/kernel/Guards.h - What a variant assumes ------ -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_GUARDS_H
#define H3_CODEGEN_KERNEL_GUARDS_H

#include "codegen/dialect/H3.h"
#include "runtime/plan/Plan.h"

#include <string>
#include <vector>

namespace h3 {

/// Collects the guards of one kernel variant while its code is made, so that every assumption of
/// the code stands in the launch plan. Index values of the `h3.operator` that depend on dims alone
/// can be turned into expressions of the plan.
class Guards {
public:
  /// \p contract is the plan of the operator; expressions are added to it.
  Guards(plan::OperatorPlan &contract, ir::OperatorOp op);

  plan::ExprBuilder &expressions() { return builder; }

  /// The index or condition \p value, which depends on dims alone, in the plan, or kNoExpr.
  plan::ExprId expression(mlir::Value value);

  /// \p value is a multiple of \p k, by its form or by a guard; false if neither can be had. Guards
  /// go to \p pending, so that a caller may try several values before it commits.
  bool multiple(mlir::Value value, int64_t k, std::vector<plan::Condition> &pending);

  void add(plan::ExprId condition, std::string text);
  void commit(const std::vector<plan::Condition> &pending);

  /// Adds what an access of \p elements consecutive elements along the last axis needs: unit stride
  /// there, and if it \p isAligned an aligned address and other strides that keep the alignment.
  void vectorAccess(unsigned tensor, unsigned elements, bool isAligned);

  /// Adds that the last extent of \p tensor is a multiple of \p elements, so that an aligned piece
  /// of so many has all its elements in the row or none.
  void wholePieces(unsigned tensor, unsigned elements);

  /// Adds that element offsets in every tensor of \p tensors fit in 31 bits.
  void narrowIndices(llvm::ArrayRef<unsigned> tensors);

  /// \p expr is less than 2^31.
  void below31Bits(plan::ExprId expr, std::string text);

  const std::vector<plan::Condition> &all() const { return conditions; }
  const plan::OperatorPlan &contract() const { return planned; }

private:
  plan::OperatorPlan &planned;
  plan::ExprBuilder builder;
  ir::OperatorOp op;
  std::vector<plan::Condition> conditions;
};

} // namespace h3

#endif // H3_CODEGEN_KERNEL_GUARDS_H
