//===-- dsl/interpreter/Interpreter.cpp - The reference -------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/interpreter/Interpreter.h"

#include "dsl/interpreter/BitsDomain.h"
#include "dsl/interpreter/Evaluator.h"
#include "dsl/interpreter/Resolved.h"

#include <fmt/core.h>

#include <functional>

namespace h3 {

using namespace interpreter;

namespace {

/// The bytes from the first to the last that a view touches.
struct ByteRange {
  std::byte *begin = nullptr, *end = nullptr;

  bool overlaps(const ByteRange &other) const {
    return std::less<>()(begin, other.end) && std::less<>()(other.begin, end);
  }
};

std::optional<ByteRange> bytesOf(const Tensor &tensor, const TensorView &view,
                                 const std::vector<int64_t> &dims) {
  const int64_t width = byteWidth(tensor.type);
  int64_t lowest = view.offset, highest = view.offset;
  for (size_t axis = 0; axis < tensor.extents.size(); ++axis) {
    std::optional<int64_t> extent = evaluate(*tensor.extents[axis].size, dims);
    if (!extent)
      return std::nullopt;
    if (*extent <= 0)
      return ByteRange{};
    int64_t span = (*extent - 1) * view.strides[axis];
    (span < 0 ? lowest : highest) += span;
  }
  return ByteRange{view.data + lowest * width, view.data + (highest + 1) * width};
}

std::string wrongCount(const Program &program, const char *what, size_t found, size_t expected) {
  return fmt::format("'{}' takes {} {}, found {}", program.name, expected, what, found);
}

} // namespace

std::optional<std::string> interpret(const Program &program, const Arguments &arguments) {
  if (arguments.dims.size() != program.dims.size())
    return wrongCount(program, "dims", arguments.dims.size(), program.dims.size());
  if (arguments.parameters.size() != program.parameters.size())
    return wrongCount(program, "parameters", arguments.parameters.size(),
                      program.parameters.size());
  if (arguments.tensors.size() != program.tensors.size())
    return wrongCount(program, "tensors", arguments.tensors.size(), program.tensors.size());

  std::vector<std::vector<int64_t>> strides;
  std::vector<ByteRange> ranges;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor &tensor = program.tensors[t];
    const TensorView &view = arguments.tensors[t];
    if (view.strides.size() != tensor.extents.size())
      return fmt::format("tensor '{}' has {} axes, found {} strides", tensor.name,
                         tensor.extents.size(), view.strides.size());
    strides.push_back(view.strides);
    std::optional<ByteRange> range = bytesOf(tensor, view, arguments.dims);
    if (!range)
      return fmt::format("an extent of '{}' does not fit 64 bits", tensor.name);
    ranges.push_back(*range);
  }

  std::string error;
  std::unique_ptr<Resolved> resolved = resolve(program, arguments.dims, strides, error);
  if (!resolved)
    return error;

  // An input that shares memory with an output is read from a copy.
  BitsDomain domain{arguments.parameters, {}};
  std::deque<std::vector<std::byte>> copies;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor &tensor = program.tensors[t];
    std::byte *first =
        arguments.tensors[t].data + arguments.tensors[t].offset * int64_t(byteWidth(tensor.type));
    bool isShared = false;
    for (size_t other = 0; other < program.tensors.size() && !tensor.isOutput; ++other)
      isShared |= program.tensors[other].isOutput && ranges[t].overlaps(ranges[other]);
    if (isShared) {
      copies.emplace_back(ranges[t].begin, ranges[t].end);
      first = copies.back().data() + (first - ranges[t].begin);
    }
    domain.tensors.push_back({first, tensor.type});
  }

  return Evaluator<BitsDomain>(*resolved, domain).run();
}

} // namespace h3
