//===-- codegen/kernel/Streams.cpp - Inputs that are read once ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Streams.h"

#include <mlir/IR/Matchers.h>

using namespace mlir;

namespace h3 {
namespace {

/// Where along a row a load reads: the element's index plus `distance`, if there is one, plus
/// `constant`.
struct Place {
  Value extent; ///< of the elements' loop
  Value distance;
  int64_t constant = 0;

  bool operator==(const Place &) const = default;
};

/// The phase whose elements \p value counts, or null.
const Phase *phaseOf(const Job &job, Value value) {
  for (const Phase &phase : job.phases)
    if (phase.element() == value)
      return &phase;
  return nullptr;
}

std::optional<Place> placeOf(const Job &job, Value index) {
  if (const Phase *phase = phaseOf(job, index))
    return Place{phase->extent, {}, 0};
  auto sum = index.getDefiningOp<arith::AddIOp>();
  if (!sum)
    return {};
  Value element = sum.getLhs(), other = sum.getRhs();
  const Phase *phase = phaseOf(job, element);
  if (!phase) {
    std::swap(element, other);
    phase = phaseOf(job, element);
  }
  if (!phase)
    return {};
  APInt constant;
  if (matchPattern(other, m_ConstantInt(&constant)))
    return Place{phase->extent, {}, constant.getSExtValue()};
  return Place{phase->extent, other, 0};
}

/// Whether loops over one extent from \p a and from \p b have no index in common.
bool areApart(const Place &a, const Place &b) {
  if (a.extent != b.extent)
    return false;
  // One begins where the other ends.
  if (!a.distance != !b.distance)
    return a.constant == 0 && b.constant == 0 && (a.distance ? a.distance : b.distance) == a.extent;
  APInt extent;
  return a.distance == b.distance && matchPattern(a.extent, m_ConstantInt(&extent)) &&
         std::abs(a.constant - b.constant) >= extent.getSExtValue();
}

/// Whether every index of the rows is one of \p indices by itself.
bool readsOwnRow(const Job &job, OperandRange indices) {
  return llvm::all_of(ir::ForallOp(job.rows).getIndices(),
                      [&](Value row) { return llvm::is_contained(indices, row); });
}

} // namespace

bool isReadOnce(Value tensor, const std::vector<Job> &jobs, const KernelSchedule &schedule) {
  const Job *reader = nullptr;
  bool holds = false;
  std::vector<Place> places;
  for (Operation *user : tensor.getUsers()) {
    auto load = dyn_cast<ir::LoadOp>(user);
    if (!load || load.getIndices().empty())
      return false;
    const Job *job = nullptr;
    for (auto [candidate, how] : llvm::zip(jobs, schedule.jobs))
      if (ir::ForallOp(candidate.rows)->isAncestor(load)) {
        job = &candidate;
        holds = how.kind != JobSchedule::Kind::Loop;
      }
    if (!job || (reader && reader != job) || !readsOwnRow(*job, load.getIndices().drop_back()))
      return false;
    reader = job;
    std::optional<Place> place = placeOf(*job, load.getIndices().back());
    if (!place)
      return false;
    for (const Place &other : places)
      if (!areApart(*place, other) && !(holds && *place == other))
        return false;
    places.push_back(*place);
  }
  return reader != nullptr;
}

} // namespace h3
