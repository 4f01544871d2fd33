//===-- codegen/driver/bundle/CheckDrawer.h - Calls that variants serve - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_BUNDLE_CHECKDRAWER_H
#define H3_CODEGEN_DRIVER_BUNDLE_CHECKDRAWER_H

#include "dsl/program/Program.h"
#include "runtime/bundle/SelfCheck.h"

#include <map>
#include <optional>
#include <random>
#include <vector>

namespace h3 {

/// Draws calls of an operator from its contract. The same wish is the same call in every run.
class CheckDrawer {
public:
  CheckDrawer(const Program &program, const plan::OperatorPlan &contract);

  /// Layouts: elements apart; elements behind each other at an odd place; rows at multiples of 2,
  /// 4, 8, 16 and 32 bytes.
  static constexpr unsigned kLayouts = 7;

  /// How the values of inputs that are floats are chosen.
  enum class Choice : uint8_t {
    Finite,   ///< numbers
    Specials, ///< what is none too, as much as leaves numbers in the results
    All,      ///< `Wish::values`, in all of them
  };

  struct Wish {
    uint64_t seed = 0;
    unsigned layout = 0;
    Choice choice = Choice::Finite;
    bundle::Values values = bundle::Values::Normal;
    uint64_t most = UINT64_MAX;          ///< elements of all tensors
    uint64_t least = 0;                  ///< elements of the outputs
    int64_t longest = 0;                 ///< of a row; 0: as it comes
    std::map<unsigned, int64_t> sizes{}; ///< of these dims, by their numbers
    bool isPacked = false;        ///< rows behind each other, from an aligned start; no layout
    bool isInPlace = false;       ///< outputs that may alias an input do
    bool isSplit = false;         ///< leading axes are two of the host's where that is possible
    bool drawsParameters = false; ///< others than the defaults
  };

  /// The call without its digest. Empty if it is not as it is wished, or if dims of the sizes drawn
  /// do not meet the operator's requirements.
  std::optional<bundle::SelfCheck> draw(const Wish &wish);

  /// What self-checks are made of: attempt k of this many goes through the layouts, each this
  /// often, even ones with finite numbers only.
  static constexpr unsigned kAttemptsOfLayout = 160;
  static constexpr unsigned kAttempts = kAttemptsOfLayout * kLayouts;
  std::optional<bundle::SelfCheck> draw(unsigned attempt);

  /// The dims that are free and count rows, or, where there is no matrix, elements.
  std::vector<unsigned> rowDims() const;

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
  plan::ParameterValue drawParameter(const plan::ParameterSpec &spec);
  void putInPlace(bundle::SelfCheck &check, size_t first) const;

  const Program &program;
  const plan::OperatorPlan &contract;
  std::vector<Role> roles;           ///< of each dim
  bool hasMatrix = false;            ///< a tensor of more axes than one
  std::vector<const Size *> indexed; ///< the extents that integers of tensors select in

  // Of the current call.
  std::mt19937_64 engine; ///< its numbers are the same with every standard library
  Wish wish;
};

} // namespace h3

#endif // H3_CODEGEN_DRIVER_BUNDLE_CHECKDRAWER_H
