//===-- backends/nvptx/prove/TermConvert.cpp - Terms of conversions of floats -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/FloatForms.h"
#include "backends/nvptx/prove/Term.h"

namespace h3::prove {

/// \p a of type \p wide, as the value of \p narrow that it is by its form; 0 if it is none.
TermId TermStore::asNarrow(ScalarType wide, ScalarType narrow, TermId a) {
  Term t = terms[a];
  switch (t.op) {
  case TermOp::Convert:
    return t.from == narrow && t.type == wide ? t.a : 0;
  case TermOp::FNeg: {
    TermId inner = asNarrow(wide, narrow, t.a);
    return inner ? fneg(narrow, inner) : 0;
  }
  case TermOp::FAbs: {
    TermId inner = asNarrow(wide, narrow, t.a);
    return inner ? fabs(narrow, inner) : 0;
  }
  case TermOp::Constant: {
    uint64_t bits = scalar::convert(wide, narrow, t.imm);
    bool exact = scalar::convert(narrow, wide, bits) == t.imm;
    return exact ? constant(bitWidth(narrow), bits) : 0;
  }
  case TermOp::Select: {
    TermId b = asNarrow(wide, narrow, t.b);
    TermId c = b ? asNarrow(wide, narrow, t.c) : 0;
    return c ? select(t.a, b, c) : 0;
  }
  default:
    return 0;
  }
}

/// The operation of \p narrow that an operation of \p wide on widened operands is, once it is
/// rounded to nearest; 0 if \p a is none. The wide type has at least twice the precision and two
/// more bits, so the second rounding cannot err.
TermId TermStore::narrowed(ScalarType wide, ScalarType narrow, TermId a) {
  Term t = terms[a];
  if (t.type != wide || t.rounding != Rounding::NearestEven ||
      fractionBits(wide) + 1 < 2 * (fractionBits(narrow) + 1) + 2)
    return 0;
  bool isBinary = t.op == TermOp::FAdd || t.op == TermOp::FMul || t.op == TermOp::FDiv;
  if (!isBinary && t.op != TermOp::FSqrt)
    return 0;
  TermId x = asNarrow(wide, narrow, t.a);
  TermId y = x && isBinary ? asNarrow(wide, narrow, t.b) : 0;
  if (!x || (isBinary && !y))
    return 0;
  note(Rewrite::Widened);
  switch (t.op) {
  case TermOp::FAdd:
    return fadd(narrow, x, y);
  case TermOp::FMul:
    return fmul(narrow, x, y);
  case TermOp::FDiv:
    return fdiv(narrow, x, y);
  default:
    return fsqrt(narrow, x);
  }
}

TermId TermStore::convert(ScalarType from, ScalarType to, TermId a, Rounding rounding,
                          bool saturate) {
  if (hasFloatArithmetic(from))
    a = asFloat(from, a);
  if (from == to)
    return canonical(to, a);
  Term t = terms[a];
  if (t.op == TermOp::Constant)
    return constant(bitWidth(to), scalar::convert(from, to, t.imm, rounding, saturate));
  if (t.op == TermOp::FNeg && isSymmetric(rounding) && hasFloatArithmetic(to)) {
    note(Rewrite::Sign);
    return fneg(to, convert(from, to, t.a, rounding, saturate));
  }
  if (widens(from, to)) {
    rounding = Rounding::NearestEven; // nothing is rounded
    if (t.op == TermOp::Convert && widens(t.from, from)) {
      note(Rewrite::Widened);
      return convert(t.from, to, t.a);
    }
  } else if (hasFloatArithmetic(to) && hasFloatArithmetic(from)) {
    if (TermId exact = asNarrow(from, to, a)) {
      note(Rewrite::Widened);
      return canonical(to, exact);
    }
    if (t.op == TermOp::Convert && widens(t.from, from) && widens(t.from, to)) {
      note(Rewrite::Widened);
      return convert(t.from, to, t.a);
    }
    if (rounding == Rounding::NearestEven)
      if (TermId operation = narrowed(from, to, a))
        return operation;
  }
  Term term;
  term.op = TermOp::Convert;
  term.width = static_cast<uint8_t>(bitWidth(to));
  term.type = to;
  term.from = from;
  term.rounding = rounding;
  term.attribute = saturate ? 1 : 0;
  term.a = a;
  return make(term);
}

TermId TermStore::fromInteger(ScalarType from, ScalarType to, TermId a, Rounding rounding) {
  if (isConstant(a) && (rounding == Rounding::NearestEven || rounding == Rounding::TowardZero))
    return constant(bitWidth(to), scalar::convert(from, to, terms[a].imm, rounding));
  Term term;
  term.op = TermOp::FromInteger;
  term.width = static_cast<uint8_t>(bitWidth(to));
  term.type = to;
  term.from = from;
  term.rounding = rounding;
  term.a = a;
  return make(term);
}

} // namespace h3::prove
