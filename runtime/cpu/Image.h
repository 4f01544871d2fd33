//===-- runtime/cpu/Image.h - Machine code of this process ---- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An image for a CPU is code and constants that lie together and refer to each other alone: it runs
// wherever it is put. Its bytes, numbers in little endian:
//
//   8   "h3cpu 1\0"
//   4   entries
//   4   where the code begins, a multiple of 64
//   and for each entry  4  its place in the code
//                       4  length of its name, and then the name
//
// An entry is `void entry(const uint64_t *arguments, uint64_t firstBlock, uint64_t lastBlock)`: it
// computes the blocks firstBlock <= b < lastBlock of a launch, and any ranges may be computed at
// the same time. Argument k of the launch plan has its bits in the low bytes of arguments[k]; in
// front of them stands, of an `each` operator, the address of the table of the members. The
// floating-point environment of the caller does not matter and is left as it was.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_CPU_IMAGE_H
#define H3_RUNTIME_CPU_IMAGE_H

#include "runtime/Result.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace h3::cpu {

struct ImageEntry {
  std::string name;
  uint64_t offset = 0; ///< in the code
};

/// The bytes of an image.
std::vector<char> packImage(std::span<const ImageEntry> entries, std::span<const char> code);

using Entry = void (*)(const uint64_t *arguments, uint64_t firstBlock, uint64_t lastBlock);

/// An image in the memory of this process, which can be executed and not written.
class MappedImage {
public:
  /// An error is one line. Memory is never writable and executable at once.
  static Result<MappedImage, std::string> map(std::span<const std::byte> image);

  MappedImage(MappedImage &&other) noexcept;
  MappedImage &operator=(MappedImage &&other) noexcept;
  ~MappedImage();

  /// Null if there is none of that name.
  Entry find(std::string_view name) const;

private:
  MappedImage() = default;

  void *memory = nullptr;
  size_t bytes = 0;
  std::map<std::string, uint64_t, std::less<>> entries;
};

} // namespace h3::cpu

#endif // H3_RUNTIME_CPU_IMAGE_H
