//===-- tests/unit/driver/CacheTest.cpp - The compile cache ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Cache.h"
#include "codegen/driver/CompilerBuild.h"
#include "codegen/driver/Driver.h"
#include "codegen/driver/ImageCache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace fs = std::filesystem;
using namespace h3;

namespace {

class CacheTest : public testing::Test {
protected:
  CacheTest() {
    folder = fs::path(testing::TempDir()) /
             ("h3gen-cache-" + std::to_string(getpid()) + "-" +
              testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder);
  }
  ~CacheTest() override { fs::remove_all(folder); }

  std::vector<fs::path> files() const {
    std::vector<fs::path> result;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder))
      result.push_back(entry.path());
    return result;
  }

  fs::path folder;
};

Digest keyOf(std::string_view text) {
  CacheKey key;
  key.add("text", text);
  return key.digest();
}

TEST_F(CacheTest, GivesBackWhatWasStored) {
  Cache cache(folder.string(), Cache::defaultLimit);
  std::string value("a\0b\n", 4);
  EXPECT_FALSE(cache.load(keyOf("a")));
  cache.store(keyOf("a"), value);
  cache.store(keyOf("b"), "");
  EXPECT_EQ(cache.load(keyOf("a")), value);
  EXPECT_EQ(cache.load(keyOf("b")), "");
  EXPECT_FALSE(cache.load(keyOf("c")));
  EXPECT_EQ(Cache(folder.string(), 1).load(keyOf("a")), value);
  EXPECT_FALSE(cache.problem());
}

TEST_F(CacheTest, FieldsDoNotRunTogether) {
  CacheKey one, two, three;
  one.add("a", "bc");
  two.add("ab", "c");
  three.add("a", "b");
  three.add("c", "");
  EXPECT_NE(one.digest(), two.digest());
  EXPECT_NE(one.digest(), three.digest());
  CacheKey copy = one;
  EXPECT_EQ(copy.digest(), one.digest());
  copy.add("d", "");
  EXPECT_NE(copy.digest(), one.digest());
}

// Every byte of an entry, and every length.
TEST_F(CacheTest, DamageIsAMissAndIsMended) {
  Cache cache(folder.string(), Cache::defaultLimit);
  cache.store(keyOf("a"), "value");
  std::string path = files().at(0).string();
  std::stringstream whole;
  whole << std::ifstream(path, std::ios::binary).rdbuf();
  std::string good = whole.str();
  ASSERT_GT(good.size(), 64u);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x40);
    ASSERT_FALSE(replaceFile(path, bad));
    EXPECT_FALSE(cache.load(keyOf("a"))) << "byte " << i;
    ASSERT_FALSE(replaceFile(path, good.substr(0, i)));
    EXPECT_FALSE(cache.load(keyOf("a"))) << i << " bytes left";
  }
  ASSERT_FALSE(replaceFile(path, good + "x"));
  EXPECT_FALSE(cache.load(keyOf("a")));
  cache.store(keyOf("a"), "value");
  EXPECT_EQ(cache.load(keyOf("a")), "value");
  EXPECT_EQ(files().size(), 1u);
}

// An entry under the name of another key, as a careless copy would leave it.
TEST_F(CacheTest, AnEntryAnswersOnlyItsOwnKey) {
  Cache cache(folder.string(), Cache::defaultLimit);
  cache.store(keyOf("a"), "of a");
  fs::path a = files().at(0);
  cache.store(keyOf("b"), "of b");
  for (const fs::path &file : files())
    if (file != a)
      fs::copy_file(a, file, fs::copy_options::overwrite_existing);
  EXPECT_FALSE(cache.load(keyOf("b")));
  EXPECT_EQ(cache.load(keyOf("a")), "of a");
}

TEST_F(CacheTest, TrimRemovesTheLongestUnusedAndNothingElse) {
  std::string value(1000, 'v');
  Cache cache(folder.string(), 3500);
  auto age = [&](const fs::path &file, int hours) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  std::vector<fs::path> known;
  for (const char *name : {"a", "b", "c", "d"}) {
    cache.store(keyOf(name), value);
    for (const fs::path &file : files())
      if (std::find(known.begin(), known.end(), file) == known.end()) {
        known.push_back(file);
        age(file, 20 - static_cast<int>(known.size()));
      }
  }
  std::string stem = known[0].filename().string();
  for (const std::string &other : {stem + ".123456.tmp", stem + ".999999.tmp", stem + "x",
                                   std::string("notes.h3c"), stem.substr(1)})
    std::ofstream(folder / other) << "text";
  age(folder / (stem + ".999999.tmp"), 2);
  EXPECT_TRUE(cache.load(keyOf("a"))); // the oldest so far, and now the youngest
  cache.trim();
  EXPECT_TRUE(cache.load(keyOf("a")));
  EXPECT_FALSE(cache.load(keyOf("b")));
  EXPECT_TRUE(cache.load(keyOf("c")));
  EXPECT_TRUE(cache.load(keyOf("d")));
  EXPECT_TRUE(fs::exists(folder / (stem + ".123456.tmp"))); // someone may be writing it
  EXPECT_FALSE(fs::exists(folder / (stem + ".999999.tmp")));
  EXPECT_TRUE(fs::exists(folder / (stem + "x")));
  EXPECT_TRUE(fs::exists(folder / "notes.h3c"));
  EXPECT_TRUE(fs::exists(folder / stem.substr(1)));
}

// Several caches on one folder, as several processes are: each value is whole or absent.
TEST_F(CacheTest, ManyWritersAndReaders) {
  std::atomic<int> wrong = 0, found = 0;
  auto value = [](int key, int writer) {
    return std::string(static_cast<size_t>(20000 + key), static_cast<char>('a' + writer));
  };
  {
    std::vector<std::jthread> threads;
    for (int writer = 0; writer < 4; ++writer)
      threads.emplace_back([&, writer] {
        Cache cache(folder.string(), 100000);
        for (int round = 0; round < 60; ++round) {
          int number = (round * 7 + writer) % 8;
          Digest key = keyOf(std::to_string(number));
          cache.store(key, value(number, writer));
          if (round % 10 == 9)
            cache.trim();
          std::optional<std::string> got = cache.load(key);
          if (!got)
            continue;
          ++found;
          wrong += *got != value(number, got->front() - 'a');
        }
      });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(found, 0);
  for (const fs::path &file : files())
    EXPECT_EQ(file.extension(), ".h3c");
}

TEST_F(CacheTest, AFolderThatCannotBeMadeIsAProblemAndNoError) {
  Cache cache("/dev/null/cache", Cache::defaultLimit);
  cache.store(keyOf("a"), "value");
  EXPECT_TRUE(cache.problem());
  EXPECT_FALSE(cache.load(keyOf("a")));
  cache.trim();
}

TEST_F(CacheTest, DigestOfAFileFollowsItsContents) {
  Cache cache(folder.string(), Cache::defaultLimit);
  fs::create_directories(folder);
  std::string path = (folder / "tool").string();
  EXPECT_FALSE(cache.digestOfFile(path));
  ASSERT_FALSE(replaceFile(path, "abc"));
  std::optional<Digest> digest = cache.digestOfFile(path);
  ASSERT_TRUE(digest);
  EXPECT_EQ((*digest)[0], 0xba); // FIPS 180-2, B.1
  EXPECT_EQ((*digest)[31], 0xad);
  EXPECT_EQ(cache.digestOfFile(path), digest);
  // Written in place, with the same size and the same time.
  auto time = fs::last_write_time(path);
  std::ofstream(path) << "abd";
  fs::last_write_time(path, time);
  EXPECT_NE(cache.digestOfFile(path), digest);
  // A file that has not changed for a while is remembered.
  EXPECT_EQ(cache.digestOfFile("/proc/self/exe"), cache.digestOfFile("/proc/self/exe"));
}

TEST(CompilerBuild, IsTheSameForOneProgram) {
  Cache cache("/dev/null/cache", 1);
  std::optional<std::string> build = compilerBuild(cache);
  ASSERT_TRUE(build);
  EXPECT_GE(build->find('\n'), 16u);
  EXPECT_EQ(compilerBuild(cache), build);
}

TEST(CacheSize, UnitsAndWhatIsNone) {
  EXPECT_EQ(parseSize("0"), 0u);
  EXPECT_EQ(parseSize("123"), 123u);
  EXPECT_EQ(parseSize("2k"), 2048u);
  EXPECT_EQ(parseSize("512M"), Cache::defaultLimit);
  EXPECT_EQ(parseSize("3G"), uint64_t(3) << 30);
  EXPECT_EQ(parseSize("17179869183G"), uint64_t(17179869183) << 30);
  for (const char *text : {"", "M", "-1", "1.5G", "1 M", "17179869184G", "1T", "0x10", "many"})
    EXPECT_FALSE(parseSize(text)) << text;
}

TEST(PackedImage, ComesBackWhole) {
  CompiledImage image;
  image.summary = ImageSummary{78, 10, 30000, 40000, 117, 8};
  image.files = {{".ptx", "text\n"}, {".cubin", std::string("\0\1", 2)}, {".json", ""}};
  image.plans = "[{}]";
  std::string bytes = packImage(image);
  std::optional<CompiledImage> back = unpackImage(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->files, image.files);
  EXPECT_EQ(back->plans, image.plans);
  EXPECT_EQ(back->summary, image.summary);
  EXPECT_TRUE(back->fromCache);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(unpackImage(std::string_view(bytes).substr(0, size))) << size;
  EXPECT_FALSE(unpackImage(bytes + "x"));
}

} // namespace
