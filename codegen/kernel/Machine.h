//===-- codegen/kernel/Machine.h - What kernels run on -------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_MACHINE_H
#define H3_CODEGEN_KERNEL_MACHINE_H

#include <cstdint>

namespace h3 {

/// What schedules and the code of kernels assume of a machine. A backend answers for each of its
/// targets; shared code asks, and knows no backend. The defaults are a GPU's with waves of 32.
struct Machine {
  /// Threads that run together and exchange values by shuffles, a power of two; 1: none do.
  unsigned waveThreads = 32;
  unsigned mostThreads = 1024; ///< of a block; 1: a block is one thread
  /// Of a block, in schedules that are chosen, where a team has fewer.
  unsigned usualThreads = 128;
  int64_t mostHeld = 256;          ///< elements that a thread can hold
  int64_t usuallyHeld = 64;        ///< that it holds in schedules that are chosen
  unsigned widestAccess = 16;      ///< bytes, 16 or 32
  int64_t sharedBytes = 48 * 1024; ///< that a block has without asking
  /// Elements of a vector in schedules that are chosen; 0: as many as an access of the narrowest
  /// type has.
  unsigned vectorElements = 0;
  /// A vector access needs an address that is a multiple of its bytes.
  bool alignsAccesses = true;
  /// Slots of a reduction that lie beside each other in a vector are joined as vectors; otherwise
  /// each is a scalar.
  bool joinsVectors = false;
  /// Rows whose elements are accessed one by one have vectors too, of which the last may be part.
  bool masksVectors = false;
  /// Indices of 32 bits have variants of their own.
  bool narrowsIndices = true;
  unsigned globalMemory = 1; ///< LLVM's number of the address space

  unsigned waveBits() const { return __builtin_ctz(waveThreads); }
  bool hasThreads() const { return mostThreads > 1; }
};

} // namespace h3

#endif // H3_CODEGEN_KERNEL_MACHINE_H
