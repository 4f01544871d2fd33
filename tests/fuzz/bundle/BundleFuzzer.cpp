//===-- tests/fuzz/bundle/BundleFuzzer.cpp - libFuzzer on a bundle --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/fuzz/bundle/BundlePromises.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t *data,
                                                                             size_t size) {
  const std::string broken =
      h3::brokenByBundle(std::string_view(reinterpret_cast<const char *>(data), size));
  if (broken.empty())
    return 0;
  std::fprintf(stderr, "broken promise: %s\n", broken.c_str());
  std::abort();
}
