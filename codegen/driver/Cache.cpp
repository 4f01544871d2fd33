//===-- codegen/driver/Cache.cpp - Compiled results kept on disk ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Cache.h"

#include "codegen/driver/Driver.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

using namespace llvm;

namespace h3 {
namespace {

/// An entry is this line, the key, the SHA-256 of key and value, and the value.
constexpr StringLiteral magic = "h3gen cache entry 1\n";
constexpr StringLiteral ending = ".h3c";
constexpr size_t digestBytes = std::tuple_size_v<Digest>;

StringRef asText(const Digest &digest) {
  return {reinterpret_cast<const char *>(digest.data()), digest.size()};
}

Digest checksum(const Digest &key, StringRef value) {
  SHA256 hash;
  hash.update(ArrayRef<uint8_t>(key));
  hash.update(value);
  return hash.final();
}

/// `HEX.h3c`, or `HEX.h3c.XXXXXX.tmp` while it is written.
bool isOurs(StringRef name, bool &isTemporary) {
  StringRef hex = name.take_while([](char c) { return isHexDigit(c); });
  StringRef rest = name.drop_front(hex.size());
  isTemporary = rest != ending;
  return hex.size() == 2 * digestBytes && rest.consume_front(ending) &&
         (rest.empty() || (rest.starts_with(".") && rest.ends_with(".tmp")));
}

} // namespace

void CacheKey::add(std::string_view name, std::string_view value) {
  hash.update((Twine(name.size()) + " " + Twine(value.size()) + "\n").str());
  hash.update(StringRef(name));
  hash.update(StringRef(value));
}

Digest CacheKey::digest() const { return hash.result(); }

std::optional<uint64_t> parseSize(std::string_view text) {
  StringRef number = text;
  unsigned shift = 0;
  for (auto [unit, bits] : {std::pair("K", 10), std::pair("M", 20), std::pair("G", 30)})
    if (number.consume_back_insensitive(unit)) {
      shift = static_cast<unsigned>(bits);
      break;
    }
  uint64_t value;
  if (number.empty() || !all_of(number, isDigit) || number.getAsInteger(10, value) ||
      value > (UINT64_MAX >> shift))
    return {};
  return value << shift;
}

std::unique_ptr<Cache> Cache::fromEnvironment(std::string &error) {
  uint64_t limit = defaultLimit;
  if (const char *size = std::getenv("H3GEN_CACHE_SIZE"); size && *size) {
    std::optional<uint64_t> parsed = parseSize(size);
    if (!parsed) {
      error = "H3GEN_CACHE_SIZE is '" + std::string(size) +
              "', expected a number of bytes such as 1048576, 100K, 512M or 2G";
      return nullptr;
    }
    limit = *parsed;
  }
  // As the XDG base directory specification has it: a path that is not absolute is ignored.
  SmallString<128> folder;
  const char *named = std::getenv("H3GEN_CACHE_DIR"), *caches = std::getenv("XDG_CACHE_HOME");
  if (named && *named)
    folder = named;
  else if (caches && sys::path::is_absolute(caches))
    sys::path::append(folder, caches, "h3gen");
  else if (sys::path::home_directory(folder))
    sys::path::append(folder, ".cache", "h3gen");
  if (limit == 0 || folder.empty())
    return nullptr;
  return std::make_unique<Cache>(std::string(folder), limit);
}

std::string Cache::pathOf(const Digest &key) const {
  return folder + "/" + toHex(ArrayRef<uint8_t>(key), /*LowerCase=*/true) + ending.str();
}

std::optional<std::string> Cache::load(const Digest &key) {
  std::string path = pathOf(key);
  // Volatile: read rather than mapped, so that a failing disk is an error and not a signal.
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false,
                                      /*IsVolatile=*/true);
  if (!buffer)
    return {};
  StringRef rest = (*buffer)->getBuffer();
  if (!rest.consume_front(magic) || !rest.consume_front(asText(key)) || rest.size() < digestBytes)
    return {};
  StringRef value = rest.drop_front(digestBytes);
  if (rest.take_front(digestBytes) != asText(checksum(key, value)))
    return {};
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0); // may fail in a folder of someone else's
  return value.str();
}

void Cache::store(const Digest &key, std::string_view value) {
  std::error_code code = sys::fs::create_directories(folder);
  if (!code) {
    StringRef bytes = value;
    std::string entry = (magic + asText(key) + asText(checksum(key, bytes)) + bytes).str();
    code = replaceFile(pathOf(key), entry);
  }
  std::lock_guard lock(mutex);
  hasStored |= !code;
  if (code && !firstProblem)
    firstProblem = code;
}

std::error_code Cache::problem() const {
  std::lock_guard lock(mutex);
  return firstProblem;
}

void Cache::trim() {
  {
    std::lock_guard lock(mutex);
    if (!std::exchange(hasStored, false))
      return;
  }
  struct Entry {
    sys::TimePoint<> changed;
    std::string path;
    uint64_t bytes;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  auto now = std::chrono::system_clock::now();
  std::error_code code;
  for (sys::fs::directory_iterator file(folder, code), end; file != end && !code;
       file.increment(code)) {
    bool isTemporary;
    ErrorOr<sys::fs::basic_file_status> status = file->status();
    if (!isOurs(sys::path::filename(file->path()), isTemporary) || !status)
      continue;
    if (!isTemporary) {
      entries.push_back({status->getLastModificationTime(), file->path(), status->getSize()});
      total += status->getSize();
    } else if (now - status->getLastModificationTime() > std::chrono::hours(1)) {
      sys::fs::remove(file->path());
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.changed, a.path) < std::tie(b.changed, b.path);
  });
  for (const Entry &entry : entries) {
    if (total <= limit)
      break;
    // Another process may have been faster: gone is gone.
    sys::fs::remove(entry.path);
    total -= entry.bytes;
  }
}

std::optional<Digest> Cache::digestOfFile(const std::string &path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return {};
  CacheKey identity;
  auto add = [&](std::string_view name, auto value) { identity.add(name, std::to_string(value)); };
  add("device", status.st_dev);
  add("inode", status.st_ino);
  add("size", status.st_size);
  add("modified", status.st_mtim.tv_sec);
  add("modified ns", status.st_mtim.tv_nsec);
  add("changed", status.st_ctim.tv_sec);
  add("changed ns", status.st_ctim.tv_nsec);
  Digest key = identity.digest();
  Digest digest;
  if (std::optional<std::string> known = load(key); known && known->size() == digest.size()) {
    std::copy(known->begin(), known->end(), digest.begin());
    return digest;
  }
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return {};
  SHA256 hash;
  hash.update((*buffer)->getBuffer());
  digest = hash.final();
  // A file that was changed a moment ago may change again within one tick of its clock.
  if (std::time(nullptr) - status.st_ctim.tv_sec > 2)
    store(key, std::string_view(asText(digest)));
  return digest;
}

} // namespace h3
