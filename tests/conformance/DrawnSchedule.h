//===-- tests/conformance/DrawnSchedule.h - Random schedules -- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_CONFORMANCE_DRAWNSCHEDULE_H
#define H3_TESTS_CONFORMANCE_DRAWNSCHEDULE_H

#include "Values.h"

#include "codegen/kernel/Schedule.h"

#include <optional>
#include <vector>

namespace h3::test {

/// A schedule drawn at random, good or bad as it may be for an order: which bits of the index are
/// registers, threads or a loop, in which order the threads' numbers take them, how wide vectors
/// and accesses are, how many rows a team takes. \p length: what rows have whose length is known at
/// run time. Empty if no draw in many was legal for \p jobs.
std::optional<KernelSchedule> drawSchedule(const std::vector<Job> &jobs, Engine &engine,
                                           int64_t length);

} // namespace h3::test

#endif // H3_TESTS_CONFORMANCE_DRAWNSCHEDULE_H
