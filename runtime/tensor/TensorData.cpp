//===-- runtime/tensor/TensorData.cpp - Tensors that own their bytes *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/tensor/TensorData.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

namespace h3::tensor {

namespace {
struct Row {
  std::string_view name;
  unsigned bytes;
  plan::DType dtype;
};
constexpr std::array<Row, 15> kRows = {{{"BOOL", 1, plan::DType::Other},
                                        {"U8", 1, plan::DType::Other},
                                        {"I8", 1, plan::DType::Other},
                                        {"F8_E4M3", 1, plan::DType::E4M3},
                                        {"F8_E5M2", 1, plan::DType::E5M2},
                                        {"U16", 2, plan::DType::Other},
                                        {"I16", 2, plan::DType::Other},
                                        {"F16", 2, plan::DType::F16},
                                        {"BF16", 2, plan::DType::BF16},
                                        {"U32", 4, plan::DType::Other},
                                        {"I32", 4, plan::DType::I32},
                                        {"F32", 4, plan::DType::F32},
                                        {"U64", 8, plan::DType::Other},
                                        {"I64", 8, plan::DType::I64},
                                        {"F64", 8, plan::DType::F64}}};
static_assert(kRows.size() == static_cast<size_t>(StorageType::F64) + 1);
} // namespace

std::string_view name(StorageType type) { return kRows[static_cast<size_t>(type)].name; }
unsigned bytes(StorageType type) { return kRows[static_cast<size_t>(type)].bytes; }
plan::DType dtype(StorageType type) { return kRows[static_cast<size_t>(type)].dtype; }

std::optional<StorageType> storageTypeNamed(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == name)
      return static_cast<StorageType>(i);
  return std::nullopt;
}

std::optional<StorageType> storageOf(plan::DType dtype) {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (dtype != plan::DType::Other && kRows[i].dtype == dtype)
      return static_cast<StorageType>(i);
  return std::nullopt;
}

AlignedBuffer::AlignedBuffer(AlignedBuffer &&other) noexcept
    : memory(std::exchange(other.memory, nullptr)), length(std::exchange(other.length, 0)) {}

AlignedBuffer &AlignedBuffer::operator=(AlignedBuffer &&other) noexcept {
  std::swap(memory, other.memory);
  std::swap(length, other.length);
  return *this;
}

AlignedBuffer::~AlignedBuffer() { ::operator delete(memory, std::align_val_t(kAlignment)); }

std::optional<AlignedBuffer> AlignedBuffer::allocate(size_t size) {
  if (size > static_cast<size_t>(PTRDIFF_MAX) - kAlignment)
    return std::nullopt;
  AlignedBuffer buffer;
  buffer.memory = static_cast<std::byte *>(
      ::operator new(std::max<size_t>(size, 1), std::align_val_t(kAlignment), std::nothrow));
  if (!buffer.memory)
    return std::nullopt;
  buffer.length = size;
  if (size != 0)
    std::memset(buffer.memory, 0, size);
  return buffer;
}

std::optional<int64_t> elementCount(std::span<const int64_t> shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return std::nullopt;
    empty |= extent == 0;
  }
  if (empty)
    return 0;
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(count, extent, &count))
      return std::nullopt;
  return count;
}

const TensorData *TensorFile::find(std::string_view name) const {
  auto place = std::lower_bound(
      tensors.begin(), tensors.end(), name,
      [](const TensorData &tensor, std::string_view key) { return tensor.name < key; });
  return place != tensors.end() && place->name == name ? &*place : nullptr;
}

} // namespace h3::tensor
