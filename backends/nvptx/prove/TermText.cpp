//===-- backends/nvptx/prove/TermText.cpp - Terms for messages ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/Term.h"

#include <fmt/format.h>

#include <array>

namespace h3::prove {
namespace {

std::string_view nameOf(TermOp op) {
  switch (op) {
  case TermOp::Concat:
    return "concat";
  case TermOp::Extract:
    return "bits";
  case TermOp::SignExtend:
    return "signed";
  case TermOp::Select:
    return "select";
  case TermOp::And:
    return "and";
  case TermOp::Or:
    return "or";
  case TermOp::Xor:
    return "xor";
  case TermOp::Add:
    return "iadd";
  case TermOp::Mul:
    return "imul";
  case TermOp::ShiftLeft:
    return "shl";
  case TermOp::ShiftRight:
    return "shr";
  case TermOp::ShiftRightSigned:
    return "sar";
  case TermOp::Equal:
    return "ieq";
  case TermOp::Below:
    return "ult";
  case TermOp::Less:
    return "slt";
  case TermOp::FAdd:
    return "add";
  case TermOp::FMul:
    return "mul";
  case TermOp::FDiv:
    return "div";
  case TermOp::FFma:
    return "fma";
  case TermOp::FSqrt:
    return "sqrt";
  case TermOp::FNeg:
    return "neg";
  case TermOp::FAbs:
    return "abs";
  case TermOp::FMax:
    return "max";
  case TermOp::FMin:
    return "min";
  case TermOp::FMaxNum:
    return "max.num";
  case TermOp::FMinNum:
    return "min.num";
  case TermOp::FCompare:
    return "compare";
  case TermOp::Convert:
  case TermOp::FromInteger:
    return "convert";
  case TermOp::RsqrtApprox:
    return "rsqrt.approx";
  case TermOp::Ex2ApproxFtz:
    return "ex2.approx.ftz";
  case TermOp::RcpApproxFtz:
    return "rcp.approx.ftz";
  case TermOp::SqrtApprox:
    return "sqrt.approx";
  case TermOp::Canonical:
    return "canonical";
  case TermOp::AnyNaN:
    return "any_nan";
  default:
    return "?";
  }
}

std::string_view roundingText(Rounding rounding) {
  constexpr std::string_view texts[] = {"", ".rz", ".rm", ".rp"};
  return texts[static_cast<size_t>(rounding)];
}

std::string comparison(uint8_t orderings) {
  std::string text;
  if (orderings & Less)
    text += "<";
  if (orderings & Equal)
    text += "=";
  if (orderings & Greater)
    text += ">";
  if (orderings & Unordered)
    text += "?";
  return text;
}

std::array<TermId, 3> operandsOf(const Term &term) {
  if (term.op == TermOp::Input || term.op == TermOp::Parameter || term.op == TermOp::Affine ||
      term.op == TermOp::Constant)
    return {};
  return {term.a, term.b, term.c};
}

/// What a term is besides its operands.
Term headOf(Term term) {
  if (term.op != TermOp::Input && term.op != TermOp::Parameter)
    term.a = 0;
  term.b = term.c = 0;
  return term;
}

} // namespace

std::string describe(const TermStore &store, TermId id, const TermNames &names, unsigned depth) {
  const Term &term = store[id];
  switch (term.op) {
  case TermOp::None:
    return "nothing";
  case TermOp::Constant:
    return fmt::format("0x{:0{}X}", term.imm, (term.width + 3) / 4);
  case TermOp::Input:
    return fmt::format("{}[{}]", names.tensors[term.a], static_cast<int64_t>(term.imm));
  case TermOp::Parameter:
    return names.parameters[term.a];
  case TermOp::Affine:
    return fmt::format("index {}", term.imm);
  default:
    break;
  }
  std::string text(nameOf(term.op));
  if (term.op == TermOp::FFma && term.attribute)
    text = "fma-";
  if (term.op >= TermOp::FAdd && term.op <= TermOp::AnyNaN && term.op != TermOp::Convert &&
      term.op != TermOp::FromInteger)
    text += fmt::format("{}.{}", roundingText(term.rounding), name(term.type));
  if (term.op == TermOp::Convert || term.op == TermOp::FromInteger)
    text = fmt::format("{}{}{}", name(term.type), roundingText(term.rounding),
                       term.attribute ? ".sat" : "");
  if (term.op == TermOp::FCompare)
    text = fmt::format("{}.{}", comparison(term.attribute), name(term.type));
  if (term.op == TermOp::Extract)
    text += fmt::format("[{}:{}]", term.imm + term.width - 1, term.imm);
  if (depth == 0)
    return text + "(...)";
  text += "(";
  const char *separator = "";
  for (TermId operand : operandsOf(term))
    if (operand) {
      text += separator + describe(store, operand, names, depth - 1);
      separator = ", ";
    }
  return text + ")";
}

std::pair<TermId, TermId> whereTheyPart(const TermStore &store, TermId a, TermId b) {
  for (;;) {
    const Term &x = store[a], &y = store[b];
    if (!(headOf(x) == headOf(y)))
      return {a, b};
    std::array<TermId, 3> left = operandsOf(x), right = operandsOf(y);
    // Where operands may be exchanged, those that both have are set aside.
    if (left[1] && left[0] == right[1])
      std::swap(right[0], right[1]);
    else if (left[1] && left[1] == right[0])
      std::swap(left[0], left[1]);
    unsigned different = 0, place = 0;
    for (unsigned i = 0; i < 3; ++i)
      if (left[i] != right[i]) {
        ++different;
        place = i;
      }
    if (different != 1 || !left[place] || !right[place])
      return {a, b};
    a = left[place];
    b = right[place];
  }
}

} // namespace h3::prove
