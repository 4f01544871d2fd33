//===-- tests/gpu/functions/SpecialFunctions.cpp - All inputs on a device --===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
//   h3_special_functions [INSTRUCTION...]
//
// Runs each approximation that has a model in dsl/scalar/SpecialFunctions.h on device 0, for all
// 2^32 inputs, and compares the bits. This is the evidence that the models hold for a new target.
// The kernels are PTX that the driver assembles. Prints a line for each, with a digest of the
// device's results; exit code 1 if any bit differs, 3 if there is no device.
//
//===----------------------------------------------------------------------===//

#include "dsl/scalar/SpecialFunctions.h"
#include "dsl/scalar/FloatFormat.h"
#include "runtime/cuda/Objects.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

using namespace h3;

namespace {

using Model = Bits (*)(Bits);

/// Subnormal operands count as zeros.
template <Model Of> Bits flushed(Bits a) { return Of((a & 0x7F800000) == 0 ? a & 0x80000000 : a); }

struct Function {
  const char *instruction;
  Model model;
  const char *name; ///< in the language; null: none
};
constexpr Function functions[] = {
    {"rsqrt.approx.f32", scalar::rsqrtApprox, "rsqrt.approx"},
    {"sqrt.approx.f32", scalar::sqrtApprox, "sqrt.approx"},
    {"rcp.approx.ftz.f32", scalar::rcpApproxFtz, "rcp.approx.ftz"},
    {"ex2.approx.ftz.f32", scalar::ex2ApproxFtz, "ex2.approx.ftz"},
    {"rsqrt.approx.ftz.f32", flushed<scalar::rsqrtApprox>, nullptr},
    {"sqrt.approx.ftz.f32", flushed<scalar::sqrtApprox>, nullptr},
    {"rcp.approx.f32", scalar::rcpApprox, nullptr},
    {"ex2.approx.f32", scalar::ex2Approx, nullptr},
    {"lg2.approx.f32", scalar::lg2Approx, nullptr},
    {"lg2.approx.ftz.f32", scalar::lg2ApproxFtz, nullptr},
};

constexpr uint64_t inputs = uint64_t(1) << 32, chunk = uint64_t(1) << 28;
constexpr unsigned blockThreads = 256;

std::string kernel(const Function &function, cuda::Capability capability) {
  return fmt::format(R"(.version {}
.target sm_{}{}
.address_size 64
.visible .entry all(.param .u64 out, .param .u32 first)
{{
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [out];
  ld.param.u32 %r0, [first];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r1, {}, %r2;
  add.u32 %r4, %r3, %r0;
  {} %r5, %r4;
  mad.wide.u32 %d1, %r3, 4, %d0;
  st.global.b32 [%d1], %r5;
  ret;
}}
)",
                     capability.major >= 10 ? "8.8" : "7.8", capability.major, capability.minor,
                     blockThreads, function.instruction);
}

/// FNV-1a over 32-bit words.
struct Digest {
  uint64_t value = 0xCBF29CE484222325;
  void add(uint32_t word) { value = (value ^ word) * 0x100000001B3; }
};

struct Outcome {
  uint64_t different = 0;
  uint32_t first = 0, device = 0; ///< of the lowest input that differs
  Digest digest;                  ///< of the device's results, in the order of the inputs
};

/// Compares results of the inputs from \p from on.
void compare(const Function &function, uint64_t from, std::span<const uint32_t> results,
             Outcome &outcome) {
  const size_t threads = std::clamp(std::thread::hardware_concurrency(), 1u, 64u);
  std::vector<Outcome> parts(threads);
  {
    std::vector<std::jthread> workers;
    for (size_t t = 0; t < threads; ++t)
      workers.emplace_back([&, t] {
        Outcome part;
        const size_t begin = results.size() * t / threads, end = results.size() * (t + 1) / threads;
        for (size_t i = begin; i < end; ++i) {
          const auto input = static_cast<uint32_t>(from + i);
          if (function.model(input) == results[i])
            continue;
          if (part.different++ == 0)
            part.first = input, part.device = results[i];
        }
        parts[t] = part;
      });
    for (uint32_t word : results)
      outcome.digest.add(word);
  }
  for (const Outcome &part : parts) {
    if (outcome.different == 0 && part.different != 0)
      outcome.first = part.first, outcome.device = part.device;
    outcome.different += part.different;
  }
}

/// The one device, with memory for a chunk of results.
struct Device {
  cuda::ContextRef context;
  cuda::Stream stream;
  cuda::DeviceBuffer buffer;
};

/// The kernel of \p text, assembled by the driver. It stays loaded.
cuda::Result<cuda::CUfunction> load(const Device &device, const std::string &text) {
  cuda::CUfunction function = nullptr;
  const cuda::DriverApi &api = device.context->api();
  auto failure = device.context->inside([&]() -> std::optional<cuda::Failure> {
    const cuda::Driver &driver = device.context->driver();
    cuda::CUmodule module = nullptr;
    if (auto failed = driver.check(api.moduleLoadData(&module, text.c_str()), "cuModuleLoadData"))
      return failed;
    return driver.check(api.moduleGetFunction(&function, module, "all"), "cuModuleGetFunction");
  });
  if (failure)
    return *failure;
  return function;
}

std::optional<cuda::Failure> run(const Device &device, cuda::Capability capability,
                                 const Function &function, Outcome &outcome) {
  auto loaded = load(device, kernel(function, capability));
  if (!loaded)
    return loaded.error();
  std::vector<uint32_t> results(chunk);
  for (uint64_t from = 0; from < inputs; from += chunk) {
    plan::Launch launch;
    launch.grid = {static_cast<uint32_t>(chunk / blockThreads), 1, 1};
    launch.block = {blockThreads, 1, 1};
    launch.argumentCount = 2;
    launch.arguments[0] = {device.buffer.address(), 8};
    launch.arguments[1] = {from, 4};
    if (auto failure = cuda::launch(*device.context, *loaded, launch, device.stream))
      return failure;
    if (auto failure =
            device.buffer.download(std::as_writable_bytes(std::span(results)), device.stream))
      return failure;
    if (auto failure = device.stream.synchronize())
      return failure;
    compare(function, from, results, outcome);
  }
  return {};
}

cuda::Result<Device> open(std::shared_ptr<const cuda::Driver> driver) {
  auto context = cuda::PrimaryContext::retain(std::move(driver), 0);
  if (!context)
    return context.error();
  auto stream = cuda::Stream::create(*context);
  if (!stream)
    return stream.error();
  auto buffer = cuda::DeviceBuffer::allocate(*context, chunk * sizeof(uint32_t));
  if (!buffer)
    return buffer.error();
  return Device{*context, std::move(*stream), std::move(*buffer)};
}

} // namespace

int main(int argc, char **argv) {
  const std::vector<std::string_view> wanted(argv + 1, argv + argc);
  const auto skip = [](const cuda::Failure &failure) {
    fmt::print(stderr, "h3_special_functions: skipped: {}\n", failure.message);
    return 3;
  };
  auto driver = cuda::Driver::load();
  if (!driver)
    return skip(driver.error());
  auto capability = (*driver)->capability(0);
  if (!capability)
    return skip(capability.error());
  auto device = open(*driver);
  if (!device)
    return skip(device.error());
  auto version = (*driver)->version();
  auto name = (*driver)->deviceName(0);
  if (!version || !name)
    return skip(version ? name.error() : version.error());
  fmt::print("{} (sm_{}{}), driver for CUDA {}.{}, {} inputs each\n", *name, capability->major,
             capability->minor, *version / 1000, *version % 1000 / 10, inputs);
  int status = 0;
  size_t ran = 0;
  for (const Function &function : functions) {
    if (!wanted.empty() && std::ranges::find(wanted, function.instruction) == wanted.end())
      continue;
    ++ran;
    const auto start = std::chrono::steady_clock::now();
    Outcome outcome;
    if (auto failure = run(*device, *capability, function, outcome)) {
      fmt::print("{:<22} {}\n", function.instruction, failure->message);
      status = 1;
      continue;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    fmt::print("{:<22} {:<15} digest {:016x}  {} differ", function.instruction,
               function.name ? function.name : "-", outcome.digest.value, outcome.different);
    if (outcome.different) {
      fmt::print(": first {:08X}, device {:08X}, model {:08X}", outcome.first, outcome.device,
                 function.model(outcome.first));
      status = 1;
    }
    fmt::print("  ({:.1f} s)\n", seconds.count());
    std::fflush(stdout);
  }
  if (ran == 0) {
    fmt::print(stderr, "h3_special_functions: no instruction of that name\n");
    return 2;
  }
  return status;
}
