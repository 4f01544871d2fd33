//===-- backends/nvptx/prove/TermFloat.cpp - Terms of float arithmetic ----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/FloatForms.h"
#include "backends/nvptx/prove/Term.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace h3::prove {

TermId TermStore::makeFloat(TermOp op, ScalarType type, TermId a, TermId b, TermId c,
                            Rounding rounding) {
  Term term;
  term.op = op;
  term.width = static_cast<uint8_t>(bitWidth(type));
  term.type = type;
  term.rounding = rounding;
  term.a = a;
  term.b = b;
  term.c = c;
  return make(term);
}

TermId TermStore::asFloat(ScalarType type, TermId a) {
  Term t = terms[a];
  switch (t.op) {
  case TermOp::Constant:
    return constant(t.width, scalar::canonical(type, t.imm));
  case TermOp::Canonical:
  case TermOp::AnyNaN:
    return t.type == type ? asFloat(type, t.a) : a;
  case TermOp::Xor:
    return isConstant(t.b, signMask(type)) ? fneg(type, t.a) : a;
  case TermOp::And:
    return isConstant(t.b, signMask(type) - 1) ? fabs(type, t.a) : a;
  case TermOp::Or: {
    if (isConstant(t.b, signMask(type)))
      return fneg(type, fabs(type, t.a));
    // A sign and a magnitude put together.
    for (auto [x, y] : {std::pair(t.a, t.b), std::pair(t.b, t.a)}) {
      Term s = terms[x], m = terms[y];
      if (s.op == TermOp::And && m.op == TermOp::And && isConstant(s.b, signMask(type)) &&
          isConstant(m.b, signMask(type) - 1))
        return asFloat(type, fcopysign(type, m.a, s.a));
    }
    return a;
  }
  case TermOp::Select: {
    if (views[a].asFloat && views[a].floatType == type)
      return views[a].asFloat;
    TermId b = asFloat(type, t.b), c = asFloat(type, t.c);
    TermId result = b == t.b && c == t.c ? a : select(t.a, b, c);
    views[a].floatType = type;
    views[a].asFloat = result;
    return result;
  }
  default:
    return a;
  }
}

/// Removes operations on the sign from a float operand; \p negative is turned for each.
TermId TermStore::stripSign(TermId a, bool &negative) {
  Term t = terms[a];
  if (t.op == TermOp::FNeg) {
    note(Rewrite::Sign);
    negative = !negative;
    return t.a;
  }
  return a;
}

/// Whether one of the operands is a NaN.
bool TermStore::hasNaN(ScalarType type, std::initializer_list<TermId> operands) {
  for (TermId operand : operands)
    if (isConstant(operand) && scalar::isNaN(type, terms[operand].imm)) {
      note(Rewrite::NaNOperand);
      return true;
    }
  return false;
}

void TermStore::order(TermId &a, TermId &b) {
  if (b < a) {
    std::swap(a, b);
    note(Rewrite::Commute);
  }
}

TermId TermStore::fneg(ScalarType type, TermId a) {
  a = asFloat(type, a);
  Term t = terms[a];
  if (t.op == TermOp::Constant)
    return constant(t.width, scalar::neg(type, t.imm));
  if (t.op == TermOp::FNeg && t.type == type)
    return canonical(type, t.a);
  if (t.op == TermOp::Select)
    return select(t.a, fneg(type, t.b), fneg(type, t.c));
  return makeFloat(TermOp::FNeg, type, a);
}

TermId TermStore::fabs(ScalarType type, TermId a) {
  a = asFloat(type, a);
  bool negative = false;
  a = stripSign(a, negative);
  Term t = terms[a];
  if (t.op == TermOp::Constant)
    return constant(t.width, scalar::abs(type, t.imm));
  if (facts(type, a) & NeverNegative)
    return canonical(type, a);
  return makeFloat(TermOp::FAbs, type, a);
}

/// Whether \p a is a NaN wherever \p x is one, by its form.
bool TermStore::isNaNWith(TermId a, TermId x, unsigned depth) {
  if (a == x)
    return true;
  Term t = terms[a];
  if (depth == 0)
    return false;
  auto with = [&](TermId operand) { return operand && isNaNWith(operand, x, depth - 1); };
  switch (t.op) {
  case TermOp::FAdd:
  case TermOp::FMul:
  case TermOp::FDiv:
  case TermOp::FFma:
  case TermOp::FSqrt:
  case TermOp::FNeg:
  case TermOp::FAbs:
  case TermOp::Convert:
  case TermOp::RsqrtApprox:
  case TermOp::Ex2ApproxFtz:
  case TermOp::RcpApproxFtz:
  case TermOp::SqrtApprox:
  case TermOp::Canonical:
  case TermOp::AnyNaN:
    return hasFloatArithmetic(t.type) && (with(t.a) || with(t.b) || with(t.c));
  case TermOp::Select: {
    // A comparison of it goes one way.
    Term c = terms[t.a];
    if (c.op == TermOp::FCompare && (with(c.a) || with(c.b)))
      return with((c.attribute & Unordered) ? t.b : t.c);
    return with(t.b) && with(t.c);
  }
  default:
    return false;
  }
}

TermId TermStore::signBit(ScalarType type, TermId a, bool anySignOfNaN) {
  Term t = terms[a];
  if (anySignOfNaN) {
    a = asFloat(type, a);
    t = terms[a];
    if (t.op == TermOp::FNeg && t.type == type)
      return bitNot(signBit(type, t.a, true));
    if (t.op == TermOp::Convert && t.type == type && widens(t.from, type))
      return signBit(t.from, t.a, true);
  }
  return extract(a, bitWidth(type) - 1, 1);
}

/// The magnitude with the sign chosen. Where a NaN as the sign makes the magnitude a NaN, its sign
/// does not matter.
TermId TermStore::fcopysign(ScalarType type, TermId magnitude, TermId sign) {
  magnitude = asFloat(type, magnitude);
  TermId source = asFloat(type, sign);
  constexpr unsigned deepEnough = 24;
  bool anySign = isNaNWith(magnitude, source, deepEnough);
  if (Term s = terms[source]; !anySign && s.op == TermOp::Convert && widens(s.from, type))
    anySign = isNaNWith(magnitude, s.a, deepEnough);
  if (anySign)
    note(Rewrite::CopySign);
  TermId positive = fabs(type, magnitude);
  return select(signBit(type, sign, anySign), fneg(type, positive), positive);
}

TermId TermStore::fadd(ScalarType type, TermId a, TermId b, Rounding rounding) {
  a = asFloat(type, a);
  b = asFloat(type, b);
  if (isConstant(a) && isConstant(b))
    return constant(bitWidth(type), scalar::add(type, terms[a].imm, terms[b].imm, rounding));
  if (hasNaN(type, {a, b}))
    return constant(bitWidth(type), scalar::canonicalNaN(type));
  if (isConstant(a))
    std::swap(a, b);
  if (rounding == Rounding::NearestEven && isConstant(b)) {
    if (isConstant(b, signMask(type))) {
      note(Rewrite::AddNegativeZero);
      return canonical(type, a);
    }
    if (isConstant(b, 0) && (facts(type, a) & NeverNegativeZero)) {
      note(Rewrite::AddZero);
      return canonical(type, a);
    }
  }
  if (a == b) {
    note(Rewrite::Double);
    uint64_t two = scalar::add(type, oneOf(type), oneOf(type));
    return fmul(type, a, constant(bitWidth(type), two), rounding);
  }
  order(a, b);
  return makeFloat(TermOp::FAdd, type, a, b, 0, rounding);
}

TermId TermStore::fsub(ScalarType type, TermId a, TermId b, Rounding rounding) {
  note(Rewrite::Subtract);
  return fadd(type, a, fneg(type, b), rounding);
}

TermId TermStore::fmul(ScalarType type, TermId a, TermId b, Rounding rounding) {
  a = asFloat(type, a);
  b = asFloat(type, b);
  if (isConstant(a) && isConstant(b))
    return constant(bitWidth(type), scalar::mul(type, terms[a].imm, terms[b].imm, rounding));
  if (hasNaN(type, {a, b}))
    return constant(bitWidth(type), scalar::canonicalNaN(type));
  if (isConstant(a))
    std::swap(a, b);
  if (isSymmetric(rounding)) {
    bool negative = false;
    a = stripSign(a, negative);
    b = stripSign(b, negative);
    if (isConstant(b) && scalar::signBit(type, terms[b].imm)) {
      note(Rewrite::Sign);
      negative = !negative;
      b = constant(bitWidth(type), scalar::neg(type, terms[b].imm));
    }
    if (negative)
      return fneg(type, fmul(type, a, b, rounding));
  }
  if (isConstant(b, oneOf(type))) {
    note(Rewrite::One);
    return canonical(type, a);
  }
  order(a, b);
  return makeFloat(TermOp::FMul, type, a, b, 0, rounding);
}

TermId TermStore::fdiv(ScalarType type, TermId a, TermId b, Rounding rounding) {
  a = asFloat(type, a);
  b = asFloat(type, b);
  unsigned width = bitWidth(type);
  if (isConstant(a) && isConstant(b))
    return constant(width, scalar::div(type, terms[a].imm, terms[b].imm, rounding));
  if (hasNaN(type, {a, b}))
    return constant(width, scalar::canonicalNaN(type));
  if (isSymmetric(rounding)) {
    bool negative = false;
    a = stripSign(a, negative);
    b = stripSign(b, negative);
    for (TermId *operand : {&a, &b})
      if (isConstant(*operand) && scalar::signBit(type, terms[*operand].imm)) {
        note(Rewrite::Sign);
        negative = !negative;
        *operand = constant(width, scalar::neg(type, terms[*operand].imm));
      }
    if (negative)
      return fneg(type, fdiv(type, a, b, rounding));
  }
  if (isConstant(b)) {
    uint64_t divisor = terms[b].imm;
    if (divisor == oneOf(type)) {
      note(Rewrite::One);
      return canonical(type, a);
    }
    uint64_t inverse = scalar::div(type, oneOf(type), divisor);
    uint64_t fraction = (uint64_t(1) << fractionBits(type)) - 1;
    bool isPower = (divisor & fraction) == 0 && divisor > fraction;
    bool isNormal = inverse > fraction && scalar::div(type, oneOf(type), inverse) == divisor &&
                    !scalar::isInfinity(type, divisor);
    if (isPower && isNormal) {
      note(Rewrite::PowerOfTwo);
      return fmul(type, a, constant(width, inverse), rounding);
    }
  }
  return makeFloat(TermOp::FDiv, type, a, b, 0, rounding);
}

TermId TermStore::ffma(ScalarType type, TermId a, TermId b, TermId c, Rounding rounding) {
  a = asFloat(type, a);
  b = asFloat(type, b);
  c = asFloat(type, c);
  unsigned width = bitWidth(type);
  if (hasNaN(type, {a, b, c}))
    return constant(width, scalar::canonicalNaN(type));
  if (isConstant(a) && isConstant(b)) {
    uint64_t x = terms[a].imm, y = terms[b].imm;
    if (isConstant(c))
      return constant(width, scalar::fma(type, x, y, terms[c].imm, rounding));
    // The product is exact if both directions round it to the same.
    uint64_t product = scalar::mul(type, x, y, Rounding::Down);
    if (product == scalar::mul(type, x, y, Rounding::Up) && !scalar::isInfinity(type, product) &&
        !scalar::isNaN(type, product)) {
      note(Rewrite::FmaConstant);
      return fadd(type, c, constant(width, product), rounding);
    }
  }
  if (isConstant(a))
    std::swap(a, b);
  bool negative = false;
  a = stripSign(a, negative);
  b = stripSign(b, negative);
  if (isConstant(b) && scalar::signBit(type, terms[b].imm)) {
    note(Rewrite::Sign);
    negative = !negative;
    b = constant(width, scalar::neg(type, terms[b].imm));
  }
  auto product = [&] {
    TermId result = fmul(type, a, b, rounding);
    return negative ? fneg(type, result) : result;
  };
  if (isConstant(b, oneOf(type))) {
    note(Rewrite::FmaOne);
    return fadd(type, negative ? fneg(type, a) : a, c, rounding);
  }
  if (rounding == Rounding::NearestEven && isConstant(c, signMask(type))) {
    note(Rewrite::FmaNegativeZero);
    return product();
  }
  bool isNeverNegative =
      !negative && (a == b || (facts(type, a) & facts(type, b) & NeverNegative) != 0);
  if (rounding == Rounding::NearestEven && isConstant(c, 0) && isNeverNegative) {
    note(Rewrite::FmaZero);
    return product();
  }
  order(a, b);
  Term term;
  term.op = TermOp::FFma;
  term.width = static_cast<uint8_t>(width);
  term.type = type;
  term.rounding = rounding;
  term.attribute = negative ? 1 : 0;
  term.a = a;
  term.b = b;
  term.c = c;
  return make(term);
}

TermId TermStore::fsqrt(ScalarType type, TermId a, Rounding rounding) {
  a = asFloat(type, a);
  if (isConstant(a))
    return constant(bitWidth(type), scalar::sqrt(type, terms[a].imm, rounding));
  return makeFloat(TermOp::FSqrt, type, a, 0, 0, rounding);
}

TermId TermStore::fextreme(TermOp op, ScalarType type, TermId a, TermId b) {
  a = asFloat(type, a);
  b = asFloat(type, b);
  if (isConstant(a) && isConstant(b)) {
    uint64_t x = terms[a].imm, y = terms[b].imm;
    return constant(bitWidth(type), op == TermOp::FMax      ? scalar::maximum(type, x, y)
                                    : op == TermOp::FMin    ? scalar::minimum(type, x, y)
                                    : op == TermOp::FMaxNum ? scalar::maximumNumber(type, x, y)
                                                            : scalar::minimumNumber(type, x, y));
  }
  if (a == b)
    return canonical(type, a);
  note(Rewrite::Commute);
  return unite(op, type, a, b);
}

/// All trees of one of max, min, max.num, min.num over the same operands agree, however often each
/// stands there: what counts is the set. A set is a binary trie over the operands' ids, which is
/// one term whatever the order in which it was made: a branch has the sets without and with the bit
/// `imm` below it, which agree in all higher bits.
TermId TermStore::unite(TermOp op, ScalarType type, TermId a, TermId b) {
  if (a == b)
    return a;
  auto isBranch = [&](TermId id) { return terms[id].op == op && terms[id].type == type; };
  auto memberOf = [&](TermId id) {
    while (isBranch(id))
      id = terms[id].a;
    return id;
  };
  auto branch = [&](uint64_t bit, TermId without, TermId with) {
    Term term;
    term.op = op;
    term.width = static_cast<uint8_t>(bitWidth(type));
    term.type = type;
    term.a = without;
    term.b = with;
    term.imm = bit;
    return make(term);
  };
  TermId memberA = memberOf(a), memberB = memberOf(b);
  uint64_t bitA = isBranch(a) ? terms[a].imm : 0, bitB = isBranch(b) ? terms[b].imm : 0;
  uint64_t differs = std::bit_floor(uint64_t(memberA) ^ memberB);
  uint64_t most = std::max({bitA, bitB, differs});
  if (most == 0)
    return a; // the same operand
  if (differs == most && differs > bitA && differs > bitB)
    return (memberA & differs) ? branch(differs, b, a) : branch(differs, a, b);
  if (bitA == bitB) {
    TermId without = unite(op, type, terms[a].a, terms[b].a);
    return branch(bitA, without, unite(op, type, terms[a].b, terms[b].b));
  }
  if (bitA < bitB)
    std::swap(a, b), std::swap(memberA, memberB), std::swap(bitA, bitB);
  Term whole = terms[a];
  if (memberB & bitA)
    return branch(bitA, whole.a, unite(op, type, whole.b, b));
  return branch(bitA, unite(op, type, whole.a, b), whole.b);
}

TermId TermStore::approximate(TermOp op, TermId a) {
  using scalar::Approximation;
  a = asFloat(ScalarType::F32, a);
  if (isConstant(a)) {
    Approximation function = op == TermOp::RsqrtApprox    ? Approximation::RsqrtApprox
                             : op == TermOp::Ex2ApproxFtz ? Approximation::Ex2ApproxFtz
                             : op == TermOp::RcpApproxFtz ? Approximation::RcpApproxFtz
                                                          : Approximation::SqrtApprox;
    return constant(32, scalar::approximate(function, terms[a].imm));
  }
  return makeFloat(op, ScalarType::F32, a);
}

TermId TermStore::canonical(ScalarType type, TermId a) {
  Term t = terms[a];
  if (t.op == TermOp::Constant)
    return constant(t.width, scalar::canonical(type, t.imm));
  if (t.op == TermOp::AnyNaN && t.type == type)
    return canonical(type, t.a);
  if (facts(type, a) & CanonicalValue)
    return a;
  TermId seen = hasFloatArithmetic(type) ? asFloat(type, a) : a;
  if (seen != a)
    return canonical(type, seen);
  if (t.op == TermOp::Select)
    return select(t.a, canonical(type, t.b), canonical(type, t.c));
  return makeFloat(TermOp::Canonical, type, a);
}

TermId TermStore::anyNaN(ScalarType type, TermId a) {
  a = asFloat(type, a);
  return isConstant(a) ? a : makeFloat(TermOp::AnyNaN, type, a);
}

} // namespace h3::prove
