//===-- runtime/dispatch/DLPack.cpp - Tensors as hosts pass them ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/dispatch/DLPack.h"

#include <algorithm>
#include <cstring>

namespace h3::rt {

plan::DType dtypeOf(DLDataType type) {
  if (type.lanes != 1)
    return plan::DType::Other;
  switch (type.code << 8 | type.bits) {
  case kDLFloat << 8 | 16:
    return plan::DType::F16;
  case kDLBfloat << 8 | 16:
    return plan::DType::BF16;
  case kDLFloat << 8 | 32:
    return plan::DType::F32;
  case kDLFloat << 8 | 64:
    return plan::DType::F64;
  case kDLInt << 8 | 32:
    return plan::DType::I32;
  case kDLInt << 8 | 64:
    return plan::DType::I64;
  case kDLFloat8_e4m3fn << 8 | 8:
    return plan::DType::E4M3;
  case kDLFloat8_e5m2 << 8 | 8:
    return plan::DType::E5M2;
  default:
    return plan::DType::Other;
  }
}

bool readTensor(const DLTensor &from, plan::Tensor &to) {
  if (from.ndim < 0 || (from.ndim > 0 && !from.shape))
    return false;
  const auto rank = static_cast<unsigned>(from.ndim);
  const unsigned known = std::min(rank, plan::kMaxHostRank);
  to.address = reinterpret_cast<uintptr_t>(from.data) + from.byte_offset;
  to.dtype = dtypeOf(from.dtype);
  to.rank = static_cast<uint8_t>(std::min(rank, 255u));
  std::copy_n(from.shape, known, to.extents.begin());
  if (from.strides) {
    std::copy_n(from.strides, known, to.strides.begin());
  } else {
    // As Tensor::contiguous has it: a stride that overflows is saturated, the call then declined.
    int64_t stride = 1;
    for (unsigned axis = known; axis-- > 0;) {
      to.strides[axis] = stride;
      if (from.shape[axis] > 1 && __builtin_mul_overflow(stride, from.shape[axis], &stride))
        stride = INT64_MAX;
    }
  }
  return true;
}

bool isEmpty(const plan::Tensor &tensor) {
  const unsigned known = std::min<unsigned>(tensor.rank, plan::kMaxHostRank);
  return std::find(tensor.extents.begin(), tensor.extents.begin() + known, 0) !=
         tensor.extents.begin() + known;
}

bool readParameters(const h3rt_call &call, std::span<plan::ParameterValue> to) {
  // The caller's struct may be longer than ours: its size is the step from one to the next.
  auto at = reinterpret_cast<const std::byte *>(call.parameters);
  for (int32_t i = 0; i < call.parameter_count; ++i) {
    h3rt_parameter value;
    std::memcpy(&value.size, at, sizeof(value.size));
    if (value.size < sizeof(value))
      return false;
    const size_t step = value.size;
    std::memcpy(&value, at, sizeof(value));
    at += step;
    to[static_cast<size_t>(i)] = {value.dtype.bits != 0, dtypeOf(value.dtype), value.bits};
  }
  return true;
}

} // namespace h3::rt
