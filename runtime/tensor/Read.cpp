//===-- runtime/tensor/Read.cpp - Reading tensor files ----------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/tensor/Header.h"
#include "runtime/tensor/Safetensors.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>

#include <sys/stat.h>

namespace h3::tensor {

namespace {

/// Copies `size` bytes from `offset` of the file; returns an error text or nothing.
using ReadAt = std::function<std::string(uint64_t offset, void *to, size_t size)>;

Result<TensorFile> read(uint64_t fileBytes, const ReadAt &readAt) {
  if (fileBytes < 8)
    return Error{"it has " + std::to_string(fileBytes) +
                 " bytes, its header's length alone takes 8"};
  unsigned char raw[8];
  if (std::string error = readAt(0, raw, 8); !error.empty())
    return Error{error};
  uint64_t headerBytes = 0;
  for (int i = 7; i >= 0; --i)
    headerBytes = headerBytes << 8 | raw[i];
  if (headerBytes > kMaxHeaderBytes)
    return Error{"its header claims " + std::to_string(headerBytes) +
                 " bytes, the most allowed is " + std::to_string(kMaxHeaderBytes)};
  if (headerBytes > fileBytes - 8)
    return Error{"its header claims " + std::to_string(headerBytes) + " bytes, the file has " +
                 std::to_string(fileBytes - 8) + " after the length"};

  std::string json(static_cast<size_t>(headerBytes), '\0');
  if (std::string error = readAt(8, json.data(), json.size()); !error.empty())
    return Error{error};
  const uint64_t dataStart = 8 + headerBytes;
  Result<Header> header = parseHeader(json, fileBytes - dataStart);
  if (!header)
    return header.error();

  TensorFile file;
  file.metadata = std::move(header->metadata);
  for (HeaderEntry &entry : header->entries) {
    const auto size = static_cast<size_t>(entry.end - entry.begin);
    std::optional<AlignedBuffer> buffer = AlignedBuffer::allocate(size);
    if (!buffer)
      return Error{"tensor '" + entry.name + "': no memory for " + std::to_string(size) + " bytes"};
    if (std::string error = readAt(dataStart + entry.begin, buffer->data(), size); !error.empty())
      return Error{error};
    file.tensors.push_back(
        {std::move(entry.name), entry.type, std::move(entry.shape), std::move(*buffer)});
  }
  return file;
}

} // namespace

Result<TensorFile> parseSafetensors(std::span<const std::byte> file, const std::string &source) {
  auto result = read(file.size(), [&](uint64_t offset, void *to, size_t size) {
    if (size != 0)
      std::memcpy(to, file.data() + offset, size);
    return std::string();
  });
  if (!result)
    return Error{"'" + source + "' is not a good safetensors file: " + result.error().message};
  return result;
}

Result<TensorFile> readSafetensors(const std::string &path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(
      std::fopen(path.c_str(), "rb"), [](std::FILE *f) { return std::fclose(f); });
  struct stat status;
  if (!file || fstat(fileno(file.get()), &status) != 0)
    return Error{"cannot read '" + path + "': " + std::strerror(errno)};
  if (!S_ISREG(status.st_mode))
    return Error{"cannot read '" + path + "': it is not a file"};
  auto result = read(static_cast<uint64_t>(status.st_size),
                     [&](uint64_t offset, void *to, size_t size) -> std::string {
                       if (size == 0)
                         return {};
                       if (fseeko(file.get(), static_cast<off_t>(offset), SEEK_SET) == 0 &&
                           std::fread(to, 1, size, file.get()) == size)
                         return {};
                       return "it ended or failed while it was read";
                     });
  if (!result)
    return Error{"'" + path + "' is not a good safetensors file: " + result.error().message};
  return result;
}

} // namespace h3::tensor
