//===-- tests/bench/interpreter/InterpreterBench.cpp ----------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// How many output elements the interpreter computes in a second of processor time, the best of five
// runs. It uses one thread.
//   h3_interpreter_bench specs/qk_norm_rope.spec [TOKENS [HEADS]]
//
//===----------------------------------------------------------------------===//

#include "dsl/interpreter/Interpreter.h"
#include "dsl/program/Analysis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

using namespace h3;

int main(int argc, char **argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: {} qk_norm_rope.spec [TOKENS [HEADS]]\n", argv[0]);
    return 2;
  }
  const std::string path = argv[1];
  const int64_t tokens = argc > 2 ? std::atoll(argv[2]) : 195;
  const int64_t heads = argc > 3 ? std::atoll(argv[3]) : 32;

  Diagnostics diagnostics;
  ModuleSet modules = loadModules(path, SpecSearch{{}, {}}, diagnostics);
  std::unique_ptr<Program> program;
  if (modules.complete() && checkModules(modules, diagnostics))
    program = analyze(modules, *operators(modules).front(), {}, diagnostics);
  if (!program || program->name != "qk_norm_rope") {
    fmt::print(stderr, "{}expected the operator qk_norm_rope\n", diagnostics.renderText());
    return 2;
  }

  Arguments arguments;
  for (const Dim &dim : program->dims)
    arguments.dims.push_back(dim.fixed ? *dim.fixed : dim.name == "tokens" ? tokens : heads);
  for (const Parameter &parameter : program->parameters)
    arguments.parameters.push_back(parameter.defaultBits.value_or(0));
  std::vector<std::vector<uint16_t>> buffers;
  int64_t outputs = 0;
  for (const Tensor &tensor : program->tensors) {
    TensorView view;
    int64_t stride = 1;
    view.strides.resize(tensor.extents.size());
    for (size_t axis = tensor.extents.size(); axis-- > 0;) {
      view.strides[axis] = stride;
      stride *= evaluate(*tensor.extents[axis].size, arguments.dims).value_or(0);
    }
    // Finite halves of both signs between 2^-7 and 2: a linear congruential sequence.
    std::vector<uint16_t> &buffer = buffers.emplace_back(size_t(stride));
    uint32_t state = 1;
    for (uint16_t &half : buffer) {
      state = state * 1664525 + 1013904223;
      half = uint16_t((state >> 16 & 0x83FF) | (0x2000 + (state >> 12 & 7) * 0x400));
    }
    view.data = reinterpret_cast<std::byte *>(buffer.data());
    arguments.tensors.push_back(view);
    outputs += tensor.isOutput ? stride : 0;
  }

  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::clock_t begin = std::clock();
    if (std::optional<std::string> error = interpret(*program, arguments)) {
      fmt::print(stderr, "{}\n", *error);
      return 1;
    }
    double seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
    best = std::max(best, double(outputs) / seconds);
  }
  fmt::print(
      "qk_norm_rope, {} tokens, 2 x {} heads: {} elements, {:.2f} million elements per second\n",
      tokens, heads, outputs, best / 1e6);
  return 0;
}
