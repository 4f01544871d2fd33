//===-- backends/nvptx/prove/SpecTerms.cpp - What a spec computes, as terms -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/SpecTerms.h"

#include "backends/nvptx/prove/TermMemory.h"
#include "dsl/interpreter/Evaluator.h"
#include "dsl/interpreter/Resolved.h"

namespace h3::prove {

static_assert(interpreter::EvaluationDomain<TermDomain>);

const SpecTerms::Outputs &SpecTerms::of(const plan::Binding &binding, const IndexPattern &indices) {
  std::vector<int64_t> dims(binding.dims.begin(), binding.dims.begin() + long(program.dims.size()));
  std::vector<std::vector<int64_t>> strides;
  std::vector<int64_t> key = dims, counts;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    auto rank = static_cast<unsigned>(program.tensors[t].extents.size());
    Numbering numbering = numberingOf(binding.tensors[t], rank);
    strides.emplace_back(numbering.strides.begin(), numbering.strides.begin() + rank);
    counts.push_back(numbering.count);
    key.insert(key.end(), strides.back().begin(), strides.back().end());
  }
  key.push_back(indices.isUsed ? indices.variation : -1);
  auto [place, isNew] = known.try_emplace(std::move(key));
  Outputs &outputs = place->second;
  if (!isNew)
    return outputs;
  TermDomain domain{terms, program};
  domain.indices = indices;
  domain.outputs.resize(program.tensors.size());
  for (size_t t = 0; t < program.tensors.size(); ++t)
    if (program.tensors[t].isOutput)
      domain.outputs[t].resize(static_cast<size_t>(counts[t]));
  terms.setLine(0);
  std::unique_ptr<interpreter::Resolved> resolved =
      interpreter::resolve(program, dims, strides, outputs.problem);
  if (resolved)
    outputs.problem = interpreter::Evaluator<TermDomain>(*resolved, domain).run().value_or("");
  if (outputs.problem.empty() && domain.problem)
    outputs.problem = domain.problem;
  outputs.elements = std::move(domain.outputs);
  return outputs;
}

} // namespace h3::prove
