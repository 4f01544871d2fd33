//===-- codegen/driver/Cache.h - Compiled results kept on disk - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A folder of files, one an entry, named after the key. What an entry holds is up to the caller:
// the key must cover everything that the value follows from, since no entry is ever checked against
// its sources again.
//
// An entry appears whole or not at all, so that any number of processes may share a folder. It has
// a checksum: what was damaged is not found, and is replaced by the next `store`.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_CACHE_H
#define H3_CODEGEN_DRIVER_CACHE_H

#include <llvm/Support/SHA256.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace h3 {

using Digest = std::array<uint8_t, 32>; ///< SHA-256

/// A key made of fields. Names and values are hashed with their lengths: no two lists of fields
/// run together into the same bytes.
class CacheKey {
public:
  void add(std::string_view name, std::string_view value);
  Digest digest() const;

private:
  mutable llvm::SHA256 hash; // result() of LLVM's is not const
};

/// All functions may be called from several threads at once.
class Cache {
public:
  static constexpr uint64_t defaultLimit = uint64_t(512) << 20;

  /// \p limit is in bytes, of all entries together. The folder is made when something is stored.
  Cache(std::string folder, uint64_t limit) : folder(std::move(folder)), limit(limit) {}

  /// As the environment says: the folder `H3GEN_CACHE_DIR`, else `h3gen` in the user's cache folder
  /// (`XDG_CACHE_HOME`, `~/.cache`); the limit `H3GEN_CACHE_SIZE`. Null where there is no such
  /// folder, where the limit is 0, and, with \p error set, where the limit is not a size.
  static std::unique_ptr<Cache> fromEnvironment(std::string &error);

  /// The value stored under \p key. It becomes the youngest entry.
  std::optional<std::string> load(const Digest &key);

  /// Keeps \p value. A folder that cannot be written is no error here; see `problem`.
  void store(const Digest &key, std::string_view value);

  /// Removes the oldest entries until the rest keeps the limit, and what processes that were killed
  /// left behind. Does nothing unless something was stored. Files that are not the cache's stay.
  void trim();

  /// Why the first `store` that failed did.
  std::error_code problem() const;

  /// The SHA-256 of a file's contents; empty if it cannot be read. Contents that were read once are
  /// recognised by the file's identity, size and times of change.
  std::optional<Digest> digestOfFile(const std::string &path);

private:
  std::string pathOf(const Digest &key) const;

  std::string folder;
  uint64_t limit;
  mutable std::mutex mutex; ///< of the two below
  bool hasStored = false;
  std::error_code firstProblem;
};

/// "512M", "2G", "100K", "1048576": bytes, with a binary unit or without. Empty for anything else.
std::optional<uint64_t> parseSize(std::string_view text);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_CACHE_H
