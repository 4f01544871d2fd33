//===-- tests/unit/ptx/Launcher.h - Short PTX tests -------------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Wraps the body of a kernel and runs it. The kernel is `k` with two parameters, the addresses of
// `in` (%in) and `out` (%out); declared are %p<10>, %h<20> (16 bits), %r<40> and %d<20>; %tid_x is
// set.
//
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_UNIT_PTX_LAUNCHER_H
#define H3_TESTS_UNIT_PTX_LAUNCHER_H

#include "backends/nvptx/ptx/Interpreter.h"
#include "backends/nvptx/ptx/Reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace h3::ptxtest {

inline std::string kernelText(const std::string &body, const std::string &before = {}) {
  return ".version 8.7\n.target sm_100a\n.address_size 64\n" + before +
         ".visible .entry k(.param .u64 k_in, .param .u64 k_out)\n{\n"
         ".reg .pred %p<10>;\n.reg .b16 %h<20>;\n.reg .b32 %r<40>;\n.reg .b64 %d<20>;\n"
         ".reg .b64 %in, %out;\n.reg .b32 %tid_x;\n"
         "ld.param.u64 %in, [k_in];\nld.param.u64 %out, [k_out];\nmov.u32 %tid_x, %tid.x;\n"
         "//BODY\n" +
         body + "\n}\n";
}

/// Line 1 of a body in the text of `kernelText(body)`, which messages count from.
inline constexpr unsigned bodyLine = 16;

struct Launcher {
  std::vector<uint32_t> in = std::vector<uint32_t>(64), out = std::vector<uint32_t>(64);
  ptx::LaunchConfig launch;
  ptx::RunOptions options;
  bool outInitialised = true;
  bool inWritable = false;
  ptx::RunStatistics statistics;

  static constexpr uint64_t inAddress = 0x10000, outAddress = 0x20000;

  explicit Launcher(unsigned threads = 1, unsigned blocks = 1) {
    launch.block = {threads, 1, 1};
    launch.grid = {blocks, 1, 1};
    launch.arguments = {{inAddress, 8}, {outAddress, 8}};
  }

  std::optional<ptx::Fault> run(const std::string &text) {
    auto module = ptx::read(text);
    if (!module) {
      ADD_FAILURE() << module.error().message();
      return {};
    }
    ptx::Region regions[2];
    regions[0] = {"in", inAddress, std::as_writable_bytes(std::span(in)), inWritable, true};
    regions[1] = {"out", outAddress, std::as_writable_bytes(std::span(out)), true, outInitialised};
    return ptx::run(*module, "k", launch, regions, options, &statistics);
  }
  std::optional<ptx::Fault> runBody(const std::string &body, const std::string &before = {}) {
    return run(kernelText(body, before));
  }
  /// The message of the fault, or "" if there was none.
  std::string message(const std::string &body, const std::string &before = {}) {
    std::optional<ptx::Fault> fault = runBody(body, before);
    return fault ? fault->message() : "";
  }
};

} // namespace h3::ptxtest

#endif // H3_TESTS_UNIT_PTX_LAUNCHER_H
