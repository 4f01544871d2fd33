//===-- codegen/transforms/Bits.h - Integer code on bits -------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_TRANSFORMS_BITS_H
#define H3_CODEGEN_TRANSFORMS_BITS_H

#include "codegen/dialect/H3.h"
#include "codegen/transforms/Shapes.h"

namespace h3 {

/// Integer arithmetic on values of one type, scalars or vectors.
struct Bits {
  using Value = mlir::Value;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type type; ///< of the integers

  Bits(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type shape, unsigned width)
      : builder(builder), loc(loc), type(like(shape, builder.getIntegerType(width))) {}

  unsigned width() const { return mlir::getElementTypeOrSelf(type).getIntOrFloatBitWidth(); }
  Value constant(uint64_t value) const {
    return constantOf(builder, loc, type, llvm::APInt(width(), value, false, true));
  }
  Value add(Value a, Value b) const { return mlir::arith::AddIOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) const { return mlir::arith::SubIOp::create(builder, loc, a, b); }
  Value both(Value a, Value b) const { return mlir::arith::AndIOp::create(builder, loc, a, b); }
  Value either(Value a, Value b) const { return mlir::arith::OrIOp::create(builder, loc, a, b); }
  Value shl(Value a, Value b) const { return mlir::arith::ShLIOp::create(builder, loc, a, b); }
  Value shr(Value a, Value b) const { return mlir::arith::ShRUIOp::create(builder, loc, a, b); }
  Value above(Value a, Value b) const {
    return mlir::arith::CmpIOp::create(builder, loc, mlir::arith::CmpIPredicate::ugt, a, b);
  }
  Value mul(Value a, Value b) const { return mlir::arith::MulIOp::create(builder, loc, a, b); }
  /// Keeping the sign.
  Value sar(Value a, Value b) const { return mlir::arith::ShRSIOp::create(builder, loc, a, b); }
  Value flip(Value a, Value b) const { return mlir::arith::XOrIOp::create(builder, loc, a, b); }
  Value compare(mlir::arith::CmpIPredicate how, Value a, Value b) const {
    return mlir::arith::CmpIOp::create(builder, loc, how, a, b);
  }
  Value equal(Value a, Value b) const { return compare(mlir::arith::CmpIPredicate::eq, a, b); }
  /// Signed.
  Value below(Value a, Value b) const { return compare(mlir::arith::CmpIPredicate::slt, a, b); }
  Value choose(Value condition, Value a, Value b) const {
    return mlir::arith::SelectOp::create(builder, loc, condition, a, b);
  }
};

/// \p value, an f32 or f64, as the narrower float type \p result, or a vector of it: integer code
/// with one rounding. Overflow becomes the largest number if it \p saturate-s.
mlir::Value narrowFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                        mlir::Type result, ir::Rounding rounding, bool saturate = false);

/// An integer as an f64 that rounds to the same number of the float type \p result, which has at
/// most 32 bits: exact for i32; an i64 beyond 2^53 loses bits only where \p result cannot tell.
mlir::Value integerAsF64(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                         mlir::Type result);

} // namespace h3

#endif // H3_CODEGEN_TRANSFORMS_BITS_H
