//===-- backends/nvptx/audit/Expansions.h - What ptxas makes of one instruction - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Divisions, roots, approximations and most conversions have no machine instruction: ptxas writes a
// sequence, partly as a routine that it calls. Which ones is data, learned for each version of
// ptxas from kernels that hold one such instruction (`Learn.h`), one file a version in
// `expansions/`:
//
//   expansion div.rn.f32 | FCHK*1 FFMA*5 MUFU.RCP*1 CALL:__cuda_sm3x_div_rn_noftz_f32_slowpath*1 |
//   sm_80 sm_86 routine __cuda_sm20_div_u64 | F2I.U64.TRUNC*1 I2F.U64.RP*1 MUFU.RCP*1 | sm_80 sm_86
//
// Only what computes floats is counted, and calls; "-" is nothing. A form has several lines where
// ptxas has several ways.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_AUDIT_EXPANSIONS_H
#define H3_BACKENDS_NVPTX_AUDIT_EXPANSIONS_H

#include "runtime/Result.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace h3::audit {

/// How often each signature occurs.
using Bag = std::map<std::string, unsigned>;

std::string text(const Bag &bag);

class Expansions {
public:
  /// Of a version of ptxas ("13.0.88"); null if none was learned.
  static const Expansions *ofVersion(std::string_view ptxas);
  /// The versions that there are, separated by ", ".
  static std::string versions();

  static Result<Expansions, std::string> parse(std::string_view text);
  /// The text of a file: sorted, so that the same facts are the same bytes.
  std::string print() const;

  void add(const std::string &form, const Bag &bag, const std::string &target) {
    expansions[form][bag].insert(target);
  }
  void addRoutine(const std::string &name, const Bag &bag, const std::string &target) {
    routines[name][bag].insert(target);
  }

  /// The ways of an instruction on a target, longest first. Empty if none was learned.
  std::vector<Bag> of(const std::string &form, const std::string &target) const {
    return find(expansions, form, target);
  }
  std::vector<Bag> ofRoutine(const std::string &name, const std::string &target) const {
    return find(routines, name, target);
  }
  bool knowsTarget(const std::string &target) const;

  std::string ptxas;    ///< version
  std::string nvdisasm; ///< version that printed what was learned

private:
  using Table = std::map<std::string, std::map<Bag, std::set<std::string>>>;
  static std::vector<Bag> find(const Table &table, const std::string &name,
                               const std::string &target);

  Table expansions, routines;
};

} // namespace h3::audit

#endif // H3_BACKENDS_NVPTX_AUDIT_EXPANSIONS_H
