//===-- backends/cpu/Approximations.cpp - Named approximations in integers -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// dsl/scalar/SpecialFunctions.h says what the models are. Here each is straight-line code on all
// elements of a vector: special values are selects at the end, a subnormal operand is scaled by an
// exact multiplication first, and a segment's coefficients are one load of eight bytes: C0 in the
// lower half, C1 in the upper 18 bits of the upper half, C2 in its lower 14.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/Passes.h"
#include "codegen/transforms/Bits.h"
#include "dsl/scalar/SpecialFunctionTables.h"

#include <mlir/Dialect/LLVMIR/LLVMDialect.h>

using namespace mlir;

namespace h3::cpu {
namespace {

/// As in dsl/scalar/SpecialFunctions.cpp.
struct Polynomial {
  StringRef table;
  ArrayRef<scalar::Segment> segments;
  unsigned xBits;
  unsigned squareScale;
  unsigned shift0;
  unsigned shift2;
  uint64_t rounding;
  unsigned shift;
};

const Polynomial rsqrtPolynomial = {"h3_rsqrt", scalar::rsqrtSegments, 17, 0, 14, 2, 0x7FFF, 16};
const Polynomial ex2Polynomial = {"h3_ex2", scalar::ex2Segments, 17, 0, 13, 0, 0x77E2, 15};
const Polynomial rcpPolynomial = {"h3_rcp", scalar::rcpSegments, 16, 1, 13, 0, 0x47E7, 15};
const Polynomial sqrtPolynomial = {"h3_sqrt", scalar::sqrtSegments, 17, 0, 15, 1, 0x7FFF, 17};

template <size_t N> constexpr bool packs(const std::array<scalar::Segment, N> &segments) {
  for (const scalar::Segment &segment : segments)
    if (segment.c0 < 0 || segment.c1 < -(1 << 17) || segment.c1 >= 1 << 17 ||
        segment.c2 < -(1 << 13) || segment.c2 >= 1 << 13)
      return false;
  return true;
}
static_assert(packs(scalar::rsqrtSegments) && packs(scalar::ex2Segments) &&
              packs(scalar::rcpSegments) && packs(scalar::sqrtSegments));

class Approximator {
public:
  Approximator(OpBuilder &builder, Location loc, Value operand, Operation *module)
      : builder(builder), loc(loc), module(module), operand(operand),
        bits(builder, loc, operand.getType(), 32), wide(builder, loc, operand.getType(), 64),
        raw(arith::BitcastOp::create(builder, loc, bits.type, operand)),
        magnitude(bits.both(raw, c(0x7FFFFFFF))), isNaN(bits.above(magnitude, c(infinity))) {}

  Value run(ir::Approximation function);

private:
  static constexpr uint32_t infinity = 0x7F800000, nan = 0x7FFFFFFF, one = 0x800000;

  Value c(uint64_t value) const { return bits.constant(value); }
  Value asFloat(Value pattern) {
    return arith::BitcastOp::create(builder, loc, operand.getType(), pattern);
  }
  Value floatConstant(float value) {
    return asFloat(c(llvm::APFloat(value).bitcastToAPInt().getZExtValue()));
  }
  Value table(const Polynomial &polynomial);
  Value coefficients(const Polynomial &polynomial, Value segment);
  Value square(Value x);
  Value evaluate(const Polynomial &polynomial, Value f);
  /// exponent * 2^23 + y - 2^23.
  Value assemble(Value exponent, Value y) {
    return bits.sub(bits.add(bits.shl(exponent, c(23)), y), c(one));
  }
  Value root(const Polynomial &polynomial, bool isReciprocal);
  Value reciprocal();
  Value exponential();

  OpBuilder &builder;
  Location loc;
  Operation *module;
  Value operand;
  Bits bits, wide;
  Value raw, magnitude, isNaN;
};

/// The address of the coefficients.
Value Approximator::table(const Polynomial &polynomial) {
  Block &globals = module->getRegion(0).front();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto type = LLVM::LLVMArrayType::get(builder.getI64Type(), polynomial.segments.size());
  bool isKnown = llvm::any_of(globals.getOps<LLVM::GlobalOp>(), [&](LLVM::GlobalOp global) {
    return global.getSymName() == polynomial.table;
  });
  if (!isKnown) {
    SmallVector<int64_t> packed;
    for (const scalar::Segment &segment : polynomial.segments) {
      uint32_t high = (static_cast<uint32_t>(segment.c1) << 14) |
                      (static_cast<uint32_t>(static_cast<int32_t>(segment.c2)) & 0x3FFF);
      packed.push_back(
          static_cast<int64_t>(uint64_t(high) << 32 | static_cast<uint32_t>(segment.c0)));
    }
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&globals);
    auto shape = RankedTensorType::get(packed.size(), builder.getI64Type());
    LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                           polynomial.table, DenseElementsAttr::get(shape, ArrayRef(packed)),
                           /*alignment=*/64);
  }
  return LLVM::AddressOfOp::create(builder, loc, pointer, polynomial.table);
}

/// The eight bytes of each element's segment.
Value Approximator::coefficients(const Polynomial &polynomial, Value segment) {
  Value base = table(polynomial);
  auto i64 = builder.getI64Type();
  auto load = [&](Value index) -> Value {
    Value address = LLVM::GEPOp::create(builder, loc, base.getType(), i64, base, ValueRange{index});
    return LLVM::LoadOp::create(builder, loc, i64, address, 8, /*isVolatile=*/false,
                                /*isNonTemporal=*/false, /*isInvariant=*/true);
  };
  auto shape = dyn_cast<VectorType>(operand.getType());
  if (!shape)
    return load(segment);
  Value all = LLVM::PoisonOp::create(builder, loc, wide.type);
  for (int64_t lane = 0; lane < shape.getNumElements(); ++lane) {
    Value position = LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(lane));
    Value index = LLVM::ExtractElementOp::create(builder, loc, segment, position);
    all = LLVM::InsertElementOp::create(builder, loc, all, load(index), position);
  }
  return all;
}

/// x * x without the partial products of weight below 2^18, in units of 2^19.
Value Approximator::square(Value x) {
  Value high = bits.shr(x, c(9));
  Value sum = bits.shr(bits.mul(high, high), c(1));
  for (unsigned i = 2; i < 9; ++i) {
    Value isSet = bits.sar(bits.shl(x, c(31 - i)), c(31));
    sum = bits.add(sum, bits.both(isSet, bits.shr(high, c(9 - i))));
  }
  return sum;
}

Value Approximator::evaluate(const Polynomial &p, Value f) {
  Value packed = coefficients(p, bits.shr(f, c(p.xBits)));
  Value x = bits.both(f, c((uint64_t(1) << p.xBits) - 1));
  Value c0 = arith::TruncIOp::create(builder, loc, bits.type, packed);
  Value high =
      arith::TruncIOp::create(builder, loc, bits.type, wide.shr(packed, wide.constant(32)));
  Value c1 = bits.sar(high, c(14)), c2 = bits.sar(bits.shl(high, c(18)), c(18));
  Value squared = square(p.squareScale ? bits.shl(x, c(p.squareScale)) : x);
  // Below 2^31 in magnitude; the other terms are not.
  Value low = bits.add(bits.shl(bits.mul(c2, squared), c(p.shift2)), c(p.rounding));
  auto extended = [&](Value value) {
    return arith::ExtSIOp::create(builder, loc, wide.type, value);
  };
  Value y = wide.add(wide.shl(extended(c0), wide.constant(p.shift0)),
                     wide.mul(extended(c1), extended(x)));
  y = wide.shr(wide.add(y, extended(low)), wide.constant(p.shift));
  return arith::TruncIOp::create(builder, loc, bits.type, y);
}

/// rsqrt.approx, sqrt.approx: m * 2^(2 * half) with m in [1, 4).
Value Approximator::root(const Polynomial &polynomial, bool isReciprocal) {
  Value isSmall = bits.below(magnitude, c(one));
  Value scaled = arith::MulFOp::create(builder, loc, operand, floatConstant(0x1p24f));
  Value normal =
      bits.choose(isSmall, arith::BitcastOp::create(builder, loc, bits.type, scaled), raw);
  Value exponent = bits.sub(bits.shr(normal, c(23)), c(127));
  Value half = bits.sar(exponent, c(1));
  half = bits.choose(isSmall, bits.sub(half, c(12)), half);
  Value f = bits.either(bits.shl(bits.both(exponent, c(1)), c(23)), bits.both(normal, c(one - 1)));
  // What f is of a negative operand is not used, and inside the table.
  Value y = evaluate(polynomial, f), result;
  Value isZero = bits.equal(magnitude, c(0));
  Value isNegative = bits.below(raw, c(0));
  if (isReciprocal) {
    // An even power of two is exact, where the polynomial gives one unit less.
    Value isPower = bits.equal(f, c(0));
    Value top = bits.choose(isPower, c(127), c(126));
    result = assemble(bits.sub(top, half), bits.choose(isPower, c(one), y));
    result = bits.choose(bits.equal(raw, c(infinity)), c(0), result);
    result = bits.choose(isNegative, c(nan), result);
    result = bits.choose(isZero, bits.either(raw, c(infinity)), result);
  } else {
    result = assemble(bits.add(half, c(127)), y);
    result = bits.choose(bits.equal(raw, c(infinity)), raw, result);
    result = bits.choose(isNegative, c(nan), result);
    result = bits.choose(isZero, raw, result);
  }
  return result;
}

/// rcp.approx.ftz.
Value Approximator::reciprocal() {
  Value sign = bits.both(raw, c(0x80000000));
  Value field = bits.shr(magnitude, c(23));
  Value y = evaluate(rcpPolynomial, bits.both(raw, c(one - 1)));
  Value result = assemble(bits.sub(c(253), field), y);
  result = bits.choose(bits.below(result, c(one)), c(0), result);
  result = bits.choose(bits.equal(field, c(0)), c(infinity), result);
  result = bits.choose(bits.equal(magnitude, c(infinity)), c(0), result);
  return bits.either(result, sign);
}

/// ex2.approx.ftz.
Value Approximator::exponential() {
  Value isNegative = bits.below(raw, c(0));
  constexpr uint32_t limit = 134u << 23; // 128
  Value isLarge = bits.compare(arith::CmpIPredicate::uge, magnitude, c(limit));
  // |a| in units of 2^-23, cut.
  Value inside = asFloat(bits.choose(isLarge, c(0), magnitude));
  Value units = arith::MulFOp::create(builder, loc, inside, floatConstant(0x1p23f));
  Value fixed = arith::FPToSIOp::create(builder, loc, bits.type, units);
  Value whole = bits.shr(fixed, c(23)), f = bits.both(fixed, c(one - 1));
  // Below 0: the ones' complement, but for whole numbers.
  Value isWhole = bits.equal(f, c(0));
  Value below = bits.flip(whole, c(~uint64_t(0)));
  below = bits.choose(isWhole, bits.add(below, c(1)), below);
  whole = bits.choose(isNegative, below, whole);
  Value complement = bits.choose(isWhole, f, bits.flip(f, c(one - 1)));
  f = bits.choose(isNegative, complement, f);
  Value exponent = bits.add(whole, c(127));
  Value result = assemble(exponent, evaluate(ex2Polynomial, f));
  result = bits.choose(bits.below(exponent, c(1)), c(0), result);
  return bits.choose(isLarge, bits.choose(isNegative, c(0), c(infinity)), result);
}

Value Approximator::run(ir::Approximation function) {
  Value result;
  switch (function) {
  case ir::Approximation::RsqrtApprox:
    result = root(rsqrtPolynomial, /*isReciprocal=*/true);
    break;
  case ir::Approximation::SqrtApprox:
    result = root(sqrtPolynomial, /*isReciprocal=*/false);
    break;
  case ir::Approximation::RcpApproxFtz:
    result = reciprocal();
    break;
  case ir::Approximation::Ex2ApproxFtz:
    result = exponential();
    break;
  }
  return asFloat(bits.choose(isNaN, c(nan), result));
}

} // namespace

Value emitApproximation(OpBuilder &builder, Location loc, ir::Approximation function, Value operand,
                        Operation *module) {
  return Approximator(builder, loc, operand, module).run(function);
}

} // namespace h3::cpu
