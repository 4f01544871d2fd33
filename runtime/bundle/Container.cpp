//===-- runtime/bundle/Container.cpp - The file around a manifest and its images -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/bundle/Container.h"

#include "runtime/json/Fields.h"
#include "runtime/json/Writer.h"

namespace h3::bundle {

namespace {

constexpr std::string_view kDigestName = "h3.digest";
constexpr uint64_t kDigestBytes = 32;
/// In front of the images' names: behind the other keys in the order of bytes.
constexpr std::string_view kImagePrefix = "image/";
/// How every header begins, keys being sorted.
constexpr std::string_view kBegin = R"({"__metadata__":{"h3.manifest":")";

uint64_t roundedUp(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

Error fail(std::string message) { return Error{std::move(message)}; }

std::string_view textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// Reads the fields of one tensor, whose data must begin at \p begin; returns where they end.
uint64_t readTensor(const json::Value &value, const std::string &name, uint64_t begin,
                    uint64_t dataBytes, json::Problem &problem) {
  json::Fields fields(value, "tensor '" + name + "'", problem);
  uint64_t end = begin;
  if (const std::optional<json::Value> offsets = fields.array("data_offsets")) {
    json::Value::Iterator part = offsets->begin();
    const bool isPair = offsets->size() == 2;
    const int64_t first = isPair ? (*part).integer().value_or(-1) : -1;
    const int64_t last = isPair ? (*++part).integer().value_or(-1) : -1;
    if (first < 0 || last < first)
      fields.report("data_offsets are no two increasing numbers");
    else if (static_cast<uint64_t>(first) != begin)
      fields.report("its data begin at byte " + std::to_string(first) + ", expected " +
                    std::to_string(begin) + ": no holes, no overlaps");
    else if (static_cast<uint64_t>(last) > dataBytes)
      fields.report("its data end at byte " + std::to_string(last) + ", the file has " +
                    std::to_string(dataBytes));
    else
      end = static_cast<uint64_t>(last);
  }
  if (const std::string type = fields.string("dtype"); type != "U8")
    fields.report("its dtype is '" + type + "', expected 'U8'");
  if (const std::optional<json::Value> shape = fields.array("shape"))
    if (shape->size() != 1 || (*shape->begin()).integer() != static_cast<int64_t>(end - begin))
      fields.report("its shape is not [" + std::to_string(end - begin) + "]");
  fields.finish();
  return end;
}

Result<Container, Error> readHeader(const json::Value &root, std::span<const std::byte> data) {
  json::Problem problem;
  Container container;
  uint64_t at = 0;
  std::optional<json::Value> digest;
  for (json::Value::Iterator member = root.begin(); member != root.end(); ++member) {
    const std::string name(member.key());
    if (name == "__metadata__") {
      json::Fields fields(*member, "__metadata__", problem);
      container.manifest = fields.string("h3.manifest");
      fields.finish();
    } else if (name == kDigestName) {
      digest = *member;
    } else if (name.starts_with(kImagePrefix)) {
      const uint64_t begin = at;
      at = readTensor(*member, name, begin, data.size(), problem);
      if (at % kAlignment != 0)
        problem.report("tensor '" + name + "'", "its " + std::to_string(at - begin) +
                                                    " bytes are no multiple of " +
                                                    std::to_string(kAlignment));
      container.images.push_back(
          {name.substr(kImagePrefix.size()), data.subspan(begin, at - begin)});
    } else {
      problem.report("", "'" + name + "' is no name of a tensor in a bundle");
    }
    if (!problem.isEmpty())
      return fail("the header is wrong: " + problem.message());
  }
  if (!digest)
    return fail("the header is wrong: there is no tensor '" + std::string(kDigestName) + "'");
  const uint64_t end = readTensor(*digest, std::string(kDigestName), at, data.size(), problem);
  if (!problem.isEmpty())
    return fail("the header is wrong: " + problem.message());
  if (end != data.size() || end - at != kDigestBytes)
    return fail("the header is wrong: '" + std::string(kDigestName) + "' is not the last " +
                std::to_string(kDigestBytes) + " bytes");
  return container;
}

} // namespace

Result<Container, Error> unpack(std::span<const std::byte> bytes) {
  const std::string_view text = textOf(bytes);
  if (text.size() < 8 + kBegin.size() + kDigestBytes || text.substr(8, kBegin.size()) != kBegin)
    return fail("it is not a bundle: its header does not begin with " + std::string(kBegin));
  const std::span<const std::byte> covered = bytes.first(bytes.size() - kDigestBytes);
  Digest stored;
  for (size_t i = 0; i < kDigestBytes; ++i)
    stored.bytes[i] = static_cast<uint8_t>(bytes[covered.size() + i]);
  if (sha256(covered) != stored)
    return fail("it is damaged or ends early: its last 32 bytes are not the SHA-256 of the others");
  uint64_t length = 0;
  for (unsigned i = 0; i < 8; ++i)
    length |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  if (length > kMaxHeaderBytes)
    return fail("its header has " + std::to_string(length) + " bytes, at most " +
                std::to_string(kMaxHeaderBytes) + " are read");
  if (length > bytes.size() - 8)
    return fail("its header has " + std::to_string(length) + " bytes, the file has " +
                std::to_string(bytes.size()));
  std::string_view header = text.substr(8, length);
  while (header.ends_with(' '))
    header.remove_suffix(1);
  if (roundedUp(8 + header.size()) != 8 + length)
    return fail("the header is wrong: it is not padded to a multiple of " +
                std::to_string(kAlignment) + " bytes with the fewest spaces");
  const Result<json::Document, json::SyntaxError> document = json::Document::parse(header);
  if (!document)
    return fail("the header is not canonical JSON: " + document.error().message);
  Result<Container, Error> container = readHeader(document->root(), bytes.subspan(8 + length));
  if (container)
    container->digest = stored;
  return container;
}

Result<std::string, Error> pack(std::string_view manifest, std::span<const PackedImage> images) {
  json::Writer w;
  uint64_t at = 0;
  const auto writeTensor = [&](std::string_view name, uint64_t begin, uint64_t bytes) {
    w.key(name);
    w.open('{');
    w.key("data_offsets");
    w.array(std::initializer_list<uint64_t>{begin, begin + bytes},
            [&](uint64_t offset) { w.integer(static_cast<int64_t>(offset)); });
    w.key("dtype");
    w.string("U8");
    w.key("shape");
    w.array(std::initializer_list<uint64_t>{bytes},
            [&](uint64_t extent) { w.integer(static_cast<int64_t>(extent)); });
    w.close('}');
  };
  uint64_t dataBytes = 0;
  for (const PackedImage &image : images)
    dataBytes += roundedUp(image.bytes.size() + image.hasNul);
  w.open('{');
  w.key("__metadata__");
  w.open('{');
  w.key("h3.manifest");
  w.string(manifest);
  w.close('}');
  writeTensor(kDigestName, dataBytes, kDigestBytes);
  for (const PackedImage &image : images) {
    const uint64_t bytes = roundedUp(image.bytes.size() + image.hasNul);
    writeTensor(std::string(kImagePrefix) + image.name, at, bytes);
    at += bytes;
  }
  w.close('}');
  std::string header = w.take();
  header.resize(roundedUp(8 + header.size()) - 8, ' ');
  if (header.size() > kMaxHeaderBytes)
    return fail("the header of the bundle would have " + std::to_string(header.size()) +
                " bytes, at most " + std::to_string(kMaxHeaderBytes) + " are read");
  std::string file;
  file.reserve(8 + header.size() + dataBytes + kDigestBytes);
  for (unsigned i = 0; i < 8; ++i)
    file += static_cast<char>(header.size() >> (8 * i));
  file += header;
  for (const PackedImage &image : images) {
    file += image.bytes;
    file.append(roundedUp(image.bytes.size() + image.hasNul) - image.bytes.size(), '\0');
  }
  const Digest digest = sha256(std::as_bytes(std::span(file)));
  file.append(reinterpret_cast<const char *>(digest.bytes.data()), digest.bytes.size());
  return file;
}

} // namespace h3::bundle
