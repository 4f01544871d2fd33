//===-- runtime/plan/Overlap.cpp - Do two views share memory ----*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The bytes of two views meet if and only if there are an index i of a and an index j of b with
//
//   address(a) + w(a) * sum i[k] stride(a)[k]  -  address(b) - w(b) * sum j[k] stride(b)[k]
//
// in -(w(a)-1) .. w(b)-1, where w is an element's bytes. That is a linear equation over bounded
// integers. `reachable` decides it by depth-first search over the terms in order of falling
// coefficient. What the remaining terms can still contribute bounds the choices of each, and the
// common divisor of the remaining coefficients excludes most windows at once; terms with equal
// coefficients are merged first. Views that occur in practice take a few steps. The search has a
// budget; where it runs out the answer is the safe one, "may overlap".
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Plan.h"

#include <algorithm>
#include <numeric>

namespace h3::plan {

namespace {

__extension__ typedef __int128 Wide;

/// Steps of one question. About ten microseconds; the common views take fewer than twenty.
constexpr unsigned kBudget = 2048;

/// coefficient * v with lo <= v <= hi and coefficient > 0. Products stay below 2^64 in magnitude,
/// because a tensor spans less than 2^63 bytes.
struct Term {
  uint64_t coefficient = 0;
  Wide lo = 0;
  Wide hi = 0;
};

Wide floorDiv(Wide a, Wide b) { return a / b - (a % b < 0 ? 1 : 0); }
Wide ceilDiv(Wide a, Wide b) { return -floorDiv(-a, b); }

/// A sum of terms, sorted by falling coefficient.
class Search {
public:
  void add(uint64_t coefficient, Wide lo, Wide hi) {
    for (unsigned i = 0; i < count; ++i)
      if (terms[i].coefficient == coefficient) {
        terms[i].lo += lo;
        terms[i].hi += hi;
        return;
      }
    terms[count++] = {coefficient, lo, hi};
  }

  /// False only if no choice of all v brings the sum into lo .. hi.
  bool reaches(Wide lo, Wide hi) {
    std::sort(terms.begin(), terms.begin() + count,
              [](const Term &a, const Term &b) { return a.coefficient > b.coefficient; });
    restLo[count] = restHi[count] = 0;
    restDivisor[count] = 0;
    for (unsigned i = count; i-- > 0;) {
      restLo[i] = restLo[i + 1] + Wide(terms[i].coefficient) * terms[i].lo;
      restHi[i] = restHi[i + 1] + Wide(terms[i].coefficient) * terms[i].hi;
      restDivisor[i] = std::gcd(restDivisor[i + 1], terms[i].coefficient);
    }
    budget = kBudget;
    return reachable(0, lo, hi);
  }

private:
  bool reachable(unsigned index, Wide lo, Wide hi) {
    lo = std::max(lo, restLo[index]);
    hi = std::min(hi, restHi[index]);
    if (lo > hi)
      return false;
    if (index == count)
      return true; // the empty sum is 0, and 0 is in the window
    const Wide divisor = restDivisor[index];
    if (ceilDiv(lo, divisor) * divisor > hi)
      return false;
    const Term &term = terms[index];
    const Wide coefficient = term.coefficient;
    const Wide first = std::max(term.lo, ceilDiv(lo - restHi[index + 1], coefficient));
    const Wide last = std::min(term.hi, floorDiv(hi - restLo[index + 1], coefficient));
    if (index + 1 == count)
      return first <= last;
    for (Wide v = first; v <= last; ++v) {
      if (budget == 0)
        return true;
      --budget;
      if (reachable(index + 1, lo - coefficient * v, hi - coefficient * v))
        return true;
    }
    return false;
  }

  std::array<Term, 2 * kMaxRank> terms;
  std::array<Wide, 2 * kMaxRank + 1> restLo, restHi;
  std::array<uint64_t, 2 * kMaxRank + 1> restDivisor;
  unsigned count = 0;
  unsigned budget = 0;
};

} // namespace

uint64_t lastByteOf(const BoundView &view) {
  uint64_t offset = 0;
  for (unsigned axis = 0; axis < view.rank; ++axis)
    offset += static_cast<uint64_t>(view.tensor->extents[axis] - 1) *
              static_cast<uint64_t>(view.tensor->strides[axis]);
  return view.tensor->address + offset * view.elementBytes + view.elementBytes - 1;
}

bool mayOverlap(const BoundView &a, const BoundView &b) {
  if (a.tensor->elements == 0 || b.tensor->elements == 0)
    return false;
  if (lastByteOf(a) < b.tensor->address || lastByteOf(b) < a.tensor->address)
    return false;

  Search search;
  for (unsigned axis = 0; axis < a.rank; ++axis)
    if (a.tensor->extents[axis] > 1 && a.tensor->strides[axis] > 0)
      search.add(static_cast<uint64_t>(a.tensor->strides[axis]) * a.elementBytes, 0,
                 a.tensor->extents[axis] - 1);
  for (unsigned axis = 0; axis < b.rank; ++axis)
    if (b.tensor->extents[axis] > 1 && b.tensor->strides[axis] > 0)
      search.add(static_cast<uint64_t>(b.tensor->strides[axis]) * b.elementBytes,
                 1 - Wide(b.tensor->extents[axis]), 0);
  const Wide distance = Wide(b.tensor->address) - Wide(a.tensor->address);
  return search.reaches(distance - (Wide(a.elementBytes) - 1),
                        distance + (Wide(b.elementBytes) - 1));
}

bool mayOverlapItself(const BoundView &view) {
  const BoundTensor &tensor = *view.tensor;
  if (tensor.elements == 0)
    return false;
  std::array<unsigned, kMaxRank> axes;
  unsigned count = 0;
  for (unsigned axis = 0; axis < view.rank; ++axis) {
    if (tensor.extents[axis] <= 1)
      continue;
    if (tensor.strides[axis] == 0)
      return true;
    // In increasing order of stride; few, so that insertion serves.
    unsigned place = count++;
    for (; place > 0 && tensor.strides[axes[place - 1]] > tensor.strides[axis]; --place)
      axes[place] = axes[place - 1];
    axes[place] = axis;
  }

  // Each stride steps over everything that the smaller ones reach: the usual case.
  Wide reach = 0;
  bool nested = true;
  for (unsigned i = 0; i < count && nested; ++i) {
    nested = tensor.strides[axes[i]] > reach;
    reach += Wide(tensor.strides[axes[i]]) * (tensor.extents[axes[i]] - 1);
  }
  if (nested)
    return false;

  // Two elements share an address if and only if some difference of indices, not all 0, has sum 0.
  // Its first component that is not 0 may be taken as positive.
  for (unsigned first = 0; first < count; ++first) {
    Search search;
    const int64_t stride = tensor.strides[axes[first]];
    search.add(static_cast<uint64_t>(stride), 1, tensor.extents[axes[first]] - 1);
    for (unsigned i = first + 1; i < count; ++i) {
      if (tensor.strides[axes[i]] == stride)
        return true;
      search.add(static_cast<uint64_t>(tensor.strides[axes[i]]), 1 - Wide(tensor.extents[axes[i]]),
                 Wide(tensor.extents[axes[i]]) - 1);
    }
    if (search.reaches(0, 0))
      return true;
  }
  return false;
}

} // namespace h3::plan
