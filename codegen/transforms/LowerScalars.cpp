//===-- codegen/transforms/LowerScalars.cpp - Scalar operations to arith and llvm ---===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What every backend shares. Each pattern replaces one operation by operations with the same bits:
//
//  * rounding to nearest even is what arith and llvm operations do without flags;
//  * `max` and `min` with a NaN that wins are IEEE 754-2019 maximum and minimum, those with a NaN
//    that loses are maximumNumber and minimumNumber; all of them order -0 below +0;
//  * between f16 and bf16 a value goes through f32, which holds both exactly, and is rounded once;
//  * a NaN becomes the canonical one by an integer select, which no float rewrite sees through.
//
//===----------------------------------------------------------------------===//

#include "codegen/Mutant.h"
#include "codegen/dialect/H3.h"
#include "codegen/transforms/Passes.h"
#include "codegen/transforms/Shapes.h"

#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/IR/PatternMatch.h>
#include <mlir/Transforms/GreedyPatternRewriteDriver.h>
#include <mlir/Transforms/WalkPatternRewriteDriver.h>

using namespace mlir;

namespace h3 {

static unsigned widthOf(mlir::Type type) {
  return getElementTypeOrSelf(type).getIntOrFloatBitWidth();
}

/// The bits of \p value with any NaN replaced by the canonical one.
static Value canonicalBits(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<FloatType>(getElementTypeOrSelf(value));
  unsigned width = type.getWidth();
  mlir::Type integer = like(value.getType(), builder.getIntegerType(width));
  APInt magnitudeMask = APInt::getSignedMaxValue(width);
  APInt infinity = APFloat::getInf(type.getFloatSemantics()).bitcastToAPInt();
  auto constant = [&](const APInt &bits) { return constantOf(builder, loc, integer, bits); };
  Value bits = arith::BitcastOp::create(builder, loc, integer, value);
  Value magnitude = arith::AndIOp::create(builder, loc, bits, constant(magnitudeMask));
  Value isNaN = arith::CmpIOp::create(builder, loc,
                                      mutated(Mutant::InfinityAsNaN) ? arith::CmpIPredicate::uge
                                                                     : arith::CmpIPredicate::ugt,
                                      magnitude, constant(infinity));
  if (mutated(Mutant::KeptNaN))
    return bits;
  return arith::SelectOp::create(builder, loc, isNaN, constant(magnitudeMask), bits);
}

namespace {

template <typename From, typename To> struct Rounded : OpRewritePattern<From> {
  using OpRewritePattern<From>::OpRewritePattern;
  LogicalResult matchAndRewrite(From op, PatternRewriter &rewriter) const override {
    if (op.getRounding() != ir::Rounding::NearestEven)
      return failure();
    auto lowered = rewriter.replaceOpWithNewOp<To>(op, op.getType(), op->getOperands());
    if constexpr (std::is_same_v<To, arith::AddFOp>)
      if (mutated(Mutant::ContractFlag))
        lowered.setFastmath(arith::FastMathFlags::contract);
    return success();
  }
};

/// A fault of `Mutant`: one operation for a product and what is done with it.
template <typename From, bool isDifference> struct Contracted : OpRewritePattern<From> {
  using OpRewritePattern<From>::OpRewritePattern;
  LogicalResult matchAndRewrite(From op, PatternRewriter &rewriter) const override {
    auto product = op.getLhs().template getDefiningOp<arith::MulFOp>();
    if (!product)
      return failure();
    Value addend = op.getRhs();
    if (isDifference)
      addend = arith::NegFOp::create(rewriter, op.getLoc(), addend);
    rewriter.replaceOpWithNewOp<LLVM::FMAOp>(op, product.getLhs(), product.getRhs(), addend);
    return success();
  }
};

/// Another: an fma as two operations.
struct Split : OpRewritePattern<ir::FmaOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::FmaOp op, PatternRewriter &rewriter) const override {
    Value product = arith::MulFOp::create(rewriter, op.getLoc(), op.getA(), op.getB());
    rewriter.replaceOpWithNewOp<arith::AddFOp>(op, product, op.getC());
    return success();
  }
};

template <typename From, typename To> struct Plain : OpRewritePattern<From> {
  using OpRewritePattern<From>::OpRewritePattern;
  LogicalResult matchAndRewrite(From op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<To>(op, op.getType(), op->getOperands());
    return success();
  }
};

/// A count outside the width would be poison in LLVM.
template <typename From> struct Shift : OpRewritePattern<From> {
  using OpRewritePattern<From>::OpRewritePattern;
  LogicalResult matchAndRewrite(From op, PatternRewriter &rewriter) const override {
    constexpr bool isLeft = std::is_same_v<From, ir::ShlOp>;
    Location loc = op.getLoc();
    unsigned width = widthOf(op.getType());
    auto constant = [&](int64_t value) {
      return constantOf(rewriter, loc, op.getType(), APInt(width, value));
    };
    Value inside = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult, op.getRhs(),
                                         constant(width));
    Value last = constant(width - 1);
    Value count = arith::SelectOp::create(rewriter, loc, inside, op.getRhs(), last);
    if constexpr (isLeft) {
      Value shifted = arith::ShLIOp::create(rewriter, loc, op.getLhs(), count);
      rewriter.replaceOpWithNewOp<arith::SelectOp>(op, inside, shifted, constant(0));
    } else {
      // Shifted by all but one bit, what is left is the sign.
      rewriter.replaceOpWithNewOp<arith::ShRSIOp>(op, op.getLhs(), count);
    }
    return success();
  }
};

struct Convert : OpRewritePattern<ir::ConvertOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ConvertOp op, PatternRewriter &rewriter) const override {
    Value value = op.getOperand();
    mlir::Type result = op.getType();
    mlir::Type from = getElementTypeOrSelf(value), to = getElementTypeOrSelf(result);
    bool narrow =
        isa<Float8E4M3FNType, Float8E5M2Type>(from) || isa<Float8E4M3FNType, Float8E5M2Type>(to);
    unsigned fromWidth = widthOf(from), toWidth = widthOf(to);
    bool isExact = isa<FloatType>(from) && fromWidth < toWidth;
    if (narrow || (op.getRounding() != ir::Rounding::NearestEven && !isExact))
      return failure();
    Location loc = op.getLoc();
    if (isa<IntegerType>(from)) {
      if (mutated(Mutant::UnsignedInteger) && isa<FloatType>(to))
        rewriter.replaceOpWithNewOp<arith::UIToFPOp>(op, result, value);
      else if (isa<FloatType>(to))
        rewriter.replaceOpWithNewOp<arith::SIToFPOp>(op, result, value);
      else if (toWidth < fromWidth)
        rewriter.replaceOpWithNewOp<arith::TruncIOp>(op, result, value);
      else
        rewriter.replaceOpWithNewOp<arith::ExtSIOp>(op, result, value);
      return success();
    }
    if (fromWidth == toWidth) {
      value = arith::ExtFOp::create(rewriter, loc, like(result, rewriter.getF32Type()), value);
      fromWidth = 32;
    }
    if (mutated(Mutant::DoubledRounding) && fromWidth == 64 && toWidth < 32)
      value = arith::TruncFOp::create(rewriter, loc, like(result, rewriter.getF32Type()), value);
    auto narrowed = value.getDefiningOp<arith::TruncFOp>();
    if (mutated(Mutant::LostRounding) && narrowed && narrowed.getIn().getType() == result)
      rewriter.replaceOp(op, narrowed.getIn());
    else if (fromWidth < toWidth)
      rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, result, value);
    else
      rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, result, value);
    return success();
  }
};

struct FromBits : OpRewritePattern<ir::FromBitsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::FromBitsOp op, PatternRewriter &rewriter) const override {
    Value pattern = op.getOperand();
    mlir::Type integer = like(op.getType(), rewriter.getIntegerType(widthOf(op.getType())));
    if (pattern.getType() != integer)
      pattern = arith::TruncIOp::create(rewriter, op.getLoc(), integer, pattern);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), pattern);
    return success();
  }
};

struct ToBits : OpRewritePattern<ir::ToBitsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ToBitsOp op, PatternRewriter &rewriter) const override {
    Value bits = canonicalBits(rewriter, op.getLoc(), op.getOperand());
    if (bits.getType() != op.getType())
      bits = arith::ExtUIOp::create(rewriter, op.getLoc(), op.getType(), bits);
    rewriter.replaceOp(op, bits);
    return success();
  }
};

struct LowerScalars : PassWrapper<LowerScalars, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerScalars)
  StringRef getArgument() const override { return "h3-lower-scalars"; }
  StringRef getDescription() const override {
    return "Lowers scalar operations to arith and llvm, one operation for one";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Rounded<ir::AddOp, arith::AddFOp>, Rounded<ir::SubOp, arith::SubFOp>,
                 Rounded<ir::MulOp, arith::MulFOp>, Rounded<ir::DivOp, arith::DivFOp>,
                 Rounded<ir::FmaOp, LLVM::FMAOp>, Plain<ir::NegOp, arith::NegFOp>,
                 Plain<ir::MaxOp, arith::MaximumFOp>, Plain<ir::MinOp, arith::MinimumFOp>,
                 Shift<ir::ShlOp>, Shift<ir::ShrOp>, Convert, FromBits, ToBits>(&getContext());
    // No operation in the llvm dialect, or one that a GPU lowering would send to a math library.
    patterns.add<Intrinsic<ir::MaxNumOp>>(&getContext(), "llvm.maximumnum");
    patterns.add<Intrinsic<ir::MinNumOp>>(&getContext(), "llvm.minimumnum");
    patterns.add<Intrinsic<ir::AbsOp>>(&getContext(), "llvm.fabs");
    patterns.add<Intrinsic<ir::CopysignOp>>(&getContext(), "llvm.copysign");
    patterns.add<Intrinsic<ir::SqrtOp>>(&getContext(), "llvm.sqrt");
    if (mutated(Mutant::ContractedSum))
      patterns.add<Contracted<ir::AddOp, false>>(&getContext(), /*benefit=*/2);
    if (mutated(Mutant::ContractedDifference))
      patterns.add<Contracted<ir::SubOp, true>>(&getContext(), /*benefit=*/2);
    if (mutated(Mutant::SplitFma))
      patterns.add<Split>(&getContext(), /*benefit=*/2);
    if (mutated(Mutant::UnspecifiedFma))
      patterns.add<Rounded<ir::FmaOp, LLVM::FMulAddOp>>(&getContext(), /*benefit=*/2);
    if (mutated(Mutant::MaxDropsNaN))
      patterns.add<Intrinsic<ir::MaxOp>>(&getContext(), "llvm.maximumnum", /*benefit=*/2);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }

  template <typename Op> struct Intrinsic : OpRewritePattern<Op> {
    Intrinsic(MLIRContext *context, StringRef name, PatternBenefit benefit = 1)
        : OpRewritePattern<Op>(context, benefit), name(name) {}
    LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
      if constexpr (std::is_same_v<Op, ir::SqrtOp>)
        if (op.getRounding() != ir::Rounding::NearestEven)
          return failure();
      rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
          op, op.getType(), rewriter.getStringAttr(name), op->getOperands());
      return success();
    }
    StringRef name;
  };
};

} // namespace

std::unique_ptr<Pass> createLowerScalarsPass() { return std::make_unique<LowerScalars>(); }

} // namespace h3
