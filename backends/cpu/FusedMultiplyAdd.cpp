//===-- backends/cpu/FusedMultiplyAdd.cpp - a * b + c in f64 by integers --===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// For targets without the instruction. Numbers become a 64-bit significand with its leading bit on
// top and an exponent; the product has 128 bits and is exact, the lower of the two terms is shifted
// to the place of the higher one with a sticky bit, and the sum is rounded once. Two bits on top
// are free for the carry, and below both terms there are zeros enough that a sticky bit stands for
// what was shifted out also in a difference: bits are lost only where at most two leading bits
// cancel. What is zero, infinite or no number is an addition of the product, which is exact then.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/Passes.h"
#include "codegen/transforms/Bits.h"

#include <mlir/Dialect/LLVMIR/LLVMDialect.h>

using namespace mlir;

namespace h3::cpu {
namespace {

class Fused {
public:
  Fused(OpBuilder &builder, Location loc)
      : builder(builder), loc(loc), narrow(builder, loc, builder.getF64Type(), 64),
        wide(builder, loc, builder.getF64Type(), 128) {}

  Value run(Value a, Value b, Value c);

private:
  /// significand * 2^exponent, the significand's bit 63 set; of a finite number that is not 0.
  struct Number {
    Value pattern, magnitude, significand, exponent;
  };
  static constexpr uint64_t infinity = uint64_t(0x7FF) << 52;

  Value c(uint64_t value) { return narrow.constant(value); }
  Value w(uint64_t value) { return wide.constant(value); }
  Value extend(Value value) { return arith::ExtUIOp::create(builder, loc, wide.type, value); }
  Value truncate(Value value) { return arith::TruncIOp::create(builder, loc, narrow.type, value); }
  Value leadingZeros(Value value) {
    Value isPoisonOfZero =
        LLVM::ConstantOp::create(builder, loc, builder.getI1Type(), builder.getBoolAttr(false));
    return LLVM::CallIntrinsicOp::create(builder, loc, value.getType(),
                                         builder.getStringAttr("llvm.ctlz"),
                                         ValueRange{value, isPoisonOfZero})
        .getResult(0);
  }
  Value least(Value a, Value b) { return arith::MinSIOp::create(builder, loc, a, b); }
  Value most(Value a, Value b) { return arith::MaxSIOp::create(builder, loc, a, b); }
  Number take(Value value);
  Value rounded(Value sum, Value exponent, Value sign);

  OpBuilder &builder;
  Location loc;
  Bits narrow, wide;
};

Fused::Number Fused::take(Value value) {
  Number number;
  number.pattern = arith::BitcastOp::create(builder, loc, narrow.type, value);
  number.magnitude = narrow.both(number.pattern, c(~(uint64_t(1) << 63)));
  Value field = narrow.shr(number.magnitude, c(52));
  Value fraction = narrow.both(number.magnitude, c((uint64_t(1) << 52) - 1));
  Value isNormal = narrow.above(field, c(0));
  Value whole = narrow.choose(isNormal, narrow.either(fraction, c(uint64_t(1) << 52)), fraction);
  // Of 0 the count would be the width.
  Value zeros = least(leadingZeros(whole), c(63));
  number.significand = narrow.shl(whole, zeros);
  number.exponent = narrow.sub(narrow.sub(most(field, c(1)), c(1075)), zeros);
  return number;
}

/// \p sum * 2^\p exponent, not 0, to nearest.
Value Fused::rounded(Value sum, Value exponent, Value sign) {
  Value zeros = leadingZeros(sum);
  Value top = wide.shl(sum, zeros);
  Value below = truncate(top);
  Value high = truncate(wide.shr(top, w(64)));
  high = narrow.either(high, narrow.choose(narrow.equal(below, c(0)), c(0), c(1)));
  // Of the leading bit.
  Value leading = narrow.add(narrow.sub(exponent, truncate(zeros)), c(127));
  leading = least(leading, c(1024));
  Value missing = most(narrow.sub(c(-uint64_t(1022)), leading), c(0));
  Value shift = narrow.add(least(missing, c(52)), c(11));
  Value kept = narrow.shr(high, shift);
  Value rest = narrow.shl(high, narrow.sub(c(64), shift));
  Value half = c(uint64_t(1) << 63), odd = narrow.both(kept, c(1));
  Value up = narrow.choose(narrow.equal(rest, half), odd,
                           narrow.choose(narrow.above(rest, half), c(1), c(0)));
  kept = narrow.add(kept, up);
  // Less than half of the least number; at half, and 52 missing bits, the bits above decide.
  Value vanishes = narrow.compare(arith::CmpIPredicate::sgt, missing, c(53));
  kept = narrow.choose(vanishes, c(0), kept);
  Value isLast = narrow.equal(missing, c(53));
  kept = narrow.choose(isLast, narrow.choose(narrow.above(high, half), c(1), c(0)), kept);
  Value isNormal = narrow.equal(missing, c(0));
  Value field = narrow.choose(isNormal, narrow.shl(narrow.add(leading, c(1022)), c(52)), c(0));
  Value magnitude = arith::MinUIOp::create(builder, loc, narrow.add(field, kept), c(infinity));
  return narrow.either(magnitude, sign);
}

Value Fused::run(Value first, Value second, Value third) {
  Number a = take(first), b = take(second), d = take(third);
  Value signBit = c(uint64_t(1) << 63);
  Value productSign = narrow.both(narrow.flip(a.pattern, b.pattern), signBit);
  Value thirdSign = narrow.both(d.pattern, signBit);

  // Both with two bits free on top.
  Value product = wide.shr(wide.mul(extend(a.significand), extend(b.significand)), w(2));
  Value productExponent = narrow.add(narrow.add(a.exponent, b.exponent), c(2));
  Value addend = wide.shl(extend(d.significand), w(62));
  Value addendExponent = narrow.sub(d.exponent, c(62));
  Value distance = narrow.sub(productExponent, addendExponent);
  Value isLower = narrow.below(distance, c(0)); // the product
  Value higher = wide.choose(isLower, addend, product);
  Value lower = wide.choose(isLower, product, addend);
  Value higherSign = narrow.choose(isLower, thirdSign, productSign);
  Value lowerSign = narrow.choose(isLower, productSign, thirdSign);
  Value count = narrow.choose(isLower, narrow.sub(c(0), distance), distance);
  count = extend(least(count, c(127)));
  Value shifted = wide.shr(lower, count);
  Value isExact = wide.equal(wide.shl(shifted, count), lower);
  shifted = wide.either(shifted, wide.choose(isExact, w(0), w(1)));
  Value isSum = narrow.equal(higherSign, lowerSign);
  Value sum = wide.choose(isSum, wide.add(higher, shifted), wide.sub(higher, shifted));
  Value isNegative = wide.below(sum, w(0));
  Value magnitude = wide.choose(isNegative, wide.sub(w(0), sum), sum);
  Value sign = narrow.choose(isNegative, lowerSign, higherSign);
  Value exponent = most(productExponent, addendExponent);
  Value isZero = wide.equal(magnitude, w(0));
  Value usual = rounded(wide.choose(isZero, w(1), magnitude), exponent, sign);
  usual = narrow.choose(isZero, c(0), usual);

  auto patternOf = [&](Value value) -> Value {
    return arith::BitcastOp::create(builder, loc, narrow.type, value);
  };
  auto isSpecial = [&](const Number &number) {
    return narrow.above(number.magnitude, c(infinity - 1));
  };
  auto isNone = [&](const Number &number) { return narrow.equal(number.magnitude, c(0)); };
  Value plain = arith::MulFOp::create(builder, loc, first, second);
  Value isAlone = isNone(d); // the product is rounded by itself, and its sign stays if it vanishes
  Value plainSum = arith::AddFOp::create(builder, loc, plain, third);
  Value zeroFactor = arith::OrIOp::create(builder, loc, isNone(a), isNone(b));
  Value specialFactor = arith::OrIOp::create(builder, loc, isSpecial(a), isSpecial(b));
  Value result = narrow.choose(isAlone, patternOf(plain), usual);
  result = narrow.choose(isSpecial(d), d.pattern, result);
  Value isPlain = arith::OrIOp::create(builder, loc, zeroFactor, specialFactor);
  result = narrow.choose(isPlain, patternOf(plainSum), result);
  return arith::BitcastOp::create(builder, loc, first.getType(), result);
}

} // namespace

Value emitFusedMultiplyAdd(OpBuilder &builder, Location loc, Value a, Value b, Value c) {
  return Fused(builder, loc).run(a, b, c);
}

} // namespace h3::cpu
