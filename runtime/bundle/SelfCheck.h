//===-- runtime/bundle/SelfCheck.h - Calls with known results - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What a device must compute before an operator serves there: a call whose inputs follow from a few
// numbers, and the digest of what the reference interpreter gives for it. The compiler, which runs
// the interpreter, and the runtime, which launches the kernel, make the inputs with the functions
// of this file. Integer arithmetic only: the bytes are the same everywhere.
//
// To run a check: get memory of `CheckLayout::bytes` at a multiple of 256 bytes, fill it, launch,
// and compare `digestOfOutputs` with `outputs`. Outputs are poisoned before, and their buffers are
// digested as a whole, so that a store beside the tensor is noticed too.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_BUNDLE_SELFCHECK_H
#define H3_RUNTIME_BUNDLE_SELFCHECK_H

#include "runtime/bundle/Sha256.h"
#include "runtime/plan/Plan.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace h3::bundle {

/// What an input's elements are drawn from.
enum class Values : uint8_t {
  /// Numbers about 1 of both signs, with zeros and subnormals among them.
  Finite,
  /// The same with infinities, NaNs of several payloads and the largest numbers among them, about
  /// three in a thousand: more of them would leave no row of numbers.
  Mixed,
  /// Every pattern alike. In a type of 16 bits each run of 2^16 elements has them all.
  AnyBits,
  /// Indices into `below` elements; once in sixteen times -1 or `below`, which select nothing.
  Index,
  Normal,    ///< about a bell, its deviation 1.15
  Wide,      ///< finite numbers, every exponent alike
  Subnormal, ///< numbers below the normal ones, of any size
  Huge,      ///< the largest two powers of two
};

/// "finite", "mixed", "any_bits", "index", "normal", "wide", "subnormal", "huge".
std::string_view name(Values values);
std::optional<Values> valuesNamed(std::string_view name);

/// The most bytes that one buffer of a check may have.
inline constexpr uint64_t kMaxCheckBytes = uint64_t(64) << 20;

/// One tensor of a check: a view into a buffer of its own, or an output in place of an input.
struct CheckTensor {
  std::vector<int64_t> extents;   ///< as the host has them
  std::vector<int64_t> strides;   ///< in elements
  uint64_t offset = 0;            ///< of the first element in the buffer, in elements
  uint64_t elements = 0;          ///< of the buffer; what lies outside of the view is there as well
  Values values = Values::Finite; ///< of an input
  int64_t below = 0;              ///< of Values::Index
  /// Of an output: it is the same view of the same buffer as this input of the same member, by its
  /// number there; -1: it has its own. Everything else of the two is equal but `values`.
  int16_t inPlaceOf = -1;

  bool operator==(const CheckTensor &) const = default;
};

/// One call. Tensors are in the plan's order; of an `each` operator, one member after another.
struct SelfCheck {
  uint64_t seed = 0;
  std::vector<CheckTensor> tensors;
  std::vector<plan::ParameterValue> parameters; ///< in the plan's order
  Digest outputs;

  bool operator==(const SelfCheck &) const;
};

/// Where the buffers of a check lie in one block of memory.
struct CheckLayout {
  std::vector<uint64_t> offsets; ///< of each tensor's buffer, a multiple of 256 bytes
  uint64_t bytes = 0;            ///< of all; at least 1
};
CheckLayout layoutOf(const plan::OperatorPlan &plan, const SelfCheck &check);

/// Bytes of the buffer of tensor \p index, its own or the input's that it is in place of.
uint64_t bufferBytes(const plan::OperatorPlan &plan, const SelfCheck &check, size_t index);

/// The tensors as a host passes them when the memory lies at \p address.
std::vector<plan::Tensor> tensorsOf(const plan::OperatorPlan &plan, const SelfCheck &check,
                                    const CheckLayout &layout, uint64_t address);

/// Writes all of \p memory, of `layout.bytes`: the inputs' values, the outputs' poison.
void fill(const plan::OperatorPlan &plan, const SelfCheck &check, const CheckLayout &layout,
          std::span<std::byte> memory);

/// The digest of the outputs' buffers behind each other, in the order of the tensors.
Digest digestOfOutputs(const plan::OperatorPlan &plan, const SelfCheck &check,
                       const CheckLayout &layout, std::span<const std::byte> memory);

/// The plan with one of its variants alone: by it a check reaches a variant that another would come
/// before.
plan::OperatorPlan planOfVariant(const plan::OperatorPlan &plan, size_t variant);

/// Whether the tensors and parameters of \p check are as many as the operator has, and its views
/// lie within their buffers, which keep the limit. Empty, or what is wrong.
std::string checkViews(const plan::OperatorPlan &plan, const SelfCheck &check);

/// Whether \p check is a call that variant \p variant of \p plan serves with something to launch,
/// and `checkViews` holds. Empty, or what is wrong.
std::string checkFor(const plan::OperatorPlan &plan, size_t variant, const SelfCheck &check);

} // namespace h3::bundle

#endif // H3_RUNTIME_BUNDLE_SELFCHECK_H
