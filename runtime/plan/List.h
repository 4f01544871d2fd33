//===-- runtime/plan/List.h - Calls with a list of argument sets *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An operator with `each` takes a list: every member is a set of tensors with dims of its own, all
// share the parameters. The members are computed by as few launches as their variants allow, and
// what those need is passed by value in the kernel's parameters, so that no device memory is
// involved and a captured launch stays valid.
//
// A launch takes members of one variant, at most `Variant::memberCapacity` of them. Each has a
// range of the grid's blocks. The kernel's first parameter is the table of the members:
//
//   first blocks   for each of `memberCapacity` members, 4 bytes: the first block of its range, in
//                  increasing order; INT32_MAX for members that are not there
//   padding        to a multiple of 8 bytes
//   records        for each of them, its member arguments in their order, each at its natural
//                  alignment; a record is padded to a multiple of 8 bytes
//
// A block belongs to the last member whose first block is not above it.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_PLAN_LIST_H
#define H3_RUNTIME_PLAN_LIST_H

#include "runtime/plan/Plan.h"

namespace h3::plan {

/// Where things lie in the table, in bytes.
struct MemberTable {
  uint32_t records = 0;                          ///< where the first record begins
  uint32_t recordBytes = 0;                      ///< from one record to the next
  uint32_t bytes = 0;                            ///< of the whole table
  std::array<uint32_t, kMaxArguments> offsets{}; ///< of each member argument within its record
};

/// The table of a variant, by its member arguments and capacity.
MemberTable memberTable(const Variant &variant);

/// The most members that the kernel's parameters can hold, by the variant's arguments: at most
/// kMaxMembers, 0 if there is no room for one.
uint32_t memberCapacity(const OperatorPlan &plan, const Variant &variant);

/// The launches of one call. They may run in any order or at once: members are independent. An
/// object may be used for any number of calls, one after another; it allocates only where no
/// earlier call was as long.
class ListCall {
public:
  ListCall() = default;
  ListCall(ListCall &&) = default;
  ListCall &operator=(ListCall &&) = default;

  /// Checks and binds every member as `bind` does, checks that members are apart, and groups them
  /// by the variant that `selectVariant` gives each. `plan` is that of an `each` operator;
  /// `tensors` holds the members' tensors one member after another, each in the plan's order.
  /// Returns the first decline, with its member: then there are no launches. A list of n members
  /// of one variant takes ceil(n / memberCapacity) launches (more if they have more blocks than a
  /// grid), one whose members differ at least one for each variant; members without anything to
  /// compute take no part, and an empty list is served without a launch.
  std::optional<Decline> evaluate(const OperatorPlan &plan, std::span<const Tensor> tensors,
                                  std::span<const ParameterValue> parameters);

  /// In the order of the variants; valid until the next call and as long as this object.
  std::span<const Launch> launches() const { return made; }

private:
  struct Member {
    uint32_t variant = 0, blocks = 0;
    size_t record = 0; ///< where its record begins in `records`
  };
  std::optional<Decline> bindMember(const OperatorPlan &plan, std::span<const Tensor> tensors,
                                    std::span<const ParameterValue> parameters);
  void addLaunches(const OperatorPlan &plan, uint32_t variant);

  using Table = std::array<std::byte, kMaxParameterBytes>;
  std::vector<Launch> made;
  std::vector<Table> tables; ///< of each launch
  std::vector<Member> members;
  std::vector<std::byte> records;
  std::vector<BoundTensor> bound;
  std::vector<Launch> shapes; ///< for each variant, what its launches have in common
  std::vector<uint64_t> order;
};

/// What of a list's members is not apart: an output of one that shares memory with a tensor of
/// another. `tensors` are bound, one member after another.
std::optional<Decline> checkMembers(const OperatorPlan &plan, std::span<const BoundTensor> tensors);

} // namespace h3::plan

#endif // H3_RUNTIME_PLAN_LIST_H
