//===-- tests/unit/runtime/plan/Plans.h - Plans the tests share -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_UNIT_RUNTIME_PLAN_PLANS_H
#define H3_TESTS_UNIT_RUNTIME_PLAN_PLANS_H

#include "runtime/plan/Plan.h"

namespace h3::plan::test {

/// Base addresses far apart, aligned to 256 bytes.
inline constexpr uint64_t kA = 0x7f0000000000;
inline constexpr uint64_t kB = 0x7f1000000000;
inline constexpr uint64_t kC = 0x7f2000000000;
inline constexpr uint64_t kD = 0x7f3000000000;
inline constexpr uint64_t kE = 0x7f4000000000;
inline constexpr uint64_t kF = 0x7f5000000000;

/// Plans as the compiler writes them, of three operators of the language page.
///
/// qk_norm_rope: tensors q k cos sin q_out k_out; dims tokens heads_q heads_k d=64 r=48; variants
/// v16_i32 (aligned to 16 bytes, strides multiples of 8, small), v2_i64 (no guards).
OperatorPlan qkNormRope();

/// swiglu<f16>: tensors x[rows, 2 * d] strides(_, 1), y[rows, d] strides(_, 1); variants v16_i32
/// and v2_i64; 8 rows a block.
OperatorPlan swiglu();

/// residual_rms_norm<f32>: residual branch scale weight h(may alias residual) y; d = 2048.
OperatorPlan residualRmsNorm();

/// One f32 output `y` whose extents are free dims, and nothing else: what a single tensor may be.
OperatorPlan single(unsigned rank, bool isOutput);

/// scales each: x[n], y[n] in f32, parameter scale = 1.0; 256 elements a block; variants v4_i32 (16
/// bytes aligned, n small) and v4_i64 (no guards).
OperatorPlan scales();

/// The reason, or nothing if the call was served.
std::optional<Decline> declineOf(const OperatorPlan &plan, std::span<const Tensor> tensors,
                                 std::span<const ParameterValue> parameters = {});

/// `describe` of the decline; "served" if there was none.
std::string outcome(const OperatorPlan &plan, std::span<const Tensor> tensors,
                    std::span<const ParameterValue> parameters = {});

} // namespace h3::plan::test

#endif // H3_TESTS_UNIT_RUNTIME_PLAN_PLANS_H
