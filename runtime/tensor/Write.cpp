//===-- runtime/tensor/Write.cpp - Writing tensor files ---------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/tensor/Safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace h3::tensor {

namespace {

/// A file beside the target that is removed unless it is renamed onto it.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::string &target)
      : path(target + ".tmp." + std::to_string(getpid())) {
    descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    failed = descriptor < 0;
    created = !failed;
    failure = errno;
  }
  ~TemporaryFile() {
    closeFile();
    if (created)
      unlink(path.c_str());
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  void write(const void *from, size_t size) {
    const char *bytes = static_cast<const char *>(from);
    while (size > 0 && !failed) {
      const ssize_t written = ::write(descriptor, bytes, size);
      if (written < 0 && errno == EINTR)
        continue;
      note(written > 0);
      if (written > 0) {
        bytes += written;
        size -= static_cast<size_t>(written);
      }
    }
  }

  /// The system's text of what went wrong, or nothing: then the target is complete.
  std::string moveTo(const std::string &target) {
    closeFile();
    if (!failed)
      note(std::rename(path.c_str(), target.c_str()) == 0);
    if (failed)
      return std::strerror(failure);
    created = false;
    return {};
  }

private:
  void note(bool good) {
    if (good || failed)
      return;
    failed = true;
    failure = errno;
  }
  void closeFile() {
    if (descriptor >= 0)
      note(close(descriptor) == 0);
    descriptor = -1;
  }

  std::string path;
  int descriptor = -1;
  int failure = 0;
  bool failed = false;
  bool created = false;
};

std::string checkTensor(const TensorBytes &tensor) {
  const std::string where = "tensor '" + tensor.name + "': ";
  if (tensor.name == "__metadata__")
    return where + "the name is reserved";
  std::optional<int64_t> count = elementCount(tensor.shape);
  int64_t size = 0;
  if (!count || __builtin_mul_overflow(*count, static_cast<int64_t>(bytes(tensor.type)), &size) ||
      static_cast<uint64_t>(size) != tensor.bytes.size())
    return where + "its " + std::to_string(tensor.bytes.size()) +
           " bytes are not what its shape and type need";
  return {};
}

/// The header with its padding; fails for names that are not UTF-8.
Result<std::string> headerText(std::span<const TensorBytes *const> order,
                               const std::map<std::string, std::string> &metadata) {
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const TensorBytes *tensor : order) {
    header[tensor->name] = {{"dtype", name(tensor->type)},
                            {"shape", tensor->shape},
                            {"data_offsets", {offset, offset + tensor->bytes.size()}}};
    offset += tensor->bytes.size();
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception &) {
    return Error{"a name or the metadata is not UTF-8"};
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kMaxHeaderBytes)
    return Error{"its header would have " + std::to_string(text.size()) + " bytes"};
  return text;
}

} // namespace

std::optional<Error> writeSafetensors(const std::string &path, std::span<const TensorBytes> tensors,
                                      const std::map<std::string, std::string> &metadata) {
  auto fail = [&](const std::string &cause) {
    return Error{"cannot write '" + path + "': " + cause};
  };
  std::vector<const TensorBytes *> order;
  std::set<std::string_view> names;
  for (const TensorBytes &tensor : tensors) {
    if (!names.insert(tensor.name).second)
      return fail("two tensors are named '" + tensor.name + "'");
    if (std::string error = checkTensor(tensor); !error.empty())
      return fail(error);
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const TensorBytes *a, const TensorBytes *b) {
    return bytes(a->type) != bytes(b->type) ? bytes(a->type) > bytes(b->type) : a->name < b->name;
  });
  Result<std::string> header = headerText(order, metadata);
  if (!header)
    return fail(header.error().message);

  unsigned char length[8];
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<unsigned char>(header->size() >> (8 * i));
  TemporaryFile file(path);
  file.write(length, sizeof(length));
  file.write(header->data(), header->size());
  for (const TensorBytes *tensor : order)
    file.write(tensor->bytes.data(), tensor->bytes.size());
  if (std::string cause = file.moveTo(path); !cause.empty())
    return fail(cause);
  return std::nullopt;
}

} // namespace h3::tensor
