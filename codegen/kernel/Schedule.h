//===-- codegen/kernel/Schedule.h - Where and when ------------ -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A schedule says where the elements of a row live and how memory is accessed. It cannot change a
// bit: the order of a reduction is a tree over element indices, and a layout (Layout.h) only
// decides where the digits of the index live. An order that a layout cannot keep is refused.
//
// Each job of an operator has a schedule of its own, in one of three kinds:
//
//   hold(LAYOUT)             a team of threads has the whole row in registers, in one layout; every
//                            input is read once
//   loop(LAYOUT; LAYOUT...)  a layout for each phase of the job in text order; each phase reads its
//                            inputs again, rows have any length
//   spread(v:V)              no reduction: every vector of every row is a thread's
//
// and a kernel `access=BYTES index=BITS block=THREADS [remap=shuffle] | JOB | JOB...`; access=1
// reads single elements of any stride. With `hold` a team may take several rows that are
// neighbours, so that what does not depend on the row, or not on its last index, is read once:
// hold(LAYOUT) rows:4.
//
// `hints=loads`, `hints=stores` or `hints=loads+stores` in front of the jobs say of memory what a
// cache cannot know: inputs of which a launch reads every element once (Streams.h) need no place in
// the cache of a multiprocessor, and outputs are the first that may leave the one behind it.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_SCHEDULE_H
#define H3_CODEGEN_KERNEL_SCHEDULE_H

#include "codegen/kernel/Job.h"
#include "codegen/kernel/Layout.h"
#include "codegen/kernel/Machine.h"

#include <string>
#include <vector>

namespace h3 {

/// How one job runs.
struct JobSchedule {
  enum class Kind { Hold, Loop, Spread };
  Kind kind = Kind::Spread;
  /// Hold: one. Loop: one a phase. Spread: one, a vector (or nothing for single elements).
  std::vector<Layout> layouts;
  unsigned rows = 1; ///< Hold: rows that a team takes

  const Layout &layout(size_t phase) const { return layouts[kind == Kind::Loop ? phase : 0]; }
  /// Threads of one team.
  unsigned threads() const;
  std::string text() const;
};

/// One kernel variant.
struct KernelSchedule {
  unsigned accessBytes = 0; ///< the widest access, 32 to 2; 0: single elements of any stride
  unsigned indexBits = 32;
  unsigned blockThreads = 256;
  /// Elements that another thread of the warp holds are fetched from it, not computed again.
  bool remapsByShuffle = false;
  bool streamsLoads = false; ///< of inputs that are read once
  bool streamsStores = false;
  std::vector<JobSchedule> jobs;
  /// The most elements of rows whose length is known at run time and that are held; 0: any.
  int64_t longestRow = 0;

  /// What the variant's name says of it: `v16_i32`, `v8_i32_n2048`, `s_i64`.
  std::string name() const;
  std::string text() const;
  /// The inverse of `text`; empty with \p error set.
  static std::optional<KernelSchedule> parse(std::string_view text, std::string &error);
};

/// Why \p how cannot run \p job on \p machine with accesses of \p accessBytes; empty if it can.
std::string refusal(const Job &job, const JobSchedule &how, unsigned accessBytes,
                    const Machine &machine);

/// Why \p schedule cannot run \p jobs on \p machine; empty if it can. What depends on sizes that
/// are known at run time alone becomes a guard of the variant.
std::string refusal(const std::vector<Job> &jobs, const KernelSchedule &schedule,
                    const Machine &machine);

} // namespace h3

#endif // H3_CODEGEN_KERNEL_SCHEDULE_H
