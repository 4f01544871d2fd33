//===-- runtime/evidence/Check.cpp - h3gen evidence check -----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/evidence/Tool.h"

#include <cstdio>

namespace h3::evidence {

static int fail(const std::string &text) {
  std::fprintf(stderr, "h3gen: error: %s\n", text.c_str());
  return 2;
}

int check(const CheckOptions &options) {
  const auto record = readRecordFile(options.record);
  if (!record)
    return fail(record.error().message);
  const auto opened = bundle::Bundle::openFile(options.bundle);
  if (!opened)
    return fail(opened.error().message);
  const bundle::Contents &contents = opened->contents();
  const std::span<const Record> records(&*record, 1);
  bool isValidated = false;
  for (const bundle::OperatorSet &set : contents.sets) {
    const Standing whole = standingOf(contents, set, records, options.leastCases);
    std::printf("%s %s: %s\n", contents.name.c_str(), set.target.c_str(),
                text(whole, set.enabled).c_str());
    if (set.target != record->target)
      continue;
    isValidated = whole == Standing::Validated;
    for (const bundle::Operator &op : set.operators)
      for (size_t i = 0; i < op.instances.size(); ++i) {
        const std::string name = nameOf(op.instances[i].plan);
        const Standing one = standingOf(contents, set, op, i, records, options.leastCases);
        std::printf("  %s: %s", name.c_str(), std::string(text(one)).c_str());
        for (const OperatorRecord &each : record->operators)
          if (each.name == name)
            std::printf(", %zu calls, %zu declined, %zu wrong", each.cases.size(),
                        each.declines.size(), each.failures.size());
        std::printf("\n");
      }
  }
  std::printf("recorded %s on %s, driver %s, CUDA %s, by h3gen %s\n", record->date.c_str(),
              record->machine.product.c_str(), record->machine.driver.c_str(),
              record->machine.cuda.c_str(), record->tool.c_str());
  return isValidated ? 0 : 1;
}

} // namespace h3::evidence
