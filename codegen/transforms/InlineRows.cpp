//===-- codegen/transforms/InlineRows.cpp - Elements computed where they are used ---===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/dialect/H3.h"
#include "codegen/transforms/Passes.h"

#include <mlir/IR/IRMapping.h>

using namespace mlir;

namespace h3 {
namespace {

struct InlineRows : PassWrapper<InlineRows, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InlineRows)
  StringRef getArgument() const override { return "h3-inline-rows"; }
  StringRef getDescription() const override {
    return "Computes the elements of rows where they are used";
  }

  void runOnOperation() override {
    // A body may read other rows, which stand before it: inlining the last uses first would leave
    // their copies behind, so go on until nothing reads a row.
    SmallVector<ir::AtOp> reads;
    do {
      reads.clear();
      getOperation()->walk([&](ir::AtOp at) { reads.push_back(at); });
      for (ir::AtOp at : reads)
        inlineRead(at);
    } while (!reads.empty());

    SmallVector<ir::RowOp> rows;
    getOperation()->walk<WalkOrder::PreOrder>([&](ir::RowOp row) { rows.push_back(row); });
    for (ir::RowOp row : llvm::reverse(rows))
      row.erase();
  }

  static void inlineRead(ir::AtOp at) {
    auto row = at.getRow().getDefiningOp<ir::RowOp>();
    IRMapping mapping;
    Block &body = row.getBody().front();
    mapping.map(body.getArguments(), at.getIndices());
    OpBuilder builder(at);
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping);
    Value yielded = body.getTerminator()->getOperand(0);
    at.replaceAllUsesWith(mapping.lookupOrDefault(yielded));
    at.erase();
  }
};

} // namespace

std::unique_ptr<Pass> createInlineRowsPass() { return std::make_unique<InlineRows>(); }

void registerTransforms() {
  registerPass(createFlattenBranchesPass);
  registerPass(createFlattenDigitsPass);
  registerPass(createFuseLoopsPass);
  registerPass(createHoistInvariantsPass);
  registerPass(createHoistLoadsPass);
  registerPass(createInlineRowsPass);
  registerPass(createLowerNarrowFloatsPass);
  registerPass(createLowerScalarsPass);
  registerPass(createSplitRowsPass);
  registerPass(createVerifyNoFastMathPass);
}

} // namespace h3
