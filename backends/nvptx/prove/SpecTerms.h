//===-- backends/nvptx/prove/SpecTerms.h - What a spec computes, as terms - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The spec's terms of calls. Elements go by number (TermMemory.h), so one evaluation serves every
// kernel and every layout with the same sizes and the same broadcasts.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PROVE_SPECTERMS_H
#define H3_BACKENDS_NVPTX_PROVE_SPECTERMS_H

#include "backends/nvptx/prove/TermDomain.h"
#include "runtime/plan/Plan.h"

#include <map>
#include <string>
#include <vector>

namespace h3::prove {

class SpecTerms {
public:
  SpecTerms(TermStore &terms, const Program &program) : terms(terms), program(program) {}

  struct Outputs {
    /// By tensor and number of the element; 0: the spec does not store it.
    std::vector<std::vector<TermId>> elements;
    std::string problem; ///< why there are none
  };
  /// Valid as long as this object.
  const Outputs &of(const plan::Binding &binding, const IndexPattern &indices);

private:
  TermStore &terms;
  const Program &program;
  std::map<std::vector<int64_t>, Outputs> known;
};

} // namespace h3::prove

#endif // H3_BACKENDS_NVPTX_PROVE_SPECTERMS_H
