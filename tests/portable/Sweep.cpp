//===-- tests/portable/Sweep.cpp - Errors of portable.math over many f32 --===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Prints the largest error of each function over every N-th bit pattern of f32, by f64 and, at that
// argument, by MPFR; and compares the columns with the interpreter on a million of the patterns.
//   h3_portable_sweep N [FUNCTION...]
// N = 43 takes 10^8 patterns, N = 1 all.
//
//===----------------------------------------------------------------------===//

#include "Library.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

using namespace h3;
using namespace h3::test;

int main(int argc, char **argv) {
  const uint64_t step = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  std::vector<std::string_view> wanted(argv + std::min(argc, 2), argv + argc);
  if (step == 0 || step > 4000) {
    fmt::print(stderr, "usage: {} N [FUNCTION...]\n  N from 1 to 4000\n", argv[0]);
    return 2;
  }
  fmt::print("function     arguments  max ulp  at                          by MPFR  steps\n");
  for (const Exact &function : exactFunctions()) {
    if (!wanted.empty() && std::ranges::find(wanted, function.name) == wanted.end())
      continue;
    Loaded loaded = loadFunction(function.name);
    Columns columns = columnsOf(function.name);
    Worst worst;
    std::vector<uint32_t> inputs, outputs;
    uint64_t next = 0;
    uint64_t checked = 0;
    const uint64_t chunks = (uint64_t(1) << 32) / step / 65536 + 1,
                   every = std::max<uint64_t>(chunks / 16, 1);
    for (uint64_t chunk = 0; next >> 32 == 0; ++chunk) {
      inputs.clear();
      for (; inputs.size() < 65536 && next >> 32 == 0; next += step)
        inputs.push_back(uint32_t(next));
      outputs.resize(inputs.size());
      columns.run(inputs, outputs);
      worst.measure(function, inputs, outputs);
      if (chunk % every == 0) {
        checked += inputs.size();
        if (interpreted(*loaded.program, inputs) != outputs) {
          fmt::print("{}: columns and interpreter differ\n", function.name);
          return 1;
        }
      }
    }
    uint32_t at = std::bit_cast<uint32_t>(worst.at), result;
    columns.run({&at, 1}, {&result, 1});
    fmt::print("{:<10} {:>11}  {:7.4f}  {:<15.8g} 0x{:08X}  {:7.4f}  {:5}\n", function.name,
               worst.count, worst.error, worst.at, at,
               ulpsByMpfr(function, worst.at, std::bit_cast<float>(result)), columns.operations());
    std::fflush(stdout);
    if (checked < 1000000 && step < 4000)
      return 1;
  }
  return 0;
}
