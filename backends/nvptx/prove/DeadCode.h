//===-- backends/nvptx/prove/DeadCode.h - What no call can reach - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Branches that go one way in every call, by the bits that their operands can have: an optimiser
// leaves such branches where it has not seen that, say, a thread's number is below 128. Only what
// follows from constants, thread numbers, bounds of arguments and the operations on them counts,
// whatever the order of execution.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PROVE_DEADCODE_H
#define H3_BACKENDS_NVPTX_PROVE_DEADCODE_H

#include "backends/nvptx/ptx/Module.h"

#include <cstdint>
#include <vector>

namespace h3::prove {

struct DeadCode {
  std::vector<bool> unreachable; ///< by instruction
  std::vector<bool> oneWay;      ///< its guard has one value in every call
  /// Constants that are compared with numbers larger than those of threads: with sizes.
  std::vector<uint64_t> compared;
};

/// \p parameterBits has the bits that the kernel's parameters can have; all, where it ends.
DeadCode deadCodeOf(const ptx::Kernel &kernel, const std::vector<uint64_t> &parameterBits);

} // namespace h3::prove

#endif // H3_BACKENDS_NVPTX_PROVE_DEADCODE_H
