//===-- tests/field_reports/Calls.cpp - Calls on every backend ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include "codegen/contract/Contract.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

namespace h3::test {

static constexpr size_t GuardBytes = tensor::AlignedBuffer::kAlignment;
static constexpr std::byte Poison{0x5A};

static constexpr Backend allBackends[] = {{"Reference", "reference", "sm_90", false},
                                          {"Ptx_sm_80", "ptx", "sm_80", false},
                                          {"Ptx_sm_90", "ptx", "sm_90", true},
                                          {"Ptx_sm_100", "ptx", "sm_100", false},
                                          {"Cuda", "cuda", "sm_90", true}};

bool Backend::isReference() const { return std::string_view(backend) == "reference"; }
std::span<const Backend> backends() { return allBackends; }

const LoadedSpec &specNamed(const std::string &name) {
  static std::map<std::string, LoadedSpec> loaded;
  auto known = loaded.find(name);
  if (known != loaded.end())
    return known->second;
  std::string path = std::string(H3GEN_FIELD_REPORTS) + "/" + name;
  if (!std::filesystem::exists(path))
    path = std::string(H3GEN_SPECS) + "/" + name;
  Diagnostics diagnostics;
  LoadedSpec &spec = loaded[name];
  EXPECT_TRUE(loadSpec(path, {}, spec, diagnostics)) << diagnostics.renderText();
  return spec;
}

ScalarType scalarTypeOf(tensor::StorageType type) { return scalarType(tensor::dtype(type)); }

Call::Buffer &Call::add(const std::string &name, tensor::StorageType type, size_t count,
                        bool isOutput, const std::vector<Bits> &elements) {
  const size_t width = tensor::bytes(type), guard = GuardBytes / width;
  Buffer &buffer = buffers[name];
  buffer.isOutput = isOutput;
  buffer.first = GuardBytes;
  buffer.storage.name = name;
  buffer.storage.type = type;
  buffer.storage.shape = {int64_t(count + 2 * guard)};
  buffer.storage.data = std::move(*tensor::AlignedBuffer::allocate(count * width + 2 * GuardBytes));
  buffer.before.assign(buffer.storage.data.size(), Poison);
  for (size_t i = 0; i < elements.size(); ++i)
    std::memcpy(&buffer.before[GuardBytes + i * width], &elements[i], width);
  return buffer;
}

void Call::inputView(const std::string &name, tensor::StorageType type,
                     const std::vector<Bits> &elements, tensor::StridedView view) {
  Buffer &buffer = add(name, type, elements.size(), false, elements);
  buffer.view = std::move(view);
  buffer.view.offset += int64_t(GuardBytes / tensor::bytes(type));
}

void Call::input(const std::string &name, tensor::StorageType type,
                 const std::vector<int64_t> &shape, const std::vector<Bits> &elements) {
  ASSERT_EQ(elements.size(), size_t(tensor::elementCount(shape).value_or(-1))) << name;
  inputView(name, type, elements, tensor::wholeView(shape));
}

void Call::outputAt(const std::string &name, tensor::StorageType type,
                    const std::vector<int64_t> &shape, int64_t offset) {
  const size_t count = size_t(tensor::elementCount(shape).value()), width = tensor::bytes(type);
  Buffer &buffer = add(name, type, size_t(offset) + count, true, {});
  buffer.first += size_t(offset) * width;
  buffer.view = tensor::wholeView(shape);
  buffer.view.offset = int64_t(buffer.first / width);
}

void Call::output(const std::string &name, tensor::StorageType type,
                  const std::vector<int64_t> &shape) {
  outputAt(name, type, shape, 0);
}

RunResult Call::run(const Backend &backend, const std::string &variant) {
  RunRequest request;
  request.spec = &spec;
  request.op = op;
  request.settings = settings;
  request.backend = backend.backend;
  request.target = backend.target;
  request.variant = variant;
  for (auto &[name, buffer] : buffers) {
    std::ranges::copy(buffer.before, buffer.storage.data.data());
    request.tensors[name] = {&buffer.storage, buffer.view};
  }
  RunResult result = runOperator(request);
  for (auto &[name, buffer] : buffers) {
    std::span<const std::byte> now = buffer.storage.data.span();
    const bool written = buffer.isOutput && result.code == ExitCode::Good;
    const auto front = long(written ? buffer.first : now.size());
    const auto back = long(written ? GuardBytes : now.size());
    EXPECT_TRUE(std::equal(now.begin(), now.begin() + front, buffer.before.begin()) &&
                std::equal(now.end() - back, now.end(), buffer.before.end() - back))
        << name << " has changed where it may not";
  }
  return result;
}

std::vector<Bits> Call::elements(const std::string &name) const {
  const Buffer &buffer = buffers.at(name);
  const size_t width = tensor::bytes(buffer.storage.type);
  std::vector<Bits> result((buffer.storage.data.size() - buffer.first - GuardBytes) / width, 0);
  for (size_t i = 0; i < result.size(); ++i)
    std::memcpy(&result[i], buffer.storage.data.data() + buffer.first + i * width, width);
  return result;
}

std::vector<std::string> Call::outputs() const {
  std::vector<std::string> names;
  for (const auto &[name, buffer] : buffers)
    if (buffer.isOutput)
      names.push_back(name);
  return names;
}

std::string Call::placeOf(const std::string &name, size_t element) const {
  const std::vector<int64_t> &extents = buffers.at(name).view.extents;
  std::vector<size_t> place(extents.size());
  for (size_t axis = place.size(); axis-- > 0; element /= size_t(extents[axis]))
    place[axis] = element % size_t(extents[axis]);
  return fmt::format("{}[{}]", name, fmt::join(place, ", "));
}

Outputs referenceOf(Call &call) {
  RunResult result = call.run(backends().front());
  EXPECT_EQ(result.code, ExitCode::Good) << result.message;
  Outputs outputs;
  for (const std::string &name : call.outputs())
    outputs[name] = call.elements(name);
  return outputs;
}

static void compare(const Call &call, const Outputs &expected) {
  size_t compared = 0;
  for (const auto &[name, wanted] : expected) {
    std::vector<Bits> got = call.elements(name);
    ASSERT_EQ(got.size(), wanted.size()) << name;
    size_t different = 0, first = 0;
    for (size_t i = got.size(); i-- > 0;)
      if (got[i] != wanted[i]) {
        ++different;
        first = i;
      }
    EXPECT_EQ(different, 0u) << call.placeOf(name, first)
                             << fmt::format(" is 0x{:X}, expected 0x{:X}", got[first],
                                            wanted[first]);
    compared += got.size();
  }
  EXPECT_GT(compared, 0u) << "nothing was compared";
}

std::string expectOutputs(Call &call, const Backend &backend, const Outputs &expected) {
  RunResult result = call.run(backend);
  if (!backend.isReference() && result.code == ExitCode::Lacking)
    return result.message;
  EXPECT_EQ(result.code, ExitCode::Good) << result.message;
  if (result.code != ExitCode::Good)
    return {};
  compare(call, expected);
  if (!backend.everyVariant)
    return {};
  for (const std::string &variant : result.variants) {
    SCOPED_TRACE(variant);
    RunResult other = call.run(backend, variant);
    if (other.code == ExitCode::Good)
      compare(call, expected);
    else
      EXPECT_NE(other.message.find("no_variant"), std::string::npos) << other.message;
  }
  return {};
}

std::vector<Bits> randomFloats(ScalarType type, size_t count, unsigned seed, int low, int high) {
  struct Layout {
    int fraction, bias;
  };
  const Layout layout = type == ScalarType::F16    ? Layout{10, 15}
                        : type == ScalarType::BF16 ? Layout{7, 127}
                        : type == ScalarType::F32  ? Layout{23, 127}
                                                   : Layout{52, 1023};
  std::mt19937_64 engine(seed);
  std::vector<Bits> result(count);
  for (Bits &bits : result) {
    // Exponents below the normal ones make a subnormal of any size.
    int exponent = std::max(low + int(engine() % uint64_t(high - low + 1)) + layout.bias, 0);
    Bits fraction = engine() & ((Bits(1) << layout.fraction) - 1);
    bits = (engine() & 1) << (bitWidth(type) - 1) | Bits(exponent) << layout.fraction | fraction;
  }
  return result;
}

std::vector<Bits> everyPattern16() {
  std::vector<Bits> result(0x10000);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = i;
  return result;
}

} // namespace h3::test
