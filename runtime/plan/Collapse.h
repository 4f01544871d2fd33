//===-- runtime/plan/Collapse.h - From the host's axes to the operator's *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_PLAN_COLLAPSE_H
#define H3_RUNTIME_PLAN_COLLAPSE_H

#include "runtime/plan/Plan.h"

namespace h3::plan {

/// Checks what concerns one tensor alone before dims are known (type, rank, signs, size) and
/// computes its bound view by the rule in Plan.h. `index` is the tensor's place in the plan, for
/// the decline.
std::optional<Decline> collapse(const TensorSpec &spec, unsigned index, const Tensor &host,
                                BoundTensor &bound);

} // namespace h3::plan

#endif // H3_RUNTIME_PLAN_COLLAPSE_H
