//===-- codegen/transforms/InlineRows.cpp - Elements computed where they are used ---===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An element of a row is computed where it is used. A use may be of another element than the one
// that is computed (`x[i + r / 2]` in the computation of element i): with `remap`, where that is a
// constant distance and costs arithmetic, it becomes an `h3.remap` of the element's own value.
//
//===----------------------------------------------------------------------===//

#include "codegen/dialect/H3.h"
#include "codegen/transforms/Passes.h"

#include <mlir/IR/IRMapping.h>
#include <mlir/IR/Matchers.h>

using namespace mlir;

namespace h3 {
namespace {

struct InlineRows : PassWrapper<InlineRows, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InlineRows)
  InlineRows() = default;
  explicit InlineRows(bool withRemaps) { remap = withRemaps; }
  InlineRows(const InlineRows &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "h3-inline-rows"; }
  StringRef getDescription() const override {
    return "Computes the elements of rows where they are used";
  }
  Option<bool> remap{*this, "remap", llvm::cl::desc("Name the uses of other elements"),
                     llvm::cl::init(false)};

  void runOnOperation() override {
    // A body may read other rows, so go on until nothing reads a row.
    SmallVector<ir::AtOp> reads;
    do {
      reads.clear();
      getOperation()->walk([&](ir::AtOp at) {
        if (!at->getParentOfType<ir::RowOp>())
          reads.push_back(at);
      });
      for (ir::AtOp at : reads)
        inlineRead(at);
    } while (!reads.empty());

    SmallVector<ir::RowOp> rows;
    getOperation()->walk<WalkOrder::PreOrder>([&](ir::RowOp row) {
      rows.push_back(row);
      return WalkResult::skip(); // what is inside goes with it
    });
    for (ir::RowOp row : llvm::reverse(rows))
      row.erase();
  }

  void inlineRead(ir::AtOp at) {
    auto row = at.getRow().getDefiningOp<ir::RowOp>();
    if (remap && isRemap(at)) {
      OpBuilder builder(at->getContext());
      auto loop = at->getParentOfType<ir::ForallOp>();
      builder.setInsertionPointToStart(&loop.getBody().front());
      Value own = ir::AtOp::create(builder, at.getLoc(), at.getType(), at.getRow(),
                                   ValueRange(loop.getIndices()));
      builder.setInsertionPoint(at);
      at.replaceAllUsesWith(
          ir::RemapOp::create(builder, at.getLoc(), own, at.getIndices().front()).getResult());
      at.erase();
      return;
    }
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

  /// Whether \p at stands in a loop over just the elements of its row, is at a constant distance
  /// from the loop's own and costs more than a load.
  static bool isRemap(ir::AtOp at) {
    auto row = at.getRow().getDefiningOp<ir::RowOp>();
    auto loop = at->getParentOfType<ir::ForallOp>();
    if (!loop || at->getParentOfType<ir::ReduceOp>() || loop.getIndices().size() != 1 ||
        row.getExtents().size() != 1 || loop.getExtents().front() != row.getExtents().front())
      return false;
    Operation *index = at.getIndices().front().getDefiningOp();
    APInt distance;
    if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(index) ||
        index->getOperand(0) != loop.getIndices().front() ||
        !matchPattern(index->getOperand(1), m_ConstantInt(&distance)))
      return false;
    bool hasArithmetic = false;
    row.getBody().walk([&](Operation *op) {
      hasArithmetic |=
          isa<ir::AddOp, ir::SubOp, ir::MulOp, ir::FmaOp, ir::DivOp, ir::SqrtOp, ir::ApproxOp>(op);
    });
    return hasArithmetic;
  }
};

} // namespace

std::unique_ptr<Pass> createInlineRowsPass(bool remap) {
  return std::make_unique<InlineRows>(remap);
}

void registerTransforms() {
  registerPass(createFlattenBranchesPass);
  registerPass(createFlattenDigitsPass);
  registerPass(createFuseLoopsPass);
  registerPass(createHoistInvariantsPass);
  registerPass(createHoistLoadsPass);
  registerPass(createHoistRemapsPass);
  registerPass([] { return createInlineRowsPass(); });
  registerPass(createLowerNarrowFloatsPass);
  registerPass(createLowerScalarsPass);
  registerPass(createSplitRowsPass);
  registerPass(createVerifyNoFastMathPass);
}

} // namespace h3
