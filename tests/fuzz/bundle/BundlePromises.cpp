//===-- tests/fuzz/bundle/BundlePromises.cpp - What any bundle may expect -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/fuzz/bundle/BundlePromises.h"

#include "runtime/bundle/Container.h"
#include "runtime/json/Value.h"
#include "runtime/plan/List.h"

#include <algorithm>

namespace h3 {

namespace {

using namespace bundle;

std::span<const std::byte> bytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string brokenByLine(const std::string &message) {
  if (message.empty())
    return "refused without a reason";
  return message.find('\n') != std::string::npos ? "a reason of several lines: " + message : "";
}

std::string brokenByFile(std::string_view file) {
  const auto opened = Bundle::open(bytesOf(file));
  if (!opened)
    return brokenByLine(opened.error().message);
  const auto written = write(opened->contents());
  if (!written)
    return "cannot be written again: " + written.error().message;
  return *written == file ? "" : "written again it has other bytes";
}

/// Numbers out of bytes; zeros behind the end.
class Bytes {
public:
  explicit Bytes(std::string_view bytes) : bytes(bytes) {}

  uint64_t byte() {
    if (bytes.empty())
      return 0;
    const uint64_t value = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    return value;
  }

  /// Most are small; some are anything.
  uint64_t number() {
    const uint64_t first = byte();
    if (first < 224)
      return first;
    uint64_t value = 0;
    for (uint64_t i = 0; i < first - 223 && i < 8; ++i)
      value = value << 8 | byte();
    return value;
  }

private:
  std::string_view bytes;
};

plan::Tensor drawTensor(const plan::TensorSpec &spec, Bytes &bytes) {
  plan::Tensor tensor;
  const uint64_t shape = bytes.byte();
  tensor.dtype = shape & 0x80 ? static_cast<plan::DType>(bytes.byte() % 9) : spec.dtype;
  tensor.rank = static_cast<uint8_t>(shape & 0x40 ? bytes.byte() % 17 : spec.rank());
  tensor.address = bytes.number() << (shape & 0x20 ? 0 : 8);
  for (unsigned axis = 0; axis < tensor.rank; ++axis) {
    tensor.extents[axis] = static_cast<int64_t>(bytes.number());
    tensor.strides[axis] = static_cast<int64_t>(bytes.number());
  }
  return tensor;
}

std::string brokenByLaunch(const plan::OperatorPlan &plan, const plan::Launch &launch) {
  if (launch.variant >= plan.variants.size())
    return "a variant that is not there";
  if (launch.isEmpty())
    return "";
  uint64_t threads = 1;
  for (unsigned i = 0; i < 3; ++i) {
    threads *= launch.block[i];
    if (launch.grid[i] > plan::kMaxGrid[i] || launch.block[i] > plan::kMaxBlock[i])
      return "a launch beyond the driver's limits";
  }
  if (threads == 0 || threads > plan::kMaxThreadsPerBlock ||
      launch.sharedBytes > plan::kMaxSharedBytes || launch.argumentCount > plan::kMaxArguments)
    return "a launch beyond the driver's limits";
  return "";
}

bool isSame(const plan::Launch &a, const plan::Launch &b) {
  const auto isSameArgument = [](const plan::Argument &x, const plan::Argument &y) {
    return x.bits == y.bits && x.bytes == y.bytes;
  };
  return a.variant == b.variant && a.grid == b.grid && a.block == b.block &&
         a.sharedBytes == b.sharedBytes && std::ranges::equal(a.members, b.members) &&
         std::ranges::equal(a.args(), b.args(), isSameArgument);
}

std::string brokenByList(const plan::OperatorPlan &plan, std::span<const plan::Tensor> tensors,
                         std::span<const plan::ParameterValue> parameters) {
  plan::ListCall list, again;
  const std::optional<plan::Decline> decline = list.evaluate(plan, tensors, parameters);
  if (decline.has_value() != again.evaluate(plan, tensors, parameters).has_value() ||
      !std::ranges::equal(list.launches(), again.launches(), isSame))
    return "evaluated again it gives something else";
  if (decline)
    return brokenByLine(plan::describe(plan, *decline));
  for (const plan::Launch &launch : list.launches())
    if (std::string broken = brokenByLaunch(plan, launch); !broken.empty())
      return broken;
  return "";
}

std::string brokenByCall(const plan::OperatorPlan &plan, Bytes bytes) {
  std::vector<plan::Tensor> tensors;
  const uint64_t form = bytes.byte();
  const uint64_t members = plan.each ? 1 + form % 4 : 1;
  for (uint64_t member = 0; member < members; ++member)
    for (const plan::TensorSpec &spec : plan.tensors)
      tensors.push_back(drawTensor(spec, bytes));
  if (form & 0x80 && !tensors.empty())
    tensors.pop_back();
  std::vector<plan::ParameterValue> parameters;
  for (const plan::ParameterSpec &spec : plan.parameters)
    parameters.push_back({bytes.byte() % 2 == 1,
                          form & 0x40 ? static_cast<plan::DType>(bytes.byte() % 9) : spec.dtype,
                          bytes.number()});
  if (plan.each)
    return brokenByList(plan, tensors, parameters);
  const auto first = plan::evaluate(plan, tensors, parameters);
  const auto again = plan::evaluate(plan, tensors, parameters);
  if (first.index() != again.index())
    return "evaluated again it gives something else";
  if (const plan::Decline *decline = std::get_if<plan::Decline>(&first))
    return brokenByLine(plan::describe(plan, *decline));
  const plan::Launch &launch = std::get<plan::Launch>(first);
  if (!isSame(launch, std::get<plan::Launch>(again)))
    return "evaluated again it gives something else";
  return brokenByLaunch(plan, launch);
}

} // namespace

std::string brokenByBundle(std::string_view bytes) {
  if (std::string broken = brokenByFile(bytes); !broken.empty())
    return broken;
  const Digest digest = sha256(bytesOf(bytes));
  std::string sealed(bytes);
  sealed.append(reinterpret_cast<const char *>(digest.bytes.data()), digest.bytes.size());
  return brokenByFile(sealed);
}

std::string brokenByManifest(std::string_view text) {
  std::vector<PackedImage> images;
  for (const CorpusImage &image : kCorpusImages)
    images.push_back({std::string(image.name), image.bytes, image.name.ends_with(".ptx")});
  const auto file = pack(text, images);
  return file ? brokenByFile(*file) : brokenByLine(file.error().message);
}

std::string brokenByPlan(std::string_view text) {
  const std::string_view json = text.substr(0, text.find('\n'));
  const auto document = json::Document::parse(json);
  if (!document)
    return brokenByLine(document.error().message);
  const auto plan = plan::fromJson(document->root());
  if (!plan)
    return brokenByLine(plan.error().message);
  if (std::string error = plan::verify(*plan); !error.empty())
    return "read, but not well-formed: " + error;
  if (plan::toJson(*plan) != json)
    return "the plan does not write itself again";
  return brokenByCall(*plan, Bytes(text.substr(std::min(json.size() + 1, text.size()))));
}

} // namespace h3
