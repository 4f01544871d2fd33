//===-- codegen/transforms/LowerNarrowFloats.cpp - Conversions in integer code -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Conversions that targets lack: from and to the 8-bit floats, and directed roundings. A float is
// narrowed by integer arithmetic on its bits, with one rounding:
//
//  * a value whose exponent the narrow type has: the exponent is rebased, and the significand's
//    lower bits are rounded off; a carry moves into the exponent by itself;
//  * a smaller one: the significand, with its leading bit, is shifted to where the narrow type's
//    subnormals have it, and rounded there;
//  * beyond the largest number: infinity, NaN (e4m3 has no infinity), or the largest number where
//    the conversion saturates or rounds toward it.
//
// Formats: OCP 8-bit floating point specification 1.0 (E4M3, E5M2), IEEE 754-2019.
//
//===----------------------------------------------------------------------===//

#include "codegen/Mutant.h"
#include "codegen/dialect/H3.h"
#include "codegen/transforms/Bits.h"
#include "codegen/transforms/Passes.h"

#include <mlir/IR/PatternMatch.h>
#include <mlir/Transforms/WalkPatternRewriteDriver.h>

using namespace mlir;

namespace h3 {
namespace {

bool isByteFloat(mlir::Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(type));
}

/// The shape of a binary format.
struct Format {
  unsigned width, significandBits; ///< without the leading bit
  int64_t bias;
  uint64_t infinity; ///< the first magnitude that is no finite number: infinity, or e4m3's NaN
  uint64_t nan;

  explicit Format(mlir::Type type) {
    auto real = cast<FloatType>(getElementTypeOrSelf(type));
    const llvm::fltSemantics &semantics = real.getFloatSemantics();
    width = real.getWidth();
    significandBits = APFloat::semanticsPrecision(semantics) - 1;
    bias = 1 - APFloat::semanticsMinExponent(semantics);
    nan = APInt::getSignedMaxValue(width).getZExtValue();
    infinity = APFloat::getLargest(semantics).bitcastToAPInt().getZExtValue() + 1;
  }
  bool hasInfinity() const { return infinity != nan; }
};

} // namespace

Value narrowFloat(OpBuilder &builder, Location loc, Value value, mlir::Type result,
                  ir::Rounding rounding, bool saturate) {
  Format from(value.getType()), to(result);
  Bits bits(builder, loc, value.getType(), from.width);
  unsigned shift = from.significandBits - to.significandBits;
  auto constant = [&](uint64_t number) { return bits.constant(number); };

  Value raw = arith::BitcastOp::create(builder, loc, bits.type, value);
  Value magnitude = bits.both(raw, constant(~(uint64_t(1) << (from.width - 1))));
  Value exponent = bits.shr(magnitude, constant(from.significandBits));
  Value fraction = bits.both(magnitude, constant((uint64_t(1) << from.significandBits) - 1));

  Value isNegative = bits.shr(raw, constant(from.width - 1));

  // To nearest: half a unit less one, and one more where the last bit that stays is odd. Away from
  // zero: a unit less one.
  if (mutated(Mutant::NarrowTowardZero))
    rounding = ir::Rounding::TowardZero;
  auto rounded = [&](Value number, Value by) {
    Value one = constant(1);
    if (rounding == ir::Rounding::NearestEven) {
      Value odd = mutated(Mutant::HalfAway) ? one : bits.both(bits.shr(number, by), one);
      Value half = bits.sub(bits.shl(one, bits.sub(by, one)), one);
      return bits.shr(bits.add(bits.add(number, half), odd), by);
    }
    if (rounding == ir::Rounding::TowardZero)
      return bits.shr(number, by);
    Value unit = bits.sub(bits.shl(one, by), one);
    Value isAway = rounding == ir::Rounding::Down ? isNegative : bits.sub(one, isNegative);
    unit = bits.both(unit, bits.sub(constant(0), isAway));
    return bits.shr(bits.add(number, unit), by);
  };

  int64_t rebase = from.bias - to.bias;
  Value rebased =
      bits.sub(magnitude, constant(static_cast<uint64_t>(rebase) << from.significandBits));
  Value normal = rounded(rebased, constant(shift));

  // The least exponent that the narrow type has as a normal number.
  uint64_t least = rebase + 1;
  Value isNormal = bits.above(exponent, constant(least - 1));
  Value hasLeading = bits.above(exponent, constant(0));
  Value leading =
      bits.choose(hasLeading, constant(uint64_t(1) << from.significandBits), constant(0));
  Value effective = bits.choose(hasLeading, exponent, constant(1));
  Value distance = bits.add(bits.sub(constant(least), effective), constant(shift));
  // What is shifted further comes to the same, 0 or the least number; the shift stays inside the
  // width.
  Value furthest = constant(from.significandBits + 2);
  distance = bits.choose(isNormal, constant(shift), distance);
  distance = bits.choose(bits.above(distance, furthest), furthest, distance);
  Value subnormal = mutated(Mutant::NarrowFlushes)
                        ? constant(0)
                        : rounded(bits.either(fraction, leading), distance);
  Value code = bits.choose(isNormal, normal, subnormal);

  uint64_t largest = to.infinity - 1;
  Value infinity = constant(from.infinity);
  uint64_t beyond = saturate || mutated(Mutant::NarrowOverflow) ? largest : to.infinity;
  if (rounding != ir::Rounding::NearestEven && !saturate) {
    // Toward zero only an infinity is beyond the largest number.
    Value isBeyond = bits.above(magnitude, constant(from.infinity - 1));
    if (rounding != ir::Rounding::TowardZero) {
      bool ofNegative = rounding == ir::Rounding::Down;
      Value isAway = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, isNegative,
                                           constant(ofNegative));
      isBeyond = bits.either(isBeyond, isAway);
    }
    Value over = bits.choose(isBeyond, constant(beyond), constant(largest));
    code = bits.choose(bits.above(code, constant(largest)), over, code);
  } else {
    code = bits.choose(bits.above(code, constant(largest)), constant(beyond), code);
  }
  Value sign = bits.shl(isNegative, constant(to.width - 1));
  code = bits.either(code, sign);
  code = bits.choose(bits.above(magnitude, infinity), constant(to.nan), code);
  if (to.width < from.width) {
    mlir::Type integer = like(result, builder.getIntegerType(to.width));
    code = arith::TruncIOp::create(builder, loc, integer, code);
  }
  return arith::BitcastOp::create(builder, loc, result, code);
}

namespace {

/// An 8-bit float as an f16, which holds all of them.
Value widen(OpBuilder &builder, Location loc, Value value) {
  bool isE5M2 = isa<Float8E5M2Type>(getElementTypeOrSelf(value));
  mlir::Type half = like(value.getType(), builder.getF16Type());
  Bits bits(builder, loc, value.getType(), 16);
  Value raw = arith::BitcastOp::create(builder, loc,
                                       like(value.getType(), builder.getIntegerType(8)), value);
  raw = arith::ExtUIOp::create(builder, loc, bits.type, raw);
  if (isE5M2) // the upper half of an f16
    return arith::BitcastOp::create(builder, loc, half, bits.shl(raw, bits.constant(8)));
  // The exponent of E4M3 is 8 more than what its bits mean in an f16.
  Value magnitude = bits.both(raw, bits.constant(0x7F));
  Value sign = bits.shl(bits.both(raw, bits.constant(0x80)), bits.constant(8));
  Value scaled = arith::BitcastOp::create(builder, loc, half,
                                          bits.either(sign, bits.shl(magnitude, bits.constant(7))));
  TypedAttr factor = builder.getF16FloatAttr(256.0f);
  if (auto vector = dyn_cast<VectorType>(half))
    factor = DenseElementsAttr::get(vector, Attribute(factor));
  Value exact =
      arith::MulFOp::create(builder, loc, scaled, arith::ConstantOp::create(builder, loc, factor));
  Value nan = arith::BitcastOp::create(builder, loc, half, bits.constant(0x7FFF));
  return bits.choose(bits.above(magnitude, bits.constant(0x7E)), nan, exact);
}

} // namespace

Value integerAsF64(OpBuilder &builder, Location loc, Value value, mlir::Type result) {
  mlir::Type type = like(value.getType(), builder.getF64Type());
  if (getElementTypeOrSelf(value).getIntOrFloatBitWidth() == 64) {
    // A value beyond 2^24 in magnitude overflows an 8-bit float and f16; for bf16 and f32 the bits
    // below those that matter are kept as one that is odd.
    Bits bits(builder, loc, value.getType(), 64);
    if (isa<BFloat16Type, Float32Type>(getElementTypeOrSelf(result))) {
      Value low = bits.both(value, bits.constant(0xFFFF));
      Value sticky =
          bits.choose(bits.above(low, bits.constant(0)), bits.constant(0x8000), bits.constant(0));
      Value high = bits.either(bits.both(value, bits.constant(~uint64_t(0xFFFF))), sticky);
      Value magnitude = bits.choose(
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, value, bits.constant(0)),
          bits.sub(bits.constant(0), value), value);
      Value isLarge = bits.above(magnitude, bits.constant(uint64_t(1) << 40));
      value = bits.choose(isLarge, high, value);
    } else {
      Value most = bits.constant(uint64_t(1) << 24);
      Value least = bits.constant(-(uint64_t(1) << 24));
      value = arith::MinSIOp::create(builder, loc, value, most);
      value = arith::MaxSIOp::create(builder, loc, value, least);
    }
  }
  return arith::SIToFPOp::create(builder, loc, type, value);
}

namespace {

struct Convert : OpRewritePattern<ir::ConvertOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ConvertOp op, PatternRewriter &rewriter) const override {
    Value value = op.getOperand();
    mlir::Type result = op.getType();
    mlir::Type to = getElementTypeOrSelf(result);
    bool isDirected = op.getRounding() != ir::Rounding::NearestEven;
    bool fromByte = isByteFloat(value.getType()), toByte = isByteFloat(result);
    if (!isa<FloatType>(to))
      return failure();
    Location loc = op.getLoc();
    auto as = [&](mlir::Type element) { return like(result, element); };
    if (fromByte) {
      if (value.getType() == result) {
        rewriter.replaceOp(op, value);
        return success();
      }
      value = widen(rewriter, loc, value);
      if (to.isF16()) {
        rewriter.replaceOp(op, value);
        return success();
      }
      value = arith::ExtFOp::create(rewriter, loc, as(rewriter.getF32Type()), value);
      if (!toByte) {
        if (to.isF64())
          value = arith::ExtFOp::create(rewriter, loc, result, value);
        else if (to.isBF16())
          value = arith::TruncFOp::create(rewriter, loc, result, value);
        rewriter.replaceOp(op, value);
        return success();
      }
    } else if (!toByte) {
      bool narrows =
          isa<FloatType>(getElementTypeOrSelf(value)) &&
          (to.isF16() || to.isBF16() || (to.isF32() && getElementTypeOrSelf(value).isF64()));
      bool integerToHalf =
          isa<IntegerType>(getElementTypeOrSelf(value)) && (to.isF16() || to.isBF16());
      // By way of f32 an integer would be rounded to bf16 twice.
      bool isTwice = integerToHalf && to.isBF16();
      if (!isTwice && (!isDirected || !(narrows || integerToHalf)))
        return failure();
    }
    mlir::Type from = getElementTypeOrSelf(value);
    if (isa<IntegerType>(from))
      value = integerAsF64(rewriter, loc, value, result);
    else if (from.isF16() || from.isBF16())
      value = arith::ExtFOp::create(rewriter, loc, as(rewriter.getF32Type()), value);
    rewriter.replaceOp(
        op, narrowFloat(rewriter, loc, value, result, op.getRounding(), op.getSaturate()));
    return success();
  }
};

/// The bits of an 8-bit float; both signs of NaN are the one NaN.
struct ToBits : OpRewritePattern<ir::ToBitsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ToBitsOp op, PatternRewriter &rewriter) const override {
    Value value = op.getOperand();
    if (!isByteFloat(value.getType()))
      return failure();
    Location loc = op.getLoc();
    Bits bits(rewriter, loc, value.getType(), 8);
    Value raw = arith::BitcastOp::create(rewriter, loc, bits.type, value);
    Value magnitude = bits.both(raw, bits.constant(0x7F));
    Value largest = bits.constant(isa<Float8E5M2Type>(getElementTypeOrSelf(value)) ? 0x7C : 0x7E);
    rewriter.replaceOp(op, bits.choose(bits.above(magnitude, largest), bits.constant(0x7F), raw));
    return success();
  }
};

struct LowerNarrowFloats : PassWrapper<LowerNarrowFloats, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerNarrowFloats)
  StringRef getArgument() const override { return "h3-lower-narrow-floats"; }
  StringRef getDescription() const override {
    return "Lowers conversions of 8-bit floats and directed roundings to integer arithmetic";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Convert, ToBits>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

std::unique_ptr<Pass> createLowerNarrowFloatsPass() {
  return std::make_unique<LowerNarrowFloats>();
}

} // namespace h3
