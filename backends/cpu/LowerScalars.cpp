//===-- backends/cpu/LowerScalars.cpp - Approximations, directed roundings -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A directed rounding is the rounding to nearest, and one step back where that went the wrong way.
// What shows which way it went is exact: sums and products of f32 in f64, rounded to odd; of a
// quotient q = a / b the product q * b against a; of a root r the square r * r against the operand.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/Passes.h"
#include "codegen/transforms/Bits.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>

using namespace mlir;

namespace h3::cpu {

Value sumToOdd(OpBuilder &builder, Location loc, Value a, Value b, Value c) {
  auto add = [&](Value x, Value y) -> Value { return arith::AddFOp::create(builder, loc, x, y); };
  auto sub = [&](Value x, Value y) -> Value { return arith::SubFOp::create(builder, loc, x, y); };
  Value product = b ? Value(arith::MulFOp::create(builder, loc, a, b)) : a;
  // The sum and its error (Knuth, TAOCP 2, 4.2.2, theorem B).
  Value sum = add(product, c);
  Value part = sub(sum, product);
  Value error = add(sub(product, sub(sum, part)), sub(c, part));
  Bits bits(builder, loc, sum.getType(), 64);
  auto patternOf = [&](Value value) -> Value {
    return arith::BitcastOp::create(builder, loc, bits.type, value);
  };
  Value pattern = patternOf(sum), zero = bits.constant(0), one = bits.constant(1);
  // An error that is not a number belongs to a sum that is none, or infinite.
  Value none = arith::BitcastOp::create(builder, loc, sum.getType(), zero);
  Value isInexact = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::ONE, error, none);
  Value isEven = bits.equal(bits.both(pattern, one), zero);
  // A magnitude grows where sum and error have one sign.
  Value grows = bits.compare(arith::CmpIPredicate::sge, bits.flip(pattern, patternOf(error)), zero);
  Value step = bits.choose(grows, one, bits.constant(~uint64_t(0)));
  Value moves = arith::AndIOp::create(builder, loc, isInexact, isEven);
  Value moved = bits.add(pattern, bits.choose(moves, step, zero));
  return arith::BitcastOp::create(builder, loc, sum.getType(), moved);
}

namespace {

/// One operation in f32 with a directed rounding.
class Directed {
public:
  Directed(OpBuilder &builder, Operation *op, ir::Rounding rounding)
      : builder(builder), loc(op->getLoc()), rounding(rounding), type(op->getResult(0).getType()),
        wide(like(type, builder.getF64Type())) {}

  Value add(Value a, Value b) { return step(toOdd(sum(a, {}, b))); }
  Value mul(Value a, Value b) { return step(toOdd(arith::MulFOp::create(builder, loc, a, b))); }
  Value fma(Value a, Value b, Value c) { return step(toOdd(sum(a, b, c))); }
  Value div(Value a, Value b);
  Value sqrt(Value a);
  Value widen(Value value) { return arith::ExtFOp::create(builder, loc, wide, value); }

private:
  /// A result to nearest, and whether it lies above or below the exact one.
  struct Nearest {
    Value value, isAbove, isBelow;
  };
  Nearest toOdd(Value exact);
  Value sum(Value a, Value b, Value c);
  Value step(const Nearest &nearest);
  Value compare(arith::CmpFPredicate how, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, how, a, b);
  }

  OpBuilder &builder;
  Location loc;
  ir::Rounding rounding;
  mlir::Type type, wide;
};

/// a * b + c to odd. Terms that cancel, or zeros of different signs, are -0 where rounding is down.
Value Directed::sum(Value a, Value b, Value c) {
  Value exact = sumToOdd(builder, loc, a, b, c);
  if (rounding != ir::Rounding::Down)
    return exact;
  Bits bits(builder, loc, wide, 64);
  auto patternOf = [&](Value value) -> Value {
    return arith::BitcastOp::create(builder, loc, bits.type, value);
  };
  Value product = b ? Value(arith::MulFOp::create(builder, loc, a, b)) : a;
  Value pattern = patternOf(exact), sign = bits.constant(uint64_t(1) << 63);
  Value signs = bits.both(bits.either(patternOf(product), patternOf(c)), sign);
  Value isZero =
      bits.equal(bits.both(pattern, bits.constant(~(uint64_t(1) << 63))), bits.constant(0));
  return arith::BitcastOp::create(builder, loc, wide, bits.choose(isZero, signs, pattern));
}

Directed::Nearest Directed::toOdd(Value exact) {
  Value nearest = arith::TruncFOp::create(builder, loc, type, exact);
  Value back = widen(nearest);
  return {nearest, compare(arith::CmpFPredicate::OGT, back, exact),
          compare(arith::CmpFPredicate::OLT, back, exact)};
}

Value Directed::div(Value a, Value b) {
  Value nearest =
      arith::DivFOp::create(builder, loc, type, arith::TruncFOp::create(builder, loc, type, a),
                            arith::TruncFOp::create(builder, loc, type, b));
  Value product = arith::MulFOp::create(builder, loc, widen(nearest), b);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(wide));
  Value more = compare(arith::CmpFPredicate::OGT, product, a);
  Value less = compare(arith::CmpFPredicate::OLT, product, a);
  Value isPositive = compare(arith::CmpFPredicate::OGT, b, zero);
  return step({nearest, arith::SelectOp::create(builder, loc, isPositive, more, less),
               arith::SelectOp::create(builder, loc, isPositive, less, more)});
}

Value Directed::sqrt(Value a) {
  Value operand = arith::TruncFOp::create(builder, loc, type, a);
  Value nearest =
      LLVM::CallIntrinsicOp::create(builder, loc, type, builder.getStringAttr("llvm.sqrt"), operand)
          .getResult(0);
  Value root = widen(nearest);
  Value square = arith::MulFOp::create(builder, loc, root, root);
  return step({nearest, compare(arith::CmpFPredicate::OGT, square, a),
               compare(arith::CmpFPredicate::OLT, square, a)});
}

/// The neighbour on the exact result's side where the rounding wants that one. Behind infinity
/// comes the largest number, behind the least one zero.
Value Directed::step(const Nearest &nearest) {
  Bits bits(builder, loc, type, 32);
  Value pattern = arith::BitcastOp::create(builder, loc, bits.type, nearest.value);
  Value zero = bits.constant(0), sign = bits.constant(0x80000000);
  Value one = bits.constant(1), magnitude = bits.both(pattern, bits.constant(0x7FFFFFFF));
  Value isNegative = bits.below(pattern, zero), isZero = bits.equal(magnitude, zero);
  Value grown = bits.add(pattern, one), shrunk = bits.sub(pattern, one);
  Value lower = bits.choose(isNegative, grown, shrunk);
  lower = bits.choose(isZero, bits.either(sign, one), lower);
  Value higher = bits.choose(isNegative, shrunk, grown);
  higher = bits.choose(isZero, one, higher);
  Value result;
  switch (rounding) {
  case ir::Rounding::Down:
    result = bits.choose(nearest.isAbove, lower, pattern);
    break;
  case ir::Rounding::Up:
    result = bits.choose(nearest.isBelow, higher, pattern);
    break;
  case ir::Rounding::TowardZero:
    // A result that rounded away from zero is not zero.
    result =
        bits.choose(bits.choose(isNegative, nearest.isBelow, nearest.isAbove), shrunk, pattern);
    break;
  case ir::Rounding::NearestEven:
    result = pattern;
    break;
  }
  return arith::BitcastOp::create(builder, loc, type, result);
}

struct LowerScalars : PassWrapper<LowerScalars, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerScalars)
  StringRef getArgument() const override { return "h3-cpu-lower-scalars"; }
  StringRef getDescription() const override {
    return "Lowers named approximations and directed roundings to integer and exact arithmetic";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    SmallVector<Operation *> all;
    getOperation()->walk([&](Operation *op) {
      if (isa<ir::ApproxOp, ir::AddOp, ir::SubOp, ir::MulOp, ir::DivOp, ir::FmaOp, ir::SqrtOp,
              ir::ConvertOp>(op))
        all.push_back(op);
    });
    for (Operation *op : all) {
      Value result = llvm::TypeSwitch<Operation *, Value>(op)
                         .Case([&](ir::ApproxOp approx) {
                           OpBuilder builder(op);
                           return emitApproximation(builder, op->getLoc(), approx.getFunction(),
                                                    approx.getOperand(), getOperation());
                         })
                         .Case([&](ir::ConvertOp convert) { return converted(convert); })
                         .Default([&](Operation *) { return directed(op); });
      if (!result)
        continue;
      op->replaceAllUsesWith(ValueRange{result});
      op->erase();
    }
  }

  /// From an integer, with a directed rounding.
  Value converted(ir::ConvertOp op) {
    mlir::Type to = getElementTypeOrSelf(op.getType());
    if (op.getRounding() == ir::Rounding::NearestEven || !to.isF32() ||
        !isa<IntegerType>(getElementTypeOrSelf(op.getOperand())))
      return {};
    OpBuilder builder(op);
    Value wide = integerAsF64(builder, op.getLoc(), op.getOperand(), op.getType());
    return narrowFloat(builder, op.getLoc(), wide, op.getType(), op.getRounding());
  }

  Value directed(Operation *op) {
    auto rounding = llvm::TypeSwitch<Operation *, ir::Rounding>(op)
                        .Case<ir::AddOp, ir::SubOp, ir::MulOp, ir::DivOp, ir::FmaOp, ir::SqrtOp>(
                            [](auto rounded) { return rounded.getRounding(); })
                        .Default([](Operation *) { return ir::Rounding::NearestEven; });
    if (rounding == ir::Rounding::NearestEven)
      return {};
    OpBuilder builder(op);
    Directed directed(builder, op, rounding);
    if (!getElementTypeOrSelf(op->getResult(0)).isF32()) {
      op->emitError("a directed rounding in f64 has no code generation on this target");
      signalPassFailure();
      return {};
    }
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(directed.widen(operand));
    return llvm::TypeSwitch<Operation *, Value>(op)
        .Case([&](ir::AddOp) { return directed.add(operands[0], operands[1]); })
        .Case([&](ir::SubOp) {
          Value negated = arith::NegFOp::create(builder, op->getLoc(), operands[1]);
          return directed.add(operands[0], negated);
        })
        .Case([&](ir::MulOp) { return directed.mul(operands[0], operands[1]); })
        .Case([&](ir::DivOp) { return directed.div(operands[0], operands[1]); })
        .Case([&](ir::FmaOp) { return directed.fma(operands[0], operands[1], operands[2]); })
        .Case([&](ir::SqrtOp) { return directed.sqrt(operands[0]); });
  }
};

} // namespace

std::unique_ptr<Pass> createLowerScalarsPass() { return std::make_unique<LowerScalars>(); }

} // namespace h3::cpu
