//===-- codegen/kernel/Walk.cpp - The elements of a row, leaf by leaf -----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Walk.h"

#include <llvm/Support/MathExtras.h>

using namespace mlir;

namespace h3 {

using Place = LayoutDigit::Place;

Walk::Walk(OpBuilder &builder, Elements &elements, const Team &team, const Layout &layout,
           const Phase &phase)
    : builder(builder), elements(elements), shape(layout), loc(phase.op->getLoc()),
      extent(elements.emitted(phase.extent)), knownExtent(phase.constantExtent()),
      weights(layout.digits.size()) {
  int64_t weight = 1;
  for (size_t i = shape.digits.size(); i-- > 0;) {
    const LayoutDigit &digit = shape.digits[i];
    weights[i] = weight;
    if (digit.place == Place::Thread && digit.radix > 1) {
      Value part = team.member;
      if (digit.threadBit)
        part = arith::ShRUIOp::create(builder, loc, part, elements.constant(digit.threadBit));
      if (digit.radix < team.threads >> digit.threadBit)
        part = arith::AndIOp::create(builder, loc, part, elements.constant(digit.radix - 1));
      if (weight > 1)
        part = arith::MulIOp::create(builder, loc, part, elements.constant(weight));
      base = base ? arith::AddIOp::create(builder, loc, base, part) : part;
      mostThreadPart += (digit.radix - 1) * weight;
    }
    weight *= std::max<int64_t>(1, digit.radix);
  }
  if (team.blockThreads == 1 && shape.hasLoop())
    holdsWholeRounds = weight;
  if (!base)
    base = elements.constant(0);
}

Value Walk::make(Value a, int64_t b) {
  return b ? Value(arith::AddIOp::create(builder, loc, a, elements.constant(b))) : a;
}

Value Walk::exists(Value from, int64_t offset) {
  if (std::optional<int64_t> capacity = shape.capacity();
      knownExtent && capacity && *capacity <= *knownExtent)
    return {};
  // Rounds that are whole.
  if (knownExtent && holdsWholeRounds && *knownExtent % holdsWholeRounds == 0)
    return {};
  if (knownExtent && from == base &&
      mostThreadPart + offset + static_cast<int64_t>(shape.vector()) <= *knownExtent)
    return {};
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, make(from, offset), extent);
}

std::vector<Leaf> Walk::group() {
  std::vector<Leaf> leaves;
  addLeaves(0, 0, base, false, leaves);
  return leaves;
}

/// The leaves that the register digits from \p digit on make, in increasing index.
void Walk::addLeaves(size_t digit, int64_t offset, Value from, bool firstExists,
                     std::vector<Leaf> &leaves) {
  for (; digit < shape.digits.size(); ++digit) {
    const LayoutDigit &current = shape.digits[digit];
    if (current.place != Place::Register)
      continue;
    for (int64_t setting = 0; setting < current.radix; ++setting)
      addLeaves(digit + 1, offset + setting * weights[digit], from, firstExists, leaves);
    return;
  }
  Leaf leaf;
  leaf.offset = offset;
  leaf.base = make(from, offset);
  if (!(firstExists && leaves.empty()))
    leaf.exists = exists(from, offset);
  if (shape.vector() > 1 && elements.hasPartialVectors() &&
      !(knownExtent && *knownExtent % shape.vector() == 0)) {
    leaf.end = extent;
    leaf.first = leaf.base;
  }
  // What a leaf that does not exist reads is not used.
  if (leaf.exists)
    leaf.base = arith::SelectOp::create(builder, loc, leaf.exists, leaf.base, elements.constant(0));
  leaves.push_back(std::move(leaf));
}

void Walk::forEachGroup(SmallVectorImpl<Value> &carried, bool uniform, Group body) {
  visit(0, 0, carried, uniform, body);
}

void Walk::visit(size_t digit, int64_t offset, SmallVectorImpl<Value> &carried, bool uniform,
                 Group body) {
  size_t loopDigit = digit;
  while (loopDigit < shape.digits.size() && shape.digits[loopDigit].place != Place::Loop)
    ++loopDigit;
  if (loopDigit == shape.digits.size()) {
    std::vector<Leaf> leaves;
    addLeaves(digit, offset, base, false, leaves);
    body(leaves);
    return;
  }
  // Registers above the loop: one loop for each setting, in increasing index.
  for (; digit < loopDigit; ++digit) {
    if (shape.digits[digit].place != Place::Register)
      continue;
    for (int64_t setting = 0; setting < shape.digits[digit].radix; ++setting)
      visit(digit + 1, offset + setting * weights[digit], carried, uniform, body);
    return;
  }
  loop(loopDigit, offset, carried, uniform, body);
}

void Walk::loop(size_t digit, int64_t offset, SmallVectorImpl<Value> &carried, bool uniform,
                Group body) {
  bool isOpen = shape.digits[digit].radix == 0;
  Value lower, upper, step = elements.constant(weights[digit]);
  if (isOpen) {
    lower = uniform ? elements.constant(0) : base;
    upper = extent;
  } else {
    lower = elements.constant(0);
    upper = elements.constant(weights[digit] * shape.digits[digit].radix);
  }
  auto nest = scf::ForOp::create(builder, loc, lower, upper, step, carried);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(nest.getBody());
    carried.assign(nest.getRegionIterArgs().begin(), nest.getRegionIterArgs().end());
    round = nest.getInductionVar();
    bool own = isOpen && !uniform;
    Value from = own ? round : arith::AddIOp::create(builder, loc, base, round).getResult();
    std::vector<Leaf> leaves;
    addLeaves(digit + 1, offset, from, own, leaves);
    body(leaves);
    if (!carried.empty())
      scf::YieldOp::create(builder, loc, carried); // without values there is one already
  }
  carried.assign(nest.getResults().begin(), nest.getResults().end());
}

} // namespace h3
