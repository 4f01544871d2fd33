//===-- runtime/tensor/Slice.h - References to tensors and their slices *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

//
// `name`, `name[..., 0:64]`: how a command line names a tensor of a file, or a part of it. Python's
// meaning: an integer (also a negative one) takes one index and drops the axis; `a:b:c` takes every
// c-th index of a .. b-1, its ends clamped; `...` stands for the axes between; axes that are not
// named are taken whole. The result is a strided view of the tensor; nothing is copied. A negative
// step would need a negative stride, which no contract admits, and is an error.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_TENSOR_SLICE_H
#define H3_RUNTIME_TENSOR_SLICE_H

#include "runtime/plan/Plan.h"
#include "runtime/tensor/Result.h"
#include "runtime/tensor/TensorData.h"

namespace h3::tensor {

/// One place between the brackets.
struct Subscript {
  enum class Kind : uint8_t { Index, Range, Ellipsis };
  Kind kind = Kind::Index;
  int64_t index = 0;           ///< Index
  std::optional<int64_t> from; ///< Range
  std::optional<int64_t> to;   ///< Range
  int64_t step = 1;            ///< Range; positive
};

/// `1x3_normal.qkv[..., 0:64]`: everything in front of the first `[` is the tensor's name.
struct TensorReference {
  std::string name;
  std::vector<Subscript> subscripts;
};

Result<TensorReference> parseReference(std::string_view text);

/// A view into a row-major tensor; offset and strides count elements. An axis of extent 0 or 1 has
/// some stride that is not used.
struct StridedView {
  int64_t offset = 0;
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;
};

/// The whole of a row-major tensor, and a part of it.
StridedView wholeView(std::span<const int64_t> shape);
Result<StridedView> slice(std::span<const int64_t> shape, std::span<const Subscript> subscripts);

/// A view of a tensor that somebody owns.
struct TensorView {
  const TensorData *tensor = nullptr;
  StridedView view;

  /// As a launch plan takes it: the address of the first element at the host. `base` replaces the
  /// address of the tensor's buffer (its place on a device). The rank is at most 16.
  plan::Tensor forPlan() const;
  plan::Tensor forPlan(uint64_t base) const;

  /// The elements in row-major order without gaps.
  std::vector<std::byte> packed() const;
};

/// Finds and slices a tensor of the file by a reference such as `1x3_normal.qkv[..., 0:64]`. The
/// view points into the file, which must stay.
Result<TensorView> select(const TensorFile &file, std::string_view reference);

} // namespace h3::tensor

#endif // H3_RUNTIME_TENSOR_SLICE_H
