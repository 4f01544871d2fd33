//===-- runtime/plan/Collapse.cpp - From the host's axes to the operator's *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/Collapse.h"
#include "runtime/plan/Checked.h"

#include <cassert>

namespace h3::plan {

Tensor Tensor::strided(uint64_t address, DType dtype, std::span<const int64_t> extents,
                       std::span<const int64_t> strides) {
  assert(extents.size() == strides.size() && extents.size() <= kMaxHostRank);
  Tensor tensor;
  tensor.address = address;
  tensor.dtype = dtype;
  tensor.rank = static_cast<uint8_t>(extents.size());
  for (size_t i = 0; i < extents.size(); ++i) {
    tensor.extents[i] = extents[i];
    tensor.strides[i] = strides[i];
  }
  return tensor;
}

Tensor Tensor::strided(uint64_t address, DType dtype, std::initializer_list<int64_t> extents,
                       std::initializer_list<int64_t> strides) {
  return strided(address, dtype, std::span(extents.begin(), extents.size()),
                 std::span(strides.begin(), strides.size()));
}

Tensor Tensor::contiguous(uint64_t address, DType dtype, std::span<const int64_t> extents) {
  assert(extents.size() <= kMaxHostRank);
  std::array<int64_t, kMaxHostRank> strides{};
  int64_t stride = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    strides[i] = stride;
    stride = checkedMul(stride, extents[i] > 1 ? extents[i] : 1).value_or(INT64_MAX);
  }
  return strided(address, dtype, extents, std::span(strides.data(), extents.size()));
}

Tensor Tensor::contiguous(uint64_t address, DType dtype, std::initializer_list<int64_t> extents) {
  return contiguous(address, dtype, std::span(extents.begin(), extents.size()));
}

namespace {

/// The sizes of one host tensor, none of whose extents is negative.
class HostChecker {
public:
  HostChecker(unsigned index, const Tensor &host) : index(index), host(host) {
    for (unsigned axis = 0; axis < host.rank; ++axis)
      empty |= host.extents[axis] == 0;
  }

  bool isEmpty() const { return empty; }

  /// True if an element exists whose index in the axis is not 0, so that the stride means
  /// something.
  bool strideMatters(unsigned axis) const { return !empty && host.extents[axis] > 1; }

  std::optional<Decline> checkStrideSigns() const {
    for (unsigned axis = 0; axis < host.rank; ++axis)
      if (strideMatters(axis) && host.strides[axis] < 0)
        return decline(DeclineReason::Stride, DeclineDetail::NegativeStride, axis,
                       host.strides[axis], 0);
    return std::nullopt;
  }

  /// Counts the elements, and checks that the last byte has an address.
  std::optional<Decline> countElements(int64_t &elements) const {
    elements = empty ? 0 : 1;
    if (empty)
      return std::nullopt;
    std::optional<int64_t> last = 0; // offset of the last element, in elements
    for (unsigned axis = 0; axis < host.rank; ++axis) {
      std::optional<int64_t> product = checkedMul(elements, host.extents[axis]);
      if (!product)
        return decline(DeclineReason::Size, DeclineDetail::ElementCount, -1, 0, 0);
      elements = *product;
      if (!strideMatters(axis))
        continue;
      std::optional<int64_t> reach = checkedMul(host.extents[axis] - 1, host.strides[axis]);
      last = last && reach ? checkedAdd(*last, *reach) : std::nullopt;
    }
    const int64_t width = bytes(host.dtype);
    std::optional<int64_t> lastByte = last ? checkedMul(*last, width) : std::nullopt;
    lastByte = lastByte ? checkedAdd(*lastByte, width) : std::nullopt;
    if (!lastByte || UINT64_MAX - host.address < static_cast<uint64_t>(*lastByte - 1))
      return decline(DeclineReason::Size, DeclineDetail::ByteSpan, -1, 0, 0);
    return std::nullopt;
  }

  /// Merges host axes 0 .. count-1 into one.
  std::optional<Decline> merge(unsigned count, int64_t &extent,
                               std::optional<int64_t> &stride) const {
    extent = 1;
    for (unsigned axis = 0; axis < count; ++axis)
      if (host.extents[axis] == 0) {
        extent = 0;
        return std::nullopt;
      }
    int inner = -1; // the axis of extent > 1 last seen, going outwards
    for (unsigned axis = count; axis-- > 0;) {
      std::optional<int64_t> product = checkedMul(extent, host.extents[axis]);
      if (!product) // reached only by a tensor whose other axes make it empty
        return decline(DeclineReason::Size, DeclineDetail::ElementCount, -1, 0, 0);
      extent = *product;
      if (!strideMatters(axis))
        continue;
      if (inner < 0) {
        stride = host.strides[axis];
      } else {
        int64_t needed = checkedMul(host.strides[inner], host.extents[inner]).value_or(INT64_MAX);
        if (host.strides[axis] != needed) {
          Decline result = decline(DeclineReason::Stride, DeclineDetail::NotCollapsible,
                                   static_cast<int>(axis), host.strides[axis], needed);
          result.index = inner;
          return result;
        }
      }
      inner = static_cast<int>(axis);
    }
    return std::nullopt;
  }

  Decline decline(DeclineReason reason, DeclineDetail detail, int axis, int64_t found,
                  int64_t expected) const {
    return {.reason = reason,
            .detail = detail,
            .tensor = static_cast<int16_t>(index),
            .axis = static_cast<int16_t>(axis),
            .found = found,
            .expected = expected};
  }

private:
  unsigned index;
  const Tensor &host;
  bool empty = false;
};

} // namespace

std::optional<Decline> collapse(const TensorSpec &spec, unsigned index, const Tensor &host,
                                BoundTensor &bound) {
  const unsigned rank = spec.rank();
  auto decline = [&](DeclineReason reason, DeclineDetail detail, int axis, int64_t found,
                     int64_t expected) {
    return Decline{.reason = reason,
                   .detail = detail,
                   .tensor = static_cast<int16_t>(index),
                   .axis = static_cast<int16_t>(axis),
                   .found = found,
                   .expected = expected};
  };
  if (host.dtype != spec.dtype)
    return decline(DeclineReason::DType, DeclineDetail::DTypeMismatch, -1,
                   static_cast<int64_t>(host.dtype), static_cast<int64_t>(spec.dtype));
  if (host.rank > kMaxHostRank)
    return decline(DeclineReason::Shape, DeclineDetail::RankTooLarge, -1, host.rank, kMaxHostRank);
  if (host.rank < rank)
    return decline(DeclineReason::Shape, DeclineDetail::RankTooSmall, -1, host.rank, rank);
  for (int axis = 0; axis < host.rank; ++axis) {
    int64_t extent = host.extents[axis];
    if (extent < 0)
      return decline(DeclineReason::Shape, DeclineDetail::NegativeExtent, axis, extent, 0);
    if (rank == 0 && extent != 1)
      return decline(DeclineReason::Shape, DeclineDetail::NotSingleElement, axis, extent, 1);
  }

  const HostChecker checker(index, host);
  if (auto result = checker.checkStrideSigns())
    return result;
  if (auto result = checker.countElements(bound.elements))
    return result;
  bound.address = host.address;
  if (rank == 0)
    return std::nullopt;

  const unsigned leading = host.rank - rank + 1;
  for (unsigned axis = 0; axis < rank; ++axis) {
    std::optional<int64_t> stride;
    if (axis == 0) {
      if (auto result = checker.merge(leading, bound.extents[0], stride))
        return result;
    } else {
      const unsigned hostAxis = leading + axis - 1;
      bound.extents[axis] = host.extents[hostAxis];
      if (checker.strideMatters(hostAxis))
        stride = host.strides[hostAxis];
    }
    if (!stride && !spec.strides.empty())
      stride = spec.strides[axis];
    bound.strides[axis] = stride.value_or(0);
  }
  return std::nullopt;
}

} // namespace h3::plan
