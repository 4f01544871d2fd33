//===-- backends/cpu/LowerHalves.cpp - f16 and bf16 by wider types --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// No target here has all operations of the two types, and LLVM would call libraries for some. Each
// operation becomes one in a wider type and one rounding:
//
//  * +, -, *, /, sqrt in f32: the result to nearest, rounded again to at most 11 bits, is the exact
//    one rounded once, since f32 has 24 >= 2 * 11 + 2 bits (Figueroa, When is double rounding
//    innocuous?, 1995); max and min are exact;
//  * fma in f64, rounded to odd (Passes.h), and from there to the narrow type;
//  * signs are integer operations, which touch no NaN;
//  * from f64 and integers values are rounded directly: by way of f32 they would be rounded twice.
//
// bf16 is rounded by integer code throughout: instructions for it flush subnormals. So is f16 where
// the target has no conversions. A target without fused multiply-adds gets those of f32 by f64.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/Passes.h"
#include "codegen/transforms/Bits.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>

using namespace mlir;

namespace h3::cpu {
namespace {

bool isHalf(mlir::Type type) {
  mlir::Type element = getElementTypeOrSelf(type);
  return element.isF16() || element.isBF16();
}

class Lowering {
public:
  Lowering(OpBuilder &builder, Location loc, const Target &target)
      : builder(builder), loc(loc), target(target) {}

  /// An f16 or bf16 as an f32; anything else as it is.
  Value widen(Value value);
  /// An f32 or f64 as an f16 or bf16, rounded to nearest.
  Value narrow(Value value, mlir::Type type);
  /// What takes the place of \p op; null: it stays.
  Value lowered(Operation *op);

private:
  Value bitsOf(Value value, unsigned width) {
    return arith::BitcastOp::create(builder, loc,
                                    like(value.getType(), builder.getIntegerType(width)), value);
  }
  Value toF64(Value value) {
    return arith::ExtFOp::create(builder, loc, like(value.getType(), builder.getF64Type()),
                                 widen(value));
  }
  Value fused(LLVM::FMAOp op);
  Value intrinsic(LLVM::CallIntrinsicOp op);
  Value overF32(Operation *op);

  OpBuilder &builder;
  Location loc;
  const Target &target;
};

Value Lowering::widen(Value value) {
  if (!isHalf(value.getType()))
    return value;
  mlir::Type single = like(value.getType(), builder.getF32Type());
  bool isF16 = getElementTypeOrSelf(value).isF16();
  if (isF16 && target.has(Capability::ConvertF16))
    return arith::ExtFOp::create(builder, loc, single, value);
  Bits bits(builder, loc, value.getType(), 32);
  Value pattern = arith::ExtUIOp::create(builder, loc, bits.type, bitsOf(value, 16));
  if (!isF16)
    return arith::BitcastOp::create(builder, loc, single, bits.shl(pattern, bits.constant(16)));
  // The exponent is 112 less than an f32's; multiplying puts it right, of subnormals too. Infinity
  // and NaN have the largest exponent.
  Value sign = bits.shl(bits.both(pattern, bits.constant(0x8000)), bits.constant(16));
  Value magnitude = bits.shl(bits.both(pattern, bits.constant(0x7FFF)), bits.constant(13));
  Value scaled = arith::MulFOp::create(
      builder, loc, arith::BitcastOp::create(builder, loc, single, magnitude),
      arith::BitcastOp::create(builder, loc, single, bits.constant((127u + 112) << 23)));
  Value finite = arith::BitcastOp::create(builder, loc, bits.type, scaled);
  Value special = bits.either(magnitude, bits.constant(0x7F800000));
  Value isSpecial = bits.above(magnitude, bits.constant((0x7C00u << 13) - 1));
  return arith::BitcastOp::create(builder, loc, single,
                                  bits.either(sign, bits.choose(isSpecial, special, finite)));
}

Value Lowering::narrow(Value value, mlir::Type type) {
  bool isSingle = getElementTypeOrSelf(value).isF32();
  if (!isSingle || (getElementTypeOrSelf(type).isF16() && !target.has(Capability::ConvertF16)))
    return narrowFloat(builder, loc, value, type, ir::Rounding::NearestEven);
  if (getElementTypeOrSelf(type).isF16())
    return arith::TruncFOp::create(builder, loc, type, value);
  Bits bits(builder, loc, type, 32);
  Value pattern = arith::BitcastOp::create(builder, loc, bits.type, value);
  Value odd = bits.both(bits.shr(pattern, bits.constant(16)), bits.constant(1));
  Value rounded = bits.add(bits.add(pattern, bits.constant(0x7FFF)), odd);
  Value isNaN =
      bits.above(bits.both(pattern, bits.constant(0x7FFFFFFF)), bits.constant(0x7F800000));
  Value high = bits.shr(bits.choose(isNaN, bits.constant(0x7FFF0000), rounded), bits.constant(16));
  high = arith::TruncIOp::create(builder, loc, like(type, builder.getI16Type()), high);
  return arith::BitcastOp::create(builder, loc, type, high);
}

Value Lowering::fused(LLVM::FMAOp op) {
  bool half = isHalf(op.getType());
  mlir::Type element = getElementTypeOrSelf(op.getType());
  if (!half && target.has(Capability::FusedMultiplyAdd))
    return {};
  if (element.isF64())
    return forEachElement(builder, loc, op.getType(), op->getOperands(), [&](ValueRange operands) {
      return emitFusedMultiplyAdd(builder, loc, operands[0], operands[1], operands[2]);
    });
  Value exact = sumToOdd(builder, loc, toF64(op.getA()), toF64(op.getB()), toF64(op.getC()));
  if (half)
    return narrow(exact, op.getType());
  return arith::TruncFOp::create(builder, loc, op.getType(), exact);
}

Value Lowering::intrinsic(LLVM::CallIntrinsicOp op) {
  if (op.getNumResults() != 1 || !isHalf(op.getResult(0).getType()))
    return {};
  mlir::Type type = op.getResult(0).getType();
  StringRef name = op.getIntrin();
  Bits bits(builder, loc, type, 16);
  Value magnitude = bits.constant(0x7FFF);
  if (name == "llvm.fabs")
    return arith::BitcastOp::create(builder, loc, type,
                                    bits.both(bitsOf(op->getOperand(0), 16), magnitude));
  if (name == "llvm.copysign")
    return arith::BitcastOp::create(
        builder, loc, type,
        bits.either(bits.both(bitsOf(op->getOperand(0), 16), magnitude),
                    bits.both(bitsOf(op->getOperand(1), 16), bits.constant(0x8000))));
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(widen(operand));
  Value result = LLVM::CallIntrinsicOp::create(builder, loc, like(type, builder.getF32Type()),
                                               op.getIntrinAttr(), operands)
                     .getResult(0);
  return narrow(result, type);
}

/// The same operation in f32.
Value Lowering::overF32(Operation *op) {
  OperationState state(loc, op->getName());
  for (Value operand : op->getOperands())
    state.operands.push_back(widen(operand));
  state.addAttributes(op->getAttrs());
  mlir::Type type = op->getResult(0).getType();
  bool isCondition = isa<arith::CmpFOp>(op);
  state.addTypes(isCondition ? type : like(type, builder.getF32Type()));
  Value result = builder.create(state)->getResult(0);
  return isCondition ? result : narrow(result, type);
}

Value Lowering::lowered(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](LLVM::FMAOp fma) { return fused(fma); })
      .Case([&](LLVM::CallIntrinsicOp call) { return intrinsic(call); })
      .Case<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::MaximumFOp,
            arith::MinimumFOp>(
          [&](auto) { return isHalf(op->getResult(0).getType()) ? overF32(op) : Value(); })
      .Case(
          [&](arith::CmpFOp cmp) { return isHalf(cmp.getLhs().getType()) ? overF32(op) : Value(); })
      .Case([&](arith::NegFOp neg) -> Value {
        if (!isHalf(neg.getType()))
          return {};
        Bits bits(builder, loc, neg.getType(), 16);
        return arith::BitcastOp::create(
            builder, loc, neg.getType(),
            bits.flip(bitsOf(neg.getOperand(), 16), bits.constant(0x8000)));
      })
      .Case([&](arith::ExtFOp ext) -> Value {
        if (!isHalf(ext.getIn().getType()))
          return {};
        Value single = widen(ext.getIn());
        if (single.getType() == ext.getType())
          return single;
        return arith::ExtFOp::create(builder, loc, ext.getType(), single);
      })
      .Case([&](arith::TruncFOp trunc) {
        return isHalf(trunc.getType()) ? narrow(trunc.getIn(), trunc.getType()) : Value();
      })
      .Case([&](arith::SIToFPOp convert) -> Value {
        if (isHalf(convert.getType()))
          return narrow(integerAsF64(builder, loc, convert.getIn(), convert.getType()),
                        convert.getType());
        bool isWide = getElementTypeOrSelf(convert.getIn()).getIntOrFloatBitWidth() == 64;
        if (!isWide || !isa<VectorType>(convert.getType()))
          return {};
        // Some targets convert a vector of i64 by way of f64.
        return forEachElement(
            builder, loc, convert.getType(), op->getOperands(), [&](ValueRange operands) -> Value {
              return arith::SIToFPOp::create(builder, loc, getElementTypeOrSelf(convert.getType()),
                                             operands.front());
            });
      })
      .Default([](Operation *) { return Value(); });
}

struct LowerHalves : PassWrapper<LowerHalves, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerHalves)
  explicit LowerHalves(const Target &target) : target(target) {}
  StringRef getArgument() const override { return "h3-cpu-lower-halves"; }
  StringRef getDescription() const override {
    return "Lowers arithmetic on f16 and bf16 to wider types with one rounding";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect>();
  }
  void runOnOperation() override {
    SmallVector<Operation *> all;
    getOperation()->walk([&](Operation *op) { all.push_back(op); });
    for (Operation *op : all) {
      if (op == getOperation())
        continue;
      OpBuilder builder(op);
      if (Value result = Lowering(builder, op->getLoc(), target).lowered(op)) {
        op->replaceAllUsesWith(ValueRange{result});
        op->erase();
      }
    }
  }

  const Target &target;
};

} // namespace

std::unique_ptr<Pass> createLowerHalvesPass(const Target &target) {
  return std::make_unique<LowerHalves>(target);
}

} // namespace h3::cpu
