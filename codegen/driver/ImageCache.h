//===-- codegen/driver/ImageCache.h - Images that were compiled before - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The key of an image is a digest of everything that its bytes follow from: the texts of the spec
// and of all modules it uses, the operator, the target, the options, this build of h3gen, and,
// where there is a cubin, ptxas' version and contents. Paths are no part of it, but for the spec's
// own file name, which stands in the header of the PTX.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_IMAGECACHE_H
#define H3_CODEGEN_DRIVER_IMAGECACHE_H

#include "codegen/driver/Cache.h"
#include "codegen/driver/ImageJob.h"

namespace h3 {

class ImageCache {
public:
  /// For images of these settings, whose stage is PTX or later. Null if the compiler or ptxas
  /// cannot be identified.
  static std::unique_ptr<ImageCache> make(Cache &cache, const ImageSettings &settings);

  std::optional<CompiledImage> load(const ImageJob &job);
  void store(const ImageJob &job, const CompiledImage &image);

private:
  ImageCache(Cache &cache, CacheKey common) : cache(cache), common(std::move(common)) {}
  Digest keyOf(const ImageJob &job) const;

  Cache &cache;
  CacheKey common; ///< the fields that all images share
};

/// The bytes that stand for an image without fault in the cache.
std::string packImage(const CompiledImage &image);

/// The image of such bytes; empty if they are not from `packImage`.
std::optional<CompiledImage> unpackImage(std::string_view bytes);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_IMAGECACHE_H
