//===-- runtime/tensor/Slice.cpp - References to tensors and their slices *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/tensor/Slice.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace h3::tensor {

namespace {

std::string_view trimmed(std::string_view text) {
  const char *blanks = " \t\r\n";
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

/// A decimal integer with an optional sign.
std::optional<int64_t> parseInteger(std::string_view text) {
  if (text.starts_with('+'))
    text.remove_prefix(1);
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text.starts_with('+') || error != std::errc() ||
      end != text.data() + text.size())
    return std::nullopt;
  return value;
}

Result<Subscript> parseSubscript(std::string_view text) {
  Subscript subscript;
  if (text == "...") {
    subscript.kind = Subscript::Kind::Ellipsis;
    return subscript;
  }
  if (text.find(':') == std::string_view::npos) {
    std::optional<int64_t> index = parseInteger(text);
    if (!index)
      return Error{"found " + quoted(text) +
                   ", expected an integer, a range 'from:to:step' or '...'"};
    subscript.index = *index;
    return subscript;
  }
  subscript.kind = Subscript::Kind::Range;
  std::optional<int64_t> parts[3];
  unsigned count = 0;
  for (std::string_view rest = text;;) {
    const size_t colon = rest.find(':');
    std::string_view part = trimmed(rest.substr(0, colon));
    if (count == 3)
      return Error{"the range " + quoted(text) + " has more than three parts"};
    if (!part.empty()) {
      parts[count] = parseInteger(part);
      if (!parts[count])
        return Error{"found " + quoted(part) + " in the range " + quoted(text) +
                     ", expected an integer"};
    }
    ++count;
    if (colon == std::string_view::npos)
      break;
    rest.remove_prefix(colon + 1);
  }
  subscript.from = parts[0];
  subscript.to = parts[1];
  subscript.step = parts[2].value_or(1);
  if (subscript.step < 0)
    return Error{"the range " + quoted(text) +
                 " has a negative step: a view cannot run backwards, a step is 1 or more"};
  if (subscript.step == 0)
    return Error{"the range " + quoted(text) + " has the step 0, a step is 1 or more"};
  return subscript;
}

Result<std::vector<Subscript>> parseSubscripts(std::string_view text) {
  std::vector<Subscript> subscripts;
  if (trimmed(text).empty())
    return Error{"there is nothing between the brackets"};
  bool ellipsis = false;
  while (true) {
    const size_t comma = text.find(',');
    Result<Subscript> subscript = parseSubscript(trimmed(text.substr(0, comma)));
    if (!subscript)
      return subscript.error();
    if (subscript->kind == Subscript::Kind::Ellipsis && std::exchange(ellipsis, true))
      return Error{"'...' stands twice, once is enough"};
    subscripts.push_back(*subscript);
    if (comma == std::string_view::npos)
      return subscripts;
    text.remove_prefix(comma + 1);
    if (trimmed(text).empty()) // a comma behind the last, as Python allows it
      return subscripts;
  }
}

/// An end of a range, as Python reads it: negative counts from the end, and it is clamped.
int64_t clampedEnd(int64_t end, int64_t extent) {
  if (end < 0)
    end += extent;
  return std::clamp<int64_t>(end, 0, extent);
}

std::string shapeText(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

} // namespace

Result<TensorReference> parseReference(std::string_view text) {
  text = trimmed(text);
  TensorReference reference;
  const size_t bracket = text.find('[');
  reference.name = trimmed(text.substr(0, bracket));
  if (reference.name.empty())
    return Error{quoted(text) + " names no tensor"};
  if (bracket == std::string_view::npos)
    return reference;
  if (text.back() != ']')
    return Error{quoted(text) + ": the bracket is not closed at the end"};
  std::string_view inside = text.substr(bracket + 1, text.size() - bracket - 2);
  Result<std::vector<Subscript>> subscripts = parseSubscripts(inside);
  if (!subscripts)
    return Error{quoted(text) + ": " + subscripts.error().message};
  reference.subscripts = std::move(*subscripts);
  return reference;
}

StridedView wholeView(std::span<const int64_t> shape) {
  StridedView view;
  view.extents.assign(shape.begin(), shape.end());
  view.strides.resize(shape.size());
  if (elementCount(shape).value_or(0) == 0)
    return view; // strides mean nothing, and their products might overflow
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    view.strides[axis] = stride;
    stride *= shape[axis];
  }
  return view;
}

Result<StridedView> slice(std::span<const int64_t> shape, std::span<const Subscript> subscripts) {
  const StridedView whole = wholeView(shape);
  const auto named = static_cast<size_t>(
      std::count_if(subscripts.begin(), subscripts.end(), [](const Subscript &subscript) {
        return subscript.kind != Subscript::Kind::Ellipsis;
      }));
  if (named > shape.size())
    return Error{std::to_string(named) + " subscripts are too many for shape " + shapeText(shape)};

  StridedView view;
  size_t axis = 0;
  auto keep = [&](int64_t extent, int64_t stride) {
    view.extents.push_back(extent);
    view.strides.push_back(stride);
    ++axis;
  };
  for (const Subscript &subscript : subscripts) {
    if (subscript.kind == Subscript::Kind::Ellipsis) {
      for (size_t skipped = shape.size() - named; skipped > 0; --skipped)
        keep(shape[axis], whole.strides[axis]);
      continue;
    }
    const int64_t extent = shape[axis], stride = whole.strides[axis];
    if (subscript.kind == Subscript::Kind::Index) {
      const int64_t index = subscript.index < 0 ? subscript.index + extent : subscript.index;
      if (index < 0 || index >= extent)
        return Error{"index " + std::to_string(subscript.index) + " is out of range for axis " +
                     std::to_string(axis) + " of shape " + shapeText(shape)};
      view.offset += index * stride;
      ++axis;
      continue;
    }
    const int64_t from = clampedEnd(subscript.from.value_or(0), extent);
    const int64_t to = clampedEnd(subscript.to.value_or(extent), extent);
    const int64_t taken = from < to ? (to - from - 1) / subscript.step + 1 : 0;
    if (taken > 0)
      view.offset += from * stride;
    keep(taken, taken > 1 ? stride * subscript.step : stride);
  }
  while (axis < shape.size())
    keep(shape[axis], whole.strides[axis]);
  if (std::find(view.extents.begin(), view.extents.end(), 0) != view.extents.end())
    view.offset = 0; // there is no first element to point at
  return view;
}

plan::Tensor TensorView::forPlan() const {
  return forPlan(reinterpret_cast<uintptr_t>(tensor->data.data()));
}

plan::Tensor TensorView::forPlan(uint64_t base) const {
  return plan::Tensor::strided(base + static_cast<uint64_t>(view.offset) * bytes(tensor->type),
                               dtype(tensor->type), view.extents, view.strides);
}

std::vector<std::byte> TensorView::packed() const {
  const size_t width = bytes(tensor->type);
  const auto count = static_cast<size_t>(elementCount(view.extents).value_or(0));
  std::vector<std::byte> result(count * width);
  std::vector<int64_t> index(view.extents.size());
  int64_t offset = view.offset;
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(result.data() + i * width,
                tensor->data.data() + static_cast<size_t>(offset) * width, width);
    for (size_t axis = index.size(); axis-- > 0;) {
      offset += view.strides[axis];
      if (++index[axis] < view.extents[axis])
        break;
      offset -= index[axis] * view.strides[axis];
      index[axis] = 0;
    }
  }
  return result;
}

Result<TensorView> select(const TensorFile &file, std::string_view text) {
  Result<TensorReference> reference = parseReference(text);
  if (!reference)
    return reference.error();
  TensorView result;
  result.tensor = file.find(reference->name);
  if (!result.tensor)
    return Error{"there is no tensor '" + reference->name + "' in the file"};
  Result<StridedView> view = slice(result.tensor->shape, reference->subscripts);
  if (!view)
    return Error{quoted(trimmed(text)) + ": " + view.error().message};
  if (view->extents.size() > plan::kMaxHostRank)
    return Error{quoted(trimmed(text)) + ": it has " + std::to_string(view->extents.size()) +
                 " axes, the most that can be passed is " + std::to_string(plan::kMaxHostRank)};
  result.view = std::move(*view);
  return result;
}

} // namespace h3::tensor
