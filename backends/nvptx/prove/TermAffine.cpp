//===-- backends/nvptx/prove/TermAffine.cpp - Instructions on integers that grow -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/TermMachine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace h3::prove {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Slot;

namespace {

Wide interpreted(uint64_t bits, unsigned width, bool isSigned) {
  return isSigned ? Wide(ptx::signExtend(bits, width)) : Wide(bits);
}

/// The integers that `width` bits hold.
std::pair<Wide, Wide> limits(unsigned width, bool isSigned) {
  Wide one = 1;
  if (isSigned)
    return {-(one << (width - 1)), (one << (width - 1)) - 1};
  return {0, (one << width) - 1};
}

Slopes combine(const Slopes &a, const Slopes &b, int64_t sign) {
  Slopes result;
  for (unsigned i = 0; i < symbolCount; ++i)
    result[i] = a[i] + sign * b[i];
  return result;
}

Slopes scaled(const Slopes &a, int64_t factor) {
  Slopes result;
  for (unsigned i = 0; i < symbolCount; ++i)
    result[i] = a[i] * factor;
  return result;
}

bool divides(uint64_t divisor, const Slopes &slopes) {
  return std::ranges::all_of(
      slopes, [&](int64_t slope) { return slope % static_cast<int64_t>(divisor) == 0; });
}

Slopes divided(const Slopes &slopes, int64_t divisor) {
  Slopes result;
  for (unsigned i = 0; i < symbolCount; ++i)
    result[i] = slopes[i] / divisor;
  return result;
}

/// Low bits that are 0 in the number whatever the symbols are.
unsigned lowZeros(uint64_t base, const Slopes &slopes) {
  uint64_t all = base;
  for (int64_t slope : slopes)
    all |= static_cast<uint64_t>(slope);
  return static_cast<unsigned>(std::countr_zero(all));
}

} // namespace

Slopes TermMachine::slopesOf(const Thread &thread, Slot slot) const {
  TermId id = tag(thread, slot);
  return id ? slopesOf(id) : Slopes{};
}

TermMachine::Vague TermMachine::vagueOf(const Thread &thread, Slot slot) const {
  TermId id = tag(thread, slot);
  if (!id || terms[id].op != TermOp::Affine)
    return Vague::No;
  unsigned number = terms[id].a;
  return number == unsigned(Vague::Below) || number == unsigned(Vague::Beyond) ? Vague(number)
                                                                               : Vague::No;
}

const Quotient *TermMachine::quotientAt(const Thread &thread, Slot slot) const {
  TermId id = tag(thread, slot);
  bool isQuotient = id && isOpaque(id) && terms[id].a >= firstQuotient;
  return isQuotient ? &quotients[terms[id].a - firstQuotient] : nullptr;
}

bool TermMachine::finishQuotient(Thread &thread, const Op &op, const Quotient &quotient) {
  op.handler(thread, op);
  if (thread.state == Thread::State::Faulted)
    return false;
  clearTags(thread, op);
  const unsigned width = bitWidth(op.type);
  if (std::optional<Slopes> growth = linearSlopes(quotient, range)) {
    if (!isZero(*growth))
      tag(thread, op.d) = affine(*growth, 0, width);
    return true;
  }
  tag(thread, op.d) =
      terms.affine(firstQuotient + static_cast<unsigned>(quotients.size()), 0, width);
  quotients.push_back(quotient);
  return true;
}

bool TermMachine::applyQuotient(Thread &thread, const Op &op, const Instruction &instruction) {
  auto unknown = [&] {
    notProvable(thread, "it is not linear in the number of rows");
    return false;
  };
  if (bitWidth(op.type) != 64)
    return unknown();
  auto isKnown = [&](Slot slot) { return !tag(thread, slot); };
  /// Whether the operand is a number of 64 bits that is not negative for any number of rows.
  auto isExact = [&](Slot slot) {
    TermId id = tag(thread, slot);
    return !id || (!isOpaque(id) &&
                   range.stays(Wide(thread.r[slot]), slopesOf(id), 0, (Wide(1) << 64) - 1));
  };
  const Quotient *a = quotientAt(thread, op.a), *b = quotientAt(thread, op.b),
                 *c = quotientAt(thread, op.c);
  std::optional<Quotient> result;
  switch (instruction.opcode) {
  case Opcode::Shr:
    if (!a || ptx::isSignedType(op.type) || !isKnown(op.b) ||
        thread.r[op.b] > mostQuotientShift - a->shift)
      return unknown();
    result = *a;
    result->shift += static_cast<unsigned>(thread.r[op.b]);
    break;
  case Opcode::Add:
    if ((a && b) || instruction.has(Modifier::Cc) || instruction.has(Modifier::Sat) ||
        !isExact(a ? op.b : op.a))
      return unknown();
    result = plusProduct(a ? *a : *b, 1, {}, thread.r[a ? op.b : op.a],
                         slopesOf(thread, a ? op.b : op.a), range);
    break;
  case Opcode::Mad:
    if (!c || a || b || !instruction.has(Modifier::Lo) || instruction.has(Modifier::Cc) ||
        !isExact(op.a) || !isExact(op.b))
      return unknown();
    result = plusProduct(*c, thread.r[op.a], slopesOf(thread, op.a), thread.r[op.b],
                         slopesOf(thread, op.b), range);
    break;
  default:
    break;
  }
  return result ? finishQuotient(thread, op, *result) : unknown();
}

bool TermMachine::applyAffine(Thread &thread, const Op &op, const Instruction &instruction) {
  const uint64_t a = thread.r[op.a], b = thread.r[op.b];
  const Slopes da = slopesOf(thread, op.a), db = slopesOf(thread, op.b),
               dc = slopesOf(thread, op.c);
  const unsigned width = bitWidth(op.type);
  const bool isSigned = ptx::isSignedType(op.type);
  auto wraps = [&] {
    notProvable(thread, "a number may wrap around for some number of rows");
    return false;
  };
  auto unknown = [&] {
    notProvable(thread, "it is not linear in the number of rows");
    return false;
  };
  /// The operand is the integer of this type for all numbers of rows.
  auto isExact = [&](uint64_t bits, const Slopes &growth, unsigned bitCount, bool isSignedHere) {
    auto [low, high] = limits(bitCount, isSignedHere);
    return range.stays(interpreted(bits, bitCount, isSignedHere), growth, low, high);
  };
  /// 1: x < 0 everywhere, 0: x >= 0 everywhere, -1: neither.
  auto isNegative = [&](Wide base, const Slopes &growth) {
    const Wide most = Wide(1) << 100;
    if (range.stays(base, growth, -most, -1))
      return 1;
    return range.stays(base, growth, 0, most) ? 0 : -1;
  };
  auto finish = [&](const Slopes &growth) {
    op.handler(thread, op);
    if (thread.state == Thread::State::Faulted)
      return false;
    clearTags(thread, op);
    if (!isZero(growth))
      tag(thread, op.d) = affine(growth, 0, instruction.opcode == Opcode::Cvta ? 64 : width);
    return true;
  };
  /// Of operands that share bits only this is known: whether any of the high 32 bits is set.
  auto finishVague = [&](Vague vague) {
    if (!finish({}))
      return false;
    tag(thread, op.d) = terms.affine(static_cast<unsigned>(vague), 0, width);
    return true;
  };
  const Wide half = Wide(1) << 32, most = Wide(1) << 100;
  auto isBelowHalf = [&](uint64_t bits, const Slopes &growth) {
    return range.stays(Wide(bits), growth, 0, half - 1);
  };
  auto isBeyondHalf = [&](uint64_t bits, const Slopes &growth) {
    return range.stays(Wide(bits), growth, half, most);
  };
  /// How many periods there may be until a number leaves 32 bits.
  auto limitPeriods = [&](uint64_t bits, const Slopes &growth) {
    if (Wide(bits) < half && growth[PeriodsBefore] > 0)
      fewerPeriods = std::min<int64_t>(
          fewerPeriods.value_or(INT64_MAX),
          static_cast<int64_t>(half - 1 - Wide(bits)) / growth[PeriodsBefore] - 1);
  };
  /// How many periods there may be until the sign of a number changes.
  auto limitComparison = [&](Wide base, const Slopes &growth) {
    const Wide slope = growth[PeriodsBefore];
    Slopes others = growth;
    others[PeriodsBefore] = 0;
    if (slope == 0 || !isZero(others) || (base != 0 && (base > 0) == (slope > 0)))
      return;
    const Wide most = base == 0 ? 0 : base > 0 ? (base - 1) / -slope : (-base - 1) / slope;
    fewerPeriods = std::min<int64_t>(fewerPeriods.value_or(INT64_MAX),
                                     static_cast<int64_t>(std::min<Wide>(most, INT64_MAX)));
  };
  if (quotientAt(thread, op.a) || quotientAt(thread, op.b) || quotientAt(thread, op.c))
    return applyQuotient(thread, op, instruction);
  const Vague vagueA = vagueOf(thread, op.a), vagueB = vagueOf(thread, op.b);
  if (vagueA != Vague::No || vagueB != Vague::No || vagueOf(thread, op.c) != Vague::No) {
    constexpr uint64_t high = 0xFFFFFFFF00000000;
    if (width != 64 || vagueB != Vague::No)
      return unknown();
    if (instruction.opcode == Opcode::And && b == high && isZero(db))
      return vagueA == Vague::Below ? (finish({}) && (thread.write(op.d, 0), true))
                                    : finishVague(vagueA);
    bool isEqual = instruction.has(Modifier::Eq), isNot = instruction.has(Modifier::Ne);
    if (instruction.opcode == Opcode::Setp && b == 0 && vagueA == Vague::Beyond &&
        (isEqual || isNot) && op.kind2 == 0) {
      op.handler(thread, op);
      clearTags(thread, op);
      thread.write(op.d, isNot);
      thread.write(op.d2, isEqual);
      return true;
    }
    return unknown();
  }
  /// Multiplication by whichever operand does not grow, as the integer it is.
  auto product = [&](Slopes &growth, bool isSignedHere) {
    if (!isZero(da) && !isZero(db))
      return false;
    growth = isZero(db) ? scaled(da, static_cast<int64_t>(interpreted(b, width, isSignedHere)))
                        : scaled(db, static_cast<int64_t>(interpreted(a, width, isSignedHere)));
    return true;
  };

  Slopes growth{};
  switch (instruction.opcode) {
  case Opcode::Mov:
    if (instruction.operands[0].kind == ptx::Operand::Kind::Vector ||
        instruction.operands[1].kind == ptx::Operand::Kind::Vector)
      return unknown();
    return finish(da);
  case Opcode::Cvta:
    return finish(da);
  case Opcode::Add:
    return instruction.has(Modifier::Cc) || instruction.has(Modifier::Sat)
               ? unknown()
               : finish(combine(da, db, 1));
  case Opcode::Sub:
    return instruction.has(Modifier::Cc) || instruction.has(Modifier::Sat)
               ? unknown()
               : finish(combine(da, db, -1));
  case Opcode::Neg:
    return finish(scaled(da, -1));
  case Opcode::Mul:
  case Opcode::Mad:
    if (instruction.has(Modifier::Hi))
      return unknown();
    if (instruction.has(Modifier::Wide)) {
      if (!isExact(a, da, width, isSigned) || !isExact(b, db, width, isSigned))
        return wraps();
      if (!product(growth, isSigned))
        return unknown();
      if (instruction.opcode == Opcode::Mad)
        growth = combine(growth, dc, 1);
      if (!finish(growth))
        return false;
      if (!isZero(growth))
        tag(thread, op.d) = affine(growth, 0, 2 * width);
      return true;
    }
    if (!product(growth, true))
      return unknown();
    return finish(instruction.opcode == Opcode::Mad ? combine(growth, dc, 1) : growth);
  case Opcode::Shl:
    if (!isZero(db))
      return unknown();
    return finish(b >= width ? Slopes{} : scaled(da, int64_t(1) << b));
  case Opcode::Shr: {
    if (!isZero(db) || b >= width)
      return unknown();
    if (!isExact(a, da, width, isSigned))
      return wraps();
    if (divides(uint64_t(1) << b, da))
      return finish(divided(da, int64_t(1) << b));
    if (isSigned || b > mostQuotientShift)
      return unknown();
    return finishQuotient(thread, op, quotientOf(a, da, static_cast<unsigned>(b)));
  }
  case Opcode::Or:
  case Opcode::Xor:
    // Of numbers that share no bit: their sum.
    if (width == 1)
      return unknown();
    if (isZero(db) ? b < (uint64_t(1) << std::min(lowZeros(a, da), 63u))
                   : isZero(da) && a < (uint64_t(1) << std::min(lowZeros(b, db), 63u)))
      return finish(combine(da, db, 1));
    if (width == 64 && instruction.opcode == Opcode::Or) {
      if (isBelowHalf(a, da) && isBelowHalf(b, db))
        return finishVague(Vague::Below);
      if (isBeyondHalf(a, da) || isBeyondHalf(b, db))
        return finishVague(Vague::Beyond);
      limitPeriods(a, da);
      limitPeriods(b, db);
    }
    return unknown();
  case Opcode::And: {
    if (!isZero(da) && !isZero(db))
      return unknown();
    uint64_t mask = isZero(db) ? b : a;
    const Slopes &own = isZero(db) ? da : db;
    uint64_t all = ptx::maskOf(width);
    if (std::has_single_bit(mask + 1) && divides(mask + 1, own))
      return finish({}); // low bits, which do not change
    uint64_t value = isZero(db) ? a : b;
    if (width == 64 && mask == uint64_t(half - 1) << 32) {
      if (isBelowHalf(value, own))
        return finish({});
      if (isBeyondHalf(value, own))
        return finishVague(Vague::Beyond);
      limitPeriods(value, own);
      return unknown();
    }
    uint64_t low = ~mask & all;
    if (std::has_single_bit(low + 1) && divides(low + 1, own))
      return finish(own);
    return unknown();
  }
  case Opcode::Div:
  case Opcode::Rem: {
    if (!isZero(db) || (b != 0 && !divides(b, da))) {
      // The same quotient for all: what is left over stays below the divisor.
      if (isSigned || b == 0 || !isExact(a, da, width, false) || !isExact(b, db, width, false))
        return unknown();
      const auto quotient = static_cast<int64_t>(a / b);
      const Slopes left = combine(da, scaled(db, quotient), -1);
      const Wide rest = Wide(a % b);
      if (isNegative(rest, left) != 0 || isNegative(rest - Wide(b), combine(left, db, -1)) != 1)
        return unknown();
      return finish(instruction.opcode == Opcode::Div ? Slopes{} : left);
    }
    if (b == 0)
      return unknown();
    if (!isExact(a, da, width, isSigned))
      return wraps();
    // Rounding towards zero is rounding down only where nothing is negative.
    if (isSigned &&
        (isNegative(interpreted(a, width, true), da) != 0 || interpreted(b, width, true) < 0))
      return unknown();
    return finish(instruction.opcode == Opcode::Div ? divided(da, static_cast<int64_t>(b))
                                                    : Slopes{});
  }
  case Opcode::Selp:
    if (!isZero(dc))
      return unknown();
    return finish((thread.r[op.c] & 1) != 0 ? da : db);
  case Opcode::Min:
  case Opcode::Max: {
    if (!isExact(a, da, width, isSigned) || !isExact(b, db, width, isSigned))
      return wraps();
    Wide base = interpreted(a, width, isSigned) - interpreted(b, width, isSigned);
    int less = isNegative(base, combine(da, db, -1));
    if (less < 0 && isNegative(-base, combine(db, da, -1)) == 0)
      less = 1; // a <= b: either way the same where they are equal
    if (less < 0)
      return unknown();
    return finish((less == 1) == (instruction.opcode == Opcode::Min) ? da : db);
  }
  case Opcode::Setp: {
    bool compareSigned = ptx::isSignedType(op.type2);
    unsigned bits = bitWidth(op.type2);
    if (!isExact(a, da, bits, compareSigned) || !isExact(b, db, bits, compareSigned))
      return wraps();
    Wide base = interpreted(a, bits, compareSigned) - interpreted(b, bits, compareSigned);
    Slopes difference = combine(da, db, -1);
    int less = isNegative(base, difference);
    int greater = isNegative(-base, scaled(difference, -1));
    bool isEqual = base == 0 && isZero(difference);
    // Every ordering that can occur gives the same answer.
    uint8_t possible = static_cast<uint8_t>((less != 0 ? Less : 0) | (greater != 0 ? Greater : 0) |
                                            (isEqual || (less != 1 && greater != 1) ? Equal : 0));
    if (isEqual)
      possible = Equal;
    if ((op.kind & possible) != 0 && (op.kind & possible) != possible) {
      limitComparison(base, difference);
      notProvable(thread, "the comparison depends on the number of rows");
      return false;
    }
    return finish({});
  }
  case Opcode::Cvt: {
    if (ptx::isFloatType(op.type) || ptx::isFloatType(op.type2) || instruction.has(Modifier::Sat))
      return unknown();
    bool fromSigned = ptx::isSignedType(op.type2);
    unsigned from = bitWidth(op.type2);
    if (width > from && !isExact(a & ptx::maskOf(from), da, from, fromSigned))
      return wraps();
    return finish(da);
  }
  default:
    return unknown();
  }
}

} // namespace h3::prove
