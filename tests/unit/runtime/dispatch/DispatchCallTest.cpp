//===-- tests/unit/runtime/dispatch/DispatchCallTest.cpp - Calls on the stub driver -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/runtime/dispatch/Host.h"

#include <numeric>

using namespace h3::rt::test;

namespace {

struct DispatchCall : testing::Test {
  DispatchCall() { EXPECT_EQ(host.open(), H3RT_OK) << h3rt_last_error(); }

  Host host;
  void *context = host.stub.createContext(1); // sm_90
  void *stream = host.stub.createStream(context);
};

TEST_F(DispatchCall, ServedCallsHaveTheReferencesBits) {
  Data x(1, 1000), y(1, 1000);
  h3rt_operator *scale = host.find("scale<i32>");
  ASSERT_EQ(host.run(scale, {&x.tensor, &y.tensor}, stream), H3RT_SERVED) << host.text();
  EXPECT_EQ(host.result.variant, 0);
  for (uint32_t i = 0; i < 1000; ++i)
    ASSERT_EQ(y[i], 3 * (i + 1));

  // One element further: no vectors; the other variant has the same bits.
  x.tensor.byte_offset = 4;
  x.extent = y.extent = 999;
  y.fill(0);
  ASSERT_EQ(host.run(scale, {&x.tensor, &y.tensor}, stream), H3RT_SERVED) << host.text();
  EXPECT_EQ(host.result.variant, 1);
  for (uint32_t i = 0; i < 999; ++i)
    ASSERT_EQ(y[i], 3 * (i + 2));

  Data f(1, 70, true), g(1, 70, true);
  ASSERT_EQ(host.run(host.find("root"), {&f.tensor, &g.tensor}, stream), H3RT_SERVED)
      << host.text();
  for (uint32_t i = 0; i < 70; ++i)
    ASSERT_EQ(g[i], rootOf(i + 1));
  EXPECT_EQ(host.stub.depth(), 0);
}

TEST_F(DispatchCall, ParametersAreByTypeOrDefault) {
  Data x(1, 8), y(1, 8);
  h3rt::Operator scale(host.find("scale<i32>"));
  EXPECT_TRUE(scale(stream, {&x.tensor, &y.tensor}, {int32_t(-2)}).served());
  EXPECT_EQ(y[3], static_cast<uint32_t>(-8));
  EXPECT_TRUE(scale(stream, {&x.tensor, &y.tensor}, {h3rt::Parameter()}).served());
  EXPECT_EQ(y[3], 12u);
  EXPECT_EQ(scale(stream, {&x.tensor, &y.tensor}, {2.0f}).text(),
            "declined: parameter: k is f32, the contract says i32");
}

TEST_F(DispatchCall, AListIsServedByAsFewLaunchesAsItTakes) {
  std::vector<Data> data;
  std::vector<const DLTensor *> tensors;
  for (int i = 0; i < 14; ++i)
    data.emplace_back(1, 10 + 60 * (i / 2));
  for (Data &each : data)
    tensors.push_back(&each.tensor);
  h3rt_operator *twice = host.find("twice");
  ASSERT_EQ(host.run(twice, {}, stream), H3RT_SERVED) << "an empty list";
  ASSERT_EQ(host.run(twice, tensors, stream), H3RT_SERVED) << host.text();
  host.stub.clearCalls();
  ASSERT_EQ(host.run(twice, tensors, stream), H3RT_SERVED);
  EXPECT_EQ(host.stub.calls("cuLaunchKernel"), 2u) << "seven members, four a launch";
  for (size_t member = 0; member < 7; ++member)
    for (uint32_t i = 0; i < data[2 * member + 1].extent; ++i)
      ASSERT_EQ(data[2 * member + 1][i], 2 * (i + 1)) << member;
  tensors[13] = tensors[3];
  EXPECT_EQ(host.run(twice, tensors, stream), H3RT_DECLINED);
  EXPECT_EQ(host.result.member, 6);
  EXPECT_EQ(host.text(),
            "declined: shape: member 6: y has extent 70 in axis 0, the contract says n = 370");
}

TEST_F(DispatchCall, AWarmCallAsksTheDriverNothing) {
  Data x(1, 64), y(1, 64);
  h3rt_operator *shift = host.find("shift<i32>");
  ASSERT_EQ(host.run(shift, {&x.tensor, &y.tensor}, stream), H3RT_SERVED);
  host.stub.clearCalls();
  ASSERT_EQ(host.run(shift, {&x.tensor, &y.tensor}, stream), H3RT_SERVED);
  EXPECT_EQ(host.stub.calls("cuCtxPushCurrent"), 1u);
  EXPECT_EQ(host.stub.calls("cuLaunchKernel"), 1u);
  EXPECT_EQ(host.stub.calls("cuCtxPopCurrent"), 1u);
  EXPECT_EQ(host.stub.calls(nullptr), 3u);

  // The null stream means the current context, so that is read.
  host.stub.setCurrent(context);
  ASSERT_EQ(host.run(shift, {&x.tensor, &y.tensor}, nullptr), H3RT_SERVED);
  host.stub.clearCalls();
  ASSERT_EQ(host.run(shift, {&x.tensor, &y.tensor}, nullptr), H3RT_SERVED);
  EXPECT_EQ(host.stub.calls("cuCtxGetCurrent"), 1u);
  EXPECT_EQ(host.stub.calls(nullptr), 4u);
  EXPECT_EQ(host.stub.current(), context);
}

TEST_F(DispatchCall, ADeclineTouchesNothing) {
  Data x(1, 64), y(1, 64);
  h3rt_operator *shift = host.find("shift<i32>");
  ASSERT_EQ(host.run(shift, {&x.tensor, &y.tensor}, stream), H3RT_SERVED);
  y.fill(0xdeadbeef);
  host.stub.clearCalls();
  const struct {
    const char *text;
    void (*change)(Data &x, Data &y);
  } rows[] = {
      {"declined: dtype: x is f32, the contract says i32",
       [](Data &x, Data &) { x.tensor.dtype = {kDLFloat, 32, 1}; }},
      {"declined: dtype: y is of a type that no operator has, the contract says i32",
       [](Data &, Data &y) { y.tensor.dtype = {kDLUInt, 32, 1}; }},
      {"declined: dtype: x is of a type that no operator has, the contract says i32",
       [](Data &x, Data &) { x.tensor.dtype = {kDLInt, 32, 4}; }},
      {"declined: shape: x has rank 0, the contract says at least 1",
       [](Data &x, Data &) { x.tensor.ndim = 0; }},
      {"declined: shape: y has extent 63 in axis 0, the contract says n = 64",
       [](Data &, Data &y) { y.extent = 63; }},
      {"declined: stride: x has stride -1 in axis 0 of the tensor passed, the contract says 0 or "
       "more",
       [](Data &x, Data &) { x.stride = -1; }},
      {"declined: alias: elements of y share an address, an output needs one for each",
       [](Data &, Data &y) { y.stride = 0; }},
      {"declined: alias: y overlaps x in part, the contract says the same address, extents and "
       "strides or none in common",
       [](Data &x, Data &y) {
         y.tensor.data = x.tensor.data;
         y.tensor.byte_offset = 4;
       }},
      {"declined: device: y is on device 2 of DLPack type 2, the first tensor on device 1 of "
       "DLPack "
       "type 2",
       [](Data &, Data &y) { y.tensor.device.device_id = 2; }},
      {"declined: arguments: y has elements and no data: its address is 0",
       [](Data &, Data &y) { y.tensor.data = nullptr; }},
      {"declined: size: x spans 2^63 bytes or more, or passes the end of the address space",
       [](Data &x, Data &y) {
         x.extent = y.extent = int64_t(1) << 40;
         x.stride = int64_t(1) << 30;
       }},
  };
  for (const auto &row : rows) {
    Data a(1, 64), b(1, 64);
    b.fill(0xdeadbeef);
    row.change(a, b);
    EXPECT_EQ(host.run(shift, {&a.tensor, &b.tensor}, stream), H3RT_DECLINED) << row.text;
    EXPECT_EQ(host.text(), row.text);
    EXPECT_EQ(b[0], 0xdeadbeef);
  }
  EXPECT_EQ(host.run(shift, {&x.tensor}, stream), H3RT_DECLINED);
  EXPECT_EQ(host.text(), "declined: arguments: shift takes 2 tensors, found 1");
  EXPECT_EQ(host.run(shift, {}, stream), H3RT_DECLINED);
  EXPECT_EQ(host.text(), "declined: arguments: shift takes 2 tensors, found 0");
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, stream, H3RT_REQUIRES_GRAD), H3RT_DECLINED);
  EXPECT_EQ(host.result.reason, H3RT_DECLINE_REQUIRES_GRAD);
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, stream, H3RT_COMPILING), H3RT_DECLINED);
  EXPECT_EQ(host.result.reason, H3RT_DECLINE_COMPILING);
  EXPECT_EQ(host.stub.calls(nullptr), 0u);
  EXPECT_EQ(y.all(), std::vector<uint32_t>(64, 0xdeadbeef));
}

TEST_F(DispatchCall, DLPacksEdgesHaveStatedResults) {
  Data x(1, 64), y(1, 64);
  h3rt_operator *shift = host.find("shift<i32>");
  // NULL strides: row-major. Leading axes collapse.
  int64_t shape[] = {1, 64};
  x.tensor.strides = y.tensor.strides = nullptr;
  x.tensor.ndim = y.tensor.ndim = 2;
  x.tensor.shape = y.tensor.shape = shape;
  ASSERT_EQ(host.run(shift, {&x.tensor, &y.tensor}, stream), H3RT_SERVED) << host.text();
  EXPECT_EQ(y[63], 71u);
  // byte_offset is part of the address.
  x.tensor.byte_offset = y.tensor.byte_offset = 128;
  shape[1] = 32;
  y.fill(0);
  ASSERT_EQ(host.run(shift, {&x.tensor, &y.tensor}, stream), H3RT_SERVED) << host.text();
  EXPECT_EQ(y[31], 0u);
  EXPECT_EQ(y[32], 40u);
  // No elements: served, nothing launched, data may be NULL and strides anything.
  host.stub.clearCalls();
  int64_t none = 0, odd = -5;
  for (Data *each : {&x, &y}) {
    each->tensor.ndim = 1;
    each->tensor.shape = &none;
    each->tensor.strides = &odd;
    each->tensor.data = nullptr;
    each->tensor.byte_offset = 0;
  }
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, stream), H3RT_SERVED) << host.text();
  EXPECT_EQ(host.result.variant, -1);
  EXPECT_EQ(host.stub.calls(nullptr), 0u);
  // A broadcast input.
  Data one(1, 1), out(1, 40);
  int64_t many = 40, zero = 0;
  one.tensor.shape = &many;
  one.tensor.strides = &zero;
  ASSERT_EQ(host.run(shift, {&one.tensor, &out.tensor}, stream), H3RT_SERVED) << host.text();
  EXPECT_EQ(out.all(), std::vector<uint32_t>(40, 8));
  // In place, as the contract allows.
  Data own(1, 10);
  ASSERT_EQ(host.run(shift, {&own.tensor, &own.tensor}, stream), H3RT_SERVED) << host.text();
  EXPECT_EQ(own[9], 17u);
  // More axes than anybody has.
  std::vector<int64_t> ones(300, 1);
  own.tensor.ndim = 300;
  own.tensor.shape = ones.data();
  own.tensor.strides = nullptr;
  EXPECT_EQ(host.run(shift, {&own.tensor, &own.tensor}, stream), H3RT_DECLINED);
  EXPECT_EQ(host.text(), "declined: shape: x has rank 255, the most that can be passed is 16");
  own.tensor.ndim = -1;
  EXPECT_EQ(host.run(shift, {&own.tensor, &own.tensor}, stream), H3RT_FAILED);
  EXPECT_EQ(host.result.failure, H3RT_FAILURE_INVALID_CALL);
}

TEST_F(DispatchCall, CountersAndLinesSayWhatHappened) {
  Data x(1, 64), y(1, 64), z(1, 8);
  h3rt_operator *shift = host.find("shift<i32>");
  host.run(shift, {&x.tensor, &y.tensor}, stream);
  host.run(shift, {&x.tensor, &y.tensor}, stream);
  host.run(shift, {&x.tensor, &z.tensor}, stream);
  host.stub.failCall("cuLaunchKernel", 0, 1);
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, stream), H3RT_FAILED);
  const h3rt_counters counters = host.counters(shift);
  EXPECT_EQ(counters.served, 2u);
  EXPECT_EQ(counters.failed, 1u);
  EXPECT_EQ(counters.declined[H3RT_DECLINE_SHAPE], 1u);
  EXPECT_EQ(std::accumulate(counters.declined, counters.declined + H3RT_MAX_REASONS, uint64_t(0)),
            1u);
  const std::vector<std::string> expected = {
      "h3rt: dispatch op=shift<i32> device=cuda:1 target=sm_90 outcome=served variant=v1_i64",
      "h3rt: dispatch op=shift<i32> device=cuda:1 target=sm_90 outcome=served variant=v1_i64",
      "h3rt: dispatch op=shift<i32> device=cuda:1 target=sm_90 outcome=declined reason=shape "
      "text=\"declined: shape: y has extent 8 in axis 0, the contract says n = 64\"",
      "h3rt: dispatch op=shift<i32> device=cuda:1 target=sm_90 outcome=failed status=1 "
      "text=\"failed: driver: launching shift<i32> for sm_90 failed: driver status 1\"",
  };
  EXPECT_EQ(host.lines(), expected);
}

TEST_F(DispatchCall, StructsOfAnOlderHostAreRead) {
  // A host that was compiled when h3rt_call ended before `flags` and h3rt_result after `failure`.
  Data x(1, 64), y(1, 64);
  const DLTensor *tensors[] = {&x.tensor, &y.tensor};
  h3rt_call call{};
  call.size = offsetof(h3rt_call, flags);
  call.tensors = tensors;
  call.tensor_count = 2;
  call.stream = stream;
  call.flags = 0xffffffff;
  h3rt_result result{};
  result.size = offsetof(h3rt_result, driver_status);
  result.driver_status = 12345;
  EXPECT_EQ(h3rt_run(host.find("shift<i32>"), &call, &result), H3RT_SERVED);
  EXPECT_EQ(result.outcome, H3RT_SERVED);
  EXPECT_EQ(result.driver_status, 12345);
  call.size = 8;
  EXPECT_EQ(h3rt_run(host.find("shift<i32>"), &call, nullptr), H3RT_FAILED);
  EXPECT_EQ(h3rt_run(nullptr, &call, nullptr), H3RT_FAILED);
}

TEST(DispatchStrict, ADeclineIsAFailureThatStillSaysWhy) {
  Host host(H3RT_STRICT);
  ASSERT_EQ(host.open(), H3RT_OK);
  void *stream = host.stub.createStream(host.stub.createContext(1));
  Data x(1, 64), y(1, 8);
  h3rt_operator *shift = host.find("shift<i32>");
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, stream), H3RT_FAILED);
  EXPECT_EQ(host.result.failure, H3RT_FAILURE_STRICT);
  EXPECT_EQ(host.text(), "declined: shape: y has extent 8 in axis 0, the contract says n = 64");
  EXPECT_EQ(host.counters(shift).declined[H3RT_DECLINE_SHAPE], 1u);
  EXPECT_EQ(host.counters(shift).failed, 0u);
}

} // namespace
