//===-- backends/nvptx/LowerScalars.cpp - Named instructions of PTX -------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/Passes.h"
#include "codegen/dialect/H3.h"

#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/IR/PatternMatch.h>
#include <mlir/Transforms/WalkPatternRewriteDriver.h>

using namespace mlir;

namespace h3::nvptx {
namespace {

/// Replaces \p op by calls of an intrinsic on scalars, one for each element of a vector.
void replaceByIntrinsic(Operation *op, StringRef name, PatternRewriter &rewriter) {
  Location loc = op->getLoc();
  StringAttr intrinsic = rewriter.getStringAttr(name);
  mlir::Type type = op->getResult(0).getType();
  auto vector = dyn_cast<VectorType>(type);
  if (!vector) {
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(op, type, intrinsic, op->getOperands());
    return;
  }
  Value whole = LLVM::PoisonOp::create(rewriter, loc, vector);
  for (int64_t lane = 0; lane < vector.getNumElements(); ++lane) {
    Value position = LLVM::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(lane));
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(LLVM::ExtractElementOp::create(rewriter, loc, operand, position));
    Value result =
        LLVM::CallIntrinsicOp::create(rewriter, loc, vector.getElementType(), intrinsic, operands)
            .getResult(0);
    whole = LLVM::InsertElementOp::create(rewriter, loc, whole, result, position);
  }
  rewriter.replaceOp(op, whole);
}

struct Approx : OpRewritePattern<ir::ApproxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ApproxOp op, PatternRewriter &rewriter) const override {
    StringRef intrinsic;
    switch (op.getFunction()) {
    case ir::Approximation::RsqrtApprox:
      intrinsic = "llvm.nvvm.rsqrt.approx.f";
      break;
    case ir::Approximation::Ex2ApproxFtz:
      intrinsic = "llvm.nvvm.ex2.approx.ftz.f32";
      break;
    case ir::Approximation::RcpApproxFtz:
      intrinsic = "llvm.nvvm.rcp.approx.ftz.f";
      break;
    case ir::Approximation::SqrtApprox:
      intrinsic = "llvm.nvvm.sqrt.approx.f";
      break;
    }
    replaceByIntrinsic(op, intrinsic, rewriter);
    return success();
  }
};

/// `op.rz`, `.rm`, `.rp` on f32 and f64.
template <typename Op> struct Directed : OpRewritePattern<Op> {
  Directed(MLIRContext *context, StringRef name) : OpRewritePattern<Op>(context), name(name) {}
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    mlir::Type type = getElementTypeOrSelf(op.getType());
    if (op.getRounding() == ir::Rounding::NearestEven || !(type.isF32() || type.isF64()))
      return failure();
    std::string intrinsic = "llvm.nvvm." + name.str() + "." +
                            ir::stringifyRounding(op.getRounding()).str() +
                            (type.isF32() ? ".f" : ".d");
    replaceByIntrinsic(op, intrinsic, rewriter);
    return success();
  }
  StringRef name;
};

struct LowerScalars : PassWrapper<LowerScalars, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerScalars)
  StringRef getArgument() const override { return "h3-nvptx-lower-scalars"; }
  StringRef getDescription() const override {
    return "Lowers named approximations and directed roundings to NVVM intrinsics";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Approx>(&getContext());
    patterns.add<Directed<ir::AddOp>>(&getContext(), "add");
    patterns.add<Directed<ir::MulOp>>(&getContext(), "mul");
    patterns.add<Directed<ir::DivOp>>(&getContext(), "div");
    patterns.add<Directed<ir::FmaOp>>(&getContext(), "fma");
    patterns.add<Directed<ir::SqrtOp>>(&getContext(), "sqrt");
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

std::unique_ptr<Pass> createLowerScalarsPass() { return std::make_unique<LowerScalars>(); }

void registerPasses() {
  registerPass(createLowerScalarsPass);
  // For tests: the target with evidence.
  registerPass([] { return createCanonicalNaNPass(*findTarget("sm_90")); });
}

} // namespace h3::nvptx
