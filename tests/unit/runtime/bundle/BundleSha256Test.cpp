//===-- tests/unit/runtime/bundle/BundleSha256Test.cpp - SHA-256 ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/bundle/Sha256.h"

#include <gtest/gtest.h>

using namespace h3::bundle;

namespace {

std::string hashOf(std::string_view text) { return toHex(sha256(std::as_bytes(std::span(text)))); }

// FIPS 180-2, appendix B, and the NIST example values for SHA-256.
TEST(BundleSha256, NistVectors) {
  EXPECT_EQ(hashOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hashOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hashOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(
      hashOf("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqk"
             "lmnopqrlmnopqrsmnopqrstnopqrstu"),
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(hashOf(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/// Every length around the ends of blocks, in every way of cutting it in two.
TEST(BundleSha256, PiecesGiveTheSame) {
  std::string text;
  for (unsigned i = 0; i < 200; ++i)
    text += static_cast<char>(i * 7 + 3);
  for (size_t length = 0; length <= text.size(); ++length)
    for (size_t cut = 0; cut <= length; ++cut) {
      const std::string_view whole = std::string_view(text).substr(0, length);
      Sha256 hash;
      hash.add(whole.substr(0, cut));
      hash.add(whole.substr(cut));
      ASSERT_EQ(toHex(hash.finish()), hashOf(whole)) << length << ' ' << cut;
    }
}

TEST(BundleSha256, Hex) {
  const std::string text = hashOf("abc");
  EXPECT_EQ(toHex(*digestOfHex(text)), text);
  EXPECT_FALSE(digestOfHex(text.substr(1)));
  EXPECT_FALSE(digestOfHex(text + "0"));
  EXPECT_FALSE(digestOfHex("B" + text.substr(1)));
  EXPECT_FALSE(digestOfHex("g" + text.substr(1)));
}

} // namespace
