//===-- runtime/cpu/Image.cpp - Machine code of this process --------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Image.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

namespace h3::cpu {
namespace {

constexpr std::string_view magic("h3cpu 1\0", 8);
constexpr size_t codeAlignment = 64;

void putWord(std::vector<char> &bytes, uint64_t value) {
  for (unsigned byte = 0; byte < 4; ++byte)
    bytes.push_back(static_cast<char>(value >> (8 * byte)));
}

/// Reads words and names; after the end everything reads as 0 and empty.
struct Reader {
  std::span<const std::byte> rest;
  bool failed = false;

  std::span<const std::byte> take(size_t count) {
    failed |= count > rest.size();
    if (failed)
      return {};
    std::span<const std::byte> taken = rest.first(count);
    rest = rest.subspan(count);
    return taken;
  }
  uint32_t word() {
    uint32_t value = 0;
    unsigned shift = 0;
    for (std::byte byte : take(4))
      value |= std::to_integer<uint32_t>(byte) << std::exchange(shift, shift + 8);
    return value;
  }
  std::string text(size_t count) {
    std::span<const std::byte> taken = take(count);
    return {reinterpret_cast<const char *>(taken.data()), taken.size()};
  }
};

} // namespace

std::vector<char> packImage(std::span<const ImageEntry> entries, std::span<const char> code) {
  std::vector<char> bytes(magic.begin(), magic.end());
  size_t head = magic.size() + 8;
  for (const ImageEntry &entry : entries)
    head += 8 + entry.name.size();
  head = (head + codeAlignment - 1) / codeAlignment * codeAlignment;
  putWord(bytes, entries.size());
  putWord(bytes, head);
  for (const ImageEntry &entry : entries) {
    putWord(bytes, entry.offset);
    putWord(bytes, entry.name.size());
    bytes.insert(bytes.end(), entry.name.begin(), entry.name.end());
  }
  bytes.resize(head);
  bytes.insert(bytes.end(), code.begin(), code.end());
  return bytes;
}

Result<MappedImage, std::string> MappedImage::map(std::span<const std::byte> image) {
  Reader reader{image};
  if (reader.text(magic.size()) != magic)
    return std::string("this is no image for a CPU");
  MappedImage result;
  uint32_t count = reader.word(), head = reader.word();
  const size_t size = head <= image.size() ? image.size() - head : 0;
  for (; count != 0 && !reader.failed; --count) {
    uint32_t offset = reader.word(), length = reader.word();
    std::string name = reader.text(length);
    reader.failed |= offset >= size;
    result.entries.emplace(std::move(name), offset);
  }
  if (reader.failed || size == 0)
    return std::string("the image for a CPU is damaged");
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return std::string("no memory for an image: ") + std::strerror(errno);
  result.memory = memory;
  result.bytes = size;
  std::memcpy(memory, image.data() + head, size);
  if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0)
    return std::string("an image cannot be made executable: ") + std::strerror(errno);
  __builtin___clear_cache(static_cast<char *>(memory), static_cast<char *>(memory) + size);
  return result;
}

MappedImage::MappedImage(MappedImage &&other) noexcept
    : memory(std::exchange(other.memory, nullptr)), bytes(std::exchange(other.bytes, 0)),
      entries(std::move(other.entries)) {}

MappedImage &MappedImage::operator=(MappedImage &&other) noexcept {
  std::swap(memory, other.memory);
  std::swap(bytes, other.bytes);
  std::swap(entries, other.entries);
  return *this;
}

MappedImage::~MappedImage() {
  if (memory)
    munmap(memory, bytes);
}

Entry MappedImage::find(std::string_view name) const {
  auto entry = entries.find(name);
  if (entry == entries.end())
    return nullptr;
  return reinterpret_cast<Entry>(static_cast<char *>(memory) + entry->second);
}

} // namespace h3::cpu
