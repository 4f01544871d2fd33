//===-- tests/bench/cpu/CpuBench.cpp - Times of CPU images ----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// h3_cpu_bench STEM TYPES DIM=VALUE...: times a call of STEM.h3i by the plan in STEM.json, on
// contiguous tensors, and prints the least of two seconds' calls in microseconds and the variant.
// TYPES are those of the instance, separated by commas; "" if the operator has none.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Parallel.h"
#include "runtime/json/Value.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace {

std::string contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int fail(const std::string &what) {
  std::fprintf(stderr, "h3_cpu_bench: %s\n", what.c_str());
  return 1;
}

/// Small numbers of the type.
void fill(std::vector<std::byte> &bytes, h3::plan::DType type) {
  std::mt19937 engine(1);
  for (size_t k = 0; k + 4 <= bytes.size(); k += 4) {
    uint32_t word = engine();
    // A half has its exponent in the bits that are set here, a float in those of the upper half.
    word = type == h3::plan::DType::F32 ? (word & 0x807FFFFF) | 0x3F000000
                                        : (word & 0x83FF83FF) | 0x38003800;
    for (unsigned byte = 0; byte < 4; ++byte)
      bytes[k + byte] = std::byte(word >> (8 * byte));
  }
}

} // namespace

int main(int argc, char **argv) {
  using namespace h3;
  if (argc < 3)
    return fail("expected STEM TYPES DIM=VALUE...");
  const std::string stem = argv[1], types = argv[2];
  const std::string image = contents(stem + ".h3i"), text = contents(stem + ".json");
  auto mapped = cpu::MappedImage::map(std::as_bytes(std::span(image)));
  if (!mapped)
    return fail(mapped.error());
  auto document = json::Document::parse(text);
  if (!document)
    return fail("'" + stem + ".json' is not JSON");
  std::optional<plan::OperatorPlan> chosen;
  const std::optional<json::Value> plans = document->root().find("plans");
  if (!plans)
    return fail("'" + stem + ".json' holds no plans");
  for (const json::Value value : *plans) {
    auto plan = plan::fromJson(value);
    if (!plan)
      return fail("'" + stem + ".json' holds no plan");
    std::string own;
    for (const std::string &type : plan->typeArguments)
      own += (own.empty() ? "" : ",") + type;
    if (own == types)
      chosen = *plan;
  }
  if (!chosen)
    return fail("no instance has the types '" + types + "'");

  plan::Binding binding{};
  for (size_t dim = 0; dim < chosen->dims.size(); ++dim)
    binding.dims[dim] = chosen->dims[dim].fixed.value_or(0);
  for (int k = 3; k < argc; ++k) {
    const std::string setting = argv[k];
    for (size_t dim = 0; dim < chosen->dims.size(); ++dim)
      if (const std::string name = chosen->dims[dim].name + "="; setting.starts_with(name))
        std::from_chars(setting.data() + name.size(), setting.data() + setting.size(),
                        binding.dims[dim]);
  }
  std::vector<std::vector<std::byte>> memory;
  std::vector<plan::Tensor> tensors;
  uint64_t bytes = 0;
  for (const plan::TensorSpec &spec : chosen->tensors) {
    std::vector<int64_t> extents;
    int64_t count = 1;
    for (plan::ExprId extent : spec.extents) {
      extents.push_back(plan::evaluateExpr(*chosen, extent, binding).value_or(0));
      count *= extents.back();
    }
    memory.emplace_back(size_t(count) * plan::bytes(spec.dtype));
    fill(memory.back(), spec.dtype);
    bytes += memory.back().size();
    tensors.push_back(plan::Tensor::contiguous(reinterpret_cast<uint64_t>(memory.back().data()),
                                               spec.dtype, extents));
  }
  auto evaluated = plan::evaluate(*chosen, tensors, {});
  if (const auto *decline = std::get_if<plan::Decline>(&evaluated))
    return fail(plan::describe(*chosen, *decline));
  const plan::Launch &launch = std::get<plan::Launch>(evaluated);
  const plan::Variant &variant = chosen->variants[launch.variant];
  cpu::Entry entry = mapped->find(variant.entry);
  if (!entry || launch.isEmpty())
    return fail("there is nothing to run");
  using Clock = std::chrono::steady_clock;
  double least = 1e30;
  for (const auto end = Clock::now() + std::chrono::seconds(2); Clock::now() < end;) {
    const auto start = Clock::now();
    cpu::run(entry, launch, cpu::defaultParallelFor(), bytes);
    least =
        std::min(least, std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::printf("%.1f %s\n", least, variant.name.c_str());
  return 0;
}
