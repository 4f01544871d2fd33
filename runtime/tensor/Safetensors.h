//===-- runtime/tensor/Safetensors.h - Reading and writing tensor files *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

//
// The safetensors format: 8 bytes with the length of a JSON header (little endian), the header, and
// the tensors' bytes. The header maps each tensor's name to its dtype, shape and data_offsets,
// which count from the end of the header; `__metadata__` maps strings to strings.
//
// The reader believes nothing: the header's length lies within the file and under 100 MB; the
// header is one JSON object of exactly that form, without duplicate keys; every tensor's offsets
// lie in the file and hold exactly the bytes of its shape and type; and the tensors cover the data
// without overlaps, gaps or a rest. What is wrong comes back as one line that names the file.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_TENSOR_SAFETENSORS_H
#define H3_RUNTIME_TENSOR_SAFETENSORS_H

#include "runtime/tensor/Result.h"
#include "runtime/tensor/TensorData.h"

namespace h3::tensor {

/// The header of a safetensors file must be shorter than this many bytes.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

/// Reads a whole file. Each tensor gets a buffer of its own, aligned to 256 bytes.
Result<TensorFile> readSafetensors(const std::string &path);

/// The same from memory; `source` stands for the path in errors.
Result<TensorFile> parseSafetensors(std::span<const std::byte> file, const std::string &source);

/// One tensor to be written: row-major bytes without gaps.
struct TensorBytes {
  std::string name;
  StorageType type = StorageType::F32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Writes a file that holds the tensors, those of wider elements first so that each is aligned to
/// its element, and returns nothing or the error. The file appears whole or not at all: it is
/// written beside the path under another name and renamed; after a failure that name is gone and
/// what was at the path is untouched. Equal input gives equal bytes.
std::optional<Error> writeSafetensors(const std::string &path, std::span<const TensorBytes> tensors,
                                      const std::map<std::string, std::string> &metadata = {});

} // namespace h3::tensor

#endif // H3_RUNTIME_TENSOR_SAFETENSORS_H
