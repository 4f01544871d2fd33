//===-- runtime/plan/Plan.h - The launch plan of an operator ----*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// How a host's tensors meet an operator: the contract that a call must satisfy, the kernel variants
// with their guards, and the launch that follows. The plan is data, written by the compiler; the
// functions at the end of this file are its only reading, and the runtime, the PTX interpreter, the
// prover and `h3gen run` all call them, so that what is proved is what is launched.
//
// Two views of a tensor. The *host's* view has any rank up to 16. The *bound* view has the
// operator's rank R and follows from it by collapse:
//
//   * The host's rank H must be at least R. The trailing R-1 host axes are operator axes 1 .. R-1;
//     the leading H-R+1 host axes together are operator axis 0, and their extents multiply.
//     [1, 3, 32, 64] binds to [tokens, heads, d] as [3, 32, 64]; [1, 3, 1, 48] to [tokens, 48].
//   * Among the leading axes those of extent 1 are ignored; of two adjacent ones that are left, the
//     outer stride must be the inner stride times the inner extent. Strides that are all 0 satisfy
//     this (a broadcast input). In a tensor without elements every stride satisfies it.
//   * R = 0 admits a tensor whose extents are all 1.
//
// Bound strides, in elements. In an axis of extent 0 or 1, and everywhere in a tensor without
// elements, the host's stride means nothing: it satisfies any clause and may even be negative. The
// bound stride is then the clause's number if the clause has one, else 0. It is only ever
// multiplied by the index 0, 0 is a multiple of every vector width, and a kernel compiled with the
// clause's number agrees with the plan. A guard that wants the literal value 1 must allow for an
// extent of 1 itself.
//
// Otherwise strides are at least 0, and 0 is for inputs only: an output whose elements share an
// address is declined.
//
// Alignment. The address of a tensor with elements is a multiple of its element's bytes; `align(k)`
// asks for a multiple of k elements. More than that a variant asks for by guards.
//
// Aliasing. Inputs may overlap each other freely. An output that overlaps an input or another
// output is declined unless it may alias exactly that input and is the same view of it: address,
// type, extents and strides. Overlap is decided exactly for byte intervals and for the views that
// occur in practice (chunks of a wider buffer, interleaved and permuted views); where the exact
// search would be long the call is declined. Disjoint is never claimed wrongly.
//
// Sizes. Element counts and byte spans may be anything below 2^63.
//
// Several argument sets in one launch (`each`): every member of the list is one binding of the
// plan, and what one member writes no other reads or writes. List.h evaluates such calls.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_PLAN_PLAN_H
#define H3_RUNTIME_PLAN_PLAN_H

#include "runtime/Result.h"
#include "runtime/plan/DType.h"
#include "runtime/plan/Decline.h"
#include "runtime/plan/Expr.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace h3::json {
class Value;
}

namespace h3::plan {

inline constexpr unsigned kMaxHostRank = 16;
inline constexpr unsigned kMaxRank = 8;     ///< of an operator's tensor
inline constexpr unsigned kMaxTensors = 24; ///< of an operator
inline constexpr unsigned kMaxDims = 32;    ///< of an operator
inline constexpr unsigned kMaxParameters = 16;
inline constexpr unsigned kMaxArguments = 128; ///< of a kernel; of an `each` kernel, for one member

/// The most members of a list that one launch takes, and the bytes of a kernel's parameters, which
/// hold them: what every CUDA driver accepts. A longer list takes several launches.
inline constexpr unsigned kMaxMembers = 128;
inline constexpr unsigned kMaxParameterBytes = 4096;

/// Limits of a launch: CUDA's for every compute capability since 3.0.
inline constexpr std::array<int64_t, 3> kMaxGrid = {2147483647, 65535, 65535};
inline constexpr std::array<int64_t, 3> kMaxBlock = {1024, 1024, 64};
inline constexpr int64_t kMaxThreadsPerBlock = 1024;
inline constexpr int64_t kMaxSharedBytes = 232448; ///< 227 KiB, the most any target of ours allows

//===----------------------------------------------------------------------===//
// What a host passes
//===----------------------------------------------------------------------===//

/// A tensor as the host has it. `extents[i]` and `strides[i]` for i < rank; strides count elements.
/// The address is a number: nothing here reads memory.
struct Tensor {
  uint64_t address = 0;
  DType dtype = DType::F32;
  uint8_t rank = 0;
  std::array<int64_t, kMaxHostRank> extents{};
  std::array<int64_t, kMaxHostRank> strides{};

  /// A view with the given extents and strides; both have the same size, at most 16.
  static Tensor strided(uint64_t address, DType dtype, std::span<const int64_t> extents,
                        std::span<const int64_t> strides);
  static Tensor strided(uint64_t address, DType dtype, std::initializer_list<int64_t> extents,
                        std::initializer_list<int64_t> strides);

  /// Row-major without gaps. Strides that would overflow are saturated; the call is then declined
  /// for its size.
  static Tensor contiguous(uint64_t address, DType dtype, std::span<const int64_t> extents);
  static Tensor contiguous(uint64_t address, DType dtype, std::initializer_list<int64_t> extents);
};

/// A parameter as the host passes it: the bits of a value of type `dtype` in the low bits of
/// `bits`, those above its width zero. Not `given`: the default is taken.
struct ParameterValue {
  bool given = false;
  DType dtype = DType::F32;
  uint64_t bits = 0;
};

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

/// A dim has a value that the spec fixes, or exactly one `BindingStep` gives it one.
struct DimSpec {
  std::string name;
  std::optional<int64_t> fixed;

  bool operator==(const DimSpec &) const = default;
};

/// Gives one dim its value. Steps run in order; expressions may use fixed dims and the dims of
/// earlier steps.
struct BindingStep {
  enum class Kind : uint8_t {
    /// dim = bound extent of `tensor` in `axis`, divided by `expr` (kNoExpr: by 1). A remainder is
    /// declined (`[rows, 2 * d]` with an odd extent), and so is a divisor of 0, which leaves the
    /// dim undetermined.
    FromExtent,
    /// dim = `expr` (`dim row = heads * pairs * 2`).
    Define,
  };
  Kind kind = Kind::FromExtent;
  uint16_t dim = 0;
  uint16_t tensor = 0;
  uint16_t axis = 0;
  ExprId expr = kNoExpr;

  bool operator==(const BindingStep &) const = default;
};

/// One tensor of the operator, with what the contract says of it.
struct TensorSpec {
  std::string name;
  DType dtype = DType::F16;
  bool isOutput = false;

  /// One expression over dims per operator axis; its number is the rank. After the binding steps
  /// every bound extent must equal its expression.
  std::vector<ExprId> extents;

  /// `strides(_, 64, 1)`: one entry per axis, nullopt for `_`. Empty: any.
  std::vector<std::optional<int64_t>> strides;

  /// `align(k)`: the address is a multiple of k elements; 1 if there is no clause.
  int64_t align = 1;

  /// The input this output may alias, or -1. Set it only where both have one element type.
  int16_t mayAlias = -1;

  unsigned rank() const { return static_cast<unsigned>(extents.size()); }
  bool operator==(const TensorSpec &) const = default;
};

/// A condition and the text it stands for, as the reader of a decline shall see it.
struct Condition {
  ExprId expr = kNoExpr;
  std::string text;

  bool operator==(const Condition &) const = default;
};

struct ParameterSpec {
  std::string name;
  DType dtype = DType::F32;
  std::optional<uint64_t> defaultBits;

  bool operator==(const ParameterSpec &) const = default;
};

/// One kernel argument, in the kernel's order.
struct ArgumentSpec {
  enum class Kind : uint8_t {
    Address,   ///< of tensor `index`, 8 bytes
    I32,       ///< value of expression `index`, 4 bytes; a value outside i32 is declined
    I64,       ///< value of expression `index`, 8 bytes
    Parameter, ///< bits of parameter `index`, as many bytes as its type has
  };
  Kind kind = Kind::Address;
  uint32_t index = 0;

  bool operator==(const ArgumentSpec &) const = default;
};

/// One kernel. Variants of an operator compute the same bits; they differ in what they assume.
struct Variant {
  std::string name;  ///< as the naming grammar has it: `v16_i32`
  std::string entry; ///< symbol in the image: `h3_qk_norm_rope__sm_90__v16_i32`

  /// All must hold. They imply everything the kernel assumes beyond the contract.
  std::vector<Condition> guards;

  std::array<ExprId, 3> grid{kNoExpr, kNoExpr, kNoExpr};  ///< x, y, z; kNoExpr: 1
  std::array<ExprId, 3> block{kNoExpr, kNoExpr, kNoExpr}; ///< x, y, z; kNoExpr: 1
  ExprId sharedBytes = kNoExpr;                           ///< dynamic shared memory; kNoExpr: 0

  /// Of an `each` operator: the arguments that each member has for itself, never parameters, and
  /// how many members one launch takes. The kernel's first parameter is the table of the members
  /// (List.h), those in `arguments` follow. Otherwise empty and 0.
  std::vector<ArgumentSpec> memberArguments;
  uint32_t memberCapacity = 0;

  /// In an `each` operator parameters alone.
  std::vector<ArgumentSpec> arguments;

  bool operator==(const Variant &) const = default;
};

/// The plan of one instance of an operator (one choice of its type parameters) on one target.
struct OperatorPlan {
  std::string name;                       ///< of the operator: `qk_norm_rope`
  std::vector<std::string> typeArguments; ///< `f16`, in the order of the operator's type parameters
  bool each = false;                      ///< a call takes a list of argument sets

  std::vector<ExprNode> nodes; ///< all expressions; `ExprId` indexes it
  std::vector<DimSpec> dims;
  std::vector<BindingStep> bindings;
  std::vector<TensorSpec> tensors; ///< in the order a call passes them: as the spec declares them
  std::vector<Condition> requirements;
  std::vector<ParameterSpec> parameters;
  std::vector<Variant> variants; ///< best first; the first whose guards hold is launched

  bool operator==(const OperatorPlan &) const = default;
};

/// Checks that a plan is well-formed: indices in range, operands before users, conditions where
/// conditions stand, every dim bound once and before its use, sizes within the limits above, and
/// expressions small enough to evaluate without memory. Returns an empty string, or what is wrong.
/// The functions below may be called only with plans for which it returned an empty string.
std::string verify(const OperatorPlan &plan);

//===----------------------------------------------------------------------===//
// Its reading
//===----------------------------------------------------------------------===//

/// A tensor after collapse.
struct BoundTensor {
  uint64_t address = 0;
  std::array<int64_t, kMaxRank> extents{};
  std::array<int64_t, kMaxRank> strides{}; ///< in elements; see "Bound strides" above
  int64_t elements = 0;                    ///< product of the extents
};

/// A call that satisfies the contract.
struct Binding {
  std::array<int64_t, kMaxDims> dims;
  std::array<BoundTensor, kMaxTensors> tensors;
  std::array<uint64_t, kMaxParameters> parameters; ///< bits, defaults filled in
};

/// The bits of one kernel argument in the low `bytes` bytes of `bits`; those above are zero.
struct Argument {
  uint64_t bits = 0;
  uint8_t bytes = 0; ///< 1, 2, 4 or 8
};

/// What to launch. `variant` indexes `OperatorPlan::variants`, which has the entry symbol.
struct Launch {
  uint32_t variant = 0;
  std::array<uint32_t, 3> grid{};
  std::array<uint32_t, 3> block{};
  uint32_t sharedBytes = 0;
  /// Of an `each` operator: the bytes of the kernel's first parameter, in front of `arguments`.
  /// They belong to the ListCall that made the launch. Otherwise empty.
  std::span<const std::byte> members;
  uint32_t argumentCount = 0;
  std::array<Argument, kMaxArguments> arguments;

  /// There is nothing to compute: the call is served without a launch (a grid with a zero in it
  /// would be an invalid one).
  bool isEmpty() const { return grid[0] == 0 || grid[1] == 0 || grid[2] == 0; }

  std::span<const Argument> args() const { return {arguments.data(), argumentCount}; }
};

/// Checks a call against the contract and binds it. `tensors` are in the plan's order. `parameters`
/// are in the plan's order too and may be fewer: the rest take their defaults.
///
/// Checks in this order, and reports the first that fails: number of tensors and parameters;
/// parameters; for each tensor its type, rank, extents, strides, collapse, size; dims; for each
/// tensor its extents, stride clauses, alignment and, of an output, that no elements share an
/// address; requirements; aliasing.
///
/// Pure: no allocation, no input or output, no state.
std::variant<Binding, Decline> bind(const OperatorPlan &plan, std::span<const Tensor> tensors,
                                    std::span<const ParameterValue> parameters);

/// The first variant whose guards all hold, with its launch. Pure, as above. Of an `each` operator
/// it is the part that one member has in a launch, and nothing to launch by itself: grid[0] counts
/// the member's blocks, and `arguments` holds the member arguments and behind them the others.
std::variant<Launch, Decline> selectVariant(const OperatorPlan &plan, const Binding &binding);

/// Both steps.
std::variant<Launch, Decline> evaluate(const OperatorPlan &plan, std::span<const Tensor> tensors,
                                       std::span<const ParameterValue> parameters);

/// The value of one expression of the plan under a binding; nullopt if unsatisfied (Expr.h).
std::optional<int64_t> evaluateExpr(const OperatorPlan &plan, ExprId expr, const Binding &binding);

/// True unless it can be shown that no element of `a` shares a byte with an element of `b`. Both
/// are bound views: `elementBytes` wide, of rank `rank`.
struct BoundView {
  const BoundTensor *tensor = nullptr;
  unsigned rank = 0;
  unsigned elementBytes = 0;
};
bool mayOverlap(const BoundView &a, const BoundView &b);

/// The address of the last byte of a view that has elements.
uint64_t lastByteOf(const BoundView &view);

/// True unless it can be shown that no two elements of the view share an address.
bool mayOverlapItself(const BoundView &view);

/// One line: `declined: stride: q has stride 2 in axis 2, the contract says 1`.
std::string describe(const OperatorPlan &plan, const Decline &decline);

/// The plan as canonical JSON: keys sorted, no spaces, integers in decimal, parameter bits as
/// strings of hexadecimal digits. `each`, `member_arguments` and `member_capacity` are there for an
/// `each` operator only. An expression is an integer (constant), ["dim","tokens"],
/// ["stride","q",0], ["address","q"], ["parameter","n"] or [operator, operand, ...] with `+ - *
/// floordiv floormod min max == != < <= > >= and or not`. Equal plans give equal text.
std::string toJson(const OperatorPlan &plan);

/// Reads what `toJson` writes, from an object of a document (runtime/json/Value.h). Names of dims,
/// tensors and parameters must each be there once, fields that are not known are refused, and the
/// plan is verified; its text is the document's again. The error is one line that says which field.
struct JsonError {
  std::string message;
};
Result<OperatorPlan, JsonError> fromJson(const json::Value &value);

/// An expression as readable text, `(tokens + 7) floordiv 8`, for diagnostics and dumps.
std::string toText(const OperatorPlan &plan, ExprId expr);

} // namespace h3::plan

#endif // H3_RUNTIME_PLAN_PLAN_H
