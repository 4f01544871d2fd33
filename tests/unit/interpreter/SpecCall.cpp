//===-- tests/unit/interpreter/SpecCall.cpp - Specs run on data -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SpecCall.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>
#include <unistd.h>

namespace h3::test {

namespace {

constexpr int64_t GuardBytes = 64;
constexpr std::byte Poison{0x5A};

} // namespace

Spec::Spec(const std::string &text, const std::string &op, TypeArguments types) {
  std::string path = testing::TempDir() + "h3_interpreter_" + std::to_string(getpid()) + ".spec";
  std::ofstream(path) << text;
  load(path, op, types);
  std::remove(path.c_str());
}

Spec Spec::file(const std::string &name, TypeArguments types, const std::string &op) {
  Spec spec;
  spec.load(std::string(H3_SPECS_DIR) + "/" + name, op, types);
  return spec;
}

void Spec::load(const std::string &path, const std::string &op, const TypeArguments &types) {
  Diagnostics diagnostics;
  modules = loadModules(path, SpecSearch{{H3_SPECS_DIR}, {}}, diagnostics);
  if (modules.complete() && checkModules(modules, diagnostics))
    for (const ast::Operator *candidate : operators(modules))
      if (!program && (op.empty() || candidate->name.text == op))
        program = analyze(modules, *candidate, types, diagnostics);
  if (!program)
    throw std::runtime_error("no program:\n" + diagnostics.renderText());
}

SpecCall::SpecCall(const Spec &spec, const std::map<std::string, int64_t> &dims)
    : program(*spec.program) {
  for (const Dim &dim : program.dims)
    arguments.dims.push_back(dim.fixed ? *dim.fixed : dim.definition ? 0 : dims.at(dim.name));
  for (size_t d = 0; d < program.dims.size(); ++d)
    if (program.dims[d].definition)
      arguments.dims[d] = evaluate(*program.dims[d].definition, arguments.dims).value();
  for (const Parameter &parameter : program.parameters)
    arguments.parameters.push_back(parameter.defaultBits.value_or(0));
  arguments.tensors.resize(program.tensors.size());
  buffers.resize(program.tensors.size());
  for (unsigned t = 0; t < program.tensors.size(); ++t) {
    std::vector<int64_t> shape = extents(t);
    TensorView &view = arguments.tensors[t];
    view.strides.resize(shape.size());
    int64_t stride = 1;
    for (size_t axis = shape.size(); axis-- > 0; stride *= shape[axis])
      view.strides[axis] = stride;
    allocate(t);
  }
}

unsigned SpecCall::tensor(const std::string &name) const {
  for (unsigned t = 0; t < program.tensors.size(); ++t)
    if (program.tensors[t].name == name)
      return t;
  throw std::out_of_range("no tensor " + name);
}

std::vector<int64_t> SpecCall::extents(unsigned tensor) const {
  std::vector<int64_t> result;
  for (const Extent &extent : program.tensors[tensor].extents)
    result.push_back(evaluate(*extent.size, arguments.dims).value());
  return result;
}

std::vector<int64_t> SpecCall::offsets(unsigned tensor) const {
  const TensorView &view = arguments.tensors[tensor];
  std::vector<int64_t> result = {view.offset};
  std::vector<int64_t> shape = extents(tensor);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<int64_t> longer;
    for (int64_t offset : result)
      for (int64_t i = 0; i < shape[axis]; ++i)
        longer.push_back(offset + i * view.strides[axis]);
    result = std::move(longer);
  }
  return result;
}

void SpecCall::allocate(unsigned tensor) {
  std::vector<int64_t> places = offsets(tensor);
  int64_t last = places.empty() ? 0 : *std::max_element(places.begin(), places.end());
  int64_t bytes = (last + 1) * byteWidth(program.tensors[tensor].type) + 2 * GuardBytes;
  buffers[tensor] = std::make_shared<std::vector<std::byte>>(bytes, Poison);
  arguments.tensors[tensor].data = buffers[tensor]->data() + GuardBytes;
}

void SpecCall::set(const std::string &parameter, Bits bits) {
  for (size_t p = 0; p < program.parameters.size(); ++p)
    if (program.parameters[p].name == parameter) {
      arguments.parameters[p] = bits;
      return;
    }
  throw std::out_of_range("no parameter " + parameter);
}

void SpecCall::layout(const std::string &name, int64_t offset, std::vector<int64_t> strides) {
  unsigned t = tensor(name);
  arguments.tensors[t].offset = offset;
  arguments.tensors[t].strides = std::move(strides);
  allocate(t);
}

void SpecCall::share(const std::string &output, const std::string &input) {
  unsigned to = tensor(output), from = tensor(input);
  arguments.tensors[to] = arguments.tensors[from];
  buffers[to] = buffers[from];
}

void SpecCall::fill(const std::string &name, const std::vector<Bits> &elements) {
  unsigned t = tensor(name);
  std::vector<int64_t> places = offsets(t);
  ASSERT_EQ(elements.size(), places.size()) << "elements of " << name;
  int64_t width = byteWidth(program.tensors[t].type);
  for (size_t k = 0; k < places.size(); ++k)
    std::memcpy(arguments.tensors[t].data + places[k] * width, &elements[k], size_t(width));
}

std::vector<Bits> SpecCall::get(const std::string &name) const {
  unsigned t = tensor(name);
  int64_t width = byteWidth(program.tensors[t].type);
  std::vector<Bits> result;
  for (int64_t place : offsets(t)) {
    Bits bits = 0;
    std::memcpy(&bits, arguments.tensors[t].data + place * width, size_t(width));
    result.push_back(bits);
  }
  return result;
}

int64_t SpecCall::elements(const std::string &name) const {
  return int64_t(offsets(tensor(name)).size());
}

std::optional<std::string> SpecCall::interpretNow() { return interpret(program, arguments); }

void SpecCall::run() {
  // What is not an output's element must be as it was.
  std::vector<std::vector<std::byte>> before;
  for (const auto &buffer : buffers)
    before.push_back(*buffer);
  std::optional<std::string> error = interpretNow();
  ASSERT_EQ(error, std::nullopt);
  for (unsigned t = 0; t < program.tensors.size(); ++t) {
    std::vector<std::byte> expected = before[t];
    for (unsigned output = 0; output < program.tensors.size(); ++output) {
      if (!program.tensors[output].isOutput || buffers[output] != buffers[t])
        continue;
      int64_t width = byteWidth(program.tensors[output].type);
      for (int64_t place : offsets(output))
        std::copy_n(buffers[t]->begin() + GuardBytes + place * width, width,
                    expected.begin() + GuardBytes + place * width);
    }
    ASSERT_TRUE(*buffers[t] == expected)
        << "bytes outside an output changed: " << program.tensors[t].name;
  }
}

std::string SpecCall::error() { return interpretNow().value_or("no error"); }

std::vector<Bits> randomFloats(ScalarType type, int64_t count, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::vector<Bits> result;
  for (int64_t i = 0; i < count; ++i) {
    // An integer of 25 bits, scaled by f64 arithmetic that is exact, then rounded once.
    int64_t mantissa = int64_t(engine() % (int64_t(1) << 25)) - (int64_t(1) << 24);
    Bits wide = scalar::convert(ScalarType::I64, ScalarType::F64, Bits(mantissa));
    Bits scale = scalar::parseDecimal(ScalarType::F64, "2.384185791015625e-7")->bits; // 2^-22
    Bits value = scalar::mul(ScalarType::F64, wide, scale);
    result.push_back(type == ScalarType::F64 ? value
                                             : scalar::convert(ScalarType::F64, type, value));
  }
  return result;
}

std::vector<Bits> repeat(int64_t count, Bits bits) {
  return std::vector<Bits>(size_t(count), bits);
}

static Bits number(ScalarType type, const char *decimal) {
  bool isNegative = *decimal == '-';
  Bits bits = scalar::parseDecimal(type, decimal + isNegative).value().bits;
  return isNegative ? scalar::neg(type, bits) : bits;
}
Bits f16(const char *decimal) { return number(ScalarType::F16, decimal); }
Bits f32(const char *decimal) { return number(ScalarType::F32, decimal); }

} // namespace h3::test
