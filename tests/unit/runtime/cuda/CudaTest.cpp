//===-- tests/unit/runtime/cuda/CudaTest.cpp - The driver layer on a fake driver *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Hardware.h"
#include "runtime/cuda/Session.h"

#include <gtest/gtest.h>

#include <cstring>

#include <dlfcn.h>

using namespace h3::cuda;
using h3::plan::Launch;

namespace {

/// The fake library's own functions, and a fresh state.
struct Fake : testing::Test {
  explicit Fake(const char *path = H3_FAKE_CUDA) : path(path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      ADD_FAILURE() << dlerror();
      std::abort();
    }
    get(reset, library, "fakeReset");
    get(log, library, "fakeLog");
    get(clearLog, library, "fakeClearLog");
    get(fail, library, "fakeFail");
    get(devices, library, "fakeDevices");
    get(depth, library, "fakeContextDepth");
    get(alive, library, "fakeAlive");
    get(push, library, "cuCtxPushCurrent_v2");
    reset();
  }
  template <typename F> static void get(F &function, void *library, const char *symbol) {
    function = reinterpret_cast<F>(dlsym(library, symbol));
    ASSERT_TRUE(function) << symbol;
  }

  Session open(int device = 0) {
    auto session = Session::open(device, path);
    if (!session) {
      ADD_FAILURE() << session.error().message;
      std::abort();
    }
    return std::move(*session);
  }

  /// How many log lines begin with the text.
  int count(const std::string &text) const {
    int found = 0;
    const std::string all = std::string("\n") + log();
    for (size_t at = all.find("\n" + text); at != std::string::npos;
         at = all.find("\n" + text, at + 1))
      ++found;
    return found;
  }

  const char *path;
  void (*reset)();
  const char *(*log)();
  void (*clearLog)();
  void (*fail)(const char *, int);
  void (*devices)(int);
  int (*depth)();
  int (*alive)();
  int (*push)(void *);
};
using CudaTest = Fake;

/// A driver without cuLaunchKernelEx.
struct CudaOlderDriverTest : Fake {
  CudaOlderDriverTest() : Fake(H3_FAKE_CUDA_11_7) {}
};

std::vector<std::byte> cubin() {
  std::vector<std::byte> image(128);
  std::memcpy(image.data(),
              "\x7f"
              "ELF",
              4);
  return image;
}

Launch launchOf(std::initializer_list<h3::plan::Argument> arguments) {
  Launch launch;
  launch.grid = {5, 6, 7};
  launch.block = {32, 2, 1};
  for (const h3::plan::Argument &argument : arguments)
    launch.arguments[launch.argumentCount++] = argument;
  return launch;
}

TEST(CudaLoadTest, NoLibraryIsNoDriver) {
  auto driver = Driver::load("libh3_there_is_no_such_library.so");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().kind, Failure::Kind::NoDriver);
  EXPECT_TRUE(driver.error().isMissing());
  EXPECT_EQ(driver.error().message.rfind("no CUDA driver: libh3_there_is_no_such_library.so", 0),
            0u)
      << driver.error().message;
  auto session = Session::open(0, "libh3_there_is_no_such_library.so");
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().kind, Failure::Kind::NoDriver);
}

TEST(CudaLoadTest, AnOldLibraryIsNoDriver) {
  auto driver = Driver::load(H3_OLD_CUDA);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().kind, Failure::Kind::NoDriver);
  EXPECT_EQ(driver.error().message, std::string("the CUDA driver '") + H3_OLD_CUDA +
                                        "' has no cuDriverGetVersion, a newer one is needed");
}

TEST_F(CudaTest, ADriverWithoutADevice) {
  fail("cuInit", 100);
  auto driver = Driver::load(H3_FAKE_CUDA);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().kind, Failure::Kind::NoDevice);
  EXPECT_EQ(driver.error().name, "CUDA_ERROR_NO_DEVICE");
  EXPECT_EQ(driver.error().message,
            "cuInit: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected");
}

TEST_F(CudaTest, DevicesThatAreNotThere) {
  for (int device : {-1, 2, 1000}) {
    auto session = Session::open(device, H3_FAKE_CUDA);
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().kind, Failure::Kind::NoDevice);
    EXPECT_EQ(session.error().message,
              "no CUDA device " + std::to_string(device) + ", the machine has 2");
  }
  devices(0);
  EXPECT_FALSE(Session::open(0, H3_FAKE_CUDA));
  EXPECT_EQ(alive(), 0);
}

TEST_F(CudaTest, CapabilityIsThatOfTheDeviceAsked) { // S34
  auto driver = Driver::load(H3_FAKE_CUDA);
  ASSERT_TRUE(driver);
  EXPECT_EQ((*driver)->deviceCount() ? *(*driver)->deviceCount() : -1, 2);
  EXPECT_EQ((*driver)->capability(0)->text(), "12.0");
  EXPECT_EQ((*driver)->capability(1)->text(), "9.0");
  EXPECT_EQ(*(*driver)->deviceName(1), "fake device 1");
  const Session one = open(1);
  EXPECT_EQ(one.capability(), (Capability{9, 0}));
  EXPECT_EQ(one.deviceIndex(), 1);
  EXPECT_EQ(one.deviceName(), "fake device 1");
  EXPECT_EQ(one.driverVersion(), 13000);
  EXPECT_EQ(count("cuDevicePrimaryCtxRetain 71"), 1);
  EXPECT_EQ(count("cuDevicePrimaryCtxRetain 70"), 0);
}

TEST_F(CudaTest, NoIndexMeansTheCurrentDevice) { // S34
  auto none = Session::open(std::nullopt, H3_FAKE_CUDA);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->deviceIndex(), 0);
  ASSERT_EQ(push(reinterpret_cast<void *>(uintptr_t(1071))), 0);
  auto current = Session::open(std::nullopt, H3_FAKE_CUDA);
  ASSERT_TRUE(current);
  EXPECT_EQ(current->deviceIndex(), 1);
  EXPECT_EQ(depth(), 1) << "the caller's context is still the current one";
}

TEST_F(CudaTest, DataGoesThereThroughAKernelAndBack) {
  std::vector<std::byte> data(1000), result(1000);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<std::byte>(i * 7);
  Session session = open();
  auto from = session.upload(data);
  auto to = session.allocate(1000, 0x5a);
  ASSERT_TRUE(from && to);
  EXPECT_EQ(*from % 256, 0u);
  ASSERT_FALSE(session.download(*to, result));
  EXPECT_EQ(result, std::vector<std::byte>(1000, std::byte(0x5a)));
  const Launch launch = launchOf({{*to + 10, 8}, {*from, 8}, {900, 4}});
  auto failure = session.run(cubin(), "copy", launch);
  ASSERT_FALSE(failure) << failure->message;
  ASSERT_FALSE(session.download(*to, result));
  EXPECT_EQ(std::memcmp(result.data() + 10, data.data(), 900), 0);
  EXPECT_EQ(result[9], std::byte(0x5a));
  EXPECT_EQ(result[910], std::byte(0x5a));
  ASSERT_FALSE(session.overwrite(*to, std::span(data).first(5)));
  ASSERT_FALSE(session.download(*to, std::span(result).first(6)));
  EXPECT_EQ(std::memcmp(result.data(), data.data(), 5), 0);
  EXPECT_EQ(result[5], std::byte(0x5a));
}

TEST_F(CudaTest, LaunchPassesWhatThePlanSays) {
  Session session = open();
  Launch launch = launchOf({{0xbeef, 2}, {0xfffffffe, 4}, {0x123456789abcdef0, 8}});
  launch.sharedBytes = 48 * 1024;
  ASSERT_FALSE(session.run(cubin(), "wide", launch));
  EXPECT_EQ(
      count("cuLaunchKernel 5 6 7 32 2 1 49152 stream 48879 4294967294 1311768467463790320\n"), 1)
      << log();
  EXPECT_EQ(count("cuFuncSetAttribute"), 0);
  launch.sharedBytes = 48 * 1024 + 1;
  ASSERT_FALSE(session.run(cubin(), "wide", launch));
  EXPECT_EQ(count("cuFuncSetAttribute 8 49153"), 1);
  EXPECT_EQ(count("cuLaunchKernel"), 2);
}

TEST_F(CudaTest, TheTableOfMembersIsTheFirstParameter) {
  Session session = open();
  const uint16_t first = 0xbeef;
  Launch launch = launchOf({{0xfffffffe, 4}, {0x123456789abcdef0, 8}});
  launch.members = std::as_bytes(std::span(&first, 1));
  ASSERT_FALSE(session.run(cubin(), "wide", launch));
  EXPECT_EQ(count("cuLaunchKernel 5 6 7 32 2 1 0 stream 48879 4294967294 1311768467463790320\n"), 1)
      << log();
}

TEST_F(CudaTest, OnlyKernelsThatWaitStartEarly) {
  Session session = open();
  Launch launch = launchOf({{1, 2}, {2, 4}, {3, 8}});
  launch.sharedBytes = 100;
  session.setStart(Start::Early);
  auto failure = session.run(cubin(), "wide", launch);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Failure::Kind::BadInput);
  EXPECT_EQ(failure->message,
            "the kernel does not wait for the one in front of it: it cannot start early");
  EXPECT_EQ(count("cuLaunchKernel"), 0);
  launch.waits = true;
  ASSERT_FALSE(session.run(cubin(), "wide", launch));
  EXPECT_EQ(count("cuLaunchKernelEx 6=1\n"), 1) << log();
  EXPECT_EQ(count("cuLaunchKernel 5 6 7 32 2 1 100 stream 1 2 3\n"), 1) << log();
  ASSERT_TRUE(session.timeGraph(cubin(), "wide", std::span(&launch, 1), 1));
  EXPECT_EQ(count("cuLaunchKernelEx 6=1\n"), 1 + static_cast<int>(Session::kGraphLaunches));
  // In the common way it starts too.
  session.setStart(Start::AfterAll);
  ASSERT_FALSE(session.run(cubin(), "wide", launch));
  EXPECT_EQ(count("cuLaunchKernelEx"), 1 + static_cast<int>(Session::kGraphLaunches));
  fail("cuLaunchKernelEx", 1);
  session.setStart(Start::Early);
  failure = session.run(cubin(), "wide", launch);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->message.rfind("cuLaunchKernelEx: ", 0), 0u) << failure->message;
}

TEST_F(CudaOlderDriverTest, ServesButStartsNothingEarly) {
  Session session = open();
  Launch launch = launchOf({{1, 2}, {2, 4}, {3, 8}});
  launch.waits = true;
  ASSERT_FALSE(session.run(cubin(), "wide", launch));
  EXPECT_EQ(count("cuLaunchKernel 5 6 7 32 2 1 0 stream 1 2 3\n"), 1) << log();
  session.setStart(Start::Early);
  const auto failure = session.run(cubin(), "wide", launch);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Failure::Kind::NoDriver);
  EXPECT_EQ(failure->message,
            "the CUDA driver has no cuLaunchKernelEx, which an early start takes: "
            "a driver of CUDA 11.8 or newer is needed");
  EXPECT_EQ(count("cuLaunchKernel"), 1) << log();
}

TEST_F(CudaOlderDriverTest, ServesTheEmbeddedRuntime) {
  Hardware hardware(path);
  const h3rt_driver driver = hardware.interface();
  char target[16] = {};
  const h3rt_driver_result found = driver.target(driver.user, 0, target, sizeof(target));
  EXPECT_EQ(found.kind, H3RT_DRIVER_OK);
  EXPECT_STREQ(target, "sm_120");
}

TEST_F(CudaTest, CopiesUseTheSessionsStreamWhichIsNonBlocking) { // S33
  Session session = open();
  const std::vector<std::byte> data(10);
  ASSERT_TRUE(session.upload(data));
  EXPECT_EQ(count("cuStreamCreate 1"), 1);
  EXPECT_EQ(count("cuMemcpyHtoDAsync 10 stream"), 1);
}

TEST_F(CudaTest, ZeroRowsLaunchNothing) { // S25
  Session session = open();
  for (int axis = 0; axis < 3; ++axis) {
    Launch launch = launchOf({});
    launch.grid[axis] = 0;
    EXPECT_FALSE(session.run(cubin(), "copy", launch));
    EXPECT_EQ(*session.time(cubin(), "copy", launch, 5), 0.0f);
    EXPECT_EQ(*session.timeGraph(cubin(), "copy", std::span(&launch, 1), 5), 0.0f);
  }
  EXPECT_EQ(count("cuLaunchKernel") + count("cuModuleLoadData"), 0);
}

TEST_F(CudaTest, EmptyTensorsHaveAnAddress) {
  Session session = open();
  auto empty = session.upload({});
  ASSERT_TRUE(empty);
  EXPECT_NE(*empty, 0u);
  EXPECT_FALSE(session.download(*empty, {}));
  EXPECT_TRUE(session.allocate(0, 1));
}

TEST_F(CudaTest, EqualImagesAreLoadedOnce) {
  Session session = open();
  const Launch launch = launchOf({{1, 2}, {2, 4}, {3, 8}});
  auto other = cubin();
  other[100] = std::byte(1);
  ASSERT_FALSE(session.run(cubin(), "wide", launch));
  ASSERT_FALSE(session.run(cubin(), "wide", launch));
  EXPECT_EQ(count("cuModuleLoadData"), 1);
  ASSERT_FALSE(session.run(other, "wide", launch));
  EXPECT_EQ(count("cuModuleLoadData"), 2);
}

TEST_F(CudaTest, TimingRunsBetweenTwoEvents) {
  Session session = open();
  const Launch launch = launchOf({{1, 2}, {2, 4}, {3, 8}});
  auto mean = session.time(cubin(), "wide", launch, 3);
  ASSERT_TRUE(mean) << mean.error().message;
  EXPECT_EQ(*mean, 2.0f) << "6 ms over 3 runs";
  EXPECT_EQ(count("cuLaunchKernel"), 3);
  EXPECT_EQ(count("cuEventElapsedTime 5000 5001"), 1);
  EXPECT_EQ(count("cuEventDestroy"), 2);
}

TEST_F(CudaTest, AGraphReplaysItsLaunchesInTurn) {
  Session session = open();
  std::vector<std::byte> data(16, std::byte(3)), result(16);
  auto from = session.upload(data);
  ASSERT_TRUE(from);
  std::vector<uint64_t> to;
  std::vector<Launch> launches;
  for (int i = 0; i < 3; ++i) {
    to.push_back(*session.allocate(16, 0));
    launches.push_back(launchOf({{to.back(), 8}, {*from, 8}, {16, 4}}));
  }
  // The least multiple of 3 from 128 on is 129; 4 replays of it are the first 400 or more.
  auto mean = session.timeGraph(cubin(), "copy", launches, 400);
  ASSERT_TRUE(mean) << mean.error().message;
  EXPECT_EQ(*mean, 6.0f / (4 * 129));
  EXPECT_EQ(count("cuStreamBeginCapture 2"), 1);
  EXPECT_EQ(count("cuStreamEndCapture"), 1);
  EXPECT_EQ(count("cuLaunchKernel"), 129);
  EXPECT_EQ(count("cuGraphLaunch stream"), 8) << "as many to warm up";
  EXPECT_EQ(count("cuGraphExecDestroy"), 1);
  EXPECT_EQ(count("cuGraphDestroy"), 1);
  const std::string calls = log();
  EXPECT_LT(calls.find("cuGraphLaunch"), calls.find("cuEventRecord"));
  EXPECT_GT(calls.rfind("cuEventRecord"), calls.rfind("cuGraphLaunch"));
  for (uint64_t address : to) {
    ASSERT_FALSE(session.download(address, result));
    EXPECT_EQ(result, data);
  }
}

TEST_F(CudaTest, AGraphOfManyHasEachOnceAndNoneIsNoTime) {
  Session session = open();
  auto buffer = session.allocate(16, 0);
  const std::vector<Launch> launches(200, launchOf({{*buffer, 8}, {*buffer, 8}, {16, 4}}));
  EXPECT_EQ(*session.timeGraph(cubin(), "copy", launches, 1), 6.0f / 200);
  EXPECT_EQ(count("cuLaunchKernel"), 200);
  EXPECT_EQ(count("cuGraphLaunch"), 2);
  EXPECT_EQ(*session.timeGraph(cubin(), "copy", {}, 1), 0.0f);
  EXPECT_EQ(count("cuStreamBeginCapture"), 1);
}

TEST_F(CudaTest, AFailedRecordingLeavesNoCapture) {
  Session session = open();
  auto buffer = session.allocate(16, 7);
  const Launch launch = launchOf({{*buffer, 8}, {*buffer, 8}, {16, 4}});
  fail("cuLaunchKernel", 1);
  auto mean = session.timeGraph(cubin(), "copy", std::span(&launch, 1), 1);
  ASSERT_FALSE(mean);
  EXPECT_EQ(mean.error().message.rfind("cuLaunchKernel: ", 0), 0u) << mean.error().message;
  EXPECT_EQ(count("cuStreamEndCapture"), 1);
  EXPECT_EQ(count("cuGraphDestroy"), 1);
  EXPECT_EQ(count("cuGraphInstantiate"), 0);
  std::vector<std::byte> result(16);
  EXPECT_FALSE(session.download(*buffer, result)) << "the stream can be waited for";
  // The driver may refuse to end such a capture; the cause is still the launch.
  fail("cuStreamEndCapture", 1);
  mean = session.timeGraph(cubin(), "copy", std::span(&launch, 1), 1);
  ASSERT_FALSE(mean);
  EXPECT_EQ(mean.error().message.rfind("cuLaunchKernel: ", 0), 0u) << mean.error().message;
}

TEST_F(CudaTest, DuplicatesAreCopiesOfTheirOwn) {
  Session session = open();
  std::vector<std::byte> data(300, std::byte(9)), result(300);
  auto from = session.upload(data);
  ASSERT_TRUE(from);
  auto copy = session.duplicate(*from);
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_NE(*copy, *from);
  EXPECT_EQ(count("cuMemcpyDtoDAsync 300 stream"), 1);
  ASSERT_FALSE(session.overwrite(*from, std::vector<std::byte>(300)));
  ASSERT_FALSE(session.download(*copy, result));
  EXPECT_EQ(result, data);
  auto empty = session.upload({});
  ASSERT_TRUE(empty && session.duplicate(*empty));
  auto wrong = session.duplicate(*from + 1);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "no memory of this session begins at that address");
  EXPECT_EQ(*session.freeMemory(), 1u << 20);
}

TEST_F(CudaTest, EverythingIsReleasedAndEveryPushPopped) {
  {
    Session session = open();
    const std::vector<std::byte> data(10);
    auto address = session.upload(data);
    ASSERT_TRUE(address && session.allocate(20, 0));
    ASSERT_FALSE(session.run(cubin(), "copy", launchOf({{*address, 8}, {*address, 8}, {10, 4}})));
    EXPECT_GT(alive(), 0);
    Session moved = std::move(session);
    EXPECT_GT(alive(), 0);
    EXPECT_EQ(depth(), 0);
  }
  EXPECT_EQ(alive(), 0);
  EXPECT_EQ(depth(), 0);
  EXPECT_EQ(count("cuCtxPushCurrent"), count("cuCtxPopCurrent"));
  EXPECT_EQ(count("cuMemFree"), 2);
}

TEST_F(CudaTest, ImagesThatAreNoCubinAreRefused) { // S22: the driver is not asked to assemble
  Session session = open();
  const std::string ptx(200, ' ');
  for (std::span<const std::byte> image :
       {std::as_bytes(std::span(ptx)), std::span<const std::byte>()}) {
    auto failure = session.run(image, "copy", launchOf({}));
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, Failure::Kind::BadInput);
    EXPECT_EQ(failure->message, "the image is not a cubin: it does not begin as an ELF file does");
  }
  EXPECT_EQ(count("cuModuleLoadData"), 0);
}

TEST_F(CudaTest, WrongUseIsReported) {
  Session session = open();
  std::vector<std::byte> data(10);
  auto address = session.upload(data);
  ASSERT_TRUE(address);
  data.resize(11);
  EXPECT_EQ(session.download(*address, data)->message,
            "a copy of 11 bytes is longer than the buffer of 10");
  EXPECT_EQ(session.overwrite(*address, data)->message,
            "a copy of 11 bytes is longer than the buffer of 10");
  EXPECT_EQ(session.download(*address + 1, data)->message,
            "no memory of this session begins at that address");
  auto failure = session.run(cubin(), "absent", launchOf({}));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->message,
            "cuModuleGetFunction(absent): CUDA_ERROR_NOT_FOUND (500): named symbol not found");
}

/// Each driver call in turn fails: the operation reports it, nothing leaks, and the context stack
/// is as it was.
TEST_F(CudaTest, EveryFailingCallIsReported) { // S32
  static const char *const kCalls[] = {"cuInit",
                                       "cuDriverGetVersion",
                                       "cuDeviceGetCount",
                                       "cuDeviceGet",
                                       "cuDeviceGetName",
                                       "cuDeviceGetAttribute",
                                       "cuDevicePrimaryCtxRetain",
                                       "cuCtxPushCurrent",
                                       "cuModuleLoadData",
                                       "cuModuleGetFunction",
                                       "cuFuncSetAttribute",
                                       "cuLaunchKernel",
                                       "cuMemAlloc",
                                       "cuMemcpyHtoDAsync",
                                       "cuMemcpyDtoHAsync",
                                       "cuMemcpyDtoDAsync",
                                       "cuMemGetInfo",
                                       "cuMemsetD8Async",
                                       "cuStreamCreate",
                                       "cuStreamSynchronize",
                                       "cuStreamBeginCapture",
                                       "cuStreamEndCapture",
                                       "cuGraphInstantiate",
                                       "cuGraphLaunch",
                                       "cuEventCreate",
                                       "cuEventRecord",
                                       "cuEventSynchronize",
                                       "cuEventElapsedTime",
                                       "cuCtxPopCurrent"};
  auto path = [&]() -> std::optional<Failure> {
    auto session = Session::open(1, H3_FAKE_CUDA);
    if (!session)
      return session.error();
    std::vector<std::byte> data(16);
    auto from = session->upload(data);
    if (!from)
      return from.error();
    auto to = session->allocate(16, 1);
    if (!to)
      return to.error();
    Launch launch = launchOf({{*to, 8}, {*from, 8}, {16, 4}});
    launch.sharedBytes = 65536;
    if (auto failure = session->run(cubin(), "copy", launch))
      return failure;
    auto time = session->time(cubin(), "copy", launch, 1);
    if (!time)
      return time.error();
    auto copy = session->duplicate(*to);
    if (!copy)
      return copy.error();
    auto available = session->freeMemory();
    if (!available)
      return available.error();
    time = session->timeGraph(cubin(), "copy", std::span(&launch, 1), 1);
    if (!time)
      return time.error();
    return session->download(*to, data);
  };
  EXPECT_FALSE(path());
  for (const char *call : kCalls) {
    reset();
    fail(call, 1);
    auto failure = path();
    ASSERT_TRUE(failure) << call;
    EXPECT_EQ(failure->kind, Failure::Kind::Driver) << call;
    EXPECT_EQ(failure->code, 1) << call;
    EXPECT_EQ(failure->name, "CUDA_ERROR_INVALID_VALUE") << call;
    EXPECT_EQ(failure->message.rfind(call, 0), 0u) << failure->message;
    EXPECT_NE(failure->message.find(": CUDA_ERROR_INVALID_VALUE (1): invalid argument"),
              std::string::npos)
        << failure->message;
    EXPECT_EQ(depth(), 0) << call;
    if (std::string(call) != "cuCtxPushCurrent" && std::string(call) != "cuCtxPopCurrent") {
      EXPECT_EQ(alive(), 0) << call;
    }
  }
}

TEST_F(CudaTest, CodesWithoutANameAreReportedByNumber) {
  fail("cuMemAlloc", 12345);
  Session session = open();
  auto failure = session.allocate(16, 0);
  ASSERT_FALSE(failure);
  EXPECT_EQ(failure.error().message,
            "cuMemAlloc: unknown error (12345): the driver has no text for it");
}

} // namespace
