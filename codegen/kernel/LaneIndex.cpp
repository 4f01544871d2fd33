//===-- codegen/kernel/LaneIndex.cpp - Indices of a vector's elements -----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The elements of a vector have indices base, base + 1, ... where base is a multiple of the
// vector's length. So most indices computed from them are one value for the whole vector plus a
// constant for each element, also behind the division and the remainder that take an index apart
// into digits.
//
//===----------------------------------------------------------------------===//

#include "codegen/Mutant.h"
#include "codegen/kernel/Elements.h"

#include <llvm/Support/MathExtras.h>
#include <mlir/IR/Matchers.h>

#include <numeric>

using namespace mlir;

namespace h3 {

std::optional<LaneIndex> Elements::decompose(Value value, Pending &pending) {
  LaneIndex result;
  if (Value base = elementBases.lookup(value)) {
    if (leaf && leaf->end)
      return {}; // the elements that do not exist have another's index
    result.terms.push_back({base, {}, false, static_cast<int64_t>(leafVector)});
    for (unsigned lane = 0; lane < vector; ++lane)
      result.offsets.push_back(leafLane(mutated(Mutant::SwappedLanes) ? lane ^ 1 : lane));
    return result;
  }
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    result.offsets.assign(vector, constant.getSExtValue());
    return result;
  }
  if (isUniform(value)) {
    result.terms.push_back({values.lookup(value), value, false, 1});
    result.offsets.assign(vector, 0);
    return result;
  }
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() != 2)
    return {};
  if (isa<arith::DivUIOp, arith::RemUIOp>(op))
    return decomposeDigit(*op, pending);
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return {};
  std::optional<LaneIndex> lhs = decompose(op->getOperand(0), pending);
  std::optional<LaneIndex> rhs = decompose(op->getOperand(1), pending);
  if (!lhs || !rhs)
    return {};
  if (isa<arith::MulIOp>(op)) {
    if (!rhs->terms.empty())
      std::swap(lhs, rhs);
    int64_t factor = rhs->offsets.front();
    if (!rhs->terms.empty() || factor <= 0 ||
        llvm::any_of(rhs->offsets, [&](int64_t offset) { return offset != factor; }))
      return {};
    for (LaneIndex::Term &term : lhs->terms)
      if (factor != 1)
        term = {arith::MulIOp::create(builder, op->getLoc(), term.value, this->constant(factor)),
                {},
                term.isNegated,
                term.multiple * factor};
    for (int64_t &offset : lhs->offsets)
      offset *= factor;
    return lhs;
  }
  bool isSub = isa<arith::SubIOp>(op);
  for (LaneIndex::Term term : rhs->terms) {
    term.isNegated ^= isSub;
    lhs->terms.push_back(term);
  }
  for (auto [a, b] : llvm::zip(lhs->offsets, rhs->offsets))
    a += isSub ? -b : b;
  return lhs;
}

/// What all terms together are known to be a multiple of; 0 without terms.
int64_t Elements::knownMultiple(const LaneIndex &index) const {
  int64_t multiple = 0;
  for (const LaneIndex::Term &term : index.terms)
    multiple = std::gcd(multiple, term.multiple);
  return multiple;
}

/// A quotient or a remainder. With terms that are a multiple of m and offsets below m:
/// (k*m + o) / d is (k*m) / d and the remainder has o in it, if d is a multiple of m.
std::optional<LaneIndex> Elements::decomposeDigit(Operation &op, Pending &pending) {
  std::optional<LaneIndex> number = decompose(op.getOperand(0), pending);
  Value divisor = op.getOperand(1);
  bool isDiv = isa<arith::DivUIOp>(op);
  if (!number || llvm::any_of(number->terms, [](const LaneIndex::Term &term) {
        return term.source || term.isNegated;
      }))
    return {};
  auto [least, most] = std::minmax_element(number->offsets.begin(), number->offsets.end());
  if (*least < 0)
    return {};
  int64_t multiple = knownMultiple(*number);
  APInt known;
  bool isConstant = matchPattern(divisor, m_ConstantInt(&known));
  int64_t radix = isConstant ? known.getSExtValue() : 0;
  LaneIndex result;
  if (isConstant && radix > 0 && multiple % radix == 0) {
    if (isDiv && !number->terms.empty())
      result.terms.push_back(
          {arith::DivUIOp::create(builder, op.getLoc(), sumOf(*number, 0, op.getLoc()),
                                  constant(radix)),
           {},
           false,
           multiple / radix});
    for (int64_t offset : number->offsets)
      result.offsets.push_back(isDiv ? offset / radix : offset % radix);
    return result;
  }
  if (number->terms.empty() || *most >= multiple || !isUniform(divisor) ||
      !guards.multiple(divisor, multiple, pending))
    return {};
  Value sum = sumOf(*number, 0, op.getLoc()), by = emitted(divisor);
  if (isDiv) {
    result.terms.push_back({arith::DivUIOp::create(builder, op.getLoc(), sum, by), {}, false, 1});
    result.offsets.assign(vector, 0);
  } else {
    result.terms.push_back(
        {arith::RemUIOp::create(builder, op.getLoc(), sum, by), {}, false, multiple});
    result.offsets = number->offsets;
    if (mutated(Mutant::LostRemainder))
      result.offsets.assign(vector, number->offsets.front());
  }
  return result;
}

Value Elements::sumOf(const LaneIndex &index, int64_t offset, Location loc) {
  Value sum;
  for (bool negated : {false, true})
    for (const LaneIndex::Term &term : index.terms) {
      if (term.isNegated != negated)
        continue;
      if (negated)
        sum = arith::SubIOp::create(builder, loc, sum ? sum : constant(0), term.value);
      else
        sum = sum ? arith::AddIOp::create(builder, loc, sum, term.value) : term.value;
    }
  if (!sum)
    return constant(offset);
  return offset ? arith::AddIOp::create(builder, loc, sum, constant(offset)) : sum;
}

bool Elements::agrees(Value condition, Pending &pending) {
  if (!isElementIndex(condition))
    return isUniform(condition);
  Operation *op = condition.getDefiningOp();
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return agrees(op->getOperand(0), pending) && agrees(op->getOperand(1), pending);
  auto comparison = dyn_cast_or_null<arith::CmpIOp>(op);
  if (!comparison)
    return false;
  std::optional<LaneIndex> lhs = decompose(comparison.getLhs(), pending);
  std::optional<LaneIndex> rhs = decompose(comparison.getRhs(), pending);
  if (!lhs || !rhs)
    return false;
  // terms + offset against 0, where the terms are a multiple of `step`.
  int64_t step = 0;
  for (const LaneIndex *side : {&*lhs, &*rhs})
    for (const LaneIndex::Term &term : side->terms)
      if (!term.source)
        step = std::gcd(step, term.multiple);
  if (step == 0)
    return false;
  for (const LaneIndex *side : {&*lhs, &*rhs})
    for (const LaneIndex::Term &term : side->terms)
      if (term.source && !guards.multiple(term.source, step, pending))
        return false;
  auto side = [&](unsigned lane) {
    int64_t threshold = rhs->offsets[lane] - lhs->offsets[lane]; // terms < threshold, ...
    switch (comparison.getPredicate()) {
    case arith::CmpIPredicate::slt:
    case arith::CmpIPredicate::ult:
    case arith::CmpIPredicate::sge:
    case arith::CmpIPredicate::uge:
      return llvm::divideCeilSigned(threshold, step);
    default:
      return llvm::divideFloorSigned(threshold, step);
    }
  };
  switch (comparison.getPredicate()) {
  case arith::CmpIPredicate::eq:
  case arith::CmpIPredicate::ne:
    for (unsigned lane = 1; lane < vector; ++lane)
      if (rhs->offsets[lane] - lhs->offsets[lane] != rhs->offsets[0] - lhs->offsets[0])
        return false;
    return true;
  default:
    for (unsigned lane = 1; lane < vector; ++lane)
      if (side(lane) != side(0))
        return false;
    return true;
  }
}

std::optional<SmallVector<bool>> Elements::pattern(Value condition) {
  Operation *op = condition.getDefiningOp();
  if (!op || !isElementIndex(condition))
    return {};
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)) {
    std::optional<SmallVector<bool>> lhs = pattern(op->getOperand(0));
    std::optional<SmallVector<bool>> rhs = lhs ? pattern(op->getOperand(1)) : std::nullopt;
    if (!rhs)
      return {};
    for (auto [a, b] : llvm::zip(*lhs, *rhs))
      a = isa<arith::AndIOp>(op) ? a && b : isa<arith::OrIOp>(op) ? a || b : a != b;
    return lhs;
  }
  auto comparison = dyn_cast<arith::CmpIOp>(op);
  if (!comparison)
    return {};
  Pending pending;
  std::optional<LaneIndex> lhs = decompose(comparison.getLhs(), pending);
  std::optional<LaneIndex> rhs = lhs ? decompose(comparison.getRhs(), pending) : std::nullopt;
  if (!rhs || !lhs->terms.empty() || !rhs->terms.empty() || !pending.empty())
    return {};
  SmallVector<bool> result;
  for (auto [a, b] : llvm::zip(lhs->offsets, rhs->offsets))
    result.push_back(arith::applyCmpPredicate(comparison.getPredicate(),
                                              APInt(64, static_cast<uint64_t>(a)),
                                              APInt(64, static_cast<uint64_t>(b))));
  return result;
}

} // namespace h3
