//===-- runtime/bundle/Container.h - The file around a manifest and its images - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The outer form of a bundle, a safetensors file:
//
//   8 bytes          N, little-endian
//   N bytes          canonical JSON, then the fewest spaces that make 8 + N a multiple of 64
//   the images       each a U8 tensor `image/NAME` of a multiple of 64 bytes: the image, of PTX a
//                    NUL, zeros
//   32 bytes         the U8 tensor "h3.digest": SHA-256 of everything in front of it
//
// The header has `__metadata__` with the one key `h3.manifest`, and the tensors; the images' data
// lie in the order of their names. What the manifest says is Manifest.h's affair.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_BUNDLE_CONTAINER_H
#define H3_RUNTIME_BUNDLE_CONTAINER_H

#include "runtime/bundle/Bundle.h"

namespace h3::bundle {

struct StoredImage {
  std::string name;                 ///< without "image/"
  std::span<const std::byte> bytes; ///< with the padding
};

struct Container {
  std::string manifest;
  std::vector<StoredImage> images; ///< sorted by name
  Digest digest;
};

/// Reads the outer form; the digest is checked before anything else is looked at. Refuses whatever
/// `pack` would not have written. \p bytes must outlive the result.
Result<Container, Error> unpack(std::span<const std::byte> bytes);

/// What is to be stored for one image: its bytes without NUL and padding.
struct PackedImage {
  std::string name;
  std::string_view bytes;
  bool hasNul = false; ///< of PTX
};

/// The bytes of the file. \p images are sorted by name. An error if the header would
/// be longer than readers take.
Result<std::string, Error> pack(std::string_view manifest, std::span<const PackedImage> images);

} // namespace h3::bundle

#endif // H3_RUNTIME_BUNDLE_CONTAINER_H
