//===-- tests/conformance/ConformanceTest.cpp - Random calls of every operator -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Every operator of specs/, every choice of its types, every variant: random calls, compared byte
// for byte with the reference interpreter. README.md of this folder says what is drawn.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "Summary.h"

#include "codegen/driver/plugin/PluginBackend.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <thread>

namespace h3::test {
namespace {

/// The limits of the k-th call.
using LimitsOf = DrawLimits (*)(size_t k);

/// Every third call is larger: rows longer than one chunk of a loop, several rows of a block.
DrawLimits smallLimits(size_t k) { return {.elements = k % 3 == 2 ? 3200 : 800}; }

/// On a device small calls cost the reference interpreter's time and nothing else, so that most are
/// of a few blocks, and one in 32 has long rows and many blocks.
DrawLimits deviceLimits(size_t k) {
  if (k % 32 == 31)
    return {.elements = 300000, .longest = 70000};
  if (k % 8 == 7)
    return {.elements = 60000, .longest = 20000};
  return {.elements = 12000, .longest = 6000};
}

/// Calls \p first .. first + \p count - 1, prepared on every core.
std::vector<Expected> prepareAll(const Instance &instance, size_t first, size_t count,
                                 LimitsOf limits) {
  std::vector<Expected> result(count);
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t k = next++; k < count; k = next++) {
      result[k] = prepare(instance, seedOf(instance.name) + first + k, limits(first + k));
    }
  };
  std::vector<std::jthread> threads;
  for (size_t k = 1; k < std::min<size_t>(count, std::thread::hardware_concurrency()); ++k)
    threads.emplace_back(work);
  work();
  return result;
}

/// Every variant whose guards hold runs the call; at least one has to.
void runCall(const Instance &instance, Machine &machine, const Expected &expected, Tally &tally,
             bool everyVariant) {
  const DrawnCall &call = *expected.call;
  SCOPED_TRACE(instance.name + ": " + call.text);
  std::string error;
  const std::vector<uint64_t> addresses = machine.place(call, error);
  ASSERT_EQ(error, "");
  const std::vector<plan::Tensor> tensors = forPlan(instance, call, addresses);
  size_t ran = 0;
  for (size_t k = 0; k < machine.plan().variants.size() && (everyVariant || !ran); ++k) {
    const std::string &variant = machine.plan().variants[k].name;
    SCOPED_TRACE("variant " + variant);
    std::optional<plan::Launch> launch =
        launchOf(machine.plan(), k, tensors, call.parameters, error);
    ASSERT_EQ(error, "");
    if (!launch)
      continue;
    if (ran++)
      ASSERT_EQ(machine.restore(call), "");
    ASSERT_EQ(machine.launch(*launch), "");
    const Memory memory = machine.fetch(call, error);
    ASSERT_EQ(error, "");
    ASSERT_EQ(firstDifference(instance, call, memory, expected.memory), "");
    tally.ran(variant, memory);
  }
  EXPECT_GT(ran, 0u) << "no variant serves the call";
}

void runCalls(const Instance &instance, Machine &machine, size_t count, LimitsOf limits,
              bool everyVariant, Tally &tally) {
  for (const plan::Variant &variant : machine.plan().variants)
    tally.knows(variant.name);
  constexpr size_t Together = 64;
  for (size_t first = 0; first < count; first += Together) {
    const size_t some = std::min(Together, count - first);
    for (const Expected &expected : prepareAll(instance, first, some, limits)) {
      ASSERT_EQ(expected.error, "")
          << instance.name << (expected.call ? ": " + expected.call->text : "");
      runCall(instance, machine, expected, tally, everyVariant);
      if (testing::Test::HasFailure())
        return;
    }
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The call of rows first .. first + count - 1 of a call whose batch has more.
std::vector<plan::Tensor> rowsOf(const Instance &instance, const DrawnCall &call,
                                 std::span<const uint64_t> addresses, unsigned batchDim,
                                 int64_t first, int64_t count) {
  DrawnCall part;
  part.tensors = call.tensors;
  for (size_t t = 0; t < part.tensors.size(); ++t) {
    const std::vector<Extent> &extents = instance.program->tensors[t].extents;
    if (extents.empty() || extents[0].size->kind != Size::Kind::Dim ||
        extents[0].size->dim != batchDim)
      continue;
    tensor::StridedView &view = part.tensors[t].view;
    view.offset += first * view.strides[0];
    view.extents[0] = count;
  }
  return forPlan(instance, part, addresses);
}

/// Runs rows first .. first + count - 1 as a call of their own.
std::string runRows(const Instance &instance, Machine &machine, const DrawnCall &call,
                    std::span<const uint64_t> addresses, unsigned batchDim, int64_t first,
                    int64_t count) {
  auto launch = evaluateCall(
      machine.plan(), rowsOf(instance, call, addresses, batchDim, first, count), call.parameters);
  if (const plan::Decline *decline = std::get_if<plan::Decline>(&launch))
    return plan::describe(machine.plan(), *decline);
  return machine.launch(std::get<plan::Launch>(launch));
}

/// Row `order[i]` of \p call becomes row i. Tensors without the dim stay.
DrawnCall permuted(const Instance &instance, const DrawnCall &call, unsigned batchDim,
                   std::span<const int64_t> order, const Memory &from, Memory &to) {
  DrawnCall result = call;
  to = from;
  for (size_t t = 0; t < call.tensors.size(); ++t) {
    const Tensor &tensor = instance.program->tensors[t];
    if (tensor.extents.empty() || tensor.extents[0].size->kind != Size::Kind::Dim ||
        tensor.extents[0].size->dim != batchDim)
      continue;
    const tensor::StridedView &view = call.tensors[t].view;
    const size_t width = byteWidth(tensor.type), buffer = call.tensors[t].buffer,
                 row = size_t(view.strides[0]) * width, begin = size_t(view.offset) * width;
    // The last row may end with its last element, before the next one would begin.
    for (size_t k = 0; k < order.size(); ++k) {
      const size_t target = begin + k * row, source = begin + size_t(order[k]) * row;
      const size_t size =
          std::min({row, from[buffer].size() - target, from[buffer].size() - source});
      std::copy_n(call.buffers[buffer].bytes.begin() + long(source), size,
                  result.buffers[buffer].bytes.begin() + long(target));
      std::copy_n(from[buffer].begin() + long(source), size, to[buffer].begin() + long(target));
    }
  }
  return result;
}

/// The same rows in batches of several sizes and in another order give the same bytes. The guards
/// behind the last row are poison like the gaps, so copying a row with its gap keeps them.
void runBatches(const Instance &instance, Machine &machine, unsigned batchDim, int64_t rows,
                std::span<const int64_t> sizes, const DrawLimits &base, Tally &tally) {
  DrawLimits limits = base;
  limits.dims[batchDim] = rows;
  limits.alignedRows = true;
  const Expected expected = prepare(instance, seedOf(instance.name + " batches"), limits, batchDim);
  ASSERT_EQ(expected.error, "") << instance.name;
  const DrawnCall &call = *expected.call;
  SCOPED_TRACE(instance.name + ": " + call.text);
  std::string error;
  const std::vector<uint64_t> addresses = machine.place(call, error);
  ASSERT_EQ(error, "");
  for (int64_t size : sizes) {
    SCOPED_TRACE(fmt::format("batches of {}", size));
    ASSERT_EQ(machine.restore(call), "");
    for (int64_t first = 0; first < rows; first += size)
      ASSERT_EQ(runRows(instance, machine, call, addresses, batchDim, first,
                        std::min(size, rows - first)),
                "");
    const Memory memory = machine.fetch(call, error);
    ASSERT_EQ(error, "");
    ASSERT_EQ(firstDifference(instance, call, memory, expected.memory), "");
    tally.ran("batches", memory);
  }
  SCOPED_TRACE("another order");
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  Engine engine(seedOf(instance.name));
  for (size_t k = order.size(); k > 1; --k)
    std::swap(order[k - 1], order[below(engine, k)]);
  Memory wanted;
  const DrawnCall other = permuted(instance, call, batchDim, order, expected.memory, wanted);
  const std::vector<uint64_t> otherAddresses = machine.place(other, error);
  ASSERT_EQ(error, "");
  ASSERT_EQ(runRows(instance, machine, other, otherAddresses, batchDim, 0, rows), "");
  const Memory memory = machine.fetch(other, error);
  ASSERT_EQ(error, "");
  ASSERT_EQ(firstDifference(instance, other, memory, wanted), "");
  tally.ran("batches", memory);
  tally.note("batch_sizes", static_cast<int64_t>(sizes.size()) + 1);
}

/// Many launches of one call; what they leave is compared every time.
void runAgainAndAgain(const Instance &instance, Machine &machine, int64_t launches,
                      const DrawLimits &limits, Tally &tally) {
  const Expected expected = prepare(instance, seedOf(instance.name + " again"), limits);
  ASSERT_EQ(expected.error, "") << instance.name;
  const DrawnCall &call = *expected.call;
  SCOPED_TRACE(instance.name + ": " + call.text);
  std::string error;
  const std::vector<uint64_t> addresses = machine.place(call, error);
  ASSERT_EQ(error, "");
  auto chosen = evaluateCall(machine.plan(), forPlan(instance, call, addresses), call.parameters);
  ASSERT_TRUE(std::holds_alternative<plan::Launch>(chosen));
  const plan::Launch &launch = std::get<plan::Launch>(chosen);
  // In place, a launch has other inputs than the one before it.
  bool isInPlace = std::any_of(call.buffers.begin(), call.buffers.end(), [](const auto &buffer) {
    return buffer.isRead && buffer.isWritten;
  });
  for (int64_t k = 0; k < launches; ++k) {
    if (isInPlace || k % 100 == 0)
      ASSERT_EQ(machine.restore(call), "");
    ASSERT_EQ(machine.launch(launch), "");
    const Memory memory = machine.fetch(call, error);
    ASSERT_EQ(error, "");
    ASSERT_EQ(firstDifference(instance, call, memory, expected.memory), "") << "launch " << k;
    tally.ran("again", memory);
  }
  tally.note("again_blocks", int64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2]);
}

//===----------------------------------------------------------------------===//
// Nothing to compute
//===----------------------------------------------------------------------===//

/// S25 of the field reports: with no rows there is no launch (a grid of 0 blocks would be an
/// invalid one), and what comes after runs. Each dim that may be 0 is, one at a time.
void runWithoutRows(const Instance &instance, Machine &machine, Tally &tally) {
  int64_t served = 0;
  for (unsigned dim = 0; dim < instance.program->dims.size(); ++dim) {
    const Dim &declared = instance.program->dims[dim];
    if (declared.fixed || declared.definition)
      continue;
    DrawLimits limits;
    limits.dims[dim] = 0;
    Engine engine(seedOf(instance.name) + dim);
    const std::optional<DrawnCall> call = drawCall(instance, engine, limits);
    if (!call)
      continue; // the contract does not admit it
    SCOPED_TRACE(instance.name + ": " + call->text);
    std::string error;
    const Memory expected = referenceOf(instance, *call, error);
    ASSERT_EQ(error, "");
    const std::vector<uint64_t> addresses = machine.place(*call, error);
    ASSERT_EQ(error, "");
    auto chosen =
        evaluateCall(machine.plan(), forPlan(instance, *call, addresses), call->parameters);
    if (const plan::Decline *decline = std::get_if<plan::Decline>(&chosen))
      FAIL() << plan::describe(machine.plan(), *decline);
    const plan::Launch &launch = std::get<plan::Launch>(chosen);
    bool hasOutput = false;
    for (const DrawnTensor &tensor : call->tensors)
      if (call->buffers[tensor.buffer].isWritten)
        hasOutput |= std::ranges::find(tensor.view.extents, 0) == tensor.view.extents.end();
    if (!hasOutput)
      EXPECT_TRUE(launch.isEmpty()) << "a launch that computes nothing";
    ASSERT_EQ(machine.launch(launch), "");
    const Memory memory = machine.fetch(*call, error);
    ASSERT_EQ(error, "");
    ASSERT_EQ(firstDifference(instance, *call, memory, expected), "");
    ++served;
  }
  tally.note("empty_calls", served);
}

//===----------------------------------------------------------------------===//
// The suites
//===----------------------------------------------------------------------===//

class PtxConformance : public testing::TestWithParam<Operator> {};

TEST_P(PtxConformance, EveryVariantGivesTheBitsOfTheReference) {
  const size_t calls = size_t(fromEnvironment("H3GEN_CONFORMANCE_PTX_CALLS", 6));
  const Instances all = instancesOf(GetParam());
  ASSERT_FALSE(all.list.empty());
  for (const Instance &instance : all.list) {
    std::string error;
    std::unique_ptr<Machine> machine = makePtxMachine(instance, *findTarget("sm_90"), error);
    ASSERT_TRUE(machine) << instance.name << ": " << error;
    Tally tally("ptx", instance.name, machine->device());
    // Before the others: what comes after a call without rows has to run.
    runWithoutRows(instance, *machine, tally);
    runCalls(instance, *machine, calls, smallLimits, /*everyVariant=*/true, tally);
    // The types of an operator share its loops, so one of them is enough here.
    static constexpr int64_t sizes[] = {1, 4, 10};
    if (std::optional<unsigned> batchDim = batchDimOf(*instance.program);
        batchDim && &instance == &all.list.front())
      runBatches(instance, *machine, *batchDim, 11, sizes, {.longest = 300}, tally);
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, PtxConformance, testing::ValuesIn(allOperators()), testName);

class CpuConformance : public testing::TestWithParam<Operator> {
protected:
  void run(const char *name) {
    const size_t calls = size_t(fromEnvironment("H3GEN_CONFORMANCE_CALLS", 4));
    const Target &target = *findTarget(name);
    const Instances all = instancesOf(GetParam());
    ASSERT_FALSE(all.list.empty());
    for (const Instance &instance : all.list) {
      std::string error;
      bool isMissing = false;
      std::unique_ptr<Machine> machine = makeCpuMachine(instance, target, error, isMissing);
      if (!machine && isMissing)
        GTEST_SKIP() << "skipped: " << error;
      ASSERT_TRUE(machine) << instance.name << ": " << error;
      Tally tally("cpu", instance.name, machine->device());
      runWithoutRows(instance, *machine, tally);
      runCalls(instance, *machine, calls, smallLimits, /*everyVariant=*/true, tally);
      static constexpr int64_t sizes[] = {1, 4, 10};
      if (std::optional<unsigned> batchDim = batchDimOf(*instance.program);
          batchDim && &instance == &all.list.front())
        runBatches(instance, *machine, *batchDim, 11, sizes, {.longest = 300}, tally);
      if (HasFailure())
        return;
    }
  }
};

TEST_P(CpuConformance, X86V2GivesTheBitsOfTheReference) { run("x86-64-v2"); }
TEST_P(CpuConformance, X86V3GivesTheBitsOfTheReference) { run("x86-64-v3"); }
TEST_P(CpuConformance, X86V4GivesTheBitsOfTheReference) { run("x86-64-v4"); }

/// Images for a processor take up to a minute to compile: the usual run has these operators,
/// H3GEN_CPU=all has every one.
std::vector<Operator> cpuOperators() {
  std::vector<Operator> all = allOperators();
  const char *wanted = std::getenv("H3GEN_CPU");
  if (wanted && std::string_view(wanted) == "all")
    return all;
  static constexpr std::string_view usual[] = {
      "bias_gelu_erf",  "bias_relu",       "bias_silu",         "both_overwritten",
      "gated_residual", "geglu_erf",       "geglu_tanh",        "linear_weight_f16",
      "qk_norm_rope",   "quant_e4m3",      "residual_rms_norm", "rope_interleaved",
      "rope_neox",      "scaled_residual", "silu_and_mul",      "swiglu",
      "unary_rsqrt",    "value_of_a_row"};
  std::erase_if(all, [&](const Operator &op) {
    return std::ranges::find(usual, std::string_view(op.name)) == std::end(usual);
  });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Operators, CpuConformance, testing::ValuesIn(cpuOperators()), testName);

class CudaConformance : public testing::TestWithParam<Operator> {};

TEST_P(CudaConformance, EveryVariantGivesTheBitsOfTheReference) {
  const size_t calls = size_t(fromEnvironment("H3GEN_CONFORMANCE_CALLS", 256));
  const int64_t launches = fromEnvironment("H3GEN_CONFORMANCE_LAUNCHES", 1000);
  const Instances all = instancesOf(GetParam());
  ASSERT_FALSE(all.list.empty());
  for (const Instance &instance : all.list) {
    std::string error;
    bool isMissing = false;
    std::unique_ptr<Machine> machine = makeCudaMachine(instance, error, isMissing);
    if (!machine && isMissing)
      GTEST_SKIP() << "skipped: " << error;
    ASSERT_TRUE(machine) << instance.name << ": " << error;
    {
      Tally tally("cuda", instance.name, machine->device());
      runWithoutRows(instance, *machine, tally);
      runCalls(instance, *machine, calls, deviceLimits, /*everyVariant=*/true, tally);
    }
    // Without such a dim the rows depend on their number, as those of rms_norm_mixed do.
    const std::optional<unsigned> batchDim = batchDimOf(*instance.program);
    if (batchDim) {
      Tally tally("cuda batches", instance.name, machine->device());
      static constexpr int64_t sizes[] = {1, 4, 255, 256, 257, 4096};
      runBatches(instance, *machine, *batchDim, 4096, sizes, {.elements = 1 << 20, .longest = 300},
                 tally);
    }
    Tally tally("cuda again", instance.name, machine->device());
    runAgainAndAgain(instance, *machine, launches,
                     {.elements = 1 << 18, .longest = 600, .hasRows = true}, tally);
    if (HasFailure())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, CudaConformance, testing::ValuesIn(longestFirst()), testName);

/// The target that H3GEN_CONFORMANCE_TARGET names, of a plugin in H3GEN_PLUGINS or of h3gen's own.
class BackendConformance : public testing::TestWithParam<Operator> {};

TEST_P(BackendConformance, EveryVariantGivesTheBitsOfTheReference) {
  const char *name = std::getenv("H3GEN_CONFORMANCE_TARGET");
  if (!name)
    GTEST_SKIP() << "skipped: H3GEN_CONFORMANCE_TARGET names no target";
  ASSERT_EQ(loadPluginsOfEnvironment(), "");
  const Target *target = findTarget(name);
  ASSERT_TRUE(target) << name;
  const size_t calls = size_t(fromEnvironment("H3GEN_CONFORMANCE_CALLS", 6));
  const Instances all = instancesOf(GetParam());
  ASSERT_FALSE(all.list.empty());
  // Not the first ones of all operators, which would be all of one type.
  const size_t count = all.list.size(), first = seedOf(GetParam().name) % count;
  const size_t most = size_t(fromEnvironment("H3GEN_CONFORMANCE_INSTANCES", int64_t(count)));
  for (size_t k = 0; k < std::min(most, count); ++k) {
    const Instance &instance = all.list[(first + k) % count];
    std::string error;
    bool isMissing = false;
    std::unique_ptr<Machine> machine = makeBackendMachine(instance, *target, error, isMissing);
    ASSERT_TRUE(machine) << instance.name << ": " << error;
    Tally tally(name, instance.name, machine->device());
    runWithoutRows(instance, *machine, tally);
    runCalls(instance, *machine, calls, smallLimits, /*everyVariant=*/true, tally);
    static constexpr int64_t sizes[] = {1, 4, 10};
    if (std::optional<unsigned> batchDim = batchDimOf(*instance.program); batchDim && k == 0)
      runBatches(instance, *machine, *batchDim, 11, sizes, {.longest = 300}, tally);
    if (HasFailure())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, BackendConformance, testing::ValuesIn(longestFirst()),
                         testName);

} // namespace
} // namespace h3::test
