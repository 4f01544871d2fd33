//===-- codegen/kernel/Candidates.h - Which schedules to use -- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_CANDIDATES_H
#define H3_CODEGEN_KERNEL_CANDIDATES_H

#include "codegen/kernel/Machine.h"
#include "codegen/kernel/Schedule.h"

namespace h3 {

/// A legal schedule of one job, with what it is expected to cost.
struct Candidate {
  JobSchedule schedule;
  /// Instructions of all threads for one row, roughly: elements, accesses, exchanges and what a
  /// thread costs by itself; more where a thread holds so much that few threads fit.
  double instructions = 0;
  /// Accesses of one thread along the row, and bytes of each.
  unsigned accesses = 0, accessBytes = 0;
};

/// Which rows a schedule is for.
struct RowClass {
  std::optional<int64_t> capacity; ///< at most so many elements; empty: any number
};

/// All candidates for \p job, best first. \p accessBytes as in KernelSchedule. A row whose extent
/// the spec fixes ignores \p rows. Empty with \p error set if there is none.
std::vector<Candidate> candidates(const Job &job, unsigned accessBytes, const RowClass &rows,
                                  const Machine &machine, std::string &error);

/// The variants of an operator, best first: for wide and narrow accesses and for strides, for sizes
/// under 2^31 and others, and, where the length of a row is known at run time, for several lengths.
/// Empty with \p error set if a job has no legal schedule.
///
/// Which accesses have a variant of their own:
///   32 bytes  where the machine has them, every job is spread or has rows of a length that the
///   spec
///             fixes, and some access is then as wide
///   16, 8     always, as far as rows can have vectors
///   4         where an element has 2 bytes or less: pairs of them, for rows that begin at a
///             multiple of 4 bytes only; one variant for all lengths
///   2         likewise, where an element has one byte
///   1         always: single elements of any stride
/// With 64-bit indices there are 16 bytes and single elements. A variant that is never reached,
/// since one in front of it asks for nothing more, is left out.
std::vector<KernelSchedule> chooseSchedules(const std::vector<Job> &jobs, const Machine &machine,
                                            std::string &error);

} // namespace h3

#endif // H3_CODEGEN_KERNEL_CANDIDATES_H
