//===-- codegen/driver/bundle/CheckDrawer.h - Calls that variants serve - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_BUNDLE_CHECKDRAWER_H
#define H3_CODEGEN_DRIVER_BUNDLE_CHECKDRAWER_H

#include "dsl/program/Program.h"
#include "runtime/bundle/SelfCheck.h"

#include <optional>
#include <random>
#include <vector>

namespace h3 {

/// Draws calls of an operator from its contract. Attempt k is the same call in every run.
class CheckDrawer {
public:
  CheckDrawer(const Program &program, const plan::OperatorPlan &contract);

  /// Attempts go through the layouts, each kind of layout this often: elements apart; elements
  /// behind each other at an odd place; rows at multiples of 2, 4, 8, 16 and 32 bytes.
  static constexpr unsigned kAttemptsOfLayout = 160;
  static constexpr unsigned kLayouts = 7;
  static constexpr unsigned kAttempts = kAttemptsOfLayout * kLayouts;

  /// The call of attempt \p attempt, even ones with finite numbers only, without its digest. Empty
  /// if dims of the sizes wanted do not meet the operator's requirements.
  std::optional<bundle::SelfCheck> draw(unsigned attempt);

private:
  /// What a free dim counts, which decides how large it may be.
  enum class Role : uint8_t { Rows, Length, Factor };

  uint64_t below(uint64_t count) { return engine() % count; }
  bool once(uint64_t times) { return below(times) == 0; }

  void findRoles();
  bool drawDims(plan::Binding &binding);
  int64_t drawDim(Role role);
  bundle::CheckTensor drawTensor(size_t index, const plan::Binding &binding);
  void chooseValues(bundle::SelfCheck &check, size_t first, const plan::Binding &binding);

  const Program &program;
  const plan::OperatorPlan &contract;
  std::vector<Role> roles;           ///< of each dim
  bool hasMatrix = false;            ///< a tensor of more axes than one
  std::vector<const Size *> indexed; ///< the extents that integers of tensors select in

  // Of the current attempt.
  std::mt19937_64 engine; ///< its numbers are the same with every standard library
  unsigned layout = 0;
  bool isSpecial = false;
};

} // namespace h3

#endif // H3_CODEGEN_DRIVER_BUNDLE_CHECKDRAWER_H
