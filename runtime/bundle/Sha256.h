//===-- runtime/bundle/Sha256.h - SHA-256 --------------------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// SHA-256 as FIPS 180-4 defines it, from that text. A library would be more code in every host than
// this is: OpenSSL's archive alone is several times the size that libh3rt may have.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_BUNDLE_SHA256_H
#define H3_RUNTIME_BUNDLE_SHA256_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace h3::bundle {

struct Digest {
  std::array<uint8_t, 32> bytes{};

  auto operator<=>(const Digest &) const = default;
};

/// 64 hexadecimal digits in lower case.
std::string toHex(const Digest &digest);

/// Empty unless \p text is 64 hexadecimal digits in lower case.
std::optional<Digest> digestOfHex(std::string_view text);

class Sha256 {
public:
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }

  /// Of everything added. Afterwards the object is of no more use.
  Digest finish();

private:
  void addBlock(const uint8_t *block);

  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending{};
  uint64_t length = 0; ///< bytes added so far; the last `length % 64` are in `pending`
};

Digest sha256(std::span<const std::byte> bytes);

} // namespace h3::bundle

#endif // H3_RUNTIME_BUNDLE_SHA256_H
