//===-- runtime/dispatch/DLPack.h - Tensors as hosts pass them - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_DISPATCH_DLPACK_H
#define H3_RUNTIME_DISPATCH_DLPACK_H

#include "runtime/include/h3rt.h"
#include "runtime/plan/Plan.h"

#include <span>

namespace h3::rt {

/// The language's type; `Other` where it has none (vectors of lanes, too).
plan::DType dtypeOf(DLDataType type);

/// A DLTensor as a plan takes it: byte_offset is part of the address; strides == NULL means
/// row-major without gaps; more than 16 axes are kept as a rank that no contract admits. False if
/// it cannot be read: a negative rank, or axes without a shape.
bool readTensor(const DLTensor &from, plan::Tensor &to);

bool isEmpty(const plan::Tensor &tensor);

/// The parameters of a call, at most kMaxParameters. False if a struct is too small.
bool readParameters(const h3rt_call &call, std::span<plan::ParameterValue> to);

} // namespace h3::rt

#endif // H3_RUNTIME_DISPATCH_DLPACK_H
