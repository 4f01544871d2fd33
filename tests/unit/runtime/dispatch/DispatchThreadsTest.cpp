//===-- tests/unit/runtime/dispatch/DispatchThreadsTest.cpp - Many threads at once -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/runtime/dispatch/Host.h"

#include <atomic>
#include <thread>

using namespace h3::rt::test;

namespace {

/// Eight threads that call, load, list, switch, register and forget as they please: each call is
/// served with the right bits or declined for a reason that is going on. For ThreadSanitizer, too.
TEST(DispatchThreads, CallsLoadsAndChangesOfTheTableMayMeet) {
  Host host;
  ASSERT_EQ(host.open(), H3RT_OK);
  h3rt_operator *shift = host.find("shift<i32>"), *scale = host.find("scale<i32>"),
                *twice = host.find("twice");
  void *contexts[] = {host.stub.createContext(1), host.stub.createContext(1),
                      host.stub.createContext(2)};
  std::atomic<int> served{0}, declined{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      void *context = contexts[t % 3];
      const int device = t % 3 == 2 ? 2 : 1;
      Data x(device, 40), y(device, 40);
      for (uint32_t round = 0; round < 20; ++round) {
        // Streams come and go; every third call is on one that nobody has seen.
        void *stream = host.stub.createStream(context);
        for (uint32_t i = 0; i < 3; ++i) {
          y.fill(0);
          h3rt_operator *op = i == 0 ? shift : i == 1 ? scale : twice;
          const h3rt::Result result = h3rt::Operator(op)(stream, {&x.tensor, &y.tensor});
          if (result.served()) {
            ++served;
            for (uint32_t e = 0; e < 40; ++e)
              wrong += y[e] != (i == 0 ? e + 8 : (i == 1 ? 3 : 2) * (e + 1));
          } else {
            ++declined;
            wrong += std::string(result.reason()) != "disabled" || y[0] != 0;
          }
        }
        if (t == 1)
          wrong += h3rt_set_enabled(host.runtime, "scale", round % 2) != H3RT_OK;
        if (t == 2) {
          h3rt_evidence evidence{};
          evidence.size = sizeof(evidence);
          evidence.target = "sm_90";
          evidence.operator_name = "shift<i32>";
          wrong += h3rt_add_evidence(host.runtime, &evidence) != H3RT_OK;
        }
        if (t == 3)
          for (size_t row = 0; row < h3rt_row_count(host.runtime); ++row) {
            h3rt_row info{};
            info.size = sizeof(info);
            wrong += h3rt_get_row(host.runtime, row, &info) != H3RT_OK;
          }
        if (t == 4)
          wrong += h3rt_preload(host.runtime, {kDLCUDA, device}, stream) != H3RT_OK;
        host.stub.destroyStream(stream);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(served + declined, 8 * 20 * 3);
  EXPECT_GT(served, 8 * 20 * 2 - 1);
  uint64_t counted = 0;
  for (h3rt_operator *op : {shift, scale, twice})
    counted += host.counters(op).served;
  EXPECT_EQ(counted, static_cast<uint64_t>(served));
}

/// Of many first calls at the same moment one loads.
TEST(DispatchThreads, AnOperatorIsLoadedOnce) {
  Host host;
  ASSERT_EQ(host.open(), H3RT_OK);
  h3rt_operator *shift = host.find("shift<i32>");
  void *context = host.stub.createContext(1);
  std::vector<std::thread> threads;
  std::atomic<int> served{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      Data x(1, 40), y(1, 40);
      void *stream = host.stub.createStream(context);
      served += h3rt::Operator(shift)(stream, {&x.tensor, &y.tensor}).served();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(served, 8);
  EXPECT_EQ(host.stub.calls("cuModuleLoadData"), 1u);
  EXPECT_EQ(host.stub.calls("cuMemAlloc"), 2u) << "of its two checks";
}

} // namespace
