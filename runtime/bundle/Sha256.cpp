//===-- runtime/bundle/Sha256.cpp - SHA-256 -------------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/bundle/Sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace h3::bundle {

namespace {

// FIPS 180-4, 4.2.2: the first 32 bits of the fractions of the cube roots of the first 64 primes.
constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t bigEndian(const uint8_t *bytes) {
  return uint32_t(bytes[0]) << 24 | uint32_t(bytes[1]) << 16 | uint32_t(bytes[2]) << 8 | bytes[3];
}

} // namespace

void Sha256::addBlock(const uint8_t *block) {
  using std::rotr;
  uint32_t w[64];
  for (unsigned t = 0; t < 16; ++t)
    w[t] = bigEndian(block + 4 * t);
  for (unsigned t = 16; t < 64; ++t) {
    const uint32_t a = w[t - 15], b = w[t - 2];
    w[t] = (rotr(b, 17) ^ rotr(b, 19) ^ b >> 10) + w[t - 7] + (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) +
           w[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (unsigned t = 0; t < 64; ++t) {
    const uint32_t t1 =
        h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
    const uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const uint32_t added[8] = {a, b, c, d, e, f, g, h};
  for (unsigned i = 0; i < 8; ++i)
    state[i] += added[i];
}

void Sha256::add(std::span<const std::byte> bytes) {
  if (bytes.empty())
    return;
  const uint8_t *from = reinterpret_cast<const uint8_t *>(bytes.data());
  size_t left = bytes.size();
  const size_t filled = length % 64;
  length += left;
  if (filled) {
    const size_t taken = std::min(left, 64 - filled);
    std::memcpy(pending.data() + filled, from, taken);
    if (filled + taken < 64)
      return;
    addBlock(pending.data());
    from += taken;
    left -= taken;
  }
  for (; left >= 64; from += 64, left -= 64)
    addBlock(from);
  if (left)
    std::memcpy(pending.data(), from, left);
}

Digest Sha256::finish() {
  const uint64_t bits = length * 8;
  size_t filled = length % 64;
  pending[filled++] = 0x80;
  if (filled > 56) {
    std::fill(pending.begin() + filled, pending.end(), 0);
    addBlock(pending.data());
    filled = 0;
  }
  std::fill(pending.begin() + filled, pending.begin() + 56, 0);
  for (unsigned i = 0; i < 8; ++i)
    pending[56 + i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  addBlock(pending.data());
  Digest digest;
  for (unsigned i = 0; i < 32; ++i)
    digest.bytes[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

std::string toHex(const Digest &digest) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : digest.bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::optional<Digest> digestOfHex(std::string_view text) {
  static constexpr std::string_view digits = "0123456789abcdef";
  if (text.size() != 64)
    return std::nullopt;
  Digest digest;
  for (size_t i = 0; i < 64; ++i) {
    const size_t value = digits.find(text[i]);
    if (value == std::string_view::npos)
      return std::nullopt;
    digest.bytes[i / 2] = static_cast<uint8_t>(digest.bytes[i / 2] << 4 | value);
  }
  return digest;
}

} // namespace h3::bundle
