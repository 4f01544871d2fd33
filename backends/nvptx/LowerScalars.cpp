//===-- backends/nvptx/LowerScalars.cpp - Named instructions of PTX -------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/Passes.h"
#include "codegen/dialect/H3.h"
#include "codegen/transforms/Shapes.h"

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

/// Saturating conversions to an 8-bit float, which the target has for pairs. A NaN becomes 0x7F, as
/// the language has it.
struct SaturateToByte : OpRewritePattern<ir::ConvertOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ConvertOp op, PatternRewriter &rewriter) const override {
    Value value = op.getOperand();
    mlir::Type to = getElementTypeOrSelf(op.getType()), from = getElementTypeOrSelf(value);
    bool isE4M3 = isa<Float8E4M3FNType>(to);
    if (!op.getSaturate() || op.getRounding() != ir::Rounding::NearestEven ||
        !(from.isF16() || from.isBF16() || from.isF32()))
      return failure();
    Location loc = op.getLoc();
    auto shape = dyn_cast<VectorType>(op.getType());
    if (!from.isF32())
      value =
          arith::ExtFOp::create(rewriter, loc, like(op.getType(), rewriter.getF32Type()), value);
    StringAttr intrinsic =
        rewriter.getStringAttr(isE4M3 ? "llvm.nvvm.ff.to.e4m3x2.rn" : "llvm.nvvm.ff.to.e5m2x2.rn");
    auto byte = rewriter.getI8Type(), pair = rewriter.getI16Type();
    auto convert = [&](Value high, Value low) {
      return LLVM::CallIntrinsicOp::create(rewriter, loc, pair, intrinsic, ValueRange{high, low})
          .getResult(0);
    };
    Value result;
    if (!shape) {
      result = arith::TruncIOp::create(rewriter, loc, byte, convert(value, value));
    } else {
      int64_t count = shape.getNumElements();
      auto element = [&](int64_t lane) -> Value {
        Value position = LLVM::ConstantOp::create(
            rewriter, loc, rewriter.getI32IntegerAttr(std::min(lane, count - 1)));
        return LLVM::ExtractElementOp::create(rewriter, loc, value, position);
      };
      auto pairs = VectorType::get({(count + 1) / 2}, pair);
      Value whole = LLVM::PoisonOp::create(rewriter, loc, pairs);
      for (int64_t lane = 0; lane < count; lane += 2) {
        Value position =
            LLVM::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(lane / 2));
        whole = LLVM::InsertElementOp::create(rewriter, loc, whole,
                                              convert(element(lane + 1), element(lane)), position);
      }
      // Vectors have a power of two of elements: two or more are whole pairs.
      result = LLVM::BitcastOp::create(rewriter, loc, like(op.getType(), byte), whole);
    }
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), result);
    return success();
  }
};

/// Conversions toward zero that PTX has.
struct TowardZero : OpRewritePattern<ir::ConvertOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ConvertOp op, PatternRewriter &rewriter) const override {
    mlir::Type from = getElementTypeOrSelf(op.getOperand()),
               to = getElementTypeOrSelf(op.getType());
    StringRef intrinsic;
    if (op.getRounding() == ir::Rounding::NearestEven || !isa<IntegerType>(from))
      return failure();
    if (to.isF32())
      intrinsic = from.isInteger(32) ? "llvm.nvvm.i2f.rz" : "llvm.nvvm.ll2f.rz";
    else if (to.isF64())
      intrinsic = from.isInteger(32) ? "llvm.nvvm.i2d.rz" : "llvm.nvvm.ll2d.rz";
    else
      return failure();
    replaceByIntrinsic(op, intrinsic, rewriter);
    return success();
  }
};

struct LowerScalars : PassWrapper<LowerScalars, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerScalars)
  explicit LowerScalars(const Target &target) : target(target) {}
  StringRef getArgument() const override { return "h3-nvptx-lower-scalars"; }
  StringRef getDescription() const override {
    return "Lowers named approximations, directed roundings and 8-bit floats to NVVM intrinsics";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Approx, TowardZero>(&getContext());
    // Before sm_90 the instruction needs a later PTX version than all the rest.
    if (target.has(Capability::ConvertFp8) && target.major >= 9)
      patterns.add<SaturateToByte>(&getContext());
    patterns.add<Directed<ir::AddOp>>(&getContext(), "add");
    patterns.add<Directed<ir::MulOp>>(&getContext(), "mul");
    patterns.add<Directed<ir::DivOp>>(&getContext(), "div");
    patterns.add<Directed<ir::FmaOp>>(&getContext(), "fma");
    patterns.add<Directed<ir::SqrtOp>>(&getContext(), "sqrt");
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }

  const Target &target;
};

} // namespace

std::unique_ptr<Pass> createLowerScalarsPass(const Target &target) {
  return std::make_unique<LowerScalars>(target);
}

void registerPasses() {
  // For tests: the target with evidence.
  registerPass([] { return createLowerScalarsPass(*findTarget("sm_90")); });
  registerPass([] { return createCanonicalNaNPass(*findTarget("sm_90")); });
  registerPass([] { return createDependentLaunchPass(); });
  registerPass([] { return createStreamAccessesPass(); });
}

} // namespace h3::nvptx
