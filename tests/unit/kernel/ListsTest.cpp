//===-- tests/unit/kernel/ListsTest.cpp - Lists of argument sets ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Operators with `each` as they are compiled, on the PTX interpreter, against the reference
// interpreter: lists around the number of members that one launch takes, members of every size,
// alignment and stride.
//
//===----------------------------------------------------------------------===//

#include "backends/Backend.h"
#include "backends/nvptx/Compile.h"
#include "backends/nvptx/ptx/Reader.h"
#include "codegen/driver/Run.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>

namespace h3 {
namespace {

constexpr std::byte poison{0x5A};

/// Two jobs with reductions in one launch, and a parameter that the members share.
constexpr const char *twoJobs = R"(
order o = (_, lane: 32) then halving lane
fn total(x: f32[d]) -> f32 = reduce i: d by o from s: f32 = 0.0
  step s = s + x[i] join (a, b) = a + b
op two(eps: f32 = 0.5) each {
  dim n, m, d = 64
  in  x : f32[n, d]
  in  u : f32[m, d]
  in  g : f32[d]
  out y : f32[m, d]
  out z : f32[n]
  for r: m { let v = total(u[r]) + eps y[r, j] = u[r, j] * g[j] + v }
  for r: n { let v = total(x[r]) z[r] = v }
}
)";

constexpr const char *halves = R"(
op halves each {
  dim n
  in  w : f32[n]
  out h : f16[n]
  h[i] = f16(w[i])
}
)";

/// One buffer with a view of it, poisoned outside of what an input holds.
struct Buffer {
  tensor::TensorData storage;
  tensor::StridedView view;
};

/// The tensors of one call.
class Lists {
public:
  explicit Lists(const std::string &text) {
    Diagnostics diagnostics;
    EXPECT_TRUE(loadSpecText(text, {}, spec, diagnostics)) << diagnostics.renderText();
    request.spec = &spec;
  }

  /// A tensor of the shape whose first element lies \p offset elements behind a boundary of 64
  /// bytes, and whose last axis has the stride.
  BoundView add(const std::string &name, tensor::StorageType type, std::vector<int64_t> shape,
                int64_t offset = 0, int64_t stride = 1) {
    Buffer &buffer = buffers.emplace_back();
    int64_t count = *tensor::elementCount(shape);
    buffer.storage.name = name;
    buffer.storage.type = type;
    buffer.storage.shape = {offset + count * stride + 16};
    buffer.storage.data =
        *tensor::AlignedBuffer::allocate(buffer.storage.shape[0] * tensor::bytes(type));
    buffer.view = tensor::wholeView(shape);
    buffer.view.offset = offset;
    for (int64_t &own : buffer.view.strides)
      own *= stride;
    for (std::byte &byte : buffer.storage.data.span())
      byte = static_cast<std::byte>(random());
    return request.tensors[name] = {&buffer.storage, buffer.view};
  }

  /// A member of `halves`.
  void addHalves(size_t number, int64_t n, int64_t offset = 0, int64_t stride = 1) {
    add(fmt::format("w[{}]", number), tensor::StorageType::F32, {n}, offset, stride);
    add(fmt::format("h[{}]", number), tensor::StorageType::F16, {n}, offset, stride);
  }

  void poisonOutputs() {
    for (Buffer &buffer : buffers)
      if (isOutput(buffer.storage.name))
        std::memset(buffer.storage.data.data(), int(poison), buffer.storage.data.size());
  }
  static bool isOutput(const std::string &name) { return std::strchr("hyz", name[0]); }

  /// All bytes of all buffers after a run on poisoned outputs.
  std::vector<std::vector<std::byte>> run(const std::string &backend, RunResult &result,
                                          const std::string &variant = "") {
    poisonOutputs();
    request.backend = backend;
    request.variant = variant;
    result = runOperator(request);
    std::vector<std::vector<std::byte>> all;
    for (Buffer &buffer : buffers)
      all.emplace_back(buffer.storage.data.span().begin(), buffer.storage.data.span().end());
    return all;
  }

  /// Runs on the PTX interpreter as the plan chooses, and then each variant alone: the same bytes
  /// as the reference, inside and outside of the views. Which variants admitted all members.
  std::vector<std::string> agree() {
    RunResult result;
    auto expected = run("reference", result);
    EXPECT_EQ(result.code, ExitCode::Good) << result.message;
    auto got = run("ptx", result);
    EXPECT_EQ(result.code, ExitCode::Good) << result.message;
    EXPECT_TRUE(got == expected);
    report = result.report;
    std::vector<std::string> served;
    for (const std::string &variant : std::vector<std::string>(result.variants)) {
      SCOPED_TRACE(variant);
      got = run("ptx", result, variant);
      if (result.code == ExitCode::Good) {
        served.push_back(variant);
        EXPECT_TRUE(got == expected);
        continue;
      }
      EXPECT_NE(result.message.find("no_variant: member "), std::string::npos) << result.message;
      expectUntouched(got);
    }
    return served;
  }

  void expectUntouched(const std::vector<std::vector<std::byte>> &bytes) {
    for (size_t i = 0; i < buffers.size(); ++i)
      if (isOutput(buffers[i].storage.name)) {
        EXPECT_EQ(std::count(bytes[i].begin(), bytes[i].end(), poison),
                  std::ptrdiff_t(bytes[i].size()))
            << buffers[i].storage.name;
      }
  }

  /// The plan that a run uses.
  plan::OperatorPlan plan() {
    Diagnostics diagnostics;
    auto all = instances(spec, diagnostics);
    const Program *programs[] = {all.front().programs.front().get()};
    std::string error;
    auto context = makeContext();
    auto image = nvptx::compile(*context, programs, *findTarget("sm_90"), {}, error);
    EXPECT_TRUE(image) << error;
    text = image->text;
    return image->plans.front();
  }

  LoadedSpec spec;
  RunRequest request;
  std::deque<Buffer> buffers;
  std::string report; ///< of the run that chose its variants
  std::string text;   ///< the PTX
  std::mt19937 random{7};
};

/// How often \p part occurs.
unsigned count(const std::string &text, const std::string &part) {
  unsigned number = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++number;
  return number;
}

TEST(Lists, AroundWhatOneLaunchTakes) {
  const uint32_t most = Lists(halves).plan().variants.front().memberCapacity;
  ASSERT_GT(most, 7u);
  ASSERT_LE(most, plan::kMaxMembers);
  for (uint32_t members : {1u, 2u, 7u, most - 1, most, most + 1}) {
    SCOPED_TRACE(members);
    Lists lists(halves);
    for (uint32_t k = 0; k < members; ++k)
      lists.addHalves(k, 8 * (1 + k * 5 % 11));
    EXPECT_EQ(lists.agree().size(), 6u) << "every variant serves these";
    EXPECT_EQ(count(lists.report, "v16_i32"), members > most ? 2u : 1u) << lists.report;
  }
  Lists empty(halves);
  empty.addHalves(0, 0);
  empty.addHalves(1, 0);
  empty.agree();
  EXPECT_EQ(empty.report.find("variant"), std::string::npos) << "no launch: " << empty.report;
}

TEST(Lists, MembersOfAllKinds) {
  Lists lists(halves);
  const int64_t sizes[] = {0, 1, 7, 8, 16, 255, 2056, 5000, 1, 0, 64, 4, 12};
  size_t number = 0;
  for (int64_t offset : {0, 1, 2})
    for (int64_t stride : {1, 3})
      for (int64_t n : sizes)
        lists.addHalves(number++, n, offset, stride);
  std::vector<std::string> served = lists.agree();
  EXPECT_EQ(served, (std::vector<std::string>{"s_i32", "s_i64"}));
  // Each variant takes its members in a launch of its own.
  EXPECT_NE(lists.report.find("variant v16_i32 + v8_i32 + s_i32"), std::string::npos)
      << lists.report;
}

/// The same bytes as the reference on a device, where there is one.
TEST(Lists, CudaDeviceHasTheBits) {
  Lists lists(halves);
  for (size_t k = 0; k < 300; ++k)
    lists.addHalves(k, int64_t(k * 37 % 1100), int64_t(k % 3), 1 + int64_t(k % 5 == 4));
  RunResult result;
  auto expected = lists.run("reference", result);
  ASSERT_EQ(result.code, ExitCode::Good) << result.message;
  auto got = lists.run("cuda", result);
  if (result.code == ExitCode::Lacking)
    GTEST_SKIP() << "skipped: " << result.message;
  ASSERT_EQ(result.code, ExitCode::Good) << result.message;
  EXPECT_TRUE(got == expected);
}

TEST(Lists, SeveralJobsAndParameters) {
  Lists lists(twoJobs);
  const std::pair<int64_t, int64_t> rows[] = {{3, 1}, {1, 1}, {70, 4}, {257, 65}, {2, 300}};
  for (size_t k = 0; k < std::size(rows); ++k) {
    auto [n, m] = rows[k];
    lists.add(fmt::format("x[{}]", k), tensor::StorageType::F32, {n, 64});
    lists.add(fmt::format("u[{}]", k), tensor::StorageType::F32, {m, 64});
    lists.add(fmt::format("g[{}]", k), tensor::StorageType::F32, {64});
    lists.add(fmt::format("y[{}]", k), tensor::StorageType::F32, {m, 64});
    lists.add(fmt::format("z[{}]", k), tensor::StorageType::F32, {n});
  }
  lists.request.settings["eps"] = "0.25";
  EXPECT_EQ(lists.agree().size(), 4u) << "every variant serves these";
  EXPECT_EQ(count(lists.report, "_i"), 1u) << "one launch: " << lists.report;

  // Members without rows in one job or in both, and rows that no vector fits.
  for (size_t k = 0; k < 3; ++k) {
    const std::string number = fmt::format("[{}]", k + std::size(rows));
    const int64_t n = k == 1 ? 5 : 0, m = k == 2 ? 5 : 0, offset = int64_t(k);
    lists.add("x" + number, tensor::StorageType::F32, {n, 64}, offset);
    lists.add("u" + number, tensor::StorageType::F32, {m, 64}, offset, 3);
    lists.add("g" + number, tensor::StorageType::F32, {64}, offset);
    lists.add("y" + number, tensor::StorageType::F32, {m, 64}, offset, 2);
    lists.add("z" + number, tensor::StorageType::F32, {n}, offset);
  }
  EXPECT_FALSE(lists.agree().empty());
}

TEST(Lists, KernelsReadTheTableWhereItIs) {
  Lists lists(halves);
  const plan::OperatorPlan plan = lists.plan();
  EXPECT_TRUE(plan.each);
  EXPECT_EQ(lists.text.find(".local"), std::string::npos);
  auto module = ptx::read(lists.text);
  ASSERT_TRUE(module) << module.error().message();
  ASSERT_EQ(module->kernels.size(), plan.variants.size());
  for (const ptx::Kernel &kernel : module->kernels) {
    ASSERT_EQ(kernel.parameters.size(), 1u);
    EXPECT_LE(kernel.parameters[0].bytes(), plan::kMaxParameterBytes);
  }
}

TEST(Lists, OneMemberOutOfContractDeclinesTheCall) {
  for (const char *backend : {"reference", "ptx"}) {
    Lists lists(halves);
    lists.addHalves(0, 64);
    lists.add("w[1]", tensor::StorageType::F32, {64});
    lists.add("h[1]", tensor::StorageType::F16, {63});
    lists.addHalves(2, 64);
    RunResult result;
    auto bytes = lists.run(backend, result);
    EXPECT_EQ(result.code, ExitCode::BadInput);
    EXPECT_EQ(result.message, "member 1: declined: shape: h has extent 63 in axis 0, the contract "
                              "says n = 64");
    lists.expectUntouched(bytes);
  }
}

TEST(Lists, OutputsThatOverlapAreDeclined) {
  for (const char *backend : {"reference", "ptx"}) {
    Lists lists(halves);
    lists.addHalves(0, 64);
    lists.addHalves(1, 64);
    BoundView &shared = lists.request.tensors["h[1]"];
    shared = lists.request.tensors["h[0]"];
    shared.view.offset += 8; // room is 16 elements behind the first 64
    shared.view.extents = {64};
    RunResult result;
    auto bytes = lists.run(backend, result);
    EXPECT_EQ(result.code, ExitCode::BadInput);
    EXPECT_EQ(result.message, "declined: alias: h of member 0 overlaps h of member 1, the contract "
                              "keeps members apart");
    lists.expectUntouched(bytes);
  }
}

} // namespace
} // namespace h3
