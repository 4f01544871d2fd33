//===-- backends/nvptx/ptx/Convert.cpp - Conversions ----------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/FloatBits.h"
#include "backends/nvptx/ptx/Machine.h"

#include <algorithm>

namespace h3::ptx {
namespace {

using scalar::BF16;
using scalar::E4M3;
using scalar::E5M2;
using scalar::F16;
using scalar::F32;
using scalar::F64;
using scalar::Unpacked;

/// Writes a value of op.type, extended to the register by the type's sign.
void writeExtended(Thread &t, const Op &op, uint64_t value) {
  unsigned bits = bitWidth(op.type);
  if (isSignedType(op.type))
    value = static_cast<uint64_t>(signExtend(value, bits));
  t.write(op.d, value & maskOf(isSignedType(op.type) ? op.registerBits : bits));
}

void integerToInteger(Thread &t, const Op &op) {
  unsigned from = bitWidth(op.type2), to = bitWidth(op.type);
  bool fromSigned = isSignedType(op.type2), toSigned = isSignedType(op.type);
  uint64_t value = t.r[op.a] & maskOf(from);
  if (fromSigned)
    value = static_cast<uint64_t>(signExtend(value, from));
  if (op.is(FlagSat)) {
    bool isNegative = fromSigned && static_cast<int64_t>(value) < 0;
    uint64_t most = toSigned ? maskOf(to - 1) : maskOf(to);
    auto least = static_cast<int64_t>(toSigned ? ~maskOf(to - 1) : 0);
    if (isNegative)
      value = static_cast<uint64_t>(std::max(static_cast<int64_t>(value), least));
    else
      value = std::min(value, most);
  }
  writeExtended(t, op, value & maskOf(to));
}

/// The magnitude of a number rounded to an integer; beyond 64 bits: the largest, which every
/// destination clamps.
uint64_t roundToInteger(const Unpacked &x, Rounding rounding) {
  if (x.exponent >= 64)
    return UINT64_MAX;
  uint64_t whole = x.exponent < 0 ? 0 : x.significand >> (63 - x.exponent);
  // What is cut, in units of 2^-64; below a half any small number stands for it.
  uint64_t rest = x.exponent < -1 ? 1 : x.exponent == 63 ? 0 : x.significand << (x.exponent + 1);
  constexpr uint64_t half = uint64_t(1) << 63;
  switch (rounding) {
  case Rounding::NearestEven:
    return whole + (rest > half || (rest == half && (whole & 1) != 0) ? 1 : 0);
  case Rounding::TowardZero:
    return whole;
  case Rounding::Down:
    return whole + (x.negative && rest != 0 ? 1 : 0);
  case Rounding::Up:
    return whole + (!x.negative && rest != 0 ? 1 : 0);
  }
  return whole;
}

/// NaN gives 0, but with f64 or a 64-bit integer on either side the highest bit alone.
template <class F> void floatToInteger(Thread &t, const Op &op) {
  Bits a = t.r[op.a] & maskOf(F::width);
  unsigned bits = bitWidth(op.type);
  uint64_t highest = uint64_t(1) << (bits - 1);
  if (op.is(FlagFtz))
    a = flush<F>(a);
  bool isNegative = scalar::isNegative<F>(a), isSigned = isSignedType(op.type);
  if (scalar::isNaN<F>(a)) {
    writeExtended(t, op, F::width == 64 || bits == 64 ? highest : 0);
    return;
  }
  uint64_t magnitude = 0;
  if (scalar::isInfinity<F>(a))
    magnitude = UINT64_MAX;
  else if (!scalar::isZero<F>(a))
    magnitude = roundToInteger(scalar::unpack<F>(a), op.rounding);
  uint64_t value = 0;
  if (!isSigned)
    value = isNegative ? 0 : std::min(magnitude, maskOf(bits));
  else
    value = isNegative ? 0 - std::min(magnitude, highest) : std::min(magnitude, highest - 1);
  writeExtended(t, op, value & maskOf(bits));
}

template <class F> void integerToFloat(Thread &t, const Op &op) {
  unsigned from = bitWidth(op.type2);
  uint64_t value = t.r[op.a] & maskOf(from);
  bool isNegative = isSignedType(op.type2) && signExtend(value, from) < 0;
  uint64_t magnitude = isNegative ? 0 - static_cast<uint64_t>(signExtend(value, from)) : value;
  Bits result = 0;
  if (magnitude != 0) {
    int zeros = std::countl_zero(magnitude);
    result = scalar::pack<F>({isNegative, 63 - zeros, magnitude << zeros}, op.rounding);
  }
  t.write(op.d, finish<F>(op, result));
}

/// .ftz speaks of f32 operands and results only.
template <class F> Bits flushed(const Op &op, Bits a) {
  return F::width == 32 && op.is(FlagFtz) ? flush<F>(a) : a;
}

template <class To> Bits finishConversion(const Op &op, Bits a) {
  a = flushed<To>(op, a);
  if (op.is(FlagSat))
    a = saturate<To>(a);
  return op.is(FlagRelu) ? relu<To>(a) : a;
}

template <class From, class To> Bits convertFloat(const Op &op, Bits a) {
  // To f16 the operand is not flushed.
  Bits operand = To::width == 16 && To::precision == F16::precision ? a : flushed<From>(op, a);
  if (scalar::isNaN<From>(a) && op.nan != NanRule::Canonical) {
    if (From::width == 32 && op.is(FlagFtz))
      a = From::nan;
    return finishConversion<To>(op, nanConverted<From, To>(op.nan, a));
  }
  return finishConversion<To>(
      op, scalar::convert<From, To>(operand, op.rounding, op.is(FlagSatfinite)));
}

template <class From, class To> void floatToFloat(Thread &t, const Op &op) {
  t.write(op.d, convertFloat<From, To>(op, t.r[op.a] & maskOf(From::width)));
}

/// cvt.rni and its kin within one type.
template <class F> void floatToIntegral(Thread &t, const Op &op) {
  Bits a = flushed<F>(op, t.r[op.a] & maskOf(F::width));
  if (!scalar::isFinite<F>(a) || scalar::isZero<F>(a)) {
    if (scalar::isNaN<F>(a))
      a = nanConverted<F, F>(op.nan, a);
    t.write(op.d, finishConversion<F>(op, a));
    return;
  }
  Unpacked x = scalar::unpack<F>(a);
  Bits result = a;
  if (x.exponent < static_cast<int>(F::fractionBits)) {
    auto magnitude = static_cast<int64_t>(roundToInteger(x, op.rounding));
    result = scalar::withSign<F>(scalar::convertInteger<F>(magnitude), x.negative);
  }
  t.write(op.d, finishConversion<F>(op, result));
}

/// Two floats into one register, the first operand in the high half.
template <class From, class To> void packPair(Thread &t, const Op &op) {
  Bits high = convertFloat<From, To>(op, t.r[op.a]), low = convertFloat<From, To>(op, t.r[op.b]);
  t.write(op.d, high << To::width | low);
}

/// The two halves of one register, each converted.
template <class From, class To> void convertPair(Thread &t, const Op &op) {
  Bits a = t.r[op.a];
  Bits high = convertFloat<From, To>(op, a >> From::width & maskOf(From::width));
  Bits low = convertFloat<From, To>(op, a & maskOf(From::width));
  t.write(op.d, high << To::width | low);
}

template <class Function> Handler withFormat(Modifier type, Function function) {
  switch (type) {
  case Modifier::F16:
    return function(F16());
  case Modifier::Bf16:
    return function(BF16());
  case Modifier::F32:
    return function(F32());
  default:
    return function(F64());
  }
}

Handler selectPacked(const Op &op) {
  bool fromPair = op.type2 == Modifier::F16x2;
  switch (op.type) {
  case Modifier::F16x2:
    return op.type2 == Modifier::F32      ? packPair<F32, F16>
           : op.type2 == Modifier::E4m3x2 ? convertPair<E4M3, F16>
                                          : convertPair<E5M2, F16>;
  case Modifier::Bf16x2:
    return packPair<F32, BF16>;
  case Modifier::E4m3x2:
    return fromPair ? convertPair<F16, E4M3> : packPair<F32, E4M3>;
  case Modifier::E5m2x2:
    return fromPair ? convertPair<F16, E5M2> : packPair<F32, E5M2>;
  default:
    return nullptr;
  }
}

} // namespace

bool selectConvert(const Instruction &instruction, Op &op, std::string &problem) {
  if (instruction.opcode != Opcode::Cvt)
    return false;
  if ((op.handler = selectPacked(op)))
    return true;
  bool toFloat = isFloatType(op.type), fromFloat = isFloatType(op.type2);
  if (!toFloat && !fromFloat) {
    op.handler = integerToInteger;
  } else if (!toFloat) {
    op.handler = withFormat(op.type2, [](auto f) { return floatToInteger<decltype(f)>; });
  } else if (!fromFloat) {
    op.handler = withFormat(op.type, [](auto f) { return integerToFloat<decltype(f)>; });
  } else {
    bool toIntegral = instruction.has(Modifier::Rni) || instruction.has(Modifier::Rzi) ||
                      instruction.has(Modifier::Rmi) || instruction.has(Modifier::Rpi);
    if (toIntegral && op.type != op.type2)
      problem = "rounding to an integer stands between two formats";
    if (toIntegral)
      op.handler = withFormat(op.type, [](auto f) { return floatToIntegral<decltype(f)>; });
    else
      op.handler = withFormat(op.type2, [&](auto from) {
        return withFormat(op.type,
                          [](auto to) { return floatToFloat<decltype(from), decltype(to)>; });
      });
  }
  return true;
}

} // namespace h3::ptx
