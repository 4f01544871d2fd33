//===-- runtime/tensor/TensorData.h - Tensors that own their bytes *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_TENSOR_TENSORDATA_H
#define H3_RUNTIME_TENSOR_TENSORDATA_H

#include "runtime/plan/DType.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace h3::tensor {

/// The element types a safetensors file can name and this library reads.
enum class StorageType : uint8_t {
  Bool,
  U8,
  I8,
  F8E4M3,
  F8E5M2,
  U16,
  I16,
  F16,
  BF16,
  U32,
  I32,
  F32,
  U64,
  I64,
  F64
};

/// "BOOL", "F8_E4M3", "BF16", ...: the file format's spelling.
std::string_view name(StorageType type);
std::optional<StorageType> storageTypeNamed(std::string_view name);

/// Bytes of one element.
unsigned bytes(StorageType type);

/// The language's type for it; `Other` for those that it does not have.
plan::DType dtype(StorageType type);

/// The storage of a type of the language; nullopt for `Other`.
std::optional<StorageType> storageOf(plan::DType dtype);

/// Bytes at an address that is a multiple of 256, as a device allocator gives them, so that
/// alignment at the host is what it is on a device. Moves, does not copy.
class AlignedBuffer {
public:
  static constexpr size_t kAlignment = 256;

  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer &&other) noexcept;
  AlignedBuffer &operator=(AlignedBuffer &&other) noexcept;
  ~AlignedBuffer();

  /// Zero-filled; nullopt if there is not enough memory. Size 0 still has an aligned address.
  static std::optional<AlignedBuffer> allocate(size_t size);

  std::byte *data() { return memory; }
  const std::byte *data() const { return memory; }
  size_t size() const { return length; }
  std::span<std::byte> span() { return {memory, length}; }
  std::span<const std::byte> span() const { return {memory, length}; }

private:
  std::byte *memory = nullptr;
  size_t length = 0;
};

/// One tensor, row-major without gaps. The buffer has exactly the bytes of its elements.
struct TensorData {
  std::string name;
  StorageType type = StorageType::F32;
  std::vector<int64_t> shape;
  AlignedBuffer data;
};

/// Product of the extents; nullopt if one is negative or the product is 2^63 or more.
std::optional<int64_t> elementCount(std::span<const int64_t> shape);

/// The tensors of one file, sorted by name, and its `__metadata__`.
struct TensorFile {
  std::vector<TensorData> tensors;
  std::map<std::string, std::string> metadata;

  const TensorData *find(std::string_view name) const;
};

} // namespace h3::tensor

#endif // H3_RUNTIME_TENSOR_TENSORDATA_H
