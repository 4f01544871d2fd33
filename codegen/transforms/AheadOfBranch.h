//===-- codegen/transforms/AheadOfBranch.h - Indices in front of a branch - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the passes that move operations out of branches share: the arithmetic of an index or of a
// condition that stands inside a branch, repeated in front of it.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_TRANSFORMS_AHEADOFBRANCH_H
#define H3_CODEGEN_TRANSFORMS_AHEADOFBRANCH_H

#include "codegen/dialect/H3.h"

#include <mlir/IR/IRMapping.h>

namespace h3 {

/// The branches within \p op that stand in no other.
inline llvm::SmallVector<mlir::scf::IfOp> outermostBranches(mlir::Operation *op) {
  llvm::SmallVector<mlir::scf::IfOp> outermost;
  op->walk<mlir::WalkOrder::PreOrder>([&](mlir::scf::IfOp branch) {
    outermost.push_back(branch);
    return mlir::WalkResult::skip();
  });
  return outermost;
}

/// Whether \p index can be computed in front of the values of \p branch: by arithmetic on indices.
inline bool isAddress(mlir::Value index, mlir::scf::IfOp branch) {
  mlir::Operation *producer = index.getDefiningOp();
  if (!producer || !branch->isProperAncestor(producer))
    return true;
  return producer->getNumRegions() == 0 && mlir::isPure(producer) &&
         !llvm::isa<ir::LoadOp, ir::RemapOp>(producer) &&
         llvm::all_of(producer->getOperands(),
                      [&](mlir::Value operand) { return isAddress(operand, branch); });
}

/// \p value and what it is computed from inside a branch, copied to the insertion point.
inline mlir::Value cloneAhead(mlir::OpBuilder &builder, mlir::Value value,
                              mlir::IRMapping &mapping) {
  mlir::Operation *producer = value.getDefiningOp();
  auto isVisible = [&](mlir::Value known) {
    return known.getParentRegion()->isAncestor(builder.getInsertionBlock()->getParent());
  };
  if (!producer || isVisible(value))
    return value;
  if (mlir::Value copy = mapping.lookupOrNull(value); copy && isVisible(copy))
    return copy;
  for (mlir::Value operand : producer->getOperands())
    cloneAhead(builder, operand, mapping);
  return builder.clone(*producer, mapping)->getResult(0);
}

} // namespace h3

#endif // H3_CODEGEN_TRANSFORMS_AHEADOFBRANCH_H
