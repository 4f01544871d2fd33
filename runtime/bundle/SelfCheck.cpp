//===-- runtime/bundle/SelfCheck.cpp - Calls with known results -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/bundle/SelfCheck.h"

#include "runtime/plan/List.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

namespace h3::bundle {

namespace {

/// What lies in an output's buffer before a launch: no value that a kernel stores as a rule, and
/// never a canonical NaN.
constexpr std::byte kPoison[] = {std::byte{0x5A}, std::byte{0x7E}};

/// Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (2014), the output function
/// of SplitMix64.
uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

constexpr std::array<std::string_view, 8> kNames = {"finite", "mixed", "any_bits",  "index",
                                                    "normal", "wide",  "subnormal", "huge"};

/// The fields of a float type in memory.
struct Format {
  unsigned width, fraction;
  bool hasInfinity;

  uint64_t exponents() const { return (uint64_t(1) << (width - 1 - fraction)) - 1; }
  uint64_t fractions() const { return (uint64_t(1) << fraction) - 1; }
};

Format formatOf(plan::DType type) {
  switch (type) {
  case plan::DType::F16:
    return {16, 10, true};
  case plan::DType::BF16:
    return {16, 7, true};
  case plan::DType::F32:
    return {32, 23, true};
  case plan::DType::E4M3:
    return {8, 3, false};
  case plan::DType::E5M2:
    return {8, 2, true};
  default:
    return {64, 52, true};
  }
}

/// A sum of four uniform numbers, about a bell. What the type has no fraction for is cut off.
uint64_t bellBits(const Format &format, uint64_t random) {
  int64_t sum = -131070;
  for (unsigned part = 0; part < 4; ++part)
    sum += static_cast<int64_t>(random >> 16 * part & 0xFFFF);
  const uint64_t sign = uint64_t(sum < 0) << (format.width - 1);
  const auto magnitude = static_cast<uint64_t>(sum < 0 ? -sum : sum);
  if (magnitude == 0)
    return sign;
  const int top = 63 - std::countl_zero(magnitude);
  // 2^15 stands for 1.
  const int64_t exponent = top - 15 + static_cast<int64_t>(format.exponents() >> 1);
  if (exponent < 1)
    return sign;
  const uint64_t fraction = magnitude << (63 - top) << 1 >> (64 - format.fraction);
  return sign | static_cast<uint64_t>(exponent) << format.fraction | fraction;
}

/// The bits of element \p index of a buffer; \p stream has 64 bits for the buffer, \p random as
/// many for the element.
uint64_t floatBits(const Format &format, Values values, uint64_t stream, uint64_t random,
                   uint64_t index) {
  const uint64_t mask = format.width == 64 ? ~uint64_t(0) : (uint64_t(1) << format.width) - 1;
  // An odd factor permutes the patterns of 16 bits.
  if (values == Values::AnyBits)
    return (format.width <= 16 ? index * (stream | 1) + (stream >> 32) : random) & mask;
  if (values == Values::Normal)
    return bellBits(format, random);
  const uint64_t sign = (random & 1) << (format.width - 1);
  const uint64_t kind = random >> 1 & 1023, some = random >> 11;
  const uint64_t fraction = some & format.fractions();
  if (values == Values::Wide)
    return sign | (random >> 53) % format.exponents() << format.fraction | fraction;
  if (values == Values::Subnormal)
    return sign | fraction >> (random >> 53) % format.fraction;
  if (values == Values::Huge)
    return sign | (format.exponents() - 1 - (random >> 63)) << format.fraction | fraction;
  if (values == Values::Mixed) {
    if (kind == 0)
      return sign | format.exponents() << format.fraction |
             (format.hasInfinity ? 0 : format.fractions());
    if (kind == 1)
      return sign | format.exponents() << format.fraction |
             (format.hasInfinity ? fraction | 1 : format.fractions());
    if (kind == 2)
      return sign | (format.exponents() - 1) << format.fraction | fraction;
  }
  if (kind < 24)
    return sign;
  // A subnormal number with some leading zeros.
  if (kind < 64)
    return sign | fraction >> random % format.fraction;
  // Numbers of 2^-4 to 2^3 and, once in eight times, of 2^-12 to 2^11, where the type has them.
  const uint64_t bias = format.exponents() >> 1;
  const uint64_t wide = kind < 176 && bias > 12 ? 12 : 4;
  return sign | (bias - wide + random % (2 * wide)) << format.fraction | fraction;
}

/// One of 0 .. below-1; once in sixteen times, and where there are none, -1 or \p below.
uint64_t indexBits(uint64_t below, uint64_t random) {
  if (below == 0 || random % 16 == 0)
    return random >> 4 & 1 ? below : ~uint64_t(0);
  return (random >> 5) % below;
}

void store(std::byte *to, uint64_t bits, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i)
    to[i] = static_cast<std::byte>(bits >> (8 * i));
}

const plan::TensorSpec &specOf(const plan::OperatorPlan &plan, size_t index) {
  return plan.tensors[index % plan.tensors.size()];
}

} // namespace

bool SelfCheck::operator==(const SelfCheck &other) const {
  const auto isSame = [](const plan::ParameterValue &a, const plan::ParameterValue &b) {
    return a.given == b.given && a.dtype == b.dtype && a.bits == b.bits;
  };
  bool isEqual = seed == other.seed && tensors == other.tensors && outputs == other.outputs &&
                 parameters.size() == other.parameters.size();
  for (size_t i = 0; isEqual && i < parameters.size(); ++i)
    isEqual = isSame(parameters[i], other.parameters[i]);
  return isEqual;
}

/// The tensor whose buffer tensor \p index lies in.
static size_t ownerOf(const plan::OperatorPlan &plan, const SelfCheck &check, size_t index) {
  const int16_t input = check.tensors[index].inPlaceOf;
  return input < 0 ? index : index - index % plan.tensors.size() + static_cast<size_t>(input);
}

uint64_t bufferBytes(const plan::OperatorPlan &plan, const SelfCheck &check, size_t index) {
  return check.tensors[index].elements * plan::bytes(specOf(plan, index).dtype);
}

CheckLayout layoutOf(const plan::OperatorPlan &plan, const SelfCheck &check) {
  CheckLayout layout;
  layout.offsets.assign(check.tensors.size(), 0);
  for (size_t index = 0; index < check.tensors.size(); ++index)
    if (check.tensors[index].inPlaceOf < 0) {
      layout.offsets[index] = layout.bytes;
      layout.bytes = (layout.bytes + bufferBytes(plan, check, index) + 255) / 256 * 256;
    }
  for (size_t index = 0; index < check.tensors.size(); ++index)
    layout.offsets[index] = layout.offsets[ownerOf(plan, check, index)];
  layout.bytes = layout.bytes ? layout.bytes : 256;
  return layout;
}

std::vector<plan::Tensor> tensorsOf(const plan::OperatorPlan &plan, const SelfCheck &check,
                                    const CheckLayout &layout, uint64_t address) {
  std::vector<plan::Tensor> tensors;
  for (size_t index = 0; index < check.tensors.size(); ++index) {
    const CheckTensor &tensor = check.tensors[index];
    const plan::DType type = specOf(plan, index).dtype;
    tensors.push_back(
        plan::Tensor::strided(address + layout.offsets[index] + tensor.offset * plan::bytes(type),
                              type, tensor.extents, tensor.strides));
  }
  return tensors;
}

/// Writes a whole buffer: an input's values, or an output's poison.
static void fillBuffer(const plan::OperatorPlan &plan, const SelfCheck &check, size_t index,
                       std::span<std::byte> buffer) {
  const plan::TensorSpec &spec = specOf(plan, index);
  if (spec.isOutput) {
    for (size_t i = 0; i < buffer.size(); ++i)
      buffer[i] = kPoison[i % 2];
    return;
  }
  const CheckTensor &tensor = check.tensors[index];
  const unsigned bytes = plan::bytes(spec.dtype);
  const Format format = formatOf(spec.dtype);
  const uint64_t stream = mixed(check.seed + index);
  for (uint64_t i = 0; i < tensor.elements; ++i) {
    const uint64_t random = mixed(stream + (i + 1) * 0x9E3779B97F4A7C15u);
    uint64_t bits = random;
    if (tensor.values == Values::Index)
      bits = indexBits(static_cast<uint64_t>(tensor.below), random);
    else if (!plan::isInteger(spec.dtype))
      bits = floatBits(format, tensor.values, stream, random, i);
    store(buffer.data() + i * bytes, bits, bytes);
  }
}

void fill(const plan::OperatorPlan &plan, const SelfCheck &check, const CheckLayout &layout,
          std::span<std::byte> memory) {
  assert(memory.size() == layout.bytes);
  std::ranges::fill(memory, std::byte(0));
  for (size_t index = 0; index < check.tensors.size(); ++index)
    if (check.tensors[index].inPlaceOf < 0)
      fillBuffer(plan, check, index,
                 memory.subspan(layout.offsets[index], bufferBytes(plan, check, index)));
}

Digest digestOfOutputs(const plan::OperatorPlan &plan, const SelfCheck &check,
                       const CheckLayout &layout, std::span<const std::byte> memory) {
  Sha256 hash;
  for (size_t index = 0; index < check.tensors.size(); ++index)
    if (specOf(plan, index).isOutput)
      hash.add(memory.subspan(layout.offsets[index], bufferBytes(plan, check, index)));
  return hash.finish();
}

plan::OperatorPlan planOfVariant(const plan::OperatorPlan &plan, size_t variant) {
  plan::OperatorPlan alone = plan;
  alone.variants = {plan.variants[variant]};
  return alone;
}

std::string_view name(Values values) { return kNames[static_cast<size_t>(values)]; }

std::optional<Values> valuesNamed(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name)
      return static_cast<Values>(i);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Whether a check fits a plan
//===----------------------------------------------------------------------===//

/// Whether the view of \p tensor, if it has elements, lies within its buffer.
static bool isWithin(const CheckTensor &tensor) {
  uint64_t last = tensor.offset;
  if (tensor.extents.size() != tensor.strides.size() || tensor.extents.size() > plan::kMaxHostRank)
    return false;
  if (std::ranges::find(tensor.extents, 0) != tensor.extents.end())
    return true;
  for (size_t axis = 0; axis < tensor.extents.size(); ++axis) {
    uint64_t span = 0;
    if (tensor.extents[axis] < 1 || tensor.strides[axis] < 0 ||
        __builtin_mul_overflow(static_cast<uint64_t>(tensor.extents[axis] - 1),
                               static_cast<uint64_t>(tensor.strides[axis]), &span) ||
        __builtin_add_overflow(last, span, &last))
      return false;
  }
  return last < tensor.elements;
}

/// Whether output \p index is what the input is that it says it is in place of.
static bool isInPlace(const plan::OperatorPlan &plan, const SelfCheck &check, size_t index) {
  const CheckTensor &output = check.tensors[index];
  const plan::TensorSpec &spec = specOf(plan, index);
  if (!spec.isOutput || spec.mayAlias != output.inPlaceOf)
    return false;
  CheckTensor input = check.tensors[ownerOf(plan, check, index)];
  input.inPlaceOf = output.inPlaceOf;
  input.values = output.values;
  input.below = output.below;
  return input == output;
}

std::string checkViews(const plan::OperatorPlan &plan, const SelfCheck &check) {
  const size_t count = plan.tensors.size();
  if (count == 0 || check.tensors.empty() || check.tensors.size() % count != 0 ||
      (!plan.each && check.tensors.size() != count))
    return "it has " + std::to_string(check.tensors.size()) + " tensors, the operator " +
           std::to_string(count);
  if (check.parameters.size() > plan.parameters.size())
    return "it has " + std::to_string(check.parameters.size()) + " parameters, the operator " +
           std::to_string(plan.parameters.size());
  for (size_t index = 0; index < check.tensors.size(); ++index) {
    const CheckTensor &tensor = check.tensors[index];
    const plan::TensorSpec &spec = specOf(plan, index);
    if (tensor.elements > kMaxCheckBytes / plan::bytes(spec.dtype))
      return "the buffer of " + spec.name + " has more than " + std::to_string(kMaxCheckBytes) +
             " bytes";
    if (!isWithin(tensor))
      return "the view of " + spec.name + " is not in its buffer";
    if (tensor.values == Values::Index && (tensor.below < 0 || !plan::isInteger(spec.dtype)))
      return spec.name + " has no integers";
    if (tensor.inPlaceOf >= 0 && !isInPlace(plan, check, index))
      return spec.name + " is not in place of an input that it may alias";
  }
  return {};
}

std::string checkFor(const plan::OperatorPlan &plan, size_t variant, const SelfCheck &check) {
  if (std::string problem = checkViews(plan, check); !problem.empty())
    return problem;
  const std::vector<plan::Tensor> tensors =
      tensorsOf(plan, check, layoutOf(plan, check), uint64_t(1) << 32);
  std::optional<plan::OperatorPlan> copy;
  if (plan.variants.size() > 1)
    copy = planOfVariant(plan, variant);
  const plan::OperatorPlan &alone = copy ? *copy : plan;
  const std::string nothing = "there is nothing to launch";
  if (plan.each) {
    plan::ListCall list;
    if (std::optional<plan::Decline> decline = list.evaluate(alone, tensors, check.parameters))
      return plan::describe(alone, *decline);
    return list.launches().empty() ? nothing : "";
  }
  const std::variant<plan::Launch, plan::Decline> result =
      plan::evaluate(alone, tensors, check.parameters);
  if (const plan::Decline *decline = std::get_if<plan::Decline>(&result))
    return plan::describe(alone, *decline);
  return std::get_if<plan::Launch>(&result)->isEmpty() ? nothing : "";
}

} // namespace h3::bundle
