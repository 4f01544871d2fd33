//===-- backends/nvptx/prove/TermCompare.cpp - Comparisons of floats, facts about them -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/FloatForms.h"
#include "backends/nvptx/prove/Term.h"

#include <utility>

namespace h3::prove {
namespace {

uint8_t orderingBit(scalar::Ordering ordering) {
  return static_cast<uint8_t>(1u << static_cast<unsigned>(ordering));
}

uint8_t mirrored(uint8_t orderings) {
  uint8_t kept = orderings & (Equal | Unordered);
  return static_cast<uint8_t>(kept | ((orderings & Less) ? Greater : 0) |
                              ((orderings & Greater) ? Less : 0));
}

} // namespace

TermId TermStore::compareWidened(ScalarType type, uint8_t orderings, TermId a, TermId b) {
  for (ScalarType narrow : {ScalarType::F16, ScalarType::BF16, ScalarType::F32}) {
    if (!widens(narrow, type) || (isConstant(a) && isConstant(b)))
      continue;
    TermId x = asNarrow(type, narrow, a);
    TermId y = x ? asNarrow(type, narrow, b) : 0;
    if (y) {
      note(Rewrite::CompareWide);
      return fcompare(narrow, orderings, x, y);
    }
  }
  return 0;
}

TermId TermStore::fcompare(ScalarType type, uint8_t orderings, TermId a, TermId b) {
  a = asFloat(type, a);
  b = asFloat(type, b);
  orderings &= AllOrderings;
  if (orderings == 0 || orderings == AllOrderings)
    return constant(1, orderings != 0);
  if (isConstant(a) && isConstant(b))
    return constant(
        1, (orderings & orderingBit(scalar::compare(type, terms[a].imm, terms[b].imm))) != 0);
  // With a number that is no NaN, "unordered" asks whether the other one is.
  if (orderings == Unordered || orderings == (Less | Equal | Greater)) {
    if (isConstant(a))
      std::swap(a, b);
    if (isConstant(b) && !scalar::isNaN(type, terms[b].imm))
      b = a;
  }
  if (a == b) {
    bool negative = false;
    a = b = stripSign(a, negative);
    orderings = static_cast<uint8_t>(((orderings & Equal) ? Less | Equal | Greater : 0) |
                                     (orderings & Unordered));
    if (orderings == 0 || orderings == AllOrderings)
      return constant(1, orderings != 0);
  }
  if (TermId narrow = compareWidened(type, orderings, a, b))
    return narrow;
  if (b < a) {
    std::swap(a, b);
    orderings = mirrored(orderings);
  }
  Term term;
  term.op = TermOp::FCompare;
  term.width = 1;
  term.type = type;
  term.attribute = orderings;
  term.a = a;
  term.b = b;
  return make(term);
}

/// a < b as bits, where that asks whether a value is a NaN; else 0.
TermId TermStore::isNaNOfBits(TermId a, TermId b) {
  for (ScalarType type : {ScalarType::F16, ScalarType::BF16, ScalarType::F32, ScalarType::F64}) {
    if (bitWidth(type) != terms[a].width)
      continue;
    uint64_t infinity = scalar::infinity(type);
    auto magnitudeOf = [&](TermId id) -> TermId {
      const Term *abs = &terms[id];
      if (abs->op == TermOp::AnyNaN || abs->op == TermOp::Canonical)
        abs = &terms[abs->a];
      if (abs->op == TermOp::FAbs && abs->type == type)
        return abs->a;
      const Term &t = terms[id];
      return t.op == TermOp::And && isConstant(t.b, signMask(type) - 1) ? t.a : 0;
    };
    bool isAbove = isConstant(a, infinity), isBelow = isConstant(b, infinity + 1);
    TermId value = isAbove ? magnitudeOf(b) : isBelow ? magnitudeOf(a) : 0;
    if (!value)
      continue;
    note(Rewrite::IsNaN);
    return fcompare(type, isAbove ? Unordered : Less | Equal | Greater, value, value);
  }
  return 0;
}

/// `condition ? a : b` where that is a value with its one NaN; else 0.
TermId TermStore::selectCanonical(TermId condition, TermId a, TermId b) {
  Term c = terms[condition];
  // e4m3 has one magnitude that is a NaN.
  if (c.op == TermOp::Equal && terms[b].width == 8 && isConstant(a, 0x7F) &&
      isConstant(c.b, 0x7F)) {
    Term magnitude = terms[c.a];
    bool isMasked =
        magnitude.a == b &&
        ((magnitude.op == TermOp::And && isConstant(magnitude.b, 0x7F)) ||
         (magnitude.op == TermOp::Extract && magnitude.imm == 0 && magnitude.width == 7));
    bool isOwn = terms[b].op == TermOp::Convert && terms[b].type == ScalarType::E4M3;
    if (isMasked && isOwn) {
      note(Rewrite::CanonicalNaN);
      return canonical(ScalarType::E4M3, b);
    }
  }
  if (c.op != TermOp::FCompare || c.attribute != Unordered || c.a != c.b)
    return 0;
  // Some bits of the value: those of the canonical one where the constant has them.
  Term part = terms[b];
  if (part.op == TermOp::Extract && isConstant(a) && asFloat(c.type, part.a) == c.a &&
      terms[part.a].width == bitWidth(c.type) &&
      isConstant(a,
                 (scalar::canonicalNaN(c.type) >> part.imm) & ((uint64_t(1) << part.width) - 1))) {
    note(Rewrite::CanonicalNaN);
    return extract(canonical(c.type, c.a), static_cast<unsigned>(part.imm), part.width);
  }
  // The test may have been made of the narrow value that a wide one was made from.
  for (ScalarType type : {c.type, ScalarType::F32, ScalarType::F64}) {
    if (bitWidth(type) != terms[b].width || !isConstant(a, scalar::canonicalNaN(type)))
      continue;
    bool negative = false;
    TermId value = stripSign(asFloat(type, b), negative);
    Term v = terms[value];
    if (v.op == TermOp::FAbs)
      value = v.a;
    bool isSame = type == c.type && value == c.a;
    bool isWidened = type != c.type && asNarrow(type, c.type, value) == c.a;
    if (!isSame && !isWidened)
      continue;
    note(Rewrite::CanonicalNaN);
    return canonical(type, asFloat(type, b));
  }
  return 0;
}

// ---- Facts.

uint8_t TermStore::facts(ScalarType type, TermId a) {
  const Term &term = terms[a];
  if (term.op == TermOp::Select) {
    // No type that facts are asked of is Bool.
    if (views[a].factsType == type)
      return views[a].facts;
    uint8_t result = computeFacts(type, a);
    views[a].factsType = type;
    views[a].facts = result;
    return result;
  }
  if (term.type != type)
    return term.op == TermOp::Constant ? computeFacts(type, a) : 0;
  if (ownFacts[a] == notAsked)
    ownFacts[a] = computeFacts(type, a);
  return ownFacts[a];
}

uint8_t TermStore::computeFacts(ScalarType type, TermId a) {
  Term t = terms[a];
  constexpr uint8_t positive = NeverNegative | NeverNegativeZero;
  if (t.op == TermOp::Constant) {
    bool isCanonical = scalar::canonical(type, t.imm) == t.imm;
    bool isNegative = isFloat(type) && scalar::signBit(type, t.imm) && !scalar::isNaN(type, t.imm);
    bool isNegativeZero = isNegative && scalar::isZero(type, t.imm);
    return static_cast<uint8_t>((isCanonical ? CanonicalValue : 0) |
                                (isNegativeZero ? 0 : NeverNegativeZero) |
                                (isNegative ? 0 : NeverNegative));
  }
  if (t.op == TermOp::Select)
    return facts(type, t.b) & facts(type, t.c);
  if (t.type != type)
    return 0;
  auto of = [&](TermId operand) { return facts(type, operand); };
  bool bothPositive = false;
  uint8_t result = CanonicalValue;
  switch (t.op) {
  case TermOp::Canonical:
    return result | (of(t.a) & positive);
  case TermOp::AnyNaN:
    return of(t.a) & positive;
  case TermOp::FNeg:
    return result;
  case TermOp::FAbs:
  case TermOp::Ex2ApproxFtz:
    return result | positive;
  case TermOp::FMul:
    bothPositive = t.a == t.b || (of(t.a) & of(t.b) & NeverNegative);
    break;
  case TermOp::FDiv:
  case TermOp::FMaxNum:
  case TermOp::FMin:
  case TermOp::FMinNum:
    bothPositive = of(t.a) & of(t.b) & NeverNegative;
    break;
  case TermOp::FMax: // a set may be deep, but each of its terms is asked once
    bothPositive = (of(t.a) | of(t.b)) & NeverNegative;
    break;
  case TermOp::FAdd:
    bothPositive = of(t.a) & of(t.b) & NeverNegative;
    if (t.rounding == Rounding::NearestEven && ((of(t.a) | of(t.b)) & NeverNegativeZero))
      result |= NeverNegativeZero;
    break;
  case TermOp::FFma:
    bothPositive = t.attribute == 0 && (of(t.c) & NeverNegative) &&
                   (t.a == t.b || (of(t.a) & of(t.b) & NeverNegative));
    break;
  case TermOp::FSqrt:
  case TermOp::RsqrtApprox:
  case TermOp::RcpApproxFtz:
  case TermOp::SqrtApprox:
    bothPositive = of(t.a) & NeverNegative;
    break;
  case TermOp::Convert: {
    uint8_t inner = facts(t.from, t.a);
    bothPositive = inner & NeverNegative;
    if (widens(t.from, t.type))
      result |= inner & NeverNegativeZero;
    break;
  }
  case TermOp::FromInteger:
    return result | NeverNegativeZero;
  default:
    return 0;
  }
  return bothPositive ? result | positive : result;
}

} // namespace h3::prove
