//===-- runtime/bundle/Bundle.cpp - Compiled operator sets in one file ----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/bundle/Bundle.h"

#include "runtime/bundle/Manifest.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace h3::bundle {

namespace {

/// A file in memory, read only.
class Mapping {
public:
  Mapping() = default;
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;
  ~Mapping() {
    if (address)
      munmap(address, size);
  }

  /// An empty string, or what went wrong.
  std::string map(const std::string &path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
      return std::strerror(errno);
    struct stat status{};
    std::string error;
    if (fstat(file, &status) != 0)
      error = std::strerror(errno);
    else if (!S_ISREG(status.st_mode))
      error = "it is no regular file";
    else if (status.st_size > 0) {
      size = static_cast<size_t>(status.st_size);
      void *where = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
      if (where == MAP_FAILED)
        error = std::strerror(errno);
      else
        address = where;
    }
    close(file);
    return error;
  }

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte *>(address), address ? size : 0};
  }

private:
  void *address = nullptr;
  size_t size = 0;
};

} // namespace

struct Bundle::Opened {
  Mapping mapping; ///< empty where the bytes are the caller's
  std::string manifest;
  Digest digest;
  Contents contents;

  std::string read(std::span<const std::byte> bytes) {
    Result<Container, Error> container = unpack(bytes);
    if (!container)
      return container.error().message;
    Result<Contents, Error> read = readManifest(*container);
    if (!read)
      return read.error().message;
    contents = std::move(*read);
    digest = container->digest;
    manifest = std::move(container->manifest);
    return {};
  }
};

Bundle::Bundle(std::unique_ptr<Opened> opened) : opened(std::move(opened)) {}
Bundle::Bundle(Bundle &&) noexcept = default;
Bundle &Bundle::operator=(Bundle &&) noexcept = default;
Bundle::~Bundle() = default;

Result<Bundle, Error> Bundle::openFile(const std::string &path) {
  auto opened = std::make_unique<Opened>();
  if (std::string error = opened->mapping.map(path); !error.empty())
    return Error{"cannot read '" + path + "': " + error};
  if (std::string error = opened->read(opened->mapping.bytes()); !error.empty())
    return Error{"'" + path + "' is no good bundle: " + error};
  return Bundle(std::move(opened));
}

Result<Bundle, Error> Bundle::open(std::span<const std::byte> bytes) {
  auto opened = std::make_unique<Opened>();
  if (std::string error = opened->read(bytes); !error.empty())
    return Error{error};
  return Bundle(std::move(opened));
}

const Contents &Bundle::contents() const { return opened->contents; }
const Digest &Bundle::digest() const { return opened->digest; }
std::string_view Bundle::manifest() const { return opened->manifest; }

Result<std::string, Error> write(const Contents &given) {
  Contents contents = given;
  std::vector<PackedImage> images;
  for (Image &image : contents.images) {
    image.digest = sha256(image.bytes);
    images.push_back({image.name,
                      {reinterpret_cast<const char *>(image.bytes.data()), image.bytes.size()},
                      image.kind == ImageKind::Ptx});
  }
  Result<std::string, Error> file = pack(writeManifest(contents), images);
  if (file)
    if (Result<Bundle, Error> bundle = Bundle::open(std::as_bytes(std::span(*file))); !bundle)
      return bundle.error();
  return file;
}

} // namespace h3::bundle
