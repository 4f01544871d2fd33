//===-- codegen/driver/ImageCache.cpp - Images that were compiled before --===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/ImageCache.h"

#include "codegen/driver/CompilerBuild.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Endian.h>

using namespace llvm;

namespace h3 {
namespace {

/// To be raised when the meaning of keys or values changes; a new build alone changes all keys.
constexpr StringLiteral format = "image 3";

void putNumber(std::string &bytes, uint64_t number) {
  char encoded[sizeof number];
  support::endian::write64le(encoded, number);
  bytes.append(encoded, sizeof encoded);
}

void putText(std::string &bytes, std::string_view text) {
  putNumber(bytes, text.size());
  bytes += text;
}

/// Reads what the two functions above wrote. After a failure everything reads as 0 and empty.
struct Unpacker {
  StringRef rest;
  bool failed = false;

  uint64_t number() {
    if (rest.size() < sizeof(uint64_t))
      failed = true;
    if (failed)
      return 0;
    uint64_t value = support::endian::read64le(rest.data());
    rest = rest.drop_front(sizeof value);
    return value;
  }

  std::string text() {
    uint64_t size = number();
    if (size > rest.size())
      failed = true;
    if (failed)
      return {};
    std::string value = rest.take_front(size).str();
    rest = rest.drop_front(size);
    return value;
  }
};

} // namespace

std::string packImage(const CompiledImage &image) {
  std::string bytes;
  const ImageSummary &summary = *image.summary;
  for (uint64_t number : {uint64_t(summary.ptxVersion), summary.kernels, summary.imageBytes,
                          summary.assembledBytes, summary.registers, summary.spillBytes})
    putNumber(bytes, number);
  putNumber(bytes, image.files.size());
  for (const ImageFile &file : image.files) {
    putText(bytes, file.ending);
    putText(bytes, file.contents);
  }
  putText(bytes, image.plans);
  return bytes;
}

std::optional<CompiledImage> unpackImage(std::string_view bytes) {
  Unpacker in{bytes};
  CompiledImage image;
  ImageSummary &summary = image.summary.emplace();
  summary.ptxVersion = static_cast<unsigned>(in.number());
  for (uint64_t *number : {&summary.kernels, &summary.imageBytes, &summary.assembledBytes,
                           &summary.registers, &summary.spillBytes})
    *number = in.number();
  for (uint64_t files = in.number(); files != 0 && !in.failed; --files) {
    std::string ending = in.text();
    image.files.push_back({std::move(ending), in.text()});
  }
  image.plans = in.text();
  if (in.failed || !in.rest.empty())
    return {};
  image.fromCache = true;
  return image;
}

std::unique_ptr<ImageCache> ImageCache::make(Cache &cache, const ImageSettings &settings) {
  std::optional<std::string> build = compilerBuild(cache);
  if (!build)
    return nullptr;
  CacheKey common;
  common.add("format", format);
  common.add("compiler", *build);
  common.add("emit", settings.emit);
  // A field that is new in ImageOptions does not compile here until it is part of the key. The
  // stage follows from `emit`, the header from the spec's name and this build; printing has no
  // cache.
  const auto &[stage, printAfterPasses, schedule, dependentLaunch, header] = settings.compile;
  common.add("schedule", schedule);
  common.add("dependent launch", dependentLaunch ? "yes" : "no");
  for (const auto &[backend, assembler] : settings.assemblers) {
    if (!assembler)
      continue;
    common.add("assembled", backend);
    if (!assembler.tool)
      continue;
    std::optional<Digest> digest = cache.digestOfFile(assembler.tool->path);
    if (!digest)
      return nullptr;
    common.add("assembler version", assembler.tool->version);
    common.add("assembler", toHex(ArrayRef<uint8_t>(*digest)));
  }
  return std::unique_ptr<ImageCache>(new ImageCache(cache, std::move(common)));
}

Digest ImageCache::keyOf(const ImageJob &job) const {
  CacheKey key = common;
  key.add("target", job.target->name);
  key.add("operator", job.entry->op->name.text);
  for (const std::unique_ptr<Program> &program : job.entry->programs) {
    key.add("instance", std::to_string(program->typeArguments.size()));
    for (const auto &[name, type] : program->typeArguments)
      key.add(name, h3::name(type));
  }
  key.add("file name", job.path->substr(job.path->rfind('/') + 1));
  for (const Module &module : job.spec->modules.modules) {
    key.add("module", module.name);
    key.add("text", module.file->source->text);
    for (const auto &[name, index] : module.uses) {
      key.add("use", name);
      key.add("of", std::to_string(index));
    }
  }
  return key.digest();
}

std::optional<CompiledImage> ImageCache::load(const ImageJob &job) {
  std::optional<std::string> bytes = cache.load(keyOf(job));
  return bytes ? unpackImage(*bytes) : std::nullopt;
}

void ImageCache::store(const ImageJob &job, const CompiledImage &image) {
  cache.store(keyOf(job), packImage(image));
}

} // namespace h3
