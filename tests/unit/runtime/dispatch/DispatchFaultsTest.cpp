//===-- tests/unit/runtime/dispatch/DispatchFaultsTest.cpp - Every driver call failing in turn
//-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Whatever call of the driver fails, and whichever time it is made: the host sees a decline or a
// failure, nothing of the operator stays on the device, the thread's context is as it was, and the
// next call serves.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/runtime/dispatch/Host.h"

#include <map>
#include <set>
#include <sstream>

using namespace h3::rt::test;

namespace {

/// A first call of `root`, the operator with a probe.
class Scene {
public:
  Scene(const std::string &bundle, bool isNullStream) {
    EXPECT_EQ(h3rt_add_bundle(host.runtime, bundle.data(), bundle.size()), H3RT_OK);
    root = host.find("root");
    if (!isNullStream)
      stream = host.stub.createStream(host.stub.createContext(1));
  }
  h3rt_outcome call() {
    y.fill(0xdeadbeef);
    return host.run(root, {&x.tensor, &y.tensor}, stream);
  }
  bool isRight() {
    for (uint32_t i = 0; i < 16; ++i)
      if (y[i] != rootOf(i + 1))
        return false;
    return true;
  }

  Host host;
  void *stream = nullptr;
  h3rt_operator *root = nullptr;
  Data x{1, 16, true}, y{1, 16, true};
};

std::map<std::string, unsigned> callsOf(const h3::stub::Control &stub) {
  std::map<std::string, unsigned> calls;
  std::istringstream symbols(stub.calledSymbols());
  for (std::string symbol; std::getline(symbols, symbol);)
    calls[symbol] = stub.calls(symbol.c_str());
  return calls;
}

void failEachCall(bool isNullStream, bool isWarm, std::set<std::string> &failed) {
  const std::string bundle = testBundle();
  std::map<std::string, unsigned> calls;
  {
    Scene scene(bundle, isNullStream);
    if (isWarm) {
      ASSERT_EQ(scene.call(), H3RT_SERVED) << scene.host.text();
      scene.host.stub.clearCalls();
    }
    ASSERT_EQ(scene.call(), H3RT_SERVED) << scene.host.text();
    calls = callsOf(scene.host.stub);
  }
  for (const auto &[symbol, count] : calls)
    for (unsigned nth = 0; nth < count; ++nth)
      // An error of no special meaning, memory, a broken context.
      for (int code : {999, 2, 700}) {
        SCOPED_TRACE(symbol + " failing time " + std::to_string(nth) + " with " +
                     std::to_string(code));
        Scene scene(bundle, isNullStream);
        int alive = 0;
        if (isWarm) {
          ASSERT_EQ(scene.call(), H3RT_SERVED);
          alive = scene.host.stub.alive();
        }
        scene.host.stub.failCall(symbol.c_str(), static_cast<int>(nth), code);
        const h3rt_outcome outcome = scene.call();
        // To know which context is current is no more than a short cut.
        if (symbol == "cuCtxGetCurrent" && outcome == H3RT_SERVED) {
          EXPECT_TRUE(scene.isRight());
        } else {
          EXPECT_NE(outcome, H3RT_SERVED);
          failed.insert(symbol);
          EXPECT_EQ(scene.host.text().find(outcome == H3RT_FAILED ? "failed: " : "declined: "), 0u)
              << scene.host.text();
          if (outcome == H3RT_DECLINED) {
            EXPECT_EQ(scene.y.all(), std::vector<uint32_t>(16, 0xdeadbeef));
          }
          EXPECT_EQ(scene.host.result.failure == H3RT_FAILURE_CONTEXT_ERROR, code == 700)
              << scene.host.text();
        }
        EXPECT_EQ(scene.host.stub.depth(), 0);
        EXPECT_EQ(scene.call(), H3RT_SERVED) << scene.host.text();
        EXPECT_TRUE(scene.isRight());
        if (isWarm && !isNullStream) {
          EXPECT_EQ(scene.host.stub.alive(), alive);
        }
        h3rt_destroy(scene.host.runtime);
        scene.host.runtime = nullptr;
        EXPECT_EQ(scene.host.stub.alive(), 0);
        if (testing::Test::HasFailure())
          return;
      }
}

TEST(DispatchFaults, EveryDriverCallMayFailOnce) {
  std::set<std::string> failed;
  for (bool isNullStream : {false, true})
    for (bool isWarm : {false, true}) {
      failEachCall(isNullStream, isWarm, failed);
      if (HasFailure())
        return;
    }
  // All that the runtime uses for images; funcSetAttribute only above 48 KiB of shared memory.
  const std::set<std::string> expected = {"cuInit",
                                          "cuDeviceGetCount",
                                          "cuDeviceGet",
                                          "cuCtxGetDevice",
                                          "cuCtxPushCurrent",
                                          "cuCtxPopCurrent",
                                          "cuModuleLoadData",
                                          "cuModuleGetFunction",
                                          "cuLaunchKernel",
                                          "cuMemAlloc",
                                          "cuMemFree",
                                          "cuMemcpyHtoDAsync",
                                          "cuStreamCreate",
                                          "cuMemcpyDtoHAsync",
                                          "cuStreamDestroy",
                                          "cuStreamGetCtx",
                                          "cuStreamIsCapturing",
                                          "cuStreamSynchronize",
                                          "cuCtxGetCurrent",
                                          "cuDeviceGetAttribute",
                                          "cuDevicePrimaryCtxRetain",
                                          "cuThreadExchangeStreamCaptureMode"};
  EXPECT_EQ(failed, expected);
}

} // namespace
