//===-- examples/backend_c/main.cpp - A host whose hardware h3gen does not know -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Opens a bundle made by `h3gen bundle --plugin libh3_backend_c.so`, runs its `swiglu<f16>` by the
// embedded runtime, and prints what became of the calls.
//
//   c11_host BUNDLE
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include <h3rt.hpp>

#include <cstdio>
#include <vector>

/// A row-major f16 tensor of the device.
struct Matrix {
  std::vector<uint16_t> values;
  int64_t shape[2];
  DLTensor view;

  Matrix(int64_t rows, int64_t columns)
      : values(static_cast<size_t>(rows * columns)), shape{rows, columns},
        view{values.data(), {kDLExtDev, 0}, 2, {kDLFloat, 16, 1}, shape, nullptr, 0} {}
};

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "c11_host: error: expected the name of a bundle\n");
    return 2;
  }
  h3rt::Runtime runtime;
  if (!runtime || addC11Driver(runtime.get()) != H3RT_OK || !runtime.openBundle(argv[1]) ||
      !runtime.preload({kDLExtDev, 0}, nullptr)) {
    std::fprintf(stderr, "c11_host: error: %s\n", h3rt_last_error());
    return 1;
  }
  h3rt_device_info info{};
  info.size = sizeof(info);
  h3rt_get_device(runtime.get(), {kDLExtDev, 0}, &info);
  std::printf("device: %s, %d operators, %d enabled\n", info.target, info.operator_count,
              info.enabled_count);

  const h3rt::Operator swiglu = runtime.find("swiglu<f16>");
  if (!swiglu) {
    std::fprintf(stderr, "c11_host: error: the bundle has no swiglu<f16>\n");
    return 1;
  }
  constexpr int64_t kRows = 5, kWidth = 24;
  Matrix x(kRows, 2 * kWidth), y(kRows, kWidth), wrong(kRows, kWidth + 1);
  for (size_t i = 0; i < x.values.size(); ++i) // halves of both signs, from 2^-7 to 8
    x.values[i] = static_cast<uint16_t>((i % 2) << 15 | (0x2000 + i * 53 % 0x2800));
  const h3rt::Result served = swiglu(nullptr, {&x.view, &y.view});
  std::printf("swiglu: %s\n", served.served() ? "served" : served.text().c_str());
  const h3rt::Result declined = swiglu(nullptr, {&x.view, &wrong.view});
  std::printf("swiglu: %s\n", declined.text().c_str());

  unsigned hash = 2166136261u; // FNV-1a
  for (uint16_t value : y.values)
    for (unsigned byte : {value & 0xFFu, unsigned(value) >> 8})
      hash = (hash ^ byte) * 16777619u;
  std::printf("checksum: %08x\n", hash);
  for (const h3rt::Operator &op : runtime.operators()) {
    const h3rt_counters counters = op.counters();
    std::printf("%s: served %llu, failed %llu", op.name(),
                static_cast<unsigned long long>(counters.served),
                static_cast<unsigned long long>(counters.failed));
    for (int32_t reason = 0; reason < H3RT_MAX_REASONS; ++reason)
      if (counters.declined[reason])
        std::printf(", declined %llu: %s",
                    static_cast<unsigned long long>(counters.declined[reason]),
                    h3rt_reason_name(reason));
    std::printf("\n");
  }
  return served.served() && declined.declined() ? 0 : 1;
}
