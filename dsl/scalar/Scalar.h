//===-- dsl/scalar/Scalar.h - Scalar types and exact arithmetic -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The arithmetic that defines every bit: IEEE 754 operations on f16, bf16, f32, f64 (and
// conversions of the 8-bit types), computed with integers only. Nothing here depends on the host's
// rounding mode, on its flush-to-zero state or on contraction by the C++ compiler.
//
// A value of any type is carried as `Bits`: its encoding in the low bits of a 64-bit integer, the
// bits above the type's width zero (i32 is not sign-extended).
//
// The functions here dispatch on the type. Where that costs too much, dsl/scalar/Arithmetic.h has
// the float operations as inline templates over the format. Calling an operation that the type does
// not have (a float operation on bool, arithmetic on an 8-bit type) is a fault of the caller and
// aborts.
//
// NaN. A float type has one NaN: sign 0 and all other bits 1 (0x7FFF, 0x7FFFFFFF, ..., 0x7F for
// both 8-bit types). Every function accepts any NaN encoding and returns that one.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_SCALAR_SCALAR_H
#define H3_DSL_SCALAR_SCALAR_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace h3 {

enum class ScalarType : uint8_t { Bool, I32, I64, F16, BF16, F32, F64, E4M3, E5M2 };

/// Rounding of one operation: to nearest even, or the directed modes `.rz`, `.rm`, `.rp`.
enum class Rounding : uint8_t { NearestEven, TowardZero, Down, Up };

using Bits = uint64_t;

/// The type's name in the language: "f16", "i64", "e4m3", "bool", ...
std::string_view name(ScalarType type);
std::optional<ScalarType> scalarTypeNamed(std::string_view name);

/// Width of the encoding in bits (bool: 1) and in memory (bool: 1 byte).
unsigned bitWidth(ScalarType type);
unsigned byteWidth(ScalarType type);

bool isFloat(ScalarType type);
bool isInteger(ScalarType type); ///< i32 or i64
/// f16, bf16, f32, f64: the types that have `+ - * /` and the other float operations.
bool hasFloatArithmetic(ScalarType type);

namespace scalar {

Bits canonicalNaN(ScalarType type);
bool isNaN(ScalarType type, Bits a);
bool isInfinity(ScalarType type, Bits a);
bool isZero(ScalarType type, Bits a); ///< +0 or -0, or the integer 0
bool signBit(ScalarType type, Bits a);
/// `a`, or the type's one NaN if `a` is any NaN. Integers are unchanged.
Bits canonical(ScalarType type, Bits a);
/// Not for e4m3, which has none.
Bits infinity(ScalarType type, bool negative = false);

// ---- Arithmetic. Floats: f16, bf16, f32, f64, one rounding each, subnormals kept.
// Integers (add, sub, mul, neg): i32 and i64, wrapping; `rounding` is ignored.

Bits add(ScalarType type, Bits a, Bits b, Rounding rounding = Rounding::NearestEven);
Bits sub(ScalarType type, Bits a, Bits b, Rounding rounding = Rounding::NearestEven);
Bits mul(ScalarType type, Bits a, Bits b, Rounding rounding = Rounding::NearestEven);
Bits div(ScalarType type, Bits a, Bits b, Rounding rounding = Rounding::NearestEven);
/// a * b + c, the exact result rounded once (also in f16 and bf16).
Bits fma(ScalarType type, Bits a, Bits b, Bits c, Rounding rounding = Rounding::NearestEven);
Bits sqrt(ScalarType type, Bits a, Rounding rounding = Rounding::NearestEven);

/// Sign operations: exact; a NaN stays the one NaN (so neg of NaN is NaN with sign 0).
Bits neg(ScalarType type, Bits a);
Bits abs(ScalarType type, Bits a);
Bits copysign(ScalarType type, Bits magnitude, Bits sign);

/// `max`/`min`: a NaN operand wins. `.num`: a NaN operand loses, two NaNs give NaN. -0 < +0 in all.
/// Also on i32 and i64 (signed).
Bits maximum(ScalarType type, Bits a, Bits b);
Bits minimum(ScalarType type, Bits a, Bits b);
Bits maximumNumber(ScalarType type, Bits a, Bits b);
Bits minimumNumber(ScalarType type, Bits a, Bits b);

/// IEEE comparison (-0 == +0; every ordered comparison with NaN is false, `notEqual` true), signed
/// for integers, false < true for bool.
enum class Ordering : uint8_t { Less, Equal, Greater, Unordered };
Ordering compare(ScalarType type, Bits a, Bits b);

/// Shifts of i32 and i64. `shr` keeps the sign. A count outside 0 .. width-1 gives 0; for `shr` the
/// sign (0 or -1).
Bits shl(ScalarType type, Bits a, Bits count);
Bits shr(ScalarType type, Bits a, Bits count);

/// `/` and `%` of sizes by a positive divisor: rounding down, remainder in 0 .. divisor-1.
int64_t floorDiv(int64_t a, int64_t divisor);
int64_t floorMod(int64_t a, int64_t divisor);

// ---- Conversions.

/// Value-preserving conversion with one rounding, to any float type from any float or integer type;
/// to i32 and i64 from integers only (i32 keeps the low 32 bits). Overflow follows IEEE and the
/// rounding mode: to nearest it is infinity, NaN in e4m3, which has no infinity (464, halfway
/// between 448 and the next step, still gives 448); towards zero it is the largest finite number.
/// An infinity stays one, NaN in e4m3. With `saturate` (8-bit types only) overflow and infinities
/// give the largest finite number, while NaN stays NaN.
/// \p rounding is NearestEven or TowardZero.
Bits convert(ScalarType from, ScalarType to, Bits a, Rounding rounding = Rounding::NearestEven,
             bool saturate = false);

/// The float with this bit pattern, any NaN made canonical. The 16-bit types take the low half.
Bits fromBitPattern(ScalarType type, Bits pattern);
/// The bit pattern of a float, NaN canonical: `i32.bits`, `i64.bits`.
Bits toBitPattern(ScalarType type, Bits a);

// ---- Literals.

struct Decimal {
  Bits bits;           ///< the value rounded once, to nearest even
  bool exact;          ///< nothing was rounded
  bool sameThroughF64; ///< rounding to f64 first and then to `type` gives the same bits
};
/// A decimal such as "1.0", "1e-5", "448.0" (digits with a `.` between digits, an exponent, or
/// both; no sign), of any length, rounded once and exactly. Overflow gives infinity (e4m3: NaN)
/// with exact == false. Empty if \p text is not of that form or \p type is not a float type.
std::optional<Decimal> parseDecimal(ScalarType type, std::string_view text);

/// For messages: the shortest decimal that reads back to the same bits ("-0", "inf", "nan" too), or
/// the integer.
/// (Declared in dsl/scalar/Format.h as std::string format(ScalarType, Bits).)

// ---- Named approximations: the bits of NVIDIA's special function unit.

enum class Approximation : uint8_t { RsqrtApprox, Ex2ApproxFtz, RcpApproxFtz, SqrtApprox };
/// f32 to f32. Sources and structure: dsl/scalar/SpecialFunctions.h.
Bits approximate(Approximation function, Bits a);

} // namespace scalar
} // namespace h3

#endif // H3_DSL_SCALAR_SCALAR_H
