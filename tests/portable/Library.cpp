//===-- tests/portable/Library.cpp - Functions of portable.math -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Library.h"

#include "dsl/interpreter/Interpreter.h"

#include <fmt/core.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace h3::test {

Loaded loadText(const std::string &text, const TypeArguments &types) {
  Loaded loaded;
  Diagnostics diagnostics;
  loaded.modules = loadModulesOfText("<test>", text, SpecSearch{{H3_SPECS_DIR}, {}}, diagnostics);
  if (loaded.modules.complete() && checkModules(loaded.modules, diagnostics))
    loaded.program =
        analyze(loaded.modules, *operators(loaded.modules).front(), types, diagnostics);
  if (!loaded.program)
    throw std::runtime_error(diagnostics.renderText());
  return loaded;
}

Loaded loadFunction(std::string_view function) {
  return loadText(fmt::format("use portable.math\nop f {{\n  dim n\n  in x: f32[n]\n"
                              "  out y: f32[n]\n  y[i] = math.{}(x[i])\n}}\n",
                              function));
}

Columns columnsOf(std::string_view function) {
  std::string error;
  std::optional<Columns> columns = Columns::record(*loadFunction(function).program, error);
  if (!columns)
    throw std::runtime_error(error);
  return std::move(*columns);
}

std::vector<uint32_t> interpreted(const Program &program, std::span<const uint32_t> inputs) {
  std::vector<uint32_t> copy(inputs.begin(), inputs.end()), outputs(inputs.size());
  Arguments arguments;
  arguments.dims = {int64_t(inputs.size())};
  arguments.tensors = {{reinterpret_cast<std::byte *>(copy.data()), 0, {1}},
                       {reinterpret_cast<std::byte *>(outputs.data()), 0, {1}}};
  if (auto error = interpret(program, arguments))
    throw std::runtime_error(*error);
  return outputs;
}

std::map<std::string, Claim> claims() {
  std::map<std::string, Claim> result;
  std::ifstream file(std::string(H3_SPECS_DIR) + "/portable/math.spec");
  for (std::string line; std::getline(file, line) && line.starts_with("//");) {
    std::istringstream words(line.substr(2));
    std::string function;
    Claim claim;
    if (words >> function >> claim.ulps >> claim.f16 >> claim.bf16)
      result[function] = claim;
  }
  return result;
}

std::vector<uint32_t> everyValue(ScalarType type) {
  std::vector<uint32_t> result;
  for (Bits bits = 0; bits < 0x10000; ++bits)
    if (!scalar::isNaN(type, bits))
      result.push_back(uint32_t(scalar::convert(type, ScalarType::F32, bits)));
  return result;
}

} // namespace h3::test
