//===-- codegen/kernel/Schedule.h - Where and when ------------ -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A schedule says where the elements of a row live and how memory is accessed. It cannot change a
// bit: the order of a reduction is a tree over element indices, and a layout only decides which of
// the index' binary digits are registers and which are lanes. An order that a layout cannot keep is
// refused.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_SCHEDULE_H
#define H3_CODEGEN_KERNEL_SCHEDULE_H

#include "codegen/kernel/Job.h"

#include <string>
#include <vector>

namespace h3 {

/// Element e of a row is element v of chunk c of a lane: e = (c * lanes + lane) * vector + v.
/// `vector` and `lanes` are powers of two, `lanes` at most 32.
struct Layout {
  unsigned vector = 1; ///< consecutive elements that a thread holds
  unsigned lanes = 1;  ///< threads that hold one row
  unsigned chunks = 1; ///< vectors that a thread holds
};

/// How one job runs. A *team* of lanes holds a whole row in registers, which a reduction needs. A
/// *spread* job has no reduction: every vector of every row is its own team of one lane.
struct JobSchedule {
  enum class Kind { Team, Spread };
  Kind kind = Kind::Spread;
  Layout layout;
};

/// One kernel variant.
struct KernelSchedule {
  unsigned accessBytes = 0; ///< the widest access, 16, 8, ...; 0: single elements of any stride
  unsigned indexBits = 32;
  unsigned blockThreads = 256;
  std::vector<JobSchedule> jobs;

  /// `v16_i32`, `v8_i32`, `s_i64`.
  std::string name() const;
};

/// Why \p order over \p extent elements cannot be kept by \p layout; empty if it can.
std::string refusal(ir::OrderAttr order, int64_t extent, const Layout &layout);

/// A legal schedule for these access and index widths; empty with \p error set if no layout keeps
/// an order of the operator, or the job has a form that is not handled yet.
std::optional<KernelSchedule> chooseSchedule(const std::vector<Job> &jobs, unsigned accessBytes,
                                             unsigned indexBits, std::string &error);

} // namespace h3

#endif // H3_CODEGEN_KERNEL_SCHEDULE_H
