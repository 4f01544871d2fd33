//===-- runtime/tensor/Header.h - The JSON header of a tensor file *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_TENSOR_HEADER_H
#define H3_RUNTIME_TENSOR_HEADER_H

#include "runtime/tensor/Result.h"
#include "runtime/tensor/TensorData.h"

namespace h3::tensor {

/// One tensor as the header describes it. `begin` and `end` count from the end of the header.
struct HeaderEntry {
  std::string name;
  StorageType type = StorageType::F32;
  std::vector<int64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct Header {
  std::vector<HeaderEntry> entries; ///< sorted by name
  std::map<std::string, std::string> metadata;
};

/// Parses the header and checks it against the number of data bytes behind it: the form, the names,
/// the sizes, and that the tensors cover the data exactly.
Result<Header> parseHeader(std::string_view json, uint64_t dataBytes);

} // namespace h3::tensor

#endif // H3_RUNTIME_TENSOR_HEADER_H
