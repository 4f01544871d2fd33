//===-- tests/unit/runtime/tensor/SafetensorsTest.cpp - Tensor files *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/tensor/Safetensors.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include <sys/resource.h>
#include <unistd.h>

using namespace h3::tensor;
namespace fs = std::filesystem;

namespace {

std::vector<std::byte> bytesOf(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// A file with this header and this many data bytes (0, 1, 2 ...).
std::vector<std::byte> file(std::string_view header, size_t data) {
  std::vector<std::byte> result(8);
  for (int i = 0; i < 8; ++i)
    result[i] = static_cast<std::byte>(header.size() >> (8 * i));
  const auto text = bytesOf(header);
  result.insert(result.end(), text.begin(), text.end());
  for (size_t i = 0; i < data; ++i)
    result.push_back(static_cast<std::byte>(i));
  return result;
}

std::string errorOf(std::span<const std::byte> bytes) {
  auto result = parseSafetensors(bytes, "f");
  if (result)
    return "read";
  const std::string prefix = "'f' is not a good safetensors file: ";
  EXPECT_EQ(result.error().message.substr(0, prefix.size()), prefix);
  EXPECT_EQ(result.error().message.find('\n'), std::string::npos);
  return result.error().message.substr(prefix.size());
}

/// A folder of its own, removed at the end.
struct Folder : testing::Test {
  Folder() {
    static int count = 0;
    path = fs::path(testing::TempDir()) /
           ("h3_tensor_test_" + std::to_string(getpid()) + "_" + std::to_string(count++));
    fs::create_directory(path);
  }
  ~Folder() override {
    std::error_code error;
    fs::permissions(path, fs::perms::owner_all, error);
    fs::remove_all(path, error);
  }
  std::string at(const char *name) const { return (path / name).string(); }
  size_t entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
  fs::path path;
};
using SafetensorsFileTest = Folder;

TEST(SafetensorsTest, ReadsTensorsAndMetadata) {
  const auto bytes =
      file(R"({"__metadata__":{"torch":"2.11","by":""},"b":{"dtype":"F16","shape":[2,1],)"
           R"("data_offsets":[4,8]},"a":{"data_offsets":[0,4],"shape":[],"dtype":"F32"}}   )",
           8);
  auto result = parseSafetensors(bytes, "f");
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->tensors.size(), 2u);
  EXPECT_EQ(result->tensors[0].name, "a");
  EXPECT_EQ(result->metadata, (std::map<std::string, std::string>{{"torch", "2.11"}, {"by", ""}}));
  const TensorData *a = result->find("a"), *b = result->find("b");
  ASSERT_TRUE(a && b);
  EXPECT_EQ(result->find("c"), nullptr);
  EXPECT_EQ(a->type, StorageType::F32);
  EXPECT_TRUE(a->shape.empty());
  EXPECT_EQ(b->type, StorageType::F16);
  EXPECT_EQ(b->shape, (std::vector<int64_t>{2, 1}));
  const unsigned char expected[] = {4, 5, 6, 7};
  ASSERT_EQ(b->data.size(), 4u);
  EXPECT_EQ(std::memcmp(b->data.data(), expected, 4), 0);
  for (const TensorData *tensor : {a, b})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data.data()) % 256, 0u);
}

TEST(SafetensorsTest, EveryType) {
  const struct {
    const char *name;
    StorageType type;
    unsigned width;
    h3::plan::DType dtype;
  } rows[] = {{"BOOL", StorageType::Bool, 1, h3::plan::DType::Other},
              {"U8", StorageType::U8, 1, h3::plan::DType::Other},
              {"I8", StorageType::I8, 1, h3::plan::DType::Other},
              {"F8_E4M3", StorageType::F8E4M3, 1, h3::plan::DType::E4M3},
              {"F8_E5M2", StorageType::F8E5M2, 1, h3::plan::DType::E5M2},
              {"U16", StorageType::U16, 2, h3::plan::DType::Other},
              {"I16", StorageType::I16, 2, h3::plan::DType::Other},
              {"F16", StorageType::F16, 2, h3::plan::DType::F16},
              {"BF16", StorageType::BF16, 2, h3::plan::DType::BF16},
              {"U32", StorageType::U32, 4, h3::plan::DType::Other},
              {"I32", StorageType::I32, 4, h3::plan::DType::I32},
              {"F32", StorageType::F32, 4, h3::plan::DType::F32},
              {"U64", StorageType::U64, 8, h3::plan::DType::Other},
              {"I64", StorageType::I64, 8, h3::plan::DType::I64},
              {"F64", StorageType::F64, 8, h3::plan::DType::F64}};
  for (auto &row : rows) {
    EXPECT_EQ(name(row.type), row.name);
    EXPECT_EQ(bytes(row.type), row.width);
    EXPECT_EQ(dtype(row.type), row.dtype);
    if (row.dtype != h3::plan::DType::Other) {
      EXPECT_EQ(storageOf(row.dtype), row.type);
    }
    const std::string size = std::to_string(3 * row.width);
    auto result = parseSafetensors(file(std::string(R"({"t":{"dtype":")") + row.name +
                                            R"(","shape":[3],"data_offsets":[0,)" + size + "]}}",
                                        3 * row.width),
                                   "f");
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->tensors[0].type, row.type);
    EXPECT_EQ(result->tensors[0].data.size(), 3 * row.width);
  }
  EXPECT_EQ(storageOf(h3::plan::DType::Other), std::nullopt);
  EXPECT_EQ(storageTypeNamed("f16"), std::nullopt);
}

TEST(SafetensorsTest, EmptyFilesAndTensors) {
  EXPECT_EQ(errorOf(file("{}", 0)), "read");
  auto result = parseSafetensors(
      file(R"({"e":{"dtype":"F32","shape":[0,9223372036854775807,9],"data_offsets":[0,0]}})", 0),
      "f");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->tensors[0].data.size(), 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(result->tensors[0].data.data()) % 256, 0u);
}

TEST(SafetensorsTest, LyingLengths) {
  EXPECT_EQ(errorOf(bytesOf("")), "it has 0 bytes, its header's length alone takes 8");
  EXPECT_EQ(errorOf(bytesOf("1234567")), "it has 7 bytes, its header's length alone takes 8");
  auto bytes = file("{}", 0);
  bytes[0] = std::byte(3);
  EXPECT_EQ(errorOf(bytes), "its header claims 3 bytes, the file has 2 after the length");
  bytes[0] = std::byte(0);
  EXPECT_EQ(errorOf(bytes), "its header is not JSON at byte 0");
  bytes[4] = std::byte(1);
  EXPECT_EQ(errorOf(bytes), "its header claims 4294967296 bytes, the most allowed is 100000000");
  for (int i = 0; i < 8; ++i)
    bytes[i] = std::byte(0xff);
  EXPECT_EQ(errorOf(bytes),
            "its header claims 18446744073709551615 bytes, the most allowed is 100000000");
}

TEST(SafetensorsTest, WrongHeaders) {
  const struct {
    const char *header;
    size_t data;
    const char *error;
  } rows[] = {
      {"nonsense", 0, "its header is not JSON at byte 1"},
      {"{\"a\":", 0, "its header is not JSON at byte 5"},
      {"{} x", 0, "its header is not JSON at byte 3"},
      {"{\"\xff\":1}", 0, "its header is not JSON at byte 2"},
      {"[]", 0, "its header is an array, expected an object"},
      {"7", 0, "its header is the number 7, expected an object"},
      {R"({"a":1})", 0,
       "tensor 'a': found the number 1, expected an object with dtype, shape and data_offsets"},
      {R"({"a":[[[[]]]]})", 0,
       "tensor 'a': found an array, expected an object with dtype, shape and data_offsets"},
      {R"({"a":{}})", 0, "tensor 'a': dtype, shape and data_offsets are needed"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", 4,
       "tensor 'a': dtype, shape and data_offsets are needed"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", 4,
       "tensor 'a': unknown field 'x'"},
      {R"({"a":{"dtype":"F4","shape":[1],"data_offsets":[0,4]}})", 4,
       "tensor 'a': dtype 'F4' is not supported"},
      {R"({"a":{"dtype":4,"shape":[1],"data_offsets":[0,4]}})", 4,
       "tensor 'a': dtype is the number 4, expected a string"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4,
       "tensor 'a': shape holds a negative number, expected numbers of 0 or more"},
      {R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4,
       "tensor 'a': shape holds the number 1.0, expected numbers of 0 or more"},
      {R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", 4,
       "tensor 'a': shape holds an array, expected numbers of 0 or more"},
      {R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4,
       "tensor 'a': shape holds the number 1, expected numbers of 0 or more"},
      {R"({"a":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4]}})", 4,
       "tensor 'a': an extent of 9223372036854775808 is out of range"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4,
       "tensor 'a': data_offsets has 1 numbers, two are needed"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 4,
       "tensor 'a': data_offsets has more than two numbers"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,null]}})", 4,
       "tensor 'a': data_offsets holds null, expected two numbers of 0 or more"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,99999999999999999999]}})", 4,
       "tensor 'a': data_offsets holds the number 99999999999999999999, expected two numbers of 0 "
       "or more"},
      {R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4,
       "tensor 'a': 'dtype' is given twice"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
       R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       8, "'a' is in the header twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", 0, "'__metadata__' is in the header twice"},
      {R"({"__metadata__":{"a":"1","a":"2"}})", 0, "'a' is in __metadata__ twice"},
      {R"({"__metadata__":{"a":1}})", 0, "__metadata__ holds the number 1, expected strings"},
      {R"({"__metadata__":true})", 0, "__metadata__ holds a boolean, expected strings"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8,
       "tensor 'a': data_offsets 8 to 0 run backwards"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7,
       "tensor 'a': data_offsets 0 to 8 reach past the 7 bytes of data in the file"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615]}})", 8,
       "tensor 'a': data_offsets 0 to 18446744073709551615 reach past the 8 bytes of data in the "
       "file"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8,
       "tensor 'a': data_offsets 0 to 8 hold 8 bytes, shape [3] of F32 needs 12"},
      {R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
       "tensor 'a': shape [4294967296, 4294967296] has more bytes than 63 bits count"},
      {R"({"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})", 0,
       "tensor 'a': shape [2305843009213693952] has more bytes than 63 bits count"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}})",
       7, "tensors 'a' and 'b' overlap in the file"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}})",
       9, "bytes 4 to 5 of the data belong to no tensor"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 5,
       "bytes 4 to 5 of the data belong to no tensor"},
  };
  for (auto &row : rows)
    EXPECT_EQ(errorOf(file(row.header, row.data)), row.error) << row.header;
}

TEST(SafetensorsTest, DeepHeadersAreRefusedWithoutRecursion) {
  EXPECT_EQ(errorOf(file(std::string(1'000'000, '['), 0)),
            "its header is an array, expected an object");
  std::string deep = R"({"a":{"dtype":"F32","shape":)" + std::string(1'000'000, '[');
  EXPECT_EQ(errorOf(file(deep, 0)),
            "tensor 'a': shape holds an array, expected numbers of 0 or more");
}

TEST(SafetensorsTest, EveryTruncationIsAnError) {
  const auto whole =
      file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{"k":"v"}})", 8);
  ASSERT_EQ(errorOf(whole), "read");
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(errorOf(std::span(whole).first(size)), "read") << size;
}

TEST(SafetensorsTest, FlippedBytesNeverCrash) {
  const auto whole =
      file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F16",)"
           R"("shape":[1,2],"data_offsets":[8,12]}})",
           12);
  std::mt19937 random(1);
  unsigned refused = 0;
  for (int i = 0; i < 20000; ++i) {
    auto bytes = whole;
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    auto result = parseSafetensors(bytes, "f");
    refused += !result;
    if (!result)
      continue;
    for (const TensorData &tensor : result->tensors) {
      const int64_t elements = *elementCount(tensor.shape);
      ASSERT_EQ(tensor.data.size(), static_cast<size_t>(elements) * h3::tensor::bytes(tensor.type));
    }
  }
  EXPECT_GT(refused, 10000u);
}

TEST_F(SafetensorsFileTest, WritesWhatItReads) {
  const auto a = bytesOf("abcdefgh"), b = bytesOf("xyz"), none = bytesOf("");
  const TensorBytes tensors[] = {{"b \"quoted\" \xc3\xa9", StorageType::U8, {3}, b},
                                 {"a", StorageType::F32, {1, 2}, a},
                                 {"none", StorageType::F64, {4, 0}, none}};
  auto error = writeSafetensors(at("f"), tensors, {{"key", "value"}});
  ASSERT_FALSE(error) << error->message;
  EXPECT_EQ(entries(), 1u) << "no temporary file is left";
  auto result = readSafetensors(at("f"));
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->tensors.size(), 3u);
  EXPECT_EQ(result->metadata.at("key"), "value");
  for (const TensorBytes &tensor : tensors) {
    const TensorData *found = result->find(tensor.name);
    ASSERT_TRUE(found) << tensor.name;
    EXPECT_EQ(found->type, tensor.type);
    EXPECT_EQ(found->shape, tensor.shape);
    ASSERT_EQ(found->data.size(), tensor.bytes.size());
    EXPECT_TRUE(std::equal(tensor.bytes.begin(), tensor.bytes.end(), found->data.data()));
  }
  std::ifstream in(at("f"), std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(text.find("abcdefgh") % 8, 0u) << "wider elements come first, at aligned places";
  EXPECT_EQ(text.substr(text.find("abcdefgh")), "abcdefghxyz");
}

TEST_F(SafetensorsFileTest, AFailedWriteLeavesWhatWasThere) {
  const auto a = bytesOf("abcd");
  const TensorBytes good[] = {{"a", StorageType::F32, {1}, a}};
  ASSERT_FALSE(writeSafetensors(at("f"), good));
  const struct {
    std::vector<TensorBytes> tensors;
    const char *cause;
  } rows[] = {
      {{{"a", StorageType::F32, {2}, a}},
       "tensor 'a': its 4 bytes are not what its shape and type need"},
      {{{"a", StorageType::F32, {-1}, a}},
       "tensor 'a': its 4 bytes are not what its shape and type need"},
      {{{"a", StorageType::F32, {1}, a}, {"a", StorageType::F32, {1}, a}},
       "two tensors are named 'a'"},
      {{{"__metadata__", StorageType::F32, {1}, a}}, "tensor '__metadata__': the name is reserved"},
      {{{"\xff", StorageType::F32, {1}, a}}, "a name or the metadata is not UTF-8"},
  };
  for (auto &row : rows) {
    auto error = writeSafetensors(at("f"), row.tensors);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message, "cannot write '" + at("f") + "': " + row.cause);
  }
  fs::create_directory(path / "folder");
  auto error = writeSafetensors(at("folder"), good);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "cannot write '" + at("folder") + "': Is a directory");
  error = writeSafetensors(at("missing/f"), good);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "cannot write '" + at("missing/f") + "': No such file or directory");
  EXPECT_EQ(entries(), 2u) << "the file, the folder, and nothing temporary";
  EXPECT_TRUE(readSafetensors(at("f")));
}

TEST_F(SafetensorsFileTest, AFullDiskLeavesNoPartialFile) {
  // Room for 64 KiB, then writes fail as on a full disk.
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small = {65536, before.rlim_max};
  const std::vector<std::byte> much(1 << 20);
  const TensorBytes tensors[] = {{"a", StorageType::U8, {1 << 20}, much}};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  auto error = writeSafetensors(at("f"), tensors);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "cannot write '" + at("f") + "': File too large");
  EXPECT_EQ(entries(), 0u);
}

TEST_F(SafetensorsFileTest, AForeignFileAtTheTemporaryNameIsNotTouched) {
  const std::string temporary = at("f") + ".tmp." + std::to_string(getpid());
  std::ofstream(temporary) << "theirs";
  const auto a = bytesOf("abcd");
  const TensorBytes tensors[] = {{"a", StorageType::F32, {1}, a}};
  auto error = writeSafetensors(at("f"), tensors);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "cannot write '" + at("f") + "': File exists");
  EXPECT_FALSE(fs::exists(at("f")));
  EXPECT_EQ(fs::file_size(temporary), 6u);
}

TEST_F(SafetensorsFileTest, UnreadablePaths) {
  auto missing = readSafetensors(at("missing"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "cannot read '" + at("missing") + "': No such file or directory");
  auto folder = readSafetensors(path.string());
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().message, "cannot read '" + path.string() + "': it is not a file");
  std::ofstream(at("short")) << "abc";
  auto truncated = readSafetensors(at("short"));
  ASSERT_FALSE(truncated);
  EXPECT_EQ(truncated.error().message,
            "'" + at("short") +
                "' is not a good safetensors file: it has 3 bytes, its header's "
                "length alone takes 8");
}

TEST(AlignedBufferTest, IsAlignedZeroedAndMoves) {
  auto buffer = AlignedBuffer::allocate(1000);
  ASSERT_TRUE(buffer);
  for (std::byte b : buffer->span())
    ASSERT_EQ(b, std::byte(0));
  buffer->data()[7] = std::byte(42);
  const std::byte *place = buffer->data();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(place) % AlignedBuffer::kAlignment, 0u);
  AlignedBuffer other = std::move(*buffer);
  EXPECT_EQ(other.data(), place);
  EXPECT_EQ(other.size(), 1000u);
  EXPECT_EQ(buffer->size(), 0u);
  *buffer = std::move(other);
  EXPECT_EQ(buffer->data()[7], std::byte(42));
  EXPECT_FALSE(AlignedBuffer::allocate(SIZE_MAX / 2));
}

} // namespace
