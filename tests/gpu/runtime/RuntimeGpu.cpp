//===-- tests/gpu/runtime/RuntimeGpu.cpp - The runtime on a GPU -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// h3rt_gpu BUNDLE GOLDEN [TEST]: everything about the runtime that needs a device, each test in a
// process of its own. BUNDLE is what `h3gen bundle specs/h3_vae.opset` writes, GOLDEN the folder
// tests/golden. Exit code 1 if a test fails, 3 if there is no GPU that the bundle serves.
//
//===----------------------------------------------------------------------===//

#include "runtime/bundle/Bundle.h"
#include "tests/gpu/runtime/Device.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace h3::gpu;
using namespace h3;

namespace {

std::string bundlePath, goldenPath;

void expect(bool holds, const std::string &what) {
  if (!holds)
    fail(what);
}

void expectServed(const h3rt::Result &result) { expect(result.served(), result.text()); }

h3rt::Runtime open(uint32_t flags = 0) {
  h3rt::Runtime runtime(flags);
  expect(runtime.openBundle(bundlePath.c_str()), h3rt_last_error());
  return runtime;
}

Call qk(const char *prefix) {
  return Call(goldenPath, "qk_norm_rope.safetensors", prefix,
              {{"{case}.qkv[..., 0:64]", false},
               {"{case}.qkv[..., 64:128]", false},
               {"{case}.cos", false},
               {"{case}.sin", false},
               {"{case}.q_out", true},
               {"{case}.k_out", true}});
}
Call swiglu(const char *prefix) {
  return Call(goldenPath, "swiglu.safetensors", prefix, {{"{case}.x", false}, {"{case}.y", true}});
}
Call residual(const char *prefix) {
  return Call(goldenPath, "scaled_residual.safetensors", prefix,
              {{"{case}.residual", false},
               {"{case}.branch", false},
               {"{case}.scale", false},
               {"{case}.out", true}});
}
Call residualNorm(const char *prefix) {
  return Call(goldenPath, "scaled_residual.safetensors", prefix,
              {{"{case}.residual", false},
               {"{case}.branch", false},
               {"{case}.scale", false},
               {"{case}.weight", false},
               {"{case}.out", true},
               {"{case}.norm_f16", true}});
}

/// Runs one of the tests in a new process; its status, as waitpid gives it.
int inNewProcess(const char *test) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "h3rt_gpu", bundlePath.c_str(), goldenPath.c_str(), test,
          static_cast<char *>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

bool isSuccess(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

h3rt_device_info device(const h3rt::Runtime &runtime) {
  h3rt_device_info info{};
  info.size = sizeof(info);
  expect(h3rt_get_device(runtime.get(), {kDLCUDA, 0}, &info) == H3RT_OK, h3rt_last_error());
  return info;
}

/// Runs it once on fresh data; the bits must be the recording's.
void checkServed(Call &call, const h3rt::Operator &op, cuda::CUstream stream) {
  call.reset(stream);
  expectServed(call.run(op, stream));
  const size_t wrong = call.differences(stream);
  expect(wrong == 0, std::string(op.name()) + ": " + std::to_string(wrong) + " bytes differ");
}

// ---- The tests

void golden() {
  h3rt::Runtime runtime = open();
  makeCurrent(primaryContext());
  for (cuda::CUstream stream : {createStream(), cuda::CUstream()}) {
    for (const char *prefix : {"1x1_normal", "1x6_huge", "1x37_wide", "1x195_normal", "2x5_tiny"})
      if (Call call = qk(prefix); true)
        checkServed(call, runtime.find("qk_norm_rope"), stream);
    for (const char *prefix : {"1_normal", "2_huge", "2_tiny", "3_wide", "7_normal"})
      if (Call call = swiglu(prefix); true)
        checkServed(call, runtime.find("swiglu<f16>"), stream);
    for (const char *prefix : {"1_normal", "2_huge", "3_tiny", "5_wide", "64_normal"}) {
      Call plain = residual(prefix), norm = residualNorm(prefix);
      checkServed(plain, runtime.find("scaled_residual<f32>"), stream);
      checkServed(norm, runtime.find("residual_rms_norm<f32>"), stream);
    }
  }
  for (const h3rt::Operator &op : runtime.operators())
    if (uint64_t served = op.counters().served)
      std::printf("  %s served %llu\n", op.name(), static_cast<unsigned long long>(served));
}

void preloaded() {
  h3rt::Runtime runtime = open();
  makeCurrent(primaryContext());
  expect(runtime.preload({kDLCUDA, 0}, nullptr), h3rt_last_error());
  const h3rt_device_info info = device(runtime);
  std::printf("  %s: %d operators, %d enabled, %d validated\n", info.target, info.operator_count,
              info.enabled_count, info.validated_count);
}

cuda::CUgraphExec endCapture(cuda::CUstream stream) {
  cuda::CUgraph graph = nullptr;
  cuda::CUgraphExec executable = nullptr;
  must(api().streamEndCapture(stream, &graph), "cuStreamEndCapture");
  must(api().graphInstantiate(&executable, graph, 0), "cuGraphInstantiate");
  return executable;
}

constexpr int kCaptureGlobal = 0; // CU_STREAM_CAPTURE_MODE_GLOBAL

void capture() {
  h3rt::Runtime runtime = open();
  makeCurrent(primaryContext());
  cuda::CUstream stream = createStream();
  h3rt::Operator op = runtime.find("qk_norm_rope"), gate = runtime.find("swiglu<f16>");
  Call call = qk("1x195_normal"), more = swiglu("7_normal");

  // Not loaded: refused, and the capture stays good.
  must(api().streamBeginCapture(stream, kCaptureGlobal), "cuStreamBeginCapture");
  const h3rt::Result refused = call.run(op, stream);
  expect(std::strcmp(refused.reason(), "capture_needs_preload") == 0, refused.text());
  endCapture(stream);

  expect(runtime.preload({kDLCUDA, 0}, stream), h3rt_last_error());
  // On another stream of the context, that no call has seen.
  cuda::CUstream other = createStream();
  for (cuda::CUstream each : {stream, other}) {
    must(api().streamBeginCapture(each, kCaptureGlobal), "cuStreamBeginCapture");
    expectServed(call.run(op, each));
    expectServed(more.run(gate, each));
    cuda::CUgraphExec executable = endCapture(each);
    for (int round = 0; round < 3; ++round) {
      call.reset(each);
      more.reset(each);
      must(api().graphLaunch(executable, each), "cuGraphLaunch");
      expect(call.differences(each) == 0 && more.differences(each) == 0, "a replay differs");
    }
  }
}

void captureInAnotherThread() {
  h3rt::Runtime runtime = open();
  makeCurrent(primaryContext());
  cuda::CUstream stream = createStream();
  h3rt::Operator op = runtime.find("qk_norm_rope");
  Call call = qk("1x37_wide");
  checkServed(call, op, stream);
  // The other thread's data are there before: allocating during a global capture is its own fault.
  Call gates = swiglu("7_normal"), sums = residualNorm("64_normal");
  gates.reset(stream);
  sums.reset(stream);
  must(api().streamSynchronize(stream), "cuStreamSynchronize");
  cuda::CUstream own = createStream();
  must(api().streamBeginCapture(stream, kCaptureGlobal), "cuStreamBeginCapture");
  std::thread([&] {
    makeCurrent(primaryContext());
    // First calls: they load and check, while the other thread captures.
    expectServed(gates.run(runtime.find("swiglu<f16>"), own));
    expectServed(sums.run(runtime.find("residual_rms_norm<f32>"), own));
  }).join();
  expectServed(call.run(op, stream));
  cuda::CUgraphExec executable = endCapture(stream);
  call.reset(stream);
  must(api().graphLaunch(executable, stream), "cuGraphLaunch");
  expect(call.differences(stream) == 0, "the replay differs");
  expect(gates.differences(own) == 0 && sums.differences(own) == 0, "what was loaded differs");
}

/// Waits some milliseconds on the device.
constexpr const char *kSpin = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .entry spin(.param .u32 rounds)\n{\n.reg .pred %p;\n"
                              ".reg .b32 %r;\nld.param.u32 %r, [rounds];\nLOOP:\n"
                              "nanosleep.u32 1000;\nsub.u32 %r, %r, 1;\nsetp.ne.u32 %p, %r, 0;\n"
                              "@%p bra LOOP;\nret;\n}\n";

// S33: what was enqueued before on the stream is over before the operator begins.
void sideStream() {
  h3rt::Runtime runtime = open();
  makeCurrent(primaryContext());
  cuda::CUstream stream = createStream(), other = createStream();
  cuda::CUfunction spin = kernelOf(kSpin, "spin");
  h3rt::Operator op = runtime.find("qk_norm_rope"), gate = runtime.find("swiglu<f16>");
  Call call = qk("1x195_normal"), more = swiglu("7_normal");
  expectServed(call.run(op, stream));
  expectServed(more.run(gate, other));
  for (int round = 0; round < 100; ++round) {
    uint32_t rounds = 200;
    void *arguments[] = {&rounds};
    must(api().launchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr),
         "cuLaunchKernel");
    call.reset(stream);
    expectServed(call.run(op, stream));
    more.reset(other);
    expectServed(more.run(gate, other));
    expect(more.differences(other) == 0, "the second stream differs");
    expect(call.differences(stream) == 0, "the side stream differs");
  }
}

void eightThreads() {
  h3rt::Runtime runtime = open();
  std::vector<std::thread> threads;
  std::atomic<int> calls{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      makeCurrent(primaryContext());
      cuda::CUstream stream = createStream();
      static std::mutex reading; // the recordings are read one at a time
      std::unique_lock lock(reading);
      Call first = t % 2 ? qk("1x37_wide") : residualNorm("5_wide");
      Call second = swiglu("3_wide");
      lock.unlock();
      for (int round = 0; round < 50; ++round) {
        checkServed(first, runtime.find(t % 2 ? "qk_norm_rope" : "residual_rms_norm<f32>"), stream);
        checkServed(second, runtime.find("swiglu<f16>"), stream);
        calls += 2;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  expect(calls == 800, "calls are missing");
}

// S20: one constant of the image is another; everything else is as it was.
void damagedImage() {
  auto bundle = bundle::Bundle::openFile(bundlePath);
  expect(static_cast<bool>(bundle), "the bundle cannot be read");
  bundle::Contents contents = bundle->contents();
  std::vector<std::vector<std::byte>> kept;
  const unsigned char scale[] = {0x00, 0x00, 0x7c, 0x43}; // 252.0, in exp; 504.0 afterwards
  int found = 0;
  for (bundle::Image &image : contents.images) {
    if (image.kind != bundle::ImageKind::Cubin || !image.name.starts_with("swiglu."))
      continue;
    std::vector<std::byte> &bytes = kept.emplace_back(image.bytes.begin(), image.bytes.end());
    // An instruction has 16 bytes, an immediate operand of 32 bits is the second four of them.
    for (size_t at = 4; at + 4 <= bytes.size(); at += 16)
      if (std::memcmp(&bytes[at], scale, 4) == 0) {
        bytes[at + 2] ^= std::byte(0x80);
        ++found;
      }
    image.bytes = bytes;
  }
  expect(found > 0, "there is no such constant in the images");
  std::printf("  another constant in %d kernels\n", found);
  auto written = bundle::write(contents);
  expect(static_cast<bool>(written), "the damaged bundle cannot be written");
  h3rt::Runtime runtime;
  expect(h3rt_add_bundle(runtime.get(), written->data(), written->size()) == H3RT_OK,
         h3rt_last_error());
  makeCurrent(primaryContext());
  cuda::CUstream stream = createStream();
  Call gates = swiglu("7_normal"), call = qk("1x37_wide");
  for (int round = 0; round < 2; ++round) {
    const h3rt::Result result = gates.run(runtime.find("swiglu<f16>"), stream);
    expect(result.declined() && std::strcmp(result.reason(), "selfcheck_failed") == 0,
           result.text());
    if (round == 0)
      std::printf("  %s\n", result.text().c_str());
  }
  checkServed(call, runtime.find("qk_norm_rope"), stream);
}

/// Stores to address 8.
constexpr const char *kFault = ".version 7.0\n.target sm_70\n.address_size 64\n"
                               ".visible .entry fault()\n{\n.reg .b64 %a;\nmov.u64 %a, 8;\n"
                               "st.global.u32 [%a], 1;\nret;\n}\n";

// A fault in a context of the host. The real driver then refuses everything in this process, new
// contexts too: what can be shown here is what the runtime says of it, and that a new process
// serves.
void stickyError(bool isLoaded) {
  h3rt::Runtime runtime = open();
  makeCurrent(createContext());
  cuda::CUstream stream = createStream();
  Call call = qk("1x37_wide");
  h3rt::Operator op = runtime.find("qk_norm_rope");
  if (isLoaded)
    checkServed(call, op, stream);
  const int enabled = device(runtime).enabled_count;
  cuda::CUfunction fault = kernelOf(kFault, "fault");
  must(api().launchKernel(fault, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), "cuLaunchKernel");
  expect(api().streamSynchronize(stream) != 0, "the kernel did not fault");
  for (int round = 0; round < 2; ++round) {
    const h3rt::Result result = call.run(op, stream);
    expect(result.failed() && result.raw().failure == H3RT_FAILURE_CONTEXT_ERROR, result.text());
    if (round == 0)
      std::printf("  %s\n", result.text().c_str());
  }
  // Nothing is switched off or declined for it.
  expect(device(runtime).enabled_count == enabled, "an operator is switched off");
  const h3rt_counters counters = op.counters();
  expect(counters.failed == 2 && counters.served == (isLoaded ? 1u : 0u), "the counters are wrong");
  for (uint64_t declined : counters.declined)
    expect(declined == 0, "a call was declined");
  expect(isSuccess(inNewProcess("golden")), "a new process does not serve");
}

void stickyErrorFirstCall() { stickyError(false); }
void stickyErrorLaterCall() { stickyError(true); }

/// Contexts that come and go: the host says so before it destroys one, and the next is served, also
/// where the driver gives it the handle of the one before.
void destroyedContext() {
  h3rt::Runtime runtime = open();
  h3rt::Operator op = runtime.find("qk_norm_rope");
  for (int round = 0; round < 4; ++round) {
    cuda::CUcontext fresh = createContext();
    makeCurrent(fresh);
    cuda::CUstream stream = createStream();
    {
      Call call = qk("1x37_wide");
      checkServed(call, op, stream);
    }
    expect(h3rt_forget(runtime.get(), {kDLCUDA, 0}, stream) == H3RT_OK, h3rt_last_error());
    makeCurrent(nullptr);
    destroyContext(fresh);
  }
}

void forked() {
  h3rt::Runtime runtime = open();
  makeCurrent(primaryContext());
  cuda::CUstream stream = createStream();
  Call call = qk("1x37_wide");
  h3rt::Operator op = runtime.find("qk_norm_rope");
  checkServed(call, op, stream);
  const pid_t child = fork();
  if (child == 0) {
    const h3rt::Result result = call.run(op, stream);
    _exit(result.failed() && result.raw().failure == H3RT_FAILURE_FORKED ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child was not told");
  checkServed(call, op, stream);
}

template <typename Body> double nanoseconds(int count, Body body) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i)
    body();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
             .count() /
         count;
}

/// Not a test: what a call costs on this machine.
void times() {
  h3rt::Runtime runtime = open();
  makeCurrent(primaryContext());
  cuda::CUstream stream = createStream();
  Call call = qk("1x1_normal");
  h3rt::Operator op = runtime.find("qk_norm_rope");
  const double first = nanoseconds(1, [&] { expectServed(call.run(op, stream)); });
  std::printf("  first call %.1f ms\n", first / 1e6);
  cuda::CUfunction spin = kernelOf(kSpin, "spin");
  std::vector<const DLTensor *> tensors;
  for (const DLTensor &view : call.views)
    tensors.push_back(&view);
  std::vector<const DLTensor *> wrong = tensors;
  wrong[4] = tensors[2];
  for (int round = 0; round < 5; ++round) {
    uint32_t rounds = 1;
    void *arguments[] = {&rounds};
    double raw = 0, served = 0, declined = 0;
    // Short batches: the queue must not fill up.
    for (int batch = 0; batch < 50; ++batch) {
      raw += nanoseconds(
          100, [&] { api().launchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr); });
      must(api().streamSynchronize(stream), "cuStreamSynchronize");
      served += nanoseconds(100, [&] { op(stream, tensors.data(), tensors.size()); });
      must(api().streamSynchronize(stream), "cuStreamSynchronize");
      declined += nanoseconds(100, [&] { op(stream, wrong.data(), wrong.size()); });
    }
    std::printf("  cuLaunchKernel alone %.0f ns, a served call %.0f ns, a decline %.0f ns\n",
                raw / 50, served / 50, declined / 50);
  }
  double served = 0;
  expectServed(op(nullptr, tensors.data(), tensors.size()));
  for (int batch = 0; batch < 50; ++batch) {
    served += nanoseconds(100, [&] { op(nullptr, tensors.data(), tensors.size()); });
    must(api().streamSynchronize(nullptr), "cuStreamSynchronize");
  }
  std::printf("  on the null stream a served call %.0f ns\n", served / 50);
}

struct Test {
  const char *name;
  void (*run)();
};
const Test kTests[] = {{"golden", golden},
                       {"preload", preloaded},
                       {"capture", capture},
                       {"capture_in_another_thread", captureInAnotherThread},
                       {"side_stream", sideStream},
                       {"eight_threads", eightThreads},
                       {"damaged_image", damagedImage},
                       {"sticky_error_first_call", stickyErrorFirstCall},
                       {"sticky_error_later_call", stickyErrorLaterCall},
                       {"destroyed_context", destroyedContext},
                       {"fork", forked},
                       {"times", times}};

} // namespace

int main(int argc, char **argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: h3rt_gpu BUNDLE GOLDEN [TEST]\n");
    return 2;
  }
  bundlePath = argv[1];
  goldenPath = argv[2];
  if (argc == 4) {
    for (const Test &test : kTests)
      if (std::strcmp(test.name, argv[3]) == 0) {
        test.run();
        std::fflush(stdout);
        std::_Exit(0);
      }
    std::fprintf(stderr, "no test '%s'\n", argv[3]);
    return 2;
  }
  {
    h3rt::Runtime runtime = open();
    h3rt_device_info info{};
    info.size = sizeof(info);
    if (h3rt_get_device(runtime.get(), {kDLCUDA, 0}, &info) != H3RT_OK || info.enabled_count == 0) {
      std::printf("skipped: no GPU that the bundle serves: %s\n", h3rt_last_error());
      return 3;
    }
    std::printf("%s\n", info.target);
  }
  int failures = 0;
  for (const Test &test : kTests) {
    const int status = inNewProcess(test.name);
    const bool passed = isSuccess(status);
    std::printf("%s %s", passed ? "passed" : "FAILED", test.name);
    if (WIFSIGNALED(status))
      std::printf(" (signal %d)", WTERMSIG(status));
    std::printf("\n");
    failures += !passed;
  }
  std::printf("%d of %zu failed\n", failures, std::size(kTests));
  return failures ? 1 : 0;
}
