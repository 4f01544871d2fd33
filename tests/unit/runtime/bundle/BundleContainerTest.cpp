//===-- tests/unit/runtime/bundle/BundleContainerTest.cpp - Damage and wrong forms -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/bundle/Container.h"
#include "tests/unit/runtime/bundle/SmallBundle.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

using namespace h3::bundle;
using namespace h3::bundle::test;

namespace {

TEST(BundleContainer, EveryFlippedByteIsRefused) {
  std::string file = smallBundle();
  ASSERT_EQ(errorOf(file), "good");
  for (size_t i = 0; i < file.size(); ++i) {
    const char before = file[i];
    file[i] ^= static_cast<char>(i % 9 == 8 ? 0xFF : 1 << (i % 9));
    ASSERT_NE(errorOf(file), "good") << "byte " << i;
    file[i] = before;
  }
  EXPECT_EQ(errorOf(file), "good");
}

TEST(BundleContainer, EveryTruncationIsRefused) {
  const std::string file = smallBundle();
  for (size_t length = 0; length < file.size(); ++length)
    ASSERT_NE(errorOf(std::string_view(file).substr(0, length)), "good") << length;
}

/// Also where the digest is made to fit: the form itself has no room for them.
TEST(BundleContainer, TruncationsThatAreSealedAreRefused) {
  const std::string file = smallBundle();
  for (size_t length = 32; length < file.size(); ++length)
    ASSERT_NE(errorOf(sealed(file.substr(0, length))), "good") << length;
  EXPECT_NE(errorOf(sealed(file + std::string(1, '\0'))), "good");
  EXPECT_NE(errorOf(sealed(file + std::string(64, '\0'))), "good");
}

TEST(BundleContainer, WhatIsNoBundleIsCalledThat) {
  for (const std::string &file :
       {std::string(), std::string(7, 'x'), std::string(4096, '\0'), std::string(4096, '{')})
    EXPECT_TRUE(errorOf(file).starts_with("it is not a bundle")) << errorOf(file);
}

TEST(BundleContainer, OtherHeadersAreRefused) {
  const std::string file = smallBundle();
  const auto changed = [&](std::string_view from, std::string_view to) {
    return errorOf(withHeader(file, from, to));
  };
  EXPECT_EQ(changed("\"dtype\":\"U8\"", "\"dtype\":\"U8\""), "good");
  EXPECT_TRUE(
      changed("\"dtype\":\"U8\"", "\"dtype\": \"U8\"").starts_with("the header is not canonical"));
  EXPECT_TRUE(changed("\"dtype\":\"U8\"", "\"dtype\":\"I8\"").find("expected 'U8'") !=
              std::string::npos);
  // A duplicate key, one that is unknown, one that is missing.
  EXPECT_NE(
      changed("\"dtype\":\"U8\",", "\"dtype\":\"U8\",\"dtype\":\"U8\",").find("a second time"),
      std::string::npos);
  EXPECT_NE(changed("\"dtype\":\"U8\",", "\"dtype\":\"U8\",\"e\":1,").find("'shape'"),
            std::string::npos);
  EXPECT_NE(changed("\"dtype\":\"U8\",", "").find("'dtype'"), std::string::npos);
  EXPECT_NE(
      changed("},\"h3.digest\"", ",\"other\":\"\"},\"h3.digest\"").find("unknown field 'other'"),
      std::string::npos);
  EXPECT_NE(changed("image/swiglu.sm_90.ptx", "imagf/swiglu.sm_90.ptx").find("no name of a tensor"),
            std::string::npos);
  // A hole, an overlap, data beyond the end, a shape that does not fit.
  EXPECT_NE(changed("[64,128]", "[65,128]").find("no holes, no overlaps"), std::string::npos);
  EXPECT_NE(changed("[64,128]", "[63,128]").find("no holes, no overlaps"), std::string::npos);
  EXPECT_NE(changed("[64,128]", "[64,9999999]").find("the file has"), std::string::npos);
  EXPECT_NE(changed("[64,128]", "[64,32]").find("increasing"), std::string::npos);
  EXPECT_NE(changed("\"shape\":[64]", "\"shape\":[65]").find("its shape is not [64]"),
            std::string::npos);
  EXPECT_NE(changed("\"shape\":[64]", "\"shape\":[64,1]").find("its shape is not"),
            std::string::npos);
  EXPECT_NE(changed("\"shape\":[32]", "\"shape\":[-32]"), "good");
  // Too deep.
  EXPECT_NE(changed("\"shape\":[32]", "\"shape\":" + std::string(40, '[') + std::string(40, ']'))
                .find("more than 32"),
            std::string::npos);
}

TEST(BundleContainer, PaddingIsOfOneForm) {
  const std::string file = smallBundle();
  uint64_t length = uint8_t(file[0]) | uint64_t(uint8_t(file[1])) << 8;
  EXPECT_EQ((8 + length) % 64, 0u);
  // 64 more spaces, and as many in front.
  std::string padded = file;
  padded.insert(8 + length, 64, ' ');
  padded[0] = static_cast<char>(length + 64);
  padded[1] = static_cast<char>((length + 64) >> 8);
  EXPECT_NE(errorOf(sealed(padded)).find("fewest spaces"), std::string::npos);
  // A byte behind an image, one behind a text.
  const size_t cubin = file.find("cubin of a probe"), ptx = file.find("ptx of a probe");
  std::string dirty = file;
  dirty[cubin + 16] = 'x';
  EXPECT_NE(errorOf(sealed(dirty)).find("its padding is not zero"), std::string::npos);
  dirty = file;
  dirty[ptx + 14] = 'x';
  EXPECT_NE(errorOf(sealed(dirty)).find("its padding is not zero"), std::string::npos);
  dirty = file;
  dirty[ptx] = 'X';
  EXPECT_NE(errorOf(sealed(dirty)).find("its digest is not that of its bytes"), std::string::npos);
}

TEST(BundleContainer, LongHeadersAreRefused) {
  std::string file = smallBundle();
  for (unsigned i = 0; i < 8; ++i)
    file[i] = static_cast<char>(i == 7 ? 0x7F : 0xFF);
  EXPECT_NE(errorOf(sealed(file)).find("at most 16777216 are read"), std::string::npos);
  EXPECT_NE(pack(std::string(kMaxHeaderBytes, 'x'), {}).error().message.find("at most 16777216"),
            std::string::npos);
}

TEST(BundleContainer, FilesAreMapped) {
  const std::string path = ::testing::TempDir() + "bundle_test.h3b";
  const std::string file = smallBundle();
  std::ofstream(path, std::ios::binary) << file;
  auto bundle = Bundle::openFile(path);
  ASSERT_TRUE(bundle) << bundle.error().message;
  const Bundle moved = std::move(*bundle);
  EXPECT_EQ(moved.contents().name, "small");
  std::remove(path.c_str());
  EXPECT_EQ(
      std::string_view(reinterpret_cast<const char *>(moved.contents().images[1].bytes.data())),
      "cubin of a probe");
  EXPECT_EQ(Bundle::openFile(path).error().message,
            "cannot read '" + path + "': No such file or directory");
  EXPECT_EQ(Bundle::openFile("/").error().message, "cannot read '/': it is no regular file");
  EXPECT_TRUE(Bundle::openFile("/dev/null").error().message.ends_with("it is no regular file"));
  std::ofstream(path, std::ios::binary) << "";
  EXPECT_NE(Bundle::openFile(path).error().message.find("is no good bundle: it is not a bundle"),
            std::string::npos);
  std::remove(path.c_str());
}

} // namespace
