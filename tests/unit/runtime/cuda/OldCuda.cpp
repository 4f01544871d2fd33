//===-- tests/unit/runtime/cuda/OldCuda.cpp - A driver that lacks a function *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

extern "C" __attribute__((visibility("default"))) int cuInit(unsigned) { return 0; }
