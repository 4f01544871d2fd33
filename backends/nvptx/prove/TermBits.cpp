//===-- backends/nvptx/prove/TermBits.cpp - Terms of bits -----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/Term.h"

#include <algorithm>
#include <bit>

namespace h3::prove {
namespace {

constexpr uint64_t maskOf(unsigned bits) {
  return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
}

constexpr int64_t signedValue(uint64_t bits, unsigned width) {
  return static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
}

uint64_t hashOf(const Term &term) {
  uint64_t h = static_cast<uint64_t>(term.op) | uint64_t(term.width) << 8 |
               static_cast<uint64_t>(term.type) << 16 | static_cast<uint64_t>(term.from) << 24 |
               static_cast<uint64_t>(term.rounding) << 32 | uint64_t(term.attribute) << 40;
  for (uint64_t part : {uint64_t(term.a) << 32 | term.b, uint64_t(term.c), term.imm}) {
    h = (h ^ part) * 0x9E3779B97F4A7C15;
    h ^= h >> 32;
  }
  h *= 0xD6E8FEB86659FD93;
  return h >> 24;
}

} // namespace

std::string_view name(Rewrite rewrite) {
  constexpr std::string_view names[] = {
#define H3_REWRITE(enumerator, name, text) name,
#include "backends/nvptx/prove/rewrites.def"
  };
  return names[static_cast<size_t>(rewrite)];
}

TermStore::TermStore() : terms(1), lines(1), ownFacts(1), views(1), table(1 << 12) {}

TermId TermStore::make(TermOp op, unsigned width, TermId a, TermId b, TermId c) {
  Term term;
  term.op = op;
  term.width = static_cast<uint8_t>(width);
  term.a = a;
  term.b = b;
  term.c = c;
  return make(term);
}

TermId TermStore::make(const Term &term) {
  if (terms.size() * 3 > table.size() * 2) {
    std::vector<Entry> larger(table.size() * 2);
    for (const Entry &entry : table) {
      if (!entry.id)
        continue;
      size_t place = entry.hash & (larger.size() - 1);
      while (larger[place].id)
        place = (place + 1) & (larger.size() - 1);
      larger[place] = entry;
    }
    table = std::move(larger);
  }
  const auto hash = static_cast<uint32_t>(hashOf(term));
  size_t place = hash & (table.size() - 1);
  for (; table[place].id; place = (place + 1) & (table.size() - 1))
    if (table[place].hash == hash && terms[table[place].id] == term) {
      TermId id = table[place].id;
      if (lines[id] == 0)
        lines[id] = currentLine;
      return id;
    }
  auto id = static_cast<TermId>(terms.size());
  terms.push_back(term);
  lines.push_back(currentLine);
  ownFacts.push_back(notAsked);
  views.push_back({});
  table[place] = {hash, id};
  return id;
}

TermId TermStore::constant(unsigned width, uint64_t bits) {
  Term term;
  term.op = TermOp::Constant;
  term.width = static_cast<uint8_t>(width);
  term.imm = bits & maskOf(width);
  return make(term);
}

TermId TermStore::input(unsigned tensor, int64_t element, unsigned width) {
  Term term;
  term.op = TermOp::Input;
  term.width = static_cast<uint8_t>(width);
  term.a = tensor;
  term.imm = static_cast<uint64_t>(element);
  return make(term);
}

TermId TermStore::parameter(unsigned index, unsigned width) {
  return make(TermOp::Parameter, width, index);
}

TermId TermStore::affine(unsigned slopes, uint64_t base, unsigned width) {
  Term term;
  term.op = TermOp::Affine;
  term.width = static_cast<uint8_t>(width);
  term.a = slopes;
  term.imm = base;
  return make(term);
}

TermId TermStore::concat(TermId high, TermId low) {
  Term h = terms[high], l = terms[low];
  unsigned width = unsigned(h.width) + l.width;
  if (l.op == TermOp::Concat) // the low part of a Concat is no Concat
    return concat(concat(high, l.a), l.b);
  if (h.op == TermOp::Constant && l.op == TermOp::Constant)
    return constant(width, h.imm << l.width | l.imm);
  // Neighbouring pieces become one.
  TermId next = h.op == TermOp::Concat ? h.b : high;
  Term n = terms[next];
  TermId merged = 0;
  if (n.op == TermOp::Constant && l.op == TermOp::Constant)
    merged = constant(unsigned(n.width) + l.width, n.imm << l.width | l.imm);
  else if (n.op == TermOp::Extract && l.op == TermOp::Extract && n.a == l.a &&
           n.imm == l.imm + l.width)
    merged = extract(l.a, static_cast<unsigned>(l.imm), unsigned(n.width) + l.width);
  else if (n.op == TermOp::Select && l.op == TermOp::Select && n.a == l.a) {
    // Halves of one selection: the selection of the wholes, taken apart again below.
    TermId b = concat(n.b, l.b), c = concat(n.c, l.c);
    if (terms[b].op != TermOp::Concat && terms[c].op != TermOp::Concat)
      merged = select(n.a, b, c);
  }
  if (merged)
    return h.op == TermOp::Concat ? concat(h.a, merged) : merged;
  return make(TermOp::Concat, width, high, low);
}

TermId TermStore::extract(TermId a, unsigned from, unsigned width) {
  Term t = terms[a];
  if (from == 0 && width == t.width)
    return a;
  switch (t.op) {
  case TermOp::Constant:
    return constant(width, t.imm >> from);
  case TermOp::Extract:
    return extract(t.a, from + static_cast<unsigned>(t.imm), width);
  case TermOp::Concat: {
    unsigned low = terms[t.b].width;
    if (from >= low)
      return extract(t.a, from - low, width);
    if (from + width <= low)
      return extract(t.b, from, width);
    TermId high = extract(t.a, 0, from + width - low);
    return concat(high, extract(t.b, from, low - from));
  }
  case TermOp::Select: {
    TermId b = extract(t.b, from, width), c = extract(t.c, from, width);
    return select(t.a, b, c);
  }
  case TermOp::And:
  case TermOp::Or:
  case TermOp::Xor: {
    TermId b = extract(t.a, from, width), c = extract(t.b, from, width);
    return bitwise(t.op, b, c);
  }
  case TermOp::SignExtend:
    if (from + width <= terms[t.a].width)
      return extract(t.a, from, width);
    break;
  case TermOp::Add:
  case TermOp::Mul:
    if (from == 0) {
      TermId b = extract(t.a, 0, width), c = extract(t.b, 0, width);
      return t.op == TermOp::Add ? add(b, c) : mul(b, c);
    }
    break;
  default:
    break;
  }
  Term term;
  term.op = TermOp::Extract;
  term.width = static_cast<uint8_t>(width);
  term.a = a;
  term.imm = from;
  return make(term);
}

TermId TermStore::zeroExtend(TermId a, unsigned width) {
  unsigned own = terms[a].width;
  return own == width ? a : concat(constant(width - own, 0), a);
}

TermId TermStore::signExtend(TermId a, unsigned width) {
  Term t = terms[a];
  if (t.width == width)
    return a;
  if (t.op == TermOp::Constant)
    return constant(width, static_cast<uint64_t>(signedValue(t.imm, t.width)));
  // What begins with a zero bit is extended by zeros.
  if (t.op == TermOp::Concat && isConstant(t.a) &&
      signedValue(terms[t.a].imm, terms[t.a].width) >= 0)
    return zeroExtend(a, width);
  return make(TermOp::SignExtend, width, a);
}

/// Selections stand below Concat, bitwise operations too, so that packed values are seen by parts.
TermId TermStore::select(TermId condition, TermId a, TermId b) {
  Term c = terms[condition];
  if (c.op == TermOp::Constant)
    return c.imm ? a : b;
  if (a == b)
    return a;
  if (c.op == TermOp::Xor && isConstant(c.b, 1))
    return select(c.a, b, a);
  // Of a comparison and its opposite the one with the smaller set of orderings is written.
  if (c.op == TermOp::FCompare && c.attribute != Unordered &&
      ((c.attribute & Unordered) || c.attribute == (Less | Equal | Greater)))
    return select(bitNot(condition), b, a);
  if (terms[a].op == TermOp::Select && terms[a].a == condition)
    return select(condition, terms[a].b, b);
  if (terms[b].op == TermOp::Select && terms[b].a == condition)
    return select(condition, a, terms[b].c);
  if (terms[a].op == TermOp::Concat || terms[b].op == TermOp::Concat) {
    unsigned low = 64;
    for (TermId part : {a, b})
      if (terms[part].op == TermOp::Concat)
        low = std::min<unsigned>(low, terms[terms[part].b].width);
    unsigned width = terms[a].width;
    TermId high = select(condition, extract(a, low, width - low), extract(b, low, width - low));
    return concat(high, select(condition, extract(a, 0, low), extract(b, 0, low)));
  }
  if (terms[a].width == 1) {
    if (isConstant(a, 1) && isConstant(b, 0))
      return condition;
    if (isConstant(a, 0) && isConstant(b, 1))
      return bitNot(condition);
    if (isConstant(a, 1))
      return bitOr(condition, b);
    if (isConstant(b, 0))
      return bitAnd(condition, a);
    if (isConstant(a, 0))
      return bitAnd(bitNot(condition), b);
    if (isConstant(b, 1))
      return bitOr(bitNot(condition), a);
  }
  if (TermId same = selectCanonical(condition, a, b))
    return same;
  return make(TermOp::Select, terms[a].width, condition, a, b);
}

TermId TermStore::bitwise(TermOp op, TermId a, TermId b) {
  unsigned width = terms[a].width;
  if (isConstant(a) && isConstant(b)) {
    uint64_t x = terms[a].imm, y = terms[b].imm;
    return constant(width, op == TermOp::And ? x & y : op == TermOp::Or ? x | y : x ^ y);
  }
  if (isConstant(a) || (!isConstant(b) && b < a))
    std::swap(a, b); // a constant stands second
  if (a == b)
    return op == TermOp::Xor ? constant(width, 0) : a;
  if (isConstant(b)) {
    uint64_t bits = terms[b].imm, all = maskOf(width);
    if (op == TermOp::And ? bits == all : bits == 0)
      return a;
    if (op == TermOp::And ? bits == 0 : op == TermOp::Or && bits == all)
      return b;
    Term inner = terms[a];
    if (inner.op == op && isConstant(inner.b))
      return bitwise(op, inner.a, bitwise(op, inner.b, b));
    if (op == TermOp::And && bits != all && width > 1) {
      // A mask of low or high bits is what it leaves and zeros.
      // (A sign and a magnitude stay masks.)
      unsigned low = static_cast<unsigned>(std::countr_one(bits));
      if (low != 0 && low != width - 1 && bits == maskOf(low))
        return zeroExtend(extract(a, 0, low), width);
      unsigned zeros = static_cast<unsigned>(std::countr_zero(bits));
      if (zeros != 0 && zeros != width - 1 && bits == (all & ~maskOf(zeros)))
        return concat(extract(a, zeros, width - zeros), constant(zeros, 0));
    }
    // A predicate's opposite.
    if (op == TermOp::Xor && width == 1 && inner.op == TermOp::FCompare) {
      Term opposite = inner;
      opposite.attribute = AllOrderings & ~inner.attribute;
      return make(opposite);
    }
  }
  if (terms[a].op == TermOp::Concat || terms[b].op == TermOp::Concat) {
    unsigned low = 64;
    for (TermId part : {a, b})
      if (terms[part].op == TermOp::Concat)
        low = std::min<unsigned>(low, terms[terms[part].b].width);
    TermId high = bitwise(op, extract(a, low, width - low), extract(b, low, width - low));
    return concat(high, bitwise(op, extract(a, 0, low), extract(b, 0, low)));
  }
  return make(op, width, a, b);
}

TermId TermStore::bitAnd(TermId a, TermId b) {
  // Not negative and less than a number: unsigned, less than it.
  for (auto [x, y] : {std::pair(a, b), std::pair(b, a)}) {
    Term opposite = terms[x], less = terms[y];
    if (opposite.op != TermOp::Xor || less.op != TermOp::Less || !isConstant(opposite.b, 1))
      continue;
    Term negative = terms[opposite.a];
    if (negative.op == TermOp::Less && isConstant(negative.b, 0) && negative.a == less.a &&
        isConstant(less.b) && signedValue(terms[less.b].imm, terms[less.b].width) >= 0)
      return compare(TermOp::Below, less.a, less.b);
  }
  return bitwise(TermOp::And, a, b);
}
TermId TermStore::bitOr(TermId a, TermId b) { return bitwise(TermOp::Or, a, b); }
TermId TermStore::bitXor(TermId a, TermId b) { return bitwise(TermOp::Xor, a, b); }
TermId TermStore::bitNot(TermId a) { return bitXor(a, constant(terms[a].width, ~uint64_t(0))); }

TermId TermStore::add(TermId a, TermId b) {
  unsigned width = terms[a].width;
  if (isConstant(a) && isConstant(b))
    return constant(width, terms[a].imm + terms[b].imm);
  if (isConstant(a) || (!isConstant(b) && b < a))
    std::swap(a, b);
  if (isConstant(b, 0))
    return a;
  Term inner = terms[a];
  if (isConstant(b) && inner.op == TermOp::Add && isConstant(inner.b))
    return add(inner.a, add(inner.b, b));
  return make(TermOp::Add, width, a, b);
}

TermId TermStore::negate(TermId a) { return mul(a, constant(terms[a].width, ~uint64_t(0))); }

TermId TermStore::mul(TermId a, TermId b) {
  unsigned width = terms[a].width;
  if (isConstant(a) && isConstant(b))
    return constant(width, terms[a].imm * terms[b].imm);
  if (isConstant(a) || (!isConstant(b) && b < a))
    std::swap(a, b);
  if (isConstant(b, 0))
    return b;
  if (isConstant(b, 1))
    return a;
  Term inner = terms[a];
  if (isConstant(b) && inner.op == TermOp::Mul && isConstant(inner.b))
    return mul(inner.a, mul(inner.b, b));
  return make(TermOp::Mul, width, a, b);
}

TermId TermStore::shift(TermOp op, TermId a, TermId count) {
  unsigned width = terms[a].width;
  if (isConstant(count)) {
    uint64_t by = terms[count].imm;
    if (by == 0)
      return a;
    if (op == TermOp::ShiftRightSigned) {
      by = std::min<uint64_t>(by, width - 1);
      TermId top = extract(a, static_cast<unsigned>(by), width - static_cast<unsigned>(by));
      return signExtend(top, width);
    }
    if (by >= width)
      return constant(width, 0);
    auto bits = static_cast<unsigned>(by);
    if (op == TermOp::ShiftRight)
      return zeroExtend(extract(a, bits, width - bits), width);
    return concat(extract(a, 0, width - bits), constant(bits, 0));
  }
  return make(op, width, a, count);
}

TermId TermStore::compare(TermOp op, TermId a, TermId b) {
  unsigned width = terms[a].width;
  if (isConstant(a) && isConstant(b)) {
    uint64_t x = terms[a].imm, y = terms[b].imm;
    bool holds = op == TermOp::Equal   ? x == y
                 : op == TermOp::Below ? x < y
                                       : signedValue(x, width) < signedValue(y, width);
    return constant(1, holds);
  }
  if (a == b)
    return constant(1, op == TermOp::Equal);
  if (op == TermOp::Equal && (isConstant(a) || (!isConstant(b) && b < a)))
    std::swap(a, b);
  if (op == TermOp::Below)
    if (TermId isNaN = isNaNOfBits(a, b))
      return isNaN;
  // Padding of both sides by the same bits decides nothing.
  Term x = terms[a], y = terms[b];
  if (op == TermOp::Equal && isConstant(b)) {
    if (width == 1)
      return y.imm ? a : bitNot(a);
    if (x.op == TermOp::Concat && isConstant(x.a)) {
      unsigned low = terms[x.b].width;
      if (terms[x.a].imm != y.imm >> low)
        return constant(1, 0);
      return compare(op, x.b, constant(low, y.imm));
    }
    if (x.op == TermOp::Select && isConstant(x.b) && isConstant(x.c))
      return select(x.a, compare(op, x.b, b), compare(op, x.c, b));
  }
  return make(op, 1, a, b);
}

} // namespace h3::prove
