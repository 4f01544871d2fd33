//===-- tests/portable/Sweep.cpp - Errors of portable.math over many f32 --===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Prints the largest error of each function over every N-th f32 of both signs whose magnitude has
// bits from LOW to HIGH (hexadecimal): by f64 and, at that argument, by MPFR. On some million of
// them the columns are compared with the interpreter.
//   h3_portable_sweep N LOW HIGH [FUNCTION...]
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
  auto number = [&](int k, int base) {
    return argc > k ? std::strtoull(argv[k], nullptr, base) : 0;
  };
  const uint64_t step = number(1, 10), low = number(2, 16), high = number(3, 16);
  std::vector<std::string_view> wanted(argv + std::min(argc, 4), argv + argc);
  if (step == 0 || high < low || high > 0x7FFFFFFF || argc < 4) {
    fmt::print(stderr, "usage: {} N LOW HIGH [FUNCTION...]\n  all f32: 1 0 7FFFFFFF\n", argv[0]);
    return 2;
  }
  constexpr size_t Chunk = 65536;
  // Every so many chunks are compared with the interpreter.
  const uint64_t every = std::max<uint64_t>((high - low) * 2 / step / Chunk / 16, 1);
  fmt::print("function     arguments  max ulp  at                          by MPFR  steps  "
             "interpreted\n");
  for (const Exact &function : exactFunctions()) {
    if (!wanted.empty() && std::ranges::find(wanted, function.name) == wanted.end())
      continue;
    Loaded loaded = loadFunction(function.name);
    Columns columns = columnsOf(function.name);
    Worst worst;
    std::vector<uint32_t> inputs, outputs;
    uint64_t chunk = 0, checked = 0;
    for (uint64_t sign : {0u, 0x80000000u})
      for (uint64_t next = low; next <= high; ++chunk) {
        inputs.clear();
        for (; inputs.size() < Chunk && next <= high; next += step)
          inputs.push_back(uint32_t(next | sign));
        outputs.resize(inputs.size());
        columns.run(inputs, outputs);
        worst.measure(function, inputs, outputs);
        if (chunk % every != 0)
          continue;
        checked += inputs.size();
        if (interpreted(*loaded.program, inputs) != outputs) {
          fmt::print("{}: columns and interpreter differ\n", function.name);
          return 1;
        }
      }
    uint32_t at = std::bit_cast<uint32_t>(worst.at), result;
    columns.run({&at, 1}, {&result, 1});
    fmt::print("{:<10} {:>11}  {:7.4f}  {:<15.8g} 0x{:08X}  {:7.4f}  {:5}  {:11}\n", function.name,
               worst.count, worst.error, worst.at, at,
               ulpsByMpfr(function, worst.at, std::bit_cast<float>(result)), columns.operations(),
               checked);
    std::fflush(stdout);
  }
  return 0;
}
