//===-- tests/unit/runtime/dispatch/DispatchLoadTest.cpp - Loading, checking, and what goes wrong
//-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/runtime/dispatch/Host.h"

#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace h3::rt::test;

namespace {

/// Device 1, sm_90, in a context and on a stream of the host's own.
struct DispatchLoad : testing::Test {
  explicit DispatchLoad(uint32_t flags = 0) : host(flags) {}

  void open(const BundleFaults &faults = {}) {
    ASSERT_EQ(host.open(faults), H3RT_OK) << h3rt_last_error();
    shift = host.find("shift<i32>");
  }
  h3rt_outcome call(h3rt_operator *op) {
    y.fill(5);
    return host.run(op, {&x.tensor, &y.tensor}, stream);
  }

  Host host;
  void *context = host.stub.createContext(1);
  void *stream = host.stub.createStream(context);
  h3rt_operator *shift = nullptr;
  Data x{1, 64}, y{1, 64};
};

struct DispatchPtx : DispatchLoad {
  DispatchPtx() : DispatchLoad(H3RT_ALLOW_PTX) {}
};

BundleFaults damaged(const std::string &image, const std::string &from, const std::string &to) {
  BundleFaults faults;
  faults.replaceIn = image;
  faults.from = from;
  faults.to = to;
  return faults;
}

// S20, S38: the image is valid and computes something else. One constant differs.
TEST_F(DispatchLoad, AnImageThatComputesSomethingElseServesNoCall) {
  open(damaged("shift.sm_90.cubin", "add.u32 %v, %v, 7;", "add.u32 %v, %v, 6;"));
  EXPECT_EQ(call(shift), H3RT_DECLINED);
  EXPECT_EQ(host.text(), "declined: selfcheck_failed: the operator failed its check on this "
                         "device: variant v1_i64 of shift<i32> differs from the reference in check "
                         "1 of 2");
  EXPECT_EQ(y.all(), std::vector<uint32_t>(64, 5));
  // Not tried again, in no context of the device; the other operators and devices serve.
  host.stub.clearCalls();
  EXPECT_EQ(call(shift), H3RT_DECLINED);
  EXPECT_EQ(host.stub.calls(nullptr), 0u);
  void *other = host.stub.createStream(host.stub.createContext(1));
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, other), H3RT_DECLINED);
  EXPECT_EQ(host.result.reason, H3RT_DECLINE_SELFCHECK_FAILED);
  EXPECT_EQ(host.stub.calls("cuLaunchKernel"), 0u);
  EXPECT_EQ(call(host.find("scale<i32>")), H3RT_SERVED) << host.text();
  Data u(0, 8), v(0, 8);
  EXPECT_EQ(host.run(shift, {&u.tensor, &v.tensor}, nullptr), H3RT_SERVED) << host.text();
  EXPECT_EQ(h3rt_preload(host.runtime, {kDLCUDA, 1}, stream), H3RT_NOT_LOADED);
  EXPECT_EQ(std::string(h3rt_last_error()).find("shift<i32>: declined: selfcheck_failed"), 0u);
}

TEST_F(DispatchLoad, EveryVariantIsCheckedNotOnlyTheOneThatIsCalled) {
  // Another text for the vectors' multiplication: the scalar variant is right.
  open(damaged("scale.sm_90.cubin", "mul.lo.u32 %v3, %v3, %k;", "mul.lo.u32 %v3, %v3, %v;"));
  x.tensor.byte_offset = 4;
  x.extent = y.extent = 63;
  EXPECT_EQ(call(host.find("scale<i32>")), H3RT_DECLINED);
  EXPECT_NE(host.text().find("variant v4_i32 of scale<i32>"), std::string::npos) << host.text();
}

TEST_F(DispatchLoad, AnApproximationThatHasOtherBitsStopsTheOperatorsThatUseIt) {
  open(damaged("probe_rsqrt.sm_90.cubin", "rsqrt.approx.f32", "rsqrt.approx.ftz.f32"));
  Data f(1, 8, true), g(1, 8, true);
  EXPECT_EQ(host.run(host.find("root"), {&f.tensor, &g.tensor}, stream), H3RT_DECLINED);
  EXPECT_EQ(host.text(), "declined: selfcheck_failed: the operator failed its check on this "
                         "device: variant v1_i64 of probe_rsqrt differs from the reference in "
                         "check 2 of 2");
  EXPECT_EQ(call(shift), H3RT_SERVED) << host.text();
}

TEST_F(DispatchLoad, AFaultyImageEndsTheContextAndThatIsSaid) {
  // The kernel stores far outside: the stub's context is broken, as a GPU's would be.
  open(damaged("shift.sm_90.cubin", "shl.b64 %a, %a, 2;", "shl.b64 %a, %a, 9;"));
  EXPECT_EQ(call(shift), H3RT_FAILED);
  EXPECT_EQ(host.result.failure, H3RT_FAILURE_CONTEXT_ERROR);
  EXPECT_NE(host.text().find("failed: context_error: "), std::string::npos) << host.text();
}

TEST_F(DispatchLoad, AnImageOfAnotherDeviceIsAWrongImage) {
  open(damaged("shift.sm_90.cubin", ".target sm_90", ".target sm_80"));
  EXPECT_EQ(call(shift), H3RT_DECLINED);
  EXPECT_EQ(host.text(), "declined: wrong_image: the driver does not take the image: "
                         "shift.sm_90.cubin: CUDA_ERROR_NO_BINARY_FOR_GPU (209)");
  EXPECT_EQ(call(host.find("scale<i32>")), H3RT_SERVED) << host.text();
}

// S21: nothing that may be loaded is no error, and never a crash.
TEST_F(DispatchLoad, PtxIsNotLoadedUnlessTheHostAllowsIt) {
  BundleFaults faults;
  faults.hasCubins = false;
  open(faults);
  EXPECT_EQ(call(shift), H3RT_DECLINED);
  EXPECT_EQ(host.text(), "declined: no_image: the operator set holds no image that may be loaded "
                         "here: shift<i32> for sm_90 is PTX alone, which the host does not allow");
  EXPECT_EQ(host.stub.calls("cuModuleLoadData"), 0u);
}

TEST_F(DispatchPtx, PtxThatTheDriverAssembledServesAndIsReportedAsNotAudited) {
  BundleFaults faults;
  faults.hasCubins = false;
  open(faults);
  EXPECT_EQ(call(shift), H3RT_SERVED) << host.text();
  EXPECT_EQ(y[63], 71u);
  EXPECT_EQ(host.lines().back(), "h3rt: dispatch op=shift<i32> device=cuda:1 target=sm_90 "
                                 "outcome=served variant=v1_i64 image=ptx audited=no");
}

TEST_F(DispatchPtx, PtxStandsInForACubinThatTheDriverRefuses) {
  open(damaged("shift.sm_90.cubin", ".target sm_90", ".target sm_80"));
  EXPECT_EQ(call(shift), H3RT_SERVED) << host.text();
  EXPECT_NE(host.lines().back().find("image=ptx"), std::string::npos);
}

// S22.
TEST_F(DispatchPtx, PtxNewerThanTheDriverIsDeclinedAndTheContextStaysUsable) {
  BundleFaults faults;
  faults.hasCubins = false;
  faults.ptxVersion = "99.0";
  open(faults);
  EXPECT_EQ(call(shift), H3RT_DECLINED);
  EXPECT_EQ(host.text(), "declined: ptx_too_new: the PTX is newer than the driver's assembler: "
                         "shift.sm_90.ptx: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)");
  EXPECT_EQ(host.stub.depth(), 0);
  Host other;
  EXPECT_EQ(host.stub.alive(), 0);
}

TEST_F(DispatchLoad, TooLittleMemoryIsADeclineThatTheNextCallTriesAgain) {
  open();
  host.stub.failCall("cuMemAlloc", 0, 2);
  EXPECT_EQ(call(shift), H3RT_DECLINED);
  EXPECT_EQ(host.text(), "declined: out_of_memory: there is too little memory to load and check "
                         "the operator: memory for a check: CUDA_ERROR_OUT_OF_MEMORY (2)");
  EXPECT_EQ(host.stub.alive(), 0);
  EXPECT_EQ(call(shift), H3RT_SERVED) << host.text();
}

TEST_F(DispatchLoad, AnErrorThatTheHostLeftDisablesNothing) {
  open();
  host.stub.breakContext(context, 700);
  EXPECT_EQ(call(shift), H3RT_FAILED);
  EXPECT_EQ(host.result.failure, H3RT_FAILURE_CONTEXT_ERROR);
  EXPECT_EQ(host.result.driver_status, 700);
  EXPECT_NE(host.text().find("CUDA_ERROR_ILLEGAL_ADDRESS (700)"), std::string::npos) << host.text();
  // A warm call meets it too; another context serves.
  stream = host.stub.createStream(context = host.stub.createContext(1));
  EXPECT_EQ(call(shift), H3RT_SERVED) << host.text();
  host.stub.breakContext(context, 700);
  EXPECT_EQ(call(shift), H3RT_FAILED);
  EXPECT_EQ(host.text(), "failed: context_error: an earlier error, not of this call, has ended the "
                         "context: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  stream = host.stub.createStream(host.stub.createContext(1));
  EXPECT_EQ(call(shift), H3RT_SERVED) << host.text();
}

TEST_F(DispatchLoad, ADestroyedContextIsAFailureAndANewOneServes) {
  open();
  EXPECT_EQ(call(shift), H3RT_SERVED) << host.text();
  host.stub.destroyContext(context);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(call(shift), H3RT_FAILED);
    EXPECT_EQ(host.result.failure, H3RT_FAILURE_CONTEXT_DESTROYED) << host.text();
  }
  stream = host.stub.createStream(host.stub.createContext(1));
  EXPECT_EQ(call(shift), H3RT_SERVED) << host.text();
  EXPECT_EQ(host.stub.depth(), 0);
}

TEST_F(DispatchLoad, WhatIsForgottenIsReleasedAndLoadedAgain) {
  open();
  EXPECT_EQ(call(shift), H3RT_SERVED);
  EXPECT_EQ(host.stub.alive(), 1) << "its module";
  for (void *any : {stream, host.stub.createStream(context)}) {
    ASSERT_EQ(h3rt_forget(host.runtime, {kDLCUDA, 1}, any), H3RT_OK) << h3rt_last_error();
    EXPECT_EQ(host.stub.alive(), 0);
    EXPECT_EQ(call(shift), H3RT_SERVED) << host.text();
    EXPECT_EQ(host.stub.alive(), 1);
  }
}

// S32: modules belong to contexts.
TEST_F(DispatchLoad, EachContextHasItsOwnModules) {
  open();
  void *first = stream, *second = host.stub.createStream(host.stub.createContext(2));
  Data u(2, 8), v(2, 8);
  for (int round = 0; round < 3; ++round) {
    stream = first;
    EXPECT_EQ(call(shift), H3RT_SERVED) << host.text();
    EXPECT_EQ(host.run(shift, {&u.tensor, &v.tensor}, second), H3RT_SERVED) << host.text();
    EXPECT_EQ(v[0], 8u);
  }
  EXPECT_EQ(host.stub.alive(), 2);
  EXPECT_EQ(host.run(shift, {&u.tensor, &v.tensor}, first), H3RT_DECLINED)
      << "tensors of one device on a stream of another, after a call with the right ones";
  EXPECT_EQ(host.result.reason, H3RT_DECLINE_DEVICE);
}

TEST_F(DispatchLoad, TheNullStreamMeansTheCurrentContextOfTheTensorsDevice) {
  open();
  stream = nullptr;
  host.stub.setCurrent(context);
  EXPECT_EQ(call(shift), H3RT_SERVED) << host.text();
  EXPECT_EQ(host.stub.calls("cuDevicePrimaryCtxRetain"), 0u);
  // A current context of another device, or none: the primary one.
  host.stub.setCurrent(host.stub.createContext(0));
  void *current = host.stub.current();
  EXPECT_EQ(call(shift), H3RT_SERVED) << host.text();
  EXPECT_EQ(host.stub.calls("cuDevicePrimaryCtxRetain"), 1u);
  EXPECT_EQ(host.stub.current(), current);
  host.stub.setCurrent(nullptr);
  EXPECT_EQ(call(shift), H3RT_SERVED) << host.text();
  EXPECT_EQ(host.stub.calls("cuDevicePrimaryCtxRetain"), 1u);
  EXPECT_EQ(host.stub.depth(), 0);
}

// S31.
TEST_F(DispatchLoad, ACallDuringCaptureIsRefusedAndTheCaptureStaysValid) {
  open();
  host.stub.beginCapture(stream);
  EXPECT_EQ(call(shift), H3RT_DECLINED);
  EXPECT_EQ(host.text(), "declined: capture_needs_preload: a stream is capturing and the operator "
                         "has not been loaded");
  EXPECT_TRUE(host.stub.endCapture(stream));

  ASSERT_EQ(h3rt_preload(host.runtime, {kDLCUDA, 1}, stream), H3RT_OK) << h3rt_last_error();
  host.stub.beginCapture(stream);
  EXPECT_EQ(call(shift), H3RT_SERVED) << host.text();
  // A stream that no call has seen, in a context where all is loaded.
  void *other = host.stub.createStream(context);
  host.stub.beginCapture(other);
  EXPECT_EQ(host.run(host.find("scale<i32>"), {&x.tensor, &y.tensor}, other), H3RT_SERVED)
      << host.text();
  EXPECT_TRUE(host.stub.endCapture(other));
  EXPECT_TRUE(host.stub.endCapture(stream));
  EXPECT_EQ(y[0], 5u) << "nothing ran while it was captured";
  for (uint32_t round = 0; round < 3; ++round) {
    x.fill(round);
    host.stub.replay(stream);
    EXPECT_EQ(y.all(), std::vector<uint32_t>(64, round + 7));
  }
}

TEST_F(DispatchLoad, TheNullStreamCannotBeLoadedOnWhileAnotherCaptures) {
  open();
  host.stub.setCurrent(context);
  host.stub.beginCapture(stream);
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, nullptr), H3RT_DECLINED);
  EXPECT_EQ(host.result.reason, H3RT_DECLINE_CAPTURE_NEEDS_PRELOAD) << host.text();
  EXPECT_TRUE(host.stub.endCapture(stream));
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, stream, H3RT_CAPTURING), H3RT_DECLINED)
      << "the host knows";
  EXPECT_EQ(host.result.reason, H3RT_DECLINE_CAPTURE_NEEDS_PRELOAD);
}

TEST_F(DispatchLoad, LoadingInOneThreadLeavesTheCaptureOfAnotherValid) {
  open();
  ASSERT_EQ(call(shift), H3RT_SERVED);
  host.stub.beginCapture(stream);
  std::thread([&] {
    Data u(1, 64), v(1, 64);
    void *own = host.stub.createStream(context);
    EXPECT_EQ(host.run(host.find("scale<i32>"), {&u.tensor, &v.tensor}, own), H3RT_SERVED)
        << host.text();
    EXPECT_EQ(v[9], 30u);
  }).join();
  EXPECT_EQ(call(shift), H3RT_SERVED) << host.text();
  EXPECT_TRUE(host.stub.endCapture(stream));
}

TEST_F(DispatchLoad, WithoutADriverEveryCallIsDeclined) {
  h3rt_runtime *runtime = nullptr;
  ASSERT_EQ(h3::rt::create(nullptr, "/nonexistent/libcuda.so.1", &runtime), H3RT_OK);
  const std::string bundle = testBundle();
  ASSERT_EQ(h3rt_add_bundle(runtime, bundle.data(), bundle.size()), H3RT_OK);
  h3rt_operator *op = nullptr;
  ASSERT_EQ(h3rt_find_operator(runtime, "shift<i32>", &op), H3RT_OK);
  const h3rt::Result result = h3rt::Operator(op)(stream, {&x.tensor, &y.tensor});
  EXPECT_TRUE(result.declined());
  EXPECT_STREQ(result.reason(), "no_driver");
  h3rt_device_info info{};
  info.size = sizeof(info);
  EXPECT_EQ(h3rt_get_device(runtime, {kDLCUDA, 0}, &info), H3RT_NOT_FOUND);
  EXPECT_EQ(h3rt_preload(runtime, {kDLCUDA, 0}, nullptr), H3RT_NOT_FOUND);
  h3rt_destroy(runtime);
}

TEST_F(DispatchLoad, AForkedProcessIsToldAndTouchesNothing) {
  open();
  ASSERT_EQ(call(shift), H3RT_SERVED);
  host.stub.clearCalls();
  const pid_t child = fork();
  if (child == 0) {
    const bool failed = call(shift) == H3RT_FAILED && host.result.failure == H3RT_FAILURE_FORKED &&
                        h3rt_preload(host.runtime, {kDLCUDA, 1}, stream) == H3RT_FORKED &&
                        h3rt_row_count(host.runtime) == 0;
    h3rt_destroy(host.runtime);
    _exit(failed && host.stub.calls(nullptr) == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(call(shift), H3RT_SERVED) << "the parent goes on";
}

TEST_F(DispatchLoad, DestroyingARuntimeReleasesWhatItLoaded) {
  open();
  ASSERT_EQ(h3rt_preload(host.runtime, {kDLCUDA, 1}, stream), H3RT_OK) << h3rt_last_error();
  ASSERT_EQ(h3rt_preload(host.runtime, {kDLCUDA, 2}, nullptr), H3RT_OK) << h3rt_last_error();
  EXPECT_EQ(host.stub.alive(), 11) << "two times five modules, and a primary context";
  h3rt_destroy(host.runtime);
  host.runtime = nullptr;
  EXPECT_EQ(host.stub.alive(), 0);
}

} // namespace
