//===-- tests/gpu/evidence/Main.cpp - h3gen evidence without the compiler -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// h3gen-evidence run BUNDLE CASES RECORD [cuda:N], h3gen-evidence check RECORD BUNDLE: what
// `h3gen evidence` does, in a program of a few hundred kilobytes for a machine with a device.
//
//===----------------------------------------------------------------------===//

#include "runtime/evidence/Tool.h"

#include <cstdio>
#include <cstring>

int main(int argc, char **argv) {
  using namespace h3::evidence;
  if ((argc == 5 || argc == 6) && std::strcmp(argv[1], "run") == 0) {
    RunOptions options;
    options.bundle = argv[2];
    options.cases = argv[3];
    options.output = argv[4];
    if (argc == 6)
      options.device = argv[5];
    return run(options);
  }
  if (argc == 4 && std::strcmp(argv[1], "check") == 0)
    return check({argv[2], argv[3]});
  std::fprintf(stderr, "usage: h3gen-evidence run BUNDLE CASES RECORD [cuda:N]\n"
                       "       h3gen-evidence check RECORD BUNDLE\n");
  return 2;
}
