//===-- tests/unit/runtime/dispatch/DispatchTableTest.cpp - What is registered, and what serves
//-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/runtime/dispatch/Host.h"

#include <cstdlib>
#include <cstring>

using namespace h3::rt::test;

namespace {

struct DispatchTable : testing::Test {
  Host host;

  std::string errorOf(h3rt_status expected, h3rt_status found) {
    EXPECT_EQ(found, expected);
    return h3rt_last_error();
  }
};

TEST_F(DispatchTable, HasARowForEachOperatorAndTarget) {
  ASSERT_EQ(host.open(), H3RT_OK);
  std::string table;
  for (size_t i = 0; i < h3rt_row_count(host.runtime); ++i) {
    h3rt_row row{};
    row.size = sizeof(row);
    ASSERT_EQ(h3rt_get_row(host.runtime, i, &row), H3RT_OK);
    table += std::string(row.set) + " " + row.target + " " + row.operator_name +
             (row.enabled ? " enabled" : " off") + (row.validation ? " validated" : "") +
             (row.has_cubin && row.has_ptx ? " cubin ptx " : " ? ") +
             std::to_string(row.variant_count) + "\n";
  }
  EXPECT_EQ(table, "test sm_120 root enabled cubin ptx 1\n"
                   "test sm_120 scale<i32> enabled cubin ptx 2\n"
                   "test sm_120 shift<i32> enabled cubin ptx 1\n"
                   "test sm_120 twice enabled cubin ptx 1\n"
                   "test sm_89 root off cubin ptx 1\n"
                   "test sm_89 scale<i32> off cubin ptx 2\n"
                   "test sm_89 shift<i32> off cubin ptx 1\n"
                   "test sm_89 twice off cubin ptx 1\n"
                   "test sm_90 root enabled cubin ptx 1\n"
                   "test sm_90 scale<i32> enabled cubin ptx 2\n"
                   "test sm_90 shift<i32> enabled cubin ptx 1\n"
                   "test sm_90 twice enabled cubin ptx 1\n");
  h3rt_row row{};
  row.size = sizeof(row);
  EXPECT_EQ(errorOf(H3RT_NOT_FOUND, h3rt_get_row(host.runtime, 12, &row)),
            "no row 12, the table has 12");
  h3rt_operator *op = nullptr;
  EXPECT_EQ(errorOf(H3RT_NOT_FOUND, h3rt_find_operator(host.runtime, "shift", &op)),
            "no operator 'shift', there are root, scale<i32>, shift<i32>, twice");
}

// S23: what the manifest lists is what the loader lists; a set that lacks an operator is absent.
TEST_F(DispatchTable, AnIncompleteSetIsLeftOutAndTheOthersServe) {
  BundleFaults faults;
  faults.missing = "shift";
  ASSERT_EQ(host.open(faults), H3RT_OK) << h3rt_last_error();
  EXPECT_EQ(h3rt_row_count(host.runtime), 8u);
  EXPECT_EQ(host.lines(), std::vector<std::string>{"h3rt: bundle operator set 'test' for sm_120 is "
                                                   "left out: it lacks shift"});
  Data x(0, 8), y(0, 8), u(1, 8), v(1, 8);
  h3rt_operator *scale = host.find("scale<i32>");
  EXPECT_EQ(host.run(scale, {&x.tensor, &y.tensor}, nullptr), H3RT_DECLINED);
  EXPECT_EQ(host.text(), "declined: no_operator_set: no operator set exists for this device: "
                         "scale<i32> on cuda:0, which is sm_120");
  EXPECT_EQ(host.run(scale, {&u.tensor, &v.tensor}, nullptr), H3RT_SERVED) << host.text();
}

TEST_F(DispatchTable, ABundleTwiceIsADuplicateAndAddsNothing) {
  ASSERT_EQ(host.open(), H3RT_OK);
  EXPECT_EQ(errorOf(H3RT_DUPLICATE, host.open()),
            "operator set 'test' for sm_120: sm_120 has root already, from set 'test'");
  BundleFaults other;
  other.name = "other";
  EXPECT_EQ(errorOf(H3RT_DUPLICATE, host.open(other)),
            "operator set 'other' for sm_120: sm_120 has root already, from set 'test'");
  EXPECT_EQ(h3rt_row_count(host.runtime), 12u);
}

TEST_F(DispatchTable, ADamagedBundleIsRefused) {
  std::string bundle = testBundle();
  bundle[bundle.size() / 2] ^= 1;
  EXPECT_EQ(h3rt_add_bundle(host.runtime, bundle.data(), bundle.size()), H3RT_BAD_BUNDLE);
  EXPECT_EQ(h3rt_row_count(host.runtime), 0u);
  EXPECT_EQ(h3rt_open_bundle(host.runtime, "/nonexistent.h3b"), H3RT_BAD_BUNDLE);
  EXPECT_EQ(std::string(h3rt_last_error()).find("/nonexistent.h3b: "), 0u) << h3rt_last_error();
}

// S34, S37: the tensor's device decides, by its exact capability.
TEST_F(DispatchTable, CapabilitiesMatchExactly) {
  ASSERT_EQ(host.open(), H3RT_OK);
  h3rt_operator *shift = host.find("shift<i32>");
  const struct {
    int device;
    const char *text;
  } rows[] = {
      {0, "served"},
      {1, "served"},
      {2, "served"},
      {3, "declined: no_operator_set: no operator set exists for this device: shift<i32> on "
          "cuda:3, which is sm_121"},
      {4, "declined: disabled: the operator or its operator set is switched off"},
      {5, "declined: no_operator_set: no operator set exists for this device: shift<i32> on "
          "cuda:5, which is sm_107"},
      {6, "declined: no_device: there is no such device: cuda:6"},
  };
  for (int round = 0; round < 2; ++round)
    for (const auto &row : rows) {
      Data x(row.device, 8), y(row.device, 8);
      y.fill(5);
      const bool served = std::strcmp(row.text, "served") == 0;
      EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, nullptr),
                served ? H3RT_SERVED : H3RT_DECLINED);
      EXPECT_EQ(host.text(), row.text);
      EXPECT_EQ(y[0], served ? 8u : 5u);
      EXPECT_EQ(host.stub.depth(), 0) << "the caller's context is as it was";
    }
  h3rt_device_info info{};
  info.size = sizeof(info);
  ASSERT_EQ(h3rt_get_device(host.runtime, {kDLCUDA, 4}, &info), H3RT_OK);
  EXPECT_STREQ(info.target, "sm_89");
  EXPECT_EQ(info.operator_count, 4);
  EXPECT_EQ(info.enabled_count, 0);
  EXPECT_EQ(errorOf(H3RT_NOT_FOUND, h3rt_get_device(host.runtime, {kDLCUDA, 9}, &info)),
            "cuda:9: there is no such device");
}

TEST_F(DispatchTable, ASetThatIsRegisteredLaterServes) {
  ASSERT_EQ(host.open(), H3RT_OK);
  h3rt_operator *shift = host.find("shift<i32>");
  Data x(3, 8), y(3, 8);
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, nullptr), H3RT_DECLINED);

  // A host's own operators for sm_121: the contract is the bundle's.
  static int calls = 0;
  const auto add = [](void *user, const h3rt_binding *binding) -> int32_t {
    ++calls;
    EXPECT_EQ(user, &calls);
    EXPECT_EQ(binding->device.device_id, 3);
    for (int32_t member = 0; member < binding->member_count; ++member) {
      const h3rt_bound_tensor *t = binding->tensors + member * binding->tensor_count;
      EXPECT_EQ(binding->dims[member], t[0].extents[0]);
      for (int64_t i = 0; i < t[0].extents[0]; ++i)
        reinterpret_cast<uint32_t *>(t[1].address)[i * t[1].strides[0]] =
            reinterpret_cast<uint32_t *>(t[0].address)[i * t[0].strides[0]] + 7;
    }
    return binding->dims[0] == 5 ? 999 : 0;
  };
  h3rt_set_operator operators[4]{};
  const char *names[] = {"root", "scale<i32>", "shift<i32>", "twice"};
  for (int i = 0; i < 4; ++i)
    operators[i] = {sizeof(h3rt_set_operator), names[i], nullptr, add, &calls};
  h3rt_set set{sizeof(set), "test", "sm_121", 1, 3, operators};
  EXPECT_EQ(errorOf(H3RT_INCOMPLETE, h3rt_add_set(host.runtime, &set)),
            "operator set 'test' for sm_121 is not complete: it lacks twice");
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, nullptr), H3RT_DECLINED);
  set.operator_count = 4;
  ASSERT_EQ(h3rt_add_set(host.runtime, &set), H3RT_OK) << h3rt_last_error();
  EXPECT_EQ(h3rt_add_set(host.runtime, &set), H3RT_DUPLICATE);
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, nullptr), H3RT_SERVED) << host.text();
  EXPECT_EQ(y[7], 15u);
  y.tensor.dtype.bits = 64;
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, nullptr), H3RT_DECLINED);
  EXPECT_EQ(calls, 1);
  h3rt_operator *twice = host.find("twice");
  EXPECT_EQ(host.run(twice, {&x.tensor, &x.tensor}, nullptr), H3RT_DECLINED);
  EXPECT_EQ(host.result.reason, H3RT_DECLINE_ALIAS);
  Data u(3, 5), v(3, 5), w(3, 6), z(3, 6);
  EXPECT_EQ(host.run(twice, {&w.tensor, &z.tensor, &u.tensor, &v.tensor}, nullptr), H3RT_SERVED)
      << host.text();
  EXPECT_EQ(host.run(shift, {&u.tensor, &v.tensor}, nullptr), H3RT_FAILED);
  EXPECT_EQ(host.result.driver_status, 999);
}

TEST_F(DispatchTable, AHostAddsHardwareOfItsOwn) {
  h3rt_driver driver{};
  driver.size = sizeof(driver);
  driver.name = "abacus";
  driver.device_type = kDLExtDev;
  driver.target = [](void *, int32_t device, char *text, size_t capacity) {
    std::snprintf(text, capacity, "beads_%d", device);
    return h3rt_driver_result{device < 2 ? H3RT_DRIVER_OK : H3RT_DRIVER_NO_DEVICE, 0};
  };
  ASSERT_EQ(h3rt_add_driver(host.runtime, &driver), H3RT_OK) << h3rt_last_error();
  EXPECT_EQ(errorOf(H3RT_DUPLICATE, h3rt_add_driver(host.runtime, &driver)),
            "driver 'abacus' is there already");
  h3rt_driver half = driver;
  half.name = "half";
  half.device_type = kDLMetal;
  half.enter = [](void *, void *) { return h3rt_driver_result{}; };
  EXPECT_EQ(h3rt_add_driver(host.runtime, &half), H3RT_INCOMPLETE);

  const auto add = [](void *, const h3rt_binding *binding) -> int32_t {
    *reinterpret_cast<uint32_t *>(binding->tensors[1].address) = 42;
    return 0;
  };
  const std::string contract = contractOf("shift");
  h3rt_set_operator op{sizeof(op), "shift<i32>", nullptr, add, nullptr};
  h3rt_set set{sizeof(set), "own", "beads_0", 1, 1, &op};
  EXPECT_EQ(errorOf(H3RT_INCOMPLETE, h3rt_add_set(host.runtime, &set)),
            "operator set 'own' for beads_0: shift<i32> has no contract, and no set before has the "
            "operator");
  op.contract = "{";
  EXPECT_EQ(h3rt_add_set(host.runtime, &set), H3RT_INVALID_ARGUMENT);
  op.contract = contract.c_str();
  op.name = "shift";
  EXPECT_EQ(errorOf(H3RT_INVALID_ARGUMENT, h3rt_add_set(host.runtime, &set)),
            "the contract of shift is that of shift<i32>");
  op.name = "shift<i32>";
  ASSERT_EQ(h3rt_add_set(host.runtime, &set), H3RT_OK) << h3rt_last_error();
  h3rt_operator *shift = host.find("shift<i32>");
  Data x(0, 8), y(0, 8);
  x.tensor.device = y.tensor.device = {kDLExtDev, 0};
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, nullptr), H3RT_SERVED) << host.text();
  EXPECT_EQ(y[0], 42u);
  EXPECT_EQ(host.lines().back(),
            "h3rt: dispatch op=shift<i32> device=abacus:0 target=beads_0 outcome=served "
            "variant=function");
  x.tensor.device = y.tensor.device = {kDLExtDev, 1};
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, nullptr), H3RT_DECLINED);
  EXPECT_EQ(host.result.reason, H3RT_DECLINE_NO_OPERATOR_SET);
  x.tensor.device = y.tensor.device = {kDLCPU, 0};
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, nullptr), H3RT_DECLINED);
  EXPECT_EQ(host.text(), "declined: no_operator_set: x is on device 0 of DLPack type 1, for which "
                         "there is no driver");
}

TEST_F(DispatchTable, SwitchesHoldForOperatorsTypesTargetsAndAll) {
  ASSERT_EQ(host.open(), H3RT_OK);
  h3rt_operator *shift = host.find("shift<i32>"), *scale = host.find("scale<i32>");
  Data x(1, 8), y(1, 8), u(0, 8), v(0, 8);
  auto served = [&](h3rt_operator *op, Data &from, Data &to) {
    host.run(op, {&from.tensor, &to.tensor}, nullptr);
    EXPECT_TRUE(host.result.outcome == H3RT_SERVED || host.result.reason == H3RT_DECLINE_DISABLED)
        << host.text();
    return host.result.outcome == H3RT_SERVED;
  };
  for (const char *name : {"shift", "shift<i32>"}) {
    EXPECT_TRUE(served(shift, x, y));
    ASSERT_EQ(h3rt_set_enabled(host.runtime, name, 0), H3RT_OK);
    EXPECT_FALSE(served(shift, x, y));
    EXPECT_TRUE(served(scale, x, y));
    ASSERT_EQ(h3rt_set_enabled(host.runtime, name, 1), H3RT_OK);
  }
  ASSERT_EQ(h3rt_set_enabled(host.runtime, "sm_90", 0), H3RT_OK);
  EXPECT_FALSE(served(shift, x, y));
  EXPECT_TRUE(served(shift, u, v));
  ASSERT_EQ(h3rt_set_enabled(host.runtime, "all", 0), H3RT_OK);
  EXPECT_FALSE(served(shift, u, v));
  ASSERT_EQ(h3rt_set_enabled(host.runtime, "all", 1), H3RT_OK);
  EXPECT_TRUE(served(shift, u, v));
  EXPECT_FALSE(served(shift, x, y)) << "the target is still off";
}

TEST(DispatchEnvironment, SwitchesAndLines) {
  setenv("H3RT_DISABLE", "sm_120,pair<f16,f32>,shift<i32>", 1);
  setenv("H3RT_VERBOSE", "dispatch", 1);
  static std::vector<std::string> lines;
  h3rt_options options{};
  options.size = sizeof(options);
  options.log = [](void *, const char *line) { lines.push_back(line); };
  const auto &stub = stubControl();
  stub.reset();
  h3rt_runtime *runtime = nullptr;
  ASSERT_EQ(h3::rt::create(&options, H3_STUB_CUDA, &runtime), H3RT_OK);
  unsetenv("H3RT_DISABLE");
  unsetenv("H3RT_VERBOSE");
  const std::string bundle = testBundle();
  ASSERT_EQ(h3rt_add_bundle(runtime, bundle.data(), bundle.size()), H3RT_OK);
  h3rt_operator *shift = nullptr, *scale = nullptr;
  ASSERT_EQ(h3rt_find_operator(runtime, "shift<i32>", &shift), H3RT_OK);
  ASSERT_EQ(h3rt_find_operator(runtime, "scale<i32>", &scale), H3RT_OK);
  {
    Data x(1, 8), y(1, 8), u(0, 8), v(0, 8);
    EXPECT_STREQ(h3rt::Operator(shift)(nullptr, {&x.tensor, &y.tensor}).reason(), "disabled");
    EXPECT_TRUE(h3rt::Operator(scale)(nullptr, {&x.tensor, &y.tensor}).served());
    EXPECT_STREQ(h3rt::Operator(scale)(nullptr, {&u.tensor, &v.tensor}).reason(), "disabled");
  }
  EXPECT_EQ(lines.size(), 3u);
  h3rt_destroy(runtime);
}

TEST(DispatchEvidence, ValidatedIsToldApartFromEnabledAndCanBeRequired) {
  Host host(H3RT_REQUIRE_VALIDATED);
  ASSERT_EQ(host.open(), H3RT_OK);
  h3rt_operator *shift = host.find("shift<i32>");
  Data x(1, 8), y(1, 8);
  auto rowOf = [&](const char *target) {
    h3rt_row row{};
    for (size_t i = 0; i < h3rt_row_count(host.runtime); ++i) {
      row.size = sizeof(row);
      h3rt_get_row(host.runtime, i, &row);
      if (std::string(row.target) == target && std::string(row.operator_name) == "shift<i32>")
        break;
    }
    return row;
  };
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, nullptr), H3RT_DECLINED);
  EXPECT_EQ(host.text(),
            "declined: not_validated: there is no evidence for this image, and the host asks for "
            "it: shift<i32> for sm_90 is enabled; there is no evidence");
  h3rt_row row = rowOf("sm_90");
  EXPECT_EQ(row.validation, H3RT_NOT_VALIDATED);
  EXPECT_EQ(row.enabled, 1);
  h3rt_evidence evidence{};
  evidence.size = sizeof(evidence);
  evidence.target = "sm_90";
  evidence.operator_name = "shift<i32>";
  std::memcpy(evidence.image_digest, row.image_digest, 32);
  std::memcpy(evidence.operator_digest, row.operator_digest, 32);
  evidence.image_digest[31] ^= 1;
  ASSERT_EQ(h3rt_add_evidence(host.runtime, &evidence), H3RT_OK);
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, nullptr), H3RT_DECLINED);
  EXPECT_EQ(host.text(),
            "declined: not_validated: there is no evidence for this image, and the host asks for "
            "it: shift<i32> for sm_90 is enabled; evidence is for other images");
  EXPECT_EQ(rowOf("sm_90").validation, H3RT_EVIDENCE_STALE);
  evidence.image_digest[31] ^= 1;
  ASSERT_EQ(h3rt_add_evidence(host.runtime, &evidence), H3RT_OK);
  EXPECT_EQ(rowOf("sm_90").validation, H3RT_VALIDATED);
  EXPECT_EQ(rowOf("sm_120").validation, H3RT_NOT_VALIDATED);
  EXPECT_EQ(host.run(shift, {&x.tensor, &y.tensor}, nullptr), H3RT_SERVED) << host.text();
  h3rt_device_info info{};
  info.size = sizeof(info);
  ASSERT_EQ(h3rt_get_device(host.runtime, {kDLCUDA, 1}, &info), H3RT_OK);
  EXPECT_EQ(info.validated_count, 1);
}

TEST(DispatchEvidence, WhatTheDriverAssemblesIsNeverValidated) {
  Host host(H3RT_REQUIRE_VALIDATED | H3RT_ALLOW_PTX);
  BundleFaults faults;
  faults.hasCubins = false;
  ASSERT_EQ(host.open(faults), H3RT_OK);
  h3rt_row row{};
  row.size = sizeof(row);
  ASSERT_EQ(h3rt_get_row(host.runtime, 10, &row), H3RT_OK);
  ASSERT_STREQ(row.operator_name, "shift<i32>");
  h3rt_evidence evidence{};
  evidence.size = sizeof(evidence);
  evidence.target = row.target;
  evidence.operator_name = row.operator_name;
  std::memcpy(evidence.image_digest, row.image_digest, 32);
  std::memcpy(evidence.operator_digest, row.operator_digest, 32);
  ASSERT_EQ(h3rt_add_evidence(host.runtime, &evidence), H3RT_OK);
  Data x(1, 8), y(1, 8);
  EXPECT_EQ(host.run(host.find("shift<i32>"), {&x.tensor, &y.tensor}, nullptr), H3RT_DECLINED);
  EXPECT_EQ(host.result.reason, H3RT_DECLINE_NOT_VALIDATED);
}

} // namespace
