//===-- backends/nvptx/ptx/Compare.cpp - Comparisons ----------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/FloatBits.h"
#include "backends/nvptx/ptx/Machine.h"

namespace h3::ptx {
namespace {

using scalar::BF16;
using scalar::F16;
using scalar::F32;
using scalar::F64;
using scalar::Ordering;

constexpr uint8_t bit(Ordering ordering) {
  return static_cast<uint8_t>(1u << static_cast<unsigned>(ordering));
}
constexpr uint8_t less = bit(Ordering::Less), equal = bit(Ordering::Equal),
                  greater = bit(Ordering::Greater), unordered = bit(Ordering::Unordered);

/// Op::kind: the orderings for which a comparison holds; Op::kind2: how a third operand joins.
enum class Join : uint8_t { None, And, Or, Xor };

uint8_t orderingsOf(Modifier comparison) {
  switch (comparison) {
  case Modifier::Eq:
    return equal;
  case Modifier::Ne:
    return less | greater;
  case Modifier::Lt:
  case Modifier::Lo:
    return less;
  case Modifier::Le:
  case Modifier::Ls:
    return less | equal;
  case Modifier::Gt:
  case Modifier::Hi:
    return greater;
  case Modifier::Ge:
  case Modifier::Hs:
    return greater | equal;
  case Modifier::Equ:
    return equal | unordered;
  case Modifier::Neu:
    return less | greater | unordered;
  case Modifier::Ltu:
    return less | unordered;
  case Modifier::Leu:
    return less | equal | unordered;
  case Modifier::Gtu:
    return greater | unordered;
  case Modifier::Geu:
    return greater | equal | unordered;
  case Modifier::Num:
    return less | equal | greater;
  default:
    return unordered;
  }
}

template <class T> Ordering orderIntegers(T a, T b) {
  return a < b ? Ordering::Less : a == b ? Ordering::Equal : Ordering::Greater;
}

template <class F> Ordering orderFloats(const Op &op, Bits a, Bits b) {
  if (op.is(FlagFtz))
    return scalar::compare<F>(flush<F>(a), flush<F>(b));
  return scalar::compare<F>(a, b);
}

/// How a and b of one type compare. Unsigned values and bit patterns need no case by width.
struct Unsigned {
  static Ordering order(const Op &, Bits a, Bits b) { return orderIntegers(a, b); }
};
template <unsigned Width> struct Signed {
  static Ordering order(const Op &, Bits a, Bits b) {
    return orderIntegers(signExtend(a, Width), signExtend(b, Width));
  }
};
template <class F> struct Float {
  static Ordering order(const Op &op, Bits a, Bits b) { return orderFloats<F>(op, a, b); }
};

bool holds(const Op &op, Ordering ordering) { return (op.kind & bit(ordering)) != 0; }

bool join(const Thread &t, const Op &op, bool value) {
  if (op.kind2 == static_cast<uint8_t>(Join::None))
    return value;
  bool c = ((t.r[op.c] & 1) != 0) != op.is(FlagNegateC);
  switch (static_cast<Join>(op.kind2)) {
  case Join::And:
    return value && c;
  case Join::Or:
    return value || c;
  default:
    return value != c;
  }
}

template <class Compare> void setPredicate(Thread &t, const Op &op) {
  bool value = holds(op, Compare::order(op, t.r[op.a], t.r[op.b]));
  bool first = join(t, op, value), second = join(t, op, !value);
  t.write(op.d, first);
  t.write(op.d2, second);
}

/// Of f16x2 and bf16x2: the low halves give the first predicate, the high ones the second.
template <class F> void setPackedPredicates(Thread &t, const Op &op) {
  bool low = holds(op, orderFloats<F>(op, t.r[op.a] & 0xFFFF, t.r[op.b] & 0xFFFF));
  bool high = holds(op, orderFloats<F>(op, t.r[op.a] >> 16, t.r[op.b] >> 16));
  bool first = join(t, op, low), second = join(t, op, high);
  t.write(op.d, first);
  t.write(op.d2, second);
}

/// set: all ones, or 1.0 where the destination is f32.
template <class Compare> void setValue(Thread &t, const Op &op) {
  bool value = join(t, op, holds(op, Compare::order(op, t.r[op.a], t.r[op.b])));
  t.write(op.d, !value ? 0 : op.type == Modifier::F32 ? 0x3F800000 : 0xFFFFFFFF);
}

template <class Compare> Handler choose(bool isSet) {
  return isSet ? setValue<Compare> : setPredicate<Compare>;
}

Handler byType(Modifier type, bool isSet) {
  switch (type) {
  case Modifier::S16:
    return choose<Signed<16>>(isSet);
  case Modifier::S32:
    return choose<Signed<32>>(isSet);
  case Modifier::S64:
    return choose<Signed<64>>(isSet);
  case Modifier::F16:
    return choose<Float<F16>>(isSet);
  case Modifier::Bf16:
    return choose<Float<BF16>>(isSet);
  case Modifier::F32:
    return choose<Float<F32>>(isSet);
  case Modifier::F64:
    return choose<Float<F64>>(isSet);
  case Modifier::F16x2:
    return setPackedPredicates<F16>;
  case Modifier::Bf16x2:
    return setPackedPredicates<BF16>;
  default:
    return choose<Unsigned>(isSet);
  }
}

} // namespace

bool selectCompare(const Instruction &instruction, Op &op, std::string &problem) {
  bool isSet = instruction.opcode == Opcode::Set;
  if (!isSet && instruction.opcode != Opcode::Setp)
    return false;
  Modifier comparison = instruction.modifiers.front();
  op.kind = orderingsOf(comparison);
  for (Modifier modifier : instruction.modifiers)
    op.kind2 = static_cast<uint8_t>(modifier == Modifier::And   ? Join::And
                                    : modifier == Modifier::Or  ? Join::Or
                                    : modifier == Modifier::Xor ? Join::Xor
                                                                : static_cast<Join>(op.kind2));
  bool isFloat = isFloatType(op.type2);
  bool isBits = op.type2 == Modifier::B16 || op.type2 == Modifier::B32 || op.type2 == Modifier::B64;
  bool isUnordered = (op.kind & unordered) != 0 || comparison == Modifier::Num;
  bool isUnsignedOnly = comparison == Modifier::Lo || comparison == Modifier::Ls ||
                        comparison == Modifier::Hi || comparison == Modifier::Hs;
  if ((isUnordered && !isFloat) || (isUnsignedOnly && (isFloat || isSignedType(op.type2))) ||
      (isBits && comparison != Modifier::Eq && comparison != Modifier::Ne))
    problem = "the comparison is not one of this type";
  op.handler = byType(op.type2, isSet);
  return true;
}

} // namespace h3::ptx
