//===-- runtime/plan/List.cpp - Calls with a list of argument sets *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/List.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace h3::plan {

namespace {

uint32_t alignUp(uint32_t value, uint32_t align) { return (value + align - 1) / align * align; }

/// Bytes of an argument that is no parameter.
uint32_t memberBytes(const ArgumentSpec &spec) {
  return spec.kind == ArgumentSpec::Kind::I32 ? 4 : 8;
}

void put(std::byte *to, uint64_t bits, size_t bytes) {
  // The low bytes come first, as on every device.
  for (size_t i = 0; i < bytes; ++i)
    to[i] = static_cast<std::byte>(bits >> (8 * i));
}

/// Finds members that are not apart. Views in order of their addresses: each is compared with those
/// behind it that begin before it ends.
std::optional<Decline> findOverlap(const OperatorPlan &plan, std::span<const BoundTensor> tensors,
                                   std::vector<uint64_t> &order) {
  const size_t each = plan.tensors.size();
  auto view = [&](uint64_t i) {
    const TensorSpec &spec = plan.tensors[i % each];
    return BoundView{&tensors[i], spec.rank(), bytes(spec.dtype)};
  };
  order.clear();
  for (uint64_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].elements > 0)
      order.push_back(i);
  std::sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) {
    return tensors[a].address != tensors[b].address ? tensors[a].address < tensors[b].address
                                                    : a < b;
  });
  for (size_t i = 0; i < order.size(); ++i) {
    const uint64_t last = lastByteOf(view(order[i]));
    for (size_t k = i + 1; k < order.size() && tensors[order[k]].address <= last; ++k) {
      uint64_t a = std::min(order[i], order[k]), b = std::max(order[i], order[k]);
      if (a / each == b / each || !mayOverlap(view(a), view(b)))
        continue;
      if (!plan.tensors[a % each].isOutput)
        std::swap(a, b);
      if (!plan.tensors[a % each].isOutput)
        continue;
      return Decline{.reason = DeclineReason::Alias,
                     .detail = DeclineDetail::MemberOverlap,
                     .tensor = static_cast<int16_t>(a % each),
                     .index = static_cast<int32_t>(b % each),
                     .member = static_cast<int32_t>(a / each),
                     .otherMember = static_cast<int32_t>(b / each)};
    }
  }
  return std::nullopt;
}

} // namespace

MemberTable memberTable(const Variant &variant) {
  MemberTable table;
  table.records = alignUp(4 * variant.memberCapacity, 8);
  for (size_t i = 0; i < variant.memberArguments.size(); ++i) {
    const uint32_t width = memberBytes(variant.memberArguments[i]);
    table.offsets[i] = alignUp(table.recordBytes, width);
    table.recordBytes = table.offsets[i] + width;
  }
  table.recordBytes = alignUp(table.recordBytes, 8);
  table.bytes = table.records + variant.memberCapacity * table.recordBytes;
  return table;
}

uint32_t memberCapacity(const OperatorPlan &plan, const Variant &variant) {
  if (variant.memberArguments.size() + variant.arguments.size() > kMaxArguments)
    return 0;
  Variant tried;
  tried.memberArguments = variant.memberArguments;
  for (tried.memberCapacity = kMaxMembers; tried.memberCapacity > 0; --tried.memberCapacity) {
    uint32_t end = memberTable(tried).bytes;
    for (const ArgumentSpec &spec : variant.arguments) {
      const uint32_t width = bytes(plan.parameters[spec.index].dtype);
      end = alignUp(end, width) + width;
    }
    if (end <= kMaxParameterBytes)
      break;
  }
  return tried.memberCapacity;
}

std::optional<Decline> checkMembers(const OperatorPlan &plan,
                                    std::span<const BoundTensor> tensors) {
  std::vector<uint64_t> order;
  return findOverlap(plan, tensors, order);
}

std::optional<Decline> ListCall::bindMember(const OperatorPlan &plan,
                                            std::span<const Tensor> tensors,
                                            std::span<const ParameterValue> parameters) {
  auto binding = bind(plan, tensors, parameters);
  if (const Decline *decline = std::get_if<Decline>(&binding))
    return *decline;
  const Binding &own = std::get<Binding>(binding);
  auto chosen = selectVariant(plan, own);
  if (const Decline *decline = std::get_if<Decline>(&chosen))
    return *decline;
  const Launch &launch = std::get<Launch>(chosen);
  bound.insert(bound.end(), own.tensors.begin(), own.tensors.begin() + plan.tensors.size());

  const Variant &variant = plan.variants[launch.variant];
  const MemberTable table = memberTable(variant);
  members.push_back({launch.variant, launch.grid[0], records.size()});
  records.resize(records.size() + table.recordBytes);
  std::byte *record = records.data() + members.back().record;
  for (size_t i = 0; i < variant.memberArguments.size(); ++i)
    put(record + table.offsets[i], launch.arguments[i].bits, launch.arguments[i].bytes);

  Launch &shape = shapes[launch.variant];
  shape = launch;
  shape.argumentCount = static_cast<uint32_t>(variant.arguments.size());
  std::copy_n(launch.arguments.begin() + variant.memberArguments.size(), shape.argumentCount,
              shape.arguments.begin());
  return std::nullopt;
}

/// The launches of those members that chose the variant.
void ListCall::addLaunches(const OperatorPlan &plan, uint32_t variant) {
  const uint32_t capacity = plan.variants[variant].memberCapacity;
  const MemberTable table = memberTable(plan.variants[variant]);
  uint32_t count = capacity, blocks = 0;
  for (const Member &member : members) {
    if (member.variant != variant || member.blocks == 0)
      continue;
    if (count == capacity || member.blocks > kMaxGrid[0] - blocks) {
      made.push_back(shapes[variant]);
      Table &fresh = tables.emplace_back();
      fresh.fill(std::byte(0));
      for (uint32_t i = 0; i < capacity; ++i)
        put(fresh.data() + 4 * i, INT32_MAX, 4);
      count = blocks = 0;
    }
    std::byte *to = tables.back().data();
    put(to + 4 * count, blocks, 4);
    std::memcpy(to + table.records + count * table.recordBytes, records.data() + member.record,
                table.recordBytes);
    ++count;
    blocks += member.blocks;
    made.back().grid[0] = blocks;
  }
}

std::optional<Decline> ListCall::evaluate(const OperatorPlan &plan, std::span<const Tensor> tensors,
                                          std::span<const ParameterValue> parameters) {
  assert(plan.each && "the operator takes no list");
  made.clear();
  tables.clear();
  members.clear();
  records.clear();
  bound.clear();
  shapes.resize(plan.variants.size());
  const size_t each = plan.tensors.size();
  for (size_t first = 0; first < tensors.size(); first += each)
    if (auto decline = bindMember(
            plan, tensors.subspan(first, std::min(each, tensors.size() - first)), parameters)) {
      decline->member = static_cast<int32_t>(first / each);
      return decline;
    }
  if (auto decline = findOverlap(plan, bound, order))
    return decline;
  for (uint32_t variant = 0; variant < plan.variants.size(); ++variant)
    addLaunches(plan, variant);
  for (size_t i = 0; i < made.size(); ++i)
    made[i].members = std::span(tables[i]).first(memberTable(plan.variants[made[i].variant]).bytes);
  return std::nullopt;
}

} // namespace h3::plan
