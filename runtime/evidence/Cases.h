//===-- runtime/evidence/Cases.h - Calls with known results, for evidence - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The stress matrix of an operator set: for each operator and choice of its types some hundreds of
// calls, whose inputs follow from a few numbers each (runtime/bundle/SelfCheck.h), with the digests
// of what the reference gives for them. `h3gen evidence prepare` writes it, `evidence run` needs
// nothing else beside a bundle. One line of canonical JSON:
//
//   {"format":1,"operators":[{"cases":[CASE],"name":"swiglu<f16>","operator":HEX,
//                             "reference":"interpreter"}],"set":"h3_vae"}
//   CASE  {"call":CHECK,"timed":true,"what":"production rows=1797 d=8192, normal"}
//         CHECK as runtime/bundle/CheckJson.h has it
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_EVIDENCE_CASES_H
#define H3_RUNTIME_EVIDENCE_CASES_H

#include "runtime/bundle/Bundle.h"

#include <string>
#include <string_view>
#include <vector>

namespace h3::evidence {

inline constexpr int64_t kCasesFormat = 1;

struct Case {
  std::string what; ///< in words: its sizes and distribution
  bool isTimed = false;
  bundle::SelfCheck call;

  bool operator==(const Case &) const = default;
};

struct OperatorCases {
  std::string name; ///< "swiglu<f16>"
  bundle::Digest meaning;
  std::string reference; ///< what computed the digests
  std::vector<Case> cases;

  bool operator==(const OperatorCases &) const = default;
};

struct CaseList {
  std::string set;
  std::vector<OperatorCases> operators;

  bool operator==(const CaseList &) const = default;
};

std::string writeCases(const CaseList &list);

/// One line on an error. Whether a call fits an operator is for the one who has its plan.
Result<CaseList, bundle::Error> readCases(std::string_view text);

} // namespace h3::evidence

#endif // H3_RUNTIME_EVIDENCE_CASES_H
