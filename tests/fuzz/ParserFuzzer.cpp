//===-- tests/fuzz/ParserFuzzer.cpp - libFuzzer on parser and formatter ---===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/fuzz/Promises.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t *data,
                                                                             size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  std::string broken = h3::brokenByParser(text);
  if (broken.empty())
    broken = h3::brokenByFormatter(text);
  if (broken.empty())
    return 0;
  std::fprintf(stderr, "broken promise: %s\n", broken.c_str());
  std::abort();
}
