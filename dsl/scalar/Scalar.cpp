//===-- dsl/scalar/Scalar.cpp - Dispatch by scalar type -------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/scalar/Scalar.h"

#include "dsl/scalar/Arithmetic.h"

#include <array>
#include <cstdlib>

namespace h3 {
namespace {

struct TypeRow {
  std::string_view name;
  uint8_t bits;
  uint8_t bytes;
};

// In the order of ScalarType.
constexpr std::array<TypeRow, 9> typeRows = {{{"bool", 1, 1},
                                              {"i32", 32, 4},
                                              {"i64", 64, 8},
                                              {"f16", 16, 2},
                                              {"bf16", 16, 2},
                                              {"f32", 32, 4},
                                              {"f64", 64, 8},
                                              {"e4m3", 8, 1},
                                              {"e5m2", 8, 1}}};

const TypeRow &row(ScalarType type) { return typeRows[static_cast<size_t>(type)]; }

} // namespace

std::string_view name(ScalarType type) { return row(type).name; }

std::optional<ScalarType> scalarTypeNamed(std::string_view name) {
  for (size_t i = 0; i < typeRows.size(); ++i)
    if (typeRows[i].name == name)
      return static_cast<ScalarType>(i);
  return std::nullopt;
}

unsigned bitWidth(ScalarType type) { return row(type).bits; }
unsigned byteWidth(ScalarType type) { return row(type).bytes; }

bool isFloat(ScalarType type) { return type >= ScalarType::F16; }
bool isInteger(ScalarType type) { return type == ScalarType::I32 || type == ScalarType::I64; }
bool hasFloatArithmetic(ScalarType type) {
  return type >= ScalarType::F16 && type <= ScalarType::F64;
}

namespace scalar {
namespace {

/// The type has no such operation: a fault of the caller, which must have checked its program.
[[noreturn]] void noSuchOperation() { std::abort(); }

template <class Function> Bits withArithmeticFormat(ScalarType type, Function function) {
  switch (type) {
  case ScalarType::F16:
    return function(F16());
  case ScalarType::BF16:
    return function(BF16());
  case ScalarType::F32:
    return function(F32());
  case ScalarType::F64:
    return function(F64());
  default:
    noSuchOperation();
  }
}

template <class Function> auto withFloatFormat(ScalarType type, Function function) {
  switch (type) {
  case ScalarType::F16:
    return function(F16());
  case ScalarType::BF16:
    return function(BF16());
  case ScalarType::F32:
    return function(F32());
  case ScalarType::F64:
    return function(F64());
  case ScalarType::E4M3:
    return function(E4M3());
  case ScalarType::E5M2:
    return function(E5M2());
  default:
    noSuchOperation();
  }
}

Bits wrap(ScalarType type, uint64_t a) { return type == ScalarType::I32 ? a & 0xFFFFFFFF : a; }

int64_t signedValue(ScalarType type, Bits a) {
  return type == ScalarType::I32 ? static_cast<int32_t>(a) : static_cast<int64_t>(a);
}

} // namespace

Bits canonicalNaN(ScalarType type) {
  return withFloatFormat(type, [](auto f) { return decltype(f)::nan; });
}

bool isNaN(ScalarType type, Bits a) {
  return isFloat(type) && withFloatFormat(type, [=](auto f) { return isNaN<decltype(f)>(a); });
}

bool isInfinity(ScalarType type, Bits a) {
  return isFloat(type) && withFloatFormat(type, [=](auto f) { return isInfinity<decltype(f)>(a); });
}

bool isZero(ScalarType type, Bits a) {
  if (!isFloat(type))
    return a == 0;
  return withFloatFormat(type, [=](auto f) { return isZero<decltype(f)>(a); });
}

bool signBit(ScalarType type, Bits a) { return ((a >> (bitWidth(type) - 1)) & 1) != 0; }

Bits canonical(ScalarType type, Bits a) {
  if (!isFloat(type))
    return a;
  return withFloatFormat(type, [=](auto f) { return canonical<decltype(f)>(a); });
}

Bits infinity(ScalarType type, bool negative) {
  return withFloatFormat(type, [=](auto f) -> Bits {
    using F = decltype(f);
    if constexpr (F::hasInfinity)
      return withSign<F>(F::overflow, negative);
    else
      noSuchOperation();
  });
}

Bits add(ScalarType type, Bits a, Bits b, Rounding rounding) {
  if (isInteger(type))
    return wrap(type, a + b);
  return withArithmeticFormat(type, [=](auto f) { return add<decltype(f)>(a, b, rounding); });
}

Bits sub(ScalarType type, Bits a, Bits b, Rounding rounding) {
  if (isInteger(type))
    return wrap(type, a - b);
  return withArithmeticFormat(type, [=](auto f) { return sub<decltype(f)>(a, b, rounding); });
}

Bits mul(ScalarType type, Bits a, Bits b, Rounding rounding) {
  if (isInteger(type))
    return wrap(type, a * b);
  return withArithmeticFormat(type, [=](auto f) { return mul<decltype(f)>(a, b, rounding); });
}

Bits div(ScalarType type, Bits a, Bits b, Rounding rounding) {
  return withArithmeticFormat(type, [=](auto f) { return div<decltype(f)>(a, b, rounding); });
}

Bits fma(ScalarType type, Bits a, Bits b, Bits c, Rounding rounding) {
  return withArithmeticFormat(type, [=](auto f) { return fma<decltype(f)>(a, b, c, rounding); });
}

Bits sqrt(ScalarType type, Bits a, Rounding rounding) {
  return withArithmeticFormat(type, [=](auto f) { return sqrt<decltype(f)>(a, rounding); });
}

Bits neg(ScalarType type, Bits a) {
  if (isInteger(type))
    return wrap(type, -a);
  return withFloatFormat(type, [=](auto f) { return neg<decltype(f)>(a); });
}

Bits abs(ScalarType type, Bits a) {
  return withFloatFormat(type, [=](auto f) { return abs<decltype(f)>(a); });
}

Bits copysign(ScalarType type, Bits magnitude, Bits sign) {
  return withFloatFormat(type, [=](auto f) { return copysign<decltype(f)>(magnitude, sign); });
}

Bits maximum(ScalarType type, Bits a, Bits b) {
  if (isInteger(type))
    return signedValue(type, a) < signedValue(type, b) ? b : a;
  return withFloatFormat(type, [=](auto f) { return maximum<decltype(f)>(a, b); });
}

Bits minimum(ScalarType type, Bits a, Bits b) {
  if (isInteger(type))
    return signedValue(type, b) < signedValue(type, a) ? b : a;
  return withFloatFormat(type, [=](auto f) { return minimum<decltype(f)>(a, b); });
}

Bits maximumNumber(ScalarType type, Bits a, Bits b) {
  if (isInteger(type))
    return maximum(type, a, b);
  return withFloatFormat(type, [=](auto f) { return maximumNumber<decltype(f)>(a, b); });
}

Bits minimumNumber(ScalarType type, Bits a, Bits b) {
  if (isInteger(type))
    return minimum(type, a, b);
  return withFloatFormat(type, [=](auto f) { return minimumNumber<decltype(f)>(a, b); });
}

Ordering compare(ScalarType type, Bits a, Bits b) {
  if (isFloat(type))
    return withFloatFormat(type, [=](auto f) { return compare<decltype(f)>(a, b); });
  int64_t x = signedValue(type, a), y = signedValue(type, b);
  return x < y ? Ordering::Less : x == y ? Ordering::Equal : Ordering::Greater;
}

Bits shl(ScalarType type, Bits a, Bits count) {
  int64_t n = signedValue(type, count);
  return n < 0 || n >= static_cast<int64_t>(bitWidth(type)) ? 0 : wrap(type, a << n);
}

Bits shr(ScalarType type, Bits a, Bits count) {
  int64_t n = signedValue(type, count);
  int64_t last = static_cast<int64_t>(bitWidth(type)) - 1;
  if (n < 0 || n > last)
    n = last;
  return wrap(type, static_cast<uint64_t>(signedValue(type, a) >> n));
}

int64_t floorDiv(int64_t a, int64_t divisor) { return a / divisor - (a % divisor < 0 ? 1 : 0); }

int64_t floorMod(int64_t a, int64_t divisor) {
  int64_t remainder = a % divisor;
  return remainder < 0 ? remainder + divisor : remainder;
}

Bits convert(ScalarType from, ScalarType to, Bits a, Rounding rounding, bool saturate) {
  if (isInteger(from)) {
    int64_t value = signedValue(from, a);
    if (isInteger(to))
      return wrap(to, static_cast<uint64_t>(value));
    return withFloatFormat(
        to, [=](auto t) { return convertInteger<decltype(t)>(value, rounding, saturate); });
  }
  return withFloatFormat(from, [=](auto f) {
    return withFloatFormat(
        to, [=](auto t) { return convert<decltype(f), decltype(t)>(a, rounding, saturate); });
  });
}

Bits fromBitPattern(ScalarType type, Bits pattern) {
  return withFloatFormat(type, [=](auto f) {
    using F = decltype(f);
    return canonical<F>(pattern & (F::signMask | F::magnitudeMask));
  });
}

Bits toBitPattern(ScalarType type, Bits a) { return canonical(type, a); }

} // namespace scalar
} // namespace h3
