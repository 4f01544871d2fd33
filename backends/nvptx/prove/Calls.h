//===-- backends/nvptx/prove/Calls.h - The calls of a proof --- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Which calls a kernel is proved with: sizes around everything that the kernel and its plan compare
// sizes with, and layouts for each class of alignment, stride and distance.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PROVE_CALLS_H
#define H3_BACKENDS_NVPTX_PROVE_CALLS_H

#include "backends/nvptx/ptx/Module.h"
#include "dsl/program/Program.h"
#include "runtime/plan/Plan.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace h3::prove {

enum class LayoutKind : uint8_t {
  Tight,     ///< without gaps, at addresses that any vector divides
  Padded,    ///< rows further apart than they are long, by whole vectors
  Halved,    ///< at addresses that are a multiple of 8 bytes and no more
  Skewed,    ///< at addresses and with rows that only an element divides
  Strided,   ///< elements of a row two apart where the contract allows that
  Broadcast, ///< inputs whose outer strides are 0
  Far,       ///< offsets beyond 2^31 elements
};
inline constexpr LayoutKind allLayouts[] = {
    LayoutKind::Tight,   LayoutKind::Padded,    LayoutKind::Halved, LayoutKind::Skewed,
    LayoutKind::Strided, LayoutKind::Broadcast, LayoutKind::Far};
std::string_view name(LayoutKind kind);

struct Call {
  std::vector<int64_t> dims;
  LayoutKind layout = LayoutKind::Tight;
  bool inPlace = false; ///< every output that may alias an input does
};

/// The host's tensors of a call, at addresses of their own, far apart.
std::vector<plan::Tensor> tensorsOf(const Program &program, const plan::OperatorPlan &plan,
                                    const Call &call);

/// The parameters of every call: their values are terms, these only satisfy the contract.
std::vector<plan::ParameterValue> parametersOf(const plan::OperatorPlan &plan);

/// Settings of the dims that satisfy the contract's `require`s, those with the fewest elements
/// first; at most \p most elements in all tensors together. \p rowDims take few values. Where
/// something \p hasReciprocals, three times powers of two are among them.
std::vector<std::vector<int64_t>> sizesFor(const Program &program, const plan::OperatorPlan &plan,
                                           const ptx::Kernel &kernel,
                                           const std::vector<unsigned> &rowDims,
                                           bool hasReciprocals, int64_t most);

/// \p dims with another value of \p dim, and the dims that follow from it; empty where the contract
/// does not admit that.
std::optional<std::vector<int64_t>> withDim(const Program &program, const plan::OperatorPlan &plan,
                                            std::vector<int64_t> dims, unsigned dim, int64_t value);

/// The numbers that the guards, the grid or the arguments of the kernel compare with or take
/// something apart by, those of \p others, and the neighbours of all.
std::set<int64_t> comparedWith(const plan::OperatorPlan &plan, const plan::Variant &variant,
                               const std::vector<uint64_t> &others);

/// For each argument of the kernel the bits that it can have in a launch: of a dim those below
/// 2^32 where with more the grid would be larger than any may be.
std::vector<uint64_t> argumentBitsOf(const plan::OperatorPlan &plan, const plan::Variant &variant);

/// What the kernel's arguments divide a constant by and is no constant itself: the divisors of
/// reciprocals with which the kernel multiplies.
std::vector<plan::ExprId> reciprocalsOf(const plan::OperatorPlan &plan,
                                        const plan::Variant &variant);

/// How many of the \p divisors are no power of two with these dims. Only there does a quotient by
/// a reciprocal round, so that its low half and its carry matter.
unsigned roundedDivisors(const plan::OperatorPlan &plan, const std::vector<plan::ExprId> &divisors,
                         const std::vector<int64_t> &dims);

int64_t elementsOf(const Program &program, const std::vector<int64_t> &dims);

/// The dims that only count rows: each stands alone as one axis of every output and of some inputs,
/// is no number in the computation, and its index does nothing but select that axis. A row of the
/// outputs is then one function of the rows of the inputs with the same index, however many there
/// are.
std::vector<unsigned> rowDimsOf(const Program &program);

/// Of each tensor the axis that \p dim is the extent of, or -1.
std::vector<int> axesOf(const Program &program, unsigned dim);

/// The extents that `index(...)` selects in: tensor and axis.
struct Picked {
  unsigned tensor, axis;
};
std::vector<Picked> pickedAxesOf(const Program &program);

} // namespace h3::prove

#endif // H3_BACKENDS_NVPTX_PROVE_CALLS_H
