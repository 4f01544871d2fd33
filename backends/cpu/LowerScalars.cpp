//===-- backends/cpu/LowerScalars.cpp - Approximations, directed roundings -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A directed rounding is the rounding to nearest, and one step back where that went the wrong way.
// What shows which way it went is exact: sums and products of f32 in f64, rounded to odd; of a
// quotient q = a / b the product q * b against a; of a root r the square r * r against the operand.
// f16 and bf16 are rounded from f64 directly; in f64 the instruction runs in its own environment.
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

Value forEachElement(OpBuilder &builder, Location loc, mlir::Type result, ValueRange operands,
                     llvm::function_ref<Value(ValueRange)> emit) {
  auto shape = dyn_cast<VectorType>(result);
  if (!shape)
    return emit(operands);
  Value all = LLVM::PoisonOp::create(builder, loc, shape);
  for (int64_t lane = 0; lane < shape.getNumElements(); ++lane) {
    Value position = LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(lane));
    SmallVector<Value> single;
    for (Value operand : operands)
      single.push_back(LLVM::ExtractElementOp::create(builder, loc, operand, position));
    all = LLVM::InsertElementOp::create(builder, loc, all, emit(single), position);
  }
  return all;
}

namespace {

/// One operation in f16, bf16 or f32 with a directed rounding.
class Directed {
public:
  Directed(OpBuilder &builder, Operation *op, ir::Rounding rounding)
      : builder(builder), loc(op->getLoc()), rounding(rounding), type(op->getResult(0).getType()),
        wide(like(type, builder.getF64Type())), single(getElementTypeOrSelf(type).isF32()) {}

  Value add(Value a, Value b) { return fromOdd(sum(a, {}, b)); }
  Value mul(Value a, Value b) { return fromOdd(arith::MulFOp::create(builder, loc, a, b)); }
  Value fma(Value a, Value b, Value c) { return fromOdd(sum(a, b, c)); }
  Value div(Value a, Value b);
  Value sqrt(Value a);
  Value widen(Value value) { return arith::ExtFOp::create(builder, loc, wide, value); }

private:
  /// A result to nearest, and whether it lies above or below the exact one.
  struct Nearest {
    Value value, isAbove, isBelow;
  };
  Value fromOdd(Value exact);
  Value sum(Value a, Value b, Value c);
  Value step(const Nearest &nearest);
  Value compare(arith::CmpFPredicate how, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, how, a, b);
  }

  OpBuilder &builder;
  Location loc;
  ir::Rounding rounding;
  mlir::Type type, wide;
  bool single;
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

Value Directed::fromOdd(Value exact) {
  if (!single)
    return narrowFloat(builder, loc, exact, type, rounding);
  Value nearest = arith::TruncFOp::create(builder, loc, type, exact);
  Value back = widen(nearest);
  return step({nearest, compare(arith::CmpFPredicate::OGT, back, exact),
               compare(arith::CmpFPredicate::OLT, back, exact)});
}

/// A quotient or root of numbers with at most 11 bits of significand, that is none of those with
/// 12, is far enough from them that f64 rounds it to none.
Value Directed::div(Value a, Value b) {
  if (!single)
    return fromOdd(arith::DivFOp::create(builder, loc, a, b));
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
  auto rootOf = [&](Value value) {
    return LLVM::CallIntrinsicOp::create(builder, loc, value.getType(),
                                         builder.getStringAttr("llvm.sqrt"), value)
        .getResult(0);
  };
  if (!single)
    return fromOdd(rootOf(a));
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
  explicit LowerScalars(const Target &target) : target(target) {}
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

  /// From an integer, toward zero.
  Value converted(ir::ConvertOp op) {
    mlir::Type to = getElementTypeOrSelf(op.getType());
    if (op.getRounding() == ir::Rounding::NearestEven || !(to.isF32() || to.isF64()) ||
        !isa<IntegerType>(getElementTypeOrSelf(op.getOperand())))
      return {};
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Value value = op.getOperand();
    if (to.isF32())
      return narrowFloat(builder, loc, integerAsF64(builder, loc, value, op.getType()),
                         op.getType(), op.getRounding());
    if (getElementTypeOrSelf(value).getIntOrFloatBitWidth() == 64) {
      // Bits below the 53 leading ones become 0; what is left is exact.
      Bits bits(builder, loc, op.getType(), 64);
      Value zero = bits.constant(0);
      Value isNegative = bits.below(value, zero);
      Value magnitude = bits.choose(isNegative, bits.sub(zero, value), value);
      Value keepsZero =
          LLVM::ConstantOp::create(builder, loc, builder.getI1Type(), builder.getBoolAttr(false));
      Value zeros =
          LLVM::CallIntrinsicOp::create(builder, loc, bits.type, builder.getStringAttr("llvm.ctlz"),
                                        ValueRange{magnitude, keepsZero})
              .getResult(0);
      Value dropped =
          arith::MaxSIOp::create(builder, loc, bits.sub(bits.constant(11), zeros), zero);
      magnitude = bits.shl(bits.shr(magnitude, dropped), dropped);
      value = bits.choose(isNegative, bits.sub(zero, magnitude), magnitude);
    }
    return arith::SIToFPOp::create(builder, loc, op.getType(), value);
  }

  /// In f64 nothing wider is exact: the instruction itself, in an environment of its own.
  Value directedF64(OpBuilder &builder, Operation *op, ir::Rounding rounding) {
    bool isArm = target.has(Capability::Aarch64);
    if (isa<ir::FmaOp>(op) && !target.has(Capability::FusedMultiplyAdd)) {
      op->emitError("an fma in f64 with a directed rounding has no code generation for " +
                    std::string(target.name));
      signalPassFailure();
      return {};
    }
    using Code = std::pair<StringRef, StringRef>; // of x86 and AArch64
    Code names =
        llvm::TypeSwitch<Operation *, Code>(op)
            .Case([](ir::AddOp) { return Code("addsd $2, $0", "fadd ${0:d}, ${1:d}, ${2:d}"); })
            .Case([](ir::SubOp) { return Code("subsd $2, $0", "fsub ${0:d}, ${1:d}, ${2:d}"); })
            .Case([](ir::MulOp) { return Code("mulsd $2, $0", "fmul ${0:d}, ${1:d}, ${2:d}"); })
            .Case([](ir::DivOp) { return Code("divsd $2, $0", "fdiv ${0:d}, ${1:d}, ${2:d}"); })
            .Case([](ir::SqrtOp) { return Code("sqrtsd $0, $0", "fsqrt ${0:d}, ${1:d}"); })
            .Case([](ir::FmaOp) {
              return Code("vfmadd213sd $3, $2, $0", "fmadd ${0:d}, ${1:d}, ${2:d}, ${3:d}");
            });
    unsigned count = op->getNumOperands();
    std::string code, constraints = isArm ? "=w" : "=x";
    for (unsigned k = 0; k < count; ++k)
      constraints += isArm ? ",w" : k ? ",x" : ",0";
    SmallVector<Value> environments;
    std::string first = "$" + std::to_string(count + 1), second = "$" + std::to_string(count + 2);
    if (isArm) {
      constraints += ",r";
      code = "msr fpcr, " + first + "\n\t" + names.second.str() + "\n\tmsr fpcr, xzr";
      uint64_t mode = rounding == ir::Rounding::Up ? 1 : rounding == ir::Rounding::Down ? 2 : 3;
      environments.push_back(LLVM::ConstantOp::create(builder, op->getLoc(), builder.getI64Type(),
                                                      builder.getI64IntegerAttr(mode << 22)));
    } else {
      constraints += ",r,r,~{memory},~{dirflag},~{fpsr},~{flags}";
      code = "ldmxcsr (" + first + ")\n\t" + names.first.str() + "\n\tldmxcsr (" + second + ")";
      int32_t mode = rounding == ir::Rounding::Down ? 1 : rounding == ir::Rounding::Up ? 2 : 3;
      for (int32_t word : {0x1F80 | mode << 13, 0x1F80})
        environments.push_back(environment(builder, op->getLoc(), word));
    }
    return forEachElement(
        builder, op->getLoc(), op->getResult(0).getType(), op->getOperands(),
        [&](ValueRange operands) {
          SmallVector<Value> all(operands);
          llvm::append_range(all, environments);
          return LLVM::InlineAsmOp::create(
                     builder, op->getLoc(), builder.getF64Type(), all, code, constraints,
                     /*has_side_effects=*/true, /*is_align_stack=*/false,
                     LLVM::tailcallkind::TailCallKind::None,
                     LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
                     ArrayAttr())
              .getResult(0);
        });
  }

  /// The address of a constant for the MXCSR register.
  Value environment(OpBuilder &builder, Location loc, int32_t word) {
    std::string name = "h3_mxcsr_" + std::to_string(word);
    Block &globals = getOperation()->getRegion(0).front();
    bool isKnown = llvm::any_of(globals.getOps<LLVM::GlobalOp>(),
                                [&](LLVM::GlobalOp global) { return global.getSymName() == name; });
    if (!isKnown) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&globals);
      LLVM::GlobalOp::create(builder, loc, builder.getI32Type(), /*isConstant=*/true,
                             LLVM::Linkage::Internal, name, builder.getI32IntegerAttr(word),
                             /*alignment=*/4);
    }
    return LLVM::AddressOfOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
                                     name);
  }

  Value directed(Operation *op) {
    auto rounding = llvm::TypeSwitch<Operation *, ir::Rounding>(op)
                        .Case<ir::AddOp, ir::SubOp, ir::MulOp, ir::DivOp, ir::FmaOp, ir::SqrtOp>(
                            [](auto rounded) { return rounded.getRounding(); })
                        .Default([](Operation *) { return ir::Rounding::NearestEven; });
    if (rounding == ir::Rounding::NearestEven)
      return {};
    OpBuilder builder(op);
    if (getElementTypeOrSelf(op->getResult(0)).isF64())
      return directedF64(builder, op, rounding);
    Directed directed(builder, op, rounding);
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

  const Target &target;
};

} // namespace

std::unique_ptr<Pass> createLowerScalarsPass(const Target &target) {
  return std::make_unique<LowerScalars>(target);
}

} // namespace h3::cpu
